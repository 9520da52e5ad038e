/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of backends, and what they share. */
#include <stddef.h>
#include <string.h>

#include "backend.h"

const struct ergon_backend *const ergon_backends[] = {
	&ergon_backend_model,
	NULL
};

static const char *const probe_words[ERGON_PROBE_COUNT] = {
#define X(c, w) w,
	ERGON_PROBE_TABLE(X)
#undef X
};

/* More than any machine draws today: the guard is for garbage, not for doubt. */
static const double generous_watts[ERGON_DOMAIN_COUNT] = {
	[ERGON_DOMAIN_PACKAGE] = 2000,
	[ERGON_DOMAIN_CORE] = 2000,
	[ERGON_DOMAIN_UNCORE] = 1000,
	[ERGON_DOMAIN_DRAM] = 1000,
	[ERGON_DOMAIN_PLATFORM] = 100000,
	[ERGON_DOMAIN_GPU] = 5000,
	[ERGON_DOMAIN_NODE] = 100000,
	[ERGON_DOMAIN_CPU] = 4000,
	[ERGON_DOMAIN_IO] = 5000,
	[ERGON_DOMAIN_SOC] = 5000,
	[ERGON_DOMAIN_MODULE] = 10000,
};

const struct ergon_backend *ergon_backend_by_name(const char *name)
{
	for (size_t i = 0; ergon_backends[i]; i++)
		if (strcmp(ergon_backends[i]->name, name) == 0)
			return ergon_backends[i];
	return NULL;
}

const char *ergon_probe_word(enum ergon_probe_state state)
{
	return (unsigned)state < ERGON_PROBE_COUNT ? probe_words[state] : "unknown";
}

double ergon_machine_max_watts(const struct ergon_machine *m, enum ergon_domain domain)
{
	return m->max_watts[domain] > 0 ? m->max_watts[domain] : generous_watts[domain];
}
