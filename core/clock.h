/* SPDX-License-Identifier: BSD-3-Clause */
/* The only reader of clocks. Intervals: monotonic; labels: realtime; a suspend: boot time. */
#ifndef ERGON_CLOCK_H
#define ERGON_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in ns. */
uint64_t ergon_clock_ns(void);

/* CLOCK_BOOTTIME in ns: runs on while the machine is suspended, which CLOCK_MONOTONIC does not. */
uint64_t ergon_clock_boot_ns(void);

/* CLOCK_REALTIME in ns since 1970; only for labels. */
uint64_t ergon_clock_real_ns(void);

/* CPU time of the calling thread in ns; a system call. */
uint64_t ergon_clock_thread_cpu_ns(void);

#endif
