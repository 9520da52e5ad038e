/* SPDX-License-Identifier: BSD-3-Clause */
#include "sampling.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board_describe.h"
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

static int create_board(struct sampling *s, const struct ergon_sampling_config *config,
			struct ergon_error *err)
{
	struct ergon_board_info info = {
		.hz = config->rate.hz, .adapts = config->rate.adapt, .node_share = 1,
	};
	struct ergon_board_cpu *cpus = ergon_board_describe(s->meter, s->topo, &info);

	if (!cpus)
		return ergon_error_set(err, "out of memory");
	snprintf(info.host, sizeof(info.host), "%s", config->host);
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
		.hz = config->rate.hz, .thread_name = "ergon-sampler", .on_sample = publish, .arg = s,
	};

	s->sysroot = ergon_sysroot_open(config->sysroot, err);
	if (!s->sysroot)
		return -1;
	s->topo = ergon_topo_load(s->sysroot, err);
	if (!s->topo)
		return -1;
	if (config->rate.adapt)
		sampler.adapt_to = s->sysroot;
	s->machine.sysroot = s->sysroot;
	s->machine.topo = s->topo;
	s->machine.hz = config->rate.hz;
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
