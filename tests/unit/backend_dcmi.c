/* SPDX-License-Identifier: BSD-3-Clause */
/* A BMC that answers from the test's hands, at a pace of milliseconds. */
#include <errno.h>
#include <limits.h>
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

#include "backend_dcmi.h"
#include "clock.h"
#include "delta.h"
#include "flags.h"
#include "log.h"
#include "meter.h"
#include "tree.h"

#define MS 1000000ull

static struct {
	atomic_uint watts;
	atomic_uint code;         /* completion code */
	atomic_uint busy;         /* so many answers more are 0xC0 */
	atomic_bool inactive;
	atomic_int hang_ms;       /* the BMC says nothing for so long, then gives up */
	atomic_int asked, opened, closed;
	int open_error;
} bmc;

static void *replay_open(const struct ergon_sysroot *sysroot)
{
	(void)sysroot;
	if (bmc.open_error) {
		errno = bmc.open_error;
		return NULL;
	}
	bmc.opened++;
	return &bmc;
}

static void nap(unsigned ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000 * MS) };

	nanosleep(&t, NULL);
}

static ssize_t replay_transact(void *inst, const struct ergon_ipmi_request *request,
			       uint8_t *answer, size_t size, unsigned timeout_ms)
{
	unsigned watts = bmc.watts;
	const uint8_t all[] = {
		(uint8_t)(bmc.busy > 0 ? 0xc0 : bmc.code), 0xdc, (uint8_t)watts, (uint8_t)(watts >> 8),
		1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, bmc.inactive ? 0x00 : 0x40,
	};

	assert_ptr_equal(inst, &bmc);
	assert_int_equal(request->netfn, 0x2c);
	assert_true(timeout_ms > 0);
	assert_true(size >= sizeof(all));
	bmc.asked++;
	if (bmc.hang_ms > 0) {
		nap((unsigned)bmc.hang_ms);
		errno = ETIMEDOUT;
		return -1;
	}
	if (bmc.busy > 0)
		bmc.busy--;
	memcpy(answer, all, sizeof(all));
	return all[0] ? 1 : (ssize_t)sizeof(all);
}

static void replay_close(void *inst)
{
	bmc.closed += inst != NULL;
}

static const struct ergon_ipmi_transport replay = {
	.open = replay_open, .transact = replay_transact, .close = replay_close,
};
static const struct ergon_dcmi_pace brisk = {
	.period_ns = 5 * MS, .hold_ns = 10000 * MS, .timeout_ms = 1000,
};

static struct tree tree;
static struct ergon_machine m;

static int set_up(void **state)
{
	(void)state;
	memset(&bmc, 0, sizeof(bmc));
	tree_create(&tree);
	m = (struct ergon_machine){ .sysroot = tree_open(&tree) };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ergon_sysroot_close((struct ergon_sysroot *)m.sysroot);
	tree_destroy(&tree);
	return 0;
}

static struct ergon_meter *open_meter(const struct ergon_dcmi_pace *pace)
{
	struct ergon_error err = { "" };
	struct ergon_meter_part part = { &ergon_backend_dcmi, NULL };
	struct ergon_meter *meter;

	part.inst = ergon_dcmi_open(&m, &replay, pace, &err);
	assert_string_equal(err.text, "");
	assert_non_null(part.inst);
	meter = ergon_meter_new(&part, 1, &err);
	assert_non_null(meter);
	return meter;
}

/* Until it has been asked so often, at most 10 s. */
static void wait_asked_in_all(int n)
{
	for (int tries = 0; bmc.asked < n && tries < 10000; tries++)
		nap(1);
	assert_true(bmc.asked >= n);
}

static void wait_asked(int more)
{
	wait_asked_in_all(bmc.asked + more);
}

static void the_channel_is_the_nodes_power(void **state)
{
	const struct ergon_channel *ch;
	struct ergon_meter *meter;

	(void)state;
	bmc.watts = 272;
	meter = open_meter(&brisk);
	assert_int_equal(ergon_meter_channels(meter, &ch), 1);
	assert_string_equal(ch->name, "node");
	assert_int_equal(ch->domain, ERGON_DOMAIN_NODE);
	assert_int_equal(ch->package, -1);
	assert_true(ch->integrated);
	assert_true(ch->in_total);
	assert_string_equal(ergon_meter_scope(meter), "node");
	assert_string_equal(ergon_meter_mechanism(meter), "dcmi");
	ergon_meter_close(meter);
	assert_int_equal(bmc.opened, 1);
	assert_int_equal(bmc.closed, 1);
}

/* Constant watts: joules are watts times the time between the readings. */
static void watts_times_seconds(void **state)
{
	struct ergon_reading a, b;
	struct ergon_meter *meter;
	double joules, seconds;

	(void)state;
	bmc.watts = 272;
	meter = open_meter(&brisk);
	wait_asked(3);
	ergon_meter_read(meter, &a);
	assert_int_equal(a.flags, 0);
	nap(300);
	ergon_meter_read(meter, &b);
	assert_int_equal(b.flags, 0);
	joules = (double)(b.counts[0] - a.counts[0]) * 1e-6;
	seconds = (double)(b.t_ns - a.t_ns) * 1e-9;
	/* t_ns is the middle of a read: whoever is interrupted there is off by that. */
	assert_true(joules > 272 * (seconds - (double)(a.read_ns + b.read_ns) * 1e-9) - 0.5);
	assert_true(joules < 272 * (seconds + (double)(a.read_ns + b.read_ns) * 1e-9) + 0.5);
	ergon_meter_close(meter);
}

/* The time before the first answer: the answer stands for it. */
static void nothing_is_lost_before_the_first_answer(void **state)
{
	uint64_t opened = ergon_clock_ns(), answered;
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	bmc.hang_ms = 100;
	bmc.watts = 1000;
	meter = open_meter(&brisk);
	assert_true(ergon_clock_ns() - opened < 90 * MS); /* nobody waited for the BMC */
	ergon_meter_read(meter, &r);
	assert_false(ergon_meter_answered(meter, 0));
	assert_int_equal(r.counts[0], 0);
	wait_asked(1);
	bmc.hang_ms = 0;
	wait_asked(3);
	ergon_meter_read(meter, &r);
	answered = r.t_ns;
	assert_int_equal(r.flags, 0);
	assert_true(r.counts[0] >= 100 * 1000000ull); /* 100 ms of 1000 W */
	assert_true(r.counts[0] <= (answered - opened + r.read_ns) / 1000 * 1000);
	ergon_meter_close(meter);
}

/* X20 and the rows of doubt: refused, 0 W, all ones, above what the node can draw. */
static void what_is_no_reading_is_no_answer(void **state)
{
	static const struct {
		unsigned watts, code;
		bool inactive, answer;
		unsigned flags;
	} cases[] = {
		{ 0x0110, 0x00, false, true, 0 },
		{ 0x0110, 0x00, true, true, ERGON_FLAG_DOUBTED },
		{ 0, 0x00, false, false, 0 },
		{ 0, 0x00, true, false, 0 },
		{ 0xffff, 0x00, false, false, 0 },
		{ 5000, 0x00, false, false, 0 },
		{ 0x0110, 0xc1, false, false, 0 },
		{ 0x0110, 0xd4, false, false, 0 },
	};

	(void)state;
	m.max_watts[ERGON_DOMAIN_NODE] = 4000;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_meter *meter;
		struct ergon_reading r;

		bmc.watts = cases[i].watts;
		bmc.code = cases[i].code;
		bmc.inactive = cases[i].inactive;
		meter = open_meter(&brisk);
		wait_asked(3);
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, cases[i].flags);
		assert_int_equal(r.counts[0] > 0, cases[i].answer);
		assert_int_equal(ergon_meter_answered(meter, 0), cases[i].answer);
		ergon_meter_close(meter);
	}
	assert_int_equal(bmc.opened, bmc.closed);
}

/* 0 W between two readings of 100 W: held, then drawn through; never 0. */
static void a_zero_in_between_is_passed_over(void **state)
{
	struct ergon_reading a, b;
	struct ergon_meter *meter;
	double watts;

	(void)state;
	bmc.watts = 100;
	meter = open_meter(&brisk);
	wait_asked(3);
	ergon_meter_read(meter, &a);
	bmc.watts = 0;
	nap(200);
	bmc.watts = 100;
	wait_asked(3);
	ergon_meter_read(meter, &b);
	assert_int_equal(b.flags, 0);
	watts = (double)(b.counts[0] - a.counts[0]) * 1e3 / (double)(b.t_ns - a.t_ns);
	assert_true(watts > 80 && watts < 120);
	ergon_meter_close(meter);
}

/* Power is held over a while of silence, and no longer. */
static void silence_is_a_gap_in_the_end(void **state)
{
	static const struct ergon_dcmi_pace short_hold = {
		.period_ns = 5 * MS, .hold_ns = 150 * MS, .timeout_ms = 1000,
	};
	struct ergon_reading before, held;
	struct ergon_meter *meter;
	int tries;

	(void)state;
	bmc.watts = 500;
	meter = open_meter(&short_hold);
	wait_asked(3);
	ergon_meter_read(meter, &before);
	bmc.code = 0xff;
	wait_asked(2);
	for (tries = 0; tries < 5000; tries++) {
		ergon_meter_read(meter, &held);
		if (held.flags & ERGON_FLAG_GAP)
			break;
		nap(1);
	}
	assert_true(held.flags & ERGON_FLAG_GAP);
	assert_true(held.t_ns - before.t_ns >= 100 * MS);
	/* No joule beyond 150 ms after the last answer. */
	nap(100);
	before = held;
	ergon_meter_read(meter, &held);
	assert_int_equal(held.counts[0], before.counts[0]);
	ergon_meter_close(meter);
}

static char lines[4096];

static void keep_line(enum ergon_log_level level, const char *line)
{
	size_t len = strlen(lines);

	assert_int_equal(level, ERGON_LOG_DEBUG);
	snprintf(lines + len, sizeof(lines) - len, "%s\n", line);
}

/* Each reason once, however often it comes; a node without an answer is explained. */
static void why_there_is_no_reading_is_logged(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	*lines = '\0';
	ergon_log_enable("backend");
	ergon_log_set_sink(keep_line);
	bmc.code = 0xd4;
	meter = open_meter(&brisk);
	wait_asked(5);
	bmc.code = 0;
	wait_asked(5);
	bmc.hang_ms = 1;
	wait_asked(5);
	bmc.hang_ms = 0;
	bmc.watts = 70;
	wait_asked(5);
	bmc.code = 0xd4;
	wait_asked(5);
	ergon_meter_close(meter);
	ergon_log_set_sink(NULL);
	ergon_log_enable(NULL);
	assert_string_equal(lines,
			    "dcmi: no reading: completion code 0xD4\n"
			    "dcmi: no reading: 0 W or 65535 W\n"
			    "dcmi: no reading: Connection timed out\n"
			    "dcmi: no reading: completion code 0xD4\n");
}

static void a_busy_bmc_is_asked_again(void **state)
{
	static const struct ergon_dcmi_pace once = {
		.period_ns = 60000 * MS, .hold_ns = 60000 * MS, .timeout_ms = 1000,
	};
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	bmc.watts = 272;
	bmc.busy = 2;
	meter = open_meter(&once);
	wait_asked_in_all(3);
	for (int tries = 0; tries < 5000; tries++) {
		ergon_meter_read(meter, &r);
		if (ergon_meter_answered(meter, 0))
			break;
		nap(1);
	}
	assert_true(ergon_meter_answered(meter, 0));
	assert_int_equal(bmc.asked, 3);
	ergon_meter_close(meter);
	/* But not for ever. */
	bmc.busy = 100;
	bmc.asked = 0;
	meter = open_meter(&once);
	nap(500);
	assert_in_range(bmc.asked, 1, 3);
	ergon_meter_close(meter);
}

/* Opening, reading and closing take no longer because the BMC hangs. */
static void a_bmc_that_hangs_delays_nobody(void **state)
{
	uint64_t before = ergon_clock_ns();
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	bmc.hang_ms = 1500;
	meter = open_meter(&brisk);
	for (int i = 0; i < 100; i++)
		ergon_meter_read(meter, &r);
	assert_false(ergon_meter_answered(meter, 0));
	assert_int_equal(r.counts[0], 0);
	ergon_meter_close(meter);
	assert_true(ergon_clock_ns() - before < 1000 * MS);
	assert_int_equal(bmc.closed, 0); /* the thread still has it */
	for (int tries = 0; bmc.closed == 0 && tries < 10000; tries++)
		nap(1);
	assert_int_equal(bmc.closed, 1);
}

static void why_not_is_told(void **state)
{
	static const struct {
		int error;
		const char *words;
	} cases[] = {
		{ ENOENT, "ipmi_devintf" }, { EACCES, "run as root" }, { EBUSY, "busy" },
	};
	struct ergon_probe probe;
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_error err = { "" };

		bmc.open_error = cases[i].error;
		assert_null(ergon_dcmi_open(&m, &replay, &brisk, &err));
		assert_non_null(strstr(err.text, "dcmi: "));
		assert_non_null(strcasestr(err.text, cases[i].words));
	}
	/* The probe of the real device. */
	ergon_backend_dcmi.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_ABSENT);
	assert_true(*probe.reason && *probe.remedy);
	tree_write(&tree, "/dev/ipmi/0/directory", "");
	ergon_backend_dcmi.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_UNSUPPORTED);
	snprintf(path, sizeof(path), "%s/dev/ipmi0", tree.path);
	assert_int_equal(mkfifo(path, 0600), 0);
	ergon_backend_dcmi.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_OK);
	assert_false(ergon_backend_dcmi.automatic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_channel_is_the_nodes_power, set_up, tear_down),
		cmocka_unit_test_setup_teardown(watts_times_seconds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_lost_before_the_first_answer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_reading_is_no_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_zero_in_between_is_passed_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(silence_is_a_gap_in_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(why_there_is_no_reading_is_logged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_busy_bmc_is_asked_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_bmc_that_hangs_delays_nobody, set_up, tear_down),
		cmocka_unit_test_setup_teardown(why_not_is_told, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
