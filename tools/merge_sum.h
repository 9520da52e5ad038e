/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over ranks. Pure. */
#ifndef ERGON_MERGE_SUM_H
#define ERGON_MERGE_SUM_H

#include <stdint.h>

#include "rankfile.h"

/* One quantity over the ranks that have it. */
struct merge_stat {
	double total, min, max;
	int min_rank, max_rank;
	unsigned ranks;
};

/* What something cost. */
struct merge_cost {
	uint64_t calls;           /* stays at INT64_MAX when it overflows */
	double cpu_s;
	double short_s;           /* time from rows marked short */
	unsigned flags;           /* of any rank, without short */
	struct merge_stat time;
	struct merge_stat joules[ERGON_COLUMN_COUNT];
};

/* A rank's part of a sum that is not complete before its last row. */
struct merge_tally {
	unsigned rows;
	unsigned measured;
	uint64_t calls;
	double time_s, cpu_s, short_s;
	double joules[ERGON_COLUMN_COUNT];
	unsigned flags;
};

double merge_mean(const struct merge_stat *stat);

/* Flags of a row: more than half of its time is from short rows -> short. */
unsigned merge_flags(const struct merge_cost *cost);

/* a + b, at most INT64_MAX. */
uint64_t merge_add_counts(uint64_t a, uint64_t b);

/* One row of a rank as a tally. */
struct merge_tally merge_tally_of(const struct rank_row *row);
void merge_tally_add(struct merge_tally *to, const struct merge_tally *from);

/* Add a rank's part. */
void merge_cost_add(struct merge_cost *cost, int rank, const struct merge_tally *tally);

/* Add a rank's part, if it has any, and clear it for the next rank. */
void merge_settle(struct merge_cost *cost, struct merge_tally *tally, int rank);

#endif
