/* SPDX-License-Identifier: BSD-3-Clause */
#include "dynlib.h"

#include <dlfcn.h>
#include <string.h>

static int resolve(void *library, const char *name, const struct ergon_dynsym *syms, size_t nsyms,
		   void *functions, struct ergon_error *err)
{
	for (size_t i = 0; i < nsyms; i++) {
		void *address = dlsym(library, syms[i].name);

		if (!address)
			return ergon_error_set(err, "%s has no %s", name, syms[i].name);
		memcpy((char *)functions + syms[i].offset, &address, sizeof(address));
	}
	return 0;
}

int ergon_dynlib_load(const char *const *names, const struct ergon_dynsym *syms, size_t nsyms,
		      void *functions, struct ergon_error *err)
{
	void *library;

	ergon_error_set(err, "no library named");
	for (size_t i = 0; names[i]; i++) {
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (library)
			return resolve(library, names[i], syms, nsyms, functions, err);
		if (i == 0)
			ergon_error_set(err, "%s", dlerror());
	}
	return -1;
}
