/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge_sum.h"

#include <string.h>

#include "flags.h"

double merge_mean(const struct merge_stat *stat)
{
	return stat->ranks ? stat->total / stat->ranks : 0;
}

unsigned merge_flags(const struct merge_cost *cost)
{
	bool is_short = cost->short_s > 0.5 * cost->time.total;

	return cost->flags | (is_short ? (unsigned)ERGON_FLAG_SHORT : 0);
}

static void stat_add(struct merge_stat *stat, int rank, double value)
{
	if (stat->ranks == 0 || value < stat->min) {
		stat->min = value;
		stat->min_rank = rank;
	}
	if (stat->ranks == 0 || value > stat->max) {
		stat->max = value;
		stat->max_rank = rank;
	}
	stat->total += value;
	stat->ranks++;
}

uint64_t merge_add_counts(uint64_t a, uint64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

void merge_cost_add(struct merge_cost *cost, int rank, const struct merge_tally *tally)
{
	cost->calls = merge_add_counts(cost->calls, tally->calls);
	cost->cpu_s += tally->cpu_s;
	cost->short_s += tally->short_s;
	cost->flags |= tally->flags;
	stat_add(&cost->time, rank, tally->time_s);
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		if (tally->measured & 1u << c)
			stat_add(&cost->joules[c], rank, tally->joules[c]);
}

struct merge_tally merge_tally_of(const struct rank_row *row)
{
	struct merge_tally tally = {
		.rows = 1,
		.measured = row->measured,
		.calls = row->calls,
		.time_s = row->time_s,
		.cpu_s = row->cpu_s,
		.flags = row->flags & ~(unsigned)ERGON_FLAG_SHORT,
	};

	if (row->flags & ERGON_FLAG_SHORT)
		tally.short_s = row->time_s;
	memcpy(tally.joules, row->joules, sizeof(tally.joules));
	return tally;
}

void merge_tally_add(struct merge_tally *to, const struct merge_tally *from)
{
	to->rows += from->rows;
	to->measured |= from->measured;
	to->calls = merge_add_counts(to->calls, from->calls);
	to->time_s += from->time_s;
	to->cpu_s += from->cpu_s;
	to->short_s += from->short_s;
	to->flags |= from->flags;
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		to->joules[c] += from->joules[c];
}

void merge_settle(struct merge_cost *cost, struct merge_tally *tally, int rank)
{
	if (tally->rows > 0)
		merge_cost_add(cost, rank, tally);
	memset(tally, 0, sizeof(*tally));
}
