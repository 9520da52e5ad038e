/* SPDX-License-Identifier: BSD-3-Clause */
#include "thread.h"

#include <errno.h>
#include <signal.h>

#define THREAD_STACK (256u * 1024u)

int ergon_thread_create(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	rc = pthread_attr_init(&attr);
	if (rc)
		return rc;
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	/* A new thread inherits the mask: there is no moment without it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(thread, &attr, fn, arg);
	/* A host with much thread-local storage needs more than our little stack. */
	if (rc == EINVAL)
		rc = pthread_create(thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}
