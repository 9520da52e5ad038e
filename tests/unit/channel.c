/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "channel.h"

static void unknown_domains_are_refused(void **state)
{
	(void)state;
	assert_int_equal(ergon_domain_parse(""), -1);
	assert_int_equal(ergon_domain_parse("packages"), -1);
	assert_null(ergon_domain_name(ERGON_DOMAIN_COUNT));
}

static void names_and_aliases_are_accepted(void **state)
{
	(void)state;
	for (int i = 0; i < ERGON_DOMAIN_COUNT; i++)
		assert_int_equal(ergon_domain_parse(ergon_domain_name(i)), i);
	assert_int_equal(ergon_domain_parse("PKG"), ERGON_DOMAIN_PACKAGE);
	assert_int_equal(ergon_domain_parse("pp0"), ERGON_DOMAIN_CORE);
	assert_int_equal(ergon_domain_parse("pp1"), ERGON_DOMAIN_UNCORE);
	assert_int_equal(ergon_domain_parse("ram"), ERGON_DOMAIN_DRAM);
	assert_int_equal(ergon_domain_parse("psys"), ERGON_DOMAIN_PLATFORM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_domains_are_refused),
		cmocka_unit_test(names_and_aliases_are_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
