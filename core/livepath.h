/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the ranks of one step on one node meet (pmpi/live.h): the one thing
 * that the interposer, which makes it as the user, and the plugin, which
 * removes it after the step, must agree on. Pure.
 */
#ifndef ERGON_LIVEPATH_H
#define ERGON_LIVEPATH_H

#include <stddef.h>
#include <sys/types.h>

#define ERGON_LIVE_PARENT "/dev/shm"
#define ERGON_LIVE_NAME_MAX 256

/*
 * Name below ERGON_LIVE_PARENT for the step whose board lies in board_dir
 * (an absolute path): ergon.<uid>.<path with _ for />. The whole path,
 * because several Slurms on one machine have jobs of the same number; of a
 * long one the end.
 */
void ergon_live_name(char name[ERGON_LIVE_NAME_MAX], uid_t uid, const char *board_dir);

#endif
