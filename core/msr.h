/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of RAPL registers: which CPU has which, and what one count
 * of them is. Pure: tables and arithmetic. Whoever reads MSRs directly has to
 * know what the kernel's drivers know; a CPU that is not in the table is
 * not read, for a guessed unit is a wrong number.
 *
 * Sources: Intel SDM vol. 4 and AMD PPRs (registers); Linux
 * arch/x86/events/rapl.c and drivers/powercap/intel_rapl_common.c (models,
 * domains, units); raplcap #13 (Avoton); throttled #425 (Broadwell-D);
 * Linux 80275ca9e525 and likwid #642 (Sapphire Rapids); amd_energy (width);
 * Linux arch/x86/kernel/cpu/amd.c (which models are which Zen).
 */
#ifndef ERGON_MSR_H
#define ERGON_MSR_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"

enum ergon_msr_quirk {
	ERGON_MSR_DRAM_FIXED = 1 << 0, /* dram counts in 2^-16 J, whatever the unit register says */
	ERGON_MSR_INVERTED = 1 << 1,   /* the unit is 2^ESU uJ instead of 2^-ESU J */
	ERGON_MSR_PSYS_JOULES = 1 << 2, /* psys counts in joules */
	ERGON_MSR_WIDE = 1 << 3,       /* counters of 64 bits */
	ERGON_MSR_EACH_CORE = 1 << 4,  /* the core register is one core's, not the package's */
	ERGON_MSR_TPMI = 1 << 5        /* the counters are not in MSRs */
};

struct ergon_msr_registers {
	uint32_t unit;
	uint32_t energy[ERGON_DOMAIN_COUNT]; /* 0: there is none */
	bool high_reserved;       /* bits 63:32 mean nothing */
};

/* Models first to last of a family. */
struct ergon_msr_cpu {
	const char *vendor;
	int family;
	int first, last;
	const struct ergon_msr_registers *registers;
	unsigned domains;         /* 1u << enum ergon_domain each */
	unsigned quirks;          /* enum ergon_msr_quirk */
};

/* NULL: not in the table. */
const struct ergon_msr_cpu *ergon_msr_cpu_find(const char *vendor, int family, int model);

/* Joules per count of a domain, given the unit register. Always positive and finite. */
double ergon_msr_unit_j(const struct ergon_msr_cpu *cpu, enum ergon_domain domain, uint64_t units);

/*
 * Whether all 64 bits of an energy counter count, given a reading of it:
 * they do on the models listed so, and on any AMD that has bits there.
 */
bool ergon_msr_is_wide(const struct ergon_msr_cpu *cpu, uint64_t value);

#endif
