/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of drivers, as rows. Sources: the kernel's xgene-hwmon,
 * acpi_power_meter, i915, xe, amdgpu and ibmpowernv drivers and their ABI
 * descriptions, the out-of-tree amd_energy, NVIDIA's description of the
 * Grace power sensors.
 */
#include "hwmon_source.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delta.h"

#define MS 1000000ull

/* What tells sensors of one driver apart. */
enum told_by {
	BY_LABEL,
	BY_OEM_INFO,              /* power1_oem_info */
	BY_IN1_LABEL              /* the label of the device's second voltage */
};

enum place {
	PLACE_OUT,                /* not a source; row.why tells */
	PLACE_NODE,
	PLACE_SOCKET,             /* the text's number is the socket's */
	PLACE_DEVICE,             /* the driver has one device per socket */
	PLACE_GPU                 /* the device is a GPU */
};

/* The period of an averaging meter is its own interval, within these. */
#define OWN_INTERVAL 0
#define INTERVAL_MIN_MS 50
#define INTERVAL_MAX_MS 1000

/* Some builds of amd_energy hand the low 32 bits of the counter through, in units of 2^-16 J. */
#define AMD_MODULUS_UJ 65536000000ull
/* i915 and xe extend a 32-bit register, but only when read: at 1 kW within 4 minutes. */
#define NO_MODULUS ERGON_MODULUS_UNKNOWN

/*
 * The first row that matches is taken; of several sensors that tell the
 * same thing the one whose row stands first. driver and text are glob
 * patterns. Reading an Altra's sensor goes through a mailbox that may take
 * a second to fail; the others answer within some 10 ms.
 */
static const struct row {
	const char *driver;
	enum ergon_hwmon_kind kind;
	int index;                /* 0: any */
	enum told_by told_by;
	const char *text;
	enum place place;
	enum ergon_domain domain;
	unsigned period_ms;
	uint64_t modulus;
	bool zero_is_none;
	const char *why;          /* it is left out: always, or beside another of its device */
} rows[] = {
#define OUT(why) PLACE_OUT, ERGON_DOMAIN_COUNT, 0, 0, false, why
#define COUNTS(place, domain, modulus) PLACE_##place, ERGON_DOMAIN_##domain, 100, modulus, false, NULL
#define DRAWS(place, domain, ms) PLACE_##place, ERGON_DOMAIN_##domain, ms, 0, false, NULL
#define METERS(place, domain, ms) PLACE_##place, ERGON_DOMAIN_##domain, ms, 0, true, NULL
#define ENERGY ERGON_HWMON_ENERGY
#define POWER ERGON_HWMON_POWER
	/* Grace: module = Grace + GPU, Grace = CPU + SysIO + memory. */
	{ "power_meter", POWER, 1, BY_OEM_INFO, "Module Power Socket *", METERS(SOCKET, MODULE, OWN_INTERVAL) },
	{ "power_meter", POWER, 1, BY_OEM_INFO, "Grace Power Socket *", METERS(SOCKET, SOC, OWN_INTERVAL) },
	{ "power_meter", POWER, 1, BY_OEM_INFO, "CPU Power Socket *", METERS(SOCKET, CPU, OWN_INTERVAL) },
	{ "power_meter", POWER, 1, BY_OEM_INFO, "SysIO Power Socket *", METERS(SOCKET, IO, OWN_INTERVAL) },
	{ "power_meter", POWER, 1, BY_OEM_INFO, "*Socket*", OUT("an unknown part of a socket") },
	/* Often the service processor's, which is slow to tell even its interval. */
	{ "power_meter", POWER, 1, BY_OEM_INFO, "*", METERS(NODE, NODE, 1000) },

	{ "apm_xgene", POWER, 0, BY_LABEL, "CPU power", DRAWS(DEVICE, CPU, 200) },
	{ "apm_xgene", POWER, 0, BY_LABEL, "IO power", DRAWS(DEVICE, IO, 200) },

	/* POWER8 and 9: counters kept by the on-chip controller. */
	{ "ibmpowernv", ENERGY, 0, BY_LABEL, "System", COUNTS(NODE, NODE, NO_MODULUS) },
	{ "ibmpowernv", ENERGY, 0, BY_LABEL, "Chip +([0-9])", COUNTS(SOCKET, PACKAGE, NO_MODULUS) },
	{ "ibmpowernv", ENERGY, 0, BY_LABEL, "Chip * Memory", COUNTS(SOCKET, DRAM, NO_MODULUS) },
	{ "ibmpowernv", POWER, 0, BY_LABEL, "System", DRAWS(NODE, NODE, 100) },
	{ "ibmpowernv", POWER, 0, BY_LABEL, "Chip +([0-9])", DRAWS(SOCKET, PACKAGE, 100) },
	{ "ibmpowernv", POWER, 0, BY_LABEL, "Chip * Memory", DRAWS(SOCKET, DRAM, 100) },
	{ "ibmpowernv", ENERGY, 0, BY_LABEL, "*", OUT("parts of System") },
	{ "ibmpowernv", POWER, 0, BY_LABEL, "*", OUT("parts of System") },

	{ "@(amd_energy|zenergy)", ENERGY, 0, BY_LABEL, "Esocket*",
	  COUNTS(SOCKET, PACKAGE, AMD_MODULUS_UJ) },
	{ "@(amd_energy|zenergy)", ENERGY, 0, BY_LABEL, "Ecore*", OUT("inside package") },

	/* energy1 is the card's, energy2 the package's on it. */
	{ "@(i915|xe)", ENERGY, 1, BY_LABEL, "*", COUNTS(GPU, GPU, NO_MODULUS) },
	{ "@(i915|xe)", ENERGY, 2, BY_LABEL, "*", PLACE_GPU, ERGON_DOMAIN_GPU, 100, NO_MODULUS, false,
	  "inside energy1, the card's" },
	{ "@(i915|xe)", POWER, 1, BY_LABEL, "*", DRAWS(GPU, GPU, 100) },
	{ "i915_gt*", ENERGY, 0, BY_LABEL, "*", OUT("tiles inside their card") },

	/* Only an APU has this voltage; its power is the whole processor's. */
	{ "amdgpu", POWER, 1, BY_IN1_LABEL, "vddnb", OUT("the processor's own graphics") },
	{ "amdgpu", POWER, 1, BY_LABEL, "*", DRAWS(GPU, GPU, 100) },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* A sensor that a row knows, on the way to a source. */
struct match {
	struct ergon_hwmon_source source;
	size_t row;
	int number;               /* in the text; -1: none */
	bool out;
};

struct matches {
	struct match *items;
	size_t n;
	size_t unknown;
	const char *unknown_driver; /* one of them */
	struct {
		size_t n;
		const char *driver;
	} left_out[ROWS];         /* sensors of rows that are no sources */
};

/* --- what the table says --- */

static void text_of(const struct ergon_machine *m, const struct ergon_hwmon_device *dev,
		    const struct ergon_hwmon_sensor *sensor, enum told_by told_by,
		    char *buf, size_t size)
{
	char path[128];
	ssize_t len = -1;

	if (told_by == BY_LABEL) {
		snprintf(buf, size, "%s", sensor->label);
		return;
	}
	if (told_by == BY_OEM_INFO) {
		len = ergon_hwmon_attribute(m->sysroot, sensor, "oem_info", buf, size);
	} else {
		snprintf(path, sizeof(path), ERGON_HWMON_DIR "/%s/in1_label", dev->entry);
		len = ergon_sysroot_read_text(m->sysroot, path, buf, size);
	}
	if (len < 0)
		buf[0] = '\0';
}

/* The row of a sensor, ROWS when none knows it; text is what told. */
static size_t find_row(const struct ergon_machine *m, const struct ergon_hwmon_device *dev,
		       const struct ergon_hwmon_sensor *sensor, char *text, size_t size)
{
	for (size_t r = 0; r < ROWS; r++) {
		const struct row *row = &rows[r];

		if (row->kind != sensor->kind || (row->index && row->index != sensor->index) ||
		    fnmatch(row->driver, dev->name, FNM_EXTMATCH) != 0)
			continue;
		text_of(m, dev, sensor, row->told_by, text, size);
		if (fnmatch(row->text, text, FNM_EXTMATCH) == 0)
			return r;
	}
	return ROWS;
}

/* The first decimal number in a text; -1 when there is none. */
static int number_in(const char *text)
{
	unsigned long value;

	while (*text && !isdigit((unsigned char)*text))
		text++;
	if (!*text)
		return -1;
	errno = 0;
	value = strtoul(text, NULL, 10);
	return errno == 0 && value <= INT_MAX ? (int)value : -1;
}

static uint64_t period_of(const struct ergon_machine *m, const struct ergon_hwmon_sensor *sensor,
			  const struct row *row)
{
	uint64_t ms = row->period_ms;
	char text[32];

	if (ms != OWN_INTERVAL)
		return ms * MS;
	if (ergon_hwmon_attribute(m->sysroot, sensor, "average_interval", text, sizeof(text)) < 0 ||
	    ergon_parse_u64(text, &ms) < 0 || ms > INTERVAL_MAX_MS)
		ms = INTERVAL_MAX_MS;
	return (ms < INTERVAL_MIN_MS ? INTERVAL_MIN_MS : ms) * MS;
}

static enum ergon_slow_kind slow_kind(const struct ergon_hwmon_sensor *sensor)
{
	if (sensor->kind == ERGON_HWMON_ENERGY)
		return ERGON_SLOW_COUNTER;
	return sensor->average ? ERGON_SLOW_AVERAGE : ERGON_SLOW_POWER;
}

static void match_sensor(const struct ergon_machine *m, const struct ergon_hwmon *hwmon,
			 const struct ergon_hwmon_sensor *sensor, struct matches *list)
{
	const struct ergon_hwmon_device *dev = &hwmon->devices[sensor->device];
	struct match *match = &list->items[list->n];
	char text[128];
	size_t r;

	if (!(ERGON_HWMON_SOURCE_KINDS & 1u << sensor->kind))
		return;
	r = find_row(m, dev, sensor, text, sizeof(text));
	if (r == ROWS) {
		list->unknown++;
		list->unknown_driver = dev->name;
	} else if (rows[r].place == PLACE_OUT) {
		list->left_out[r].n++;
		list->left_out[r].driver = dev->name;
	} else {
		*match = (struct match){ .row = r, .number = number_in(text) };
		match->source = (struct ergon_hwmon_source){
			.device = *dev,
			.sensor = *sensor,
			.domain = rows[r].domain,
			.package = -1,
			.kind = slow_kind(sensor),
			.modulus = rows[r].modulus,
			.period_ns = period_of(m, sensor, &rows[r]),
			.zero_is_none = rows[r].zero_is_none,
		};
		list->n++;
	}
}

/* --- where it is --- */

/* The package of a NUMA node's first online CPU; -1. */
static int node_package(const struct ergon_machine *m, int node)
{
	char path[96], text[4096];
	int package = -1, *cpus;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
	if (node < 0 || ergon_sysroot_read_text(m->sysroot, path, text, sizeof(text)) < 0)
		return -1;
	n = ergon_cpulist_parse(text, &cpus);
	if (n < 0)
		return -1;
	for (ssize_t i = 0; i < n && package < 0; i++) {
		const struct ergon_cpu *cpu = ergon_topo_cpu(m->topo, cpus[i]);

		if (cpu)
			package = cpu->package;
	}
	free(cpus);
	return package;
}

static int device_package(const struct ergon_machine *m, const struct ergon_hwmon_device *dev)
{
	char path[96];
	uint64_t node;

	snprintf(path, sizeof(path), ERGON_HWMON_DIR "/%s/device/numa_node", dev->entry);
	if (ergon_sysroot_read_u64(m->sysroot, path, &node) < 0 || node > INT_MAX)
		return -1;
	return node_package(m, (int)node);
}

/* Socket n of firmware: package id n if there is one, else the n-th package. */
static int socket_package(const struct ergon_topo *topo, int n)
{
	if (ergon_topo_package_index(topo, n) < 0 && (size_t)n < topo->npackages)
		return topo->packages[n];
	return n;
}

/* How many matches share the row of this one, and how many of them stand before it. */
static size_t siblings(const struct matches *list, size_t at, size_t *before)
{
	size_t n = 0;

	*before = 0;
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].row != list->items[at].row)
			continue;
		*before += i < at;
		n++;
	}
	return n;
}

/*
 * One device per socket: by its NUMA node where the devices of the row
 * have nodes in different packages, else in the order of their names.
 */
static void place_by_device(const struct ergon_machine *m, struct matches *list, size_t at)
{
	struct match *match = &list->items[at];
	int package = device_package(m, &match->source.device);
	size_t before;

	siblings(list, at, &before);
	for (size_t i = 0; i < list->n && package >= 0; i++)
		if (i != at && list->items[i].row == match->row &&
		    device_package(m, &list->items[i].source.device) == package)
			package = -1;
	match->source.package = package >= 0 ? package : socket_package(m->topo, (int)before);
}

/*
 * amd_energy numbers NUMA nodes where a socket has several (NPS): then the
 * number is a node's, and several tell the same socket.
 */
static void place_by_number(const struct ergon_machine *m, struct matches *list, size_t at)
{
	struct match *match = &list->items[at];
	size_t before, n = siblings(list, at, &before);
	int package = -1;

	if (match->number < 0)
		match->number = (int)before;
	if (n > m->topo->npackages)
		package = node_package(m, match->number);
	match->source.package = package >= 0 ? package : socket_package(m->topo, match->number);
}

static void place(const struct ergon_machine *m, struct matches *list)
{
	for (size_t i = 0; i < list->n; i++) {
		if (rows[list->items[i].row].place == PLACE_DEVICE)
			place_by_device(m, list, i);
		else if (rows[list->items[i].row].place == PLACE_SOCKET)
			place_by_number(m, list, i);
	}
}

/* --- what is told twice --- */

static bool same_device(const struct match *a, const struct match *b)
{
	return strcmp(a->source.device.entry, b->source.device.entry) == 0;
}

static bool same_thing(const struct match *a, const struct match *b)
{
	if (a->source.domain != b->source.domain || a->source.package != b->source.package)
		return false;
	return rows[a->row].place != PLACE_GPU || same_device(a, b);
}

/* Why b is not wanted beside a; NULL: there is nothing to tell. */
static const char *why_not(const struct match *a, const struct match *b, char *buf, size_t size)
{
	char by[96];

	if (same_device(a, b) && rows[b->row].why)
		return rows[b->row].why;
	/* Power beside energy of the same device is the rule. */
	if (same_device(a, b) && a->source.sensor.kind < b->source.sensor.kind)
		return NULL;
	snprintf(buf, size, "%s tells it already",
		 ergon_hwmon_source_describe(&a->source, by, sizeof(by)));
	return buf;
}

static void drop_twins(struct matches *list, struct ergon_drops *drops)
{
	for (size_t i = 0; i < list->n; i++) {
		struct match *match = &list->items[i];

		for (size_t k = 0; k < i && !match->out; k++) {
			const struct match *first = &list->items[k];
			char what[96], buf[128];
			const char *why;

			if (first->out || !same_thing(first, match))
				continue;
			match->out = true;
			why = why_not(first, match, buf, sizeof(buf));
			if (why)
				ergon_drop(drops, ergon_hwmon_source_describe(&match->source, what,
									      sizeof(what)), "%s", why);
		}
	}
}

static void drop_rows(const struct matches *list, struct ergon_drops *drops)
{
	char what[128];

	for (size_t r = 0; r < ROWS; r++) {
		size_t n = list->left_out[r].n;

		if (n == 0)
			continue;
		snprintf(what, sizeof(what), "%zu %s sensor%s of %s", n,
			 rows[r].kind == ERGON_HWMON_ENERGY ? "energy" : "power", n > 1 ? "s" : "",
			 list->left_out[r].driver);
		ergon_drop(drops, what, "%s", rows[r].why);
	}
	if (list->unknown == 0)
		return;
	snprintf(what, sizeof(what), "%zu other power or energy sensor%s (%s)", list->unknown,
		 list->unknown > 1 ? "s" : "", list->unknown_driver);
	ergon_drop(drops, what, "it is not known what is behind them");
}

/* --- the whole --- */

static int compare_matches(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	int order;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->source.package != y->source.package)
		return x->source.package < y->source.package ? -1 : 1;
	order = strverscmp(x->source.device.device, y->source.device.device);
	if (order == 0)
		order = x->source.device.twin - y->source.device.twin;
	return order ? order : x->source.sensor.index - y->source.sensor.index;
}

/* Packages that have a source of the domain; drop_twins() left one for each. */
static size_t packages_with(const struct ergon_hwmon_sources *sources, enum ergon_domain domain)
{
	size_t n = 0;

	for (size_t i = 0; i < sources->n; i++)
		n += sources->items[i].domain == domain && sources->items[i].package >= 0;
	return n;
}

/* The energy of one socket of two must not pass for the node's. */
static void drop_incomplete(const struct ergon_machine *m, struct ergon_hwmon_sources *sources,
			    struct ergon_drops *drops)
{
	unsigned incomplete = 0;
	size_t kept = 0;

	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++) {
		size_t n = packages_with(sources, (enum ergon_domain)d);

		if (n > 0 && n < m->topo->npackages)
			incomplete |= 1u << d;
	}
	for (size_t i = 0; i < sources->n; i++) {
		const struct ergon_hwmon_source *source = &sources->items[i];
		char what[96];

		if (!(incomplete & 1u << source->domain))
			sources->items[kept++] = *source;
		else
			ergon_drop(drops, ergon_hwmon_source_describe(source, what, sizeof(what)),
				   "not all of the %zu packages have a sensor of %s",
				   m->topo->npackages, ergon_domain_name(source->domain));
	}
	sources->n = kept;
}

int ergon_hwmon_sources_find(const struct ergon_machine *m, const struct ergon_hwmon *hwmon,
			     struct ergon_hwmon_sources *out, struct ergon_drops *drops)
{
	struct matches list = { .items = calloc(hwmon->nsensors + 1, sizeof(*list.items)) };

	*out = (struct ergon_hwmon_sources){ 0 };
	out->items = calloc(hwmon->nsensors + 1, sizeof(*out->items));
	if (!list.items || !out->items) {
		free(list.items);
		ergon_hwmon_sources_free(out);
		errno = ENOMEM;
		return -1;
	}
	for (size_t i = 0; i < hwmon->nsensors; i++)
		match_sensor(m, hwmon, &hwmon->sensors[i], &list);
	place(m, &list);
	qsort(list.items, list.n, sizeof(*list.items), compare_matches);
	drop_twins(&list, drops);
	for (size_t i = 0; i < list.n; i++)
		if (!list.items[i].out)
			out->items[out->n++] = list.items[i].source;
	out->known = list.n;
	out->unknown = list.unknown;
	drop_rows(&list, drops);
	free(list.items);
	drop_incomplete(m, out, drops);
	return 0;
}

void ergon_hwmon_sources_free(struct ergon_hwmon_sources *sources)
{
	free(sources->items);
	*sources = (struct ergon_hwmon_sources){ 0 };
}

char *ergon_hwmon_source_describe(const struct ergon_hwmon_source *source, char *buf, size_t size)
{
	const struct ergon_hwmon_sensor *sensor = &source->sensor;
	const char *file = strrchr(sensor->base, '/');

	snprintf(buf, size, "%s %s%s%s_%s", source->device.name, source->device.device,
		 *source->device.device ? " " : "", file ? file + 1 : sensor->base,
		 sensor->average ? "average" : "input");
	return buf;
}
