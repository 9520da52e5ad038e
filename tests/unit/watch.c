/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tree.h"
#include "watch.h"

#define POLICY "/sys/devices/system/cpu/cpufreq/policy0/"
#define HWMON "/sys/class/hwmon/"
#define S 1000000000ull
#define NOBODY 65534

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

static void nap_ms(long ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static struct ergon_watch *start(void)
{
	struct ergon_error err = { "" };
	struct ergon_watch *watch = ergon_watch_start(sr, ERGON_WATCH_HZ_MAX, &err);

	assert_string_equal(err.text, "");
	assert_non_null(watch);
	ergon_watch_wait(watch, 10 * S);
	return watch;
}

static void two_packages(const char *first, const char *second)
{
	tree_write(&tree, HWMON "hwmon1/name", "coretemp\n");
	tree_write(&tree, HWMON "hwmon1/temp1_label", "Package id 0\n");
	tree_write(&tree, HWMON "hwmon1/temp1_input", first);
	tree_write(&tree, HWMON "hwmon2/name", "coretemp\n");
	tree_write(&tree, HWMON "hwmon2/temp1_label", "Package id 1\n");
	tree_write(&tree, HWMON "hwmon2/temp1_input", second);
	/* Hotter, but no CPU. */
	tree_write(&tree, HWMON "hwmon3/name", "nvme\n");
	tree_write(&tree, HWMON "hwmon3/temp1_input", "90000\n");
}

static void bad_rates_are_refused(void **state)
{
	static const double rates[] = { 0, -1, 11, __builtin_nan("") };
	struct ergon_watch_summary s;

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct ergon_error err = { "" };

		assert_null(ergon_watch_start(sr, rates[i], &err));
		assert_true(*err.text);
	}
	ergon_watch_stop(NULL);
	memset(&s, 0x5a, sizeof(s));
	ergon_watch_summary(NULL, &s);
	assert_false(s.freq_mhz.some || s.temp_c.some);
}

static void means_over_what_was_read(void **state)
{
	struct ergon_watch_summary s;
	struct ergon_watch *watch;

	(void)state;
	two_packages("50000\n", "60500\n");
	tree_write(&tree, POLICY "affected_cpus", "0 1\n");
	tree_write(&tree, POLICY "scaling_cur_freq", "2199500\n");
	watch = start();
	ergon_watch_summary(watch, &s);
	assert_true(s.freq_mhz.some && s.temp_c.some);
	assert_true(s.freq_mhz.mean == 2199.5 && s.freq_mhz.min == 2199.5 && s.freq_mhz.max == 2199.5);
	assert_true(s.temp_c.mean == 60.5);
	/* They move: the means follow, between lowest and highest. */
	tree_write(&tree, POLICY "scaling_cur_freq", "1000000\n");
	two_packages("80000\n", "60500\n");
	for (int i = 0; i < 100 && !(s.freq_mhz.min == 1000 && s.temp_c.max == 80); i++) {
		nap_ms(50);
		ergon_watch_summary(watch, &s);
	}
	assert_true(s.freq_mhz.min == 1000 && s.freq_mhz.max == 2199.5);
	assert_true(s.freq_mhz.mean > 1000 && s.freq_mhz.mean < 2199.5);
	assert_true(s.temp_c.max == 80);
	assert_true(s.temp_c.mean >= 60.5 && s.temp_c.mean < 80);
	ergon_watch_stop(watch);
}

static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int found = 0;

	while (readdir(dir))
		found++;
	closedir(dir);
	return found;
}

/* Nothing to read is no reason to wake up every second. */
static void without_sensors_the_thread_ends(void **state)
{
	struct ergon_watch_summary s;
	int before = threads();
	struct ergon_watch *watch;

	(void)state;
	watch = start();
	for (int i = 0; i < 500 && threads() > before; i++)
		nap_ms(10);
	assert_int_equal(threads(), before);
	ergon_watch_summary(watch, &s);
	assert_false(s.freq_mhz.some || s.temp_c.some);
	ergon_watch_stop(watch);
}

static void values_that_fail_are_absent(void **state)
{
	struct ergon_watch_summary s;
	struct ergon_watch *watch;

	(void)state;
	two_packages("50000\n", "N/A\n");
	tree_write(&tree, POLICY "scaling_cur_freq", "<unknown>\n");
	watch = start();
	ergon_watch_summary(watch, &s);
	assert_false(s.freq_mhz.some);
	assert_true(s.temp_c.some && s.temp_c.mean == 50);
	ergon_watch_stop(watch);
}

/* slurmstepd lowers its effective uid while the thread opens what only root may read. */
static void the_rights_are_those_of_the_start(void **state)
{
	struct ergon_watch_summary s;
	struct ergon_watch *watch;
	char path[PATH_MAX];

	(void)state;
	if (geteuid() != 0)
		skip();
	tree_write(&tree, POLICY "cpuinfo_cur_freq", "2000000\n");
	tree_write(&tree, POLICY "scaling_cur_freq", "1000000\n");
	snprintf(path, sizeof(path), "%s" POLICY "cpuinfo_cur_freq", tree.path);
	assert_int_equal(chmod(path, 0400), 0);
	for (int i = 0; i < 50; i++) {
		watch = ergon_watch_start(sr, 1, NULL);
		assert_non_null(watch);
		assert_int_equal(seteuid(NOBODY), 0);
		ergon_watch_wait(watch, 10 * S);
		assert_int_equal(seteuid(0), 0);
		ergon_watch_summary(watch, &s);
		assert_true(s.freq_mhz.some && s.freq_mhz.mean == 2000);
		ergon_watch_stop(watch);
	}
}

static void a_forked_child_leaves_it_alone(void **state)
{
	struct ergon_watch_summary s;
	struct ergon_watch *watch;
	int status;
	pid_t pid;

	(void)state;
	two_packages("50000\n", "60000\n");
	watch = start();
	pid = fork();
	if (pid == 0) {
		ergon_watch_stop(watch);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ergon_watch_summary(watch, &s);
	assert_true(s.temp_c.mean == 60);
	ergon_watch_stop(watch);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(bad_rates_are_refused),
		TEST(means_over_what_was_read),
		TEST(without_sensors_the_thread_ends),
		TEST(values_that_fail_are_absent),
		TEST(the_rights_are_those_of_the_start),
		TEST(a_forked_child_leaves_it_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
