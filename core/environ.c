/* SPDX-License-Identifier: BSD-3-Clause */
#include "environ.h"

#include <stdlib.h>

static const struct {
	const char *name;
	const char *preset;
	const char *help;
} table[ERGON_ENV_COUNT] = {
#define X(c, n, d, h) { n, d, h },
	ERGON_ENV_TABLE(X)
#undef X
};

const char *ergon_env_get(enum ergon_env var)
{
	const char *value = secure_getenv(table[var].name);

	return value && *value ? value : table[var].preset;
}

const char *ergon_env_name(enum ergon_env var)
{
	return table[var].name;
}

void ergon_env_help(FILE *out)
{
	for (int i = 0; i < ERGON_ENV_COUNT; i++)
		fprintf(out, "%-20s %s%s%s%s\n", table[i].name, table[i].help,
			*table[i].preset ? " [" : "", table[i].preset,
			*table[i].preset ? "]" : "");
}
