/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "backend.h"
#include "options.h"

static void bad_values_are_refused_with_one_line(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "foo", "unknown mechanism 'foo': use one of auto, off, " },
		{ "PERF", "unknown mechanism" },
		{ "perf ", "unknown mechanism" },
		{ "=", "unknown mechanism" },
		{ ",mpi", "unknown mechanism ''" },
		{ "mpi", "unknown mechanism 'mpi'" },
		{ "auto,", "unknown key ''" },
		{ "auto,,mpi", "unknown key ''" },
		{ "auto,speed=3", "unknown key 'speed': use freq=HZ|auto, mpi, share=cores|equal, out=DIR" },
		{ "auto,mpi=1", "mpi takes no value" },
		{ "auto,mpi=", "mpi takes no value" },
		{ "auto,freq", "freq needs a value" },
		{ "auto,freq=", "expected a rate from 0.1 to 1000 Hz" },
		{ "auto,freq=0", "expected a rate" },
		{ "auto,freq=0.09", "expected a rate" },
		{ "auto,freq=1000.1", "expected a rate" },
		{ "auto,freq=99999999999999999999999999", "expected a rate" },
		{ "auto,freq=-1", "expected a rate" },
		{ "auto,freq=1e3", "expected a rate" },
		{ "auto,freq=nan", "expected a rate" },
		{ "auto,freq=0x10", "expected a rate" },
		{ "auto,freq=10Hz", "expected a rate" },
		{ "auto,share=half", "expected cores or equal" },
		{ "auto,out=", "needs the name of a directory" },
		{ "auto,out", "needs a value" },
		{ "auto\n", "control character" },
		{ "auto,out=/tmp/\x1b[31m", "control character" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_spec spec = { .mech = "untouched" };
		struct ergon_error err = { "" };

		assert_int_equal(ergon_spec_parse(cases[i].text, &spec, &err), -1);
		assert_string_equal(spec.mech, "untouched");
		assert_non_null(strstr(err.text, cases[i].says));
		assert_null(strchr(err.text, '\n'));
		assert_true(strncmp(err.text, "--energy: ", 10) == 0);
	}
}

static void oversized_values_are_refused(void **state)
{
	char *big = malloc(100001);
	struct ergon_spec spec;
	struct ergon_error err;

	(void)state;
	for (size_t len = ERGON_SPEC_MAX - 2; len <= 100000; len += 95003) {
		memset(big, 'a', len);
		big[len] = '\0';
		assert_int_equal(ergon_spec_parse(big, &spec, &err), -1);
		assert_true(strlen(err.text) < 200);
	}
	free(big);
}

static void no_value_means_auto(void **state)
{
	static const char *const texts[] = { NULL, "", "(null)", "auto" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct ergon_spec spec;

		memset(&spec, 0xff, sizeof(spec));
		assert_int_equal(ergon_spec_parse(texts[i], &spec, NULL), 0);
		assert_string_equal(spec.mech, "auto");
		assert_false(spec.mpi);
		assert_true(spec.freq.hz == 0);
		assert_string_equal(spec.share, "");
		assert_string_equal(spec.out, "");
	}
}

static void every_backend_can_be_named(void **state)
{
	struct ergon_spec spec;
	char usage[512];

	(void)state;
	ergon_spec_usage(usage, sizeof(usage));
	for (size_t i = 0; ergon_backends[i]; i++) {
		assert_int_equal(ergon_spec_parse(ergon_backends[i]->name, &spec, NULL), 0);
		assert_string_equal(spec.mech, ergon_backends[i]->name);
		assert_non_null(strstr(usage, ergon_backends[i]->name));
	}
	assert_int_equal(ergon_spec_parse("off", &spec, NULL), 0);
	assert_string_equal(spec.mech, "off");
}

static void keys_are_taken(void **state)
{
	struct ergon_spec spec;

	(void)state;
	/* A comma for a decimal point must not matter. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	assert_int_equal(ergon_spec_parse("auto,mpi,freq=12.5,share=equal,out=/a b/c=d", &spec, NULL), 0);
	assert_true(spec.mpi);
	assert_true(spec.freq.hz > 12.4999 && spec.freq.hz < 12.5001);
	assert_string_equal(spec.share, "equal");
	assert_string_equal(spec.out, "/a b/c=d");
	assert_int_equal(ergon_spec_parse("auto,freq=0.1", &spec, NULL), 0);
	assert_true(spec.freq.hz >= 0.1);
	assert_int_equal(ergon_spec_parse("auto,freq=1000", &spec, NULL), 0);
	assert_true(spec.freq.hz == 1000);
	/* The last one counts. */
	assert_int_equal(ergon_spec_parse("auto,freq=5,freq=6,share=equal,share=cores", &spec, NULL), 0);
	assert_true(spec.freq.hz == 6);
	assert_string_equal(spec.share, "cores");
}

static void garbage_never_crashes(void **state)
{
	static const char alphabet[] = "auto,perf=mpifreqshareout0123456789.\xff%sn-";

	(void)state;
	srandom(5);
	for (int i = 0; i < 200000; i++) {
		char text[64];
		size_t len = (size_t)random() % sizeof(text);
		struct ergon_spec spec;
		struct ergon_error err;

		for (size_t k = 0; k < len; k++)
			text[k] = alphabet[(size_t)random() % (sizeof(alphabet) - 1)];
		text[len ? len - 1 : 0] = '\0';
		ergon_spec_parse(text, &spec, &err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_values_are_refused_with_one_line),
		cmocka_unit_test(oversized_values_are_refused),
		cmocka_unit_test(no_value_means_auto),
		cmocka_unit_test(every_backend_can_be_named),
		cmocka_unit_test(keys_are_taken),
		cmocka_unit_test(garbage_never_crashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
