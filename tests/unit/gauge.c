/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gauge.h"

#define S 1000000000ull

static double mean_of(const struct ergon_gauge *g)
{
	double mean = -1;

	assert_true(ergon_gauge_mean(g, &mean));
	return mean;
}

static void without_a_reading_there_is_no_mean(void **state)
{
	struct ergon_gauge g = { 0 };
	double mean = 7;

	(void)state;
	ergon_gauge_break(&g);
	assert_false(ergon_gauge_mean(&g, &mean));
	assert_true(mean == 7);
}

static void one_reading_is_the_mean(void **state)
{
	struct ergon_gauge g = { 0 };

	(void)state;
	ergon_gauge_add(&g, -5000, 3 * S);
	assert_true(mean_of(&g) == -5000);
	assert_int_equal(g.min, -5000);
	assert_int_equal(g.max, -5000);
}

/* I22: uneven steps; a plain mean of 1000, 1000, 2000 would say 1333. */
static void the_mean_is_over_time(void **state)
{
	struct ergon_gauge g = { 0 };

	(void)state;
	ergon_gauge_add(&g, 1000, S);
	ergon_gauge_add(&g, 1000, 10 * S);
	ergon_gauge_add(&g, 2000, 11 * S);
	assert_true(mean_of(&g) == (9 * 1000.0 + 1500) / 10);
	assert_int_equal(g.min, 1000);
	assert_int_equal(g.max, 2000);
	assert_int_equal(g.n, 3);
}

/* What was between a failed reading and the next good one is not made up. */
static void a_failed_reading_covers_no_time(void **state)
{
	struct ergon_gauge g = { 0 };

	(void)state;
	ergon_gauge_add(&g, 10, S);
	ergon_gauge_add(&g, 20, 2 * S);
	ergon_gauge_break(&g);
	ergon_gauge_add(&g, 100, 50 * S);
	assert_true(mean_of(&g) == 15);
	ergon_gauge_add(&g, 100, 51 * S);
	assert_true(mean_of(&g) == (15 + 100) / 2.0);
	assert_int_equal(g.max, 100);
}

static void scattered_readings_count_alike(void **state)
{
	struct ergon_gauge g = { 0 };

	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		ergon_gauge_add(&g, 100 * i, i * i * S);
		ergon_gauge_break(&g);
	}
	assert_true(mean_of(&g) == 200);
}

static void time_that_stands_still_has_no_weight(void **state)
{
	struct ergon_gauge g = { 0 };

	(void)state;
	ergon_gauge_add(&g, 10, 5 * S);
	ergon_gauge_add(&g, 30, 5 * S);
	assert_true(mean_of(&g) == 20);
	ergon_gauge_add(&g, 50, 4 * S);
	assert_true(mean_of(&g) == 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_reading_there_is_no_mean),
		cmocka_unit_test(one_reading_is_the_mean),
		cmocka_unit_test(the_mean_is_over_time),
		cmocka_unit_test(a_failed_reading_covers_no_time),
		cmocka_unit_test(scattered_readings_count_alike),
		cmocka_unit_test(time_that_stands_still_has_no_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
