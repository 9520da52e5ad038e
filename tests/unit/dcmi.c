/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dcmi.h"

/* 272 W now, 100 to 400, 250 on average, over 10 s, measuring. */
static const uint8_t reply[ERGON_DCMI_POWER_SIZE] = {
	0x00, 0xdc, 0x10, 0x01, 0x64, 0x00, 0x90, 0x01, 0xfa, 0x00,
	0x78, 0x56, 0x34, 0x12, 0x10, 0x27, 0x00, 0x00, 0x40,
};

static void the_request_is_four_bytes(void **state)
{
	static const uint8_t data[] = { 0xdc, 0x01, 0x00, 0x00 };

	(void)state;
	assert_int_equal(ergon_dcmi_get_power.netfn, 0x2c);
	assert_int_equal(ergon_dcmi_get_power.cmd, 0x02);
	assert_int_equal(ergon_dcmi_get_power.size, sizeof(data));
	assert_memory_equal(ergon_dcmi_get_power.data, data, sizeof(data));
}

static enum ergon_dcmi_verdict decode(size_t at, uint8_t byte, size_t size,
				      struct ergon_dcmi_power *power)
{
	uint8_t changed[sizeof(reply)];

	memcpy(changed, reply, sizeof(reply));
	changed[at] = byte;
	*power = (struct ergon_dcmi_power){ 77, true };
	return ergon_dcmi_decode_power(changed, size, power);
}

/* X20 */
static void watts_are_told(void **state)
{
	struct ergon_dcmi_power power;

	(void)state;
	assert_int_equal(decode(0, 0x00, 19, &power), ERGON_DCMI_GOOD);
	assert_int_equal(power.watts, 272);
	assert_true(power.active);
	/* Inactive, and yet watts; other bits of the state mean nothing. */
	assert_int_equal(decode(18, 0x00, 19, &power), ERGON_DCMI_GOOD);
	assert_int_equal(power.watts, 272);
	assert_false(power.active);
	assert_int_equal(decode(18, 0xbf, 19, &power), ERGON_DCMI_GOOD);
	assert_false(power.active);
	assert_int_equal(decode(18, 0xff, 19, &power), ERGON_DCMI_GOOD);
	assert_true(power.active);
	assert_int_equal(decode(3, 0xff, 19, &power), ERGON_DCMI_GOOD);
	assert_int_equal(power.watts, 0xff10);
}

/* 0 W with the active bit set is no reading either. */
static void no_node_draws_nothing(void **state)
{
	uint8_t zero[sizeof(reply)];
	struct ergon_dcmi_power power = { 77, true };

	(void)state;
	memcpy(zero, reply, sizeof(reply));
	zero[2] = zero[3] = 0;
	assert_int_equal(ergon_dcmi_decode_power(zero, 19, &power), ERGON_DCMI_NO_READING);
	zero[18] = 0;
	assert_int_equal(ergon_dcmi_decode_power(zero, 19, &power), ERGON_DCMI_NO_READING);
	zero[2] = zero[3] = 0xff;
	assert_int_equal(ergon_dcmi_decode_power(zero, 19, &power), ERGON_DCMI_NO_READING);
	assert_int_equal(power.watts, 77);
}

static void completion_codes_come_first(void **state)
{
	struct ergon_dcmi_power power;

	(void)state;
	for (unsigned code = 1; code < 256; code++) {
		enum ergon_dcmi_verdict want = code == 0xc0 || code == 0xc3 ? ERGON_DCMI_BUSY :
					       ERGON_DCMI_REFUSED;

		assert_int_equal(decode(0, (uint8_t)code, 19, &power), want);
		assert_int_equal(decode(0, (uint8_t)code, 1, &power), want);
		assert_int_equal(power.watts, 77);
	}
}

static void other_answers_are_malformed(void **state)
{
	struct ergon_dcmi_power power;

	(void)state;
	for (size_t size = 0; size < 19; size++)
		assert_int_equal(decode(0, 0x00, size, &power), ERGON_DCMI_MALFORMED);
	for (unsigned group = 0; group < 256; group++)
		if (group != 0xdc)
			assert_int_equal(decode(1, (uint8_t)group, 19, &power), ERGON_DCMI_MALFORMED);
	assert_int_equal(power.watts, 77);
}

/* Every size, random bytes on a heap of just that size; half of them begin as they should. */
static void any_bytes_are_survived(void **state)
{
	const char *seed_text = getenv("FUZZ_SEED"), *rounds_text = getenv("FUZZ_ROUNDS");
	uint64_t random_state = seed_text ? strtoull(seed_text, NULL, 10) : 20261201;
	long rounds = rounds_text ? atol(rounds_text) : 400, good = 0;

	(void)state;
	for (long round = 0; round < rounds; round++) {
		for (size_t size = 0; size <= 40; size++) {
			struct ergon_dcmi_power power = { 0, true };
			uint8_t *bytes = malloc(size ? size : 1);
			enum ergon_dcmi_verdict verdict;

			assert_non_null(bytes);
			for (size_t i = 0; i < size; i++) {
				random_state = random_state * 6364136223846793005u +
					       1442695040888963407u;
				bytes[i] = (uint8_t)(random_state >> 56);
			}
			if (round % 2 && size >= 2)
				memcpy(bytes, reply, 2);
			verdict = ergon_dcmi_decode_power(bytes, size, &power);
			assert_in_range(verdict, ERGON_DCMI_GOOD, ERGON_DCMI_NO_READING);
			if (verdict == ERGON_DCMI_GOOD) {
				assert_in_range(power.watts, 1, 65534);
				assert_int_equal(power.watts, bytes[2] | bytes[3] << 8);
				good++;
			} else {
				assert_int_equal(power.watts, 0);
			}
			free(bytes);
		}
	}
	assert_true(good > rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_request_is_four_bytes),
		cmocka_unit_test(watts_are_told),
		cmocka_unit_test(no_node_draws_nothing),
		cmocka_unit_test(completion_codes_come_first),
		cmocka_unit_test(other_answers_are_malformed),
		cmocka_unit_test(any_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
