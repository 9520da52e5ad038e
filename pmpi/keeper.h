/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keeper: the process that holds byte 0 of the roster. Its thread
 * follows the board, commits share entries, closes the slots of dead ranks
 * and keeps the node ledger current. Where no board is given it starts the
 * sampler (ergon-sampler.so next to this library) first.
 *
 * All signals are blocked in the thread. It never touches a rank's ledger.
 */
#ifndef ERGON_KEEPER_H
#define ERGON_KEEPER_H

#include <stdbool.h>

#include "identity.h"
#include "live.h"

struct ergon_keeper;

struct ergon_keeper_config {
	struct ergon_roster *roster;
	int lock_fd;              /* the roster, for looking at locks */
	const char *dir;          /* the live directory */
	const char *output_dir;
	const struct ergon_identity *id;
	unsigned own_slot;        /* its lock is ours: never looked at */
};

/*
 * Start, or continue what a dead keeper left. NULL when there is no energy
 * to be had (roster->info.reason says why) or no thread to be had. What
 * config points to must stay.
 */
struct ergon_keeper *ergon_keeper_start(const struct ergon_keeper_config *config);

/*
 * Stop thread and sampler. When no rank is left the node file is written.
 * Where keeper is NULL, what an earlier one left in the roster is used.
 * Returns the number of ranks left.
 */
unsigned ergon_keeper_stop(struct ergon_keeper *keeper, const struct ergon_keeper_config *config);

/* Ranks that still count; closes the slots of dead ones on the way. */
unsigned ergon_keeper_others(const struct ergon_keeper_config *config);

#endif
