/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Energy from power readings that come at uneven times. Pure: no clock, no
 * file. Exact integers: microwatts times nanoseconds, the rest below one
 * microjoule is kept.
 */
#ifndef ERGON_INTEGRAL_H
#define ERGON_INTEGRAL_H

#include <stdbool.h>
#include <stdint.h>

struct ergon_integral {
	bool based;               /* holds a reading */
	bool average;             /* a reading is the mean of the time before it, not of its moment */
	uint64_t t_ns;            /* of the last reading */
	uint64_t uw;              /* the last reading */
	uint64_t uj;              /* energy up to t_ns */
	uint64_t rest;            /* uw * ns below one microjoule */
};

/*
 * Add a reading of uw microwatts at t_ns. Trapezoid rule between two
 * momentary readings; an average counts for the whole time since the
 * reading before. The first reading adds nothing. False, and nothing
 * changes, when time did not advance or the product cannot be held.
 */
bool ergon_integral_add(struct ergon_integral *in, uint64_t uw, uint64_t t_ns);

/*
 * The energy at t_ns if power stays as last read: what a reader may show
 * between two readings. Never less than in->uj.
 */
uint64_t ergon_integral_held(const struct ergon_integral *in, uint64_t t_ns);

#endif
