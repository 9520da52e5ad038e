/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ring.h"

static void bad_arguments_are_refused(void **state)
{
	(void)state;
	errno = 0;
	assert_null(ergon_ring_create(0, 8));
	assert_int_equal(errno, EINVAL);
	assert_null(ergon_ring_create(8, 0));
	assert_null(ergon_ring_create(SIZE_MAX, 8));
	assert_null(ergon_ring_create((size_t)1 << 30, SIZE_MAX / 2));
	ergon_ring_destroy(NULL);
}

static void a_full_ring_refuses_and_counts(void **state)
{
	struct ergon_ring *ring = ergon_ring_create(3, sizeof(int)); /* rounded up to 4 */
	int value = -1;

	(void)state;
	assert_non_null(ring);
	assert_false(ergon_ring_pop(ring, &value));
	assert_int_equal(value, -1);
	for (int i = 0; i < 6; i++)
		assert_int_equal(ergon_ring_push(ring, &i), i < 4);
	assert_int_equal(ergon_ring_lost(ring), 2);
	for (int i = 0; i < 4; i++) {
		assert_true(ergon_ring_pop(ring, &value));
		assert_int_equal(value, i);
	}
	assert_false(ergon_ring_pop(ring, &value));
	for (int round = 0; round < 10; round++) {
		assert_true(ergon_ring_push(ring, &round));
		assert_true(ergon_ring_pop(ring, &value));
		assert_int_equal(value, round);
	}
	ergon_ring_destroy(ring);
}

#define ITEMS 300000u

struct item {
	uint64_t number;
	uint64_t check;
};

static void *produce(void *arg)
{
	struct ergon_ring *ring = arg;

	for (uint64_t i = 1; i <= ITEMS; i++) {
		struct item item = { i, ~i };

		ergon_ring_push(ring, &item);
	}
	return NULL;
}

static void every_item_arrives_whole_or_is_counted(void **state)
{
	struct ergon_ring *ring = ergon_ring_create(16, sizeof(struct item));
	uint64_t got = 0, last = 0, wrong = 0;
	bool done = false;
	pthread_t thread;

	(void)state;
	assert_non_null(ring);
	assert_int_equal(pthread_create(&thread, NULL, produce, ring), 0);
	while (!done) {
		struct item item;

		/* Join before the last look, so that nothing is left behind. */
		if (got + ergon_ring_lost(ring) >= ITEMS) {
			pthread_join(thread, NULL);
			done = true;
		}
		while (ergon_ring_pop(ring, &item)) {
			wrong += item.number <= last || item.check != ~item.number;
			last = item.number;
			got++;
		}
	}
	assert_int_equal(wrong, 0);
	assert_true(got > 0);
	assert_int_equal(got + ergon_ring_lost(ring), ITEMS);
	ergon_ring_destroy(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(a_full_ring_refuses_and_counts),
		cmocka_unit_test(every_item_arrives_whole_or_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
