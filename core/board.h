/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board: a file in memory in which one sampler publishes its samples
 * and many readers follow. Single writer, seqlock per slot; a reader that
 * falls behind by more than the ring knows it did. Counts are cumulative,
 * so a reader that skipped samples still knows the energy between the
 * samples it has seen.
 *
 * Needs nothing but libc: it is part of the interposer. A reader trusts
 * the file as far as its owner is trusted, but checks every size in it.
 */
#ifndef ERGON_BOARD_H
#define ERGON_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"
#include "error.h"

#define ERGON_BOARD_MAX_CHANNELS 64
#define ERGON_BOARD_MAX_PACKAGES 64

struct ergon_board_channel {
	char name[32];
	double unit_j;
	int32_t domain;           /* enum ergon_domain */
	int32_t package;          /* index into packages[], -1: node-wide */
	int32_t in_total;
	int32_t reserved;
};

/* A CPU of the node, so that readers need no topology library. */
struct ergon_board_cpu {
	int32_t os;
	int32_t package;          /* index, not id */
	int32_t core;             /* numbered over the node */
};

/* What does not change while the board lives. */
struct ergon_board_info {
	char mechanism[32];
	char scope[32];
	char host[64];            /* node name */
	char reason[256];         /* why there is no energy, when nchannels is 0 */
	uint32_t estimated;       /* every value is a model's */
	uint32_t adapts;          /* freq=auto: hz under load, less while the node is idle */
	double hz;                /* rate at which samples are published */
	double node_share;        /* 1: the step owns the node; less: energy is for the whole node */
	uint32_t nchannels;
	uint32_t npackages;
	uint32_t ncpus;
	struct ergon_board_channel channels[ERGON_BOARD_MAX_CHANNELS];
};

struct ergon_board_sample {
	uint64_t index;           /* 0, 1, 2, ... without gaps */
	uint64_t t_ns;            /* CLOCK_MONOTONIC of the reading */
	uint32_t flags;           /* enum ergon_flag */
	uint64_t counts[ERGON_BOARD_MAX_CHANNELS];
};

struct ergon_board;

/* --- writer --- */

/*
 * Create the file name in directory dirfd (mode 0444, O_EXCL, the caller's
 * euid) and map it. ring: number of samples kept, rounded up to a power of 2.
 * The file is allocated, not sparse. cpus: info->ncpus entries. On failure
 * NULL, errno and err, and no file is left.
 */
struct ergon_board *ergon_board_create(int dirfd, const char *name,
				       const struct ergon_board_info *info,
				       const struct ergon_board_cpu *cpus,
				       uint32_t ring, struct ergon_error *err);

/* Publish the next sample (index is given by the board). Async-signal-safe, never blocks. */
void ergon_board_publish(struct ergon_board *b, uint64_t t_ns, uint32_t flags,
			 const uint64_t *counts);

/* Tell readers that no more samples will come. */
void ergon_board_finish(struct ergon_board *b);

/* --- reader --- */

/*
 * Map read-only. NULL + err when it is not a board of this version (errno
 * EINVAL), cannot be opened, or its creator has not finished it (EAGAIN).
 */
struct ergon_board *ergon_board_map(const char *path, struct ergon_error *err);

const struct ergon_board_info *ergon_board_info(const struct ergon_board *b);
const struct ergon_board_cpu *ergon_board_cpus(const struct ergon_board *b);

/* Number of samples published; one relaxed load. The newest has index head - 1. */
uint64_t ergon_board_head(const struct ergon_board *b);
bool ergon_board_finished(const struct ergon_board *b);

/* Oldest index that can still be read. */
uint64_t ergon_board_tail(const struct ergon_board *b);

/* 0; -1 when the sample was overwritten or is not there yet (*out unchanged). */
int ergon_board_read(const struct ergon_board *b, uint64_t index, struct ergon_board_sample *out);

/* Both. Unmaps; the file stays. NULL allowed. */
void ergon_board_close(struct ergon_board *b);

#endif
