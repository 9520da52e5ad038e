/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record: the energy account of one step on one node, as one JSON object
 * on one line. This half writes (no library, no allocation: it runs in
 * slurmstepd); tools/record_read.c reads.
 *
 * Integers (but for the sampling rate): ids, *_uj microjoules, *_ns nanoseconds. Names that come
 * from the user's environment are unverified until joined with slurmdbd.
 */
#ifndef ERGON_RECORD_H
#define ERGON_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "channel.h"
#include "curve.h"

#define ERGON_RECORD_VERSION 1
#define ERGON_NONE INT64_MIN            /* absent: JSON null */
#define ERGON_RECORD_MAX 65000          /* bytes of one line */

/* Slurm's special step ids, as signed numbers of the accounting database. */
#define ERGON_STEP_EXTERN (-4)
#define ERGON_STEP_BATCH (-5)
#define ERGON_STEP_INTERACTIVE (-6)

enum ergon_state { ERGON_STATE_RUNNING, ERGON_STATE_COMPLETE, ERGON_STATE_PARTIAL };

struct ergon_record {
	/* the key: cluster, job, restart, step, het, node */
	char cluster[64];
	int64_t job;
	int64_t restart;
	int64_t step;             /* >= 0, or ERGON_STEP_* */
	int64_t het;              /* component, ERGON_NONE */
	char node[64];

	int64_t uid;
	char user[64], account[64], partition[64], qos[64], job_name[128];
	int64_t array_job, array_task;
	int64_t nnodes, ntasks;   /* of the step */
	int64_t node_tasks;       /* tasks on this node */
	int64_t cpus;             /* CPUs of the step on this node */
	int64_t node_cpus;
	int64_t start_ns, end_ns; /* since 1970 */
	int64_t suspended_ns;
	enum ergon_state state;
	int64_t exit_code;        /* wait status of the highest failing task, as Slurm keeps it */

	char mechanism[32];       /* "" when none could be used */
	char scope[32];
	char reason[256];         /* why there is no or partial energy; "" */
	int64_t model;            /* 1: estimated */
	double freq_hz;           /* sampling rate; negative: absent */
	int64_t samples, missed;
	int64_t domain_uj[ERGON_DOMAIN_COUNT]; /* ERGON_NONE: not measured */
	int64_t node_uj, job_uj, other_uj, unallocated_uj;
	int64_t cpu_ns;           /* CPU time of the step's processes on this node */
	int64_t max_w_mw;         /* highest mean power of a curve interval, mW */
	struct ergon_curve curve;
	int64_t freq_mhz, temp_c;
	unsigned flags;
};

/* All numbers ERGON_NONE, strings empty, state running. */
void ergon_record_init(struct ergon_record *r);

/*
 * Write the JSON object without newline. Returns its length, or -1 when
 * size is too small. Control characters and invalid UTF-8 in names are
 * written so that the line is always valid JSON on one line.
 */
int ergon_record_format(const struct ergon_record *r, char *buf, size_t size);

/* "running", "complete", "partial". */
const char *ergon_state_word(enum ergon_state state);

#endif
