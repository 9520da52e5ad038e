/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ways to the same counter must tell the same energy. A wrong unit (a
 * DRAM counter taken for 61 uJ that counts 15.3 uJ), a stuck counter or a
 * kernel bug shows when a second mechanism is read beside the first.
 * One thread at a time.
 */
#ifndef ERGON_CROSSCHECK_H
#define ERGON_CROSSCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "meter.h"

/* One channel, read both ways over the same time. */
struct ergon_crosscheck_pair {
	char name[32];            /* "dram0" */
	double joules[2];         /* by the meter, by the other mechanism */
	double allowed_j;         /* by how much they may differ */
	bool agree;
};

struct ergon_crosscheck;

/*
 * By how much two counters of a and b joules may differ that are read at
 * nearly the same moments: both are off by up to one update (1 ms at their
 * mean power) and one count at each end, and their units are rounded
 * differently (15.3 uJ is 2^-16 J + 0.27 %): 1 %.
 */
double ergon_crosscheck_allowed_j(double a, double b, double unit_a_j, double unit_b_j,
				  uint64_t dt_ns);

/*
 * Open another mechanism for what the meter measures: the one named, or
 * (NULL) the first of the same group that opens without waiting, which is
 * none that goes through perf. Opens files: with the rights open() needs.
 * NULL + err when there is none, or no channel in common.
 */
struct ergon_crosscheck *ergon_crosscheck_open(const struct ergon_machine *m,
					       const struct ergon_meter *meter,
					       const char *other, struct ergon_error *err);
/* NULL allowed. */
void ergon_crosscheck_close(struct ergon_crosscheck *check);

/*
 * Tell it a reading of the meter, just taken. The first one and the first
 * that is a second later are compared: each makes it read the other
 * mechanism. A second with gaps or resets is not compared but tried again,
 * five times. False when it needs no more. No allocation, no log.
 */
bool ergon_crosscheck_feed(struct ergon_crosscheck *check, const struct ergon_reading *reading);

/* Name of the other mechanism. */
const char *ergon_crosscheck_other(const struct ergon_crosscheck *check);

/* The time compared (ns); 0: not finished or given up, nothing is known of the pairs. */
uint64_t ergon_crosscheck_pairs(const struct ergon_crosscheck *check,
				const struct ergon_crosscheck_pair **pairs, size_t *n);

/*
 * What disagrees, in words: "dram0: perf 20.1 J, powercap 80.3 J (1 : 4.00)";
 * "" when nothing does or it is not finished. Returns buf, cut to size.
 */
char *ergon_crosscheck_verdict(const struct ergon_crosscheck *check, char *buf, size_t size);

#endif
