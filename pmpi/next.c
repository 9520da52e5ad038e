/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPICH opened RTLD_LOCAL (mpi4py, MPI.jl) stays invisible to RTLD_NEXT
 * and RTLD_DEFAULT to the end; Open MPI reopens itself globally in
 * MPI_Init. So failures are not cached, the library that helped is.
 */
#include "next.h"
#include "say.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

ergon_any_f *_Atomic ergon_next_cache[ERGON_NCALLS];

struct nth {
	unsigned left;
	char path[PATH_MAX];
};

static int copy_nth(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct nth *nth = arg;

	(void)size;
	if (nth->left-- > 0)
		return 0;
	snprintf(nth->path, sizeof(nth->path), "%s", info->dlpi_name ? info->dlpi_name : "");
	return 1;
}

/*
 * Ask every loaded object (dlsym looks into its dependencies too). One
 * object per walk: dlopen must not be called while the list is locked.
 */
static void *find_in_objects(const char *name)
{
	static void *_Atomic helped;
	void *handle = atomic_load(&helped);
	void *symbol = handle ? dlsym(handle, name) : NULL;

	for (unsigned i = 0; !symbol; i++) {
		struct nth nth = { .left = i };

		if (dl_iterate_phdr(copy_nth, &nth) == 0)
			break;
		handle = nth.path[0] ? dlopen(nth.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
		if (!handle)
			continue;
		symbol = dlsym(handle, name);
		if (symbol)
			atomic_store(&helped, handle);
		else
			dlclose(handle);
	}
	return symbol;
}

void *ergon_next_symbol(const char *name)
{
	int saved = errno;
	void *symbol = dlsym(RTLD_DEFAULT, name);

	if (!symbol)
		symbol = find_in_objects(name);
	errno = saved;
	return symbol;
}

static long absent(void)
{
	return 1;
}

ergon_any_f *ergon_next_find(unsigned call)
{
	static _Atomic unsigned char told[ERGON_NCALLS];
	int saved = errno;
	char pmpi[64];
	void *symbol;
	ergon_any_f *next;

	snprintf(pmpi, sizeof(pmpi), "P%s", ergon_calls[call].name);
	symbol = dlsym(RTLD_NEXT, pmpi + 1);
	if (!symbol)
		symbol = ergon_next_symbol(pmpi);
	if (!symbol) {
		if (!atomic_exchange(&told[call], 1))
			ergon_say("the MPI library of this program has no %s; the call fails",
				  pmpi + 1);
		errno = saved;
		return (ergon_any_f *)absent;
	}
	memcpy(&next, &symbol, sizeof(next));
	atomic_store_explicit(&ergon_next_cache[call], next, memory_order_relaxed);
	errno = saved;
	return next;
}
