/* SPDX-License-Identifier: BSD-3-Clause */
/* Times as sacct takes and shows them, in the local time zone. */
#ifndef ERGON_ACCT_TIME_H
#define ERGON_ACCT_TIME_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * YYYY-MM-DD[THH:MM[:SS]], HH:MM[:SS], today, midnight, noon, fika,
 * teatime, now[{+|-}N[seconds|minutes|hours|days|weeks]] (any beginning of
 * a unit). 0, or -1 when text is none of them.
 */
int ergon_acct_time_parse(const char *text, time_t now, time_t *result);

/* "2026-11-30T12:00:00" */
char *ergon_acct_time_format(int64_t ns, char *buf, size_t size);

/* "[DD-]HH:MM:SS", seconds rounded down. */
char *ergon_acct_elapsed_format(int64_t ns, char *buf, size_t size);

#endif
