/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Readings of something that goes up and down, summed up: time-weighted
 * mean, lowest, highest. Pure. Integers in thousandths of the unit, as the
 * kernel gives them: millidegrees, kHz for MHz.
 */
#ifndef ERGON_GAUGE_H
#define ERGON_GAUGE_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros is empty. */
struct ergon_gauge {
	uint64_t n;               /* readings */
	int64_t last, min, max;
	uint64_t t_ns;            /* of the last one */
	bool joined;              /* the next reading goes on from the last */
	double sum;               /* of all readings */
	double area;              /* value times ns, straight lines between joined readings */
	double span_ns;           /* that area covers */
};

/* A reading taken at monotonic time t_ns; one that is older than the last counts without a span. */
void ergon_gauge_add(struct ergon_gauge *g, int64_t value, uint64_t t_ns);

/* It could not be read: nothing is known until the next reading. */
void ergon_gauge_break(struct ergon_gauge *g);

/* Mean over the time covered, of the readings when there is none; false: no reading at all. */
bool ergon_gauge_mean(const struct ergon_gauge *g, double *mean);

#endif
