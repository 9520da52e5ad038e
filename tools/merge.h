/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One result from all ranks of a step. Files are read one at a time and
 * added to sums per (phase, activity, function): memory grows with the
 * distinct rows and the nodes, and by a bit and a file name per rank.
 * Clocks of different hosts are never compared.
 *
 * merge_run computes; the writers below only print.
 */
#ifndef ERGON_MERGE_H
#define ERGON_MERGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"
#include "merge_sum.h"
#include "problem.h"
#include "rankfile.h"
#include "strmap.h"

/* Pointers, freed with the list. */
struct merge_list {
	void **items;
	size_t n, capacity;
};

struct merge_phase {
	char name[ERGON_NAME_MAX];
	struct merge_cost cost;
	struct merge_tally tally;
};

struct merge_row {
	char phase[ERGON_NAME_MAX];
	char function[ERGON_NAME_MAX];
	int activity;
	struct merge_cost cost;
	struct merge_phase *sum;
	unsigned serial;          /* rank file that was added last */
};

struct merge_node {
	char host[64], boot_id[40];
	unsigned ranks;
	bool has_file;
	unsigned measured;        /* columns that the node file has */
	unsigned ranks_measured;  /* columns that its ranks have */
	double node_j[ERGON_COLUMN_COUNT];
	double unattributed_j[ERGON_COLUMN_COUNT];
	double ranks_j[ERGON_COLUMN_COUNT];
	uint64_t values;          /* rounded figures in the sums */
	char *ledger;             /* path of its left-over ledger */
};

/* Whether sum(ranks) + unattributed = nodes, over the nodes that have a file. */
struct merge_conservation {
	bool known;               /* there was something to compare */
	bool ok;
	double ranks, unattributed, node;
	double difference;        /* ranks + unattributed - node */
	double relative;          /* of node */
	const char *worst_host;   /* largest difference */
};

struct merge {
	struct rankfile_head head; /* what all ranks share, from the first */
	char ns[64];
	unsigned seen, complete, partial;
	double wall_s;            /* of the longest rank */
	double overhead_s;        /* of all ranks */
	uint64_t missed;          /* samples */
	unsigned measured;        /* energy columns that exist */
	bool estimated;
	unsigned hosts;           /* with ranks */

	struct merge_list rows;   /* struct merge_row, sorted */
	struct merge_list phases; /* struct merge_phase, sorted */
	struct merge_cost activity[ERGON_ACTIVITY_COUNT];
	struct merge_cost waiting; /* wait, collective and poll of each rank */
	struct merge_cost all;
	struct merge_list nodes;  /* struct merge_node, in the order found */
	double node_j[ERGON_COLUMN_COUNT];
	double unattributed_j[ERGON_COLUMN_COUNT];
	unsigned node_measured;
	unsigned nodes_with_file;
	struct merge_conservation conservation[ERGON_COLUMN_COUNT];
	char why[512];            /* what explains a difference */
	struct problems problems;

	/* Called now and then while files are read; may be NULL. Set before merge_run. */
	void (*progress)(size_t done, size_t files);

	/* private */
	struct merge_tally tally_activity[ERGON_ACTIVITY_COUNT], tally_waiting, tally_all;
	struct strmap row_map, phase_map, node_map;
	uint8_t *ranks_seen;      /* a bit per rank */
	unsigned serial;
};

/*
 * Merge the results in dirs into m, which must be zero (but progress). ns: the namespace
 * (MPI_COMM_WORLD) to merge, NULL: the one most files are of. 0: done, look
 * at m->problems; 1: nothing usable was found; -1 + err: dirs make no sense.
 */
int merge_run(struct merge *m, char *const dirs[], unsigned ndirs, const char *ns,
	      struct ergon_error *err);
void merge_free(struct merge *m);

/* The last step of merge_run: missing ranks, sums of the nodes, conservation. */
void merge_check(struct merge *m);

/* top: rows of the long table, the most expensive first; 0: all, in order. */
void merge_write_text(const struct merge *m, unsigned top, FILE *out);
int merge_write_json(const struct merge *m, FILE *out);
void merge_write_csv(const struct merge *m, FILE *out);

#endif
