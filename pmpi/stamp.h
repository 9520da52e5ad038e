/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time stamps for every MPI call, in ns of CLOCK_MONOTONIC. Where the CPU
 * has an invariant time stamp counter a stamp costs half a clock_gettime;
 * the counter is tied to the clock anew at each ergon_stamp_sync, and a
 * stamp that is too far from the last tie (or before it: another CPU, a
 * migrated VM) reads the clock instead. Elsewhere a stamp is the clock. The
 * counter may run on in a suspend, in which the clock stands still: its rate
 * is then measured anew.
 */
#ifndef ERGON_STAMP_H
#define ERGON_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

struct ergon_stamp {
	uint64_t ticks;           /* counter and clock at the last tie */
	uint64_t ns;
	uint64_t reach;           /* ticks after it in which the counter is used; 0: never */
	uint64_t scale;           /* ns per tick, times 2^32 */
	uint64_t first_ticks, first_ns; /* at the first tie: the rate is measured from there */
	int64_t asleep_ns;        /* ergon_clock_asleep_ns() at the first tie */
	bool usable;
};

/* The first tie. */
void ergon_stamp_init(struct ergon_stamp *s);

/* Tie anew; returns the clock. About once per sample. */
uint64_t ergon_stamp_sync(struct ergon_stamp *s);

#ifdef __x86_64__
static inline uint64_t ergon_ticks(void)
{
	return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t ergon_ticks(void)
{
	return 0;
}
#endif

static inline uint64_t ergon_stamp(const struct ergon_stamp *s)
{
	uint64_t ticks = ergon_ticks() - s->ticks;

	if (__builtin_expect(ticks >= s->reach, 0))
		return ergon_clock_ns();
	return s->ns + (ticks * s->scale >> 32);
}

#endif
