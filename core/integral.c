/* SPDX-License-Identifier: BSD-3-Clause */
#include "integral.h"

/* One microjoule in microwatts times nanoseconds. */
#define UW_NS_PER_UJ 1000000000u

bool ergon_integral_add(struct ergon_integral *in, uint64_t uw, uint64_t t_ns)
{
	if (in->based) {
		uint64_t dt_ns = t_ns - in->t_ns;
		unsigned __int128 sum = in->average ? 2 * (unsigned __int128)uw :
				       (unsigned __int128)in->uw + uw;
		unsigned __int128 uw_ns;

		if (t_ns <= in->t_ns)
			return false;
		/* An odd product loses half a uW*ns, 5e-10 uJ. */
		uw_ns = sum * dt_ns / 2 + in->rest;
		if (uw_ns / UW_NS_PER_UJ > UINT64_MAX - in->uj)
			return false;
		in->uj += (uint64_t)(uw_ns / UW_NS_PER_UJ);
		in->rest = (uint64_t)(uw_ns % UW_NS_PER_UJ);
	}
	in->based = true;
	in->t_ns = t_ns;
	in->uw = uw;
	return true;
}

uint64_t ergon_integral_held(const struct ergon_integral *in, uint64_t t_ns)
{
	if (!in->based || t_ns <= in->t_ns)
		return in->uj;
	return in->uj + (uint64_t)(((unsigned __int128)in->uw * (t_ns - in->t_ns) + in->rest) /
				   UW_NS_PER_UJ);
}
