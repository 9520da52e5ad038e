/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#include <time.h>

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

uint64_t ergon_clock_boot_ns(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

uint64_t ergon_clock_real_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t ergon_clock_thread_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
