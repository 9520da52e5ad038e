/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_count.h"

#define S 1000000000ull
#define W 1000000ull
#define J 1000000ull

static void a_counter_is_followed(void **state)
{
	struct ergon_gpu_count c = { .start_ns = S / 2 };

	(void)state;
	assert_false(c.based);
	assert_false(ergon_gpu_count_wants_power(&c, 10 * S));
	ergon_gpu_count_energy(&c, 5000 * J, 1 * S);
	assert_true(c.based);
	assert_int_equal(c.uj, 0);
	ergon_gpu_count_energy(&c, 5000 * J, 1 * S + S / 10);
	assert_int_equal(c.uj, 0);
	assert_false(ergon_gpu_count_wants_power(&c, 1 * S + S / 10));
	ergon_gpu_count_energy(&c, 5030 * J, 1 * S + S / 5);
	assert_int_equal(c.uj, 30 * J);
}

/* The library took 2 s to start, the GPU drew 70 W meanwhile. */
static void what_was_drawn_before_the_first_reading_counts(void **state)
{
	struct ergon_gpu_count c = { .start_ns = 10 * S };

	(void)state;
	ergon_gpu_count_before(&c, 70 * W, 12 * S);
	ergon_gpu_count_energy(&c, 5000 * J, 12 * S);
	assert_int_equal(c.uj, 140 * J);
	ergon_gpu_count_energy(&c, 5001 * J, 13 * S);
	assert_int_equal(c.uj, 141 * J);
}

/* amdsmi #115: one step back is a glitch; the driver loaded again stays low. */
static void steps_back_are_believed_when_repeated(void **state)
{
	struct ergon_gpu_count c = { 0 };

	(void)state;
	ergon_gpu_count_energy(&c, 900, 1 * S);
	ergon_gpu_count_energy(&c, 850, 2 * S);
	assert_int_equal(c.uj, 0);
	ergon_gpu_count_energy(&c, 910, 3 * S);
	assert_int_equal(c.uj, 10);
	/* Not two in a row. */
	ergon_gpu_count_energy(&c, 850, 4 * S);
	ergon_gpu_count_energy(&c, 910, 5 * S);
	ergon_gpu_count_energy(&c, 850, 6 * S);
	assert_int_equal(c.uj, 10);
	ergon_gpu_count_energy(&c, 5, 7 * S);
	assert_int_equal(c.uj, 0);
	ergon_gpu_count_energy(&c, 8, 8 * S);
	assert_int_equal(c.uj, 3);
}

/* nvml-wrapper #54: no counter before Volta. */
static void without_a_counter_power_is_integrated(void **state)
{
	struct ergon_gpu_count c = { .start_ns = S / 2 };

	(void)state;
	ergon_gpu_count_no_energy(&c);
	assert_false(c.based);
	assert_true(ergon_gpu_count_wants_power(&c, 1 * S));
	ergon_gpu_count_power(&c, 100 * W, 1 * S);
	assert_true(c.based);
	assert_int_equal(c.uj, 50 * J);
	ergon_gpu_count_power(&c, 200 * W, 2 * S);
	assert_int_equal(c.uj, 200 * J);
	ergon_gpu_count_power(&c, 100 * W, 11 * S);
	assert_int_equal(c.uj, 1550 * J);
	/* A counter that turns up later must not be mixed in. */
	ergon_gpu_count_energy(&c, 77, 12 * S);
	assert_int_equal(c.uj, 1550 * J);
}

/* rocm_smi_lib #180: the counter stands still while 300 W are drawn. */
static void a_constant_counter_loses_trust(void **state)
{
	struct ergon_gpu_count c = { 0 };

	(void)state;
	ergon_gpu_count_energy(&c, 7000 * J, 10 * S);
	for (uint64_t t = 11; t < 15; t++) {
		ergon_gpu_count_energy(&c, 7000 * J, t * S);
		assert_true(ergon_gpu_count_wants_power(&c, t * S));
		ergon_gpu_count_power(&c, 300 * W, t * S);
		assert_int_equal(c.uj, 0);
	}
	ergon_gpu_count_power(&c, 300 * W, 15 * S);
	assert_true(c.by_power);
	assert_int_equal(c.uj, 1500 * J);
	ergon_gpu_count_power(&c, 300 * W, 16 * S);
	assert_int_equal(c.uj, 1800 * J);
}

static void a_counter_that_moves_again_keeps_trust(void **state)
{
	struct ergon_gpu_count c = { 0 };

	(void)state;
	ergon_gpu_count_energy(&c, 7000 * J, 10 * S);
	ergon_gpu_count_power(&c, 300 * W, 14 * S);
	ergon_gpu_count_energy(&c, 7001 * J, 14 * S + S / 2);
	ergon_gpu_count_energy(&c, 7001 * J, 16 * S);
	ergon_gpu_count_power(&c, 300 * W, 16 * S);
	assert_false(c.by_power);
	assert_int_equal(c.uj, 1 * J);
}

/* A GPU that sleeps draws nothing and counts nothing: zero is a measurement. */
static void a_sleeping_gpu_is_believed(void **state)
{
	struct ergon_gpu_count c = { 0 };

	(void)state;
	ergon_gpu_count_energy(&c, 7000 * J, 10 * S);
	ergon_gpu_count_power(&c, 0, 20 * S);
	ergon_gpu_count_power(&c, 0, 30 * S);
	assert_false(c.by_power);
	assert_int_equal(c.uj, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter_is_followed),
		cmocka_unit_test(what_was_drawn_before_the_first_reading_counts),
		cmocka_unit_test(steps_back_are_believed_when_repeated),
		cmocka_unit_test(without_a_counter_power_is_integrated),
		cmocka_unit_test(a_constant_counter_loses_trust),
		cmocka_unit_test(a_counter_that_moves_again_keeps_trust),
		cmocka_unit_test(a_sleeping_gpu_is_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
