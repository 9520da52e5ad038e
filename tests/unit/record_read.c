/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "flags.h"
#include "json_scan.h"
#include "record_read.h"

static const char good[] =
	"{\"v\":1,\"cluster\":\"c1\",\"job\":7,\"restart\":0,\"step\":0,\"het\":null,\"node\":\"n1\","
	"\"uid\":1000,\"start_ns\":1000,\"end_ns\":2000,\"state\":\"complete\","
	"\"node_uj\":50,\"job_uj\":40}";

/* A copy of good with one piece replaced; the caller frees it. */
static char *with(const char *piece, const char *instead, size_t *len)
{
	const char *at = strstr(good, piece);
	char *text;

	assert_non_null(at);
	*len = sizeof(good) - 1 - strlen(piece) + strlen(instead);
	text = malloc(*len + 1);
	sprintf(text, "%.*s%s%s", (int)(at - good), good, instead, at + strlen(piece));
	return text;
}

static void bad_members_are_refused_by_name(void **state)
{
	static const struct {
		const char *piece, *instead, *error;
	} cases[] = {
		{ "\"job\":7", "\"job\":-7", "job: -7 is not in 1.." },
		{ "\"job\":7", "\"job\":0", "job: 0 is not in 1.." },
		{ "\"job\":7", "\"job\":\"7\"", "job: not an integer" },
		{ "\"job\":7", "\"job\":7.5", "job: not an integer" },
		{ "\"job\":7", "\"job\":7e0", "job: not an integer" },
		{ "\"job\":7", "\"job\":07", "job: not an integer" },
		{ "\"job\":7", "\"job\":true", "job: not an integer" },
		{ "\"job\":7", "\"job\":null", "job: is null" },
		{ "\"job\":7", "\"job\":99999999999999999999", "job: out of range" },
		{ "\"job\":7", "\"job\":9223372036854775808", "job: out of range" },
		{ "\"job\":7", "\"job\":7,\"job\":7", "job: is there twice" },
		{ "\"v\":1", "\"v\":1,\"v\":1", "v: is there twice" },
		{ "\"job\":7,", "", "job: is missing" },
		{ "\"v\":1,", "", "v: is missing" },
		{ "\"v\":1", "\"v\":2", "v: version 2" },
		{ "\"step\":0", "\"step\":-4", NULL },
		{ "\"step\":0", "\"step\":-7", "step: -7" },
		{ "\"step\":0", "\"step\":4294967292", NULL },
		{ "\"uid\":1000", "\"uid\":-1", "uid: -1" },
		{ "\"uid\":1000", "\"uid\":null", NULL },
		{ "\"node_uj\":50", "\"node_uj\":-1", "node_uj: -1" },
		{ "\"node_uj\":50", "\"node_uj\":100000000000000001", "node_uj: " },
		{ "\"node_uj\":50", "\"node_uj\":1e30", "node_uj: not an integer" },
		{ "\"end_ns\":2000", "\"end_ns\":999", "end_ns: before start_ns" },
		{ "\"end_ns\":2000", "\"end_ns\":null", "end_ns: is null in a complete" },
		{ "\"complete\"", "\"done\"", "state: not running" },
		{ "\"complete\"", "1", "state: not a string" },
		{ "\"n1\"", "\"\"", "node: is empty" },
		{ "\"n1\"", "\"n\\u0000\"", "node: contains a NUL" },
		{ "\"n1\"", "\"n\\ud800\"", "node: lone surrogate" },
		{ "\"n1\"", "\"n\\x\"", "node: unknown escape" },
		{ "\"n1\"", "\"n\xff\"", "node: invalid UTF-8" },
		{ "\"n1\"", "\"n\xc0\xaf\"", "node: invalid UTF-8" },
		{ "\"n1\"", "\"n\xed\xa0\x80\"", "node: invalid UTF-8" },
		{ "\"n1\"", "\"n\xf5\x80\x80\x80\"", "node: invalid UTF-8" },
		{ "\"n1\"", "\"n\x01\"", "node: contains a control character" },
		{ "\"n1\"", "[\"n1\"]", "node: not a string" },
		{ "\"n1\"", "\"n123456789012345678901234567890123456789012345678901234567890123\"",
		  "node: too long" },
		{ "\"job_uj\":40", "\"job_uj\":40,\"domains\":[]", "domains: not an object" },
		{ "\"job_uj\":40", "\"job_uj\":40,\"domains\":{\"dram\":\"1\"}", "domains: not an integer" },
		{ "\"job_uj\":40", "\"job_uj\":40,\"curve\":{\"node_mj\":[1]}", "curve: no dt_ns" },
		{ "\"job_uj\":40", "\"job_uj\":40,\"curve\":{\"dt_ns\":0}", "curve: 0 is not in" },
		{ "\"job_uj\":40", "\"job_uj\":40,\"curve\":{\"dt_ns\":1,\"node_mj\":[1,]}",
		  "curve: not valid JSON" },
		{ "\"job_uj\":40", "\"job_uj\":40,\"flags\":\"gap\"", "flags: not an array" },
		{ "\"job_uj\":40", "\"job_uj\":40,\"freq_hz\":-1", "freq_hz: out of range" },
		{ "\"job_uj\":40", "\"job_uj\":40,\"max_w\":1e999", "max_w: out of range" },
		{ "\"job_uj\":40", "\"job_uj\":40,\"new\":{\"a\":[1,2,{\"b\":null}],\"c\":-1.5e3}", NULL },
		{ "\"job_uj\":40", "\"job_uj\":40,\"new\":nul", "unknown member: not valid JSON" },
		{ "\"job_uj\":40", "\"job_uj\":40,", "object: not valid JSON" },
		{ "\"job_uj\":40", "\"job_uj\":40 \"x\":1", "object: not valid JSON" },
		{ "\"job_uj\":40}", "\"job_uj\":40}x", "object: text after the end" },
		{ "\"job_uj\":40}", "\"job_uj\":40", "object: not valid JSON" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_error err = { "" };
		struct ergon_record r;
		size_t len;
		char *text = with(cases[i].piece, cases[i].instead, &len);
		int rc = ergon_record_read(&r, text, len, &err);

		if (!cases[i].error && rc != 0)
			fail_msg("%s: %s", cases[i].instead, err.text);
		if (cases[i].error && (rc == 0 || strncmp(err.text, cases[i].error,
							  strlen(cases[i].error)) != 0))
			fail_msg("%s: expected '%s', got '%s'", cases[i].instead, cases[i].error,
				 rc == 0 ? "(read)" : err.text);
		free(text);
	}
}

static void every_shortened_text_is_refused(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(good) - 1; len++) {
		struct ergon_error err;
		struct ergon_record r;
		char *text = malloc(len + 1); /* so that a sanitizer sees any step beyond */

		memcpy(text, good, len);
		assert_int_equal(ergon_record_read(&r, text, len, &err), -1);
		free(text);
	}
}

static void nesting_has_an_end(void **state)
{
	struct ergon_error err;
	struct ergon_record r;
	char deep[101], member[256];
	size_t len;
	char *text;

	(void)state;
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	snprintf(member, sizeof(member), "\"job_uj\":40,\"new\":%s", deep);
	text = with("\"job_uj\":40", member, &len);
	assert_int_equal(ergon_record_read(&r, text, len, &err), -1);
	assert_string_equal(err.text, "unknown member: nested too deep");
	free(text);
}

static void fill(struct ergon_record *r)
{
	ergon_record_init(r);
	strcpy(r->cluster, "c\"1\\");
	strcpy(r->node, "n1");
	strcpy(r->user, "al\xc3\xa9\x1b[31m");
	strcpy(r->job_name, "\xf0\x9f\x94\xa5 a\tb");
	strcpy(r->mechanism, "perf");
	strcpy(r->scope, "cpu+dram");
	strcpy(r->reason, "why");
	r->job = 4294967293;
	r->restart = 2;
	r->step = ERGON_STEP_BATCH;
	r->het = 1;
	r->uid = 0;
	r->array_job = 7;
	r->array_task = 0;
	r->start_ns = 1796083200123456789;
	r->end_ns = 1796083203123456789;
	r->state = ERGON_STATE_PARTIAL;
	r->exit_code = 256;
	r->model = 1;
	r->freq_hz = 0.5;
	r->node_uj = r->job_uj = 3003000;
	r->domain_uj[ERGON_DOMAIN_PACKAGE] = 2000000;
	r->domain_uj[ERGON_DOMAIN_MODULE] = 0;
	r->max_w_mw = 1234;
	r->temp_c = -5;
	r->curve.used = 3;
	for (int i = 0; i < 3; i++)
		r->curve.uj[i] = 1001000;
	r->curve.end_ns = 3000000000;
	r->flags = ERGON_FLAG_GAP | ERGON_FLAG_PARTIAL | ERGON_FLAG_ESTIMATED;
}

static void what_is_written_is_read_back(void **state)
{
	struct ergon_record in, out;
	struct ergon_error err;
	char text[8192], again[8192];
	int len;

	(void)state;
	fill(&in);
	len = ergon_record_format(&in, text, sizeof(text));
	assert_true(len > 0);
	if (ergon_record_read(&out, text, (size_t)len, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(ergon_record_format(&out, again, sizeof(again)), len);
	assert_string_equal(again, text);
	assert_string_equal(out.user, in.user);
	assert_int_equal(out.job, in.job);
	assert_int_equal(out.flags, in.flags);
	assert_int_equal(out.curve.end_ns, in.curve.end_ns);
	assert_int_equal(out.domain_uj[ERGON_DOMAIN_MODULE], 0);
	assert_true(out.domain_uj[ERGON_DOMAIN_GPU] == ERGON_NONE);
}

/* Damaged at random, a text is read or refused, never overrun (the sanitizers watch). */
static void damage_is_survived(void **state)
{
	static const char spice[] = "\"\\{}[]:,.-+eE0123456789nulltruefalse\xff\x80\0 ";
	struct ergon_record in, out;
	struct ergon_error err;
	char text[8192];
	int len, refused = 0;

	(void)state;
	srand(20261201);
	fill(&in);
	len = ergon_record_format(&in, text, sizeof(text));
	for (int round = 0; round < 20000; round++) {
		size_t cut = round % 3 ? 0 : (size_t)(rand() % 100), size = (size_t)len - cut;
		char *copy = malloc(size);

		memcpy(copy, text, size);
		for (int hits = rand() % 4 + 1; hits > 0; hits--)
			copy[(size_t)rand() % size] = spice[(size_t)rand() % sizeof(spice)];
		err.text[0] = '\0';
		if (ergon_record_read(&out, copy, size, &err) < 0) {
			refused++;
			assert_true(err.text[0] != '\0');
		}
		free(copy);
	}
	assert_true(refused > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_members_are_refused_by_name),
		cmocka_unit_test(every_shortened_text_is_refused),
		cmocka_unit_test(nesting_has_an_end),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
