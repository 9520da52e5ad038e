/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "share.h"

#define S UINT64_C(1000000000)

static struct ergon_split split(struct ergon_usage u)
{
	struct ergon_split out;

	ergon_share_split(&u, &out);
	assert_true(out.job_uj <= u.node_uj);
	assert_true(out.job_uj + out.other_uj + out.unallocated_uj == u.node_uj);
	return out;
}

static void a_step_with_all_cpus_gets_all(void **state)
{
	struct ergon_split s = split((struct ergon_usage){ 1000, S, 100, 8, 8, 0, 5 });

	(void)state;
	assert_int_equal(s.job_uj, 1000);
	assert_int_equal(s.other_uj + s.unallocated_uj, 0);
	s = split((struct ergon_usage){ 1000, S, 100, 9, 8, -1, -1 });
	assert_int_equal(s.job_uj, 1000);
}

static void an_unknown_node_is_not_given_away(void **state)
{
	struct ergon_split s = split((struct ergon_usage){ 1000, S, 0, 4, 0, -1, -1 });

	(void)state;
	assert_int_equal(s.job_uj, 0);
	assert_int_equal(s.other_uj, 1000);
}

/* 10 s at 150 W, idle 100 W; 2 of 8 CPUs, half of the node's CPU time. */
static void idle_by_cpus_held_and_dynamic_by_cpu_time(void **state)
{
	struct ergon_split s = split((struct ergon_usage){
		1500000000, 10 * S, 100, 2, 8, (int64_t)(5 * S), (int64_t)(10 * S) });

	(void)state;
	assert_int_equal(s.job_uj, 250000000 + 250000000);
	assert_int_equal(s.other_uj, 250000000);
	assert_int_equal(s.unallocated_uj, 750000000);
}

static void two_steps_that_fill_the_node_close_to_it(void **state)
{
	struct ergon_split a = split((struct ergon_usage){
		1500000000, 10 * S, 100, 2, 8, (int64_t)(2 * S), (int64_t)(10 * S) });
	struct ergon_split b = split((struct ergon_usage){
		1500000000, 10 * S, 100, 6, 8, (int64_t)(8 * S), (int64_t)(10 * S) });

	(void)state;
	assert_int_equal(a.job_uj + b.job_uj, 1500000000);
}

static void idle_power_above_the_meter_is_cut(void **state)
{
	struct ergon_split s = split((struct ergon_usage){
		1000, 10 * S, 1e9, 2, 8, (int64_t)S, (int64_t)S });

	(void)state;
	assert_int_equal(s.job_uj, 250);
	assert_int_equal(s.unallocated_uj, 750);
	s = split((struct ergon_usage){ 1000, 10 * S, -5, 2, 8, 0, (int64_t)S });
	assert_int_equal(s.other_uj, 1000);
}

static void more_cpu_time_than_the_node_had_is_cut(void **state)
{
	struct ergon_split s = split((struct ergon_usage){
		1000, S, 0, 2, 8, (int64_t)(3 * S), (int64_t)(2 * S) });

	(void)state;
	assert_int_equal(s.job_uj, 1000);
}

static void unknown_cpu_time_falls_back_to_cpus_held(void **state)
{
	struct ergon_split s = split((struct ergon_usage){ 1000, S, 0, 2, 8, -1, (int64_t)S });

	(void)state;
	assert_int_equal(s.job_uj, 250);
}

static void any_input_closes_to_the_node(void **state)
{
	(void)state;
	srandom(7);
	for (int i = 0; i < 200000; i++) {
		int shift = (int)(random() % 40);
		struct ergon_usage u = {
			((uint64_t)random() << 31 | (uint64_t)random()) >> shift,
			((uint64_t)random() << 20) >> (random() % 40),
			(double)(random() % 2000) - 100,
			random() % 300 - 2, random() % 300 - 2,
			((int64_t)random() << 20) - (1 << 30),
			((int64_t)random() << 20) - (1 << 30),
		};

		split(u);
	}
}

static void idle_watts_are_looked_up_by_node(void **state)
{
	static const struct {
		const char *list, *node;
		double watts;
	} cases[] = {
		{ "", "n1", 0 }, { "auto", "n1", 0 }, { "95", "n1", 95 }, { "-3", "n1", 0 },
		{ "n1:80", "n1", 80 }, { "n1:80", "n10", 0 }, { "n1:80", "n", 0 },
		{ "n[1-9]:95,n10:80", "n3", 95 }, { "n[1-9]:95,n10:80", "n10", 80 },
		{ "n[1-9]:95,n10:80", "n11", 0 }, { "n[1-3,7]:95", "n7", 95 },
		{ "n[1-3,7]:95,50", "n5", 50 }, { "n[01-12]:9", "n07", 9 },
		{ "n[01-12]:9", "n7", 0 }, { "n[1-12]:9", "n07", 0 },
		{ "r[1-2]n[1-4]-ib:70", "r2n4-ib", 70 }, { "r[1-2]n[1-4]-ib:70", "r2n5-ib", 0 },
		{ "n[1-", "n1", 0 }, { "n[1-:5", "n1", 0 }, { "[]:5", "", 0 }, { ",,n1:5", "n1", 5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(ergon_idle_watts(cases[i].list, cases[i].node) == cases[i].watts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_with_all_cpus_gets_all),
		cmocka_unit_test(an_unknown_node_is_not_given_away),
		cmocka_unit_test(idle_by_cpus_held_and_dynamic_by_cpu_time),
		cmocka_unit_test(two_steps_that_fill_the_node_close_to_it),
		cmocka_unit_test(idle_power_above_the_meter_is_cut),
		cmocka_unit_test(more_cpu_time_than_the_node_had_is_cut),
		cmocka_unit_test(unknown_cpu_time_falls_back_to_cpus_held),
		cmocka_unit_test(any_input_closes_to_the_node),
		cmocka_unit_test(idle_watts_are_looked_up_by_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
