/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sources that take milliseconds to answer (mailboxes, BMCs, GPU
 * libraries) are read on a thread of their own at their own rate; whoever
 * samples gets the newest values at once. Power readings become energy
 * here (integral.h): a fast reader sees power held as last read and
 * corrected by the next reading, never running backwards.
 */
#ifndef ERGON_SLOW_H
#define ERGON_SLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct ergon_slow;

enum ergon_slow_kind {
	ERGON_SLOW_COUNTER,       /* handed through as read */
	ERGON_SLOW_POWER,         /* microwatts of the moment -> microjoules */
	ERGON_SLOW_AVERAGE        /* microwatts, mean of the time since the last reading -> microjoules */
};

/*
 * Read all sources: raw[i] and ok[i] (preset to false) for source i.
 * t_ns[i] is preset to the monotonic time before the call; a source that
 * knows when its value was taken overwrites it, one that takes long and
 * does not know sets it to the time after its own reading.
 */
typedef void ergon_slow_read_f(void *arg, uint64_t *raw, bool *ok, uint64_t *t_ns);

struct ergon_slow_config {
	const char *thread_name;  /* at most 15 characters; copied */
	bool calls_library;       /* the thread gets the stack for other people's code (thread.h) */
	uint64_t period_ns;       /* between the starts of two readings */
	uint64_t first_ns;        /* the first period; each is twice the one before until
				   * period_ns is reached. 0: period_ns from the start */
	uint64_t hold_ns;         /* a value older than this is no value; power is held no longer */
	size_t n;                 /* sources */
	const enum ergon_slow_kind *kinds; /* n of them; copied */
	void (*begin)(void *arg); /* once, in the thread, before the first reading; may be NULL */
	ergon_slow_read_f *read;  /* in the thread */
	const atomic_bool *done;  /* set by begin or read: nothing more to read, the thread ends;
				   * may be NULL */
	void (*end)(void *arg);   /* once, in the thread, after the last reading; may hang as read may; may be NULL */
	void (*release)(void *arg); /* when the thread will not touch arg any more; may be NULL */
	void *arg;
};

/*
 * Starts the thread, all signals blocked. Power counts from here: until
 * the first reading it is taken to have been what that reading says.
 * On success arg belongs to the thread until release(arg) is called, from
 * whichever thread is last. NULL + err, arg stays the caller's.
 */
struct ergon_slow *ergon_slow_start(const struct ergon_slow_config *config,
				    struct ergon_error *err);

/*
 * The newest values as monotone counters; ok[i] false where there is none
 * yet or it is too old. Any thread; does not wait for a reading. Returns
 * the number of good values.
 */
size_t ergon_slow_latest(struct ergon_slow *slow, uint64_t *raw, bool *ok);

/* Age of the oldest good value (ns); 0 when there is none. Any thread. */
uint64_t ergon_slow_age_ns(struct ergon_slow *slow);

/*
 * Ends the thread. Waits at most 100 ms for a reading that hangs: the
 * thread then ends by itself and releases arg. NULL allowed; in a forked
 * child nothing is waited for or released. Keeps errno.
 */
void ergon_slow_stop(struct ergon_slow *slow);

#endif
