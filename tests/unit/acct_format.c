/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "acct_field.h"
#include "acct_nodes.h"
#include "acct_select.h"
#include "acct_time.h"
#include "flags.h"

#define S INT64_C(1000000000)

static struct ergon_acct_row row(void)
{
	struct ergon_acct_row r = {
		.is_job = true, .cluster = "c1", .user = "alice", .account = "phys",
		.partition = "batch", .qos = "", .job_name = "a rather long name",
		.job = 123, .restart = 0, .step = 0, .het = ERGON_NONE, .uid = 1000,
		.array_job = ERGON_NONE, .array_task = ERGON_NONE, .nnodes = 1, .ntasks = 1,
		.ncpus = 4, .start_ns = 86400 * S, .end_ns = (86400 + 3661) * S,
		.state = "COMPLETED", .exit_code = 256, .job_uj = INT64_C(101630000000),
		.node_uj = ERGON_NONE, .max_mw = ERGON_NONE, .mechanism = "perf", .scope = "cpu",
	};

	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
		r.domain_uj[d] = ERGON_NONE;
	return r;
}

/* What a row looks like; the caller frees it. */
static char *show(const char *fields, enum ergon_acct_layout layout, const char *delimiter,
		  const struct ergon_acct_row *r, bool header)
{
	struct ergon_acct_format format = { .layout = layout, .delimiter = delimiter };
	struct ergon_error err;
	char *text;
	size_t len;
	FILE *out;

	if (ergon_acct_format_parse(&format, fields, &err) < 0)
		fail_msg("%s", err.text);
	out = open_memstream(&text, &len);
	if (header)
		ergon_acct_print_header(&format, out);
	if (r)
		ergon_acct_print_row(&format, r, out);
	fclose(out);
	return text;
}

static void expect(const char *fields, const struct ergon_acct_row *r, const char *expected)
{
	char *text = show(fields, ERGON_ACCT_PARSABLE2, "|", r, false);

	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(text, expected);
	free(text);
}

static void unknown_fields_are_refused(void **state)
{
	static const char *const bad[] = { "x", "jobid,,xyz", "jobid%", "jobid%x", "jobid%0",
		"jobid%99999", "", ",", "jobidx", "%5" };
	struct ergon_acct_format format;
	struct ergon_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ergon_acct_format_parse(&format, bad[i], &err), -1);
	ergon_acct_format_parse(&format, "jobid,xx", &err);
	assert_string_equal(err.text, "Invalid field requested: \"xx\"");
}

static void the_first_name_that_begins_so_wins(void **state)
{
	struct ergon_acct_row r = row();

	(void)state;
	expect("job,CONSUMED,consumedenergyr,elapsed,ElapsedRaw,sta,state", &r,
	       "123|101.63K|101630|01:01:01|3661|1970-01-02T00:00:00|COMPLETED");
}

static void columns_have_widths(void **state)
{
	struct ergon_acct_row r = row();
	char *text = show("jobid,jobname,jobname%-5,jobid%1,state%3", ERGON_ACCT_ALIGNED, "|", &r,
			  true);

	(void)state;
	assert_string_equal(text,
		"JobID           JobName JobN+ + St+ \n"
		"------------ ---------- ----- - --- \n"
		"123          a rather + a ra+ + CO+ \n");
	free(text);
	r.job_name = "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9";
	text = show("jobname%4,jobname%3,jobname%5", ERGON_ACCT_ALIGNED, "|", &r, false);
	assert_string_equal(text, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9+ "
			    " \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 \n");
	free(text);
}

static void parsable_layouts_differ_at_the_end(void **state)
{
	struct ergon_acct_row r = row();
	char *text = show("jobid,user", ERGON_ACCT_PARSABLE, "|", &r, true);

	(void)state;
	assert_string_equal(text, "JobID|User|\n123|alice|\n");
	free(text);
	text = show("jobid,user", ERGON_ACCT_PARSABLE2, "::", &r, true);
	assert_string_equal(text, "JobID::User\n123::alice\n");
	free(text);
}

static void names_cannot_steer_the_terminal(void **state)
{
	struct ergon_acct_row r = row();

	(void)state;
	r.job_name = "a\x1b[2Jb\nc\x7f" "d|e\xc2\x9b" "f\xe2\x80\xae" "g\xc3\xa9";
	expect("jobname", &r, "a?[2Jb?c?d?e?f?g\xc3\xa9");
}

static void figures_scale_as_in_sacct(void **state)
{
	static const struct {
		int64_t uj;
		const char *text;
	} cases[] = {
		{ 0, "0" }, { 500000, "0.50" }, { 3470000, "3.47" }, { 999000000, "999" },
		{ 1000000000, "1000" }, { 1001000000, "1.00K" }, { 2000000000, "2K" },
		{ INT64_C(101630000000), "101.63K" }, { INT64_C(4580000000000), "4.58M" },
		{ INT64_C(1000499999), "1000" }, { ERGON_NONE, "" },
	};
	struct ergon_acct_row r = row();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r.job_uj = cases[i].uj;
		expect("consumedenergy", &r, cases[i].text);
	}
	r.job_uj = 1499999;
	expect("consumedenergyraw", &r, "1");
	r.job_uj = 1500000;
	expect("consumedenergyraw", &r, "2");
	r.job_uj = ERGON_NONE;
	expect("consumedenergyraw,avewatts,energydelay,maxwatts,nodeenergy", &r, "||||");
}

static void estimates_are_marked(void **state)
{
	struct ergon_acct_row r = row();

	(void)state;
	r.estimated = true;
	r.scope = "mixed";
	r.flags = ERGON_FLAG_GAP;
	r.overflow = true;
	expect("consumedenergy,consumedenergyraw,avewatts,flags", &r,
	       "~101.63K|101630|~27.8|gap,estimated,mixed,overflow");
}

static void ids_take_sacct_forms(void **state)
{
	struct ergon_acct_row r = row();

	(void)state;
	r.is_job = false;
	expect("jobid,jobidraw", &r, "123.0|123.0");
	r.step = ERGON_STEP_BATCH;
	expect("jobid,jobname", &r, "123.batch|batch");
	r.array_job = 100;
	r.array_task = 0;
	r.step = ERGON_STEP_EXTERN;
	expect("jobid,jobidraw", &r, "100_0.extern|123.extern");
	r.array_job = r.array_task = ERGON_NONE;
	r.het = 1;
	r.is_job = true;
	expect("jobid,exitcode", &r, "123+1|1:0");
	r.exit_code = 9;
	expect("exitcode", &r, "0:9");
}

static void running_jobs_have_no_end(void **state)
{
	struct ergon_acct_row r = row();

	(void)state;
	r.state = "RUNNING";
	expect("end,elapsed", &r, "Unknown|01:01:01");
	r.end_ns = ERGON_NONE;
	expect("end,elapsed,elapsedraw,avewatts", &r, "Unknown|||");
	r.state = "COMPLETED";
	r.end_ns = r.start_ns + (2 * 86400 + 5) * S;
	expect("elapsed", &r, "02-00:00:05");
}

static void nodes_become_ranges(void **state)
{
	static const struct {
		const char *names[8], *list;
	} cases[] = {
		{ { "n1" }, "n1" },
		{ { "n3", "n1", "n2", "n1" }, "n[1-3]" },
		{ { "n1", "n10", "n9", "n8" }, "n[1,8-10]" },
		{ { "n08", "n09", "n10", "n11" }, "n[08-11]" },
		{ { "n8", "n09", "n10" }, "n[8,09-10]" },
		{ { "a1", "b1", "login" }, "a1,b1,login" },
		{ { "r1-n2", "r1-n3", "r2-n3" }, "r1-n[2-3],r2-n3" },
		{ { "7", "8" }, "[7-8]" },
		{ { "n99999999999999999999", "n1" }, "n1,n99999999999999999999" },
		{ { "x", "x0", "x00" }, "x,x[0,00]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *names[8];
		size_t n = 0;
		char *list;

		while (n < 8 && cases[i].names[n]) {
			names[n] = cases[i].names[n];
			n++;
		}
		list = ergon_acct_nodes(names, n);
		assert_string_equal(list, cases[i].list);
		free(list);
	}
}

static void times_are_read_as_sacct_does(void **state)
{
	static const struct {
		const char *text;
		time_t t;
	} cases[] = {
		{ "now", 100000 }, { "now-1", 99999 }, { "now+2min", 100120 },
		{ "now-1days", 13600 }, { "NOW-1w", 100000 - 604800 }, { "today", 86400 },
		{ "midnight", 86400 }, { "noon", 129600 }, { "teatime", 86400 + 16 * 3600 },
		{ "01:02", 86400 + 3720 }, { "01:02:03", 86400 + 3723 },
		{ "1970-01-02", 86400 }, { "1970-01-02T00:00:01", 86401 },
		{ "2026-11-30T12:00", 1796040000 },
	};
	static const char *const bad[] = { "", "yesterday", "now-", "now1", "now-1parsec", "now--1",
		"1970-13-01", "1970-01-02T", "1970-01-02T25:00", "1970-01-02 x", "12:60", "12", "1:2",
		"now-99999999999999999999" };
	time_t t;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (ergon_acct_time_parse(cases[i].text, 100000, &t) < 0)
			fail_msg("%s", cases[i].text);
		assert_int_equal(t, cases[i].t);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (ergon_acct_time_parse(bad[i], 100000, &t) == 0)
			fail_msg("'%s' was taken for %ld", bad[i], (long)t);
}

static void jobs_are_named_as_in_sacct(void **state)
{
	static const char *const bad[] = { "", ",", "x", "0", "-1", "12.", "12.x", "12_", "12+",
		"12_x", "12.0.1", "99999999999", "12.batchx", "12_1+2x" };
	struct ergon_acct_jobs jobs = { NULL, 0 };
	struct ergon_acct_row r = row(), step = row();
	struct ergon_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (ergon_acct_jobs_add(&jobs, bad[i], &err) == 0)
			fail_msg("'%s' was taken", bad[i]);
		ergon_acct_jobs_free(&jobs);
	}
	step.is_job = false;
	assert_true(ergon_acct_wants(&jobs, &r, &r));
	assert_int_equal(ergon_acct_jobs_add(&jobs, "5,6_7,8+1, 123.0,9.batch", &err), 0);
	assert_int_equal(jobs.n, 5);
	assert_false(ergon_acct_wants(&jobs, &r, &r));
	assert_true(ergon_acct_wants(&jobs, &r, &step));
	step.step = 1;
	assert_false(ergon_acct_wants(&jobs, &r, &step));
	r.array_job = 6;
	r.array_task = 7;
	assert_true(ergon_acct_wants(&jobs, &r, &r));
	r.array_task = 8;
	assert_false(ergon_acct_wants(&jobs, &r, &r));
	r.array_job = 5;
	assert_true(ergon_acct_wants(&jobs, &r, &r));
	r.array_job = ERGON_NONE;
	r.job = 8;
	assert_false(ergon_acct_wants(&jobs, &r, &r));
	r.het = 1;
	assert_true(ergon_acct_wants(&jobs, &r, &step));
	ergon_acct_jobs_free(&jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_fields_are_refused),
		cmocka_unit_test(the_first_name_that_begins_so_wins),
		cmocka_unit_test(columns_have_widths),
		cmocka_unit_test(parsable_layouts_differ_at_the_end),
		cmocka_unit_test(names_cannot_steer_the_terminal),
		cmocka_unit_test(figures_scale_as_in_sacct),
		cmocka_unit_test(estimates_are_marked),
		cmocka_unit_test(ids_take_sacct_forms),
		cmocka_unit_test(running_jobs_have_no_end),
		cmocka_unit_test(nodes_become_ranges),
		cmocka_unit_test(times_are_read_as_sacct_does),
		cmocka_unit_test(jobs_are_named_as_in_sacct),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
