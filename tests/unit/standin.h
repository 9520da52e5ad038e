/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine's msr PMU under the name of `power`: tsc moves at a constant
 * rate, smi stands still. The kernel's path is the real one.
 */
#ifndef ERGON_TEST_STANDIN_H
#define ERGON_TEST_STANDIN_H

#include <stdbool.h>

#include "tree.h"

#define STANDIN_PMU "/sys/bus/event_source/devices/power"
#define STANDIN_TSC "event=0x00\n"
#define STANDIN_SMI "event=0x04\n"
/* 2^-32 J, as the kernel writes it. */
#define STANDIN_EXACT "2.3283064365386962890625e-10\n"

/* Describe an event: "energy-pkg", its code and scale. */
void standin_event(const struct tree *tree, const char *name, const char *code, const char *scale);

/* Describe the PMU with energy-pkg = tsc; cpumask may be NULL. False: there is no msr PMU here. */
bool standin_write(const struct tree *tree, const char *cpumask);

#endif
