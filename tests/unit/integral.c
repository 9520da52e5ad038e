/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "integral.h"

#define S 1000000000ull
#define W 1000000ull

/* X19: t = 0, 1, 10 s; P = 100, 200, 100 W. */
static void uneven_steps_are_trapezoids(void **state)
{
	struct ergon_integral in = { 0 };

	(void)state;
	assert_true(ergon_integral_add(&in, 100 * W, 5 * S));
	assert_int_equal(in.uj, 0);
	assert_true(ergon_integral_add(&in, 200 * W, 6 * S));
	assert_int_equal(in.uj, 150 * W);
	assert_true(ergon_integral_add(&in, 100 * W, 15 * S));
	assert_int_equal(in.uj, 1500 * W);
}

static void averages_count_for_the_time_before(void **state)
{
	struct ergon_integral in = { .average = true };

	(void)state;
	ergon_integral_add(&in, 100 * W, 0);
	ergon_integral_add(&in, 200 * W, 1 * S);
	assert_int_equal(in.uj, 200 * W);
	ergon_integral_add(&in, 100 * W, 10 * S);
	assert_int_equal(in.uj, 1100 * W);
}

/* The rest below a microjoule is kept: 10^6 steps of 1 us at 1.5 W are 1.5 J. */
static void nothing_is_lost_in_small_steps(void **state)
{
	struct ergon_integral in = { 0 };

	(void)state;
	for (uint64_t i = 0; i <= 1000000; i++)
		ergon_integral_add(&in, 1500000, i * 1000);
	assert_int_equal(in.uj, 1500000);
}

static void time_that_stands_still_adds_nothing(void **state)
{
	struct ergon_integral in = { 0 };

	(void)state;
	ergon_integral_add(&in, 100 * W, 5 * S);
	assert_false(ergon_integral_add(&in, 900 * W, 5 * S));
	assert_false(ergon_integral_add(&in, 900 * W, 4 * S));
	assert_true(ergon_integral_add(&in, 100 * W, 6 * S));
	assert_int_equal(in.uj, 100 * W);
}

static void power_is_held_between_readings(void **state)
{
	struct ergon_integral in = { 0 };

	(void)state;
	assert_int_equal(ergon_integral_held(&in, 7 * S), 0);
	ergon_integral_add(&in, 100 * W, 5 * S);
	assert_int_equal(ergon_integral_held(&in, 4 * S), 0);
	assert_int_equal(ergon_integral_held(&in, 5 * S + S / 2), 50 * W);
	assert_int_equal(in.uj, 0);
}

static void huge_values_do_not_wrap(void **state)
{
	struct ergon_integral in = { 0 };

	(void)state;
	assert_true(ergon_integral_add(&in, UINT64_MAX, 1));
	assert_false(ergon_integral_add(&in, UINT64_MAX, UINT64_MAX));
	assert_int_equal(in.uj, 0);
	/* X16: 5000 W for a year is 157,680 MJ. */
	in = (struct ergon_integral){ 0 };
	ergon_integral_add(&in, 5000 * W, 0);
	assert_true(ergon_integral_add(&in, 5000 * W, 365 * 86400 * S));
	assert_int_equal(in.uj, 157680000000ull * W);
}

/* Against an oracle in long double, with random steps. */
static void agrees_with_floating_point(void **state)
{
	struct ergon_integral in = { 0 };
	long double joules = 0;
	uint64_t t = 0, before = 0;

	(void)state;
	srand(1);
	for (int i = 0; i < 100000; i++) {
		uint64_t uw = (uint64_t)rand() % (500 * W), dt = 1 + (uint64_t)rand() % (3 * S);

		if (i > 0)
			joules += (long double)(uw + before) / 2 * (long double)dt / 1e15L;
		t += dt;
		ergon_integral_add(&in, uw, t);
		before = uw;
	}
	assert_true((long double)in.uj - joules * 1e6L < 1 && joules * 1e6L - (long double)in.uj < 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uneven_steps_are_trapezoids),
		cmocka_unit_test(averages_count_for_the_time_before),
		cmocka_unit_test(nothing_is_lost_in_small_steps),
		cmocka_unit_test(time_that_stands_still_adds_nothing),
		cmocka_unit_test(power_is_held_between_readings),
		cmocka_unit_test(huge_values_do_not_wrap),
		cmocka_unit_test(agrees_with_floating_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
