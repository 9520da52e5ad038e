/* SPDX-License-Identifier: BSD-3-Clause */
#include "powercap.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delta.h"

/* Control types; the second repeats counters of the first on some laptops. */
#define TYPE_MSR "intel-rapl"
#define TYPE_MMIO "intel-rapl-mmio"

static const struct {
	const char *name;
	enum ergon_domain domain;
} subzones[] = {
	{ "core", ERGON_DOMAIN_CORE },
	{ "uncore", ERGON_DOMAIN_UNCORE },
	{ "dram", ERGON_DOMAIN_DRAM },
};

/* "PREFIXn" with a decimal n; *rest is what follows. -1 when it is not. */
static int number_after(const char *text, const char *prefix, const char **rest)
{
	size_t len = strlen(prefix);
	char *end;
	long value;

	if (strncmp(text, prefix, len) != 0 || text[len] < '0' || text[len] > '9')
		return -1;
	errno = 0;
	value = strtol(text + len, &end, 10);
	*rest = end;
	return errno == 0 && value <= INT_MAX ? (int)value : -1;
}

/* "package-0" or "package-0-die-3". */
static bool parse_package(const char *name, int *package, int *die)
{
	const char *rest;

	*package = number_after(name, "package-", &rest);
	*die = -1;
	if (*package < 0)
		return false;
	if (*rest == '\0')
		return true;
	*die = number_after(rest, "-die-", &rest);
	return *die >= 0 && *rest == '\0';
}

/* "psys", or "psys-1" where the kernel numbers it by package. */
static bool parse_psys(const char *name, int *package)
{
	const char *rest = "";

	*package = strcmp(name, "psys") == 0 ? -1 : number_after(name, "psys-", &rest);
	return strcmp(name, "psys") == 0 || (*package >= 0 && *rest == '\0');
}

static bool parse_subzone(const char *name, enum ergon_domain *domain)
{
	for (size_t i = 0; i < sizeof(subzones) / sizeof(subzones[0]); i++) {
		if (strcmp(name, subzones[i].name) == 0) {
			*domain = subzones[i].domain;
			return true;
		}
	}
	return false;
}

static ssize_t read_name(const struct ergon_sysroot *sr, const char *entry, char *name, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), ERGON_POWERCAP_DIR "/%s/name", entry);
	return ergon_sysroot_read_text(sr, path, name, size);
}

/* The package of a child zone is its parent's: strip the last ":n". */
static bool parent_package(const struct ergon_sysroot *sr, const char *entry, int *package, int *die)
{
	char parent[64], name[64];
	char *colon;

	snprintf(parent, sizeof(parent), "%s", entry);
	colon = strrchr(parent, ':');
	*colon = '\0';
	return read_name(sr, parent, name, sizeof(name)) >= 0 && parse_package(name, package, die);
}

/* Fill a zone from its entry; NULL, or why it cannot be used. */
static const char *identify(const struct ergon_machine *m, const char *entry, struct ergon_zone *zone)
{
	const char *first = strchr(entry, ':');
	bool child = strchr(first + 1, ':');
	char path[PATH_MAX], name[64];

	*zone = (struct ergon_zone){ .package = -1, .die = -1 };
	snprintf(zone->entry, sizeof(zone->entry), "%s", entry);
	zone->mmio = strncmp(entry, TYPE_MMIO ":", sizeof(TYPE_MMIO)) == 0;
	if (read_name(m->sysroot, entry, name, sizeof(name)) < 0)
		return "its name cannot be read: masked, as in a container?";
	if (parse_package(name, &zone->package, &zone->die)) {
		zone->domain = ERGON_DOMAIN_PACKAGE;
	} else if (parse_psys(name, &zone->package)) {
		zone->domain = ERGON_DOMAIN_PLATFORM;
	} else if (!parse_subzone(name, &zone->domain)) {
		return "unknown zone name";
	} else if (zone->domain == ERGON_DOMAIN_CORE && ergon_topo_counts_per_package(m->topo)) {
		/* The kernel reads AMD's register, which each core has, on one CPU of the package. */
		return "on AMD the energy of one core, not of all";
	} else if (child) {
		if (!parent_package(m->sysroot, entry, &zone->package, &zone->die))
			return "its parent is not a package";
	} else if (m->topo->npackages == 1) {
		zone->package = m->topo->packages[0];
	}
	snprintf(path, sizeof(path), ERGON_POWERCAP_DIR "/%s/max_energy_range_uj", entry);
	if (ergon_sysroot_read_u64(m->sysroot, path, &zone->range_uj) < 0)
		zone->range_uj = 0;
	return NULL;
}

/* The zone that already counts what this one counts, and why it is the same. */
static const struct ergon_zone *counted_by(const struct ergon_zones *list, const struct ergon_zone *zone,
					   bool per_package, const char **why)
{
	for (size_t i = 0; i < list->nzones; i++) {
		const struct ergon_zone *other = &list->zones[i];

		if (other->domain != zone->domain || other->package != zone->package)
			continue;
		if (zone->mmio && !other->mmio)
			*why = "the same counter by another path as";
		else if (other->die == zone->die)
			*why = "the same as";
		else if (per_package)
			*why = "AMD counts per package: a mirror of";
		else
			continue;
		return other;
	}
	return NULL;
}

static int compare_zones(const void *a, const void *b)
{
	const struct ergon_zone *x = a, *y = b;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	if (x->package != y->package)
		return x->package < y->package ? -1 : 1;
	return (x->die > y->die) - (x->die < y->die);
}

static bool is_zone(const char *entry, const char *type)
{
	size_t len = strlen(type);

	/* The bare control type has no counter. */
	return strncmp(entry, type, len) == 0 && entry[len] == ':' &&
	       strlen(entry) < sizeof(((struct ergon_zone *)0)->entry);
}

int ergon_zones_scan(const struct ergon_machine *m, struct ergon_zones *out,
		     struct ergon_drops *drops)
{
	static const char *const types[] = { TYPE_MSR, TYPE_MMIO };
	bool per_package = ergon_topo_counts_per_package(m->topo);
	char **names;
	ssize_t n = ergon_sysroot_list(m->sysroot, ERGON_POWERCAP_DIR, &names);

	*out = (struct ergon_zones){ 0 };
	if (n < 0)
		return -1;
	out->zones = calloc((size_t)n + 1, sizeof(*out->zones));
	for (size_t t = 0; out->zones && t < 2; t++) {
		for (ssize_t i = 0; i < n; i++) {
			struct ergon_zone *zone = &out->zones[out->nzones];
			const struct ergon_zone *other;
			const char *why;

			if (!is_zone(names[i], types[t]))
				continue;
			out->nentries++;
			why = identify(m, names[i], zone);
			other = why ? NULL : counted_by(out, zone, per_package, &why);
			if (why)
				ergon_drop(drops, names[i], "%s%s%s", why, other ? " " : "",
					   other ? other->entry : "");
			else
				out->nzones++;
		}
	}
	ergon_sysroot_free_list(names);
	if (!out->zones)
		return -1;
	for (size_t i = 0; per_package && i < out->nzones; i++)
		out->zones[i].die = -1;
	qsort(out->zones, out->nzones, sizeof(*out->zones), compare_zones);
	return 0;
}

void ergon_zones_free(struct ergon_zones *zones)
{
	free(zones->zones);
	*zones = (struct ergon_zones){ 0 };
}

uint64_t ergon_zone_modulus_uj(uint64_t range_uj)
{
	const uint64_t raw_max = UINT32_MAX;

	if (range_uj == 0 || range_uj > UINT64_MAX / 2)
		return ERGON_MODULUS_UNKNOWN;
	return range_uj + (range_uj + raw_max / 2) / raw_max;
}
