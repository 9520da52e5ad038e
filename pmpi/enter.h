/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks that enclose every wrapped call, and the only global state of
 * the interposer: the host calls us with no context.
 *
 * Time is kept by the thread that initialised MPI, outermost calls only
 * (an MPI library may call its own public names). Calls of other threads
 * are counted, their time is not.
 *
 * Cost: two time stamps and a few adds, no system call. Polls that miss and
 * follow each other closely (ERGON_POLL_GAP_NS on average) are one stretch of
 * polling: only every ERGON_POLLS_PER_STAMP-th is stamped, and what lies
 * between them is polling too. A stretch ends with a hit, another call or a
 * longer gap; that gap, with the polls that were not stamped yet, is
 * application time, unless the thread was off the CPU most of it (preempted
 * while it spun; told only in stretches of more than 0.1 ms). Polls that are not in a stretch are timed like any call.
 */
#ifndef ERGON_ENTER_H
#define ERGON_ENTER_H

#include <stdbool.h>

#include "ledger.h"

#define ERGON_NCALLS 367
#define ERGON_POLL_GAP_NS 2000
#define ERGON_POLLS_PER_STAMP 4

struct ergon_call {
	char name[48];            /* an array: a pointer would be a relocation in every process */
	enum ergon_activity activity;
};

/* Generated from calls.in; the index is the `call` below. */
extern const struct ergon_call ergon_calls[ERGON_NCALLS];

void ergon_plain_enter(unsigned call);
void ergon_plain_leave(unsigned call, int rc);

void ergon_poll_enter(unsigned call);
void ergon_poll_leave(unsigned call, int rc, bool hit);

/* MPI_Init, MPI_Init_thread: the measurement begins. */
void ergon_init_enter(unsigned call);
void ergon_init_leave(unsigned call, int rc);

/* MPI_Finalize: it ends, unless sessions are open. */
void ergon_finalize_enter(unsigned call);
void ergon_finalize_leave(unsigned call, int rc);

/* MPI_Session_init begins it where there was no MPI_Init. */
void ergon_session_init_enter(unsigned call);
void ergon_session_init_leave(unsigned call, int rc);

/*
 * MPI_Session_finalize: the last one ends it after MPI_Finalize; a program
 * that has only sessions may open another, so there the process's end does.
 */
void ergon_session_finalize_enter(unsigned call);
void ergon_session_finalize_leave(unsigned call, int rc);

/* MPI_Abort: everything is written before it is called. */
void ergon_abort_enter(unsigned call);
void ergon_abort_leave(unsigned call, int rc);

#endif
