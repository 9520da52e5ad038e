/* SPDX-License-Identifier: BSD-3-Clause */
#include "say.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * write(2) without the signals that it can send to the writer, SIGPIPE and
 * SIGXFSZ: they are blocked meanwhile, and what this write raised is taken
 * back unless one was pending before.
 */
static void write_quietly(const char *line, size_t len)
{
	static const struct timespec now = { 0, 0 };
	sigset_t risky, pending, old;
	ssize_t n;
	int sig;

	sigemptyset(&risky);
	sigaddset(&risky, SIGPIPE);
	sigaddset(&risky, SIGXFSZ);
	sigpending(&pending);
	if (pthread_sigmask(SIG_BLOCK, &risky, &old) != 0)
		return;
	n = write(STDERR_FILENO, line, len);
	if (n < 0 && (errno == EPIPE || errno == EFBIG)) {
		sig = errno == EPIPE ? SIGPIPE : SIGXFSZ;
		sigemptyset(&risky);
		sigaddset(&risky, sig);
		if (!sigismember(&pending, sig))
			sigtimedwait(&risky, NULL, &now);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void ergon_say(const char *fmt, ...)
{
	static const char prefix[] = "ergon: ";
	char line[1024] = "ergon: ";
	int saved = errno;
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + sizeof(prefix) - 1, sizeof(line) - sizeof(prefix), fmt, ap);
	va_end(ap);
	len = strlen(line);
	line[len++] = '\n';
	write_quietly(line, len);
	errno = saved;
}
