/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta.h"

#include <stdbool.h>

#include "flags.h"

/* Where a channel does not say, counters move in steps of about 1 ms (RAPL: 976 us). */
#define UPDATE_NS 1000000u
#define GUARD_FACTOR 1.1

static bool possible(const struct ergon_channel *ch, uint64_t counts, uint64_t dt_ns)
{
	double joules = (double)counts * ch->unit_j;
	uint64_t step_ns = ch->step_ns ? ch->step_ns : UPDATE_NS;
	double limit = ch->max_watts * GUARD_FACTOR * ((double)dt_ns + (double)step_ns) * 1e-9;

	/* One count is always possible: coarse counters (1 J) tick at once. */
	return ch->max_watts <= 0 || counts <= 1 || joules <= limit;
}

/* True when the counter may have wrapped more often than its reading shows. */
static bool may_wrap_again(const struct ergon_channel *ch, uint64_t counts,
			   uint64_t period, uint64_t dt_ns)
{
	double limit;

	if (ch->max_watts <= 0 || period == 0)
		return false;
	limit = ch->max_watts * (double)dt_ns * 1e-9;
	return ((double)counts + (double)period) * ch->unit_j <= limit;
}

static struct ergon_delta backwards(const struct ergon_channel *ch,
				    uint64_t prev, uint64_t cur, uint64_t dt_ns)
{
	struct ergon_delta reset = { 0, ERGON_FLAG_RESET };
	struct ergon_delta d = { 0, 0 };

	if (ch->repair) {
		uint64_t back = prev - cur;

		if (back >= ch->repair)
			return reset;
		d.counts = ch->repair - back;
		d.flags = ERGON_FLAG_REPAIRED;
	} else if (ch->modulus == ERGON_MODULUS_UNKNOWN || ch->modulus == 0 ||
		   prev >= ch->modulus) {
		return reset;
	} else {
		d.counts = ch->modulus - prev + cur;
	}
	return possible(ch, d.counts, dt_ns) ? d : reset;
}

struct ergon_delta ergon_delta(const struct ergon_channel *ch,
			       uint64_t prev, uint64_t cur, uint64_t dt_ns)
{
	struct ergon_delta d = { cur - prev, 0 };
	uint64_t period = ch->repair ? ch->repair : ch->modulus;

	if (period == ERGON_MODULUS_UNKNOWN)
		period = 0;
	if (cur < prev)
		d = backwards(ch, prev, cur, dt_ns);
	else if (!possible(ch, d.counts, dt_ns))
		d = (struct ergon_delta){ 0, ERGON_FLAG_GLITCH };
	if (!(d.flags & (ERGON_FLAG_RESET | ERGON_FLAG_GLITCH)) &&
	    may_wrap_again(ch, d.counts, period, dt_ns))
		d.flags |= ERGON_FLAG_WRAPPED;
	return d;
}

uint64_t ergon_counts_to_uj(uint64_t counts, double unit_j)
{
	/* Long double keeps 64 bits on x86: exact for the unit 1e-6 J. */
	long double uj = (long double)counts * (long double)(unit_j * 1e6);

	return (uint64_t)(uj + 0.5L);
}
