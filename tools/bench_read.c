/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "meter.h"

#define ROUNDS 20000
#define WARM_UP 200               /* rounds not kept */
#define ROUNDS_NS 2000000000u     /* a slow source gets fewer rounds */
#define BATCH_NS 500000000u
#define MIN_BATCH 64              /* readings between two looks at the clock */

enum kind { CLOCK, ALL, SINGLE, APART, METER, NKINDS };

struct bench {
	const struct ergon_backend *backend;
	void *inst;
	size_t nchannels;
	void **singles;           /* one per channel; NULL: there is no such thing */
	size_t nsingles;
	struct ergon_meter *meter;
	uint64_t *ns[NKINDS];     /* ROUNDS values each */
	size_t rounds;            /* kept so far */
	uint64_t raw[ERGON_METER_MAX_CHANNELS];
	bool ok[ERGON_METER_MAX_CHANNELS];
	struct ergon_reading reading;
};

static int open_meter(struct bench *b, const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_meter_part part = { b->backend, b->backend->open(m, err) };

	if (!part.inst)
		return -1;
	b->meter = ergon_meter_new(&part, 1, err);
	if (!b->meter)
		b->backend->close(part.inst);
	return b->meter ? 0 : -1;
}

static int open_singles(struct bench *b, struct ergon_error *err)
{
	if (!b->backend->open_single)
		return 0;
	b->singles = calloc(b->nchannels, sizeof(*b->singles));
	for (size_t i = 0; b->singles && i < b->nchannels; i++) {
		b->singles[i] = b->backend->open_single(b->inst, i);
		if (!b->singles[i])
			break;
		b->nsingles++;
	}
	return b->nsingles == b->nchannels ? 0 :
	       ergon_error_set(err, "%s: a channel alone: %s", b->backend->name, strerror(errno));
}

static int open_all(struct bench *b, const struct ergon_machine *m, struct ergon_error *err)
{
	const struct ergon_channel *channels;

	for (int k = 0; k < NKINDS; k++) {
		b->ns[k] = calloc(ROUNDS, sizeof(uint64_t));
		if (!b->ns[k])
			return ergon_error_set(err, "out of memory");
	}
	if (open_meter(b, m, err) < 0)
		return -1;
	b->inst = b->backend->open(m, err);
	if (!b->inst)
		return -1;
	b->nchannels = b->backend->channels(b->inst, &channels);
	/* As many as a meter takes: it was made of the same machine. */
	if (b->nchannels > ERGON_METER_MAX_CHANNELS)
		return ergon_error_set(err, "%s: too many channels", b->backend->name);
	return open_singles(b, err);
}

static void close_all(struct bench *b)
{
	for (size_t i = 0; i < b->nsingles; i++)
		b->backend->close(b->singles[i]);
	free(b->singles);
	b->backend->close(b->inst);
	ergon_meter_close(b->meter);
	for (int k = 0; k < NKINDS; k++)
		free(b->ns[k]);
}

static void read_as(struct bench *b, enum kind kind)
{
	switch (kind) {
	case ALL:
		b->backend->read(b->inst, b->raw, b->ok);
		break;
	case SINGLE:
		b->backend->read(b->singles[0], b->raw, b->ok);
		break;
	case APART:
		for (size_t i = 0; i < b->nsingles; i++)
			b->backend->read(b->singles[i], b->raw, b->ok);
		break;
	case METER:
		ergon_meter_read(b->meter, &b->reading);
		break;
	case CLOCK:
	case NKINDS:
		break;
	}
}

static bool has_kind(const struct bench *b, enum kind kind)
{
	return b->nsingles > 0 || (kind != SINGLE && kind != APART);
}

static void measure_rounds(struct bench *b)
{
	uint64_t begin = ergon_clock_ns(), now = begin;

	for (size_t round = 0; b->rounds < ROUNDS && now - begin < ROUNDS_NS; round++) {
		for (enum kind k = 0; k < NKINDS; k++) {
			uint64_t before;

			if (!has_kind(b, k))
				continue;
			before = ergon_clock_ns();
			read_as(b, k);
			now = ergon_clock_ns();
			b->ns[k][b->rounds] = now - before;
		}
		/* What is not kept is overwritten; so slow a source has no caches to warm. */
		if (round >= WARM_UP || now - begin > ROUNDS_NS / 4)
			b->rounds++;
	}
}

static void measure_batch(struct bench *b, struct bench_read *out)
{
	uint64_t begin = ergon_clock_ns(), cpu = ergon_clock_thread_cpu_ns(), reads = 0, now;

	do {
		for (int i = 0; i < MIN_BATCH; i++)
			read_as(b, ALL);
		reads += MIN_BATCH;
		now = ergon_clock_ns();
	} while (now - begin < BATCH_NS);
	out->cpu_ns = (double)(ergon_clock_thread_cpu_ns() - cpu) / (double)reads;
	out->per_s = (double)reads * 1e9 / (double)(now - begin);
}

static void summarise(struct bench *b, struct bench_read *out)
{
	struct spread *const spreads[NKINDS] = {
		&out->clock, &out->all, &out->single, &out->apart, &out->meter,
	};

	out->channels = b->nchannels;
	for (enum kind k = 0; k < NKINDS; k++)
		*spreads[k] = spread_of(b->ns[k], has_kind(b, k) ? b->rounds : 0);
}

int bench_read(const struct ergon_machine *m, const struct ergon_backend *backend,
	       struct bench_read *out, struct ergon_error *err)
{
	struct bench b = { .backend = backend };
	int rc = open_all(&b, m, err);

	if (rc == 0) {
		measure_rounds(&b);
		measure_batch(&b, out);
		summarise(&b, out);
	}
	close_all(&b);
	return rc;
}
