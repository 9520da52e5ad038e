/* SPDX-License-Identifier: BSD-3-Clause */
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREAD_STACK (256u * 1024u)
#define LIBRARY_STACK (8u * 1024u * 1024u)
#define SLICE_NS 100000u

/* The kernel's struct sched_attr, first version; new C libraries have it, old ones not. */
struct slice_attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns;
	uint64_t deadline_ns;
	uint64_t period_ns;
};

static int create(pthread_t *thread, size_t stack, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	rc = pthread_attr_init(&attr);
	if (rc)
		return rc;
	pthread_attr_setstacksize(&attr, stack);
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

int ergon_thread_create(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	return create(thread, THREAD_STACK, fn, arg);
}

int ergon_thread_create_for_library(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	return create(thread, LIBRARY_STACK, fn, arg);
}

void ergon_thread_ask_short_slices(void)
{
	struct slice_attr attr = { .size = sizeof(attr) };

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 || attr.policy != 0)
		return; /* not SCHED_OTHER: somebody has chosen for us */
	attr.flags = 0;
	attr.runtime_ns = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attr, 0);
}
