/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "slow.h"

#define MS 1000000ull
#define W 1000000ull

/* A source whose answers the test chooses. */
struct source {
	atomic_uint_fast64_t value;
	atomic_bool good;
	atomic_uint_fast64_t step_ns; /* 0: the time of reading; else readings lie so far apart */
	atomic_uint_fast64_t last_ns;
	atomic_int begun, reads, ended, released;
	atomic_int hang_ms;
	char thread_name[16];     /* once begun */
};

static void nap(uint64_t ms)
{
	struct timespec t = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * MS) };

	nanosleep(&t, NULL);
}

static void begin(void *arg)
{
	struct source *s = arg;

	prctl(PR_GET_NAME, s->thread_name);
	s->begun++;
}

static void answer(void *arg, uint64_t *raw, bool *ok, uint64_t *t_ns)
{
	struct source *s = arg;

	if (s->hang_ms)
		nap((uint64_t)s->hang_ms);
	ok[0] = s->good;
	raw[0] = s->value;
	if (s->step_ns) {
		s->last_ns = s->last_ns ? s->last_ns + s->step_ns : t_ns[0];
		t_ns[0] = s->last_ns;
	}
	s->reads++;
}

static void end(void *arg)
{
	((struct source *)arg)->ended++;
}

static void release(void *arg)
{
	((struct source *)arg)->released++;
}

static struct ergon_slow *start(struct source *s, enum ergon_slow_kind kind, uint64_t period_ms,
				uint64_t hold_ms)
{
	const struct ergon_slow_config config = {
		.thread_name = "test", .period_ns = period_ms * MS, .hold_ns = hold_ms * MS,
		.n = 1, .kinds = &kind, .begin = begin, .read = answer, .end = end,
		.release = release, .arg = s,
	};
	struct ergon_slow *slow = ergon_slow_start(&config, NULL);

	assert_non_null(slow);
	return slow;
}

/* Until `what` holds, at most 5 s. */
#define WAIT_FOR(what) do { \
	for (int tries = 0; !(what) && tries < 5000; tries++) \
		nap(1); \
	assert_true(what); \
} while (0)

static void counters_are_handed_through(void **state)
{
	struct source s = { .value = 41, .good = true };
	struct ergon_slow *slow = start(&s, ERGON_SLOW_COUNTER, 5, 10000);
	uint64_t raw = 0;
	bool ok = false;

	(void)state;
	WAIT_FOR(ergon_slow_latest(slow, &raw, &ok) == 1);
	assert_int_equal(raw, 41);
	assert_true(ok);
	s.value = 42;
	WAIT_FOR(ergon_slow_latest(slow, &raw, &ok) == 1 && raw == 42);
	assert_int_equal(s.begun, 1);
	assert_int_equal(s.ended, 0);
	ergon_slow_stop(slow);
	assert_int_equal(s.ended, 1);
	assert_int_equal(s.released, 1);
	ergon_slow_stop(NULL);
}

/* The caller's text may be gone before the thread runs. */
static void the_thread_keeps_its_name(void **state)
{
	const enum ergon_slow_kind kind = ERGON_SLOW_COUNTER;

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct source s = { .good = true };
		char name[16] = "ergon-test";
		const struct ergon_slow_config config = {
			.thread_name = name, .period_ns = 1000 * MS, .hold_ns = 1000 * MS,
			.n = 1, .kinds = &kind, .begin = begin, .read = answer, .end = end,
			.release = release, .arg = &s,
		};
		struct ergon_slow *slow = ergon_slow_start(&config, NULL);

		memset(name, 'x', sizeof(name) - 1);
		assert_non_null(slow);
		WAIT_FOR(s.begun == 1);
		assert_string_equal(s.thread_name, "ergon-test");
		ergon_slow_stop(slow);
	}
}

static void before_the_first_answer_there_is_nothing(void **state)
{
	struct source s = { .value = 1, .good = false };
	struct ergon_slow *slow = start(&s, ERGON_SLOW_COUNTER, 5, 10000);
	uint64_t raw = 77;
	bool ok = true;

	(void)state;
	WAIT_FOR(s.reads > 2);
	assert_int_equal(ergon_slow_latest(slow, &raw, &ok), 0);
	assert_false(ok);
	assert_int_equal(raw, 77);
	assert_int_equal(ergon_slow_age_ns(slow), 0);
	ergon_slow_stop(slow);
}

/* A reading that hangs delays nobody, and the thread cleans up behind itself. */
static void a_hanging_source_holds_nobody_up(void **state)
{
	static struct source s = { .value = 1, .good = true, .hang_ms = 700 };
	struct ergon_slow *slow = start(&s, ERGON_SLOW_COUNTER, 5, 10000);
	uint64_t raw, before = ergon_clock_ns();
	bool ok;

	(void)state;
	assert_int_equal(ergon_slow_latest(slow, &raw, &ok), 0);
	assert_true(ergon_clock_ns() - before < 300 * MS);
	nap(20); /* into the reading */
	before = ergon_clock_ns();
	ergon_slow_stop(slow);
	assert_true(ergon_clock_ns() - before < 600 * MS);
	assert_int_equal(s.ended, 0);
	assert_int_equal(s.released, 0);
	WAIT_FOR(s.released == 1);
	assert_int_equal(s.ended, 1);
}

/* 200 W told at steps of 1 s, whatever the clock says: each step is 200 J. */
static void power_becomes_energy(void **state)
{
	struct source s = { .value = 200 * W, .good = true, .step_ns = 1000 * MS };
	struct ergon_slow *slow = start(&s, ERGON_SLOW_POWER, 2, 10000);
	uint64_t first, last = 0, reads;
	bool ok;

	(void)state;
	WAIT_FOR(ergon_slow_latest(slow, &first, &ok) == 1);
	for (int i = 0; i < 200; i++) {
		assert_int_equal(ergon_slow_latest(slow, &last, &ok), 1);
		assert_true(last >= first);
		nap(1);
	}
	reads = (uint64_t)s.reads;
	WAIT_FOR((uint64_t)s.reads > reads + 1);
	ergon_slow_latest(slow, &last, &ok);
	/* One reading more or less, plus what power was held for: nothing, its time lies ahead. */
	assert_true(last >= (reads - 1) * 200 * W && last <= ((uint64_t)s.reads + 1) * 200 * W);
	ergon_slow_stop(slow);
}

/* X19: 100, 200, 100 W at 0, 1 and 10 s; then silence. */
static void answer_unevenly(void *arg, uint64_t *raw, bool *ok, uint64_t *t_ns)
{
	static const uint64_t watts[] = { 100, 200, 100 }, at_ms[] = { 0, 1000, 10000 };
	struct source *s = arg;
	int i = s->reads;

	if (i < 3) {
		if (i == 0)
			s->last_ns = t_ns[0];
		ok[0] = true;
		raw[0] = watts[i] * W;
		t_ns[0] = s->last_ns + at_ms[i] * MS;
	}
	s->reads++;
}

static void uneven_power_is_integrated_by_trapezoids(void **state)
{
	struct source s = { .value = 0 };
	const enum ergon_slow_kind kind = ERGON_SLOW_POWER;
	const struct ergon_slow_config config = {
		.thread_name = "test", .period_ns = 2 * MS, .hold_ns = 1000 * MS,
		.n = 1, .kinds = &kind, .read = answer_unevenly, .release = release, .arg = &s,
	};
	uint64_t raw = 0, start_ns = ergon_clock_ns();
	struct ergon_slow *slow = ergon_slow_start(&config, NULL);
	bool ok;

	(void)state;
	assert_non_null(slow);
	WAIT_FOR(s.reads > 3);
	assert_int_equal(ergon_slow_latest(slow, &raw, &ok), 1);
	/* 150 + 1350 J, and 100 W from the start to the first reading. */
	assert_true(raw >= 1500 * W);
	assert_true(raw <= 1500 * W + (s.last_ns - start_ns) / 1000 * 100);
	ergon_slow_stop(slow);
}

/* Between readings power is held; a lower reading does not turn energy back. */
static void energy_never_runs_backwards(void **state)
{
	struct source s = { .value = 500 * W, .good = true };
	struct ergon_slow *slow = start(&s, ERGON_SLOW_POWER, 20, 10000);
	uint64_t raw, before = 0, start_ns = ergon_clock_ns();
	bool ok;

	(void)state;
	for (int i = 0; i < 400; i++) {
		s.value = (i / 10) % 2 ? 500 * W : 0;
		if (ergon_slow_latest(slow, &raw, &ok) == 1) {
			assert_true(raw >= before);
			before = raw;
		}
		nap(1);
	}
	assert_true(before > 0);
	/* Never more than 500 W for all the time, and a holding period of slack. */
	assert_true(before <= (ergon_clock_ns() - start_ns) / 1000 * 500 + 1000 * W);
	ergon_slow_stop(slow);
}

/* A sensor that fell silent is no value once its last one is too old. */
static void old_values_are_no_values(void **state)
{
	struct source s = { .value = 100 * W, .good = true };
	struct ergon_slow *slow = start(&s, ERGON_SLOW_POWER, 5, 100);
	uint64_t raw, held;
	bool ok;

	(void)state;
	WAIT_FOR(ergon_slow_latest(slow, &raw, &ok) == 1);
	s.good = false;
	WAIT_FOR(ergon_slow_latest(slow, &raw, &ok) == 0);
	assert_true(ergon_slow_age_ns(slow) >= 100 * MS);
	/* Back again: the silence is integrated, once. */
	ergon_slow_latest(slow, &held, &ok);
	s.good = true;
	WAIT_FOR(ergon_slow_latest(slow, &raw, &ok) == 1);
	ergon_slow_stop(slow);
}

static struct ergon_slow *start_hurrying(struct source *s, const atomic_bool *done)
{
	const enum ergon_slow_kind kind = ERGON_SLOW_COUNTER;
	const struct ergon_slow_config config = {
		.thread_name = "test", .period_ns = 3600000 * MS, .first_ns = MS, .hold_ns = MS,
		.n = 1, .kinds = &kind, .begin = begin, .read = answer, .done = done,
		.release = release, .arg = s,
	};
	struct ergon_slow *slow = ergon_slow_start(&config, NULL);

	assert_non_null(slow);
	return slow;
}

/* After 1, 3, 7, 15, 31 ms: in an hour's time the next one would be too late. */
static void the_first_readings_may_come_sooner(void **state)
{
	struct source s = { .value = 1, .good = true };
	struct ergon_slow *slow = start_hurrying(&s, NULL);

	(void)state;
	WAIT_FOR(s.reads >= 6);
	/* Pauses that did not grow would make it hundreds. */
	nap(300);
	assert_in_range(s.reads, 6, 12);
	ergon_slow_stop(slow);
}

static void a_source_that_is_done_is_left_alone(void **state)
{
	struct source s = { .value = 1, .good = true };
	atomic_bool done = true;
	struct ergon_slow *slow = start_hurrying(&s, &done);
	int reads;

	(void)state;
	WAIT_FOR(s.begun == 1);
	ergon_slow_stop(slow);
	assert_int_equal(s.reads, 0);
	assert_int_equal(s.released, 1);
	done = false;
	slow = start_hurrying(&s, &done);
	WAIT_FOR(s.reads > 0);
	done = true;
	reads = s.reads;
	nap(100);
	assert_in_range(s.reads, reads, reads + 1);
	assert_int_equal(s.released, 1); /* by stop, not by the thread alone */
	ergon_slow_stop(slow);
	assert_int_equal(s.released, 2);
}

static void a_forked_child_leaves_it_alone(void **state)
{
	struct source s = { .value = 1, .good = true };
	struct ergon_slow *slow = start(&s, ERGON_SLOW_COUNTER, 5, 10000);
	int status;
	pid_t pid;

	(void)state;
	WAIT_FOR(s.reads > 0);
	pid = fork();
	if (pid == 0) {
		ergon_slow_stop(slow);
		_exit(s.released == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ergon_slow_stop(slow);
	assert_int_equal(s.released, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_handed_through),
		cmocka_unit_test(the_thread_keeps_its_name),
		cmocka_unit_test(before_the_first_answer_there_is_nothing),
		cmocka_unit_test(a_hanging_source_holds_nobody_up),
		cmocka_unit_test(power_becomes_energy),
		cmocka_unit_test(uneven_power_is_integrated_by_trapezoids),
		cmocka_unit_test(energy_never_runs_backwards),
		cmocka_unit_test(old_values_are_no_values),
		cmocka_unit_test(the_first_readings_may_come_sooner),
		cmocka_unit_test(a_source_that_is_done_is_left_alone),
		cmocka_unit_test(a_forked_child_leaves_it_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
