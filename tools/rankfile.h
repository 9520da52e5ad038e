/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reader of rank.*.csv and node.*.csv (doc/formats.md). Strict: every line
 * that is not what the format says is named with file and line, dropped,
 * and reading goes on; numbers are read in the C locale whatever the
 * process uses. Hostile input costs at most RANKFILE_MAX_BYTES of memory.
 *
 * One struct rankfile is used for any number of files, one after another.
 */
#ifndef ERGON_RANKFILE_H
#define ERGON_RANKFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger.h"
#include "problem.h"

#define RANKFILE_MAX_BYTES (16u << 20)
#define RANKFILE_MAX_ROWS 65536u

enum rankfile_kind { RANKFILE_RANK, RANKFILE_NODE };

/* The two header lines. Texts not given are "". */
struct rankfile_head {
	char job[64], step[32], host[64], boot_id[40], mpi[64];
	char mechanism[32], scope[32], share[16], reason[256];
	char state[16];           /* as written: complete, aborted, noFinalize */
	int rank, size;           /* -1 in a node file */
	double freq_hz, wall_s, overhead_s;
	uint64_t samples, missed;
};

struct rank_row {
	char phase[ERGON_NAME_MAX];
	char function[ERGON_NAME_MAX];
	int activity;             /* enum ergon_activity */
	unsigned measured;        /* bit per enum ergon_column that has a value */
	uint64_t calls;           /* at most INT64_MAX */
	double time_s, cpu_s;
	double joules[ERGON_COLUMN_COUNT];
	unsigned flags;           /* enum ergon_flag */
};

struct node_row {
	char channel[32];
	int domain;               /* enum ergon_domain */
	int package;              /* -1: node-wide */
	double energy_j, unattributed_j;
	unsigned flags;
};

struct rankfile {
	struct rankfile_head head;
	struct rank_row *rows;    /* of a rank file */
	size_t nrows, rows_capacity;
	struct node_row channels[ERGON_BOARD_MAX_CHANNELS]; /* of a node file */
	size_t nchannels;
	bool damaged;             /* something was dropped: the figures are too small */
	const char *partial;      /* why the run it tells of did not come to its end, NULL: it did */
	char *text;               /* buffer, reused */
	size_t text_len, text_capacity;
};

/*
 * Read a file. Returns 0 when its head and at least what is left of its
 * rows can be used (see damaged), -1 when nothing can. What is wrong goes
 * to problems.
 */
int rankfile_read(struct rankfile *f, const char *path, enum rankfile_kind kind,
		  struct problems *problems);

/* Only the head, silently. -1: not readable. */
int rankfile_read_head(struct rankfile *f, const char *path, enum rankfile_kind kind);

/* Append an empty row; NULL: out of memory. For readers of other formats. */
struct rank_row *rankfile_add_row(struct rankfile *f);

/* Forget the contents, keep the buffers. */
void rankfile_reset(struct rankfile *f);
void rankfile_free(struct rankfile *f);

#endif
