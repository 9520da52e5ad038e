/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded power curve: energy per interval in millijoules, 1 s at first;
 * when the points are used up neighbours are added up and the interval
 * doubles. Constant memory for any run time. Pure.
 */
#ifndef ERGON_CURVE_H
#define ERGON_CURVE_H

#include <stdint.h>

#define ERGON_CURVE_MAX 120

struct ergon_curve {
	int points;               /* how many may be used, 2 .. ERGON_CURVE_MAX, even */
	int used;                 /* intervals begun; the last may be open */
	uint64_t dt_ns;           /* length of an interval */
	uint64_t uj[ERGON_CURVE_MAX]; /* energy per interval */
	uint64_t end_ns;          /* time from the start that is covered */
};

/* points is brought into range and made even. */
void ergon_curve_init(struct ergon_curve *c, int points);

/*
 * Add uj consumed evenly between from_ns and to_ns (since the start);
 * from_ns must be the previous to_ns. Microjoules are conserved exactly:
 * the sum over the curve is the sum of what was added.
 */
void ergon_curve_add(struct ergon_curve *c, uint64_t from_ns, uint64_t to_ns, uint64_t uj);

/*
 * Energy between two times since the start, linear inside an interval;
 * times outside the curve count nothing.
 */
double ergon_curve_energy_uj(const struct ergon_curve *c, uint64_t from_ns, uint64_t to_ns);

/* Highest mean power of a covered interval of at least half dt, in mW. */
uint64_t ergon_curve_max_mw(const struct ergon_curve *c);

#endif
