/* SPDX-License-Identifier: BSD-3-Clause */
/* What a board says of the meter that feeds it and of the node's CPUs. */
#ifndef ERGON_BOARD_DESCRIBE_H
#define ERGON_BOARD_DESCRIBE_H

#include "board.h"
#include "meter.h"
#include "topo.h"

/*
 * Fill mechanism, scope, estimated and the channels of *info from the meter
 * (NULL: no energy, these stay as they are), and the numbers of packages
 * and CPUs. A meter of more channels than a board has is told as a reason
 * instead, and no channel. Returns the table of CPUs for ergon_board_create, info->ncpus
 * of them, the caller's to free; NULL when there is no memory.
 */
struct ergon_board_cpu *ergon_board_describe(const struct ergon_meter *meter,
					     const struct ergon_topo *topo,
					     struct ergon_board_info *info);

#endif
