/* SPDX-License-Identifier: BSD-3-Clause */
/* Another tool that wraps MPI_Barrier, forwards by load order, and says how many it saw. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int seen;

int MPI_Barrier(MPI_Comm comm)
{
	void *symbol = dlsym(RTLD_NEXT, "MPI_Barrier");
	int (*next)(MPI_Comm);

	memcpy(&next, &symbol, sizeof(next));
	seen++;
	return next(comm);
}

__attribute__((destructor)) static void tell(void)
{
	if (seen)
		printf("stacked tool saw %d\n", seen);
}
