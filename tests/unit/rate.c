/* SPDX-License-Identifier: BSD-3-Clause */
/* What people write for a sampling rate. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rate.h"

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = {
		"", ".", " 1", "1 ", "-1", "+1", "0", "0.0999999", "0.09", "1000.000001", "1001", "1e2",
		"nan", "inf", "0x10", "1.2.3", "10Hz", "1,5", "99999999999999999999999999999",
		"automatic", "Auto", "auto:", "auto:0", "auto:auto", "auto: 5", "auto=5", "auto:1001", "aut",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ergon_rate rate = { 7, true };

		assert_int_equal(ergon_rate_parse(texts[i], &rate), -1);
		assert_true(rate.hz == 7 && rate.adapt);
	}
}

static void rates_survive_the_round_trip(void **state)
{
	static const struct {
		const char *text;
		double hz;
		bool adapt;
		const char *formatted;
	} cases[] = {
		{ "1", 1, false, "1" },
		{ "0.1", 0.1, false, "0.1" },
		{ "0.10000001", 0.1, false, "0.1" },
		{ "12.5", 12.5, false, "12.5" },
		{ "007", 7, false, "7" },
		{ "5.", 5, false, "5" },
		{ ".5", 0.5, false, "0.5" },
		{ "62.000001", 62.000001, false, "62.000001" },
		{ "1000", 1000, false, "1000" },
		{ "1000.0000009", 1000, false, "1000" },
		{ "auto", ERGON_HZ_AUTO, true, "auto:100" },
		{ "auto:0.25", 0.25, true, "auto:0.25" },
		{ "auto:1000", 1000, true, "auto:1000" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_rate rate = { 0 };
		char buf[32];

		assert_int_equal(ergon_rate_parse(cases[i].text, &rate), 0);
		assert_true(fabs(rate.hz - cases[i].hz) < 1e-9);
		assert_int_equal(rate.adapt, cases[i].adapt);
		assert_string_equal(ergon_rate_format(&rate, buf, sizeof(buf)), cases[i].formatted);
		assert_int_equal(ergon_rate_parse(buf, &rate), 0);
		assert_true(fabs(rate.hz - cases[i].hz) < 1e-9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(rates_survive_the_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
