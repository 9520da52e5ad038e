/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of a guest: small, named, and never the target of a signal. */
#ifndef ERGON_THREAD_H
#define ERGON_THREAD_H

#include <pthread.h>

/*
 * Start fn(arg) with a stack of 256 KiB and every signal blocked from its
 * first instruction. The caller's mask is as before. 0 or an errno value.
 */
int ergon_thread_create(pthread_t *thread, void *(*fn)(void *), void *arg);

#endif
