/* SPDX-License-Identifier: BSD-3-Clause */
#include "board_describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void describe_channels(const struct ergon_meter *meter, const struct ergon_topo *topo,
			      struct ergon_board_info *info)
{
	const struct ergon_channel *channels;
	size_t n = ergon_meter_channels(meter, &channels);

	snprintf(info->mechanism, sizeof(info->mechanism), "%s", ergon_meter_mechanism(meter));
	snprintf(info->scope, sizeof(info->scope), "%s", ergon_meter_scope(meter));
	info->estimated = ergon_meter_estimated(meter);
	/* A part of the channels would be a wrong total. */
	if (n > ERGON_BOARD_MAX_CHANNELS) {
		info->nchannels = 0;
		snprintf(info->reason, sizeof(info->reason), "%s has %zu channels, ranks can see %d",
			 info->mechanism, n, ERGON_BOARD_MAX_CHANNELS);
		return;
	}
	info->nchannels = (uint32_t)n;
	for (uint32_t i = 0; i < info->nchannels; i++) {
		const struct ergon_channel *ch = &channels[i];
		struct ergon_board_channel *out = &info->channels[i];

		memcpy(out->name, ch->name, sizeof(out->name));
		out->unit_j = ch->unit_j;
		out->domain = (int32_t)ch->domain;
		out->package = ch->package < 0 ? -1 : ergon_topo_package_index(topo, ch->package);
		out->in_total = ch->in_total;
	}
}

struct ergon_board_cpu *ergon_board_describe(const struct ergon_meter *meter,
					     const struct ergon_topo *topo,
					     struct ergon_board_info *info)
{
	struct ergon_board_cpu *cpus = calloc(topo->ncpus, sizeof(*cpus));

	if (!cpus)
		return NULL;
	if (meter)
		describe_channels(meter, topo, info);
	info->ncpus = (uint32_t)topo->ncpus;
	info->npackages = (uint32_t)topo->npackages;
	for (size_t i = 0; i < topo->ncpus; i++) {
		const struct ergon_cpu *cpu = &topo->cpus[i];

		cpus[i].os = cpu->os;
		cpus[i].core = cpu->core;
		cpus[i].package = ergon_topo_package_index(topo, cpu->package);
	}
	return cpus;
}
