/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The delta engine: two readings of a counter -> what was consumed between
 * them, and how much to trust it. Pure: no clock, no file, no state.
 *
 * Rules (facts: Linux intel_rapl and perf rapl drivers):
 *  - equal readings are zero, not a wrap;
 *  - a smaller reading is a wrap of `modulus` counts if the modular delta
 *    is possible at max_watts, else a reset: 0 counts, flagged;
 *  - more than max_watts allows is a glitch: 0 counts, flagged;
 *  - when dt is long enough for a second wrap at max_watts the result is a
 *    lower bound and flagged wrapped?;
 *  - a counter that the kernel accumulates from signed 32-bit deltas (perf)
 *    can run backwards; `repair` counts (2^32 raw units) are added, flagged;
 *  - a modulus of 0 means 2^64 when repair is set or the counter never wraps;
 *    with neither known (ERGON_MODULUS_UNKNOWN) a decrease is a reset.
 * "Possible at max_watts" grants 10 % and one update period (step_ns, 1 ms where it is 0).
 */
#ifndef ERGON_DELTA_H
#define ERGON_DELTA_H

#include <stdint.h>

#include "channel.h"

#define ERGON_MODULUS_UNKNOWN UINT64_MAX

struct ergon_delta {
	uint64_t counts;
	unsigned flags;           /* enum ergon_flag */
};

/* dt_ns: time between the readings. Uses ch->{unit_j,modulus,repair,max_watts,step_ns}. */
struct ergon_delta ergon_delta(const struct ergon_channel *ch,
			       uint64_t prev, uint64_t cur, uint64_t dt_ns);

/* counts * unit in microjoules, rounded to nearest; exact for unit 1e-6. */
uint64_t ergon_counts_to_uj(uint64_t counts, double unit_j);

#endif
