/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of other people's files. Strict, and the same in every locale,
 * which strtod is not.
 */
#ifndef ERGON_NUMBER_H
#define ERGON_NUMBER_H

#include <stdint.h>

#include "problem.h"

#define NUMBER_MAX_AMOUNT 1e15  /* seconds or joules; more is a damaged file */

/* Why a text is not what was expected; text completes "'1,5' ...". */
struct number_fault {
	enum problem_kind kind;
	const char *text;
};

extern const struct number_fault number_negative;

/* digits[.digits][e[+-]digits], 0 to NUMBER_MAX_AMOUNT. NULL: good, *out is set. */
const struct number_fault *number_amount(const char *text, double *out);

/* An integer from 0 to max. */
const struct number_fault *number_count(const char *text, uint64_t max, uint64_t *out);

#endif
