/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "flags.h"
#include "record.h"

static char line[ERGON_RECORD_MAX];

/* Format, check that it is one line of JSON, and hand it over parsed. */
static json_t *parsed(const struct ergon_record *r)
{
	int len = ergon_record_format(r, line, sizeof(line));
	json_error_t error;
	json_t *json;

	assert_true(len > 0);
	assert_int_equal(strlen(line), len);
	for (int i = 0; i < len; i++)
		assert_true((unsigned char)line[i] >= 0x20);
	json = json_loadb(line, (size_t)len, JSON_REJECT_DUPLICATES, &error);
	assert_non_null(json);
	return json;
}

static void too_small_a_buffer_is_told(void **state)
{
	struct ergon_record r;
	int len;

	(void)state;
	ergon_record_init(&r);
	len = ergon_record_format(&r, line, sizeof(line));
	assert_true(len > 0);
	for (int size = 0; size <= len; size++) {
		char *buf = malloc((size_t)size + 1);

		assert_int_equal(ergon_record_format(&r, buf, (size_t)size), -1);
		free(buf);
	}
	assert_int_equal(ergon_record_format(&r, line, (size_t)len + 1), len);
}

static void an_empty_record_is_all_null(void **state)
{
	struct ergon_record r;
	const char *key;
	json_t *json, *value;

	(void)state;
	ergon_record_init(&r);
	json = parsed(&r);
	json_object_foreach(json, key, value) {
		if (strcmp(key, "v") == 0)
			assert_int_equal(json_integer_value(value), 1);
		else if (strcmp(key, "state") == 0)
			assert_string_equal(json_string_value(value), "running");
		else if (strcmp(key, "domains") == 0)
			assert_int_equal(json_object_size(value), 0);
		else if (strcmp(key, "flags") == 0)
			assert_int_equal(json_array_size(value), 0);
		else
			assert_true(json_is_null(value));
	}
	json_decref(json);
}

static void every_documented_member_is_there(void **state)
{
	static const char *const names[] = {
		"v", "cluster", "job", "restart", "step", "het", "node", "uid", "user", "account",
		"partition", "qos", "job_name", "array_job", "array_task", "nnodes", "ntasks",
		"node_tasks", "cpus", "node_cpus", "start_ns", "end_ns", "suspended_ns", "state",
		"exit_code", "mechanism", "scope", "reason", "model", "freq_hz", "samples", "missed",
		"domains", "node_uj", "job_uj", "other_uj", "unallocated_uj", "cpu_ns", "max_w",
		"curve", "freq_mhz", "temp_c", "flags",
	};
	struct ergon_record r;
	json_t *json;

	(void)state;
	ergon_record_init(&r);
	json = parsed(&r);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_non_null(json_object_get(json, names[i]));
	assert_int_equal(json_object_size(json), sizeof(names) / sizeof(names[0]));
	json_decref(json);
}

static void zero_is_not_absence(void **state)
{
	struct ergon_record r;
	json_t *json, *domains;

	(void)state;
	ergon_record_init(&r);
	r.node_uj = 0;
	r.domain_uj[ERGON_DOMAIN_DRAM] = 0;
	r.domain_uj[ERGON_DOMAIN_PACKAGE] = INT64_MAX;
	r.freq_hz = 0.1;
	r.max_w_mw = 100050;
	r.step = ERGON_STEP_BATCH;
	r.flags = ERGON_FLAG_WRAPPED | ERGON_FLAG_PARTIAL;
	json = parsed(&r);
	assert_true(json_is_integer(json_object_get(json, "node_uj")));
	assert_true(json_is_null(json_object_get(json, "job_uj")));
	domains = json_object_get(json, "domains");
	assert_int_equal(json_object_size(domains), 2);
	assert_int_equal(json_integer_value(json_object_get(domains, "dram")), 0);
	assert_true(json_integer_value(json_object_get(domains, "package")) == INT64_MAX);
	assert_true(json_real_value(json_object_get(json, "freq_hz")) == 0.1);
	assert_true(json_real_value(json_object_get(json, "max_w")) == 100.05);
	assert_int_equal(json_integer_value(json_object_get(json, "step")), -5);
	assert_string_equal(json_string_value(json_array_get(json_object_get(json, "flags"), 0)),
			    "wrapped?");
	json_decref(json);
}

static void hostile_names_stay_one_valid_line(void **state)
{
	static const char *const names[] = {
		"plain", "q\"uote", "back\\slash", "new\nline", "\t\r\b\f\x1b[31m", "\x7f\x01",
		"\",\"node\":\"n9", "caf\xc3\xa9", "\xf0\x9f\x94\x8b", "\xff\xfe", "\xc3", "\xe2\x82",
		"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "a\xe0\x80\x80z",
	};
	static const char *const seen[] = {
		"plain", "q\"uote", "back\\slash", "new\nline", "\t\r\b\f\x1b[31m", "\x7f\x01",
		"\",\"node\":\"n9", "caf\xc3\xa9", "\xf0\x9f\x94\x8b", "\xef\xbf\xbd\xef\xbf\xbd",
		"\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd",
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct ergon_record r;
		json_t *json;

		ergon_record_init(&r);
		strcpy(r.job_name, names[i]);
		strcpy(r.account, names[i]);
		json = parsed(&r);
		assert_string_equal(json_string_value(json_object_get(json, "job_name")), seen[i]);
		assert_string_equal(json_string_value(json_object_get(json, "account")), seen[i]);
		assert_true(json_is_null(json_object_get(json, "node")));
		json_decref(json);
	}
}

static void any_bytes_in_full_length_names_fit(void **state)
{
	struct ergon_record r;

	(void)state;
	srandom(3);
	for (int run = 0; run < 2000; run++) {
		char *const names[] = { r.cluster, r.node, r.user, r.account, r.partition, r.qos };

		ergon_record_init(&r);
		for (size_t i = 0; i < 6; i++)
			for (int k = 0; k < 63; k++)
				names[i][k] = (char)(run == 0 ? 1 : 1 + random() % 255);
		for (int k = 0; k < 127; k++)
			r.job_name[k] = (char)(run == 0 ? 1 : 1 + random() % 255);
		for (int k = 0; k < 255; k++)
			r.reason[k] = (char)(run == 0 ? 1 : 1 + random() % 255);
		r.curve.used = ERGON_CURVE_MAX;
		for (int k = 0; k < ERGON_CURVE_MAX; k++)
			r.curve.uj[k] = UINT64_MAX / ERGON_CURVE_MAX;
		r.node_uj = r.job_uj = INT64_MAX;
		r.flags = (1u << ERGON_FLAG_COUNT) - 1;
		json_decref(parsed(&r));
	}
}

static void the_curve_adds_up_to_the_total(void **state)
{
	struct ergon_record r;
	json_t *json, *curve, *value;
	json_int_t job = 0, node = 0;
	size_t i;

	(void)state;
	ergon_record_init(&r);
	for (uint64_t k = 0; k < 7; k++)
		ergon_curve_add(&r.curve, k * 1000000000, (k + 1) * 1000000000, 1999999);
	r.node_uj = 7 * 1999999;
	r.job_uj = r.node_uj / 3;
	json = parsed(&r);
	curve = json_object_get(json, "curve");
	assert_int_equal(json_integer_value(json_object_get(curve, "dt_ns")), 1000000000);
	json_array_foreach(json_object_get(curve, "node_mj"), i, value)
		node += json_integer_value(value);
	assert_int_equal(i, 7);
	json_array_foreach(json_object_get(curve, "job_mj"), i, value)
		job += json_integer_value(value);
	assert_int_equal(node, r.node_uj / 1000);
	assert_int_equal(job, r.job_uj / 1000);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_small_a_buffer_is_told),
		cmocka_unit_test(an_empty_record_is_all_null),
		cmocka_unit_test(every_documented_member_is_there),
		cmocka_unit_test(zero_is_not_absence),
		cmocka_unit_test(hostile_names_stay_one_valid_line),
		cmocka_unit_test(any_bytes_in_full_length_names_fit),
		cmocka_unit_test(the_curve_adds_up_to_the_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
