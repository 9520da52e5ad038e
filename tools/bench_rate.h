/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rate that sampling into a file reaches: our way, and the ways that
 * the RAPL paper (Raffin & Trystram 2024) found 10 to 18 % slower at 1000 Hz.
 */
#ifndef ERGON_TOOLS_BENCH_RATE_H
#define ERGON_TOOLS_BENCH_RATE_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "meter.h"
#include "spread.h"

struct bench_variant {
	const char *name;
	const char *timer;        /* how it waits: "grid" (timerfd), "sleep" (for a period, after the work) */
	bool sleeps;              /* the latter */
	bool writer;              /* a second thread formats and writes the rows; else the sampling one */
};

/* The first is the one that ergon uses; ends with name NULL. */
extern const struct bench_variant bench_variants[];

struct bench_rate {
	uint64_t samples;
	double seconds;           /* from the first to the last of them */
	double hz;                /* samples - 1 per second of these */
	uint64_t missed;          /* that many more fit into them at the asked rate */
	struct spread jitter;     /* how far a distance of two samples is from a period, ns */
	double cpu;               /* CPUs used, of all threads together */
};

/* Sample for so many seconds into a temporary file. 0; -1 + err. */
int bench_rate(struct ergon_meter *meter, const struct bench_variant *variant, double hz, double seconds,
	       struct bench_rate *out, struct ergon_error *err);

#endif
