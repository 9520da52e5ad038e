/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMU is system-wide (no pid), counts from 0 at open, and each event is
 * counted once per package (per die on Intel parts with several). All events
 * of one CPU form a group. power_core, whose events are per core and lie
 * within the package, is left out.
 */
#include "power_pmu.h"

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

#include "msr.h"
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
/* One that ran before has no start to wait for. */
#define PULSE_MS 10

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

_Static_assert(sizeof(events) / sizeof(events[0]) == ERGON_POWER_EVENTS, "a row per event");

/* Intel models (family 6) whose energy unit is 2^-16 J. */
static const int esu16_models[] = {
	0x2a, 0x2d,               /* Sandy Bridge */
	0x3a, 0x3e,               /* Ivy Bridge */
};

static void close_unit(struct ergon_power_unit *unit)
{
	for (size_t i = 0; i < unit->nfds; i++)
		close(unit->fds[i]);
	unit->nfds = 0;
	unit->leader = -1;
}

void ergon_power_pmu_close(struct ergon_power_pmu *pmu)
{
	int saved = errno;

	if (!pmu)
		return;
	for (size_t u = 0; u < pmu->nunits; u++)
		close_unit(&pmu->units[u]);
	free(pmu->units);
	free(pmu->channels);
	ergon_drops_free(&pmu->drops);
	free(pmu);
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

static int read_file(const struct ergon_power_pmu *pmu, const char *event, const char *suffix,
		     char *text, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), PMU_DIR "/events/%s%s", event, suffix);
	return ergon_sysroot_read_text(pmu->m->sysroot, path, text, size) < 0 ? -1 : 0;
}

/* NULL, or why the event cannot be used. */
static const char *describe(const struct ergon_power_pmu *pmu, const char *event,
			    struct ergon_power_event *spec)
{
	char text[128];

	if (read_file(pmu, event, "", text, sizeof(text)) < 0 ||
	    parse_config(text, &spec->config) < 0)
		return "its code is not event=NUMBER";
	if (read_file(pmu, event, ".scale", text, sizeof(text)) < 0 ||
	    parse_scale(text, &spec->scale) < 0)
		return "its scale is not a number";
	if (read_file(pmu, event, ".unit", text, sizeof(text)) < 0 || strcmp(text, "Joules") != 0)
		return "its unit is not Joules";
	spec->present = true;
	return NULL;
}

static size_t find_events(struct ergon_power_pmu *pmu)
{
	char **names;
	ssize_t n = ergon_sysroot_list(pmu->m->sysroot, PMU_DIR "/events", &names);
	size_t found = 0;

	for (ssize_t i = 0; i < n; i++) {
		const char *why = "unknown event";

		if (strchr(names[i], '.'))
			continue;
		for (size_t e = 0; e < ERGON_POWER_EVENTS; e++)
			if (strcmp(names[i], events[e].name) == 0)
				why = describe(pmu, names[i], &pmu->specs[e]);
		found += why == NULL;
		if (why)
			ergon_drop(&pmu->drops, names[i], "%s", why);
	}
	if (n >= 0)
		ergon_sysroot_free_list(names);
	return found;
}

/* --- where to count --- */

static struct ergon_power_unit *find_unit(struct ergon_power_pmu *pmu, const struct ergon_cpu *cpu)
{
	for (size_t u = 0; u < pmu->nunits; u++) {
		struct ergon_power_unit *unit = &pmu->units[u];

		if (unit->package == cpu->package && (unit->die < 0 || unit->die == cpu->die))
			return unit;
	}
	return NULL;
}

/* One unit per package; per die where Intel packages have several. */
static int make_units(struct ergon_power_pmu *pmu)
{
	const struct ergon_topo *topo = pmu->m->topo;
	bool dies = ergon_topo_has_dies(topo) && !ergon_topo_counts_per_package(topo);

	pmu->units = calloc(topo->ncpus + 1, sizeof(*pmu->units));
	if (!pmu->units)
		return -1;
	for (size_t i = 0; i < topo->ncpus; i++) {
		const struct ergon_cpu *cpu = &topo->cpus[i];

		if (!find_unit(pmu, cpu))
			pmu->units[pmu->nunits++] = (struct ergon_power_unit){
				.package = cpu->package, .die = dies ? cpu->die : -1,
				.cpu = -1, .leader = -1,
			};
	}
	return 0;
}

static bool package_has_cpu(const struct ergon_power_pmu *pmu, int package)
{
	for (size_t u = 0; u < pmu->nunits; u++)
		if (pmu->units[u].package == package && pmu->units[u].cpu >= 0)
			return true;
	return false;
}

/*
 * Assign the CPUs of the cpumask to units by topology, never by order.
 * Without a mask, or where its CPU went offline, any CPU of the unit does.
 */
static void place_units(struct ergon_power_pmu *pmu)
{
	const struct ergon_topo *topo = pmu->m->topo;
	char text[4096];
	int *mask = NULL;
	ssize_t n = -1;
	bool lost;

	if (ergon_sysroot_read_text(pmu->m->sysroot, PMU_DIR "/cpumask", text, sizeof(text)) >= 0)
		n = ergon_cpulist_parse(text, &mask);
	lost = n <= 0;
	for (ssize_t i = 0; i < n; i++) {
		const struct ergon_cpu *cpu = ergon_topo_cpu(topo, mask[i]);
		struct ergon_power_unit *unit = cpu ? find_unit(pmu, cpu) : NULL;

		if (!unit) {
			lost = true;
		} else if (unit->cpu < 0) {
			unit->cpu = cpu->os;
		} else {
			snprintf(text, sizeof(text), "power cpu%d", cpu->os);
			ergon_drop(&pmu->drops, text, "counts package %d as cpu%d does",
				   unit->package, unit->cpu);
		}
	}
	free(mask);
	for (size_t u = 0; u < pmu->nunits; u++) {
		struct ergon_power_unit *unit = &pmu->units[u];

		if (unit->cpu < 0 && (lost || !package_has_cpu(pmu, unit->package)))
			unit->cpu = ergon_topo_first_cpu(topo, unit->package, unit->die);
	}
}

/* --- opening --- */

static int open_event(const struct ergon_power_pmu *pmu, const struct ergon_power_event *spec,
		      int cpu, int group)
{
	struct perf_event_attr attr = {
		.type = pmu->type,
		.size = sizeof(attr),
		.config = spec->config,
		/* The kernel's way of reading groups costs a sixth more for one event. */
		.read_format = pmu->lone ? 0 : PERF_FORMAT_GROUP,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

/* The CPU may have gone offline since the topology was read: try its neighbours. */
static int open_leader(const struct ergon_power_pmu *pmu, struct ergon_power_unit *unit,
		       const struct ergon_power_event *spec)
{
	const struct ergon_topo *topo = pmu->m->topo;
	int fd = open_event(pmu, spec, unit->cpu, -1);

	/* ENODEV: offline; EINVAL: beyond what this kernel booted with. */
	for (size_t i = 0; fd < 0 && (errno == ENODEV || errno == EINVAL) && i < topo->ncpus; i++) {
		const struct ergon_cpu *cpu = &topo->cpus[i];

		if (cpu->package != unit->package || (unit->die >= 0 && cpu->die != unit->die))
			continue;
		fd = open_event(pmu, spec, cpu->os, -1);
		if (fd >= 0)
			unit->cpu = cpu->os;
	}
	return fd;
}

static void drop_event(struct ergon_power_pmu *pmu, const struct ergon_power_unit *unit, size_t e,
		       const char *why)
{
	char what[96];

	snprintf(what, sizeof(what), "%s cpu%d", events[e].name, unit->cpu);
	ergon_drop(&pmu->drops, what, "%s", why);
}

static void open_unit(struct ergon_power_pmu *pmu, struct ergon_power_unit *unit)
{
	for (size_t e = 0; unit->cpu >= 0 && e < ERGON_POWER_EVENTS; e++) {
		const struct ergon_power_event *spec = &pmu->specs[e];
		int fd;

		if (!spec->present)
			continue;
		fd = unit->leader < 0 ? open_leader(pmu, unit, spec) :
		     open_event(pmu, spec, unit->cpu, unit->leader);
		if (fd < 0) {
			if (!pmu->open_errno)
				pmu->open_errno = errno;
			drop_event(pmu, unit, e, strerror(errno));
			continue;
		}
		if (unit->leader < 0)
			unit->leader = fd;
		unit->lone = pmu->lone;
		unit->event[unit->nfds] = e;
		unit->channel[unit->nfds] = -1;
		unit->fds[unit->nfds++] = fd;
	}
}

/* Units without the package event that others have. */
static size_t lost_packages(const struct ergon_power_pmu *pmu)
{
	size_t lost = 0, tried = 0;

	for (size_t u = 0; u < pmu->nunits; u++) {
		const struct ergon_power_unit *unit = &pmu->units[u];

		if (unit->cpu < 0 || !pmu->specs[0].present)
			continue;
		tried++;
		lost += unit->nfds == 0 || unit->event[0] != 0;
	}
	return lost < tried ? lost : 0;
}

bool ergon_power_unit_read(const struct ergon_power_unit *unit, uint64_t values[ERGON_POWER_EVENTS])
{
	uint64_t buf[1 + ERGON_POWER_EVENTS];
	size_t head = unit->lone ? 0 : 1; /* a group begins with the number of its events */
	size_t size = (head + unit->nfds) * sizeof(buf[0]);

	if (unit->leader < 0 || read(unit->leader, buf, sizeof(buf)) != (ssize_t)size ||
	    (head && buf[0] != unit->nfds))
		return false;
	memcpy(values, buf + head, unit->nfds * sizeof(buf[0]));
	return true;
}

/* --- which counters are alive --- */

struct pulse {
	size_t moved;             /* events that are not 0 */
	size_t awaited;           /* events that still should move */
};

static struct pulse feel_pulse(const struct ergon_power_pmu *pmu)
{
	struct pulse pulse = { 0, 0 };
	uint64_t values[ERGON_POWER_EVENTS];

	for (size_t u = 0; u < pmu->nunits; u++) {
		const struct ergon_power_unit *unit = &pmu->units[u];

		if (!ergon_power_unit_read(unit, values))
			continue;
		for (size_t i = 0; i < unit->nfds; i++) {
			pulse.moved += values[i] != 0;
			pulse.awaited += values[i] == 0 && events[unit->event[i]].must_move;
		}
	}
	return pulse;
}

static bool wait_until_alive(const struct ergon_power_pmu *pmu)
{
	static const struct timespec step = { .tv_nsec = 1000000 };
	struct pulse pulse = feel_pulse(pmu);

	for (int ms = 0; ms < SETTLE_MS && (pulse.awaited > 0 || pulse.moved == 0); ms++) {
		nanosleep(&step, NULL);
		pulse = feel_pulse(pmu);
	}
	return pulse.moved > 0;
}

/* Whether a counter of the unit that must move does so in time; without such counters, whether it answers. */
static bool unit_moves(const struct ergon_power_unit *unit, int ms)
{
	static const struct timespec step = { .tv_nsec = 1000000 };
	uint64_t first[ERGON_POWER_EVENTS], values[ERGON_POWER_EVENTS];
	bool awaited = false;

	if (!ergon_power_unit_read(unit, first))
		return false;
	for (size_t i = 0; i < unit->nfds; i++)
		awaited |= unit->channel[i] >= 0 && events[unit->event[i]].must_move;
	for (; awaited && ms > 0; ms--) {
		nanosleep(&step, NULL);
		if (!ergon_power_unit_read(unit, values))
			return false;
		for (size_t i = 0; i < unit->nfds; i++)
			if (values[i] != first[i] && events[unit->event[i]].must_move)
				return true;
	}
	return !awaited;
}

/* The events that `old` has, in the same order, or none. */
static bool open_alike(const struct ergon_power_pmu *pmu, const struct ergon_power_unit *old,
		       struct ergon_power_unit *unit)
{
	*unit = *old;
	unit->leader = -1;
	for (unit->nfds = 0; unit->nfds < old->nfds; unit->nfds++) {
		size_t e = old->event[unit->nfds];
		struct ergon_power_event spec = { 0 };
		int fd = -1;

		if (!describe(pmu, events[e].name, &spec) && spec.scale == pmu->specs[e].scale)
			fd = unit->leader < 0 ? open_leader(pmu, unit, &spec) :
			     open_event(pmu, &spec, unit->cpu, unit->leader);
		if (fd < 0) {
			close_unit(unit);
			return false;
		}
		unit->fds[unit->nfds] = fd;
		if (unit->leader < 0)
			unit->leader = fd;
	}
	return true;
}

bool ergon_power_unit_revive(struct ergon_power_pmu *pmu, struct ergon_power_unit *unit)
{
	struct ergon_power_unit anew;
	uint64_t type;

	if (unit->nfds == 0 || unit_moves(unit, PULSE_MS))
		return false;
	if (ergon_sysroot_read_u64(pmu->m->sysroot, PMU_DIR "/type", &type) < 0 || type > UINT32_MAX)
		return false;
	pmu->type = (uint32_t)type;
	if (!open_alike(pmu, unit, &anew))
		return false;
	if (!unit_moves(&anew, SETTLE_MS)) {
		close_unit(&anew);
		return false;
	}
	close_unit(unit);
	*unit = anew;
	return true;
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
	const struct ergon_msr_cpu *cpu = ergon_msr_cpu_find(topo->vendor, topo->family, topo->model);

	for (size_t i = 0; i < zones->nzones; i++) {
		const struct ergon_zone *zone = &zones->zones[i];

		if (zone->domain == domain && zone->package == package && zone->range_uj > 0)
			return (int)lrint(log2(1e6 * (double)UINT32_MAX / (double)zone->range_uj));
	}
	if (ergon_topo_counts_per_package(topo))
		return 16;
	if (has_model(esu16_models, sizeof(esu16_models) / sizeof(int), topo->model) ||
	    (domain == ERGON_DOMAIN_DRAM && cpu && cpu->quirks & ERGON_MSR_DRAM_FIXED))
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

static void add_channel(struct ergon_power_pmu *pmu, const struct ergon_zones *zones,
			struct ergon_power_unit *unit, size_t i)
{
	size_t e = unit->event[i];
	const struct ergon_power_event *spec = &pmu->specs[e];
	bool alone = pmu->nunits == 1 && events[e].domain == ERGON_DOMAIN_PLATFORM;
	struct ergon_channel *ch = &pmu->channels[pmu->nchannels];
	int esu = energy_unit_bits(pmu->m->topo, zones, events[e].domain, unit->package);

	*ch = (struct ergon_channel){
		.domain = events[e].domain,
		.package = alone ? -1 : unit->package,
		.die = unit->die,
		.unit_j = spec->scale,
		.repair = repair_counts(spec->scale, esu),
		.max_watts = ergon_machine_max_watts(pmu->m, events[e].domain),
	};
	snprintf(ch->source, sizeof(ch->source), "%s", pmu->source);
	ergon_channel_set_name(ch);
	snprintf(ch->detail, sizeof(ch->detail), "power/%s cpu%d", events[e].name, unit->cpu);
	unit->channel[i] = (ssize_t)pmu->nchannels++;
}

/* Channels ordered by domain, then unit; what never moved is dropped. */
static int make_channels(struct ergon_power_pmu *pmu)
{
	struct ergon_zones zones = { 0 };

	pmu->channels = calloc(pmu->nunits * ERGON_POWER_EVENTS + 1, sizeof(*pmu->channels));
	if (!pmu->channels)
		return -1;
	if (ergon_zones_scan(pmu->m, &zones, NULL) < 0)
		zones = (struct ergon_zones){ 0 };
	for (size_t e = 0; e < ERGON_POWER_EVENTS; e++) {
		for (size_t u = 0; u < pmu->nunits; u++) {
			struct ergon_power_unit *unit = &pmu->units[u];
			uint64_t values[ERGON_POWER_EVENTS];
			bool good = ergon_power_unit_read(unit, values);

			for (size_t i = 0; i < unit->nfds; i++) {
				if (unit->event[i] != e)
					continue;
				if (good && (values[i] != 0 || !events[e].must_move))
					add_channel(pmu, &zones, unit, i);
				else
					drop_event(pmu, unit, e, good ? "reads a constant 0" :
						   "cannot be read");
			}
		}
	}
	ergon_zones_free(&zones);
	return 0;
}

/* Whether a total can be made of what was opened. */
static bool makes_total(struct ergon_power_pmu *pmu)
{
	char words[64];

	ergon_scope_choose(pmu->channels, pmu->nchannels);
	return *ergon_scope_words(pmu->channels, pmu->nchannels, NULL, words, sizeof(words));
}

/* --- the answer --- */

static void explain_failure(const struct ergon_power_pmu *pmu, struct ergon_probe *out)
{
	char paranoid[32];

	switch (pmu->open_errno) {
	case EACCES:
	case EPERM:
		if (ergon_sysroot_read_text(pmu->m->sysroot, PARANOID, paranoid,
					    sizeof(paranoid)) < 0)
			strcpy(paranoid, "unreadable");
		ergon_probe_set(out, ERGON_PROBE_PERMISSION, REMEDY_RIGHTS,
				"perf_event_open: %s (kernel.perf_event_paranoid is %s)",
				strerror(pmu->open_errno), paranoid);
		break;
	case ENOSYS:
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_SECCOMP,
				"perf_event_open: %s", strerror(pmu->open_errno));
		break;
	default:
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_VM,
				"no event of the power PMU opens: %s", strerror(pmu->open_errno));
	}
}

static bool find_pmu(struct ergon_power_pmu *pmu, struct ergon_probe *out)
{
	uint64_t type;
	size_t found;

	if (ergon_sysroot_read_u64(pmu->m->sysroot, PMU_DIR "/type", &type) < 0 ||
	    type > UINT32_MAX) {
		ergon_probe_set(out, ERGON_PROBE_ABSENT, REMEDY_MODULE,
				"the kernel has no power PMU (" PMU_DIR ")");
		return false;
	}
	pmu->type = (uint32_t)type;
	found = find_events(pmu);
	pmu->lone = found == 1;
	if (found == 0)
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_VM,
				"the power PMU has no usable energy event");
	return found > 0;
}

struct ergon_power_pmu *ergon_power_pmu_open(const struct ergon_machine *m, const char *source,
					    struct ergon_probe *out)
{
	struct ergon_power_pmu *pmu = calloc(1, sizeof(*pmu));
	size_t opened = 0;

	ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "out of memory");
	if (!pmu)
		return NULL;
	pmu->m = m;
	pmu->source = source;
	if (!find_pmu(pmu, out) || make_units(pmu) < 0)
		goto fail;
	place_units(pmu);
	for (size_t u = 0; u < pmu->nunits; u++) {
		open_unit(pmu, &pmu->units[u]);
		opened += pmu->units[u].nfds;
	}
	if (opened == 0) {
		explain_failure(pmu, out);
		goto fail;
	}
	if (lost_packages(pmu) > 0) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "",
				"energy-pkg does not open on %zu of %zu packages: %s; the rest would pass for all",
				lost_packages(pmu), pmu->nunits, strerror(pmu->open_errno));
		goto fail;
	}
	if (!wait_until_alive(pmu)) {
		ergon_probe_set(out, ERGON_PROBE_ZERO, REMEDY_VM,
				"the power PMU has %zu event%s, all read a constant 0", opened,
				opened == 1 ? "" : "s");
		goto fail;
	}
	if (make_channels(pmu) < 0)
		goto fail;
	if (!makes_total(pmu)) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "",
				"no package, dram or psys event of the power PMU counts");
		goto fail;
	}
	ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
	return pmu;
fail:
	ergon_power_pmu_close(pmu);
	return NULL;
}

static int add_single(struct ergon_power_pmu *one, const struct ergon_power_unit *unit, size_t i)
{
	struct ergon_power_unit *alone = one->units;
	int fd = open_event(one, &one->specs[unit->event[i]], unit->cpu, -1);

	if (fd < 0)
		return -1;
	*alone = (struct ergon_power_unit){
		.package = unit->package, .die = unit->die, .cpu = unit->cpu, .leader = fd,
		.lone = true, .nfds = 1,
		.fds = { fd }, .event = { unit->event[i] }, .channel = { 0 },
	};
	one->nunits = 1;
	return 0;
}

struct ergon_power_pmu *ergon_power_pmu_open_single(const struct ergon_power_pmu *pmu, size_t channel)
{
	struct ergon_power_pmu *one = calloc(1, sizeof(*one));

	if (!one)
		return NULL;
	one->m = pmu->m;
	one->source = pmu->source;
	one->type = pmu->type;
	one->lone = true;
	memcpy(one->specs, pmu->specs, sizeof(one->specs));
	one->units = calloc(1, sizeof(*one->units));
	one->channels = malloc(sizeof(*one->channels));
	if (!one->units || !one->channels)
		goto fail;
	one->channels[0] = pmu->channels[channel];
	one->nchannels = 1;
	for (size_t u = 0; u < pmu->nunits; u++)
		for (size_t i = 0; i < pmu->units[u].nfds; i++)
			if (pmu->units[u].channel[i] == (ssize_t)channel &&
			    add_single(one, &pmu->units[u], i) < 0)
				goto fail;
	return one;
fail:
	ergon_power_pmu_close(one);
	return NULL;
}
