/* SPDX-License-Identifier: BSD-3-Clause */
#include "handclock.h"

#include <time.h>

#define READING_NS 50

int64_t handclock_ns = 100 * 1000000000ll, handclock_boot_ns = 100 * 1000000000ll;

void handclock_pass(int64_t ns)
{
	handclock_ns += ns;
	handclock_boot_ns += ns;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t ns = id == CLOCK_BOOTTIME ? handclock_boot_ns : handclock_ns;

	handclock_pass(READING_NS);
	*ts = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	return 0;
}
