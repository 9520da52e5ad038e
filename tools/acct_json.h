/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows as JSON: exact numbers, every name as it was recorded, null for what is not known. */
#ifndef ERGON_ACCT_JSON_H
#define ERGON_ACCT_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "acct_total.h"

/*
 * One job on one line: the members of its row and "steps", an array of the
 * same for each step. -1 when memory is out.
 */
int ergon_acct_json(const struct ergon_acct_row *job, const struct ergon_acct_row *steps,
		    size_t nsteps, FILE *out);

#endif
