/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stamps against the clock they stand for. The test's clock (the program is
 * linked so that clock_gettime is the one below) stands still on demand,
 * which the processor's counter does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "stamp.h"

#define MS 1000000

static int64_t slept_ns;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id == CLOCK_BOOTTIME ? CLOCK_MONOTONIC : id, ts);
	int64_t ns = ts->tv_sec * 1000000000ll + ts->tv_nsec;

	if (rc == 0 && id == CLOCK_MONOTONIC) {
		ns -= slept_ns;
		*ts = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	}
	return rc;
}

static void wait_ms(int ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * MS };

	nanosleep(&t, NULL);
}

/* Stamps 20 ms after a tie are the clock to 2 %, the best of several: the machine is busy. */
static void assert_follows(struct ergon_stamp *s)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < 20 && best > 20 * MS / 50; i++) {
		int64_t off;

		wait_ms(5);
		ergon_stamp_sync(s);
		wait_ms(20);
		off = (int64_t)(ergon_stamp(s) - ergon_clock_ns());
		if (off < 0)
			off = -off;
		if (off < best)
			best = off;
	}
	assert_in_range(best, 0, 20 * MS / 50);
}

static void stamps_follow_the_clock(void **state)
{
	struct ergon_stamp s;

	(void)state;
	ergon_stamp_init(&s);
	assert_follows(&s);
}

static void a_suspend_does_not_spoil_the_rate(void **state)
{
	struct ergon_stamp s;
	uint64_t before;

	(void)state;
	ergon_stamp_init(&s);
	wait_ms(5);
	before = ergon_stamp_sync(&s);
	wait_ms(200);
	slept_ns = (int64_t)(ergon_clock_ns() - before);
	/* At once, too far from the tie; then by a new rate. */
	assert_in_range(ergon_stamp(&s) - before, 0, 150 * MS);
	ergon_stamp_sync(&s);
	wait_ms(5);
	ergon_stamp_sync(&s);
	if (s.usable)
		assert_true(s.reach > 0);
	assert_follows(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stamps_follow_the_clock),
		cmocka_unit_test(a_suspend_does_not_spoil_the_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
