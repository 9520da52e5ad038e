/* SPDX-License-Identifier: BSD-3-Clause */
#include "tally.h"

#include <string.h>
#include <time.h>

#include "attrib.h"
#include "flags.h"

#define ROLL_NS 10000000u
#define CALIBRATE 256
/* Being preempted and coming back costs CPU time too: 10 to 40 us were seen. */
#define SWITCH_NS 100000u

static const _Atomic uint64_t never_moves;

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static double process_cpu_s(void)
{
	return (double)cpu_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9;
}

void ergon_tally_tie_cpu(struct ergon_tally *t, uint64_t now_ns)
{
	t->cpu_tie_ns = now_ns;
	t->cpu_due_ns = now_ns + ERGON_TIE_NS;
	t->cpu_tie_cpu_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool ergon_tally_was_off_cpu(struct ergon_tally *t, uint64_t now_ns)
{
	uint64_t gap_ns = now_ns - t->last_ns;
	uint64_t tie_ns = t->cpu_tie_ns, tie_cpu_ns = t->cpu_tie_cpu_ns;
	uint64_t spun_ns = t->last_ns - tie_ns;
	uint64_t used_ns, switch_ns;

	if (gap_ns < ERGON_OFF_CPU_NS || !tie_ns)
		return false;
	ergon_tally_tie_cpu(t, now_ns);
	/* Before the gap it was spinning: all of that time was CPU time. */
	used_ns = t->cpu_tie_cpu_ns - tie_cpu_ns;
	switch_ns = gap_ns / 2 < SWITCH_NS ? gap_ns / 2 : SWITCH_NS;
	return used_ns < spun_ns + switch_ns;
}

/* What a call costs here: two passes on a tally that is thrown away. */
static double measure_pass_ns(const struct ergon_stamp *stamp)
{
	struct ergon_rank_head head = { .nrows = 1 };
	struct ergon_row row = { .flags = 0 };
	struct ergon_tally t = {
		.head = &head, .rows = &row, .stamp = *stamp,
		.entries = &never_moves, .due_ns = UINT64_MAX,
	};
	uint64_t begin_ns = ergon_clock_ns();

	t.last_ns = begin_ns;
	for (int i = 0; i < 2 * CALIBRATE; i++)
		ergon_tally_pass(&t, 0, ergon_stamp(&t.stamp));
	return (double)(ergon_clock_ns() - begin_ns) / CALIBRATE;
}

void ergon_tally_start(struct ergon_tally *t)
{
	memset((void *)t, 0, sizeof(*t));
	t->entries = &never_moves;
	t->start_real_ns = ergon_clock_real_ns();
	ergon_stamp_init(&t->stamp);
	t->start_ns = t->stamp.ns;
	t->last_ns = t->cpu_ns = t->start_ns;
	t->cpu_s = process_cpu_s();
}

uint32_t ergon_tally_new_row(struct ergon_tally *t, unsigned call)
{
	uint32_t row = ergon_ledger_add_row(&t->ledger, "main", ergon_calls[call].activity,
					    ergon_calls[call].name);

	t->row_of[call] = (uint16_t)row;
	return row;
}

static void add_others(struct ergon_tally *t)
{
	if (!atomic_exchange_explicit(&t->others_called, false, memory_order_acquire))
		return;
	for (unsigned call = 0; call < ERGON_NCALLS; call++) {
		uint32_t calls = atomic_exchange_explicit(&t->others[call], 0, memory_order_relaxed);

		if (calls)
			t->rows[ergon_tally_row(t, call)].calls += calls;
	}
}

void ergon_tally_open(struct ergon_tally *t, const struct ergon_ledger *ledger,
		      struct ergon_live *live, unsigned first)
{
	uint64_t now_ns = ergon_stamp_sync(&t->stamp);
	struct ergon_rank_head *head = ledger->head;

	t->ledger = *ledger;
	t->live = live;
	t->rows = ledger->rows;
	t->head = head;
	head->start_ns = t->start_ns;
	head->start_real_ns = t->start_real_ns;
	head->measured = 0;
	t->pass_ns = measure_pass_ns(&t->stamp);
	if (live)
		t->entries = &ergon_live_roster(live)->head;
	t->rows[ERGON_ROW_APP].calls = 1;
	/* The slow half looks at the roster at once. */
	t->due_ns = now_ns;
	t->rows[ergon_tally_row(t, first)].calls = 1;
	ergon_tally_pass(t, ergon_tally_row(t, first), now_ns);
}

/*
 * Close the open time of all rows with amount; CPU time up to last_ns is
 * added, by time, from what the process used up to now_ns.
 */
static void settle(struct ergon_tally *t, uint32_t row, struct ergon_amount *amount,
		   double cpu_now_s, uint64_t now_ns)
{
	uint64_t span_ns = now_ns - t->cpu_ns;

	if (span_ns && t->last_ns > t->cpu_ns)
		amount->cpu_s = (cpu_now_s - t->cpu_s) * (double)(t->last_ns - t->cpu_ns) /
				(double)span_ns;
	t->cpu_s += amount->cpu_s;
	t->cpu_ns = t->last_ns > t->cpu_ns ? t->last_ns : t->cpu_ns;
	ergon_attrib_split(t->rows, t->head->nrows, row, amount);
}

static uint64_t clamp(uint64_t value, uint64_t max)
{
	return value < max ? value : max;
}

/* Book what S has grown since the last entry, up to `share`, which has index entry. */
static void settle_entry(struct ergon_tally *t, uint32_t row, const struct ergon_share *share,
			 uint64_t entry, double cpu_now_s, uint64_t now_ns)
{
	struct ergon_rank_head *head = t->head;
	struct ergon_amount amount = { .intervals = entry - t->entry };

	for (uint64_t e = t->entry + 1; e <= entry; e++)
		amount.flags |= ergon_share_flags(ergon_live_roster(t->live), e);
	ergon_tally_book(t, row, clamp(share->t_ns, now_ns));
	for (uint32_t c = 0; c < head->nchannels; c++) {
		if (head->column[c] >= 0)
			amount.joules[head->column[c]] += head->weight[c] *
							  (share->s[c] - head->last_s[c]);
		head->last_s[c] = share->s[c];
	}
	/* Killed here, an interval is lost; the other way round it would count twice. */
	t->entry = entry;
	atomic_store_explicit(&head->last_entry, entry, memory_order_release);
	head->samples += amount.intervals;
	settle(t, row, &amount, cpu_now_s, now_ns);
}

/*
 * Book the energy up to entry `upto`. The first interval is booked apart:
 * what had time since the last roll had it in there, all later ones belong
 * to `row`. Where the ring no longer has it they are booked as one.
 */
static void share_out(struct ergon_tally *t, uint32_t row, uint64_t upto, uint64_t now_ns)
{
	const struct ergon_roster *roster = ergon_live_roster(t->live);
	struct ergon_share share;
	double cpu_now_s;

	if (upto <= t->entry)
		return;
	cpu_now_s = process_cpu_s();
	if (upto > t->entry + 1 && ergon_share_read(roster, t->entry + 1, &share) == 0)
		settle_entry(t, row, &share, t->entry + 1, cpu_now_s, now_ns);
	if (ergon_share_read(roster, upto, &share) == 0) {
		settle_entry(t, row, &share, upto, cpu_now_s, now_ns);
		t->head->missed = share.missed;
	}
}

/* What had time before the keeper counted us gets its CPU time and no energy. */
static void settle_unmeasured(struct ergon_tally *t, uint32_t row, uint64_t until_ns,
			      uint64_t now_ns)
{
	uint64_t last_ns = t->last_ns;
	struct ergon_amount amount = { .intervals = t->admitted ? 0 : 1 };

	ergon_tally_book(t, row, clamp(until_ns, now_ns));
	/* Without samples 10 ms are an interval; a long call spans many. */
	if (!t->admitted)
		t->rows[row].intervals += (t->last_ns - last_ns) / ROLL_NS;
	settle(t, row, &amount, process_cpu_s(), now_ns);
}

static void set_board_facts(struct ergon_rank_head *head, const struct ergon_board_info *info)
{
	memcpy(head->mechanism, info->mechanism, sizeof(head->mechanism));
	memcpy(head->scope, info->scope, sizeof(head->scope));
	head->hz = info->hz;
	head->nchannels = info->nchannels;
	if (info->estimated)
		head->flags |= ERGON_FLAG_ESTIMATED;
	if (info->node_share < 1)
		head->flags |= ERGON_FLAG_SHARED;
}

static void mark_late(struct ergon_tally *t, uint64_t from_ns)
{
	uint64_t period_ns = t->head->hz > 0 ? (uint64_t)(1e9 / t->head->hz) : 0;

	if (from_ns <= t->start_ns + 2 * period_ns + ROLL_NS)
		return;
	for (uint32_t i = 0; i < t->head->nrows; i++)
		if (t->rows[i].time_ns)
			t->rows[i].flags |= ERGON_FLAG_LATE;
}

/* Has the keeper begun to count us? */
static void try_admission(struct ergon_tally *t, uint32_t row, uint64_t now_ns)
{
	const struct ergon_roster *roster = ergon_live_roster(t->live);
	const struct ergon_slot *slot = ergon_live_slot(t->live);
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	struct ergon_rank_head *head = t->head;

	if (state == ERGON_SLOT_FREE || state == ERGON_SLOT_JOINING || slot->from_ns == 0)
		return;
	set_board_facts(head, &roster->info);
	for (uint32_t c = 0; c < head->nchannels; c++) {
		const struct ergon_board_channel *channel = &roster->info.channels[c];

		head->column[c] = ergon_column_of(channel);
		head->weight[c] = ergon_attrib_weight(&slot->weights, channel);
		head->last_s[c] = slot->from_s[c];
		if (head->column[c] >= 0)
			head->measured |= 1u << head->column[c];
	}
	settle_unmeasured(t, row, slot->from_ns, now_ns);
	mark_late(t, slot->from_ns);
	t->entry = slot->from;
	atomic_store(&head->last_entry, slot->from);
	head->slot = (int32_t)ergon_live_slot_index(t->live);
	ergon_live_confirm(t->live);
	t->admitted = true;
}

/* The newest entry; if the keeper took us for dead (our locks are gone), the last with us. */
static uint64_t counted_up_to(const struct ergon_tally *t)
{
	const struct ergon_slot *slot = ergon_live_slot(t->live);

	return atomic_load_explicit(&slot->state, memory_order_acquire) == ERGON_SLOT_DEAD ?
	       atomic_load(&slot->upto) : t->seen - 1;
}

void ergon_tally_roll(struct ergon_tally *t, uint32_t row, uint64_t now_ns)
{
	uint64_t begin_ns = ergon_stamp_sync(&t->stamp);

	if (t->live) {
		ergon_live_tend(t->live, begin_ns);
		t->seen = atomic_load_explicit(t->entries, memory_order_acquire);
		if (!t->admitted)
			try_admission(t, row, now_ns);
		if (t->admitted)
			share_out(t, row, counted_up_to(t), now_ns);
	}
	if (!t->admitted)
		settle_unmeasured(t, row, now_ns, now_ns);
	add_others(t);
	t->due_ns = begin_ns + ROLL_NS;
	t->slow_ns += ergon_clock_ns() - begin_ns;
}

void ergon_tally_end(struct ergon_tally *t)
{
	struct ergon_rank_head *head = t->head;
	uint32_t row = head->current;
	uint64_t now_ns = ergon_clock_ns();
	uint64_t calls = 0;

	if (t->live) {
		const struct ergon_roster *roster = ergon_live_roster(t->live);
		uint64_t upto = ergon_live_leave(t->live);

		if (!t->admitted)
			try_admission(t, row, now_ns);
		if (t->admitted)
			share_out(t, row, upto, now_ns);
		else if (atomic_load(&roster->ready) && roster->info.nchannels == 0)
			memcpy(head->reason, roster->info.reason, sizeof(head->reason));
	}
	settle_unmeasured(t, row, now_ns, now_ns);
	add_others(t);
	head->end_ns = t->last_ns;
	for (uint32_t i = 0; i < head->nrows; i++)
		calls += t->rows[i].calls;
	head->overhead_s = ((double)calls * t->pass_ns + (double)t->slow_ns) * 1e-9;
}
