/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sampler: a thread that reads a meter on an absolute time grid
 * (timerfd) and hands each sample to a callback. All signals are blocked
 * in the thread; stop() joins within 100 ms plus one read. Missed ticks
 * are counted, never made up.
 *
 * With freq=auto (adapt_to) the grid changes with the load: see pace.h. Ticks
 * are planned and missed on the grid of the moment; a sample is taken when
 * load sets in, whenever that is.
 */
#ifndef ERGON_SAMPLER_H
#define ERGON_SAMPLER_H

#include <stdint.h>

#include "error.h"
#include "meter.h"
#include "rate.h"

struct ergon_sampler;

struct ergon_sample {
	uint64_t index;           /* 0 for the baseline taken by start() */
	uint64_t missed;          /* ticks missed so far */
	struct ergon_reading reading;
};

struct ergon_sampler_stats {
	uint64_t samples;         /* baseline, final sample and those at changes of pace included */
	uint64_t ticks;           /* planned ticks that were served */
	uint64_t missed;
	uint64_t reads;           /* of the meter: samples and keep-alive reads */
	uint64_t read_ns_sum;
	uint64_t read_ns_max;
	uint64_t late_ns_max;     /* wake-up after the planned time */
	uint64_t cpu_ns;          /* CPU time of the thread, up to its last read */
	unsigned flags;           /* union of all readings */
};

/* Called in the sampler thread, except for the baseline and the final sample
 * (in the thread that calls start and stop). Must not block. */
typedef void ergon_sample_f(void *arg, const struct ergon_sample *sample);

struct ergon_sampler_config {
	double hz;                /* ERGON_HZ_MIN .. ERGON_HZ_MAX */
	/* Not NULL: hz under load, once a second while its /proc/stat tells of an idle
	 * machine; hz always where that cannot be read. Used by create() only. */
	const struct ergon_sysroot *adapt_to;
	const char *thread_name;  /* at most 15 characters */
	ergon_sample_f *on_sample; /* may be NULL */
	void *arg;
};

/* The meter stays the caller's and must not be used while the sampler runs. */
struct ergon_sampler *ergon_sampler_create(struct ergon_meter *meter,
					   const struct ergon_sampler_config *config,
					   struct ergon_error *err);

/*
 * Takes the baseline sample, starts the thread. Once per sampler. Where the
 * period exceeds ergon_meter_keepalive_ns(), the meter is read in between;
 * these reads are no samples, their flags go into the next one.
 */
int ergon_sampler_start(struct ergon_sampler *s, struct ergon_error *err);

/* Stops the thread, takes a last sample. Idempotent; not from the callback. */
void ergon_sampler_stop(struct ergon_sampler *s);

/* Stops if needed. NULL allowed. In a forked child it frees without joining. */
void ergon_sampler_destroy(struct ergon_sampler *s);

/* Safe from any thread; final after stop(). Zeros in a forked child, as below. */
void ergon_sampler_stats(const struct ergon_sampler *s, struct ergon_sampler_stats *out);

/* The newest sample (copied under a lock); safe from any thread. */
void ergon_sampler_latest(struct ergon_sampler *s, struct ergon_sample *out);

#endif
