/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the function behind a wrapper, at its first call: the next
 * MPI_X in load order (so that preloaded tools chain), else PMPI_X in the
 * global scope, else PMPI_X of a library that was opened RTLD_LOCAL.
 * Nothing is linked: the library loads into any process.
 */
#ifndef ERGON_NEXT_H
#define ERGON_NEXT_H

#include <stdatomic.h>

#include "enter.h"

typedef void ergon_any_f(void);

/* Filled by ergon_next_find. */
extern ergon_any_f *_Atomic ergon_next_cache[ERGON_NCALLS];

/*
 * Never NULL: where there is no such function, one line on stderr and a
 * function that returns 1, an error code in every MPI. Keeps errno.
 */
ergon_any_f *ergon_next_find(unsigned call);

static inline ergon_any_f *ergon_next(unsigned call)
{
	ergon_any_f *next = atomic_load_explicit(&ergon_next_cache[call], memory_order_relaxed);

	return next ? next : ergon_next_find(call);
}

/* PMPI_X by its full name, wherever it is; NULL when there is none. */
void *ergon_next_symbol(const char *name);

#endif
