/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * freq=auto: whether the machine is sampled at the asked rate or once a
 * second. Pure: the caller tells how many CPUs were busy since it last
 * asked, and when.
 *
 * CPUs, not a share of them: one busy program is a load on any machine.
 * Load is believed at once, idleness only after it has lasted; between the
 * two thresholds nothing changes. A pace begins fast: something is about
 * to run.
 */
#ifndef ERGON_PACE_H
#define ERGON_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Distance of checks, and of wake-ups of an idle machine. A CPU that becomes
 * busy is noticed within this time and what ERGON_PACE_LOAD asks for:
 * 250 + 62.5 ms.
 */
#define ERGON_PACE_CHECK_NS 250000000u
/* Between samples of an idle machine. */
#define ERGON_PACE_IDLE_PERIOD_NS 1000000000u

#define ERGON_PACE_LOAD 0.25      /* busy CPUs from here on: load */
#define ERGON_PACE_QUIET 0.125    /* up to here: quiet */
#define ERGON_PACE_QUIET_NS 2000000000u /* quiet for so long: idle */

struct ergon_pace {
	bool idle;
	bool quiet;               /* not idle, but quiet since quiet_ns */
	uint64_t quiet_ns;
};

/*
 * Account for the time up to t_ns (monotonic), of which busy_cpus CPUs were
 * busy on average; negative: unknown, taken for load. Returns whether the
 * machine is idle. Begin with a struct of zeros.
 */
bool ergon_pace_check(struct ergon_pace *pace, uint64_t t_ns, double busy_cpus);

#endif
