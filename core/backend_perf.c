/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RAPL through the kernel's `power` PMU. All events of one CPU form a group
 * and are read by one system call. The PMU is system-wide (no pid), counts
 * from 0 at open, and each event is counted once per package (per die on
 * Intel parts with several). power_core, whose events are per core and lie
 * within the package, is left out.
 */
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "powercap.h"
#include "scope.h"

#define PMU_DIR "/sys/bus/event_source/devices/power"
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

#define REMEDY_MODULE "modprobe rapl (Ubuntu: package linux-modules-extra); in a VM measure on the host"
#define REMEDY_RIGHTS "grant CAP_PERFMON, or sysctl kernel.perf_event_paranoid=0; a container needs --cap-add=PERFMON"
#define REMEDY_SECCOMP "allow perf_event_open in the container's seccomp profile"
#define REMEDY_VM "in a VM measure on the host"

/* A counter that is not there reads 0 for ever; one that is moves within this time. */
#define SETTLE_MS 20

/* energy-pkg comes first: it leads every group. */
static const struct {
	const char *name;
	enum ergon_domain domain;
	/* Still 0 after SETTLE_MS: not there. Not so for a sleeping GPU and a psys that counts whole joules. */
	bool must_move;
} events[] = {
	{ "energy-pkg", ERGON_DOMAIN_PACKAGE, true },
	{ "energy-cores", ERGON_DOMAIN_CORE, true },
	{ "energy-gpu", ERGON_DOMAIN_UNCORE, false },
	{ "energy-ram", ERGON_DOMAIN_DRAM, true },
	{ "energy-psys", ERGON_DOMAIN_PLATFORM, false },
};

#define NEVENTS (sizeof(events) / sizeof(events[0]))

/* Intel models (family 6) whose energy unit is 2^-16 J. */
static const int esu16_models[] = {
	0x2a, 0x2d,               /* Sandy Bridge */
	0x3a, 0x3e,               /* Ivy Bridge */
};

/* Intel models whose DRAM unit is 2^-16 J whatever the unit register says. */
static const int dram16_models[] = {
	0x3f, 0x4f, 0x56,         /* Haswell, Broadwell servers */
	0x55, 0x6a, 0x6c,         /* Skylake to Ice Lake servers */
	0x57, 0x85,               /* Knights Landing, Mill */
};

struct event_spec {
	bool present;
	uint64_t config;
	double scale;
};

/* A place that counts: a package, or a die of it. */
struct unit {
	int package;
	int die;                  /* -1: the whole package */
	int cpu;                  /* where to open; -1 none */
	int leader;               /* group fd, -1 */
	size_t nfds;
	int fds[NEVENTS];         /* in group order */
	size_t event[NEVENTS];    /* which event each is */
	ssize_t channel[NEVENTS]; /* channel of each, -1: not used */
};

struct perf {
	const struct ergon_machine *m;
	uint32_t type;
	struct event_spec specs[NEVENTS];
	size_t nunits;
	struct unit *units;
	size_t nchannels;
	struct ergon_channel *channels;
	int open_errno;           /* of the first event that did not open */
	struct ergon_drops drops;
};

static void perf_close(void *inst)
{
	struct perf *perf = inst;
	int saved = errno;

	if (!perf)
		return;
	for (size_t u = 0; u < perf->nunits; u++)
		for (size_t i = 0; i < perf->units[u].nfds; i++)
			close(perf->units[u].fds[i]);
	free(perf->units);
	free(perf->channels);
	ergon_drops_free(&perf->drops);
	free(perf);
	errno = saved;
}

/* --- what sysfs says of the PMU --- */

/* The kernel writes numbers as the C locale does, whatever ours is. */
static int parse_scale(const char *text, double *scale)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *end;

	if (c == (locale_t)0)
		return -1;
	*scale = strtod_l(text, &end, c);
	freelocale(c);
	return end == text || *end || !isfinite(*scale) || *scale <= 0 ? -1 : 0;
}

static int parse_config(const char *text, uint64_t *config)
{
	char *end;

	if (strncmp(text, "event=", 6) != 0)
		return -1;
	errno = 0;
	*config = strtoull(text + 6, &end, 0);
	return errno || end == text + 6 || *end ? -1 : 0;
}

static int read_file(const struct perf *perf, const char *event, const char *suffix,
		     char *text, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), PMU_DIR "/events/%s%s", event, suffix);
	return ergon_sysroot_read_text(perf->m->sysroot, path, text, size) < 0 ? -1 : 0;
}

/* NULL, or why the event cannot be used. */
static const char *describe(const struct perf *perf, const char *event, struct event_spec *spec)
{
	char text[128];

	if (read_file(perf, event, "", text, sizeof(text)) < 0 ||
	    parse_config(text, &spec->config) < 0)
		return "its code is not event=NUMBER";
	if (read_file(perf, event, ".scale", text, sizeof(text)) < 0 ||
	    parse_scale(text, &spec->scale) < 0)
		return "its scale is not a number";
	if (read_file(perf, event, ".unit", text, sizeof(text)) < 0 || strcmp(text, "Joules") != 0)
		return "its unit is not Joules";
	spec->present = true;
	return NULL;
}

static size_t find_events(struct perf *perf)
{
	char **names;
	ssize_t n = ergon_sysroot_list(perf->m->sysroot, PMU_DIR "/events", &names);
	size_t found = 0;

	for (ssize_t i = 0; i < n; i++) {
		const char *why = "unknown event";

		if (strchr(names[i], '.'))
			continue;
		for (size_t e = 0; e < NEVENTS; e++)
			if (strcmp(names[i], events[e].name) == 0)
				why = describe(perf, names[i], &perf->specs[e]);
		found += why == NULL;
		if (why)
			ergon_drop(&perf->drops, names[i], "%s", why);
	}
	if (n >= 0)
		ergon_sysroot_free_list(names);
	return found;
}

/* --- where to count --- */

static struct unit *find_unit(struct perf *perf, const struct ergon_cpu *cpu)
{
	for (size_t u = 0; u < perf->nunits; u++) {
		struct unit *unit = &perf->units[u];

		if (unit->package == cpu->package && (unit->die < 0 || unit->die == cpu->die))
			return unit;
	}
	return NULL;
}

/* One unit per package; per die where Intel packages have several. */
static int make_units(struct perf *perf)
{
	const struct ergon_topo *topo = perf->m->topo;
	bool dies = ergon_topo_has_dies(topo) && !ergon_topo_counts_per_package(topo);

	perf->units = calloc(topo->ncpus + 1, sizeof(*perf->units));
	if (!perf->units)
		return -1;
	for (size_t i = 0; i < topo->ncpus; i++) {
		const struct ergon_cpu *cpu = &topo->cpus[i];

		if (!find_unit(perf, cpu))
			perf->units[perf->nunits++] = (struct unit){
				.package = cpu->package, .die = dies ? cpu->die : -1,
				.cpu = -1, .leader = -1,
			};
	}
	return 0;
}

static bool package_has_cpu(const struct perf *perf, int package)
{
	for (size_t u = 0; u < perf->nunits; u++)
		if (perf->units[u].package == package && perf->units[u].cpu >= 0)
			return true;
	return false;
}

/*
 * Assign the CPUs of the cpumask to units by topology, never by order.
 * Without a mask, or where its CPU went offline, any CPU of the unit does.
 */
static void place_units(struct perf *perf)
{
	const struct ergon_topo *topo = perf->m->topo;
	char text[4096];
	int *mask = NULL;
	ssize_t n = -1;
	bool lost;

	if (ergon_sysroot_read_text(perf->m->sysroot, PMU_DIR "/cpumask", text, sizeof(text)) >= 0)
		n = ergon_cpulist_parse(text, &mask);
	lost = n <= 0;
	for (ssize_t i = 0; i < n; i++) {
		const struct ergon_cpu *cpu = ergon_topo_cpu(topo, mask[i]);
		struct unit *unit = cpu ? find_unit(perf, cpu) : NULL;

		if (!unit) {
			lost = true;
		} else if (unit->cpu < 0) {
			unit->cpu = cpu->os;
		} else {
			snprintf(text, sizeof(text), "power cpu%d", cpu->os);
			ergon_drop(&perf->drops, text, "counts package %d as cpu%d does",
				   unit->package, unit->cpu);
		}
	}
	free(mask);
	for (size_t u = 0; u < perf->nunits; u++) {
		struct unit *unit = &perf->units[u];

		if (unit->cpu < 0 && (lost || !package_has_cpu(perf, unit->package)))
			unit->cpu = ergon_topo_first_cpu(topo, unit->package, unit->die);
	}
}

/* --- opening --- */

static int open_event(const struct perf *perf, const struct event_spec *spec, int cpu, int group)
{
	struct perf_event_attr attr = {
		.type = perf->type,
		.size = sizeof(attr),
		.config = spec->config,
		.read_format = PERF_FORMAT_GROUP,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

/* The CPU may have gone offline since the topology was read: try its neighbours. */
static int open_leader(const struct perf *perf, struct unit *unit, const struct event_spec *spec)
{
	const struct ergon_topo *topo = perf->m->topo;
	int fd = open_event(perf, spec, unit->cpu, -1);

	/* ENODEV: offline; EINVAL: beyond what this kernel booted with. */
	for (size_t i = 0; fd < 0 && (errno == ENODEV || errno == EINVAL) && i < topo->ncpus; i++) {
		const struct ergon_cpu *cpu = &topo->cpus[i];

		if (cpu->package != unit->package || (unit->die >= 0 && cpu->die != unit->die))
			continue;
		fd = open_event(perf, spec, cpu->os, -1);
		if (fd >= 0)
			unit->cpu = cpu->os;
	}
	return fd;
}

static void drop_event(struct perf *perf, const struct unit *unit, size_t e, const char *why)
{
	char what[96];

	snprintf(what, sizeof(what), "%s cpu%d", events[e].name, unit->cpu);
	ergon_drop(&perf->drops, what, "%s", why);
}

static void open_unit(struct perf *perf, struct unit *unit)
{
	for (size_t e = 0; unit->cpu >= 0 && e < NEVENTS; e++) {
		const struct event_spec *spec = &perf->specs[e];
		int fd;

		if (!spec->present)
			continue;
		fd = unit->leader < 0 ? open_leader(perf, unit, spec) :
		     open_event(perf, spec, unit->cpu, unit->leader);
		if (fd < 0) {
			if (!perf->open_errno)
				perf->open_errno = errno;
			drop_event(perf, unit, e, strerror(errno));
			continue;
		}
		if (unit->leader < 0)
			unit->leader = fd;
		unit->event[unit->nfds] = e;
		unit->channel[unit->nfds] = -1;
		unit->fds[unit->nfds++] = fd;
	}
}

/* Units without the package event that others have. */
static size_t lost_packages(const struct perf *perf)
{
	size_t lost = 0, tried = 0;

	for (size_t u = 0; u < perf->nunits; u++) {
		const struct unit *unit = &perf->units[u];

		if (unit->cpu < 0 || !perf->specs[0].present)
			continue;
		tried++;
		lost += unit->nfds == 0 || unit->event[0] != 0;
	}
	return lost < tried ? lost : 0;
}

/* One system call for all events of a unit. */
static bool read_unit(const struct unit *unit, uint64_t values[NEVENTS])
{
	uint64_t buf[1 + NEVENTS];
	size_t size = (1 + unit->nfds) * sizeof(buf[0]);

	if (unit->leader < 0 || read(unit->leader, buf, sizeof(buf)) != (ssize_t)size ||
	    buf[0] != unit->nfds)
		return false;
	memcpy(values, buf + 1, unit->nfds * sizeof(buf[0]));
	return true;
}

/* --- which counters are alive --- */

struct pulse {
	size_t moved;             /* events that are not 0 */
	size_t awaited;           /* events that still should move */
};

static struct pulse feel_pulse(const struct perf *perf)
{
	struct pulse pulse = { 0, 0 };
	uint64_t values[NEVENTS];

	for (size_t u = 0; u < perf->nunits; u++) {
		const struct unit *unit = &perf->units[u];

		if (!read_unit(unit, values))
			continue;
		for (size_t i = 0; i < unit->nfds; i++) {
			pulse.moved += values[i] != 0;
			pulse.awaited += values[i] == 0 && events[unit->event[i]].must_move;
		}
	}
	return pulse;
}

static bool wait_until_alive(const struct perf *perf)
{
	static const struct timespec step = { .tv_nsec = 1000000 };
	struct pulse pulse = feel_pulse(perf);

	for (int ms = 0; ms < SETTLE_MS && (pulse.awaited > 0 || pulse.moved == 0); ms++) {
		nanosleep(&step, NULL);
		pulse = feel_pulse(perf);
	}
	return pulse.moved > 0;
}

/* --- channels --- */

static bool has_model(const int *models, size_t n, int model)
{
	for (size_t i = 0; i < n; i++)
		if (models[i] == model)
			return true;
	return false;
}

/* Energy status unit: one raw count is 2^-ESU J. Powercap knows it exactly. */
static int energy_unit_bits(const struct ergon_topo *topo, const struct ergon_zones *zones,
			    enum ergon_domain domain, int package)
{
	for (size_t i = 0; i < zones->nzones; i++) {
		const struct ergon_zone *zone = &zones->zones[i];

		if (zone->domain == domain && zone->package == package && zone->range_uj > 0)
			return (int)lrint(log2(1e6 * (double)UINT32_MAX / (double)zone->range_uj));
	}
	if (ergon_topo_counts_per_package(topo))
		return 16;
	if (has_model(esu16_models, sizeof(esu16_models) / sizeof(int), topo->model) ||
	    (domain == ERGON_DOMAIN_DRAM &&
	     has_model(dram16_models, sizeof(dram16_models) / sizeof(int), topo->model)))
		return 16;
	return 14;
}

/*
 * The kernel adds signed 32-bit differences of the raw counter, so a
 * counter that was not read for half a wrap runs backwards by 2^32 raw
 * units, which are 2^(64-ESU) counts of the PMU's 2^-32 J.
 */
static uint64_t repair_counts(double scale, int esu)
{
	return scale == 0x1p-32 && esu > 0 && esu < 64 ? 1ull << (64 - esu) : 0;
}

static void add_channel(struct perf *perf, const struct ergon_zones *zones, struct unit *unit, size_t i)
{
	size_t e = unit->event[i];
	const struct event_spec *spec = &perf->specs[e];
	bool alone = perf->nunits == 1 && events[e].domain == ERGON_DOMAIN_PLATFORM;
	struct ergon_channel *ch = &perf->channels[perf->nchannels];
	int esu = energy_unit_bits(perf->m->topo, zones, events[e].domain, unit->package);

	*ch = (struct ergon_channel){
		.domain = events[e].domain,
		.package = alone ? -1 : unit->package,
		.die = unit->die,
		.unit_j = spec->scale,
		.repair = repair_counts(spec->scale, esu),
		.max_watts = ergon_machine_max_watts(perf->m, events[e].domain),
		.source = "perf",
	};
	ergon_channel_set_name(ch);
	snprintf(ch->detail, sizeof(ch->detail), "power/%s cpu%d", events[e].name, unit->cpu);
	unit->channel[i] = (ssize_t)perf->nchannels++;
}

/* Channels ordered by domain, then unit; what never moved is dropped. */
static int make_channels(struct perf *perf)
{
	struct ergon_zones zones = { 0 };

	perf->channels = calloc(perf->nunits * NEVENTS + 1, sizeof(*perf->channels));
	if (!perf->channels)
		return -1;
	if (ergon_zones_scan(perf->m, &zones, NULL) < 0)
		zones = (struct ergon_zones){ 0 };
	for (size_t e = 0; e < NEVENTS; e++) {
		for (size_t u = 0; u < perf->nunits; u++) {
			struct unit *unit = &perf->units[u];
			uint64_t values[NEVENTS];
			bool good = read_unit(unit, values);

			for (size_t i = 0; i < unit->nfds; i++) {
				if (unit->event[i] != e)
					continue;
				if (good && (values[i] != 0 || !events[e].must_move))
					add_channel(perf, &zones, unit, i);
				else
					drop_event(perf, unit, e, good ? "reads a constant 0" :
						   "cannot be read");
			}
		}
	}
	ergon_zones_free(&zones);
	return 0;
}

/* Whether a total can be made of what was opened. */
static bool makes_total(struct perf *perf)
{
	char words[64];

	ergon_scope_choose(perf->channels, perf->nchannels);
	return *ergon_scope_words(perf->channels, perf->nchannels, NULL, words, sizeof(words));
}

/* --- the answer --- */

static void explain_failure(const struct perf *perf, struct ergon_probe *out)
{
	char paranoid[32];

	switch (perf->open_errno) {
	case EACCES:
	case EPERM:
		if (ergon_sysroot_read_text(perf->m->sysroot, PARANOID, paranoid,
					    sizeof(paranoid)) < 0)
			strcpy(paranoid, "unreadable");
		ergon_probe_set(out, ERGON_PROBE_PERMISSION, REMEDY_RIGHTS,
				"perf_event_open: %s (kernel.perf_event_paranoid is %s)",
				strerror(perf->open_errno), paranoid);
		break;
	case ENOSYS:
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_SECCOMP,
				"perf_event_open: %s", strerror(perf->open_errno));
		break;
	default:
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_VM,
				"no event of the power PMU opens: %s", strerror(perf->open_errno));
	}
}

static bool find_pmu(struct perf *perf, struct ergon_probe *out)
{
	uint64_t type;

	if (ergon_sysroot_read_u64(perf->m->sysroot, PMU_DIR "/type", &type) < 0 ||
	    type > UINT32_MAX) {
		ergon_probe_set(out, ERGON_PROBE_ABSENT, REMEDY_MODULE,
				"the kernel has no power PMU (" PMU_DIR ")");
		return false;
	}
	perf->type = (uint32_t)type;
	if (find_events(perf) == 0) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_VM,
				"the power PMU has no usable energy event");
		return false;
	}
	return true;
}

static struct perf *discover(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct perf *perf = calloc(1, sizeof(*perf));
	size_t opened = 0;

	ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "out of memory");
	if (!perf)
		return NULL;
	perf->m = m;
	if (!find_pmu(perf, out) || make_units(perf) < 0)
		goto fail;
	place_units(perf);
	for (size_t u = 0; u < perf->nunits; u++) {
		open_unit(perf, &perf->units[u]);
		opened += perf->units[u].nfds;
	}
	if (opened == 0) {
		explain_failure(perf, out);
		goto fail;
	}
	if (lost_packages(perf) > 0) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "",
				"energy-pkg does not open on %zu of %zu packages: %s; the rest would pass for all",
				lost_packages(perf), perf->nunits, strerror(perf->open_errno));
		goto fail;
	}
	if (!wait_until_alive(perf)) {
		ergon_probe_set(out, ERGON_PROBE_ZERO, REMEDY_VM,
				"the power PMU has %zu event%s, all read a constant 0", opened,
				opened == 1 ? "" : "s");
		goto fail;
	}
	if (make_channels(perf) < 0)
		goto fail;
	if (!makes_total(perf)) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "",
				"no package, dram or psys event of the power PMU counts");
		goto fail;
	}
	ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
	return perf;
fail:
	perf_close(perf);
	return NULL;
}

static void perf_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	perf_close(discover(m, out));
}

static void *perf_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct perf *perf = discover(m, &probe);

	if (!perf)
		ergon_probe_error("perf", &probe, err);
	return perf;
}

static size_t perf_channels(const void *inst, const struct ergon_channel **out)
{
	const struct perf *perf = inst;

	*out = perf->channels;
	return perf->nchannels;
}

static size_t perf_dropped(const void *inst, const struct ergon_dropped **out)
{
	const struct perf *perf = inst;

	*out = perf->drops.items;
	return perf->drops.n;
}

static size_t perf_read(void *inst, uint64_t *raw, bool *ok)
{
	struct perf *perf = inst;
	size_t good = 0;

	for (size_t u = 0; u < perf->nunits; u++) {
		const struct unit *unit = &perf->units[u];
		uint64_t values[NEVENTS];
		bool answered = read_unit(unit, values);

		for (size_t i = 0; i < unit->nfds; i++) {
			if (unit->channel[i] < 0)
				continue;
			ok[unit->channel[i]] = answered;
			if (answered)
				raw[unit->channel[i]] = values[i];
			good += answered;
		}
	}
	return good;
}

const struct ergon_backend ergon_backend_perf = {
	.name = "perf",
	.help = "RAPL counters through the kernel's power PMU",
	.automatic = true,
	.group = "rapl",
	.probe = perf_probe,
	.open = perf_open,
	.channels = perf_channels,
	.dropped = perf_dropped,
	.read = perf_read,
	.close = perf_close,
};
