/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slurmstepd: one step on one node. Called in this order by the main
 * thread, each at most once with effect. None of them can fail the step;
 * what goes wrong stands in the record, in Slurm's log and, when the user
 * had asked for energy, in one line from the step's first node.
 */
#ifndef ERGON_REMOTE_H
#define ERGON_REMOTE_H

#include <slurm/spank.h>

/* The option's callback, any number of times: only stores. */
void ergon_remote_option(const char *text);

/* init_post_opt, as root: opens everything that has a path, starts measuring. */
void ergon_remote_start(spank_t sp, const char *conf_file);

/* user_init, with the user's effective ids: environment of the tasks, the user's line. */
void ergon_remote_user_init(spank_t sp);

/* task_exit, once per task. */
void ergon_remote_task_exit(spank_t sp);

/* exit, as root: the record goes to the journal; no thread, fd or file of ours is left. */
void ergon_remote_finish(spank_t sp);

#endif
