/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runs of a job. A requeued job keeps its number and so does one whose
 * number came back; the extern step does not know how often its job was
 * requeued. So runs are told apart by time: when all steps have ended and
 * then one begins whose number was there before, or whose restart count
 * differs, it is another run. Pure.
 */
#ifndef ERGON_ACCT_RUN_H
#define ERGON_ACCT_RUN_H

#include <stddef.h>

#include "record.h"

/*
 * How many of the records, which are of one job and sorted by start, are of
 * the first run. 0 when memory is out.
 */
size_t ergon_acct_run(const struct ergon_record *const *records, size_t n);

/* When a record ends: its end, else as far as its curve goes; after its start in any case. */
int64_t ergon_acct_end_ns(const struct ergon_record *r);

#endif
