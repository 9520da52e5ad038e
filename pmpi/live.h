/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live directory: where the ranks of one step on one node meet. It
 * holds `board` (board.h) and `roster` (below). Under the Slurm plugin it
 * is RunDir/<job>.<step>.<nodeid>/, made by root; otherwise
 * /dev/shm/ergon.<uid>.<key>/ made by the first rank (0700, owner checked).
 *
 * The roster is the ranks' own: slots of the ranks and the share ring.
 * Exactly one process, the keeper (it holds a lock on the file), turns
 * board samples into shares:
 *
 *   for each new sample k and channel c:
 *     E[c] += energy of the interval            (while any rank is present)
 *     W[c]  = sum over present ranks of weight(rank, c)
 *     if W[c] > 0:  S[c] += energy / W[c]   else  U[c] += energy
 *
 * A rank's energy between two samples is weight * (S[b] - S[a]): no
 * interval is lost however seldom the rank looks, all ranks agree, and
 * sum(ranks) + U = E by construction. Entries are committed by advancing
 * `head`, so the keeper may die at any instant and another continues from
 * the last committed entry.
 *
 * Joining and leaving. A rank sets its slot JOINING; the keeper makes it
 * PRESENT at the sample it commits next and writes `from`. While the
 * keeper computes an interval it holds a slot in COUNTED and returns it to
 * PRESENT after the commit; a rank leaves by PRESENT -> LEFT, with
 * upto = head, and waits (bounded) while it is COUNTED. A dead rank's
 * slot is closed by the keeper with upto = the last entry that counted it.
 */
#ifndef ERGON_LIVE_H
#define ERGON_LIVE_H

#include <stdatomic.h>
#include <stdint.h>

#include "board.h"

#define ERGON_LIVE_RING 4096            /* share entries kept, a power of 2 */
#define ERGON_LIVE_SLOTS 1024           /* ranks of one step on one node, spawned ones included */

enum ergon_slot_state {
	ERGON_SLOT_FREE,
	ERGON_SLOT_JOINING,
	ERGON_SLOT_PRESENT,
	ERGON_SLOT_COUNTED,
	ERGON_SLOT_LEFT,
	ERGON_SLOT_DEAD
};

struct ergon_slot {
	_Atomic uint32_t state;
	int32_t pid;
	int32_t rank;             /* in MPI_COMM_WORLD, -1 unknown */
	uint32_t pid_start_lo;    /* start time of the process (clock ticks since boot), against pid reuse */
	_Atomic uint64_t from;    /* share entry at which the rank begins to count */
	_Atomic uint64_t upto;    /* share entry up to which it counted */
	double weight_node;       /* for node-wide channels */
	double weight[ERGON_BOARD_MAX_PACKAGES]; /* per package index */
};

struct ergon_share {
	uint64_t t_ns;            /* time of the board sample */
	uint64_t sample;          /* its index on the board */
	uint32_t flags;           /* of the board sample */
	uint32_t present;         /* ranks counted */
	double s[ERGON_BOARD_MAX_CHANNELS];
	double e[ERGON_BOARD_MAX_CHANNELS];
	double u[ERGON_BOARD_MAX_CHANNELS];
};

#endif
