/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "journal.h"

static char dir[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/ergon-journal.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	(void)state;
	while ((e = readdir(d)))
		if (unlinkat(dirfd(d), e->d_name, 0) < 0)
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	closedir(d);
	return rmdir(dir);
}

static const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static size_t slurp(const char *name, char *buf, size_t size)
{
	int fd = open(in_dir(name), O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	buf[n] = '\0';
	return (size_t)n;
}

static void spill(const char *name, const char *data, size_t len, mode_t mode)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static void bad_names_are_refused(void **state)
{
	static const char *const names[] = { "", ".", "..", ".n1", "a/b", "/etc/passwd" };
	struct ergon_error err;
	char longer[400];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_null(ergon_journal_open(dir, names[i], &err));
		assert_null(ergon_checkpoint_open(dir, names[i], &err));
	}
	memset(longer, 'n', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_null(ergon_journal_open(dir, longer, &err));
	assert_null(ergon_checkpoint_open(dir, longer, &err));
	assert_null(ergon_journal_open("/no/such/dir", "n1", &err));
	assert_non_null(strstr(err.text, "/no/such/dir"));
	ergon_journal_close(NULL);
	ergon_checkpoint_close(NULL, 1);
}

static void crc_check_value(void **state)
{
	(void)state;
	assert_int_equal(ergon_crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(ergon_crc32c("", 0), 0);
}

static void foreign_files_are_refused(void **state)
{
	struct ergon_error err;
	struct ergon_journal *j;

	(void)state;
	spill("target", "x", 1, 0600);
	assert_int_equal(symlink("target", in_dir("n1.journal")), 0);
	assert_null(ergon_journal_open(dir, "n1", &err));
	assert_non_null(strstr(err.text, "symbolic link"));
	unlink(in_dir("n1.journal"));

	j = ergon_journal_open(dir, "n1", &err);
	assert_non_null(j);
	ergon_journal_close(j);
	{
		char other[128];

		strcpy(other, in_dir("second"));
		assert_int_equal(link(in_dir("n1.journal"), other), 0);
		assert_null(ergon_journal_open(dir, "n1", &err));
		unlink(other);
	}
	assert_int_equal(chmod(in_dir("n1.journal"), 0622), 0);
	assert_null(ergon_journal_open(dir, "n1", &err));
	assert_int_equal(chmod(in_dir("n1.journal"), 0600), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(in_dir("n1.journal"), 65534, 65534), 0);
		assert_null(ergon_journal_open(dir, "n1", &err));
		assert_int_equal(chown(in_dir("n1.journal"), 0, 0), 0);
	}
	unlink(in_dir("n1.journal"));
	assert_int_equal(mkfifo(in_dir("n1.journal"), 0600), 0);
	assert_null(ergon_journal_open(dir, "n1", &err));
	unlink(in_dir("n1.journal"));
	assert_int_equal(mkdir(in_dir("n1.journal"), 0700), 0);
	assert_null(ergon_journal_open(dir, "n1", &err));
}

static void a_spool_directory_others_can_write_is_refused(void **state)
{
	struct ergon_error err;

	(void)state;
	assert_int_equal(chmod(dir, 0777), 0);
	assert_null(ergon_journal_open(dir, "n1", &err));
	assert_non_null(strstr(err.text, "writable by nobody else"));
	assert_null(ergon_checkpoint_open(dir, "a.ckpt", &err));
	assert_int_equal(ergon_checkpoint_sweep(dir, NULL, &err), -1);
	assert_int_equal(chmod(dir, 0700), 0);
}

static void lines_come_back_checked(void **state)
{
	static const char json[] = "{\"v\":1}";
	struct ergon_error err;
	struct ergon_journal *j = ergon_journal_open(dir, "n1", &err);
	char buf[256];
	const char *why = NULL;
	struct stat st;

	(void)state;
	assert_non_null(j);
	assert_int_equal(ergon_journal_append(j, json, sizeof(json) - 1, &err), 0);
	assert_int_equal(ergon_journal_append(j, json, sizeof(json) - 1, &err), 0);
	ergon_journal_close(j);
	assert_int_equal(stat(in_dir("n1.journal"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(slurp("n1.journal", buf, sizeof(buf)), 2 * (7 + 9 + 1));
	assert_int_equal(ergon_journal_check(buf, 16, &why), 7);
	buf[3] ^= 1;
	assert_int_equal(ergon_journal_check(buf, 16, &why), -1);
	assert_non_null(why);
	buf[3] ^= 1;
	for (size_t len = 0; len < 16; len++)
		assert_int_equal(ergon_journal_check(buf, len, &why), -1);
}

static void only_single_lines_within_the_limit_are_taken(void **state)
{
	struct ergon_error err;
	struct ergon_journal *j = ergon_journal_open(dir, "n1", &err);
	char *big = malloc(ERGON_JOURNAL_LINE_MAX + 1);
	const char *why;

	(void)state;
	assert_non_null(j);
	memset(big, 'x', ERGON_JOURNAL_LINE_MAX + 1);
	assert_int_equal(ergon_journal_append(j, big, 0, &err), -1);
	assert_int_equal(ergon_journal_append(j, "a\nb", 3, &err), -1);
	assert_int_equal(ergon_journal_append(j, "a\0b", 3, &err), -1);
	assert_int_equal(ergon_journal_append(j, big, ERGON_JOURNAL_LINE_MAX, &err), -1);
	assert_int_equal(ergon_journal_append(j, big, ERGON_JOURNAL_LINE_MAX - 10, &err), -1);
	assert_int_equal(ergon_journal_append(j, big, ERGON_JOURNAL_LINE_MAX - 11, &err), 0);
	assert_int_equal(ergon_journal_check(big, ERGON_JOURNAL_LINE_MAX + 1, &why), -1);
	ergon_journal_close(j);
	free(big);
}

/* A journal cut at any byte loses the line it was cut in and no other. */
static void a_torn_line_does_not_swallow_the_next(void **state)
{
	static const char first[] = "{\"v\":1,\"job\":1}", second[] = "{\"v\":1,\"job\":2}";
	struct ergon_error err;
	char whole[128], buf[256];
	size_t len;

	(void)state;
	{
		struct ergon_journal *j = ergon_journal_open(dir, "n1", &err);

		assert_int_equal(ergon_journal_append(j, first, sizeof(first) - 1, &err), 0);
		ergon_journal_close(j);
	}
	len = slurp("n1.journal", whole, sizeof(whole));
	for (size_t cut = 0; cut <= len; cut++) {
		struct ergon_journal *j;
		int good = 0, bad = 0;
		char *save = NULL;

		spill("n1.journal", whole, cut, 0600);
		j = ergon_journal_open(dir, "n1", &err);
		assert_non_null(j);
		assert_int_equal(ergon_journal_append(j, second, sizeof(second) - 1, &err), 0);
		ergon_journal_close(j);
		slurp("n1.journal", buf, sizeof(buf));
		for (char *l = strtok_r(buf, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
			const char *why;

			if (ergon_journal_check(l, strlen(l), &why) < 0)
				bad++;
			else
				good++;
		}
		assert_int_equal(good, cut + 1 >= len ? 2 : 1);
		assert_int_equal(bad, cut > 0 && cut + 1 < len ? 1 : 0);
	}
}

static char *read_checkpoint(const char *name)
{
	struct ergon_error err;
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	char *json = ergon_checkpoint_read(fd, name, &err);

	close(fd);
	return json;
}

static void the_newest_slot_counts(void **state)
{
	struct ergon_error err;
	struct ergon_checkpoint *c = ergon_checkpoint_open(dir, "h.1.0.0.ckpt", &err);

	(void)state;
	assert_non_null(c);
	assert_null(read_checkpoint("h.1.0.0.ckpt"));
	assert_int_equal(ergon_checkpoint_write(c, "a\nb", 3), -1);
	assert_int_equal(ergon_checkpoint_write(c, "", 0), -1);
	for (int i = 0; i < 5; i++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "{\"i\":%d%s}", i, i == 2 ? ",\"long\":1" : "");
		char *back;

		assert_int_equal(ergon_checkpoint_write(c, text, (size_t)len), 0);
		back = read_checkpoint("h.1.0.0.ckpt");
		assert_non_null(back);
		assert_string_equal(back, text);
		free(back);
	}
	/* Taken over after a crash: counting goes on. */
	ergon_checkpoint_close(c, 0);
	c = ergon_checkpoint_open(dir, "h.1.0.0.ckpt", &err);
	assert_non_null(c);
	assert_int_equal(ergon_checkpoint_write(c, "{}", 2), 0);
	{
		char *back = read_checkpoint("h.1.0.0.ckpt");

		assert_string_equal(back, "{}");
		free(back);
	}
	ergon_checkpoint_close(c, 1);
	assert_int_equal(access(in_dir("h.1.0.0.ckpt"), F_OK), -1);
}

/* Whatever byte the write of a slot stops at, the older slot counts. */
static void a_torn_slot_leaves_the_older_one(void **state)
{
	static const char old[] = "{\"job\":1,\"uj\":100}", newer[] = "{\"job\":1,\"uj\":2000}";
	size_t size = 2 * (ERGON_JOURNAL_LINE_MAX + 4096);
	char *before = malloc(size), *after = malloc(size);
	struct ergon_error err;
	struct ergon_checkpoint *c = ergon_checkpoint_open(dir, "h.1.0.0.ckpt", &err);
	size_t n_before, n_after, first = 0, last = 0;

	(void)state;
	assert_int_equal(ergon_checkpoint_write(c, "{\"uj\":99999999999999}", 21), 0);
	assert_int_equal(ergon_checkpoint_write(c, old, sizeof(old) - 1), 0);
	n_before = slurp("h.1.0.0.ckpt", before, size);
	assert_int_equal(ergon_checkpoint_write(c, newer, sizeof(newer) - 1), 0);
	n_after = slurp("h.1.0.0.ckpt", after, size);
	ergon_checkpoint_close(c, 0);
	assert_int_equal(n_before, n_after);
	for (size_t i = 0; i < n_after; i++) {
		if (before[i] == after[i])
			continue;
		if (last == 0)
			first = i;
		last = i + 1;
	}
	for (size_t cut = first; cut <= last; cut++) {
		char *back;

		memcpy(before + first, after + first, cut - first);
		spill("h.1.0.0.ckpt", before, n_before, 0600);
		back = read_checkpoint("h.1.0.0.ckpt");
		assert_non_null(back);
		assert_string_equal(back, cut == last ? newer : old);
		free(back);
	}
	free(before);
	free(after);
}

static void put_checkpoint(const char *name, const char *json)
{
	struct ergon_error err;
	struct ergon_checkpoint *c = ergon_checkpoint_open(dir, name, &err);

	assert_non_null(c);
	if (json)
		assert_int_equal(ergon_checkpoint_write(c, json, strlen(json)), 0);
	ergon_checkpoint_close(c, 0);
}

static void orphans_are_finished_once(void **state)
{
	struct ergon_error err;
	struct ergon_checkpoint *alive;
	char buf[512];

	(void)state;
	put_checkpoint("h.1.0.0.ckpt", "{\"node\":\"n1\",\"job_name\":\"\\\"node\\\":\\\"n9\"}");
	put_checkpoint("h.2.0.0.ckpt", "{\"job_name\":\"x\",\"node\":\"../n2\"}");
	put_checkpoint("h.3.0.0.ckpt", NULL);
	put_checkpoint("other.4.0.0.ckpt", "{\"node\":\"n4\"}");
	alive = ergon_checkpoint_open(dir, "h.5.0.0.ckpt", &err);
	assert_int_equal(ergon_checkpoint_write(alive, "{\"node\":\"n5\"}", 13), 0);
	assert_null(ergon_checkpoint_open(dir, "h.5.0.0.ckpt", &err));

	assert_int_equal(ergon_checkpoint_sweep(dir, "h", &err), 2);
	assert_int_equal(ergon_checkpoint_sweep(dir, "h", &err), 0);
	assert_true(slurp("n1.journal", buf, sizeof(buf)) > 0);
	assert_true(slurp("h.journal", buf, sizeof(buf)) > 0);
	assert_non_null(strstr(buf, "../n2"));
	assert_int_equal(access(in_dir("h.3.0.0.ckpt"), F_OK), -1);
	assert_int_equal(access(in_dir("h.5.0.0.ckpt"), F_OK), 0);
	assert_int_equal(access(in_dir("other.4.0.0.ckpt"), F_OK), 0);
	assert_int_equal(ergon_checkpoint_sweep(dir, NULL, &err), 1);
	ergon_checkpoint_close(alive, 1);
	assert_int_equal(ergon_checkpoint_sweep(dir, NULL, &err), 0);
}

static void an_orphan_whose_journal_fails_stays(void **state)
{
	struct ergon_error err;

	(void)state;
	put_checkpoint("h.1.0.0.ckpt", "{\"node\":\"n1\"}");
	assert_int_equal(mkdir(in_dir("n1.journal"), 0700), 0);
	assert_int_equal(ergon_checkpoint_sweep(dir, "h", &err), -1);
	assert_int_equal(access(in_dir("h.1.0.0.ckpt"), F_OK), 0);
	assert_int_equal(rmdir(in_dir("n1.journal")), 0);
	assert_int_equal(ergon_checkpoint_sweep(dir, "h", &err), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(bad_names_are_refused),
		TEST(crc_check_value),
		TEST(foreign_files_are_refused),
		TEST(a_spool_directory_others_can_write_is_refused),
		TEST(lines_come_back_checked),
		TEST(only_single_lines_within_the_limit_are_taken),
		TEST(a_torn_line_does_not_swallow_the_next),
		TEST(the_newest_slot_counts),
		TEST(a_torn_slot_leaves_the_older_one),
		TEST(orphans_are_finished_once),
		TEST(an_orphan_whose_journal_fails_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
