/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pci.h"

static void what_is_no_address_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "bind", "0000:41:00", "0000:41:00.", "0000:41:00.0 ", "0000:41:00.00",
		"0000:141:00.0", "000000000:41:00.0", ":41:00.0", "0000-41-00.0", "0x00:41:00.0",
	};
	struct ergon_pci pci = { 7, 7, 7, 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(ergon_pci_parse(bad[i], &pci));
	assert_int_equal(pci.domain, 7);
	assert_int_equal(pci.function, 7);
}

/* The kernel writes four digits of domain, NVML eight; both mean the same. */
static void addresses_survive_the_round_trip(void **state)
{
	static const char *const cases[][2] = {
		{ "0000:41:00.0", "0000:41:00.0" },
		{ "00000000:C1:1F.7", "0000:c1:1f.7" },
		{ "10002:00:02.0", "10002:00:02.0" },
	};
	struct ergon_pci pci;
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(ergon_pci_parse(cases[i][0], &pci));
		assert_string_equal(ergon_pci_format(&pci, text, sizeof(text)), cases[i][1]);
	}
}

/* Digits are hexadecimal: 4a comes after 41, whatever a text comparison says. */
static void order_is_that_of_the_bus(void **state)
{
	static const char *const ordered[] = {
		"0000:0a:00.0", "0000:41:00.0", "0000:4a:00.0", "0000:4a:00.1", "0000:4a:01.0",
		"0000:a0:00.0", "0001:00:00.0",
	};
	size_t n = sizeof(ordered) / sizeof(ordered[0]);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			struct ergon_pci a, b;
			int order;

			assert_true(ergon_pci_parse(ordered[i], &a));
			assert_true(ergon_pci_parse(ordered[j], &b));
			order = ergon_pci_compare(&a, &b);
			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(addresses_survive_the_round_trip),
		cmocka_unit_test(order_is_that_of_the_bus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
