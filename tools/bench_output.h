/* SPDX-License-Identifier: BSD-3-Clause */
/* What one `ergon bench` found, and the two ways of saying it. */
#ifndef ERGON_TOOLS_BENCH_OUTPUT_H
#define ERGON_TOOLS_BENCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "backend.h"
#include "bench_rate.h"
#include "bench_read.h"

#define BENCH_MAX_VARIANTS 8

struct bench_one {
	const struct ergon_backend *backend;
	struct ergon_probe probe; /* why it is not measured; also when opening failed later */
	struct bench_read read;   /* of one that is ok */
	size_t nrates;            /* the first so many of bench_variants */
	struct bench_rate rates[BENCH_MAX_VARIANTS];
};

struct bench_result {
	double hz, seconds;
	long cpus;                /* online */
	char kernel[80];          /* "Linux 6.18.0" */
	size_t n;
	const struct bench_one *ones;
};

void bench_print_text(const struct bench_result *r, FILE *out);

/* One JSON object and a newline. -1 when out of memory or not written. */
int bench_print_json(const struct bench_result *r, FILE *out);

#endif
