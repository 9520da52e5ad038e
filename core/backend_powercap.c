/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RAPL through powercap: one file per zone, in microjoules, kept open and
 * read with pread. Since the PLATYPUS fix (Linux 5.10) energy_uj is
 * readable by root alone: that is a permission, never 0 J.
 *
 * A zone is removed when the last CPU of its package goes offline or the
 * driver is unloaded: its open files answer ENODEV for ever, and when it is
 * registered again it may have another index. See powercap_rescan().
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "powercap.h"
#include "scope.h"

#define REMEDY_DRIVER "modprobe intel_rapl_msr (or intel_rapl_tpmi); in a VM or container measure on the host"
#define REMEDY_RIGHTS "run as root, or let a group read " ERGON_POWERCAP_DIR "/*/energy_uj (udev or tmpfiles)"
#define REMEDY_MASKED "mount the host's /sys/devices/virtual/powercap into the container, or measure outside"

/* Where a channel is read. */
struct source {
	int fd;
	bool mmio;                /* of control type intel-rapl-mmio */
};

struct powercap {
	const struct ergon_machine *m;
	size_t nchannels;
	struct ergon_channel *channels;
	struct source *sources;
	struct ergon_drops drops;
};

static void powercap_close(void *inst)
{
	struct powercap *pc = inst;
	int saved = errno;

	if (!pc)
		return;
	for (size_t i = 0; i < pc->nchannels; i++)
		close(pc->sources[i].fd);
	free(pc->sources);
	free(pc->channels);
	ergon_drops_free(&pc->drops);
	free(pc);
	errno = saved;
}

static void fill_channel(const struct ergon_machine *m, const struct ergon_zone *zone,
			 struct ergon_channel *ch)
{
	*ch = (struct ergon_channel){
		.domain = zone->domain,
		.package = zone->package,
		.die = zone->die,
		.unit_j = 1e-6,
		.modulus = ergon_zone_modulus_uj(zone->range_uj),
		.max_watts = ergon_machine_max_watts(m, zone->domain),
		.source = "powercap",
	};
	ergon_channel_set_name(ch);
	snprintf(ch->detail, sizeof(ch->detail), "%s", zone->entry);
}

struct tally {
	size_t forbidden;
	size_t zero;
	size_t good[ERGON_DOMAIN_COUNT];
	size_t bad[ERGON_DOMAIN_COUNT];
};

/* Open the counter of a zone and read it once; -1 + errno when it does not answer. */
static int open_zone(const struct ergon_machine *m, const struct ergon_zone *zone, uint64_t *value)
{
	char path[PATH_MAX];
	int fd, saved;

	snprintf(path, sizeof(path), ERGON_POWERCAP_DIR "/%s/energy_uj", zone->entry);
	fd = ergon_sysroot_open_file(m->sysroot, path, O_RDONLY);
	if (fd < 0 || ergon_fd_read_u64(fd, value) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* A zone that does not answer is dropped. */
static void add_zone(struct powercap *pc, const struct ergon_zone *zone, struct tally *tally)
{
	uint64_t value;
	int fd = open_zone(pc->m, zone, &value);

	if (fd < 0) {
		tally->forbidden += errno == EACCES || errno == EPERM;
		tally->bad[zone->domain]++;
		ergon_drop(&pc->drops, zone->entry, "energy_uj: %s", strerror(errno));
		return;
	}
	tally->zero += value == 0;
	tally->good[zone->domain]++;
	pc->sources[pc->nchannels] = (struct source){ fd, zone->mmio };
	fill_channel(pc->m, zone, &pc->channels[pc->nchannels++]);
}

/* Whether a total can be made of what was opened. */
static bool makes_total(struct powercap *pc)
{
	char words[64];

	ergon_scope_choose(pc->channels, pc->nchannels);
	return *ergon_scope_words(pc->channels, pc->nchannels, NULL, words, sizeof(words));
}

/*
 * A domain of the total is complete or absent: the energy of one socket of
 * two must not pass for the node's. The incomplete domain, or -1.
 */
static int incomplete_domain(const struct tally *tally)
{
	static const enum ergon_domain domains[] = { ERGON_DOMAIN_PACKAGE, ERGON_DOMAIN_DRAM };

	for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++)
		if (tally->good[domains[i]] > 0 && tally->bad[domains[i]] > 0)
			return (int)domains[i];
	return -1;
}

/* Why these zones give no energy; OK when they do. */
static void judge(struct powercap *pc, const struct ergon_zones *zones, const struct tally *tally,
		  struct ergon_probe *out)
{
	int incomplete = incomplete_domain(tally);

	if (zones->nentries == 0)
		ergon_probe_set(out, ERGON_PROBE_ABSENT, REMEDY_DRIVER,
				"no RAPL zone in " ERGON_POWERCAP_DIR);
	else if (zones->nzones == 0)
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_MASKED,
				"%zu RAPL zones are listed, none can be identified", zones->nentries);
	else if (pc->nchannels > 0 && tally->zero == pc->nchannels)
		ergon_probe_set(out, ERGON_PROBE_ZERO, "in a VM measure on the host",
				"all RAPL zones read 0");
	else if (incomplete >= 0)
		ergon_probe_set(out, tally->forbidden > 0 ? ERGON_PROBE_PERMISSION :
				ERGON_PROBE_UNSUPPORTED, tally->forbidden > 0 ? REMEDY_RIGHTS : "",
				"%zu of %zu %s zones cannot be read; the rest would pass for all",
				tally->bad[incomplete],
				tally->bad[incomplete] + tally->good[incomplete],
				ergon_domain_name((enum ergon_domain)incomplete));
	else if (makes_total(pc))
		ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
	else if (tally->forbidden > 0)
		ergon_probe_set(out, ERGON_PROBE_PERMISSION, REMEDY_RIGHTS,
				"energy_uj of %zu of %zu RAPL zones may not be read",
				tally->forbidden, zones->nzones);
	else if (pc->nchannels > 0)
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "",
				"no package, dram or psys zone among the %zu readable ones",
				pc->nchannels);
	else
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_MASKED,
				"none of %zu RAPL zones has a readable energy_uj", zones->nzones);
}

static struct powercap *discover(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct powercap *pc = calloc(1, sizeof(*pc));
	struct tally tally = { 0 };
	struct ergon_zones zones;

	if (!pc || ergon_zones_scan(m, &zones, &pc->drops) < 0) {
		if (errno == EACCES)
			ergon_probe_set(out, ERGON_PROBE_PERMISSION, REMEDY_RIGHTS,
					ERGON_POWERCAP_DIR ": %s", strerror(errno));
		else
			ergon_probe_set(out, ERGON_PROBE_ABSENT, REMEDY_DRIVER,
					ERGON_POWERCAP_DIR ": %s", strerror(errno));
		powercap_close(pc);
		return NULL;
	}
	pc->m = m;
	pc->channels = calloc(zones.nzones + 1, sizeof(*pc->channels));
	pc->sources = calloc(zones.nzones + 1, sizeof(*pc->sources));
	if (pc->channels && pc->sources) {
		for (size_t i = 0; i < zones.nzones; i++)
			add_zone(pc, &zones.zones[i], &tally);
		judge(pc, &zones, &tally, out);
	} else {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "out of memory");
	}
	ergon_zones_free(&zones);
	if (out->state == ERGON_PROBE_OK)
		return pc;
	powercap_close(pc);
	return NULL;
}

static void powercap_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	powercap_close(discover(m, out));
}

static void *powercap_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct powercap *pc = discover(m, &probe);

	if (!pc)
		ergon_probe_error("powercap", &probe, err);
	return pc;
}

static size_t powercap_channels(const void *inst, const struct ergon_channel **out)
{
	const struct powercap *pc = inst;

	*out = pc->channels;
	return pc->nchannels;
}

static size_t powercap_dropped(const void *inst, const struct ergon_dropped **out)
{
	const struct powercap *pc = inst;

	*out = pc->drops.items;
	return pc->drops.n;
}

static size_t powercap_read(void *inst, uint64_t *raw, bool *ok)
{
	struct powercap *pc = inst;
	size_t good = 0;

	for (size_t i = 0; i < pc->nchannels; i++) {
		ok[i] = ergon_fd_read_u64(pc->sources[i].fd, &raw[i]) == 0;
		good += ok[i];
	}
	return good;
}

/* The zone that measures what this channel does, whatever its index is now; NULL. */
static const struct ergon_zone *zone_of(const struct ergon_zones *zones,
					const struct ergon_channel *ch, bool mmio)
{
	for (size_t i = 0; i < zones->nzones; i++) {
		const struct ergon_zone *zone = &zones->zones[i];

		if (zone->domain == ch->domain && zone->package == ch->package &&
		    zone->die == ch->die && zone->mmio == mmio)
			return zone;
	}
	return NULL;
}

static void powercap_rescan(void *inst)
{
	struct powercap *pc = inst;
	struct ergon_zones zones;
	uint64_t value;

	if (ergon_zones_scan(pc->m, &zones, NULL) < 0)
		return;
	for (size_t i = 0; i < pc->nchannels; i++) {
		struct source *source = &pc->sources[i];
		const struct ergon_zone *zone = zone_of(&zones, &pc->channels[i], source->mmio);
		int fd;

		if (!zone || ergon_fd_read_u64(source->fd, &value) == 0)
			continue;
		fd = open_zone(pc->m, zone, &value);
		if (fd < 0)
			continue;
		close(source->fd);
		source->fd = fd;
	}
	ergon_zones_free(&zones);
}

const struct ergon_backend ergon_backend_powercap = {
	.name = "powercap",
	.help = "RAPL counters through /sys/class/powercap",
	.automatic = true,
	.group = "rapl",
	.probe = powercap_probe,
	.open = powercap_open,
	.channels = powercap_channels,
	.dropped = powercap_dropped,
	.read = powercap_read,
	.rescan = powercap_rescan,
	.close = powercap_close,
};
