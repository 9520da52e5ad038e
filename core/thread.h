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

/*
 * The same with the stack of 8 MiB that other people's libraries count on;
 * what they do not touch takes no memory.
 */
int ergon_thread_create_for_library(pthread_t *thread, void *(*fn)(void *), void *arg);

/*
 * Ask the scheduler to run the calling thread soon and briefly: the same
 * share of the CPU in slices of 0.1 ms. Linux 6.12 and later; elsewhere,
 * or when refused, nothing changes.
 */
void ergon_thread_ask_short_slices(void);

#endif
