/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attribution, as arithmetic: numbers in, numbers out. No clock, no file,
 * no thread. What goes in comes out: parts and remainder always add up.
 */
#ifndef ERGON_ATTRIB_H
#define ERGON_ATTRIB_H

#include <stddef.h>
#include <stdint.h>

#include "board.h"
#include "ledger.h"
#include "live.h"

/* X(constant, word): how a package is split among the ranks bound to it. */
#define ERGON_SHARE_TABLE(X) \
	X(CORES, "cores")   /* by the cores a rank may use there */ \
	X(EQUAL, "equal")   /* the same for each rank that may run there */

enum ergon_share_mode {
#define X(c, w) ERGON_SHARE_##c,
	ERGON_SHARE_TABLE(X)
#undef X
	ERGON_SHARE_COUNT
};

const char *ergon_share_word(enum ergon_share_mode mode);

/* -1: no such word. */
int ergon_share_parse(const char *word);

/*
 * The weights of a rank that may run on the CPUs of mask (bit = kernel's
 * CPU number). A mask without a CPU of the node weighs nothing: its rank's
 * energy is nobody's.
 */
void ergon_attrib_weigh(const struct ergon_board_cpu *cpus, size_t ncpus,
			const uint64_t mask[ERGON_LIVE_CPUS / 64],
			enum ergon_share_mode mode, struct ergon_weights *out);

/* sum += weights */
void ergon_attrib_add(struct ergon_weights *sum, const struct ergon_weights *weights);

/* The weight that counts for a channel. */
double ergon_attrib_weight(const struct ergon_weights *weights,
			   const struct ergon_board_channel *channel);

/*
 * Book an interval in which the ranks present weigh `sum`: entry's E, S
 * and U grow as described in live.h. node_share: the part of the node that
 * is the step's; the rest is nobody's.
 */
void ergon_attrib_interval(const struct ergon_board_channel *channels, size_t nchannels,
			   double node_share, const double *joules,
			   const struct ergon_weights *sum, struct ergon_share *entry);

/* Joules and CPU seconds of an interval, to be split over rows. */
struct ergon_amount {
	double joules[ERGON_COLUMN_COUNT];
	double cpu_s;
	uint64_t intervals;       /* sample intervals it spans */
	uint32_t flags;
};

/*
 * Split over the rows by the time they have open, and close it; rows
 * without open time get nothing. When no row has any, rows[current] gets
 * all.
 */
void ergon_attrib_split(struct ergon_row *rows, size_t nrows, size_t current,
			const struct ergon_amount *amount);

/* Time open in all rows. */
uint64_t ergon_attrib_open_ns(const struct ergon_row *rows, size_t nrows);

#endif
