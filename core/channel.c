/* SPDX-License-Identifier: BSD-3-Clause */
#include "channel.h"

#include <stddef.h>
#include <strings.h>

static const char *const domain_names[ERGON_DOMAIN_COUNT] = {
#define X(c, w) w,
	ERGON_DOMAIN_TABLE(X)
#undef X
};

static const struct {
	const char *word;
	enum ergon_domain domain;
} aliases[] = {
	{ "pkg", ERGON_DOMAIN_PACKAGE },
	{ "pp0", ERGON_DOMAIN_CORE },
	{ "pp1", ERGON_DOMAIN_UNCORE },
	{ "ram", ERGON_DOMAIN_DRAM },
	{ "psys", ERGON_DOMAIN_PLATFORM },
};

const char *ergon_domain_name(enum ergon_domain domain)
{
	return (unsigned)domain < ERGON_DOMAIN_COUNT ? domain_names[domain] : NULL;
}

int ergon_domain_parse(const char *word)
{
	for (int i = 0; i < ERGON_DOMAIN_COUNT; i++)
		if (strcasecmp(word, domain_names[i]) == 0)
			return i;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (strcasecmp(word, aliases[i].word) == 0)
			return (int)aliases[i].domain;
	return -1;
}
