/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reader of left-over ledgers (ledger.h): what a rank or a node's keeper
 * that was killed had in memory. Read-only. Every size and index in the
 * file is checked; a file of another build or byte order is refused.
 */
#ifndef ERGON_LEDGER_READ_H
#define ERGON_LEDGER_READ_H

#include "ledger.h"
#include "problem.h"
#include "rankfile.h"

struct ledger {
	struct ergon_rank_head head;
	struct ergon_row *rows;
	uint32_t nrows;
};

/* Read rank.*.ledger. 0, or -1 with a problem noted; free in both cases. */
int ledger_read_rank(struct ledger *l, const char *path, struct problems *problems);
void ledger_free(struct ledger *l);

/*
 * Finish the ledger as its rank would have: the open interval's time goes
 * to its rows and the time since the last booking to the current row, its
 * energy by these times. node_path: ledger of the rank's node, NULL: none;
 * without it the open interval has no energy. The table replaces what f
 * held, f->partial says how the rank ended.
 */
int ledger_finish_rank(const struct ledger *l, const char *path, const char *node_path,
		       struct rankfile *f, struct problems *problems);

/* Read node.*.ledger as if it were the node's CSV. */
int ledger_read_node(struct rankfile *f, const char *path, struct problems *problems);

#endif
