/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From records to rows: what a step and a job used. Pure arithmetic.
 *
 * A step is the sum over its nodes. A job is, per node, a union over time
 * of its steps: at every instant the extern step counts when there is one,
 * else the batch or interactive step, else one of the steps that run then.
 * Only shares of a node (flag shared) are added to each other, as many as
 * fit on its CPUs: steps run on CPUs of their own. The power curve of a
 * record tells the energy of the part that counts.
 */
#ifndef ERGON_ACCT_TOTAL_H
#define ERGON_ACCT_TOTAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct ergon_acct_row {
	bool is_job;
	/* ERGON_NONE, "" and NULL: unknown */
	const char *cluster, *user, *account, *partition, *qos, *job_name;
	int64_t job, restart, step, het, uid, array_job, array_task;
	int64_t nnodes, ntasks, ncpus;
	int64_t start_ns, end_ns;
	const char *state;        /* RUNNING, COMPLETED, FAILED, PARTIAL */
	int64_t exit_code;        /* wait status */
	int64_t job_uj, node_uj, domain_uj[ERGON_DOMAIN_COUNT];
	int64_t max_mw;           /* of the node that drew most */
	const char *mechanism, *scope; /* "mixed": not the same everywhere */
	bool estimated;           /* some of it comes from a model */
	bool overflow;            /* a sum does not fit: it is absent */
	unsigned flags;           /* of any record */
	int64_t nodes_measured;   /* nodes with energy */
	const char **nodes;       /* names, each once, not sorted */
	size_t node_count;
};

/*
 * The row of one step: all its records. Texts point into the records.
 * -1 when memory is out. Release with ergon_acct_row_free.
 */
int ergon_acct_step(struct ergon_acct_row *row, const struct ergon_record *const *records,
		    size_t n);

/* The row of a job: the records of all its steps, those of a node side by side. */
int ergon_acct_job(struct ergon_acct_row *row, const struct ergon_record *const *records,
		   size_t n);

void ergon_acct_row_free(struct ergon_acct_row *row);

/*
 * What part of each record counts for its node, 0..1: job for the energy
 * of the job, node for what the node's meters saw (steps side by side see
 * the same meters). All records are of one node. -1 when memory is out.
 */
int ergon_acct_union(const struct ergon_record *const *records, size_t n,
		     double *job, double *node);

#endif
