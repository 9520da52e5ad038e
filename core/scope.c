/* SPDX-License-Identifier: BSD-3-Clause */
#include "scope.h"

#include <stdio.h>
#include <string.h>

#define BIT(d) (1u << ERGON_DOMAIN_##d)
#define CORES (BIT(CORE) | BIT(UNCORE))
#define SOCKET (BIT(PACKAGE) | BIT(CPU) | BIT(DRAM) | BIT(IO) | CORES)

/* The words stand in the order of a scope's name; domains of one word side by side. */
static const struct {
	enum ergon_domain domain;
	const char *word;
	unsigned contains;        /* BIT() of the domains inside this one */
} domains[] = {
	{ ERGON_DOMAIN_NODE, "node",
	  BIT(PLATFORM) | BIT(MODULE) | BIT(SOC) | BIT(GPU) | SOCKET },
	/* A laptop's psys holds its GPU, a server's may: not adding it is the safe side. */
	{ ERGON_DOMAIN_PLATFORM, "platform", BIT(GPU) | SOCKET },
	{ ERGON_DOMAIN_MODULE, "module", BIT(SOC) | BIT(GPU) | SOCKET },
	{ ERGON_DOMAIN_SOC, "soc", SOCKET },
	{ ERGON_DOMAIN_PACKAGE, "cpu", BIT(CPU) | CORES },
	{ ERGON_DOMAIN_CPU, "cpu", CORES },
	{ ERGON_DOMAIN_DRAM, "dram", 0 },
	{ ERGON_DOMAIN_GPU, "gpu", 0 },
	{ ERGON_DOMAIN_IO, "io", 0 },
	{ ERGON_DOMAIN_CORE, "core", 0 },
	{ ERGON_DOMAIN_UNCORE, "uncore", 0 },
};

#define DOMAINS (sizeof(domains) / sizeof(domains[0]))

/* What a total is made of, best first; see the rules in scope.h. */
static const struct {
	enum ergon_domain domain;
	bool needs_counter;       /* power alone does not qualify */
	bool last_resort;         /* only where nothing of the node is counted yet */
} choices[] = {
	{ ERGON_DOMAIN_NODE, true, false },
	{ ERGON_DOMAIN_MODULE, false, false },
	{ ERGON_DOMAIN_SOC, false, false },
	{ ERGON_DOMAIN_PACKAGE, false, false },
	{ ERGON_DOMAIN_CPU, false, false },
	{ ERGON_DOMAIN_DRAM, false, false },
	{ ERGON_DOMAIN_IO, false, false },
	{ ERGON_DOMAIN_NODE, false, true },
	{ ERGON_DOMAIN_PLATFORM, false, true },
	{ ERGON_DOMAIN_GPU, false, false },
};

static unsigned contents(enum ergon_domain whole)
{
	for (size_t i = 0; i < DOMAINS; i++)
		if (domains[i].domain == whole)
			return domains[i].contains;
	return 0;
}

bool ergon_domain_contains(enum ergon_domain whole, enum ergon_domain part)
{
	return contents(whole) & 1u << part;
}

static bool has_address(const struct ergon_channel *ch)
{
	return strncmp(ch->id, "pci ", 4) == 0;
}

/*
 * Something of the domain is counted already by a source that divides the
 * machine otherwise (memory of the node and memory by package, accelerators
 * by number and by address): which of them are the same, nobody knows.
 */
static bool clashes(const struct ergon_channel *channels, size_t n, const struct ergon_channel *ch)
{
	for (size_t i = 0; i < n; i++) {
		const struct ergon_channel *other = &channels[i];

		if (other->in_total && other->domain == ch->domain &&
		    strcmp(other->source, ch->source) != 0 &&
		    ((other->package < 0) != (ch->package < 0) ||
		     has_address(other) != has_address(ch)))
			return true;
	}
	return false;
}

void ergon_scope_choose(struct ergon_channel *channels, size_t n)
{
	unsigned inside = 0; /* domains that what is chosen holds */
	bool some = false;

	for (size_t i = 0; i < n; i++)
		channels[i].in_total = false;
	for (size_t c = 0; c < sizeof(choices) / sizeof(choices[0]); c++) {
		enum ergon_domain domain = choices[c].domain;
		bool chosen = false;

		if (inside & 1u << domain || (choices[c].last_resort && some))
			continue;
		for (size_t i = 0; i < n; i++) {
			if (channels[i].domain != domain || channels[i].in_total ||
			    (choices[c].needs_counter && channels[i].integrated) ||
			    (chosen && domain == ERGON_DOMAIN_NODE) || /* two meters are not two nodes */
			    clashes(channels, n, &channels[i]))
				continue;
			channels[i].in_total = chosen = true;
		}
		if (!chosen)
			continue;
		some = true;
		inside |= contents(domain) | (choices[c].last_resort ? 1u << domain : 0);
		if (domain == ERGON_DOMAIN_NODE)
			inside |= 1u << domain;
	}
}

bool ergon_scope_same(const struct ergon_channel *a, const struct ergon_channel *b)
{
	if (a->domain != b->domain)
		return false;
	if (a->id[0] && b->id[0])
		return strcmp(a->id, b->id) == 0;
	return !a->id[0] && !b->id[0] && a->package == b->package && a->die == b->die;
}

/* A domain of the total that holds this one; -1. */
static int holder(const struct ergon_channel *channels, size_t n, enum ergon_domain part)
{
	for (size_t i = 0; i < n; i++)
		if (channels[i].in_total && ergon_domain_contains(channels[i].domain, part))
			return (int)channels[i].domain;
	return -1;
}

static bool covers(const struct ergon_channel *channels, size_t n, const bool *selected,
		   enum ergon_domain domain)
{
	for (size_t i = 0; i < n; i++)
		if (channels[i].in_total && channels[i].domain == domain &&
		    (!selected || selected[i]))
			return true;
	return false;
}

const char *ergon_scope_reason(const struct ergon_channel *channels, size_t n, size_t i,
			       char *buf, size_t size)
{
	const struct ergon_channel *ch = &channels[i];
	char words[64];
	int whole;

	if (ch->in_total)
		return "";
	whole = holder(channels, n, ch->domain);
	ergon_scope_words(channels, n, NULL, words, sizeof(words));
	if (whole >= 0)
		snprintf(buf, size, "inside %s", ergon_domain_name((enum ergon_domain)whole));
	else if (!*words)
		snprintf(buf, size, "%s alone is no total", ergon_domain_name(ch->domain));
	else if (ch->domain == ERGON_DOMAIN_NODE && ch->integrated)
		snprintf(buf, size, "tells only power; %s is counted", words);
	else if (covers(channels, n, NULL, ch->domain))
		snprintf(buf, size, "%s is counted by another meter", ergon_domain_name(ch->domain));
	else
		snprintf(buf, size, "holds %s, which is counted", words);
	return buf;
}

char *ergon_scope_words(const struct ergon_channel *channels, size_t n, const bool *selected,
			char *buf, size_t size)
{
	const char *last = "";
	size_t used = 0;

	buf[0] = '\0';
	for (size_t d = 0; d < DOMAINS && used < size; d++) {
		if (strcmp(domains[d].word, last) == 0 ||
		    !covers(channels, n, selected, domains[d].domain))
			continue;
		last = domains[d].word;
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? "+" : "", last);
	}
	return buf;
}
