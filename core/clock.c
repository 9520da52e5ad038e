/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#include <time.h>

#define SUSPEND_MIN_NS 1000000

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t ergon_clock_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t ergon_clock_asleep_ns(void)
{
	uint64_t now = ergon_clock_ns();

	return (int64_t)(read_clock(CLOCK_BOOTTIME) - now);
}

uint64_t ergon_clock_slept_ns(int64_t before)
{
	/* The other way round: never too long. */
	uint64_t boot = read_clock(CLOCK_BOOTTIME);
	int64_t slept = (int64_t)(boot - ergon_clock_ns()) - before;

	return slept < SUSPEND_MIN_NS ? 0 : (uint64_t)slept;
}

uint64_t ergon_clock_real_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t ergon_clock_thread_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
