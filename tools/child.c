/* SPDX-License-Identifier: BSD-3-Clause */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What people and batch systems send to a job; the rest keeps its default. */
static const int forwarded[] = {
	SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU,
};

static void hold_signals(struct child *c, sigset_t *held)
{
	struct sigaction plain = { .sa_handler = SIG_DFL }, ignore = { .sa_handler = SIG_IGN };

	sigemptyset(held);
	sigaddset(held, SIGCHLD);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(held, forwarded[i]);
	sigprocmask(SIG_BLOCK, held, &c->old_mask);
	/* With SIGCHLD ignored, as some parents leave it, no status could be had. */
	sigaction(SIGCHLD, &plain, &c->old_sigchld);
	sigaction(SIGPIPE, &ignore, &c->old_sigpipe);
}

static void release_signals(const struct child *c)
{
	sigaction(SIGCHLD, &c->old_sigchld, NULL);
	sigprocmask(SIG_SETMASK, &c->old_mask, NULL);
}

/* In the child: wait for the word, become the command. */
static void become(const struct child *c, char *const argv[], int go, int error)
{
	ssize_t n;
	char byte;
	int code;

	do {
		n = read(go, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(0); /* the parent gave up or is gone */
	sigaction(SIGPIPE, &c->old_sigpipe, NULL);
	release_signals(c);
	execvp(argv[0], argv);
	code = errno;
	n = write(error, &code, sizeof(code));
	_exit(n == (ssize_t)sizeof(code) ? child_exec_exit_code(code) : 126);
}

static void close_pair(const int fds[2])
{
	if (fds[0] >= 0)
		close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
}

int child_fork(struct child *c, char *const argv[], struct ergon_error *err)
{
	int go[2] = { -1, -1 }, error[2] = { -1, -1 }, saved;
	sigset_t held;

	hold_signals(c, &held);
	c->pid = -1;
	c->signal_fd = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
	if (c->signal_fd < 0 || pipe2(go, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
		goto fail;
	c->pid = fork();
	if (c->pid < 0)
		goto fail;
	if (c->pid == 0) {
		close(go[1]); /* else the end of the parent would go unnoticed */
		become(c, argv, go[0], error[1]);
	}
	close(go[0]);
	close(error[1]);
	c->go_fd = go[1];
	c->error_fd = error[0];
	return 0;
fail:
	saved = errno;
	close_pair(go);
	close_pair(error);
	if (c->signal_fd >= 0)
		close(c->signal_fd);
	release_signals(c);
	errno = saved;
	return ergon_error_set(err, "cannot start a process: %s", strerror(errno));
}

int child_go(struct child *c)
{
	ssize_t n = write(c->go_fd, "g", 1);
	int code = 0;

	close(c->go_fd);
	c->go_fd = -1;
	if (n != 1)
		return errno ? errno : EIO;
	do {
		n = read(c->error_fd, &code, sizeof(code));
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(code) ? code : 0;
}

static void forward(const struct child *c, const struct signalfd_siginfo *info)
{
	/* What the terminal sends, it sends to the whole process group. */
	if (info->ssi_code == SI_KERNEL && getpgid(c->pid) == getpgrp())
		return;
	kill(c->pid, (int)info->ssi_signo);
}

/* True when the child has ended. */
static bool reap(struct child *c, struct child_end *end, int options)
{
	int status;
	pid_t pid;

	do {
		pid = wait4(c->pid, &status, options, &end->usage);
	} while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return false;
	if (pid < 0)
		end->exit_code = 126; /* cannot happen: it is our child and nobody else waits */
	else
		end->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	c->pid = -1;
	return true;
}

void child_wait(struct child *c, struct child_end *end)
{
	struct pollfd fd = { .fd = c->signal_fd, .events = POLLIN };
	struct signalfd_siginfo info;

	memset(end, 0, sizeof(*end));
	/* Signals are read before the child is looked for: none is left over when it has ended. */
	for (;;) {
		while (read(c->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
			if (info.ssi_signo != SIGCHLD)
				forward(c, &info);
		if (reap(c, end, WNOHANG))
			return;
		poll(&fd, 1, -1);
	}
}

void child_close(struct child *c)
{
	struct signalfd_siginfo info;
	struct child_end end;

	if (c->go_fd >= 0)
		close(c->go_fd);
	if (c->pid > 0)
		reap(c, &end, 0);
	/* A signal meant for the command must not strike us now. */
	while (read(c->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		continue;
	close(c->error_fd);
	close(c->signal_fd);
	release_signals(c);
}

int child_exec_exit_code(int code)
{
	return code == ENOENT || code == ENOTDIR ? 127 : 126;
}
