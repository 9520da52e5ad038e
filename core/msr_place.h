/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a register is: at all CPUs of a package, of a die or of a core, any
 * of which can read it. The device is /dev/cpu/N/msr, or LLNL's
 * /dev/cpu/N/msr_safe where that one cannot be opened: a file whose offsets
 * are the registers' addresses.
 */
#ifndef ERGON_MSR_PLACE_H
#define ERGON_MSR_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "sysroot.h"
#include "topo.h"

struct ergon_msr_place {
	int package;
	int die;                  /* -1: any */
	int core;                 /* -1: any */
	int cpu;                  /* whose device is open */
	int fd;
	bool safe;                /* it is msr_safe */
};

/* What could not be opened or read. */
struct ergon_msr_failure {
	int error;                /* 0: none */
	bool listed;              /* the register is not on msr_safe's list */
	char what[64];            /* "/dev/cpu/0/msr register 0x611" */
};

bool ergon_msr_place_has(const struct ergon_msr_place *place, const struct ergon_cpu *cpu);

/*
 * Open the lowest CPU of a place at which a register, usually the unit
 * register, can be read. CPUs that are offline are passed over: a topology
 * is as it was when loaded. Fills cpu, fd, safe and *value. -1 + *why, which
 * is the first CPU's unless another one is online.
 */
int ergon_msr_place_open(struct ergon_msr_place *place, const struct ergon_sysroot *sr,
			 const struct ergon_topo *topo, uint32_t address, uint64_t *value,
			 struct ergon_msr_failure *why);

/*
 * 0, or -1 + errno, *value untouched: EIO no such register, ENXIO the CPU
 * went offline, EACCES msr_safe's list lacks it. Interrupts the CPU (about
 * 1 us); allocates nothing.
 */
int ergon_msr_place_read(const struct ergon_msr_place *place, uint32_t address, uint64_t *value);

/* Put errno and where it came from into words; address 0: the opening. */
void ergon_msr_place_explain(const struct ergon_msr_place *place, uint32_t address,
			     struct ergon_msr_failure *why);

/* The CPU is there no more, or the module is not loaded. */
bool ergon_msr_is_gone(int error);

#endif
