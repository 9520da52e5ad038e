/* SPDX-License-Identifier: BSD-3-Clause */
/* The only reader of clocks. Intervals: monotonic; labels: realtime; a suspend: boot time. */
#ifndef ERGON_CLOCK_H
#define ERGON_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in ns. */
uint64_t ergon_clock_ns(void);

/*
 * How long the machine was suspended since it booted (CLOCK_BOOTTIME runs on
 * then), in ns. Too long by what came between two readings of clocks; a
 * time namespace adds a constant.
 */
int64_t ergon_clock_asleep_ns(void);

/*
 * How long it was suspended since ergon_clock_asleep_ns() gave `before`, in
 * ns; 0 when it was not, or for less than what that was too long by plus a
 * millisecond. What comes between readings of clocks is never taken for a suspend.
 */
uint64_t ergon_clock_slept_ns(int64_t before);

/* CLOCK_REALTIME in ns since 1970; only for labels. */
uint64_t ergon_clock_real_ns(void);

/* CPU time of the calling thread in ns; a system call. */
uint64_t ergon_clock_thread_cpu_ns(void);

#endif
