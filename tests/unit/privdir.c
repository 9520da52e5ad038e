/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "privdir.h"

static char base[] = "/tmp/ergon-privdir.XXXXXX";
static char path[PATH_MAX];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(base))
		return -1;
	snprintf(path, sizeof(path), "%s/dir", base);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rmdir(path);
	return rmdir(base);
}

static void missing_and_wrong_ones_are_refused(void **state)
{
	struct ergon_error err = { "" };

	(void)state;
	assert_int_equal(ergon_privdir_open(path, &err), -1);
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(ergon_privdir_open("/dev/null", NULL), -1);
	assert_int_equal(errno, ENOTDIR);
	/* Only the last part of a path is made. */
	assert_int_equal(ergon_privdir_ensure("/nonexistent/ergon", &err), -1);
}

static void the_umask_does_not_matter(void **state)
{
	mode_t old = umask(0777);
	struct stat st;
	int rc, fd;

	(void)state;
	rc = ergon_privdir_ensure(path, NULL);
	umask(old);
	/* Without rights over files of mode 0 not even the maker can open it. */
	if (rc < 0 && geteuid() != 0)
		skip();
	assert_int_equal(rc, 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(ergon_privdir_ensure(path, NULL), 0);
	fd = ergon_privdir_open(path, NULL);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void what_others_can_write_is_refused(void **state)
{
	struct ergon_error err = { "" };

	(void)state;
	mkdir(path, 0755);
	assert_int_equal(chmod(path, 0775), 0);
	assert_int_equal(ergon_privdir_open(path, &err), -1);
	assert_int_equal(errno, EPERM);
	assert_non_null(strstr(err.text, "writable by nobody else"));
	assert_int_equal(ergon_privdir_ensure(path, NULL), -1);
	assert_int_equal(chmod(path, 0755), 0);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(ergon_privdir_open(path, NULL), -1);
	assert_int_equal(chown(path, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_and_wrong_ones_are_refused),
		cmocka_unit_test(the_umask_does_not_matter),
		cmocka_unit_test(what_others_can_write_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
