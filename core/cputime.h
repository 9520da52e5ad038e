/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU time everything on the machine has used. */
#ifndef ERGON_CPUTIME_H
#define ERGON_CPUTIME_H

#include <stdint.h>

#include "sysroot.h"

/* For ergon_cputime_busy_ns(); close(2) it. -1 + errno. */
int ergon_cputime_open(const struct ergon_sysroot *sysroot);

/*
 * Busy time of all CPUs since boot, from the first line of /proc/stat: user,
 * nice, system, irq, softirq (the kernel counts whole ticks of 1 to 10 ms);
 * neither waiting for I/O nor time a hypervisor stole. -1 when it cannot be
 * read; fd -1 is allowed. No allocation; any thread.
 */
int64_t ergon_cputime_busy_ns(int fd);

#endif
