/* SPDX-License-Identifier: BSD-3-Clause */
#include "sampling.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "meter.h"
#include "sampler.h"
#include "sysroot.h"
#include "topo.h"

/* Readers only need the newest samples: the keeper follows closely. */
#define RING 1024
#define EXPORT __attribute__((visibility("default")))

struct sampling {
	struct ergon_sysroot *sysroot;
	struct ergon_topo *topo;
	struct ergon_machine machine;
	struct ergon_meter *meter;
	struct ergon_board *board;
	struct ergon_sampler *sampler;
};

static void publish(void *arg, const struct ergon_sample *sample)
{
	struct sampling *s = arg;

	ergon_board_publish(s->board, sample->reading.t_ns, sample->reading.flags,
			    sample->reading.counts);
}

static void describe_channels(const struct sampling *s, struct ergon_board_info *info)
{
	const struct ergon_channel *channels;
	size_t n = ergon_meter_channels(s->meter, &channels);

	info->nchannels = n < ERGON_BOARD_MAX_CHANNELS ? (uint32_t)n : ERGON_BOARD_MAX_CHANNELS;
	for (uint32_t i = 0; i < info->nchannels; i++) {
		struct ergon_board_channel *out = &info->channels[i];

		memcpy(out->name, channels[i].name, sizeof(out->name));
		out->unit_j = channels[i].unit_j;
		out->domain = (int32_t)channels[i].domain;
		out->package = channels[i].package < 0 ? -1 :
			       ergon_topo_package_index(s->topo, channels[i].package);
		out->in_total = channels[i].in_total;
	}
}

static int create_board(struct sampling *s, const struct ergon_sampling_config *config,
			struct ergon_error *err)
{
	const struct ergon_backend *backend = ergon_meter_backend(s->meter);
	struct ergon_board_info info = {
		.estimated = backend->estimated,
		.hz = config->hz,
		.node_share = 1,
		.npackages = (uint32_t)s->topo->npackages,
		.ncpus = (uint32_t)s->topo->ncpus,
	};
	struct ergon_board_cpu *cpus = calloc(s->topo->ncpus, sizeof(*cpus));

	if (!cpus)
		return ergon_error_set(err, "out of memory");
	snprintf(info.mechanism, sizeof(info.mechanism), "%s", backend->name);
	snprintf(info.scope, sizeof(info.scope), "%s", ergon_meter_scope(s->meter));
	snprintf(info.host, sizeof(info.host), "%s", config->host);
	describe_channels(s, &info);
	for (size_t i = 0; i < s->topo->ncpus; i++) {
		const struct ergon_cpu *cpu = &s->topo->cpus[i];

		cpus[i].os = cpu->os;
		cpus[i].core = cpu->core;
		cpus[i].package = ergon_topo_package_index(s->topo, cpu->package);
	}
	s->board = ergon_board_create(config->dirfd, ERGON_SAMPLING_BOARD, &info, cpus, RING, err);
	free(cpus);
	return s->board ? 0 : -1;
}

static void destroy(struct sampling *s)
{
	ergon_sampler_destroy(s->sampler);
	if (s->board)
		ergon_board_finish(s->board);
	ergon_board_close(s->board);
	ergon_meter_close(s->meter);
	ergon_topo_free(s->topo);
	ergon_sysroot_close(s->sysroot);
	free(s);
}

static int open_all(struct sampling *s, const struct ergon_sampling_config *config,
		    struct ergon_error *err)
{
	struct ergon_sampler_config sampler = {
		.hz = config->hz, .thread_name = "ergon-sampler", .on_sample = publish, .arg = s,
	};

	s->sysroot = ergon_sysroot_open(config->sysroot, err);
	if (!s->sysroot)
		return -1;
	s->topo = ergon_topo_load(s->sysroot, err);
	if (!s->topo)
		return -1;
	s->machine.sysroot = s->sysroot;
	s->machine.topo = s->topo;
	s->meter = ergon_meter_open(&s->machine, config->mechanism, false, err);
	if (!s->meter || create_board(s, config, err) < 0)
		return -1;
	s->sampler = ergon_sampler_create(s->meter, &sampler, err);
	return s->sampler ? ergon_sampler_start(s->sampler, err) : -1;
}

EXPORT void *ergon_sampling_start(const struct ergon_sampling_config *config,
				  struct ergon_error *err)
{
	struct sampling *s = calloc(1, sizeof(*s));

	if (!s) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	if (open_all(s, config, err) < 0) {
		destroy(s);
		return NULL;
	}
	return s;
}

EXPORT void ergon_sampling_stop(void *sampling)
{
	struct sampling *s = sampling;

	ergon_sampler_stop(s->sampler);
	destroy(s);
}
