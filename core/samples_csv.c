/* SPDX-License-Identifier: BSD-3-Clause */
#include "samples_csv.h"

#include <inttypes.h>
#include <string.h>

#include "delta.h"
#include "flags.h"

uint64_t ergon_uj_since(const struct ergon_channel *channel, uint64_t base, uint64_t count)
{
	return ergon_counts_to_uj(count - base, channel->unit_j);
}

void ergon_samples_csv_init(struct ergon_samples_csv *csv, const struct ergon_channel *channels,
			    const bool *selected, size_t nchannels)
{
	memset(csv, 0, sizeof(*csv));
	csv->channels = channels;
	csv->selected = selected;
	csv->nchannels = nchannels;
}

void ergon_samples_csv_header(const struct ergon_samples_csv *csv, FILE *out)
{
	fputs("t_s", out);
	for (size_t i = 0; i < csv->nchannels; i++)
		if (csv->selected[i])
			fprintf(out, ",%s_j", csv->channels[i].name);
	fputs(",flags\n", out);
}

/* A count of millionths as a decimal; never through a double. */
static void put_micro(FILE *out, uint64_t micro)
{
	fprintf(out, "%" PRIu64 ".%06" PRIu64, micro / 1000000, micro % 1000000);
}

void ergon_samples_csv_row(struct ergon_samples_csv *csv, const struct ergon_sample *sample,
			   FILE *out)
{
	const struct ergon_reading *reading = &sample->reading;
	unsigned flags = reading->flags;
	char words[128];

	if (sample->index == 0) {
		csv->t_ns = reading->t_ns;
		memcpy(csv->base, reading->counts, csv->nchannels * sizeof(csv->base[0]));
		csv->next_index = 1;
		return;
	}
	if (sample->index != csv->next_index)
		flags |= ERGON_FLAG_GAP;
	csv->next_index = sample->index + 1;
	put_micro(out, (reading->t_ns - csv->t_ns + 500) / 1000);
	for (size_t i = 0; i < csv->nchannels; i++) {
		uint64_t uj = ergon_uj_since(&csv->channels[i], csv->base[i], reading->counts[i]);

		if (!csv->selected[i])
			continue;
		fputc(',', out);
		put_micro(out, uj - csv->written_uj[i]);
		csv->written_uj[i] = uj;
	}
	fprintf(out, ",%s\n", ergon_flags_format(flags, words, sizeof(words)));
}
