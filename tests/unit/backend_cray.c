/* SPDX-License-Identifier: BSD-3-Clause */
/* pm_counters as files that the test rewrites; the thread of the backend reads them. */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "delta.h"
#include "flags.h"
#include "meter.h"
#include "pm_counters.h"
#include "tree.h"

#define MS 1000000ull

static struct tree tree;
static struct ergon_machine m;
static uint64_t stamp_us;

static int set_up(void **state)
{
	(void)state;
	tree_create(&tree);
	m = (struct ergon_machine){ .sysroot = tree_open(&tree) };
	/* Joules appear between two reads that are milliseconds apart. */
	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
		m.max_watts[d] = 1e9;
	stamp_us = 1425408634410884;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ergon_sysroot_close((struct ergon_sysroot *)m.sysroot);
	tree_destroy(&tree);
	return 0;
}

static void set_text(const char *file, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), ERGON_PM_DIR "/%s", file);
	tree_write(&tree, path, text);
}

static void set_mark(const char *file, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	set_text(file, text);
}

static void set_energy(const char *file, uint64_t joules)
{
	char text[80];

	snprintf(text, sizeof(text), "%llu J %llu us\n", (unsigned long long)joules,
		 (unsigned long long)stamp_us);
	set_text(file, text);
}

/* A node with four cards, all counters at 1000 J and more. */
static void make_node(void)
{
	set_mark("freshness", 41);
	set_mark("startup", 7);
	set_mark("generation", 3);
	set_mark("raw_scan_hz", 10);
	set_text("power", "900 W 1425408634410884 us\n");
	set_energy("energy", 9000);
	set_energy("cpu_energy", 2000);
	set_energy("memory_energy", 1500);
	set_energy("accel0_energy", 1000);
	set_energy("accel1_energy", 1100);
	set_energy("accel2_energy", 1200);
	set_energy("accel3_energy", 1300);
	set_energy("accel_energy", 4600);
}

static struct ergon_meter *open_meter(void)
{
	struct ergon_error err = { "" };
	struct ergon_meter *meter = ergon_meter_open(&m, "cray", false, &err);

	assert_string_equal(err.text, "");
	assert_non_null(meter);
	return meter;
}

static size_t channel_of(const struct ergon_meter *meter, const char *name)
{
	const struct ergon_channel *ch;
	size_t n = ergon_meter_channels(meter, &ch);

	for (size_t i = 0; i < n; i++)
		if (strcmp(ch[i].name, name) == 0)
			return i;
	fail_msg("no channel %s", name);
	return 0;
}

static void nap(unsigned ms)
{
	struct timespec t = { .tv_nsec = (long)(ms * MS) };

	nanosleep(&t, NULL);
}

/* Read until the channel says so, at most 10 s; the flags of all readings. */
static unsigned read_until(struct ergon_meter *meter, const char *name, uint64_t joules)
{
	size_t i = channel_of(meter, name);
	struct ergon_reading r;
	unsigned flags = 0;

	for (int tries = 0; tries < 1000; tries++) {
		ergon_meter_read(meter, &r);
		flags |= r.flags;
		assert_true(r.counts[i] <= joules);
		if (r.counts[i] == joules)
			return flags;
		nap(10);
	}
	fail_msg("%s: %llu J, not %llu", name, (unsigned long long)r.counts[i],
		 (unsigned long long)joules);
	return flags;
}

/* Read until some flag comes, at most 10 s. */
static unsigned read_until_flag(struct ergon_meter *meter, struct ergon_reading *r)
{
	for (int tries = 0; tries < 1000; tries++) {
		ergon_meter_read(meter, r);
		if (r->flags)
			break;
		nap(10);
	}
	return r->flags;
}

static void a_node_holds_its_parts(void **state)
{
	static const char *const names[] = {
		"node", "cpu", "dram", "gpu0", "gpu1", "gpu2", "gpu3",
	};
	const struct ergon_dropped *dropped;
	const struct ergon_channel *ch;
	struct ergon_meter *meter;

	(void)state;
	make_node();
	meter = open_meter();
	assert_int_equal(ergon_meter_channels(meter, &ch), 7);
	for (size_t i = 0; i < 7; i++) {
		assert_string_equal(ch[i].name, names[i]);
		assert_int_equal(ch[i].package, -1);
		assert_int_equal(ch[i].in_total, i == 0);
		assert_false(ch[i].integrated);
	}
	assert_string_equal(ergon_meter_scope(meter), "node");
	assert_int_equal(ergon_meter_dropped(meter, &dropped), 1);
	assert_string_equal(dropped[0].what, "pm_counters/accel_energy");
	ergon_meter_close(meter);
}

/* Each counter is its own; equal values are 0 J (X11); generation means nothing. */
static void joules_are_counted(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	make_node();
	meter = open_meter();
	for (int i = 0; i < 30; i++) {
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, 0);
		assert_int_equal(ergon_meter_total_uj(meter, r.counts), 0);
		nap(10);
	}
	set_mark("generation", 4);
	set_energy("cpu_energy", 2005);
	set_energy("accel2_energy", 1203);
	set_energy("energy", 9012);
	assert_int_equal(read_until(meter, "node", 12), 0);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[channel_of(meter, "cpu")], 5);
	assert_int_equal(r.counts[channel_of(meter, "dram")], 0);
	assert_int_equal(r.counts[channel_of(meter, "gpu2")], 3);
	assert_int_equal(r.counts[channel_of(meter, "gpu3")], 0);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 12000000);
	ergon_meter_close(meter);
}

/* X12, and the same with a number that is higher after it. */
static void restarts_are_flagged_and_no_energy(void **state)
{
	static const uint64_t after[] = { 12, 9000, 50000 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct ergon_meter *meter;
		struct ergon_reading r;

		make_node();
		meter = open_meter();
		ergon_meter_read(meter, &r);
		/* Between two readings of the meter, however long they take. */
		set_energy("energy", after[i]);
		set_mark("startup", 8);
		nap(400);
		set_energy("energy", after[i] + 5);
		assert_int_equal(read_until_flag(meter, &r), ERGON_FLAG_RESET);
		nap(300);
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, 0);
		/* Of the 5 J that came after it those are seen that came after the flag. */
		assert_true(r.counts[channel_of(meter, "node")] <= 5);
		set_energy("energy", after[i] + 35);
		for (int tries = 0; tries < 1000 && r.counts[0] < 30; tries++) {
			ergon_meter_read(meter, &r);
			nap(10);
		}
		assert_in_range(r.counts[channel_of(meter, "node")], 30, 35);
		ergon_meter_close(meter);
	}
}

/* Joules seen only after the restart, but the startup file written last. */
static void a_late_startup_gives_no_energy_either(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	make_node();
	meter = open_meter();
	set_energy("energy", 12);
	assert_int_equal(read_until_flag(meter, &r), ERGON_FLAG_RESET);
	set_mark("startup", 8);
	assert_int_equal(read_until_flag(meter, &r), ERGON_FLAG_RESET);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 0);
	ergon_meter_close(meter);
}

static void absence_zero_and_rights_differ(void **state)
{
	struct ergon_error err = { "" };
	struct ergon_probe probe;

	(void)state;
	ergon_backend_cray.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_ABSENT);
	assert_true(*probe.reason && *probe.remedy);
	set_mark("freshness", 1);
	ergon_backend_cray.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_UNSUPPORTED);
	set_energy("energy", 0);
	set_energy("cpu_energy", 0);
	ergon_backend_cray.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_ZERO);
	assert_null(ergon_meter_open(&m, "cray", false, &err));
	assert_non_null(strstr(err.text, "cray: all counters"));
	set_energy("energy", 1);
	ergon_backend_cray.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_OK);
	assert_string_equal(probe.reason, "");
	if (geteuid() != 0) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s" ERGON_PM_DIR "/energy", tree.path);
		chmod(path, 0);
		ergon_backend_cray.probe(&m, &probe);
		assert_int_equal(probe.state, ERGON_PROBE_PERMISSION);
	}
}

/* NCAR's nodes without accelerators have their files, reading 0. */
static void what_reads_zero_is_not_there(void **state)
{
	const struct ergon_dropped *dropped;
	const struct ergon_channel *ch;
	struct ergon_meter *meter;

	(void)state;
	set_text("energy", "9000\n"); /* an old file: no unit, no stamp */
	set_energy("memory_energy", 1000);
	set_energy("accel0_energy", 0);
	set_energy("accel1_energy", 0);
	set_text("accel_energy", "0 J\n");
	set_text("cpu_energy", "garbage\n");
	meter = open_meter();
	assert_int_equal(ergon_meter_channels(meter, &ch), 2);
	assert_string_equal(ch[0].name, "node");
	assert_string_equal(ch[1].name, "dram");
	assert_int_equal(ergon_meter_dropped(meter, &dropped), 4);
	assert_string_equal(dropped[0].what, "pm_counters/cpu_energy");
	assert_string_equal(dropped[0].why, "holds no number of joules");
	ergon_meter_close(meter);
}

/* Blades with one accelerator tell only the sum; other names are not ours. */
static void the_sum_stands_for_cards_that_are_not_told(void **state)
{
	const struct ergon_channel *ch;
	struct ergon_meter *meter;

	(void)state;
	set_energy("energy", 9000);
	set_energy("accel_energy", 1000);
	set_energy("accelx_energy", 1000);
	set_energy("accel-1_energy", 1000);
	set_energy("accel0_energy_x", 1000);
	set_energy("accel0_energ", 1000);
	meter = open_meter();
	assert_int_equal(ergon_meter_channels(meter, &ch), 2);
	assert_string_equal(ch[1].name, "gpu");
	assert_string_equal(ch[1].detail, "pm_counters/accel_energy");
	ergon_meter_close(meter);
}

/* A part that fails must not be missing silently from a total of parts. */
static void parts_make_a_total_only_together(void **state)
{
	struct ergon_meter *meter;
	struct ergon_probe probe;

	(void)state;
	set_energy("cpu_energy", 1000);
	set_energy("accel0_energy", 1000);
	set_text("memory_energy", "\n");
	ergon_backend_cray.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_UNSUPPORTED);
	assert_non_null(strstr(probe.reason, "1 of 3 counters"));
	set_energy("memory_energy", 1000);
	meter = open_meter();
	assert_string_equal(ergon_meter_scope(meter), "cpu+dram+gpu");
	ergon_meter_close(meter);
}

/* The driver is unloaded and loaded: old files are dead, new ones are found. */
static void files_are_found_again(void **state)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	make_node();
	meter = open_meter();
	nap(300); /* the thread has read: what open() read no longer stands in */
	set_text("energy", "");
	snprintf(from, sizeof(from), "%s" ERGON_PM_DIR, tree.path);
	snprintf(to, sizeof(to), "%s/dead", tree.path);
	assert_int_equal(rename(from, to), 0);
	stamp_us += 10000000;
	make_node();
	set_energy("energy", 9100);
	/* 3 s until the last value is too old, one until it is looked for. */
	assert_int_equal(read_until(meter, "node", 100), ERGON_FLAG_GAP);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	ergon_meter_close(meter);
}

/* --- a controller: 10 scans a second, one file after the other --- */

static atomic_bool stop;

static void *scan(void *arg)
{
	uint64_t t0 = ergon_clock_ns();

	(void)arg;
	for (uint64_t n = 1; !stop; n++) {
		uint64_t j = (ergon_clock_ns() - t0) / 1000000; /* 1000 W */

		stamp_us += 100000;
		set_energy("energy", 9000 + j);
		set_energy("cpu_energy", 2000 + j / 2);
		set_energy("accel0_energy", 1000 + j / 4);
		set_mark("freshness", 41 + n);
		nap(100);
	}
	return NULL;
}

/* A meter that reads fast sees the watts of the controller, parts inside the whole. */
static void a_live_node_is_followed(void **state)
{
	struct ergon_reading a, b;
	struct ergon_meter *meter;
	pthread_t controller;
	double watts;

	(void)state;
	make_node();
	meter = open_meter();
	stop = false;
	assert_int_equal(pthread_create(&controller, NULL, scan, NULL), 0);
	nap(500);
	ergon_meter_read(meter, &a);
	for (int i = 0; i < 150; i++) {
		ergon_meter_read(meter, &b);
		assert_int_equal(b.flags, 0);
		nap(10);
	}
	watts = (double)(b.counts[0] - a.counts[0]) / ((double)(b.t_ns - a.t_ns) * 1e-9);
	/* Two ends that are up to 0.2 s old each, on a machine that is busy. */
	assert_true(watts > 600);
	assert_true(watts < 1400);
	assert_true(b.counts[channel_of(meter, "cpu")] <= b.counts[0] / 2 + 1);
	assert_true(b.counts[channel_of(meter, "gpu0")] <= b.counts[0] / 4 + 1);
	stop = true;
	pthread_join(controller, NULL);
	ergon_meter_close(meter);
}

/* A controller that has stopped scanning does not measure: not 0 W. */
static void a_controller_that_stops_is_a_gap(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;
	uint64_t before;

	(void)state;
	make_node();
	meter = open_meter();
	before = ergon_clock_ns();
	assert_int_equal(read_until_flag(meter, &r), ERGON_FLAG_GAP);
	assert_true(ergon_clock_ns() - before > 2500 * MS);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 0);
	/* It goes on, and what it counted meanwhile is caught up. */
	stamp_us += 7000000;
	set_energy("energy", 9700);
	read_until(meter, "node", 700);
	ergon_meter_close(meter);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_node_holds_its_parts),
		TEST(joules_are_counted),
		TEST(restarts_are_flagged_and_no_energy),
		TEST(a_late_startup_gives_no_energy_either),
		TEST(absence_zero_and_rights_differ),
		TEST(what_reads_zero_is_not_there),
		TEST(the_sum_stands_for_cards_that_are_not_told),
		TEST(parts_make_a_total_only_together),
		TEST(files_are_found_again),
		TEST(a_live_node_is_followed),
		TEST(a_controller_that_stops_is_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
