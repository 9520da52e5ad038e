/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dynlib.h"

struct functions {
	const char *(*error_string)(int rc);
	int (*energy)(void *device, unsigned long long *mj);
};

static const struct ergon_dynsym symbols[] = {
	{ "nvmlErrorString", offsetof(struct functions, error_string) },
	{ "nvmlDeviceGetTotalEnergyConsumption", offsetof(struct functions, energy) },
};

static const char *stub(const char *file)
{
	static char path[PATH_MAX];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/tests/stub/%s", top ? top : ".", file);
	return path;
}

static void what_is_not_there_is_told(void **state)
{
	const char *const none[] = { NULL };
	const char *const names[] = { "libergon-none.so.1", "libergon-none.so", NULL };
	struct ergon_error err = { "" };
	struct functions f;

	(void)state;
	assert_int_equal(ergon_dynlib_load(none, symbols, 2, &f, &err), -1);
	assert_string_equal(err.text, "no library named");
	assert_int_equal(ergon_dynlib_load(names, symbols, 2, &f, &err), -1);
	/* The first name, the one people know. */
	assert_non_null(strstr(err.text, "libergon-none.so.1"));
	assert_int_equal(ergon_dynlib_load(names, symbols, 2, &f, NULL), -1);
}

static void what_is_lacking_is_named(void **state)
{
	const char *const names[] = { stub("lacking/.libs/libnvidia-ml.so.1"), NULL };
	struct ergon_error err = { "" };
	struct functions f;

	(void)state;
	assert_int_equal(ergon_dynlib_load(names, symbols, 2, &f, &err), -1);
	assert_non_null(strstr(err.text, "libnvidia-ml.so.1 has no nvmlDeviceGetTotalEnergyConsumption"));
}

static void the_first_that_is_found_is_taken(void **state)
{
	const char *const names[] = { "libergon-none.so", stub(".libs/libnvidia-ml.so.1"), NULL };
	struct ergon_error err = { "" };
	struct functions f = { NULL, NULL };

	(void)state;
	assert_int_equal(ergon_dynlib_load(names, symbols, 2, &f, &err), 0);
	assert_string_equal(f.error_string(4), "stub error 4");
	assert_non_null(f.energy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_there_is_told),
		cmocka_unit_test(what_is_lacking_is_named),
		cmocka_unit_test(the_first_that_is_found_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
