/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The running account of one step on one node: a sampler feeds counts and
 * the power curve, a second thread writes checkpoints. Knows nothing of
 * Slurm. Everything with a path is opened before; the threads only use
 * descriptors, for their effective uid changes under them.
 */
#ifndef ERGON_ACCOUNT_H
#define ERGON_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "crosscheck.h"
#include "error.h"
#include "journal.h"
#include "meter.h"
#include "rate.h"
#include "record.h"
#include "sysroot.h"

struct ergon_account;

struct ergon_account_setup {
	const struct ergon_record *identity; /* copied */
	struct ergon_meter *meter; /* NULL: no energy, identity->reason says why */
	struct ergon_crosscheck *crosscheck; /* of the meter; may be NULL */
	struct ergon_rate rate;
	double sensor_hz;         /* clock rate and temperature; 0: not read */
	int curve_points;
	bool whole;               /* the step gets all of the node */
	double idle_w;            /* of the node, 0 unknown */
	const struct ergon_sysroot *sysroot; /* for the node's CPU time */
	struct ergon_checkpoint *checkpoint; /* may be NULL */
	int checkpoint_s;
	struct ergon_board *board; /* may be NULL */
	double board_hz;          /* rate of publishing, at most that of sampling */
};

/*
 * Start measuring; the pointers in *setup stay the caller's and must outlive
 * the account. Never fails but for memory: without a sampler the record
 * says why.
 */
struct ergon_account *ergon_account_start(const struct ergon_account_setup *setup);

/*
 * Stop both threads and complete *r, which holds the identity: times,
 * energies, curve, flags. cpu_ns: CPU time of the step, < 0 unknown.
 */
void ergon_account_finish(struct ergon_account *a, int64_t cpu_ns, struct ergon_record *r);

/* After finish. NULL allowed. */
void ergon_account_free(struct ergon_account *a);

/* How many samples pass between two that are published: hz / board_hz, rounded up. */
uint64_t ergon_account_decimation(double hz, double board_hz);

#endif
