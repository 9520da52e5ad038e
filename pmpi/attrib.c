/* SPDX-License-Identifier: BSD-3-Clause */
#include "attrib.h"

#include <string.h>

static const char *const share_words[ERGON_SHARE_COUNT] = {
#define X(c, w) [ERGON_SHARE_##c] = w,
	ERGON_SHARE_TABLE(X)
#undef X
};

const char *ergon_share_word(enum ergon_share_mode mode)
{
	return (unsigned)mode < ERGON_SHARE_COUNT ? share_words[mode] : NULL;
}

int ergon_share_parse(const char *word)
{
	for (int i = 0; word && i < ERGON_SHARE_COUNT; i++)
		if (strcmp(word, share_words[i]) == 0)
			return i;
	return -1;
}

static int has_bit(const uint64_t *bits, int32_t i)
{
	return i >= 0 && i < ERGON_LIVE_CPUS && (bits[i / 64] >> (i % 64) & 1);
}

void ergon_attrib_weigh(const struct ergon_board_cpu *cpus, size_t ncpus,
			const uint64_t mask[ERGON_LIVE_CPUS / 64],
			enum ergon_share_mode mode, struct ergon_weights *out)
{
	uint64_t cores[ERGON_LIVE_CPUS / 64] = { 0 };

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < ncpus; i++) {
		int32_t package = cpus[i].package;
		int32_t core = cpus[i].core;

		if (!has_bit(mask, cpus[i].os) || package < 0 ||
		    package >= ERGON_BOARD_MAX_PACKAGES || has_bit(cores, core))
			continue;
		if (core >= 0 && core < ERGON_LIVE_CPUS)
			cores[core / 64] |= UINT64_C(1) << (core % 64);
		out->package[package] += 1;
		out->node += 1;
	}
	if (mode != ERGON_SHARE_EQUAL)
		return;
	out->node = out->node > 0;
	for (size_t p = 0; p < ERGON_BOARD_MAX_PACKAGES; p++)
		out->package[p] = out->package[p] > 0;
}

void ergon_attrib_add(struct ergon_weights *sum, const struct ergon_weights *weights)
{
	sum->node += weights->node;
	for (size_t p = 0; p < ERGON_BOARD_MAX_PACKAGES; p++)
		sum->package[p] += weights->package[p];
}

double ergon_attrib_weight(const struct ergon_weights *weights,
			   const struct ergon_board_channel *channel)
{
	if (channel->package < 0)
		return weights->node;
	return channel->package < ERGON_BOARD_MAX_PACKAGES ? weights->package[channel->package] : 0;
}

void ergon_attrib_interval(const struct ergon_board_channel *channels, size_t nchannels,
			   double node_share, const double *joules,
			   const struct ergon_weights *sum, struct ergon_share *entry)
{
	for (size_t c = 0; c < nchannels; c++) {
		double weight = ergon_attrib_weight(sum, &channels[c]);
		double held = weight > 0 ? joules[c] * node_share : 0;

		entry->e[c] += joules[c];
		entry->u[c] += joules[c] - held;
		if (weight > 0)
			entry->s[c] += held / weight;
	}
}

static void give(struct ergon_row *row, const struct ergon_amount *amount, double part)
{
	for (size_t j = 0; j < ERGON_COLUMN_COUNT; j++)
		row->joules[j] += amount->joules[j] * part;
	row->cpu_s += amount->cpu_s * part;
	row->intervals += amount->intervals;
	row->flags |= amount->flags;
}

uint64_t ergon_attrib_open_ns(const struct ergon_row *rows, size_t nrows)
{
	uint64_t open_ns = 0;

	for (size_t i = 0; i < nrows; i++)
		open_ns += rows[i].open_ns;
	return open_ns;
}

void ergon_attrib_split(struct ergon_row *rows, size_t nrows, size_t current,
			const struct ergon_amount *amount)
{
	uint64_t open_ns = ergon_attrib_open_ns(rows, nrows);

	if (open_ns == 0) {
		give(&rows[current], amount, 1);
		return;
	}
	for (size_t i = 0; i < nrows; i++) {
		if (rows[i].open_ns == 0)
			continue;
		give(&rows[i], amount, (double)rows[i].open_ns / (double)open_ns);
		rows[i].open_ns = 0;
	}
}
