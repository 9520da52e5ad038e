/* SPDX-License-Identifier: BSD-3-Clause */
#include "meter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "delta.h"
#include "flags.h"
#include "scope.h"

#define KEEPALIVE_MAX_NS 30000000000u
#define RESCAN_FIRST_NS 1000000000u
#define RESCAN_MAX_NS 32000000000u
#define SETTLE_STEP_NS 5000000
/* So long a channel that counts from its opening may take for its first answer. */
#define START_NS 3000000000u
#define STALE_NS 10000000000u
/* Readings of all parts, those of dropped duplicates included. */
#define MAX_RAW (2 * ERGON_METER_MAX_CHANNELS)

/*
 * Domains that always draw so much that their counter, of one joule at
 * most, moves within STALE_NS. Idle cores, graphics and memory may not, and
 * psys covers what its board says.
 */
#define NEVER_IDLE (1u << ERGON_DOMAIN_PACKAGE | 1u << ERGON_DOMAIN_NODE | \
		    1u << ERGON_DOMAIN_MODULE | 1u << ERGON_DOMAIN_SOC | 1u << ERGON_DOMAIN_CPU)

struct part {
	struct ergon_meter_part opened;
	size_t first, n;          /* its readings in raw[] and ok[] */
	uint64_t failing_ns;      /* since when a channel cannot be read; 0: all can */
	uint64_t rescan_ns;       /* how long to wait for the next rescan */
	size_t well;              /* sources that answer and, where they must, move */
};

struct track {
	size_t source;            /* position in raw[] and ok[] */
	uint64_t raw;             /* last good reading */
	uint64_t t_ns;            /* when */
	uint64_t counts;          /* corrected, since the meter was opened */
	uint64_t moved_ns;        /* since when raw is what it is; 0: cannot be read */
	bool based;               /* raw holds a reading, or the 0 of the opening */
	atomic_bool answered;     /* there has been a reading */
	bool sought;              /* failed, and was looked for: may be another counter now */
};

struct ergon_meter {
	struct part parts[ERGON_METER_MAX_PARTS];
	size_t nparts;
	struct ergon_channel channels[ERGON_METER_MAX_CHANNELS];
	size_t nchannels;
	struct ergon_drops drops;
	bool estimated;
	char mechanism[64];
	char scope[64];
	int64_t asleep_ns;        /* ergon_clock_asleep_ns() when it last woke up */
	struct track tracks[ERGON_METER_MAX_CHANNELS];
	uint64_t opened_ns;
	uint64_t raw[MAX_RAW];
	bool ok[MAX_RAW];
};

char *ergon_meter_scope_of(const struct ergon_meter *meter, const bool *selected,
			   char *buf, size_t size)
{
	ergon_scope_words(meter->channels, meter->nchannels, selected, buf, size);
	if (*buf && meter->estimated)
		snprintf(buf, size, "estimate");
	return buf;
}

/* A channel of an earlier part that measures the same; NULL. */
static struct ergon_channel *twin(struct ergon_meter *meter, size_t before,
				  const struct ergon_channel *ch)
{
	for (size_t i = 0; i < before; i++)
		if (ergon_scope_same(&meter->channels[i], ch))
			return &meter->channels[i];
	return NULL;
}

static bool has_name(const struct ergon_meter *meter, const char *name)
{
	for (size_t i = 0; i < meter->nchannels; i++)
		if (strcmp(meter->channels[i].name, name) == 0)
			return true;
	return false;
}

/* Two libraries may both have a gpu0: the later one gets the next free number. */
static void make_name_unique(const struct ergon_meter *meter, struct ergon_channel *ch)
{
	size_t len = strcspn(ch->name, "0123456789");
	char stem[16];

	snprintf(stem, sizeof(stem), "%.*s", (int)(len < 15 ? len : 15), ch->name);
	for (unsigned n = 0; has_name(meter, ch->name); n++)
		snprintf(ch->name, sizeof(ch->name), "%s%u", stem, n);
}

/* In the place of `same`, or as a new one. */
static void add_channel(struct ergon_meter *meter, size_t source, const struct ergon_channel *ch,
			struct ergon_channel *same)
{
	struct ergon_channel copy = *ch;
	size_t at = same ? (size_t)(same - meter->channels) : meter->nchannels;

	if (same)
		memcpy(copy.name, same->name, sizeof(copy.name));
	else
		make_name_unique(meter, &copy);
	ergon_make_printable(copy.id);
	ergon_make_printable(copy.detail);
	meter->channels[at] = copy;
	meter->tracks[at].source = source;
	meter->nchannels += !same;
}

/* Of two that measure the same the first is kept, but a counter is better than integrated power. */
static void add_channels(struct ergon_meter *meter, size_t first,
			 const struct ergon_channel *channels, size_t n)
{
	size_t before = meter->nchannels;

	for (size_t i = 0; i < n; i++) {
		const struct ergon_channel *ch = &channels[i];
		struct ergon_channel *same = twin(meter, before, ch);

		if (same && same->integrated && !ch->integrated) {
			ergon_drop(&meter->drops, same->detail, "tells only power; %s counts energy",
				   ch->source);
			add_channel(meter, first + i, ch, same);
		} else if (same) {
			ergon_drop(&meter->drops, ch->detail, "%s tells %s already",
				   same->source, same->name);
		} else if (meter->nchannels == ERGON_METER_MAX_CHANNELS) {
			ergon_drop(&meter->drops, ch->detail, "more than %d channels",
				   ERGON_METER_MAX_CHANNELS);
		} else {
			add_channel(meter, first + i, ch, NULL);
		}
	}
}

static bool reads(const struct part *part, const struct track *track)
{
	return track->source - part->first < part->n;
}

/* Some channel is read from this part: not all it has is told by others. */
static bool uses(const struct ergon_meter *meter, const struct part *part)
{
	for (size_t i = 0; i < meter->nchannels; i++)
		if (reads(part, &meter->tracks[i]))
			return true;
	return false;
}

static int add_part(struct ergon_meter *meter, const struct ergon_meter_part *opened,
		    struct ergon_error *err)
{
	const struct ergon_backend *backend = opened->backend;
	struct part *part = &meter->parts[meter->nparts];
	const struct ergon_channel *channels;
	const struct ergon_dropped *dropped = NULL;
	size_t used = 0, ndropped;

	if (meter->nparts > 0)
		used = part[-1].first + part[-1].n;
	*part = (struct part){ .opened = *opened, .first = used, .rescan_ns = RESCAN_FIRST_NS };
	part->n = backend->channels(opened->inst, &channels);
	if (part->n == 0 || part->n > ERGON_METER_MAX_CHANNELS || used + part->n > MAX_RAW)
		return ergon_error_set(err, "%s: %zu channels; from 1 to %d can be metered",
				       backend->name, part->n, ERGON_METER_MAX_CHANNELS);
	meter->nparts++;
	ndropped = backend->dropped ? backend->dropped(opened->inst, &dropped) : 0;
	for (size_t i = 0; i < ndropped; i++)
		ergon_drop(&meter->drops, dropped[i].what, "%s", dropped[i].why);
	add_channels(meter, used, channels, part->n);
	return 0;
}

static void name_parts(struct ergon_meter *meter)
{
	for (size_t i = 0; i < meter->nparts; i++) {
		const struct ergon_backend *backend = meter->parts[i].opened.backend;
		size_t len = strlen(meter->mechanism);

		if (!uses(meter, &meter->parts[i]))
			continue;
		snprintf(meter->mechanism + len, sizeof(meter->mechanism) - len, "%s%s",
			 len ? "+" : "", backend->name);
		meter->estimated |= backend->estimated;
	}
}

static void begin_at_open(struct ergon_meter *meter)
{
	meter->opened_ns = ergon_clock_ns();
	for (size_t i = 0; i < meter->nchannels; i++) {
		meter->tracks[i].based = meter->channels[i].from_open;
		meter->tracks[i].t_ns = meter->opened_ns;
	}
}

struct ergon_meter *ergon_meter_new(const struct ergon_meter_part *parts, size_t n,
				    struct ergon_error *err)
{
	struct ergon_meter *meter = calloc(1, sizeof(*meter));
	struct ergon_reading first;

	if (!meter) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		if (add_part(meter, &parts[i], err) < 0) {
			ergon_drops_free(&meter->drops);
			free(meter);
			return NULL;
		}
	}
	name_parts(meter);
	ergon_scope_choose(meter->channels, meter->nchannels);
	ergon_meter_scope_of(meter, NULL, meter->scope, sizeof(meter->scope));
	meter->asleep_ns = ergon_clock_asleep_ns();
	begin_at_open(meter);
	ergon_meter_read(meter, &first);
	return meter;
}

static void close_parts(const struct ergon_meter_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		parts[i].backend->close(parts[i].inst);
}

void ergon_meter_close(struct ergon_meter *meter)
{
	int saved = errno;

	if (!meter)
		return;
	for (size_t i = 0; i < meter->nparts; i++)
		close_parts(&meter->parts[i].opened, 1);
	ergon_drops_free(&meter->drops);
	free(meter);
	errno = saved;
}

/* Opening */

struct opening {
	const struct ergon_machine *m;
	struct ergon_meter_part parts[ERGON_METER_MAX_PARTS];
	size_t n;
	size_t nchannels;         /* of all parts */
	struct ergon_drops drops; /* mechanisms that were left out */
	struct ergon_error all;   /* what each mechanism said */
};

/* Append what one mechanism said; the list is cut, never overrun. */
static void collect(struct opening *o, const struct ergon_error *one)
{
	struct ergon_error before = o->all;

	ergon_error_set(&o->all, "%s%s%s", before.text, *before.text ? "; " : "", one->text);
}

/* A part of a mechanism would be a wrong total: it is taken whole, or not at all. */
static bool fits(struct opening *o, const struct ergon_backend *backend, const void *inst,
		 struct ergon_error *err)
{
	const struct ergon_channel *channels;
	size_t n = backend->channels(inst, &channels);

	if (o->nchannels + n <= ERGON_METER_MAX_CHANNELS) {
		o->nchannels += n;
		return true;
	}
	ergon_drop(&o->drops, backend->name, "its %zu channels do not fit into a meter of %d", n,
		   ERGON_METER_MAX_CHANNELS);
	ergon_error_set(err, "%s: its %zu channels do not fit into a meter of %d", backend->name, n,
			ERGON_METER_MAX_CHANNELS);
	return false;
}

static bool try_open(struct opening *o, const struct ergon_backend *backend,
		     struct ergon_error *err)
{
	void *inst;

	if (o->n == ERGON_METER_MAX_PARTS) {
		ergon_error_set(err, "%s: more than %d mechanisms", backend->name,
				ERGON_METER_MAX_PARTS);
		return false;
	}
	inst = backend->open(o->m, err);
	if (inst && !fits(o, backend, inst, err)) {
		backend->close(inst);
		inst = NULL;
	}
	if (inst)
		o->parts[o->n++] = (struct ergon_meter_part){ backend, inst };
	return inst != NULL;
}

/* Nothing is open any more; what was said stays. */
static void start_over(struct opening *o)
{
	close_parts(o->parts, o->n);
	ergon_drops_free(&o->drops);
	o->n = 0;
	o->nchannels = 0;
}

static bool has_group(const struct opening *o, const char *group)
{
	for (size_t i = 0; group && i < o->n; i++)
		if (o->parts[i].backend->group && strcmp(o->parts[i].backend->group, group) == 0)
			return true;
	return false;
}

/* Why none opened. That there is no GPU or node meter is not worth a word. */
static void explain_automatic(struct opening *o)
{
	for (size_t i = 0; ergon_backends[i]; i++) {
		const struct ergon_backend *backend = ergon_backends[i];
		struct ergon_probe probe;
		struct ergon_error one;

		if (!backend->automatic)
			continue;
		backend->probe(o->m, &probe);
		if (!backend->group && probe.state == ERGON_PROBE_ABSENT)
			continue;
		ergon_probe_error(backend->name, &probe, &one);
		collect(o, &one);
	}
}

static bool open_automatic(struct opening *o, bool allow_model)
{
	struct ergon_error one;

	for (size_t i = 0; ergon_backends[i]; i++)
		if (ergon_backends[i]->automatic && !has_group(o, ergon_backends[i]->group))
			try_open(o, ergon_backends[i], &one);
	if (o->n > 0)
		return true;
	explain_automatic(o);
	if (allow_model && try_open(o, ergon_backend_by_name("model"), &one))
		return true;
	if (allow_model)
		collect(o, &one);
	return false;
}

/* One item of the comma list: all of its words, or none. */
static bool open_item(struct opening *o, const char *item, bool allow_model)
{
	char copy[128], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", item);
	while ((word = strsep(&rest, "+"))) {
		const struct ergon_backend *backend = ergon_backend_by_name(word);
		struct ergon_error one;
		bool opened;

		if (strcmp(word, "auto") == 0) {
			opened = open_automatic(o, allow_model);
		} else if (backend) {
			opened = try_open(o, backend, &one);
			if (!opened)
				collect(o, &one);
		} else {
			ergon_error_set(&one, "%s: no such mechanism", word);
			collect(o, &one);
			opened = false;
		}
		if (!opened) {
			start_over(o);
			return false;
		}
	}
	return true;
}

struct ergon_meter *ergon_meter_open(const struct ergon_machine *m, const char *mechanisms,
				     bool allow_model, struct ergon_error *err)
{
	const char *p = mechanisms && *mechanisms ? mechanisms : "auto";
	struct opening o = { .m = m };
	struct ergon_meter *meter = NULL;

	while (!meter && *p) {
		size_t len = strcspn(p, ",");
		struct ergon_error one;
		char item[128];

		snprintf(item, sizeof(item), "%.*s", (int)len, p);
		p += len + (p[len] == ',');
		if (!open_item(&o, item, allow_model))
			continue;
		meter = ergon_meter_new(o.parts, o.n, &one);
		if (!meter) {
			collect(&o, &one);
			start_over(&o);
		}
	}
	for (size_t i = 0; meter && i < o.drops.n; i++)
		ergon_drop(&meter->drops, o.drops.items[i].what, "%s", o.drops.items[i].why);
	ergon_drops_free(&o.drops);
	if (!meter)
		ergon_error_set(err, "%s", *o.all.text ? o.all.text : "no mechanism named");
	return meter;
}

const char *ergon_meter_mechanism(const struct ergon_meter *meter)
{
	return meter->mechanism;
}

bool ergon_meter_estimated(const struct ergon_meter *meter)
{
	return meter->estimated;
}

size_t ergon_meter_channels(const struct ergon_meter *meter, const struct ergon_channel **out)
{
	*out = meter->channels;
	return meter->nchannels;
}

size_t ergon_meter_dropped(const struct ergon_meter *meter, const struct ergon_dropped **out)
{
	*out = meter->drops.items;
	return meter->drops.n;
}

const char *ergon_meter_scope(const struct ergon_meter *meter)
{
	return meter->scope;
}

/* Reading */

/* True once after a suspend. */
static bool woke_up(struct ergon_meter *meter)
{
	if (ergon_clock_slept_ns(meter->asleep_ns) == 0)
		return false;
	meter->asleep_ns = ergon_clock_asleep_ns();
	return true;
}

/* Account a good reading of one channel; the flags it earns. */
static unsigned advance(struct track *track, const struct ergon_channel *ch,
			uint64_t raw, uint64_t t_ns)
{
	struct ergon_delta d = { 0, 0 };

	if (track->based && track->sought && raw < track->raw)
		d.flags = ERGON_FLAG_RESET; /* what wrapped while it was away, nobody knows */
	else if (track->based)
		d = ergon_delta(ch, track->raw, raw, t_ns - track->t_ns);
	if (track->moved_ns == 0 || raw != track->raw)
		track->moved_ns = t_ns;
	else if (t_ns - track->moved_ns >= STALE_NS && (NEVER_IDLE & 1u << ch->domain))
		d.flags |= ERGON_FLAG_STALE;
	track->raw = raw;
	track->t_ns = t_ns;
	track->based = true;
	atomic_store_explicit(&track->answered, true, memory_order_relaxed);
	track->sought = false;
	track->counts += d.counts;
	return d.flags;
}

/* The part that reads a channel. */
static struct part *part_of(struct ergon_meter *meter, const struct track *track)
{
	struct part *part = meter->parts;

	while (!reads(part, track))
		part++;
	return part;
}

/* Sources that do not answer, or stand still, are looked for again, ever more rarely. */
static void look_after(struct ergon_meter *meter, struct part *part, size_t well_before, uint64_t now)
{
	if (part->well == part->n) {
		part->failing_ns = 0;
		return;
	}
	if (part->failing_ns == 0)
		part->failing_ns = now;
	if (part->well != well_before)
		part->rescan_ns = RESCAN_FIRST_NS;
	if (!part->opened.backend->rescan || now - part->failing_ns < part->rescan_ns)
		return;
	part->opened.backend->rescan(part->opened.inst);
	part->failing_ns = now;
	if (part->rescan_ns < RESCAN_MAX_NS)
		part->rescan_ns *= 2;
	for (size_t i = 0; i < meter->nchannels; i++) {
		struct track *track = &meter->tracks[i];

		if (reads(part, track))
			track->sought |= !meter->ok[track->source];
	}
}

static bool is_starting(const struct ergon_meter *meter, size_t channel, uint64_t now)
{
	return meter->channels[channel].from_open && !ergon_meter_answered(meter, channel) &&
	       now - meter->opened_ns < START_NS;
}

/* What a channel makes of its part's reading; the flags it earns. */
static unsigned follow(struct ergon_meter *meter, size_t channel, uint64_t t_ns)
{
	struct track *track = &meter->tracks[channel];
	unsigned flags;

	if (!meter->ok[track->source]) {
		track->moved_ns = 0;
		return is_starting(meter, channel, t_ns) ? 0 : ERGON_FLAG_GAP;
	}
	flags = advance(track, &meter->channels[channel], meter->raw[track->source], t_ns);
	if (flags & ERGON_FLAG_STALE)
		part_of(meter, track)->well--;
	return flags;
}

void ergon_meter_read(struct ergon_meter *meter, struct ergon_reading *out)
{
	size_t well_before[ERGON_METER_MAX_PARTS];
	bool woken = woke_up(meter);
	uint64_t before, after;

	memset(meter->ok, 0, sizeof(meter->ok));
	before = ergon_clock_ns();
	out->flags = (meter->estimated ? ERGON_FLAG_ESTIMATED : 0) | (woken ? ERGON_FLAG_GAP : 0);
	for (size_t i = 0; i < meter->nparts; i++) {
		struct part *part = &meter->parts[i];
		const struct ergon_backend *backend = part->opened.backend;

		well_before[i] = part->well;
		part->well = backend->read(part->opened.inst, meter->raw + part->first,
					   meter->ok + part->first);
		if (backend->flags)
			out->flags |= backend->flags(part->opened.inst);
	}
	after = ergon_clock_ns();
	out->t_ns = before + (after - before) / 2;
	out->read_ns = after - before;
	for (size_t i = 0; i < meter->nchannels; i++) {
		if (woken)
			meter->tracks[i].based = false;
		out->flags |= follow(meter, i, out->t_ns);
		out->counts[i] = meter->tracks[i].counts;
	}
	for (size_t i = 0; i < meter->nparts; i++)
		look_after(meter, &meter->parts[i], well_before[i], after);
}

bool ergon_meter_answered(const struct ergon_meter *meter, size_t i)
{
	return atomic_load_explicit(&meter->tracks[i].answered, memory_order_relaxed);
}

static bool all_answered(const struct ergon_meter *meter)
{
	for (size_t i = 0; i < meter->nchannels; i++)
		if (!ergon_meter_answered(meter, i))
			return false;
	return true;
}

bool ergon_meter_settle(struct ergon_meter *meter, unsigned ms)
{
	const struct timespec nap = { .tv_nsec = SETTLE_STEP_NS };
	uint64_t end = ergon_clock_ns() + ms * UINT64_C(1000000);
	struct ergon_reading reading;

	while (!all_answered(meter) && ergon_clock_ns() < end) {
		nanosleep(&nap, NULL);
		ergon_meter_read(meter, &reading);
	}
	return all_answered(meter);
}

uint64_t ergon_meter_total_uj(const struct ergon_meter *meter, const uint64_t *counts)
{
	uint64_t total = 0;

	for (size_t i = 0; i < meter->nchannels; i++)
		if (meter->channels[i].in_total)
			total += ergon_counts_to_uj(counts[i], meter->channels[i].unit_j);
	return total;
}

uint64_t ergon_meter_keepalive_ns(const struct ergon_meter *meter)
{
	uint64_t shortest = KEEPALIVE_MAX_NS;

	for (size_t i = 0; i < meter->nchannels; i++) {
		const struct ergon_channel *ch = &meter->channels[i];
		uint64_t period = ch->repair ? ch->repair : ch->modulus;
		double ns;

		if (period == 0 || period == ERGON_MODULUS_UNKNOWN || ch->max_watts <= 0)
			continue;
		ns = (double)period / 2 * ch->unit_j / ch->max_watts * 1e9;
		if (ns < (double)shortest)
			shortest = (uint64_t)ns;
	}
	return shortest;
}
