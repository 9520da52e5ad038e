/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RAPL by reading the registers themselves: where the kernel has neither
 * its power PMU nor powercap. Units and widths are ours to know (msr.h); a
 * CPU that is not in the table is refused.
 *
 * A register is read on one CPU of its package (of its die where Intel
 * packages have several), the lowest that answers, and on another when that
 * one goes offline: see msr_rescan(). AMD's core register belongs to one
 * physical core: it is read on one thread of each, and their deltas are
 * added up to one channel per package. That interrupts every core: where
 * it takes long it is done more rarely than asked, see sum_cores().
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "clock.h"
#include "delta.h"
#include "msr.h"
#include "msr_place.h"
#include "scope.h"

#define REMEDY_KERNEL "use perf or powercap: the kernel's drivers may know this CPU"
#define REMEDY_TPMI "use perf or powercap (modprobe intel_rapl_tpmi)"
#define REMEDY_MODULE "modprobe msr; a container needs the devices /dev/cpu/*/msr"
#define REMEDY_RIGHTS "run as root, or with CAP_SYS_RAWIO and read permission for /dev/cpu/*/msr"
#define REMEDY_ALLOW "add the register to /dev/cpu/msr_allowlist"
#define REMEDY_VM "in a VM measure on the host"

/* A round of all cores that takes longer than this is not made at every reading ... */
#define ROUND_NS 50000u
/* ... but in one of so many parts of the time, and at least so often. */
#define ROUND_SHARE 100u
#define ROUND_PERIOD_NS 100000000u

/* One register of a place. */
struct counter {
	size_t place;
	uint32_t address;
	bool wide;
	/* Only of counters that are added up. */
	bool based;               /* raw and t_ns are of a reading */
	bool parked;              /* the whole core is offline: draws nothing until it answers */
	uint64_t raw;
	uint64_t t_ns;
};

/* What a channel is made of. */
struct source {
	size_t first, n;          /* its counters */
	bool summed;
	/* Only where they are added up. */
	struct ergon_channel each; /* for the deltas of one counter */
	uint64_t sum;             /* counts since it was opened */
	uint64_t due_ns;          /* no round before */
};

struct msr {
	const struct ergon_machine *m;
	const struct ergon_msr_cpu *cpu;
	size_t nunits;            /* packages or dies: the first places */
	uint64_t *units;          /* their unit registers */
	size_t nplaces;
	struct ergon_msr_place *places;
	size_t ncounters;
	struct counter *counters;
	size_t nchannels;
	struct ergon_channel *channels;
	struct source *sources;
	struct ergon_drops drops;
	struct ergon_msr_failure failure; /* the last */
	unsigned flags;           /* of single cores' deltas in the last read() */
};

/* The domains in the order of channels. */
static const enum ergon_domain domains[] = {
	ERGON_DOMAIN_PACKAGE, ERGON_DOMAIN_CORE, ERGON_DOMAIN_UNCORE, ERGON_DOMAIN_DRAM,
	ERGON_DOMAIN_PLATFORM,
};

#define NDOMAINS (sizeof(domains) / sizeof(domains[0]))

static void msr_close(void *inst)
{
	struct msr *msr = inst;
	int saved = errno;

	if (!msr)
		return;
	for (size_t i = 0; i < msr->nplaces; i++)
		close(msr->places[i].fd);
	free(msr->units);
	free(msr->places);
	free(msr->counters);
	free(msr->channels);
	free(msr->sources);
	ergon_drops_free(&msr->drops);
	free(msr);
	errno = saved;
}

/* --- finding channels --- */

/* A new place; its position, or -1 + failure. */
static ssize_t add_place(struct msr *msr, const struct ergon_cpu *cpu, int die, int core,
			 uint64_t *units)
{
	struct ergon_msr_place *place = &msr->places[msr->nplaces];

	*place = (struct ergon_msr_place){ .package = cpu->package, .die = die, .core = core };
	if (ergon_msr_place_open(place, msr->m->sysroot, msr->m->topo, msr->cpu->registers->unit,
				 units, &msr->failure) < 0)
		return -1;
	return (ssize_t)msr->nplaces++;
}

/* A place per package or die; false when one of them does not answer. */
static bool add_units(struct msr *msr)
{
	const struct ergon_topo *topo = msr->m->topo;
	bool dies = ergon_topo_has_dies(topo) && !ergon_topo_counts_per_package(topo);

	for (size_t i = 0; i < topo->ncpus; i++) {
		const struct ergon_cpu *cpu = &topo->cpus[i];
		size_t u = 0;

		while (u < msr->nunits && !ergon_msr_place_has(&msr->places[u], cpu))
			u++;
		if (u < msr->nunits)
			continue;
		if (add_place(msr, cpu, dies ? cpu->die : -1, -1, &msr->units[msr->nunits]) < 0)
			return false;
		msr->nunits++;
	}
	return true;
}

/* Give back what was opened since these were the numbers. */
static void forget(struct msr *msr, size_t nplaces, size_t ncounters)
{
	while (msr->nplaces > nplaces)
		close(msr->places[--msr->nplaces].fd);
	msr->ncounters = ncounters;
}

/* One counter more for a source. 0 and its reading, or -1 + failure. */
static int add_counter(struct msr *msr, struct source *source, size_t place, uint32_t address,
		       uint64_t *value)
{
	struct counter *counter = &msr->counters[msr->ncounters];

	*counter = (struct counter){ .place = place, .address = address };
	if (ergon_msr_place_read(&msr->places[place], address, value) < 0) {
		ergon_msr_place_explain(&msr->places[place], address, &msr->failure);
		return -1;
	}
	counter->wide = ergon_msr_is_wide(msr->cpu, *value);
	if (!counter->wide)
		*value &= UINT32_MAX;
	msr->ncounters++;
	source->n++;
	return 0;
}

/* A counter on one thread of each core of a unit. */
static int add_cores(struct msr *msr, struct source *source, size_t unit, uint32_t address,
		     uint64_t *value)
{
	const struct ergon_topo *topo = msr->m->topo;

	*value = 0;
	for (size_t i = 0; i < topo->ncpus; i++) {
		const struct ergon_cpu *cpu = &topo->cpus[i];
		size_t c = source->first;
		uint64_t units, one;
		ssize_t place;

		if (!ergon_msr_place_has(&msr->places[unit], cpu))
			continue;
		while (c < msr->ncounters &&
		       !ergon_msr_place_has(&msr->places[msr->counters[c].place], cpu))
			c++;
		if (c < msr->ncounters)
			continue;
		place = add_place(msr, cpu, -1, cpu->core, &units);
		if (place < 0 || add_counter(msr, source, (size_t)place, address, &one) < 0)
			return -1;
		*value |= one;
	}
	return 0;
}

static void fill_channel(const struct msr *msr, enum ergon_domain domain, size_t unit,
			 const struct source *source, struct ergon_channel *ch)
{
	const struct ergon_msr_place *place = &msr->places[unit];
	const struct counter *counter = &msr->counters[source->first];
	bool node = domain == ERGON_DOMAIN_PLATFORM;

	*ch = (struct ergon_channel){
		.domain = domain,
		.package = node ? -1 : place->package,
		.die = node ? -1 : place->die,
		.unit_j = ergon_msr_unit_j(msr->cpu, domain, msr->units[unit]),
		.modulus = counter->wide ? 0 : 1ull << 32,
		.max_watts = ergon_machine_max_watts(msr->m, domain),
		.source = "msr",
	};
	ergon_channel_set_name(ch);
	if (source->summed)
		snprintf(ch->detail, sizeof(ch->detail), "register 0x%x of %zu cores",
			 counter->address, source->n);
	else
		snprintf(ch->detail, sizeof(ch->detail), "%s 0x%x cpu%d",
			 place->safe ? "msr_safe" : "msr", counter->address, place->cpu);
}

/* The register of a domain on one unit: a source and a reading of it. */
static int open_source(struct msr *msr, enum ergon_domain domain, size_t unit,
		       struct source *source, uint64_t *value)
{
	uint32_t address = msr->cpu->registers->energy[domain];
	size_t nplaces = msr->nplaces;
	int rc;

	*source = (struct source){
		.first = msr->ncounters,
		.summed = domain == ERGON_DOMAIN_CORE && msr->cpu->quirks & ERGON_MSR_EACH_CORE,
	};
	rc = source->summed ? add_cores(msr, source, unit, address, value) :
	     add_counter(msr, source, unit, address, value);
	if (rc < 0)
		forget(msr, nplaces, source->first);
	return rc;
}

/* The register of a domain on a unit, in words. */
static const char *name_register(const struct msr *msr, enum ergon_domain domain, size_t unit,
				 char buf[96])
{
	snprintf(buf, 96, "%s register 0x%x cpu%d", ergon_domain_name(domain),
		 msr->cpu->registers->energy[domain], msr->places[unit].cpu);
	return buf;
}

/* How many units have a register that cannot be read, one that reads 0, one that counts. */
struct tally {
	size_t bad, zero, moving;
	struct ergon_msr_failure failure; /* the first */
};

/* A unit's register is one more channel. */
static void add_channel(struct msr *msr, enum ergon_domain domain, size_t unit,
			const struct source *source)
{
	struct ergon_channel *ch = &msr->channels[msr->nchannels];
	struct source *kept = &msr->sources[msr->nchannels++];

	fill_channel(msr, domain, unit, source, ch);
	*kept = *source;
	if (!source->summed)
		return;
	/* Each core's count may wrap; the sum of what came on top never does. */
	kept->each = *ch;
	ch->modulus = 0;
	ch->step_ns = ROUND_PERIOD_NS;
}

/*
 * All units of a domain. A register that reads 0 is not there, or has not
 * counted yet: a domain that is 0 everywhere is no channel, and is looked at
 * again when the counters are opened the next time. One that is 0 here and
 * counts there is a domain that exists. Not so psys: a node has one, and
 * the other packages' registers are empty.
 */
static struct tally add_domain(struct msr *msr, enum ergon_domain domain, struct source *found,
			       uint64_t *values)
{
	size_t nplaces = msr->nplaces, ncounters = msr->ncounters, nchannels = msr->nchannels;
	bool once = domain == ERGON_DOMAIN_PLATFORM;
	struct tally tally = { 0 };
	char what[96];

	for (size_t u = 0; u < msr->nunits; u++) {
		if (open_source(msr, domain, u, &found[u], &values[u]) < 0) {
			found[u].n = 0;
			if (tally.bad++ == 0)
				tally.failure = msr->failure;
			ergon_drop(&msr->drops, name_register(msr, domain, u, what), "%s: %s",
				   msr->failure.what, strerror(msr->failure.error));
		} else {
			tally.zero += values[u] == 0;
			tally.moving += values[u] != 0;
		}
	}
	for (size_t u = 0; u < msr->nunits; u++) {
		if (found[u].n == 0)
			continue;
		if (values[u] == 0 && (once || tally.moving == 0))
			ergon_drop(&msr->drops, name_register(msr, domain, u, what),
				   "reads 0: not there, or nothing counted yet");
		else if (once && msr->nchannels > nchannels)
			ergon_drop(&msr->drops, name_register(msr, domain, u, what),
				   "a node has one psys");
		else
			add_channel(msr, domain, u, &found[u]);
	}
	if (msr->nchannels == nchannels)
		forget(msr, nplaces, ncounters);
	return tally;
}

/* --- the answer --- */

static const struct {
	int error;
	enum ergon_probe_state state;
	const char *remedy;
} answers[] = {
	{ ENOENT, ERGON_PROBE_ABSENT, REMEDY_MODULE },
	{ ENXIO, ERGON_PROBE_ABSENT, "" },
	{ EACCES, ERGON_PROBE_PERMISSION, REMEDY_RIGHTS },
	{ EPERM, ERGON_PROBE_PERMISSION, REMEDY_RIGHTS },
	{ EIO, ERGON_PROBE_UNSUPPORTED, REMEDY_VM },
	{ 0, ERGON_PROBE_UNSUPPORTED, "" },
};

static void answer_failure(const struct ergon_msr_failure *failure, const char *consequence,
			   struct ergon_probe *out)
{
	size_t i = 0;

	while (answers[i].error && answers[i].error != failure->error)
		i++;
	ergon_probe_set(out, answers[i].state, failure->listed ? REMEDY_ALLOW : answers[i].remedy,
			"%s: %s%s", failure->what, strerror(failure->error),
			consequence);
}

static bool makes_total(struct msr *msr)
{
	char words[64];

	ergon_scope_choose(msr->channels, msr->nchannels);
	return *ergon_scope_words(msr->channels, msr->nchannels, NULL, words, sizeof(words));
}

/* False + the answer when the CPU is not one whose registers are known. */
static bool know_cpu(struct msr *msr, struct ergon_probe *out)
{
	const struct ergon_topo *topo = msr->m->topo;

	msr->cpu = ergon_msr_cpu_find(topo->vendor, topo->family, topo->model);
	if (msr->cpu && !(msr->cpu->quirks & ERGON_MSR_TPMI))
		return true;
	if (topo->family < 0 || topo->model < 0)
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_KERNEL,
				"the CPU's vendor, family and model are not known");
	else
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, msr->cpu ? REMEDY_TPMI : REMEDY_KERNEL,
				"%s family %d model %d (0x%x) %s", topo->vendor, topo->family,
				topo->model, (unsigned)topo->model,
				msr->cpu ? "has its energy counters in TPMI, not in MSRs" :
				"is not among the CPUs whose energy registers are known");
	return false;
}

/* Channels of all domains; OK, or why there are none that make a total. */
static void add_domains(struct msr *msr, struct source *found, uint64_t *values,
			struct ergon_probe *out)
{
	struct ergon_msr_failure first = { 0 };
	size_t zero = 0;

	for (size_t d = 0; d < NDOMAINS; d++) {
		bool total = domains[d] == ERGON_DOMAIN_PACKAGE || domains[d] == ERGON_DOMAIN_DRAM;
		struct tally tally;

		if (!(msr->cpu->domains & 1u << domains[d]))
			continue;
		tally = add_domain(msr, domains[d], found, values);
		zero += tally.zero;
		if (!first.error)
			first = tally.failure;
		/* A domain of the total is complete or absent. */
		if (total && tally.bad > 0 && tally.moving > 0) {
			answer_failure(&tally.failure, "; the rest would pass for all", out);
			return;
		}
	}
	if (makes_total(msr))
		ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
	else if (msr->nchannels > 0)
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_VM,
				"no package, dram or psys register counts");
	else if (zero > 0)
		ergon_probe_set(out, ERGON_PROBE_ZERO, REMEDY_VM,
				"all energy registers read 0");
	else
		answer_failure(&first, "", out);
}

/* A unit register of 0 would mean whole joules: nobody fills these registers. */
static bool has_units(const struct msr *msr)
{
	for (size_t u = 0; u < msr->nunits; u++)
		if (msr->units[u] == 0)
			return false;
	return true;
}

static void find_channels(struct msr *msr, struct ergon_probe *out)
{
	size_t n = msr->m->topo->ncpus;
	struct source *found = NULL;
	uint64_t *values = NULL;

	ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "out of memory");
	/* At most a unit and a core per CPU, and a register of each domain per unit. */
	msr->units = calloc(n, sizeof(*msr->units));
	msr->places = calloc(2 * n, sizeof(*msr->places));
	msr->counters = calloc((NDOMAINS + 1) * n, sizeof(*msr->counters));
	if (!msr->units || !msr->places || !msr->counters)
		return;
	if (!add_units(msr)) {
		answer_failure(&msr->failure, "", out);
		return;
	}
	if (!has_units(msr)) {
		ergon_probe_set(out, ERGON_PROBE_ZERO, REMEDY_VM, "the unit register 0x%x reads 0",
				msr->cpu->registers->unit);
		return;
	}
	msr->channels = calloc(NDOMAINS * msr->nunits, sizeof(*msr->channels));
	msr->sources = calloc(NDOMAINS * msr->nunits, sizeof(*msr->sources));
	found = calloc(msr->nunits, sizeof(*found));
	values = calloc(msr->nunits, sizeof(*values));
	if (msr->channels && msr->sources && found && values)
		add_domains(msr, found, values, out);
	free(found);
	free(values);
}

static struct msr *discover(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct msr *msr = calloc(1, sizeof(*msr));

	if (!msr) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "out of memory");
		return NULL;
	}
	msr->m = m;
	if (know_cpu(msr, out))
		find_channels(msr, out);
	if (out->state == ERGON_PROBE_OK)
		return msr;
	msr_close(msr);
	return NULL;
}

static void msr_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	msr_close(discover(m, out));
}

static void *msr_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct msr *msr = discover(m, &probe);

	if (!msr)
		ergon_probe_error("msr", &probe, err);
	return msr;
}

static size_t msr_channels(const void *inst, const struct ergon_channel **out)
{
	const struct msr *msr = inst;

	*out = msr->channels;
	return msr->nchannels;
}

static size_t msr_dropped(const void *inst, const struct ergon_dropped **out)
{
	const struct msr *msr = inst;

	*out = msr->drops.items;
	return msr->drops.n;
}

/* --- reading --- */

static bool read_counter(const struct msr *msr, const struct counter *counter, uint64_t *raw)
{
	uint64_t value;

	if (ergon_msr_place_read(&msr->places[counter->place], counter->address, &value) < 0)
		return false;
	*raw = counter->wide ? value : value & UINT32_MAX;
	return true;
}

/* Add what one core drew; false when it does not answer. */
static bool add_core(struct msr *msr, struct source *source, struct counter *counter, uint64_t now)
{
	struct ergon_delta d = { 0, 0 };
	uint64_t raw;

	if (!read_counter(msr, counter, &raw))
		return counter->parked;
	source->each.modulus = counter->wide ? 0 : 1ull << 32;
	if (counter->based && !counter->parked)
		d = ergon_delta(&source->each, counter->raw, raw, now - counter->t_ns);
	counter->raw = raw;
	counter->t_ns = now;
	counter->based = true;
	counter->parked = false;
	source->sum += d.counts;
	msr->flags |= d.flags;
	return true;
}

/*
 * Each core costs an interrupt: a server's 128 cores 0.1 to 0.3 ms, and
 * every one of them its sleep. Between two rounds the sum stands still.
 */
static bool sum_cores(struct msr *msr, struct source *source, uint64_t *raw)
{
	uint64_t now = ergon_clock_ns(), took;
	bool good = true;

	if (now >= source->due_ns) {
		for (size_t c = 0; c < source->n; c++)
			good &= add_core(msr, source, &msr->counters[source->first + c], now);
		took = ergon_clock_ns() - now;
		if (good && took > ROUND_NS)
			source->due_ns = now + (took < ROUND_PERIOD_NS / ROUND_SHARE ?
						took * ROUND_SHARE : ROUND_PERIOD_NS);
	}
	if (good)
		*raw = source->sum;
	return good;
}

static size_t msr_read(void *inst, uint64_t *raw, bool *ok)
{
	struct msr *msr = inst;
	size_t good = 0;

	msr->flags = 0;
	for (size_t i = 0; i < msr->nchannels; i++) {
		struct source *source = &msr->sources[i];

		ok[i] = source->summed ? sum_cores(msr, source, &raw[i]) :
			read_counter(msr, &msr->counters[source->first], &raw[i]);
		good += ok[i];
	}
	return good;
}

static unsigned msr_flags(const void *inst)
{
	const struct msr *msr = inst;

	return msr->flags;
}

/* A core all of whose threads are offline draws nothing. */
static void park(struct msr *msr, size_t place)
{
	for (size_t i = 0; i < msr->nchannels; i++) {
		const struct source *source = &msr->sources[i];

		for (size_t c = source->first; source->summed && c < source->first + source->n; c++)
			if (msr->counters[c].place == place)
				msr->counters[c].parked = true;
	}
}

/*
 * A place whose CPU does not answer is read on another one of its CPUs. The
 * fd of an offline CPU works again when it is back.
 */
static void msr_rescan(void *inst)
{
	struct msr *msr = inst;
	uint32_t address = msr->cpu->registers->unit;

	for (size_t p = 0; p < msr->nplaces; p++) {
		struct ergon_msr_place *place = &msr->places[p];
		struct ergon_msr_failure why;
		int old = place->fd;
		uint64_t units;

		if (ergon_msr_place_read(place, address, &units) == 0)
			continue;
		if (ergon_msr_place_open(place, msr->m->sysroot, msr->m->topo, address, &units,
					 &why) == 0)
			close(old);
		else if (ergon_msr_is_gone(why.error))
			park(msr, p);
	}
}

const struct ergon_backend ergon_backend_msr = {
	.name = "msr",
	.help = "RAPL counters through /dev/cpu/N/msr or msr_safe",
	.automatic = true,
	.group = "rapl",
	.probe = msr_probe,
	.open = msr_open,
	.channels = msr_channels,
	.dropped = msr_dropped,
	.read = msr_read,
	.flags = msr_flags,
	.rescan = msr_rescan,
	.close = msr_close,
};
