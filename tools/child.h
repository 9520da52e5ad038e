/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command run on the user's behalf: it must not notice that we are there.
 * It gets our own environment, working directory, file descriptors 0 to 2,
 * signal mask and dispositions; signals sent to us reach it, once.
 */
#ifndef ERGON_TOOLS_CHILD_H
#define ERGON_TOOLS_CHILD_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "error.h"

struct child {
	pid_t pid;
	int go_fd;                /* a byte written here starts the command */
	int error_fd;             /* errno of a failed exec arrives here */
	int signal_fd;
	sigset_t old_mask;
	struct sigaction old_sigchld;
	struct sigaction old_sigpipe;
};

struct child_end {
	int exit_code;            /* as a shell gives it: 128 + signal when killed */
	struct rusage usage;      /* of the command and the descendants it waited for */
};

/*
 * Fork; the child waits before it becomes the command. From here on our
 * signals are held back until child_close, and SIGPIPE is ignored for good.
 * Call before any thread is started. 0; -1 + err.
 */
int child_fork(struct child *c, char *const argv[], struct ergon_error *err);

/* Let it run. 0, or the errno with which the command could not be started. */
int child_go(struct child *c);

/* Wait for the end of the command, passing signals on to it. */
void child_wait(struct child *c, struct child_end *end);

/* Give our signals back; end the child if it was never let go. */
void child_close(struct child *c);

/* What a shell exits with when exec failed with this errno: 127 not found, else 126. */
int child_exec_exit_code(int code);

#endif
