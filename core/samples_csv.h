/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * samples.csv: `t_s,package0_j,dram0_j,...,flags`. A row holds the joules
 * since the previous row, t_s is the end of its interval in seconds since
 * the baseline. The arithmetic is in microjoules: a row is the difference
 * of two rounded cumulative values, so the rows of a column add up to
 * ergon_uj_since() of its channel to the last printed digit.
 */
#ifndef ERGON_SAMPLES_CSV_H
#define ERGON_SAMPLES_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "meter.h"
#include "sampler.h"

struct ergon_samples_csv {
	const struct ergon_channel *channels;
	const bool *selected;     /* one per channel */
	size_t nchannels;
	uint64_t t_ns;            /* of the baseline */
	uint64_t next_index;
	uint64_t base[ERGON_METER_MAX_CHANNELS]; /* counts of the baseline */
	uint64_t written_uj[ERGON_METER_MAX_CHANNELS];
};

/* Microjoules a channel counted between two of its cumulative counts. */
uint64_t ergon_uj_since(const struct ergon_channel *channel, uint64_t base, uint64_t count);

/* The arrays stay the caller's and must outlive csv. */
void ergon_samples_csv_init(struct ergon_samples_csv *csv, const struct ergon_channel *channels,
			    const bool *selected, size_t nchannels);

/* The stream's error flag tells of failures. */
void ergon_samples_csv_header(const struct ergon_samples_csv *csv, FILE *out);

/*
 * Sample 0 is the baseline and writes no row. A sample that does not follow
 * the one before (the ring was full) covers the whole gap: flag gap.
 */
void ergon_samples_csv_row(struct ergon_samples_csv *csv, const struct ergon_sample *sample,
			   FILE *out);

#endif
