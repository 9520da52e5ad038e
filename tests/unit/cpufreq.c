/* SPDX-License-Identifier: BSD-3-Clause */
/* Policies as files that the test rewrites. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "cpufreq.h"
#include "tree.h"

#define CPU "/sys/devices/system/cpu/"
#define NOBODY 65534

static struct tree tree;
static struct ergon_sysroot *sr;
static struct ergon_cpufreq *cf;

static int set_up(void **state)
{
	(void)state;
	tree_create(&tree);
	sr = tree_open(&tree);
	cf = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ergon_cpufreq_close(cf);
	ergon_sysroot_close(sr);
	tree_destroy(&tree);
	return 0;
}

static void policy(int n, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), CPU "cpufreq/policy%d/%s", n, file);
	tree_write(&tree, path, text);
}

static void cpu(int n, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), CPU "cpu%d/cpufreq/%s", n, file);
	tree_write(&tree, path, text);
}

static void start(void)
{
	struct ergon_error err = { "" };

	ergon_cpufreq_close(cf);
	cf = ergon_cpufreq_open(sr, geteuid(), &err);
	assert_string_equal(err.text, "");
	assert_non_null(cf);
}

/* kHz of a round; -1: none. */
static int64_t read_once(void)
{
	int64_t khz = 77;

	if (ergon_cpufreq_read(cf, &khz))
		return khz;
	assert_int_equal(khz, 77);
	return -1;
}

static void assert_files(const char *files)
{
	char names[64], what[160];

	ergon_cpufreq_describe(cf, names, sizeof(names), what, sizeof(what));
	assert_string_equal(names, files);
	assert_memory_equal(what, files, strlen(files));
}

static void without_policies_there_is_a_reason(void **state)
{
	struct ergon_error err = { "" };

	(void)state;
	assert_null(ergon_cpufreq_open(sr, geteuid(), &err));
	assert_non_null(strstr(err.text, "no cpufreq policy"));
	/* As on a virtual machine: the directory is there, and empty; CPUs without cpufreq. */
	tree_write(&tree, CPU "cpufreq/boost", "1\n");
	tree_write(&tree, CPU "cpu0/topology/core_id", "0\n");
	tree_write(&tree, CPU "cpuidle/current_driver", "none\n");
	assert_null(ergon_cpufreq_open(sr, geteuid(), &err));
	ergon_cpufreq_close(NULL);
}

static void the_best_file_is_read(void **state)
{
	(void)state;
	policy(0, "affected_cpus", "0\n");
	policy(0, "scaling_cur_freq", "1000000\n");
	start();
	assert_int_equal(read_once(), 1000000);
	assert_files("scaling_cur_freq");
	policy(0, "cpuinfo_cur_freq", "2000000\n");
	start();
	assert_int_equal(read_once(), 2000000);
	assert_files("cpuinfo_cur_freq");
	policy(0, "cpuinfo_avg_freq", "3000000\n");
	start();
	assert_int_equal(read_once(), 3000000);
	assert_files("cpuinfo_avg_freq");
}

/* A file that is there and tells nothing: the next one; nothing left: no value, not 0. */
static void a_file_that_tells_nothing_is_passed_over(void **state)
{
	static const char *const texts[] = { "<unknown>\n", "0\n", "", "-5\n", "99999999999\n" };
	char why[256];

	(void)state;
	policy(0, "affected_cpus", "0\n");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		policy(0, "cpuinfo_avg_freq", texts[i]);
		policy(0, "scaling_cur_freq", "1500000\n");
		start();
		assert_int_equal(read_once(), 1500000);
		assert_files("scaling_cur_freq");
		policy(0, "scaling_cur_freq", texts[i]);
		start();
		assert_int_equal(read_once(), -1);
		ergon_cpufreq_why(cf, why, sizeof(why));
		assert_non_null(strstr(why, "policy0/cpuinfo_avg_freq: "));
	}
}

/* Three CPUs at 1 GHz and one at 3 GHz: 1.5 GHz, not 2. */
static void policies_weigh_what_they_have_online(void **state)
{
	char names[64], what[160];

	(void)state;
	policy(0, "affected_cpus", "0 1 2\n");
	policy(0, "related_cpus", "0 1 2 3\n");
	policy(0, "scaling_cur_freq", "1000000\n");
	policy(0, "scaling_driver", "acpi-cpufreq\n");
	policy(4, "affected_cpus", "4\n");
	policy(4, "cpuinfo_cur_freq", "3000000\n");
	/* Offline: no CPU affected; its old value counts for nothing. */
	policy(5, "affected_cpus", "\n");
	policy(5, "scaling_cur_freq", "9000000\n");
	start();
	assert_int_equal(read_once(), 1500000);
	ergon_cpufreq_describe(cf, names, sizeof(names), what, sizeof(what));
	assert_string_equal(what, "cpuinfo_cur_freq, scaling_cur_freq of 3 policies, acpi-cpufreq");
}

static void all_offline(void **state)
{
	char why[128];

	(void)state;
	policy(0, "affected_cpus", "\n");
	policy(0, "scaling_cur_freq", "1000000\n");
	start();
	assert_int_equal(read_once(), -1);
	ergon_cpufreq_why(cf, why, sizeof(why));
	assert_string_equal(why, "all policies are offline");
}

/* Old kernels have no policies; CPUs of one group all show it. */
static void per_cpu_where_there_are_no_policies(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		cpu(i, "affected_cpus", "0 1 2\n");
		cpu(i, "scaling_cur_freq", "1000000\n");
	}
	cpu(3, "affected_cpus", "3\n");
	cpu(3, "scaling_cur_freq", "3000000\n");
	tree_write(&tree, CPU "cpu4/online", "0\n");
	start();
	assert_int_equal(read_once(), 1500000);
	/* A tree that tells no groups: every CPU for itself. */
	for (int i = 0; i < 4; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s" CPU "cpu%d/cpufreq/affected_cpus", tree.path, i);
		assert_int_equal(unlink(path), 0);
	}
	start();
	assert_int_equal(read_once(), 1500000);
}

static void a_reading_that_fails_is_missing_until_it_is_back(void **state)
{
	(void)state;
	policy(0, "affected_cpus", "0\n");
	policy(0, "scaling_cur_freq", "1000000\n");
	policy(1, "affected_cpus", "1\n");
	policy(1, "scaling_cur_freq", "2000000\n");
	start();
	assert_int_equal(read_once(), 1500000);
	policy(1, "scaling_cur_freq", "<unknown>\n");
	assert_int_equal(read_once(), 1000000);
	policy(1, "scaling_cur_freq", "3000000\n");
	assert_int_equal(read_once(), 2000000);
	/* Replaced, as by a hotplug: only a new descriptor sees the new file. */
	policy(1, "scaling_cur_freq", "");
	assert_int_equal(read_once(), 1000000);
	policy(0, "scaling_cur_freq", "0\n");
	assert_int_equal(read_once(), -1);
}

static void path_in_tree(const char *file, char *path, size_t size)
{
	snprintf(path, size, "%s" CPU "cpufreq/policy0/%s", tree.path, file);
}

/* cpuinfo_cur_freq is root's: others take the next one; a root process that has
 * lowered its uid meanwhile still gets it. */
static void root_only_files(void **state)
{
	char path[PATH_MAX];

	(void)state;
	policy(0, "affected_cpus", "0\n");
	policy(0, "cpuinfo_cur_freq", "2000000\n");
	policy(0, "scaling_cur_freq", "1000000\n");
	path_in_tree("cpuinfo_cur_freq", path, sizeof(path));
	if (geteuid() != 0) {
		assert_int_equal(chmod(path, 0), 0);
		start();
		assert_int_equal(read_once(), 1000000);
		return;
	}
	assert_int_equal(chmod(path, 0400), 0);
	assert_int_equal(seteuid(NOBODY), 0);
	start(); /* the owner is nobody */
	assert_int_equal(read_once(), 1000000);
	assert_int_equal(seteuid(0), 0);
	start();
	assert_int_equal(seteuid(NOBODY), 0);
	assert_int_equal(read_once(), 2000000);
	/* And it has not kept more rights than it needs. */
	assert_int_equal(ergon_sysroot_open_file(sr, CPU "cpufreq/policy0/cpuinfo_cur_freq", 0), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(seteuid(0), 0);
}

static void set_all(int n, const char *text)
{
	for (int i = 0; i < n; i++)
		policy(i, "scaling_cur_freq", text);
}

/* Descriptors are few: of many policies a part is read, evenly. */
static void many_policies(void **state)
{
	char names[64], what[160], khz[32];
	int64_t mean;

	(void)state;
	for (int i = 0; i < 600; i++) {
		snprintf(khz, sizeof(khz), "%d\n", 1000000 + 1000 * i);
		policy(i, "scaling_cur_freq", khz);
	}
	start();
	for (int i = 0; i < 8; i++) {
		const struct timespec t = { 0, 500000000 };

		mean = read_once();
		ergon_cpufreq_describe(cf, names, sizeof(names), what, sizeof(what));
		if (mean > 1290000 && mean < 1310000)
			break;
		nanosleep(&t, NULL); /* a busy machine: the allowance was used up */
	}
	assert_in_range(mean, 1290000, 1310000);
	assert_string_equal(what, "scaling_cur_freq of 600 policies; a part is read");
}

/* CPU time of reading one of the files n times. */
static uint64_t cost_of_reading(int n)
{
	int fd = ergon_sysroot_open_file(sr, CPU "cpufreq/policy0/scaling_cur_freq", O_RDONLY);
	uint64_t value, before = ergon_clock_thread_cpu_ns();

	for (int i = 0; i < n; i++)
		assert_int_equal(ergon_fd_read_u64(fd, &value), 0);
	close(fd);
	return ergon_clock_thread_cpu_ns() - before;
}

/* Rounds without pause use the allowance up: old values stay, until time has passed. */
static void rounds_stay_within_the_allowance(void **state)
{
	const struct timespec t = { 1, 100000000 };
	const int rounds = 3000, policies = 200;
	uint64_t before;
	int64_t mean = 0;

	(void)state;
	set_all(policies, "1000000\n");
	start();
	before = ergon_clock_thread_cpu_ns();
	for (int i = 0; i < rounds; i++)
		assert_int_equal(read_once(), 1000000);
	assert_true(4 * (ergon_clock_thread_cpu_ns() - before) < cost_of_reading(rounds * policies));
	set_all(policies, "2000000\n");
	for (int i = 0; i < 5 && mean != 2000000; i++) {
		nanosleep(&t, NULL);
		mean = read_once();
	}
	assert_int_equal(mean, 2000000);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(without_policies_there_is_a_reason),
		TEST(the_best_file_is_read),
		TEST(a_file_that_tells_nothing_is_passed_over),
		TEST(policies_weigh_what_they_have_online),
		TEST(all_offline),
		TEST(per_cpu_where_there_are_no_policies),
		TEST(a_reading_that_fails_is_missing_until_it_is_back),
		TEST(root_only_files),
		TEST(many_policies),
		TEST(rounds_stay_within_the_allowance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
