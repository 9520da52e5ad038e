/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ergon-sampler.so exports: opening counters and publishing a board.
 * A module of its own because it needs hwloc and friends, which a preload
 * must not drag into every process; the leader opens it by dlopen.
 */
#ifndef ERGON_SAMPLING_H
#define ERGON_SAMPLING_H

#include "error.h"
#include "rate.h"

#define ERGON_SAMPLING_MODULE "ergon-sampler.so"
#define ERGON_SAMPLING_BOARD "board"

struct ergon_sampling_config {
	int dirfd;                /* where to create ERGON_SAMPLING_BOARD */
	const char *mechanism;    /* as ergon_meter_open */
	const char *sysroot;
	const char *host;
	struct ergon_rate rate;
};

/* Starts sampling; the board has its first sample on return. NULL + err. */
typedef void *ergon_sampling_start_f(const struct ergon_sampling_config *config,
				     struct ergon_error *err);

/* A last sample, then the thread is joined and the board finished; its file stays. */
typedef void ergon_sampling_stop_f(void *sampling);

ergon_sampling_start_f ergon_sampling_start;
ergon_sampling_stop_f ergon_sampling_stop;

#endif
