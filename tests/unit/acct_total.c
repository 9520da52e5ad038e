/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "acct_run.h"
#include "acct_total.h"
#include "flags.h"

#define S INT64_C(1000000000)
#define J INT64_C(1000000)
#define N(array) (sizeof(array) / sizeof((array)[0]))

/* From 1000 s on; watts are constant; 4 of 4 CPUs. */
static struct ergon_record record(int64_t step, const char *node, int64_t from_s, int64_t to_s,
				  int64_t watts)
{
	struct ergon_record r;

	ergon_record_init(&r);
	strcpy(r.node, node);
	strcpy(r.scope, "cpu");
	r.job = 1;
	r.restart = 0;
	r.step = step;
	r.start_ns = (1000 + from_s) * S;
	r.end_ns = (1000 + to_s) * S;
	r.state = ERGON_STATE_COMPLETE;
	r.exit_code = 0;
	r.cpus = r.node_cpus = 4;
	r.job_uj = r.node_uj = watts * (to_s - from_s) * J;
	r.domain_uj[ERGON_DOMAIN_PACKAGE] = r.job_uj / 2;
	return r;
}

static struct ergon_acct_row total(const struct ergon_record *records, size_t n)
{
	const struct ergon_record *pointers[16];
	struct ergon_acct_row row;

	assert_true(n <= 16);
	for (size_t i = 0; i < n; i++)
		pointers[i] = &records[i];
	assert_int_equal(ergon_acct_job(&row, pointers, n), 0);
	ergon_acct_row_free(&row);
	return row;
}

static void no_energy_is_not_zero(void **state)
{
	struct ergon_record r = record(0, "n1", 0, 10, 100);
	struct ergon_acct_row row;

	(void)state;
	r.job_uj = r.node_uj = r.domain_uj[ERGON_DOMAIN_PACKAGE] = ERGON_NONE;
	row = total(&r, 1);
	assert_true(row.job_uj == ERGON_NONE && row.node_uj == ERGON_NONE);
	assert_int_equal(row.nodes_measured, 0);
	assert_int_equal(row.nnodes, 1);
	r.job_uj = 0;
	row = total(&r, 1);
	assert_int_equal(row.job_uj, 0);
}

static void the_extern_step_is_the_job(void **state)
{
	struct ergon_record r[] = {
		record(ERGON_STEP_EXTERN, "n1", 0, 30, 100),
		record(ERGON_STEP_BATCH, "n1", 1, 29, 100),
		record(0, "n1", 5, 10, 101),
		record(1, "n1", 8, 20, 99),
	};

	(void)state;
	assert_int_equal(total(r, N(r)).job_uj, 3000 * J);
	assert_int_equal(total(r, N(r)).domain_uj[ERGON_DOMAIN_PACKAGE], 1500 * J);
}

static void the_batch_step_covers_what_it_starts(void **state)
{
	struct ergon_record r[] = {
		record(0, "n1", 5, 10, 150),
		record(ERGON_STEP_BATCH, "n1", 0, 20, 100),
		record(0, "n2", 5, 10, 70),
	};

	(void)state;
	assert_int_equal(total(r, N(r)).job_uj, (2000 + 350) * J);
}

static void steps_that_overlap_count_once(void **state)
{
	/* 0-10 at 100 W, 5-20 at 200 W: the earlier counts while both run. */
	struct ergon_record r[] = {
		record(0, "n1", 0, 10, 100),
		record(1, "n1", 5, 20, 200),
		record(2, "n1", 40, 50, 10),
	};

	(void)state;
	assert_int_equal(total(r, N(r)).job_uj, (1000 + 2000 + 100) * J);
	assert_int_equal(total(r, N(r)).end_ns - total(r, N(r)).start_ns, 50 * S);
}

static void the_curve_tells_the_part_that_counts(void **state)
{
	struct ergon_record r[] = {
		record(0, "n1", 0, 10, 100),
		record(1, "n1", 5, 15, 100),
	};

	(void)state;
	/* Step 1 used nine tenths of its 1000 J in its second half. */
	r[1].curve.dt_ns = 5 * S;
	r[1].curve.used = 2;
	r[1].curve.uj[0] = 100 * J;
	r[1].curve.uj[1] = 900 * J;
	r[1].curve.end_ns = 10 * S;
	assert_int_equal(total(r, N(r)).job_uj, (1000 + 900) * J);
}

static void steps_on_cpus_of_their_own_share_the_node(void **state)
{
	struct ergon_record r[] = {
		record(0, "n1", 0, 10, 30),
		record(1, "n1", 0, 10, 40),
		record(2, "n1", 0, 10, 50),
	};
	struct ergon_acct_row row;

	(void)state;
	for (size_t i = 0; i < N(r); i++) {
		r[i].cpus = 2;
		r[i].node_uj = 1200 * J;
		r[i].flags = ERGON_FLAG_SHARED;
	}
	/* The third does not fit: it must sit on CPUs of the others. */
	row = total(r, N(r));
	assert_int_equal(row.job_uj, 700 * J);
	assert_int_equal(row.node_uj, 1200 * J);
	/* A job that holds the whole node is charged all of it in each step. */
	r[0].flags = r[1].flags = r[2].flags = 0;
	assert_int_equal(total(r, N(r)).job_uj, 300 * J);
	r[1].flags = ERGON_FLAG_SHARED;
	assert_int_equal(total(r, N(r)).job_uj, 300 * J);
}

static void a_step_without_energy_hides_nothing(void **state)
{
	struct ergon_record r[] = {
		record(ERGON_STEP_EXTERN, "n1", 0, 30, 100),
		record(0, "n1", 5, 10, 50),
	};

	(void)state;
	r[0].job_uj = r[0].node_uj = ERGON_NONE;
	assert_int_equal(total(r, N(r)).job_uj, 250 * J);
	/* An extern step that was cut short covers what it saw. */
	r[0] = record(ERGON_STEP_EXTERN, "n1", 0, 8, 100);
	assert_int_equal(total(r, N(r)).job_uj, (800 + 100) * J);
}

static void odd_lengths_are_survived(void **state)
{
	struct ergon_record r[] = {
		record(0, "n1", 12, 12, 0),
		record(1, "n1", 0, 10, 1),
		record(2, "n1", 20, 20, 0),
	};

	(void)state;
	r[2].job_uj = 7;
	assert_int_equal(total(r, N(r)).job_uj, 10 * J + 7);
	r[1].end_ns = ERGON_NONE; /* still running, no curve yet */
	r[1].state = ERGON_STATE_RUNNING;
	assert_int_equal(total(r, N(r)).job_uj, 10 * J + 7);
	assert_string_equal(total(r, N(r)).state, "RUNNING");
}

static void what_differs_is_mixed(void **state)
{
	struct ergon_record r[] = {
		record(0, "n1", 0, 10, 1), record(0, "n2", 0, 10, 1), record(0, "n3", 0, 10, 1),
	};
	struct ergon_acct_row row;

	(void)state;
	strcpy(r[1].scope, "node");
	strcpy(r[0].mechanism, "perf");
	strcpy(r[1].mechanism, "perf");
	r[2].job_uj = ERGON_NONE; /* has none: its scope does not matter */
	strcpy(r[2].mechanism, "x");
	r[2].flags = ERGON_FLAG_NOENERGY;
	r[0].nnodes = 4;
	r[0].model = 1;
	row = total(r, N(r));
	assert_string_equal(row.scope, "mixed");
	assert_string_equal(row.mechanism, "perf");
	assert_int_equal(row.flags, ERGON_FLAG_NOENERGY);
	assert_int_equal(row.nodes_measured, 2);
	assert_int_equal(row.nnodes, 4);
	assert_true(row.estimated);
}

static void the_batch_script_has_the_last_word(void **state)
{
	struct ergon_record r[] = {
		record(ERGON_STEP_EXTERN, "n1", 0, 30, 100),
		record(0, "n1", 5, 10, 1), record(1, "n1", 11, 12, 1),
	};

	(void)state;
	r[0].exit_code = 9;
	assert_string_equal(total(r, N(r)).state, "COMPLETED");
	r[2].exit_code = 256;
	assert_string_equal(total(r, N(r)).state, "FAILED");
	assert_int_equal(total(r, N(r)).exit_code, 256);
	r[1].step = ERGON_STEP_BATCH;
	assert_string_equal(total(r, N(r)).state, "COMPLETED");
	r[2].state = ERGON_STATE_PARTIAL;
	assert_string_equal(total(r, N(r)).state, "PARTIAL");
}

static void a_sum_that_does_not_fit_is_absent(void **state)
{
	const struct ergon_record *pointers[100];
	struct ergon_record r = record(0, "n", 0, 10, 1);
	struct ergon_acct_row row;

	(void)state;
	r.job_uj = INT64_C(100000000000000000);
	for (size_t i = 0; i < N(pointers); i++)
		pointers[i] = &r;
	assert_int_equal(ergon_acct_step(&row, pointers, N(pointers)), 0);
	assert_true(row.job_uj == ERGON_NONE && row.overflow);
	assert_true(row.node_uj == 1000 * J);
	ergon_acct_row_free(&row);
	assert_int_equal(ergon_acct_step(&row, pointers, 90), 0);
	assert_true(row.job_uj == INT64_C(9000000000000000000) && !row.overflow);
	ergon_acct_row_free(&row);
}

static size_t first_run(const struct ergon_record *records, size_t n)
{
	const struct ergon_record *pointers[16];

	for (size_t i = 0; i < n; i++)
		pointers[i] = &records[i];
	return ergon_acct_run(pointers, n);
}

static void runs_are_told_apart_by_time(void **state)
{
	struct ergon_record r[] = {
		record(ERGON_STEP_EXTERN, "n1", 0, 30, 1),
		record(ERGON_STEP_BATCH, "n1", 1, 30, 1),
		record(0, "n1", 2, 10, 1),
		record(0, "n2", 2, 10, 1),
		record(1, "n1", 12, 20, 1),
		record(ERGON_STEP_EXTERN, "n3", 40, 60, 1), /* on another node */
		record(ERGON_STEP_BATCH, "n3", 41, 60, 1),
		record(0, "n3", 42, 50, 1),
	};
	struct ergon_record farm[] = {
		record(0, "n1", 0, 10, 1), record(1, "n1", 12, 20, 1), record(2, "n1", 30, 40, 1),
		record(0, "n1", 50, 60, 1),
	};

	(void)state;
	assert_int_equal(first_run(r, N(r)), 5);
	assert_int_equal(first_run(r + 5, 3), 3);
	assert_int_equal(first_run(farm, N(farm)), 3);
	farm[3].step = 3;
	assert_int_equal(first_run(farm, N(farm)), 4);
	farm[3].restart = 1;
	assert_int_equal(first_run(farm, N(farm)), 3);
	farm[3].restart = ERGON_NONE;
	assert_int_equal(first_run(farm, N(farm)), 4);
	farm[3].step = 0;
	farm[3].start_ns = farm[2].start_ns; /* the clocks of two nodes differ */
	assert_int_equal(first_run(farm, N(farm)), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_energy_is_not_zero),
		cmocka_unit_test(the_extern_step_is_the_job),
		cmocka_unit_test(the_batch_step_covers_what_it_starts),
		cmocka_unit_test(steps_that_overlap_count_once),
		cmocka_unit_test(the_curve_tells_the_part_that_counts),
		cmocka_unit_test(steps_on_cpus_of_their_own_share_the_node),
		cmocka_unit_test(a_step_without_energy_hides_nothing),
		cmocka_unit_test(odd_lengths_are_survived),
		cmocka_unit_test(what_differs_is_mixed),
		cmocka_unit_test(the_batch_script_has_the_last_word),
		cmocka_unit_test(runs_are_told_apart_by_time),
		cmocka_unit_test(a_sum_that_does_not_fit_is_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
