/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ledgers as files: <OutputDir>/ergon.<job>.<step>/rank.<ns>.<rank>.ledger
 * and node.<host>.ledger while the job runs, .csv after a clean end. Nothing
 * is ever overwritten: a name that is taken gets "-2", "-3", ... Files are allocated, not sparse: a full disk is an
 * error when they are made and not a SIGBUS later. No file descriptor stays
 * open: the program may close what it does not know. So output_dir should
 * be absolute, the program may change its directory too.
 */
#ifndef ERGON_LEDGERFILE_H
#define ERGON_LEDGERFILE_H

#include <stdbool.h>

#include "error.h"
#include "identity.h"
#include "ledger.h"

struct ergon_ledger {
	struct ergon_rank_head *head;
	struct ergon_row *rows;
	char dir[512];            /* where the file is */
	char stem[112];           /* its name without .ledger */
};

/*
 * One step may run several MPI programs one after the other: the second is
 * step S-2, with a directory of its own. Every rank finds the number by
 * what it has written there before.
 */
void ergon_step_number(const char *output_dir, struct ergon_identity *id);

/* Opens (makes) the step's directory; -1 + err. The fd is O_CLOEXEC. */
int ergon_step_dir(const char *output_dir, const struct ergon_identity *id, char *path,
		   size_t size, struct ergon_error *err);

/* Create, map, fill in what is known of the rank. Row 0 is `main,app,`. */
int ergon_ledger_create(struct ergon_ledger *ledger, const char *output_dir,
			const struct ergon_identity *id, struct ergon_error *err);

/* A new row; when the table is full the last row, "other", is shared. */
uint32_t ergon_ledger_add_row(struct ergon_ledger *ledger, const char *phase,
			      enum ergon_activity activity, const char *function);

/* CSV written, then the ledger removed; -1 + errno: the ledger stays. */
int ergon_ledger_finish(struct ergon_ledger *ledger, const char *state);

/* Unmap; after a fork in the child, or when nothing shall be written. Files stay. */
void ergon_ledger_drop(struct ergon_ledger *ledger);

struct ergon_node_ledger {
	struct ergon_node_head *head;
	struct ergon_node_slot *slots;
	char dir[512];
	char stem[112];
};

/*
 * stem: "" to make a new file and be told its name, else the file that an
 * earlier keeper of this step on this node made. info: the board's.
 */
int ergon_node_ledger_open(struct ergon_node_ledger *node, const char *output_dir,
			   const struct ergon_identity *id, const struct ergon_board_info *info,
			   char stem[112], struct ergon_error *err);

/* Make total the valid one. Safe against being killed in between. */
void ergon_node_ledger_update(struct ergon_node_ledger *node,
			      const struct ergon_node_total *total);

/* CSV written, ledger removed, unless it is kept for the ranks that died. */
int ergon_node_ledger_finish(struct ergon_node_ledger *node, const char *state, bool keep);
void ergon_node_ledger_drop(struct ergon_node_ledger *node);

#endif
