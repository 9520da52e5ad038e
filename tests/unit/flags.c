/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flags.h"

static void small_buffers_hold_whole_words(void **state)
{
	char buf[8];

	(void)state;
	assert_string_equal(ergon_flags_format(ERGON_FLAG_RESET | ERGON_FLAG_GAP, buf, sizeof(buf)),
			    "reset");
	assert_string_equal(ergon_flags_format(ERGON_FLAG_ESTIMATED, buf, sizeof(buf)), "");
	assert_string_equal(ergon_flags_format(~0u, buf, 1), "");
}

static void unknown_words_are_ignored(void **state)
{
	(void)state;
	assert_int_equal(ergon_flags_parse(NULL), 0);
	assert_int_equal(ergon_flags_parse("|nonsense||gap|"), ERGON_FLAG_GAP);
}

static void every_flag_survives_the_round_trip(void **state)
{
	char buf[256];

	(void)state;
	for (unsigned bit = 0; bit < ERGON_FLAG_COUNT; bit++) {
		assert_non_null(ergon_flag_word(bit));
		assert_int_equal(ergon_flags_parse(ergon_flag_word(bit)), 1u << bit);
	}
	assert_null(ergon_flag_word(ERGON_FLAG_COUNT));
	ergon_flags_format((1u << ERGON_FLAG_COUNT) - 1, buf, sizeof(buf));
	assert_int_equal(ergon_flags_parse(buf), (1u << ERGON_FLAG_COUNT) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_buffers_hold_whole_words),
		cmocka_unit_test(unknown_words_are_ignored),
		cmocka_unit_test(every_flag_survives_the_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
