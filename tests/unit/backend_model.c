/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/stat as a file the test rewrites; time is the real clock's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "flags.h"
#include "meter.h"
#include "tree.h"

static struct tree tree;
static struct ergon_cpu cpus[4];
static int packages[2] = { 0, 3 };
static struct ergon_topo topo;
static struct ergon_machine m;

static int set_up(void **state)
{
	(void)state;
	tree_create(&tree);
	for (int i = 0; i < 4; i++)
		cpus[i] = (struct ergon_cpu){ .os = i, .package = i < 2 ? 0 : 3, .core = i };
	topo = (struct ergon_topo){
		.ncpus = 4, .cpus = cpus, .npackages = 2, .packages = packages, .ncores = 4,
	};
	m = (struct ergon_machine){
		.sysroot = tree_open(&tree), .topo = &topo,
		.model_idle_watts = 40, .model_max_watts = 440,
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ergon_sysroot_close((struct ergon_sysroot *)m.sysroot);
	tree_destroy(&tree);
	return 0;
}

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, GUEST, GUEST_NICE, NCOLUMNS };

/* All CPUs at 1000 ticks in every column, but one column of one CPU. */
static void write_stat(int cpu, int column, unsigned ticks)
{
	char text[2048] = "cpu  1 2 3 4 5 6 7 8 9 10\n";

	for (int c = 0; c < 4; c++) {
		sprintf(text + strlen(text), "cpu%d", c);
		for (int i = 0; i < NCOLUMNS; i++)
			sprintf(text + strlen(text), " %u", c == cpu && i == column ? ticks : 1000);
		strcat(text, "\n");
	}
	strcat(text, "intr 12345 0 0\nctxt 99\n");
	tree_write(&tree, "/proc/stat", text);
}

static struct ergon_meter *open_meter(void)
{
	struct ergon_error err = { "" };
	struct ergon_meter *meter = ergon_meter_open(&m, "model", false, &err);

	assert_string_equal(err.text, "");
	assert_non_null(meter);
	return meter;
}

/* 50 ms of idle power: a busy machine takes its time between clock and counter. */
#define IDLE_SLACK_J 1

/* Joules above idle in channel i: the counter rounds down to 1 uJ, reads take time. */
static double busy_joules(const struct ergon_reading *now, const struct ergon_reading *start, int i)
{
	double elapsed_s = (double)(now->t_ns - start->t_ns) * 1e-9;

	return (double)(now->counts[i] - start->counts[i]) * 1e-6 - 20 * elapsed_s;
}

static void busy_time_costs_power(void **state)
{
	unsigned hz = (unsigned)sysconf(_SC_CLK_TCK);
	struct ergon_meter *meter;
	struct ergon_reading start, now;
	double joules;

	(void)state;
	write_stat(-1, 0, 0);
	meter = open_meter();
	ergon_meter_read(meter, &start);
	/* 2 busy seconds of one of 4 CPUs at (440 - 40) / 4 W: 200 J in package 3 alone. */
	write_stat(2, USER, 1000 + 2 * hz);
	ergon_meter_read(meter, &now);
	joules = busy_joules(&now, &start, 1);
	assert_true(fabs(joules - 200) < IDLE_SLACK_J);
	assert_true(fabs(busy_joules(&now, &start, 0)) < IDLE_SLACK_J);
	assert_int_equal(now.flags, ERGON_FLAG_ESTIMATED);
	assert_string_equal(ergon_meter_scope(meter), "estimate");
	ergon_meter_close(meter);
}

static void only_work_is_busy(void **state)
{
	static const bool busy[NCOLUMNS] = {
		[USER] = true, [NICE] = true, [SYSTEM] = true, [IRQ] = true, [SOFTIRQ] = true,
	};
	unsigned hz = (unsigned)sysconf(_SC_CLK_TCK);

	(void)state;
	for (int column = 0; column < NCOLUMNS; column++) {
		struct ergon_meter *meter;
		struct ergon_reading start, now;
		double joules;

		write_stat(-1, 0, 0);
		meter = open_meter();
		ergon_meter_read(meter, &start);
		write_stat(0, column, 1000 + hz);
		ergon_meter_read(meter, &now);
		joules = busy_joules(&now, &start, 0);
		assert_true(fabs(joules - (busy[column] ? 100 : 0)) < IDLE_SLACK_J);
		ergon_meter_close(meter);
	}
}

static void idle_power_follows_the_clock(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading start, now;
	double seconds;

	(void)state;
	write_stat(-1, 0, 0);
	meter = open_meter();
	ergon_meter_read(meter, &start);
	usleep(200000);
	ergon_meter_read(meter, &now);
	seconds = (double)(now.t_ns - start.t_ns) * 1e-9;
	for (int i = 0; i < 2; i++)
		assert_true(fabs((double)(now.counts[i] - start.counts[i]) * 1e-6 - 20 * seconds) < IDLE_SLACK_J);
	ergon_meter_close(meter);
}

/* A column that falls back, a CPU that vanishes and returns: no energy, no jump. */
static void counters_that_fall_back_add_nothing(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading start, now;

	(void)state;
	write_stat(0, USER, 5000);
	meter = open_meter();
	ergon_meter_read(meter, &start);
	write_stat(0, USER, 10);
	ergon_meter_read(meter, &now);
	assert_true(fabs(busy_joules(&now, &start, 0)) < IDLE_SLACK_J);
	tree_write(&tree, "/proc/stat", "cpu 1 2 3 4 5 6 7 8\ncpu1 1000 1000 1000 1 1 1000 1000 1\n");
	ergon_meter_read(meter, &now);
	write_stat(0, USER, 10);
	ergon_meter_read(meter, &now);
	assert_true(fabs(busy_joules(&now, &start, 0)) < IDLE_SLACK_J);
	ergon_meter_close(meter);
}

static void what_cannot_be_read_is_a_gap(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	write_stat(-1, 0, 0);
	meter = open_meter();
	tree_write(&tree, "/proc/stat", "nonsense\n");
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_ESTIMATED | ERGON_FLAG_GAP);
	ergon_meter_close(meter);
}

static void absence_is_explained(void **state)
{
	struct ergon_probe probe;

	(void)state;
	ergon_backend_model.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_ABSENT);
	assert_non_null(strstr(probe.reason, "/proc/stat"));
	tree_write(&tree, "/proc/stat", "intr 5\n");
	ergon_backend_model.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_ABSENT);
	write_stat(-1, 0, 0);
	ergon_backend_model.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_OK);
}

/* 4 CPUs: 20 + 4 * 0.5 = 22 W idle, 20 + 4 * 3.5 = 34 W busy. */
static void defaults_grow_with_the_cpus(void **state)
{
	const struct ergon_channel *ch;
	struct ergon_meter *meter;

	(void)state;
	m.model_idle_watts = m.model_max_watts = 0;
	write_stat(-1, 0, 0);
	meter = open_meter();
	assert_int_equal(ergon_meter_channels(meter, &ch), 2);
	assert_string_equal(ch[1].name, "package3");
	assert_non_null(strstr(ch[0].detail, "22 W idle, 34 W busy"));
	ergon_meter_close(meter);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(absence_is_explained),
		TEST(busy_time_costs_power),
		TEST(only_work_is_busy),
		TEST(idle_power_follows_the_clock),
		TEST(counters_that_fall_back_add_nothing),
		TEST(what_cannot_be_read_is_a_gap),
		TEST(defaults_grow_with_the_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
