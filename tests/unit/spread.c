/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "spread.h"

static void nothing_is_measured_of_nothing(void **state)
{
	(void)state;
	assert_int_equal(spread_of(NULL, 0).n, 0);
}

static void order_does_not_matter(void **state)
{
	uint64_t one[] = { 7 }, four[] = { UINT64_MAX, 0, 3, 2 }, many[200];
	struct spread s;

	(void)state;
	s = spread_of(one, 1);
	assert_true(s.n == 1 && s.median == 7 && s.p99 == 7 && s.max == 7);
	s = spread_of(four, 4);
	assert_true(s.n == 4 && s.median == 2 && s.p99 == UINT64_MAX && s.max == UINT64_MAX);
	/* 1 to 200, scrambled: 99 % of them do not exceed 198. */
	for (uint64_t i = 0; i < 200; i++)
		many[i * 77 % 200] = i + 1;
	s = spread_of(many, 200);
	assert_true(s.n == 200 && s.median == 100 && s.p99 == 198 && s.max == 200);
	/* Of 100 values the second greatest; of 101 too: one is 99.01 % and 100 are. */
	s = spread_of(many, 100);
	assert_true(s.median == 50 && s.p99 == 99 && s.max == 100);
	s = spread_of(many, 101);
	assert_true(s.median == 51 && s.p99 == 100 && s.max == 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_measured_of_nothing),
		cmocka_unit_test(order_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
