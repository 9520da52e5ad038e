/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RunDir/<job>.<step>.<nodeid>/: where the ranks of one step on one node find
 * the board. The directory is the user's (0500), `board` is root's (0444). As
 * the owner the user may change the directory's mode and fill it; nothing in
 * it is trusted, followed or executed, and it is removed by descriptor. So
 * is the ranks' own live directory (livepath.h), should they have been killed.
 */
#ifndef ERGON_RUNDIR_H
#define ERGON_RUNDIR_H

#include <stdint.h>
#include <sys/types.h>

#include "board.h"
#include "error.h"

struct ergon_rundir;

/*
 * name: a plain file name; what a dead step left there is removed. Locks the
 * directory. EBUSY when a living slurmstepd has one of this name.
 */
struct ergon_rundir *ergon_rundir_create(const char *run_dir, const char *name,
					 uid_t uid, gid_t gid,
					 const struct ergon_board_info *info,
					 const struct ergon_board_cpu *cpus, uint32_t ring,
					 struct ergon_error *err);

/* Path of the board file, and the board to publish on. */
const char *ergon_rundir_board_path(const struct ergon_rundir *rd);
struct ergon_board *ergon_rundir_board(const struct ergon_rundir *rd);

/* Finish the board; remove the directory and what ranks left. NULL allowed. */
void ergon_rundir_remove(struct ergon_rundir *rd);

/* Remove the directories of steps whose slurmstepd is dead (nobody holds their lock). */
void ergon_rundir_sweep(const char *run_dir);

#endif
