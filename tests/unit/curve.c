/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "curve.h"

#define S UINT64_C(1000000000)

static uint64_t sum(const struct ergon_curve *c)
{
	uint64_t total = 0;

	for (int i = 0; i < ERGON_CURVE_MAX; i++)
		total += c->uj[i];
	return total;
}

static void points_are_brought_into_range(void **state)
{
	static const int asked[] = { -5, 0, 1, 2, 3, 119, 120, 121, 1 << 30 };
	static const int got[] = { 2, 2, 2, 2, 2, 118, 120, 120, 120 };
	struct ergon_curve c;

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		ergon_curve_init(&c, asked[i]);
		assert_int_equal(c.points, got[i]);
		assert_int_equal(c.used, 0);
		assert_int_equal(c.dt_ns, S);
	}
}

static void nothing_adds_nothing(void **state)
{
	struct ergon_curve c;

	(void)state;
	ergon_curve_init(&c, 4);
	ergon_curve_add(&c, 0, 0, 0);
	assert_int_equal(c.used, 0);
	assert_int_equal(ergon_curve_max_mw(&c), 0);
	assert_true(ergon_curve_energy_uj(&c, 0, UINT64_MAX) == 0);
}

static void energy_without_time_is_kept(void **state)
{
	struct ergon_curve c;

	(void)state;
	ergon_curve_init(&c, 4);
	ergon_curve_add(&c, 0, 0, 7);
	assert_int_equal(c.uj[0], 7);
	ergon_curve_add(&c, 0, 4 * S, 8);
	ergon_curve_add(&c, 4 * S, 4 * S, 5);
	assert_int_equal(c.dt_ns, S);
	assert_int_equal(c.used, 4);
	assert_int_equal(c.uj[3], 2 + 5);
	assert_int_equal(sum(&c), 20);
}

static void energy_is_spread_evenly_over_the_intervals(void **state)
{
	struct ergon_curve c;

	(void)state;
	ergon_curve_init(&c, 10);
	ergon_curve_add(&c, 0, S / 2, 50);
	ergon_curve_add(&c, S / 2, 3 * S, 250);
	assert_int_equal(c.used, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(c.uj[i], 100);
	assert_int_equal(c.end_ns, 3 * S);
}

static void a_full_curve_doubles_its_interval(void **state)
{
	struct ergon_curve c;

	(void)state;
	ergon_curve_init(&c, 4);
	for (uint64_t i = 0; i < 4; i++)
		ergon_curve_add(&c, i * S, (i + 1) * S, i + 1);
	assert_int_equal(c.dt_ns, S);
	assert_int_equal(c.used, 4);
	ergon_curve_add(&c, 4 * S, 5 * S, 5);
	assert_int_equal(c.dt_ns, 2 * S);
	assert_int_equal(c.used, 3);
	assert_int_equal(c.uj[0], 3);
	assert_int_equal(c.uj[1], 7);
	assert_int_equal(c.uj[2], 5);
	assert_int_equal(c.uj[3], 0);
}

static void a_year_fits(void **state)
{
	struct ergon_curve c;
	const uint64_t year = 366 * 24 * 3600 * S;

	(void)state;
	ergon_curve_init(&c, 120);
	ergon_curve_add(&c, 0, year, 1000000007);
	assert_int_equal(sum(&c), 1000000007);
	assert_true(c.used <= 120 && c.used > 60);
	assert_true(c.dt_ns * 120 >= year);
}

static void any_sequence_conserves_energy(void **state)
{
	(void)state;
	srandom(20261130);
	for (int run = 0; run < 300; run++) {
		struct ergon_curve c;
		uint64_t at = 0, total = 0;

		ergon_curve_init(&c, 2 + (int)(random() % 119));
		for (int i = 0; i < 400; i++) {
			uint64_t step = (uint64_t)random() % (run % 3 ? S / 7 : 40 * S);
			uint64_t uj = (uint64_t)random() * (uint64_t)(random() % 1000);

			ergon_curve_add(&c, at, at + step, uj);
			at += step;
			total += uj;
			assert_int_equal(sum(&c), total);
			assert_int_equal(c.end_ns, at);
			assert_true(c.used <= c.points);
		}
		assert_true(ergon_curve_energy_uj(&c, 0, at) > (double)total * (1 - 1e-9));
		assert_true(ergon_curve_energy_uj(&c, 0, at) < (double)total * (1 + 1e-9));
	}
}

static void energy_between_two_times_is_linear(void **state)
{
	struct ergon_curve c;

	(void)state;
	ergon_curve_init(&c, 4);
	ergon_curve_add(&c, 0, S, 100);
	ergon_curve_add(&c, S, S + S / 2, 100);
	assert_true(ergon_curve_energy_uj(&c, S / 2, S) == 50);
	assert_true(ergon_curve_energy_uj(&c, S, S + S / 4) == 50);
	assert_true(ergon_curve_energy_uj(&c, S / 2, 99 * S) == 150);
	assert_true(ergon_curve_energy_uj(&c, 2 * S, 99 * S) == 0);
	assert_true(ergon_curve_energy_uj(&c, S, S / 2) == 0);
}

static void the_highest_power_ignores_splinters(void **state)
{
	struct ergon_curve c;

	(void)state;
	ergon_curve_init(&c, 4);
	ergon_curve_add(&c, 0, S, 100000000);
	ergon_curve_add(&c, S, S + S / 2, 75000000);
	assert_int_equal(ergon_curve_max_mw(&c), 150000);
	ergon_curve_init(&c, 4);
	ergon_curve_add(&c, 0, S, 100000000);
	ergon_curve_add(&c, S, S + S / 4, 75000000);
	assert_int_equal(ergon_curve_max_mw(&c), 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_are_brought_into_range),
		cmocka_unit_test(nothing_adds_nothing),
		cmocka_unit_test(energy_without_time_is_kept),
		cmocka_unit_test(energy_is_spread_evenly_over_the_intervals),
		cmocka_unit_test(a_full_curve_doubles_its_interval),
		cmocka_unit_test(a_year_fits),
		cmocka_unit_test(any_sequence_conserves_energy),
		cmocka_unit_test(energy_between_two_times_is_linear),
		cmocka_unit_test(the_highest_power_ignores_splinters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
