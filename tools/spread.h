/* SPDX-License-Identifier: BSD-3-Clause */
/* How measured values are spread: what a benchmark prints of them. Pure. */
#ifndef ERGON_TOOLS_SPREAD_H
#define ERGON_TOOLS_SPREAD_H

#include <stddef.h>
#include <stdint.h>

struct spread {
	size_t n;                 /* 0: nothing was measured */
	uint64_t median, p99, max;
};

/* Sorts the values. p99: the least value that 99 % of them do not exceed. */
struct spread spread_of(uint64_t *values, size_t n);

#endif
