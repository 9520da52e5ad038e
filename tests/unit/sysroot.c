/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sysroot.h"
#include "tree.h"

static struct tree tree;
static struct ergon_sysroot *sr;

static int set_up(void **state)
{
	(void)state;
	tree_create(&tree);
	sr = tree_open(&tree);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ergon_sysroot_close(sr);
	tree_destroy(&tree);
	return 0;
}

static void root_must_be_a_directory(void **state)
{
	struct ergon_error err = { "" };
	char path[PATH_MAX];

	(void)state;
	tree_write(&tree, "/file", "x");
	snprintf(path, sizeof(path), "%s/file", tree.path);
	assert_null(ergon_sysroot_open(path, &err));
	assert_non_null(strstr(err.text, path));
	assert_null(ergon_sysroot_open("/does/not/exist", &err));
	assert_non_null(strstr(err.text, "/does/not/exist"));
	assert_null(ergon_sysroot_open("/does/not/exist", NULL));
	ergon_sysroot_close(NULL);
}

static void slash_is_the_real_root(void **state)
{
	struct ergon_sysroot *real;

	(void)state;
	for (int i = 0; i < 3; i++) {
		static const char *const roots[] = { NULL, "", "/" };

		real = ergon_sysroot_open(roots[i], NULL);
		assert_non_null(real);
		assert_true(ergon_sysroot_is_real(real));
		assert_string_equal(ergon_sysroot_path(real), "/");
		ergon_sysroot_close(real);
	}
	assert_false(ergon_sysroot_is_real(sr));
	assert_string_equal(ergon_sysroot_path(sr), tree.path);
}

static void paths_stay_below_the_root(void **state)
{
	char text[16];
	int fd;

	(void)state;
	tree_write(&tree, "/proc/stat", "fixture\n");
	assert_int_equal(ergon_sysroot_read_text(sr, "/proc/stat", text, sizeof(text)), 7);
	assert_string_equal(text, "fixture");
	assert_int_equal(ergon_sysroot_access(sr, "/proc/stat", F_OK), 0);
	assert_int_equal(ergon_sysroot_access(sr, "/proc/self", F_OK), -1);
	fd = ergon_sysroot_open_file(sr, "/proc/stat", O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
}

static void links_may_leave_the_root(void **state)
{
	char link[PATH_MAX], boot[64];

	(void)state;
	snprintf(link, sizeof(link), "%s/proc", tree.path);
	assert_int_equal(symlink("/proc", link), 0);
	assert_int_equal(ergon_sysroot_read_text(sr, "/proc/sys/kernel/random/boot_id",
						 boot, sizeof(boot)), 36);
}

static void links_tell_their_text(void **state)
{
	char path[PATH_MAX], text[16];

	(void)state;
	tree_write(&tree, "/sys/file", "x");
	snprintf(path, sizeof(path), "%s/sys/device", tree.path);
	assert_int_equal(symlink("../nowhere", path), 0);
	assert_int_equal(ergon_sysroot_read_link(sr, "/sys/device", text, sizeof(text)), 10);
	assert_string_equal(text, "../nowhere");
	assert_int_equal(ergon_sysroot_read_link(sr, "/sys/device", text, 10), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(ergon_sysroot_read_link(sr, "/sys/file", text, sizeof(text)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ergon_sysroot_read_link(sr, "/sys/none", text, sizeof(text)), -1);
	assert_int_equal(errno, ENOENT);
}

static void text_that_does_not_fit_is_refused(void **state)
{
	char text[4];

	(void)state;
	tree_write(&tree, "/t", "abc\n");
	errno = 0;
	assert_int_equal(ergon_sysroot_read_text(sr, "/t", text, sizeof(text)), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(ergon_sysroot_read_text(sr, "/none", text, sizeof(text)), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(ergon_sysroot_read_text(sr, "/", text, sizeof(text)), -1);
	assert_int_equal(errno, EISDIR);
}

/* X18, by path and by kept-open fd: the answer and errno must be the same. */
static void numbers_are_read_strictly(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		int error;
		uint64_t value;
	} cases[] = {
		{ "0\n", 2, 0, 0 },
		{ "262143328850\n", 13, 0, 262143328850 },
		{ "18446744073709551615\n", 21, 0, UINT64_MAX },
		{ "7", 1, 0, 7 },
		{ "7 \t\n", 4, 0, 7 },
		{ "", 0, EINVAL, 0 },
		{ "\n", 1, EINVAL, 0 },
		{ "abc\n", 4, EINVAL, 0 },
		{ "12abc\n", 6, EINVAL, 0 },
		{ "1 2\n", 4, EINVAL, 0 },
		{ "-1\n", 3, EINVAL, 0 },
		{ "+1\n", 3, EINVAL, 0 },
		{ "0x10\n", 5, EINVAL, 0 },
		{ "1.5\n", 4, EINVAL, 0 },
		{ "18446744073709551616\n", 21, ERANGE, 0 },
		{ "1234567890123456789012345\n", 26, ERANGE, 0 },
		{ "11111111111111111111111111111111111111111111111111\n", 51, ERANGE, 0 },
		{ "12\0", 3, EINVAL, 0 },
		{ "1\0002", 3, EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t by_path = 99, by_fd = 99;
		uint64_t expected = cases[i].error ? 99 : cases[i].value;
		int fd;

		tree_write_bytes(&tree, "/n", cases[i].bytes, cases[i].size);
		errno = 0;
		assert_int_equal(ergon_sysroot_read_u64(sr, "/n", &by_path), cases[i].error ? -1 : 0);
		assert_int_equal(errno, cases[i].error);
		assert_int_equal(by_path, expected);
		fd = ergon_sysroot_open_file(sr, "/n", O_RDONLY);
		errno = 0;
		assert_int_equal(ergon_fd_read_u64(fd, &by_fd), cases[i].error ? -1 : 0);
		assert_int_equal(errno, cases[i].error);
		assert_int_equal(by_fd, expected);
		close(fd);
	}
}

static void kept_fds_see_new_values(void **state)
{
	uint64_t value;
	int fd;

	(void)state;
	tree_write(&tree, "/n", "1\n");
	fd = ergon_sysroot_open_file(sr, "/n", O_RDONLY);
	assert_int_equal(ergon_fd_read_u64(fd, &value), 0);
	tree_write(&tree, "/n", "22\n");
	assert_int_equal(ergon_fd_read_u64(fd, &value), 0);
	assert_int_equal(value, 22);
	close(fd);
}

static void signed_numbers_are_read_as_strictly(void **state)
{
	static const struct {
		const char *text;
		int error;
		int64_t value;
	} cases[] = {
		{ "-12500\n", 0, -12500 },
		{ "-0\n", 0, 0 },
		{ "35000\n", 0, 35000 },
		{ "9223372036854775807\n", 0, INT64_MAX },
		{ "-9223372036854775807\n", 0, -INT64_MAX },
		{ "9223372036854775808\n", ERANGE, 0 },
		{ "-18446744073709551616\n", ERANGE, 0 },
		{ "--5\n", EINVAL, 0 },
		{ "+5\n", EINVAL, 0 },
		{ "- 5\n", EINVAL, 0 },
		{ "-", EINVAL, 0 },
		{ "", EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = 4711;
		int fd;

		tree_write(&tree, "/n", cases[i].text);
		fd = ergon_sysroot_open_file(sr, "/n", O_RDONLY);
		errno = 0;
		assert_int_equal(ergon_fd_read_i64(fd, &value), cases[i].error ? -1 : 0);
		assert_int_equal(errno, cases[i].error);
		assert_true(value == (cases[i].error ? 4711 : cases[i].value));
		close(fd);
	}
}

static void lists_are_sorted_as_people_count(void **state)
{
	char **names = NULL;

	(void)state;
	assert_int_equal(ergon_sysroot_list(sr, "/none", &names), -1);
	assert_int_equal(errno, ENOENT);
	assert_null(names);
	tree_write(&tree, "/d/intel-rapl:10", "");
	tree_write(&tree, "/d/intel-rapl:2", "");
	tree_write(&tree, "/d/intel-rapl", "");
	assert_int_equal(ergon_sysroot_list(sr, "/d", &names), 3);
	assert_string_equal(names[0], "intel-rapl");
	assert_string_equal(names[1], "intel-rapl:2");
	assert_string_equal(names[2], "intel-rapl:10");
	assert_null(names[3]);
	ergon_sysroot_free_list(names);
	assert_int_equal(ergon_sysroot_list(sr, "/d/intel-rapl", &names), -1);
	assert_int_equal(errno, ENOTDIR);
	ergon_sysroot_free_list(NULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(root_must_be_a_directory),
		TEST(slash_is_the_real_root),
		TEST(paths_stay_below_the_root),
		TEST(links_may_leave_the_root),
		TEST(links_tell_their_text),
		TEST(text_that_does_not_fit_is_refused),
		TEST(numbers_are_read_strictly),
		TEST(signed_numbers_are_read_as_strictly),
		TEST(kept_fds_see_new_values),
		TEST(lists_are_sorted_as_people_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
