/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer: a thread of its own that takes samples from a ring and writes
 * samples.csv, so that a slow file system never delays the sampler. Flushes
 * once a second. When the ring overflows rows are merged and flagged gap;
 * the sums stay right.
 */
#ifndef ERGON_WRITER_H
#define ERGON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "error.h"
#include "meter.h"
#include "sampler.h"

struct ergon_writer;

/*
 * Start writing the selected channels to out, header first. channels and
 * selected stay the caller's and must outlive the writer; out is owned by the
 * writer from here on when it succeeds. name is used in messages.
 */
struct ergon_writer *ergon_writer_start(FILE *out, const char *name,
					const struct ergon_channel *channels,
					const bool *selected, size_t nchannels,
					struct ergon_error *err);

/* An ergon_sample_f: arg is the writer. Never blocks. */
void ergon_writer_push(void *arg, const struct ergon_sample *sample);

/*
 * Write what is left, `last` included even if the ring lost it, and close.
 * -1 + err when anything could not be written. last may be NULL. The writer
 * is gone afterwards; NULL is allowed and returns 0.
 */
int ergon_writer_finish(struct ergon_writer *w, const struct ergon_sample *last,
			struct ergon_error *err);

#endif
