/* SPDX-License-Identifier: BSD-3-Clause */
#include "curve.h"

#include <string.h>

#define FIRST_DT_NS 1000000000u

void ergon_curve_init(struct ergon_curve *c, int points)
{
	memset(c, 0, sizeof(*c));
	if (points > ERGON_CURVE_MAX)
		points = ERGON_CURVE_MAX;
	if (points < 2)
		points = 2;
	c->points = points & ~1;
	c->dt_ns = FIRST_DT_NS;
}

/* Add up neighbours: half the intervals, each twice as long. */
static void fold(struct ergon_curve *c)
{
	for (int i = 0; i < c->points / 2; i++)
		c->uj[i] = c->uj[2 * i] + c->uj[2 * i + 1];
	memset(c->uj + c->points / 2, 0, (size_t)(c->points / 2) * sizeof(c->uj[0]));
	c->used = (c->used + 1) / 2;
	c->dt_ns *= 2;
}

/* part of whole * uj, rounded down, without overflow. */
static uint64_t portion(uint64_t uj, uint64_t part, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)uj * part / whole);
}

void ergon_curve_add(struct ergon_curve *c, uint64_t from_ns, uint64_t to_ns, uint64_t uj)
{
	uint64_t points = (uint64_t)c->points, given = 0, at = from_ns;
	uint64_t i;

	if (to_ns < from_ns)
		to_ns = from_ns;
	while ((to_ns + (to_ns == 0) - 1) / c->dt_ns >= points)
		fold(c);

	/* Cumulative portions: what rounding takes from one interval the next gets. */
	i = at / c->dt_ns;
	while (at < to_ns) {
		uint64_t end = (i + 1) * c->dt_ns < to_ns ? (i + 1) * c->dt_ns : to_ns;
		uint64_t until = portion(uj, end - from_ns, to_ns - from_ns);

		c->uj[i++] += until - given;
		given = until;
		at = end;
	}
	if (from_ns == to_ns && uj > 0) {
		/* No time passed: it belongs to the interval that ends here. */
		i = from_ns > 0 ? (from_ns - 1) / c->dt_ns : 0;
		c->uj[i++] += uj;
	}
	if ((int)i > c->used && (uj > 0 || to_ns > from_ns))
		c->used = (int)i;
	if (to_ns > c->end_ns)
		c->end_ns = to_ns;
}

/* The covered end of interval i. */
static uint64_t interval_end(const struct ergon_curve *c, int i)
{
	uint64_t end = ((uint64_t)i + 1) * c->dt_ns;

	return end < c->end_ns ? end : c->end_ns;
}

double ergon_curve_energy_uj(const struct ergon_curve *c, uint64_t from_ns, uint64_t to_ns)
{
	double sum = 0;

	for (int i = 0; i < c->used; i++) {
		uint64_t start = (uint64_t)i * c->dt_ns, end = interval_end(c, i);
		uint64_t a = from_ns > start ? from_ns : start;
		uint64_t b = to_ns < end ? to_ns : end;

		if (b > a)
			sum += (double)c->uj[i] * ((double)(b - a) / (double)(end - start));
	}
	return sum;
}

uint64_t ergon_curve_max_mw(const struct ergon_curve *c)
{
	uint64_t max = 0;

	for (int i = 0; i < c->used; i++) {
		uint64_t len = interval_end(c, i) - (uint64_t)i * c->dt_ns;
		uint64_t mw;

		if (len < c->dt_ns / 2)
			continue;
		/* uJ/ns = kW */
		mw = portion(c->uj[i], 1000000, len);
		if (mw > max)
			max = mw;
	}
	return max;
}
