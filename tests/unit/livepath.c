/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "livepath.h"

static void a_name_has_no_slash_and_an_end(void **state)
{
	char name[ERGON_LIVE_NAME_MAX], path[PATH_MAX];

	(void)state;
	ergon_live_name(name, 0, "");
	assert_string_equal(name, "ergon.0.");
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	strcpy(path + sizeof(path) - 8, "/77.0.3");
	ergon_live_name(name, UINT_MAX, path);
	assert_null(strchr(name, '/'));
	assert_true(strlen(name) < NAME_MAX);
	assert_string_equal(name + strlen(name) - 8, "x_77.0.3");
}

static void steps_of_different_slurms_differ(void **state)
{
	char a[ERGON_LIVE_NAME_MAX], b[ERGON_LIVE_NAME_MAX];

	(void)state;
	ergon_live_name(a, 1000, "/run/ergon/7.0.1");
	assert_string_equal(a, "ergon.1000.run_ergon_7.0.1");
	ergon_live_name(b, 1000, "/run/ergon2/7.0.1");
	assert_string_not_equal(a, b);
	ergon_live_name(b, 1001, "/run/ergon/7.0.1");
	assert_string_not_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_has_no_slash_and_an_end),
		cmocka_unit_test(steps_of_different_slurms_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
