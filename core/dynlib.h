/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Libraries opened at run time: none of them is needed to build or to
 * start. A library stays mapped once it was loaded: the destructors of a
 * vendor's C++ code are not run in a process where we are guests.
 */
#ifndef ERGON_DYNLIB_H
#define ERGON_DYNLIB_H

#include <stddef.h>

#include "error.h"

/* A function and where its address goes in the caller's struct of pointers. */
struct ergon_dynsym {
	const char *name;
	size_t offset;
};

/*
 * Load the first library of the NULL-terminated list that the loader finds
 * (local symbols, all bound at once) and fill `functions`. 0; or -1 + err,
 * which tells why the first name could not be loaded, or what a library
 * lacks; then no pointer may be used. Search path: the dynamic loader's,
 * with LD_LIBRARY_PATH as it was when the process started.
 */
int ergon_dynlib_load(const char *const *names, const struct ergon_dynsym *syms, size_t nsyms,
		      void *functions, struct ergon_error *err);

#endif
