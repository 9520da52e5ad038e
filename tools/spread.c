/* SPDX-License-Identifier: BSD-3-Clause */
#include "spread.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

struct spread spread_of(uint64_t *values, size_t n)
{
	if (n == 0)
		return (struct spread){ 0 };
	qsort(values, n, sizeof(*values), ascending);
	return (struct spread){ n, values[(n - 1) / 2], values[(99 * n + 99) / 100 - 1], values[n - 1] };
}
