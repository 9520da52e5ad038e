/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* What energy.bpf.c, in the kernel, tells backend_ebpf.c. Plain data for both sides. */
#ifndef ERGON_ENERGY_RECORD_H
#define ERGON_ENERGY_RECORD_H

#include <linux/types.h>

/* As many as ERGON_POWER_EVENTS, in its order. */
#define ERGON_ENERGY_VALUES 5

/* One tick on one CPU. */
struct ergon_energy_record {
	__u64 t_ns;               /* CLOCK_MONOTONIC, before the first value was read */
	__u64 seq;                /* tick of this CPU, from 1; a gap: records were lost */
	__u32 cpu;
	__u32 good;               /* bit e: values[e] was read */
	__u64 values[ERGON_ENERGY_VALUES]; /* absolute counts since the event was opened */
};

/* One per CPU number; user space maps it read-only. */
struct ergon_energy_slot {
	__u64 ticks;
	__u64 lost;               /* ticks whose record found the ring buffer full */
};

#endif
