/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock rate of the CPUs from cpufreq: per policy (CPUs that are set
 * together) the best file that can be read, of
 *
 *   cpuinfo_avg_freq   what the CPU did in the last few ms (Linux 6.14)
 *   cpuinfo_cur_freq   asked of the hardware; root only
 *   scaling_cur_freq   what the kernel believes; on x86 measured
 *
 * A reading may interrupt the CPU it asks about, or sleep 20 ms (old
 * acpi-cpufreq), and a node may have hundreds of policies. So a round stays
 * within an allowance, 0.5 % of a core in CPU time and 5 % of the thread's
 * time, and the next one goes on where it stopped; what was not read again
 * keeps its newest value. Past 256 policies every second, third ... is read.
 */
#ifndef ERGON_CPUFREQ_H
#define ERGON_CPUFREQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"
#include "sysroot.h"

struct ergon_cpufreq;

/*
 * Find the policies; their files are opened by the first readings. owner:
 * the uid whose rights these have, for a process (slurmstepd) that changes
 * its effective uid meanwhile. NULL + why there is none. sr must outlive it.
 */
struct ergon_cpufreq *ergon_cpufreq_open(const struct ergon_sysroot *sr, uid_t owner,
					 struct ergon_error *err);
void ergon_cpufreq_close(struct ergon_cpufreq *cf);

/*
 * One round. Mean over the online CPUs (weighted by the CPUs of a policy),
 * in kHz. A CPU that tells nothing (idle, offline, failing) does not count;
 * false when none does. One thread at a time.
 */
bool ergon_cpufreq_read(struct ergon_cpufreq *cf, int64_t *khz);

/*
 * After a round: the files in use, "cpuinfo_avg_freq", and what they are of:
 * "cpuinfo_avg_freq of 8 policies, intel_pstate".
 */
void ergon_cpufreq_describe(const struct ergon_cpufreq *cf, char *files, size_t files_size,
			    char *what, size_t what_size);

/* After a round without a value: why. */
void ergon_cpufreq_why(const struct ergon_cpufreq *cf, char *why, size_t size);

#endif
