/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ledgers of a node "n0" on which two ranks were killed, with figures that
 * are easily checked. The keeper saw rank 0 die (its slot is closed at
 * S = 38) and died before it saw rank 1 do (newest total: S = 40).
 * Each rank weighs 0.5; it had booked up to S = 30 and 1.5 s.
 *
 *   row               booked           open    rank 0 in the end   rank 1 in the end
 *   main app          1.0 s, 10 J      50 ms   1.00 s, 12 J        1.00 s, 12.083333333 J
 *   main MPI_Barrier  0.5 s,  5 J      30 ms   0.52 s,  7 J        0.54 s,  7.916666667 J
 *
 * dram is a tenth of package. Energy of the node 42 J, of which nobody's 3 J.
 */
#ifndef ERGON_EXAMPLE_LEDGER_H
#define ERGON_EXAMPLE_LEDGER_H

#include "ledger.h"

/* rows: room for 2. */
void example_rank_ledger(struct ergon_rank_head *head, struct ergon_row *rows, int rank);
void example_node_ledger(struct ergon_node_head *head, struct ergon_node_slot slots[2]);

/* Write head and body. -1 + errno. */
int example_write(const char *path, const void *head, size_t head_size, const void *body,
		  size_t body_size);

#endif
