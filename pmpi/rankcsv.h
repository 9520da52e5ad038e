/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text of the rank and node files (doc/formats.md). Numbers are formatted
 * as integers of 1e-9, so no locale of the host program can touch them.
 */
#ifndef ERGON_RANKCSV_H
#define ERGON_RANKCSV_H

#include <stddef.h>
#include <stdio.h>

#include "ledger.h"

/* value with nine decimals, "-" kept, in buf (32 bytes are enough). Not finite: "0.000000000". */
char *ergon_nano_format(double value, char *buf, size_t size);

/* The same for an exact count of ns. */
char *ergon_ns_format(uint64_t ns, char *buf, size_t size);

/* state: "complete", "aborted", "noFinalize". Errors show in ferror(out). */
void ergon_rank_csv(FILE *out, const struct ergon_rank_head *head,
		    const struct ergon_row *rows, const char *state);

void ergon_node_csv(FILE *out, const struct ergon_node_head *head,
		    const struct ergon_node_total *total, const char *state);

/*
 * Write name in directory dirfd by way of a temporary file: it is there
 * whole or not at all. write_text gets arg. -1 + errno.
 */
int ergon_write_whole(int dirfd, const char *name,
		      void (*write_text)(FILE *out, const void *arg), const void *arg);

#endif
