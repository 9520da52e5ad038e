/* SPDX-License-Identifier: BSD-3-Clause */
#include "meter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "delta.h"
#include "flags.h"

#define KEEPALIVE_MAX_NS 30000000000u

/* What a channel of a domain adds to the words that describe a total. */
static const struct {
	enum ergon_domain domain;
	const char *word;
} scope_words[] = {
	{ ERGON_DOMAIN_NODE, "node" },
	{ ERGON_DOMAIN_PLATFORM, "platform" },
	{ ERGON_DOMAIN_MODULE, "module" },
	{ ERGON_DOMAIN_SOC, "soc" },
	{ ERGON_DOMAIN_PACKAGE, "cpu" },
	{ ERGON_DOMAIN_CPU, "cpu" },
	{ ERGON_DOMAIN_DRAM, "dram" },
	{ ERGON_DOMAIN_GPU, "gpu" },
	{ ERGON_DOMAIN_IO, "io" },
	{ ERGON_DOMAIN_CORE, "core" },
	{ ERGON_DOMAIN_UNCORE, "uncore" },
};

struct track {
	uint64_t raw;             /* last good reading */
	uint64_t t_ns;            /* when */
	uint64_t counts;          /* corrected, since the meter was opened */
	bool based;               /* raw holds a reading */
};

struct ergon_meter {
	const struct ergon_backend *backend;
	void *inst;
	const struct ergon_channel *channels;
	size_t nchannels;
	char scope[64];
	struct track tracks[ERGON_METER_MAX_CHANNELS];
	uint64_t raw[ERGON_METER_MAX_CHANNELS];
	bool ok[ERGON_METER_MAX_CHANNELS];
};

/* True when a channel of the total has this word. */
static bool covers(const struct ergon_meter *meter, const bool *selected, const char *word)
{
	for (size_t i = 0; i < meter->nchannels; i++)
		for (size_t w = 0; w < sizeof(scope_words) / sizeof(scope_words[0]); w++)
			if (meter->channels[i].in_total && (!selected || selected[i]) &&
			    meter->channels[i].domain == scope_words[w].domain &&
			    strcmp(scope_words[w].word, word) == 0)
				return true;
	return false;
}

char *ergon_meter_scope_of(const struct ergon_meter *meter, const bool *selected,
			   char *buf, size_t size)
{
	const char *last = "";

	buf[0] = '\0';
	for (size_t w = 0; w < sizeof(scope_words) / sizeof(scope_words[0]); w++) {
		const char *word = scope_words[w].word;
		size_t used = strlen(buf);

		/* Domains of one word stand side by side in the table. */
		if (strcmp(word, last) == 0 || !covers(meter, selected, word))
			continue;
		if (meter->backend->estimated)
			word = "estimate";
		snprintf(buf + used, size - used, "%s%s", used ? "+" : "", word);
		if (meter->backend->estimated)
			break;
		last = word;
	}
	return buf;
}

struct ergon_meter *ergon_meter_new(const struct ergon_backend *backend, void *inst,
				    struct ergon_error *err)
{
	struct ergon_meter *meter = calloc(1, sizeof(*meter));
	struct ergon_reading first;

	if (!meter) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	meter->backend = backend;
	meter->inst = inst;
	meter->nchannels = backend->channels(inst, &meter->channels);
	if (meter->nchannels == 0 || meter->nchannels > ERGON_METER_MAX_CHANNELS) {
		ergon_error_set(err, "%s: %zu channels; from 1 to %d can be metered",
				backend->name, meter->nchannels, ERGON_METER_MAX_CHANNELS);
		free(meter);
		return NULL;
	}
	ergon_meter_scope_of(meter, NULL, meter->scope, sizeof(meter->scope));
	ergon_meter_read(meter, &first);
	return meter;
}

void ergon_meter_close(struct ergon_meter *meter)
{
	int saved = errno;

	if (!meter)
		return;
	meter->backend->close(meter->inst);
	free(meter);
	errno = saved;
}

/* Append what one mechanism said; the list is cut, never overrun. */
static void collect(struct ergon_error *all, const struct ergon_error *one)
{
	struct ergon_error before = *all;

	ergon_error_set(all, "%s%s%s", before.text, *before.text ? "; " : "", one->text);
}

static struct ergon_meter *try_open(const struct ergon_machine *m, const struct ergon_backend *b,
				    struct ergon_error *all)
{
	struct ergon_meter *meter = NULL;
	struct ergon_error one = { "" };
	void *inst = b->open(m, &one);

	if (inst) {
		meter = ergon_meter_new(b, inst, &one);
		if (!meter)
			b->close(inst);
	}
	if (!meter)
		collect(all, &one);
	return meter;
}

static struct ergon_meter *try_automatic(const struct ergon_machine *m, bool allow_model,
					 struct ergon_error *all)
{
	struct ergon_meter *meter = NULL;

	for (size_t i = 0; !meter && ergon_backends[i]; i++)
		if (ergon_backends[i]->automatic)
			meter = try_open(m, ergon_backends[i], all);
	if (!meter && allow_model)
		meter = try_open(m, ergon_backend_by_name("model"), all);
	return meter;
}

struct ergon_meter *ergon_meter_open(const struct ergon_machine *m, const char *mechanisms,
				     bool allow_model, struct ergon_error *err)
{
	struct ergon_error all = { "" };
	struct ergon_meter *meter = NULL;
	const char *p = mechanisms && *mechanisms ? mechanisms : "auto";

	while (!meter && *p) {
		size_t len = strcspn(p, ",");
		const struct ergon_backend *backend;
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)(len < 31 ? len : 31), p);
		p += len + (p[len] == ',');
		backend = ergon_backend_by_name(name);
		if (strcmp(name, "auto") == 0) {
			meter = try_automatic(m, allow_model, &all);
		} else if (backend) {
			meter = try_open(m, backend, &all);
		} else {
			struct ergon_error one;

			ergon_error_set(&one, "%s: no such mechanism", name);
			collect(&all, &one);
		}
	}
	if (!meter)
		ergon_error_set(err, "%s", *all.text ? all.text : "no mechanism named");
	return meter;
}

const struct ergon_backend *ergon_meter_backend(const struct ergon_meter *meter)
{
	return meter->backend;
}

size_t ergon_meter_channels(const struct ergon_meter *meter, const struct ergon_channel **out)
{
	*out = meter->channels;
	return meter->nchannels;
}

size_t ergon_meter_dropped(const struct ergon_meter *meter, const struct ergon_dropped **out)
{
	*out = NULL;
	return meter->backend->dropped ? meter->backend->dropped(meter->inst, out) : 0;
}

const char *ergon_meter_scope(const struct ergon_meter *meter)
{
	return meter->scope;
}

/* Account a good reading of one channel; the flags it earns. */
static unsigned advance(struct track *track, const struct ergon_channel *ch,
			uint64_t raw, uint64_t t_ns)
{
	struct ergon_delta d = { 0, 0 };

	if (track->based)
		d = ergon_delta(ch, track->raw, raw, t_ns - track->t_ns);
	track->raw = raw;
	track->t_ns = t_ns;
	track->based = true;
	track->counts += d.counts;
	return d.flags;
}

void ergon_meter_read(struct ergon_meter *meter, struct ergon_reading *out)
{
	uint64_t before, after;

	memset(meter->ok, 0, meter->nchannels * sizeof(meter->ok[0]));
	before = ergon_clock_ns();
	meter->backend->read(meter->inst, meter->raw, meter->ok);
	after = ergon_clock_ns();
	out->t_ns = before + (after - before) / 2;
	out->read_ns = after - before;
	out->flags = meter->backend->estimated ? ERGON_FLAG_ESTIMATED : 0;
	for (size_t i = 0; i < meter->nchannels; i++) {
		struct track *track = &meter->tracks[i];

		if (meter->ok[i])
			out->flags |= advance(track, &meter->channels[i], meter->raw[i], out->t_ns);
		else
			out->flags |= ERGON_FLAG_GAP;
		out->counts[i] = track->counts;
	}
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
