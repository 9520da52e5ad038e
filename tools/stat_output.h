/* SPDX-License-Identifier: BSD-3-Clause */
/* What one `ergon stat` found, and the two ways of saying it. */
#ifndef ERGON_TOOLS_STAT_OUTPUT_H
#define ERGON_TOOLS_STAT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "meter.h"
#include "sampler.h"
#include "watch.h"

struct stat_result {
	char *const *command;     /* NULL-terminated */
	const char *label;        /* NULL: none */
	int exit_code;
	const char *mechanism;
	char scope[64];           /* what the total covers; "": no selected channel is in a total */
	struct ergon_rate rate;
	const struct ergon_channel *channels;
	const bool *selected;     /* one per channel */
	size_t nchannels;
	uint64_t uj[ERGON_METER_MAX_CHANNELS]; /* microjoules of the run */
	uint64_t elapsed_ns;
	uint64_t cpu_ns;          /* of the command */
	uint64_t self_cpu_ns;     /* of ergon while it ran */
	struct ergon_sampler_stats stats;
	struct ergon_watch_summary sensors;
};

/* Sum of the selected channels that are in the total. */
uint64_t stat_total_uj(const struct stat_result *r);

void stat_print_text(const struct stat_result *r, FILE *out);

/* One JSON object and a newline. -1 when out of memory or not written. */
int stat_print_json(const struct stat_result *r, FILE *out);

#endif
