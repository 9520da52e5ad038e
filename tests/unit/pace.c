/* SPDX-License-Identifier: BSD-3-Clause */
/* When freq=auto samples fast. Every row is one check, a quarter of a second after the one before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "pace.h"

/* From a time that is not 0, as a machine's clock. */
#define START_NS 5000000000000u

/* Make n checks of so many busy CPUs; what the last one says. */
static bool checks(struct ergon_pace *pace, uint64_t *t_ns, unsigned n, double busy)
{
	bool idle = pace->idle;

	while (n-- > 0) {
		*t_ns += ERGON_PACE_CHECK_NS;
		idle = ergon_pace_check(pace, *t_ns, busy);
	}
	assert_int_equal(idle, pace->idle);
	return idle;
}

static void it_begins_fast_and_needs_two_quiet_seconds(void **state)
{
	struct ergon_pace pace = { 0 };
	uint64_t t_ns = START_NS;

	(void)state;
	assert_false(pace.idle);
	assert_false(checks(&pace, &t_ns, 8, 0));
	assert_true(checks(&pace, &t_ns, 1, 0)); /* the first check began the 2 s */
	assert_true(checks(&pace, &t_ns, 1000, 0));
}

static void load_is_believed_at_once(void **state)
{
	struct ergon_pace pace = { 0 };
	uint64_t t_ns = START_NS;

	(void)state;
	assert_true(checks(&pace, &t_ns, 9, 0));
	assert_false(checks(&pace, &t_ns, 1, ERGON_PACE_LOAD));
	/* And the quiet has to last anew. */
	assert_false(checks(&pace, &t_ns, 8, 0));
	assert_true(checks(&pace, &t_ns, 1, 0));
	assert_false(checks(&pace, &t_ns, 1, 256));
}

static void a_burst_restarts_the_quiet(void **state)
{
	struct ergon_pace pace = { 0 };
	uint64_t t_ns = START_NS;

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_false(checks(&pace, &t_ns, 7, 0));
		assert_false(checks(&pace, &t_ns, 1, 1));
	}
	assert_false(checks(&pace, &t_ns, 7, 0));
	assert_false(checks(&pace, &t_ns, 1, (ERGON_PACE_LOAD + ERGON_PACE_QUIET) / 2));
	assert_false(checks(&pace, &t_ns, 8, 0));
	assert_true(checks(&pace, &t_ns, 1, 0));
}

static void between_the_thresholds_nothing_changes(void **state)
{
	struct ergon_pace pace = { 0 };
	uint64_t t_ns = START_NS;
	double between = (ERGON_PACE_LOAD + ERGON_PACE_QUIET) / 2;

	(void)state;
	assert_false(checks(&pace, &t_ns, 1000, between));
	assert_true(checks(&pace, &t_ns, 9, ERGON_PACE_QUIET));
	assert_true(checks(&pace, &t_ns, 1000, between));
	assert_false(checks(&pace, &t_ns, 1, ERGON_PACE_LOAD));
	assert_false(checks(&pace, &t_ns, 1000, between));
}

static void what_is_unknown_is_load(void **state)
{
	struct ergon_pace pace = { 0 };
	uint64_t t_ns = START_NS;

	(void)state;
	assert_true(checks(&pace, &t_ns, 9, 0));
	assert_false(checks(&pace, &t_ns, 1, -1));
	assert_false(checks(&pace, &t_ns, 100, -1));
}

/* The cost of freq=auto: no load, however it comes and goes, changes the pace more than once in 2 s. */
static void no_load_makes_it_flap(void **state)
{
	struct ergon_pace pace = { 0 };
	uint64_t t_ns = START_NS, changed_ns = 0;

	(void)state;
	srand(42);
	for (int i = 0; i < 100000; i++) {
		bool before = pace.idle;

		checks(&pace, &t_ns, 1, (double)(rand() % 100) / 250);
		if (pace.idle && !before) {
			assert_true(t_ns - changed_ns >= ERGON_PACE_QUIET_NS);
			changed_ns = t_ns;
		} else if (!pace.idle && before) {
			changed_ns = t_ns;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_fast_and_needs_two_quiet_seconds),
		cmocka_unit_test(load_is_believed_at_once),
		cmocka_unit_test(a_burst_restarts_the_quiet),
		cmocka_unit_test(between_the_thresholds_nothing_changes),
		cmocka_unit_test(what_is_unknown_is_load),
		cmocka_unit_test(no_load_makes_it_flap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
