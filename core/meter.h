/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A meter: opened backends plus, per channel, the corrected cumulative
 * count since the meter was opened. Turns raw readings into monotone
 * counts with flags (delta.h); knows the scope of the total (scope.h); has
 * sources that went away looked for again. One thread at a time.
 */
#ifndef ERGON_METER_H
#define ERGON_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "error.h"

#define ERGON_METER_MAX_CHANNELS 128
/* Backends read together. */
#define ERGON_METER_MAX_PARTS 8

struct ergon_meter;

/* One reading; arrays have room for every channel of the meter. */
struct ergon_reading {
	uint64_t t_ns;            /* monotonic, middle of the read */
	uint64_t read_ns;         /* how long the read took */
	unsigned flags;           /* union over channels since the last reading */
	uint64_t counts[ERGON_METER_MAX_CHANNELS]; /* cumulative, corrected */
};

/*
 * Open mechanisms: the first usable item of a comma list. An item is a
 * backend's name; several joined by '+' ("cray+nvml") that must all open;
 * or "auto" (also NULL), every automatic backend that opens, one of each
 * group, followed by "model" when nothing does and allow_model is true.
 * What an earlier part measures is dropped from a later one; of the
 * automatic ones a backend that has more channels than there is room for is
 * left out whole, and told among the dropped. On failure
 * NULL and err tells for each mechanism tried why not and what to do.
 * The first reading is taken here: counts start at 0.
 */
struct ergon_meter *ergon_meter_open(const struct ergon_machine *m, const char *mechanisms,
				     bool allow_model, struct ergon_error *err);

/* One opened backend. */
struct ergon_meter_part {
	const struct ergon_backend *backend;
	void *inst;
};

/* Own n given instances (tests, scripted readings). On failure they stay the caller's. */
struct ergon_meter *ergon_meter_new(const struct ergon_meter_part *parts, size_t n,
				    struct ergon_error *err);
void ergon_meter_close(struct ergon_meter *meter);

/* "perf", "perf+nvml". */
const char *ergon_meter_mechanism(const struct ergon_meter *meter);
/* Some part estimates; every reading carries ERGON_FLAG_ESTIMATED. */
bool ergon_meter_estimated(const struct ergon_meter *meter);
size_t ergon_meter_channels(const struct ergon_meter *meter, const struct ergon_channel **out);
/* What parts left out, and duplicates between parts. */
size_t ergon_meter_dropped(const struct ergon_meter *meter, const struct ergon_dropped **out);

/* "cpu+dram", "cpu", "node", "estimate", ...: what the total covers. */
const char *ergon_meter_scope(const struct ergon_meter *meter);

/*
 * The same for a total of selected channels only (NULL: all; else one bool
 * per channel): "" when none of them is in the total. Returns buf, cut to size.
 */
char *ergon_meter_scope_of(const struct ergon_meter *meter, const bool *selected,
			   char *buf, size_t size);

/*
 * Read once. Never fails as a whole: a channel that cannot be read keeps
 * its count and sets ERGON_FLAG_GAP; its energy is caught up by the next
 * good reading. No allocation, no log, except for a rescan (backend.h): one
 * is tried when a channel has failed (or was stale) for a second, again after
 * 2, 4 ... 32 s.
 * After a rescan a lower value is a reset, not a wrap.
 *
 * A package, node, module, soc or cpu that reads the same for 10 s sets
 * ERGON_FLAG_STALE until it moves.
 *
 * The first reading after a suspend of the machine sets ERGON_FLAG_GAP, and
 * the interval that ends with it has no energy: t_ns did not run in the
 * suspend, and the counters may have started anew or may not.
 * A channel that counts from its opening (channel.h) is given 3 s for its
 * first answer and loses nothing meanwhile; then it is a gap, too.
 */
void ergon_meter_read(struct ergon_meter *meter, struct ergon_reading *out);

/* Channel i has been read at least once: its count is a measurement, 0 or not. Any thread. */
bool ergon_meter_answered(const struct ergon_meter *meter, size_t i);

/*
 * Read until every channel has been read once, at most ms (may be 0) milliseconds:
 * sources on threads of their own (slow.h) begin after they were opened.
 * For tools that can wait. False when some channel has not answered.
 */
bool ergon_meter_settle(struct ergon_meter *meter, unsigned ms);

/* Sum of the channels that are in the total, in microjoules. */
uint64_t ergon_meter_total_uj(const struct ergon_meter *meter, const uint64_t *counts);

/*
 * The longest time between two reads that loses nothing (ns): half a wrap
 * at the guard power of the fastest-wrapping channel, at most 30 s.
 */
uint64_t ergon_meter_keepalive_ns(const struct ergon_meter *meter);

#endif
