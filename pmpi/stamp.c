/* SPDX-License-Identifier: BSD-3-Clause */
#include "stamp.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

/* The rate is good to 30 ns (a reading of both) in this time, or better. */
#define RATE_NS 2000000u
/* A tie is renewed every 10 ms while calls are made. */
#define REACH_NS 100000000u

static bool counter_is_invariant(void)
{
#ifdef __x86_64__
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#else
	return false;
#endif
}

void ergon_stamp_init(struct ergon_stamp *s)
{
	*s = (struct ergon_stamp){
		.usable = counter_is_invariant(),
		.asleep_ns = ergon_clock_asleep_ns(),
	};
	s->first_ticks = s->ticks = ergon_ticks();
	s->first_ns = s->ns = ergon_clock_ns();
}

uint64_t ergon_stamp_sync(struct ergon_stamp *s)
{
	uint64_t ticks = ergon_ticks();
	uint64_t ns = ergon_clock_ns();

	if (!s->usable || ns - s->first_ns < RATE_NS)
		return ns;
	if (ergon_clock_slept_ns(s->asleep_ns)) {
		ergon_stamp_init(s);
		return ns;
	}
	if (ticks <= s->first_ticks) {
		/* The counter went backwards: not what it claims to be. */
		s->usable = false;
		s->reach = 0;
		return ns;
	}
	s->scale = (uint64_t)((double)(ns - s->first_ns) / (double)(ticks - s->first_ticks) * 0x1p32);
	s->reach = s->scale ? (uint64_t)(REACH_NS * 0x1p32 / (double)s->scale) : 0;
	s->ticks = ticks;
	s->ns = ns;
	return ns;
}
