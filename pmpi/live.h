/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live directory: where the ranks of one step on one node meet. It
 * holds `roster` (below) and, where no one else publishes samples, `board`
 * (board.h): /dev/shm/ergon.<uid>.<key>/, made by the first rank (0700, owner
 * checked). Under the Slurm plugin the board is root's, RunDir/<job>.<step>.
 * <nodeid>/board, <key> is made of the path of that directory (livepath.h), and
 * the plugin removes what a killed step left.
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
 * (where the step has a part of the node only, info.node_share of the
 * energy goes that way and the rest to U)
 *
 * A rank's energy between two samples is weight * (S[b] - S[a]): no
 * interval is lost however seldom the rank looks, all ranks agree, and
 * sum(ranks) + U = E by construction. Entries are committed by advancing
 * `head`, so the keeper may die at any instant and another continues from
 * the last committed entry.
 *
 * Joining and leaving. A rank claims a slot, and the lock on its byte, in
 * state JOINING with the CPUs it may use. At the first sample taken after
 * join_ns the keeper weighs it, writes from, from_ns, from_s and makes it
 * PRESENT. While the keeper computes an interval it holds a slot in COUNTED;
 * `upto` is set before the commit, PRESENT again after it. A rank leaves by
 * PRESENT -> LEFT; it waits (bounded) while it is COUNTED, and upto tells
 * up to which entry it counted. A slot whose byte is no longer locked
 * belongs to a dead process: the keeper closes it as DEAD, with upto as it
 * stands. A new keeper makes every COUNTED slot PRESENT with upto = the last
 * committed entry, which is right whether or not the old one had committed.
 *
 * Locks (fcntl, so they are the process's, survive no exec and are not
 * inherited by fork): byte 0 the keeper, byte 1 + i the rank in slot i.
 * Liveness by locks needs no pid, so containers do not matter. Nobody may
 * open the roster twice in one process: closing one would drop the locks.
 *
 * A file of zeros is a valid empty roster: whoever comes first allocates it.
 */
#ifndef ERGON_LIVE_H
#define ERGON_LIVE_H

#include <stdatomic.h>
#include <stdint.h>

#include "board.h"

#define ERGON_LIVE_RING 1024            /* share entries kept, a power of 2 */
#define ERGON_LIVE_SLOTS 1024           /* ranks of one step on one node, spawned ones included */
#define ERGON_LIVE_CPUS 4096            /* CPU numbers a mask can hold */

enum ergon_slot_state {
	ERGON_SLOT_FREE,
	ERGON_SLOT_JOINING,
	ERGON_SLOT_PRESENT,
	ERGON_SLOT_COUNTED,
	ERGON_SLOT_LEFT,
	ERGON_SLOT_DEAD
};

struct ergon_weights {
	double node;              /* for node-wide channels */
	double package[ERGON_BOARD_MAX_PACKAGES]; /* per package index */
};

struct ergon_slot {
	_Atomic uint32_t state;
	_Atomic int32_t rank;     /* in MPI_COMM_WORLD, -1 unknown */
	int32_t pid;
	uint32_t share;           /* enum ergon_share_mode the rank asked for */
	_Atomic uint32_t confirmed; /* the rank's ledger knows that it counts */
	uint32_t reserved;
	uint64_t join_ns;         /* count from here on */
	uint64_t from;            /* share entry at which the rank began to count */
	uint64_t from_ns;
	_Atomic uint64_t upto;    /* share entry up to which it counted */
	uint64_t cpus[ERGON_LIVE_CPUS / 64];
	struct ergon_weights weights;
	double from_s[ERGON_BOARD_MAX_CHANNELS]; /* S at `from` */
};

struct ergon_share {
	uint64_t t_ns;            /* time of the board sample */
	uint64_t sample;          /* its index on the board */
	uint64_t samples, missed; /* so far: board samples used, planned ones not taken */
	uint32_t flags;           /* of the interval that ends here */
	uint32_t present;         /* ranks counted */
	double s[ERGON_BOARD_MAX_CHANNELS];
	double e[ERGON_BOARD_MAX_CHANNELS];
	double u[ERGON_BOARD_MAX_CHANNELS];
};

struct ergon_roster {
	_Atomic uint64_t head;          /* share entries committed; the newest has index head - 1 */
	_Atomic uint64_t heartbeat_ns;  /* when the keeper last looked */
	_Atomic uint32_t ready;         /* info is valid; with no channels: info.reason says why */
	uint32_t reserved;
	char node_stem[112];            /* the node ledger's name, for the next keeper */
	/* Held by ranks that died before their ledger knew it: unattributed. */
	double orphaned[ERGON_BOARD_MAX_CHANNELS];
	struct ergon_board_info info;
	struct ergon_slot slots[ERGON_LIVE_SLOTS];
	struct ergon_share ring[ERGON_LIVE_RING];
};

/* Copy an entry; -1 when the ring no longer (or not yet) holds it. */
int ergon_share_read(const struct ergon_roster *roster, uint64_t entry, struct ergon_share *out);

/* Its flags; 0 when it is gone. */
uint32_t ergon_share_flags(const struct ergon_roster *roster, uint64_t entry);

#endif
