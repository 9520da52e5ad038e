/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files a merge reads. Memory: one name per file. */
#ifndef ERGON_MERGE_SCAN_H
#define ERGON_MERGE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

/* In the order in which they are read. */
enum merge_file_kind {
	MERGE_NODE_CSV,
	MERGE_NODE_LEDGER,
	MERGE_RANK_CSV,
	MERGE_RANK_LEDGER,
	MERGE_FILE_KINDS
};

struct merge_file {
	enum merge_file_kind kind;
	unsigned dir;             /* index of its directory */
	const char *name;         /* in the directory */
	const char *ns;           /* of a rank's: rank.<ns>.<rank>.csv, ns_len bytes */
	size_t ns_len;
	size_t stem_len;          /* the name without its ending */
	unsigned long rank;       /* ULONG_MAX: the name has none */
};

struct merge_scan {
	char **dirs;
	unsigned ndirs;
	struct merge_file *files; /* by kind, namespace, rank, name */
	size_t nfiles, capacity;
};

/*
 * List the files of the directories. A directory without such files that
 * holds exactly one ergon.* directory stands for that one. -1 + err when
 * a directory cannot be read, or holds several results.
 */
int merge_scan_dirs(struct merge_scan *scan, char *const dirs[], unsigned ndirs,
		    struct ergon_error *err);

/* DIR/NAME, to be freed; NULL: out of memory. */
char *merge_scan_path(const struct merge_scan *scan, const struct merge_file *file);

/* Whether a file of this kind with the same stem exists in the same directory. */
bool merge_scan_twin(const struct merge_scan *scan, const struct merge_file *file,
		     enum merge_file_kind kind);

void merge_scan_free(struct merge_scan *scan);

#endif
