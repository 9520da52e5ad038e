/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Take a journal over into the store, exactly once: rows, offset and the
 * committed length of the quarantine file change in one transaction, so
 * whoever is killed at any point leaves nothing that the next run would
 * count twice or miss. Runs side by side take turns batch by batch.
 */
#ifndef ERGON_INGEST_FILE_H
#define ERGON_INGEST_FILE_H

#include <stdint.h>

#include "error.h"
#include "store.h"

struct ergon_ingest {
	struct ergon_store *store;
	const char *quarantine;   /* file for lines that are no records */
	char *buffer;             /* ERGON_INGEST_BATCH bytes */
	int64_t stored;           /* records new to the store or better than what it had */
	int64_t known;            /* records it had already */
	int64_t bad;              /* lines put into quarantine */
	int64_t unfinished;       /* files whose last line is not complete: left for the next run */
};

/* Bytes of a journal per transaction; far more than a line. */
#define ERGON_INGEST_BATCH (8 << 20)

enum ergon_ingest_result {
	ERGON_INGEST_DONE,
	ERGON_INGEST_SKIPPED,     /* this file cannot be read: err; others may be */
	ERGON_INGEST_STOPPED      /* the store or the quarantine file failed: err */
};

enum ergon_ingest_result ergon_ingest_file(struct ergon_ingest *in, const char *path,
					   struct ergon_error *err);

#endif
