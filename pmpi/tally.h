/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tally: where a rank's time went. ergon_tally_pass() says "up to now
 * it was this row"; when the roster has moved, or every 10 ms of calls,
 * the slow half books energy and CPU time over the rows that had time.
 * One thread, but for ergon_tally_other().
 */
#ifndef ERGON_TALLY_H
#define ERGON_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "enter.h"
#include "ledgerfile.h"
#include "livedir.h"
#include "stamp.h"

#define ERGON_ROW_APP 0
#define ERGON_LONG_STRETCH_NS 100000
#define ERGON_TIE_NS 1000000
#define ERGON_OFF_CPU_NS 50000

struct ergon_tally {
	struct ergon_rank_head *head; /* of the ledger */
	struct ergon_row *rows;
	struct ergon_stamp stamp;
	const _Atomic uint64_t *entries; /* the roster's head, or one that never moves */
	uint64_t seen;            /* its value at the last roll */
	uint64_t due_ns;          /* roll at this time at the latest */
	uint64_t last_ns;         /* up to here time has been booked */
	uint64_t poll_ns;         /* end of the last poll that was stamped */
	uint32_t polls;           /* since then */
	bool dense;               /* in a stretch of polls close together */
	uint64_t cpu_tie_ns;      /* in a long stretch: a time, 0: none, ... */
	uint64_t cpu_tie_cpu_ns;  /* ... and the thread's CPU time then; */
	uint64_t cpu_due_ns;      /* when to look again */
	uint16_t row_of[ERGON_NCALLS]; /* 0: none yet */

	/* Calls of other threads, to be added to their rows. */
	_Atomic bool others_called;
	_Atomic uint32_t others[ERGON_NCALLS];

	/* The slow half's. */
	struct ergon_ledger ledger;
	struct ergon_live *live;  /* NULL: no energy */
	bool admitted;            /* the keeper counts us */
	uint64_t entry;           /* share entry up to which energy is booked */
	uint64_t start_ns, start_real_ns;
	double cpu_s;             /* booked so far */
	uint64_t cpu_ns;          /* up to this time */
	double pass_ns;           /* measured cost of two passes, a call's share of overhead */
	uint64_t slow_ns;         /* spent in the slow half */
};

/* Start the clocks; there is no ledger yet. */
void ergon_tally_start(struct ergon_tally *t);

/* Time begins to be booked, the time since start to row `first` (a call). live may be NULL. */
void ergon_tally_open(struct ergon_tally *t, const struct ergon_ledger *ledger,
		      struct ergon_live *live, unsigned first);

/* Leave the roster, book the rest, fill the ledger's head; nothing moves afterwards. */
void ergon_tally_end(struct ergon_tally *t);

void ergon_tally_roll(struct ergon_tally *t, uint32_t row, uint64_t now_ns);
uint32_t ergon_tally_new_row(struct ergon_tally *t, unsigned call);

/*
 * Did the gap since last_ns, in a stretch of polls, pass without the CPU?
 * Then the thread was preempted in the stretch and did not compute. A
 * system call, for gaps that are longer than many of them.
 */
bool ergon_tally_was_off_cpu(struct ergon_tally *t, uint64_t now_ns);
void ergon_tally_tie_cpu(struct ergon_tally *t, uint64_t now_ns);

static inline uint32_t ergon_tally_row(struct ergon_tally *t, unsigned call)
{
	uint32_t row = t->row_of[call];

	return __builtin_expect(row != 0, 1) ? row : ergon_tally_new_row(t, call);
}

static inline void ergon_tally_book(struct ergon_tally *t, uint32_t row, uint64_t now_ns)
{
	uint64_t ns = now_ns - t->last_ns;

	/* A clock that stepped back books nothing. */
	if (__builtin_expect((int64_t)ns <= 0, 0))
		return;
	t->rows[row].time_ns += ns;
	t->rows[row].open_ns += ns;
	t->last_ns = now_ns;
	atomic_store_explicit(&t->head->last_ns, now_ns, memory_order_relaxed);
}

static inline void ergon_tally_pass(struct ergon_tally *t, uint32_t row, uint64_t now_ns)
{
	if (__builtin_expect(now_ns >= t->due_ns ||
			     atomic_load_explicit(t->entries, memory_order_relaxed) != t->seen, 0))
		ergon_tally_roll(t, row, now_ns);
	ergon_tally_book(t, row, now_ns);
}

/* A poll ended at now_ns: it is part of a stretch, or not. */
static inline void ergon_tally_stretch(struct ergon_tally *t, bool dense, uint64_t now_ns)
{
	if (!t->dense) {
		/* Since the tie the thread may have slept: it is void. */
		if (now_ns - t->poll_ns >= ERGON_OFF_CPU_NS)
			t->cpu_tie_ns = 0;
		if (!t->cpu_tie_ns)
			t->cpu_due_ns = now_ns + ERGON_LONG_STRETCH_NS;
	} else if (now_ns >= t->cpu_due_ns) {
		ergon_tally_tie_cpu(t, now_ns);
	}
	t->dense = dense;
}

/* From any other thread. */
static inline void ergon_tally_other(struct ergon_tally *t, unsigned call)
{
	atomic_fetch_add_explicit(&t->others[call], 1, memory_order_relaxed);
	atomic_store_explicit(&t->others_called, true, memory_order_release);
}

static inline void ergon_tally_current(struct ergon_tally *t, uint32_t row)
{
	atomic_store_explicit(&t->head->current, row, memory_order_relaxed);
}

#endif
