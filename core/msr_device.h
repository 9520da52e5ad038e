/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers of one CPU, by /dev/cpu/N/msr, or by LLNL's /dev/cpu/N/msr_safe
 * where that one cannot be opened: a file whose offsets are the registers' addresses.
 */
#ifndef ERGON_MSR_DEVICE_H
#define ERGON_MSR_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "sysroot.h"

/*
 * An fd, and in *safe whether it is msr_safe's. -1 + errno: ENOENT no module
 * or no such CPU, ENXIO offline, EACCES or EPERM no rights.
 */
int ergon_msr_open(const struct ergon_sysroot *sr, int cpu, bool *safe);

/*
 * 0, or -1 + errno, *value untouched: EIO no such register, ENXIO the CPU
 * went offline, EACCES msr_safe's list of allowed registers lacks it.
 * Interrupts the CPU (about 1 us); allocates nothing.
 */
int ergon_msr_read(int fd, uint32_t address, uint64_t *value);

#endif
