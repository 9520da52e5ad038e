/* SPDX-License-Identifier: BSD-3-Clause */
#include "gauge.h"

void ergon_gauge_add(struct ergon_gauge *g, int64_t value, uint64_t t_ns)
{
	if (g->joined && t_ns > g->t_ns) {
		double span = (double)(t_ns - g->t_ns);

		g->area += span * ((double)g->last + (double)value) / 2;
		g->span_ns += span;
	}
	if (g->n == 0 || value < g->min)
		g->min = value;
	if (g->n == 0 || value > g->max)
		g->max = value;
	g->last = value;
	g->t_ns = t_ns;
	g->sum += (double)value;
	g->n++;
	g->joined = true;
}

void ergon_gauge_break(struct ergon_gauge *g)
{
	g->joined = false;
}

bool ergon_gauge_mean(const struct ergon_gauge *g, double *mean)
{
	if (g->n == 0)
		return false;
	*mean = g->span_ns > 0 ? g->area / g->span_ns : g->sum / (double)g->n;
	return true;
}
