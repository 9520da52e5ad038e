/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that knows no MPI and opens an MPI program as a plugin, RTLD_LOCAL, as interpreters do. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int (*plugin_main)(int, char **);
	void *module, *symbol;

	if (argc < 3)
		return 2;
	module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	symbol = module ? dlsym(module, "plugin_main") : NULL;
	if (!symbol) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	memcpy(&plugin_main, &symbol, sizeof(plugin_main));
	return plugin_main(argc - 1, argv + 1);
}
