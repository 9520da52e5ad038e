/* SPDX-License-Identifier: BSD-3-Clause */
/* Wraps, resets, glitches and repairs as arithmetic; tests/recipes.txt says which bug of whom each is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "delta.h"
#include "flags.h"

#define S 1000000000ull

static struct ergon_channel uj_channel(uint64_t modulus, double max_watts)
{
	struct ergon_channel ch = { .unit_j = 1e-6, .modulus = modulus, .max_watts = max_watts };

	return ch;
}

static void equal_readings_are_zero(void **state)
{
	struct ergon_channel ch = uj_channel(262143328911, 2000);
	struct ergon_delta d = ergon_delta(&ch, 5, 5, S);

	(void)state;
	assert_int_equal(d.counts, 0);
	assert_int_equal(d.flags, 0);
}

static void wrap_uses_the_exact_modulus(void **state)
{
	/* X1: range 262143328850, unit 61 uJ; X2: AMD range 65532610987, unit 15 uJ. */
	struct ergon_channel intel = uj_channel(262143328850 + 61, 2000);
	struct ergon_channel amd = uj_channel(65532610987 + 15, 2000);
	struct ergon_delta d;

	(void)state;
	d = ergon_delta(&intel, 262143328000, 1000, S);
	assert_int_equal(d.counts, 1911);
	assert_int_equal(d.flags, 0);
	d = ergon_delta(&amd, 65532600000, 500, S);
	assert_int_equal(d.counts, 11502);
}

static void each_counter_has_its_own_modulus(void **state)
{
	/* X3: the DRAM counter wraps earlier than the package of the same node. */
	struct ergon_channel dram = uj_channel(65712999613 + 15, 500);
	struct ergon_delta d = ergon_delta(&dram, 65712999000, 387, S);

	(void)state;
	assert_int_equal(d.counts, 628 + 387);
}

static void impossible_wrap_is_a_reset(void **state)
{
	/* X9: 131e9 -> 130.8e9 in 1 s would be 261943 J. */
	struct ergon_channel ch = uj_channel(262143328911, 2000);
	struct ergon_delta d = ergon_delta(&ch, 131000000000, 130800000000, S);

	(void)state;
	assert_int_equal(d.counts, 0);
	assert_int_equal(d.flags, ERGON_FLAG_RESET);
}

static void unknown_range_is_never_guessed(void **state)
{
	struct ergon_channel ch = uj_channel(ERGON_MODULUS_UNKNOWN, 2000);
	struct ergon_delta d = ergon_delta(&ch, 10, 5, S);

	(void)state;
	assert_int_equal(d.counts, 0);
	assert_int_equal(d.flags, ERGON_FLAG_RESET);
	d = ergon_delta(&ch, 5, 10, S);
	assert_int_equal(d.counts, 5);
	assert_int_equal(d.flags, 0);
}

static void negative_perf_delta_is_repaired(void **state)
{
	/* X10: 210 W for 163.84 s unread at 2^-16 J: the kernel reports -31129.6 J. */
	struct ergon_channel ch = { .unit_j = 0x1p-32, .repair = 1ull << 48, .max_watts = 2000 };
	uint64_t prev = 1000ull << 32;
	uint64_t cur = prev - (uint64_t)(31129.6 * 0x1p32);
	struct ergon_delta d = ergon_delta(&ch, prev + (40000ull << 32), cur + (40000ull << 32),
					   163840000000ull);

	(void)state;
	assert_true(fabs((double)d.counts * ch.unit_j - 34406.4) < 1e-6);
	assert_true(d.flags & ERGON_FLAG_REPAIRED);
}

static void glitch_is_dropped(void **state)
{
	/* Kepler #53: 1.8e19 after an inconsistent reading. */
	struct ergon_channel ch = uj_channel(0, 2000);
	struct ergon_delta d = ergon_delta(&ch, 100, UINT64_MAX - 5, S);

	(void)state;
	assert_int_equal(d.counts, 0);
	assert_int_equal(d.flags, ERGON_FLAG_GLITCH);
}

static void long_gaps_are_lower_bounds(void **state)
{
	struct ergon_channel ch = uj_channel(65532611002, 500);
	struct ergon_delta d = ergon_delta(&ch, 0, 1000000, 300 * S);

	(void)state;
	assert_int_equal(d.counts, 1000000);
	assert_int_equal(d.flags, ERGON_FLAG_WRAPPED);
	d = ergon_delta(&ch, 0, 1000000, 60 * S);
	assert_int_equal(d.flags, 0);
}

static void repeats_within_one_update_are_not_glitches(void **state)
{
	/* At 1000 Hz one read sees no change, the next two updates: at most 2 ms of power. */
	struct ergon_channel ch = uj_channel(65532611002, 500);

	(void)state;
	assert_int_equal(ergon_delta(&ch, 0, 1000000, S / 1000).flags, 0);
	/* A coarse counter (1 J) ticks at once whatever dt is. */
	ch.unit_j = 1;
	assert_int_equal(ergon_delta(&ch, 7, 8, S / 1000).counts, 1);
}

/* A GPU of 700 W read each 100 ms, sampled at 1000 Hz: 70 J at once after many zeros. */
static void steps_of_slow_sources_are_not_glitches(void **state)
{
	struct ergon_channel ch = uj_channel(0, 5000);

	(void)state;
	assert_int_equal(ergon_delta(&ch, 0, 70000000, S / 1000).flags, ERGON_FLAG_GLITCH);
	ch.step_ns = S / 10;
	assert_int_equal(ergon_delta(&ch, 0, 70000000, S / 1000).counts, 70000000);
	assert_int_equal(ergon_delta(&ch, 0, 70000000, S / 1000).flags, 0);
	/* Garbage stays garbage: 22 MJ. */
	assert_int_equal(ergon_delta(&ch, 0, 22000000000000, S / 1000).flags, ERGON_FLAG_GLITCH);
}

/*
 * Numbers that other tools published as energy (tests/recipes.txt), and
 * what the two readings behind them mean.
 */
static void published_numbers_come_out_right(void **state)
{
	const struct ergon_channel esu14 = uj_channel(262144000000, 2000);
	const struct ergon_channel perf14 = { .unit_j = 0x1p-32, .repair = 1ull << 50, .max_watts = 2000 };
	const struct ergon_channel never = uj_channel(0, 5000);
	const struct {
		const char *row;
		const struct ergon_channel *ch;
		uint64_t prev, cur, dt_s;
		uint64_t counts;
		unsigned flags;
	} cases[] = {
		/* -250769 J over a minute */
		{ "4", &esu14, 250800000000, 31000000, 60, 11375000000, 0 },
		/* 248923 J at 1546 s, 30811 J at 1795 s: 292955 J in all, at 2000 W even one wrap more */
		{ "7", &esu14, 248923000000, 30811000000, 249, 292955000000 - 248923000000,
		  ERGON_FLAG_WRAPPED },
		/* 18446744073447456768 mJ */
		{ "10", &esu14, 262100000000, 5152000, 1, 49152000, 0 },
		/* 9.99 J less at 60 kJ is no wrap, of whatever width such a value might suggest */
		{ "17", &esu14, 60000000000, 59990010000, 1, 0, ERGON_FLAG_RESET },
		/* The kernel adds without its wrap: the count falls by 262144 J less 100 J */
		{ "19", &perf14, 300000ull << 32, (300000ull - 262144 + 100) << 32, 1, 100ull << 32,
		  ERGON_FLAG_REPAIRED },
		{ "19", &perf14, 300000ull << 32, 1, 1, 0, ERGON_FLAG_RESET },
		/* 22 MJ, then 200 J, then 22 MJ again */
		{ "61", &never, 22000000000000, 200000000, 1, 0, ERGON_FLAG_RESET },
		{ "61", &never, 200000000, 22000000000000, 1, 0, ERGON_FLAG_GLITCH },
		/* Slurm's NO_VAL64 as a reading, and back */
		{ "69", &never, 1000, 0xfffffffffffffffeull, 1, 0, ERGON_FLAG_GLITCH },
		{ "69", &never, 0xfffffffffffffffeull, 1000, 1, 0, ERGON_FLAG_RESET },
		/* One less */
		{ "71", &never, 1000, 999, 1, 0, ERGON_FLAG_RESET },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_delta d = ergon_delta(cases[i].ch, cases[i].prev, cases[i].cur,
						   cases[i].dt_s * S);

		if (d.counts != cases[i].counts || d.flags != cases[i].flags)
			fail_msg("row %s: %llu counts, flags %x", cases[i].row,
				 (unsigned long long)d.counts, d.flags);
	}
}

static void microjoules_round_to_nearest(void **state)
{
	(void)state;
	assert_int_equal(ergon_counts_to_uj(123456789012345, 1e-6), 123456789012345);
	assert_int_equal(ergon_counts_to_uj(1ull << 32, 0x1p-32), 1000000);
	assert_int_equal(ergon_counts_to_uj(3, 1e-3), 3000);
	assert_int_equal(ergon_counts_to_uj(0, 1e-6), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_readings_are_zero),
		cmocka_unit_test(wrap_uses_the_exact_modulus),
		cmocka_unit_test(each_counter_has_its_own_modulus),
		cmocka_unit_test(impossible_wrap_is_a_reset),
		cmocka_unit_test(unknown_range_is_never_guessed),
		cmocka_unit_test(negative_perf_delta_is_repaired),
		cmocka_unit_test(glitch_is_dropped),
		cmocka_unit_test(long_gaps_are_lower_bounds),
		cmocka_unit_test(repeats_within_one_update_are_not_glitches),
		cmocka_unit_test(steps_of_slow_sources_are_not_glitches),
		cmocka_unit_test(published_numbers_come_out_right),
		cmocka_unit_test(microjoules_round_to_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
