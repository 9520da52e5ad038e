/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The meters of an HPE Cray EX or XC node: whole joules, ten times a
 * second, of the node and of its CPUs, memory and accelerators, which the
 * node's counter holds (pm_counters.h has the rules). One accelerator is
 * one card: both dies of an MI250X, its memory included.
 *
 * The files are cheap to read and change at 10 Hz: read at that rate on a
 * slow thread, so that a fast sampler does not read ten files a hundred
 * times for each change, nor wait for a controller.
 *
 * A counter that reads 0 at open is not connected: nodes without
 * accelerators have accelN_energy all the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "clock.h"
#include "delta.h"
#include "pm_counters.h"
#include "slow.h"

#define PERIOD_NS 100000000u
/* A controller that has not scanned for so long does not answer. */
#define HOLD_NS 3000000000u

#define REMEDY_NONE "only HPE Cray nodes have it; in a container mount the host's /sys/cray"
#define REMEDY_RIGHTS "let the files be read (they are 0444 as Cray ships them)"

static const struct {
	const char *name;
	enum ergon_domain domain;
} node_files[] = {
	{ "energy", ERGON_DOMAIN_NODE },
	{ "cpu_energy", ERGON_DOMAIN_CPU },
	{ "memory_energy", ERGON_DOMAIN_DRAM },
};

#define SUM_OF_ACCELS "accel_energy"

struct file {
	char name[32];
	const char *unit;
	int fd;                   /* -1: there is none */
};

/* All that the thread touches: it may outlive the backend when a file hangs. */
struct set {
	struct ergon_sysroot *sysroot; /* its own, for the same reason */
	atomic_bool reopen;       /* find the files again */
	struct ergon_pm_clock clock;
	struct ergon_pm_snapshot snap;
	struct ergon_pm_counter *counters; /* snap.n */
	struct file *files;       /* ERGON_PM_COUNTERS + snap.n */
};

/* What open() read of a channel: good until the thread has read it. */
struct first {
	uint64_t raw;
	bool over;
};

struct cray {
	struct set *set;
	struct ergon_slow *slow;
	size_t nchannels;
	struct ergon_channel *channels;
	struct ergon_drops drops;
	uint64_t opened_ns;
	struct first *first;      /* nchannels */
};

/* --- the files --- */

static int read_file(void *arg, size_t i, struct ergon_pm_value *out)
{
	const struct set *set = arg;
	const struct file *file = &set->files[i];

	return ergon_pm_read(file->fd, file->unit, out);
}

static int open_file(const struct ergon_sysroot *sysroot, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), ERGON_PM_DIR "/%s", name);
	return ergon_sysroot_open_file(sysroot, path, O_RDONLY);
}

/* The driver may have been loaded anew: its old files answer no more. Names are identity here. */
static void reopen_files(struct set *set)
{
	for (size_t i = 0; i < ERGON_PM_COUNTERS + set->snap.n; i++) {
		struct file *file = &set->files[i];
		int fd = open_file(set->sysroot, file->name);

		if (fd < 0)
			continue;
		if (file->fd >= 0)
			close(file->fd);
		file->fd = fd;
	}
}

/* Our time of the newest value. */
static uint64_t time_of_values(struct set *set, uint64_t now_ns)
{
	uint64_t newest_us = 0;

	for (size_t i = 0; i < set->snap.n; i++)
		if (set->snap.ok[i] && set->snap.values[i].us > newest_us)
			newest_us = set->snap.values[i].us;
	return newest_us ? ergon_pm_time(&set->clock, newest_us, now_ns) : now_ns;
}

static void read_set(void *arg, uint64_t *raw, bool *ok, uint64_t *t_ns)
{
	struct set *set = arg;
	uint64_t taken_ns;

	if (atomic_exchange(&set->reopen, false))
		reopen_files(set);
	if (!ergon_pm_take(read_file, set, &set->snap))
		return;
	taken_ns = time_of_values(set, t_ns[0]);
	for (size_t i = 0; i < set->snap.n; i++) {
		ok[i] = set->snap.ok[i];
		if (!ok[i])
			continue;
		raw[i] = ergon_pm_advance(&set->counters[i], set->snap.values[i].value, &set->snap);
		t_ns[i] = taken_ns;
	}
}

static void free_set(void *arg)
{
	struct set *set = arg;

	if (!set)
		return;
	for (size_t i = 0; set->files && i < ERGON_PM_COUNTERS + set->snap.n; i++)
		if (set->files[i].fd >= 0)
			close(set->files[i].fd);
	free(set->files);
	free(set->counters);
	free(set->snap.values);
	free(set->snap.ok);
	ergon_sysroot_close(set->sysroot);
	free(set);
}

/* --- opening --- */

static void cray_close(void *inst)
{
	struct cray *c = inst;
	int saved = errno;

	if (!c)
		return;
	if (c->slow)
		ergon_slow_stop(c->slow); /* releases the set */
	else
		free_set(c->set);
	free(c->channels);
	free(c->first);
	ergon_drops_free(&c->drops);
	free(c);
	errno = saved;
}

static struct file *new_files(size_t n)
{
	struct file *files = calloc(n, sizeof(*files));

	for (size_t i = 0; files && i < n; i++)
		files[i].fd = -1;
	return files;
}

static struct cray *new_cray(const struct ergon_machine *m, size_t nfiles)
{
	struct cray *c = calloc(1, sizeof(*c));
	struct set *set = calloc(1, sizeof(*set));

	if (c)
		c->set = set;
	if (c && set) {
		set->sysroot = ergon_sysroot_open(ergon_sysroot_path(m->sysroot), NULL);
		set->files = new_files(ERGON_PM_COUNTERS + nfiles);
		set->counters = calloc(nfiles + 1, sizeof(*set->counters));
		set->snap.values = calloc(nfiles + 1, sizeof(*set->snap.values));
		set->snap.ok = calloc(nfiles + 1, sizeof(*set->snap.ok));
		c->channels = calloc(nfiles + 1, sizeof(*c->channels));
		c->first = calloc(nfiles + 1, sizeof(*c->first));
		if (set->sysroot && set->files && set->counters && set->snap.values &&
		    set->snap.ok && c->channels && c->first)
			return c;
	}
	if (!c)
		free(set);
	cray_close(c);
	return NULL;
}

/* N of "accelN_energy"; -1. */
static int accel_number(const char *name)
{
	unsigned number;
	int end = 0;

	if (strncmp(name, "accel", 5) != 0 || name[5] < '0' || name[5] > '9' ||
	    sscanf(name + 5, "%3u_energy%n", &number, &end) != 1 || end == 0 || name[5 + end])
		return -1;
	return (int)number;
}

struct tally {
	size_t listed;            /* counters that we know */
	size_t forbidden, bad, zero;
	size_t accels;            /* good ones */
	bool node;                /* its counter is good */
};

static void fill_channel(const struct ergon_machine *m, const char *name, enum ergon_domain domain,
			 struct ergon_channel *ch)
{
	int accel = accel_number(name);

	*ch = (struct ergon_channel){
		.domain = domain,
		.package = -1,
		.die = -1,
		.unit_j = 1,
		.modulus = ERGON_MODULUS_UNKNOWN,
		.max_watts = ergon_machine_max_watts(m, domain),
		.step_ns = HOLD_NS,
		.source = "cray",
	};
	ergon_channel_set_name(ch);
	if (accel >= 0) {
		snprintf(ch->name, sizeof(ch->name), "gpu%d", accel);
		snprintf(ch->id, sizeof(ch->id), "accel%d", accel);
	}
	snprintf(ch->detail, sizeof(ch->detail), "pm_counters/%s", name);
}

static void drop(struct cray *c, const char *name, const char *why)
{
	char what[64];

	snprintf(what, sizeof(what), "pm_counters/%s", name);
	ergon_drop(&c->drops, what, "%s", why);
}

/* Open a counter and read it once; what does not answer is dropped. */
static void add_counter(struct cray *c, const struct ergon_machine *m, const char *name,
			enum ergon_domain domain, struct tally *tally)
{
	struct file *file = &c->set->files[ERGON_PM_COUNTERS + c->nchannels];
	struct ergon_pm_value value;
	int fd = open_file(m->sysroot, name);

	tally->listed++;
	if (fd < 0 || ergon_pm_read(fd, "J", &value) < 0) {
		tally->forbidden += errno == EACCES || errno == EPERM;
		tally->bad++;
		drop(c, name, errno == EINVAL || errno == ERANGE ?
		     "holds no number of joules" : strerror(errno));
	} else if (value.value == 0) {
		tally->zero++;
		drop(c, name, "reads 0: not connected");
	} else {
		tally->node |= domain == ERGON_DOMAIN_NODE;
		tally->accels += accel_number(name) >= 0;
		*file = (struct file){ .unit = "J", .fd = fd };
		snprintf(file->name, sizeof(file->name), "%s", name);
		fill_channel(m, name, domain, &c->channels[c->nchannels++]);
		c->set->snap.n = c->nchannels;
		return;
	}
	if (fd >= 0)
		close(fd);
}

static void add_mark(struct cray *c, const struct ergon_machine *m, size_t i, const char *name)
{
	struct file *file = &c->set->files[i];

	*file = (struct file){ .unit = "", .fd = open_file(m->sysroot, name) };
	snprintf(file->name, sizeof(file->name), "%s", name);
}

static bool listed(char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static void add_counters(struct cray *c, const struct ergon_machine *m, char **names,
			 struct tally *tally)
{
	add_mark(c, m, ERGON_PM_FRESHNESS, "freshness");
	add_mark(c, m, ERGON_PM_STARTUP, "startup");
	for (size_t i = 0; i < sizeof(node_files) / sizeof(node_files[0]); i++)
		if (listed(names, node_files[i].name))
			add_counter(c, m, node_files[i].name, node_files[i].domain, tally);
	for (size_t i = 0; names[i]; i++)
		if (accel_number(names[i]) >= 0)
			add_counter(c, m, names[i], ERGON_DOMAIN_GPU, tally);
	if (!listed(names, SUM_OF_ACCELS))
		return;
	if (tally->accels > 0)
		drop(c, SUM_OF_ACCELS, "the sum of accelN_energy");
	else
		add_counter(c, m, SUM_OF_ACCELS, ERGON_DOMAIN_GPU, tally);
}

/* Without the node's own counter a part that fails would be missing from the total. */
static void judge(const struct cray *c, const struct tally *tally, struct ergon_probe *out)
{
	bool forbidden = tally->forbidden > 0;

	if (tally->listed == 0)
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "",
				"no energy counter in " ERGON_PM_DIR);
	else if (tally->zero == tally->listed)
		ergon_probe_set(out, ERGON_PROBE_ZERO, "ask the site whether its controllers "
				"measure power", "all counters in " ERGON_PM_DIR " read 0");
	else if (tally->bad > 0 && !tally->node)
		ergon_probe_set(out, forbidden ? ERGON_PROBE_PERMISSION : ERGON_PROBE_UNSUPPORTED,
				forbidden ? REMEDY_RIGHTS : "",
				"%zu of %zu counters in " ERGON_PM_DIR " cannot be read, and the "
				"node's is not there to stand for them", tally->bad, tally->listed);
	else if (c->nchannels > 0)
		ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
}

static struct cray *discover(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct tally tally = { 0 };
	struct cray *c;
	char **names;
	ssize_t n = ergon_sysroot_list(m->sysroot, ERGON_PM_DIR, &names);

	if (n < 0) {
		bool forbidden = errno == EACCES || errno == EPERM;

		ergon_probe_set(out, forbidden ? ERGON_PROBE_PERMISSION : ERGON_PROBE_ABSENT,
				forbidden ? REMEDY_RIGHTS : REMEDY_NONE,
				ERGON_PM_DIR ": %s", strerror(errno));
		return NULL;
	}
	ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "out of memory");
	c = new_cray(m, (size_t)n);
	if (c) {
		add_counters(c, m, names, &tally);
		judge(c, &tally, out);
	}
	ergon_sysroot_free_list(names);
	if (out->state == ERGON_PROBE_OK)
		return c;
	cray_close(c);
	return NULL;
}

static void cray_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	cray_close(discover(m, out));
}

static int start_thread(struct cray *c, struct ergon_error *err)
{
	enum ergon_slow_kind *kinds = calloc(c->nchannels, sizeof(*kinds));
	const struct ergon_slow_config config = {
		.thread_name = "ergon-cray",
		.period_ns = PERIOD_NS,
		.hold_ns = HOLD_NS,
		.n = c->nchannels,
		.kinds = kinds,
		.read = read_set,
		.release = free_set,
		.arg = c->set,
	};

	if (!kinds)
		return ergon_error_set(err, "out of memory");
	for (size_t i = 0; i < c->nchannels; i++)
		kinds[i] = ERGON_SLOW_COUNTER;
	c->slow = ergon_slow_start(&config, err);
	free(kinds);
	return c->slow ? 0 : -1;
}

/* Where all counters are counted from. */
static bool read_first(struct cray *c)
{
	bool good = ergon_pm_take(read_file, c->set, &c->set->snap);

	c->opened_ns = ergon_clock_ns();
	for (size_t i = 0; i < c->nchannels && good; i++) {
		good = c->set->snap.ok[i];
		if (good)
			c->first[i].raw = ergon_pm_advance(&c->set->counters[i],
							   c->set->snap.values[i].value,
							   &c->set->snap);
	}
	return good;
}

static void *cray_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct cray *c = discover(m, &probe);

	if (!c) {
		ergon_probe_error("cray", &probe, err);
		return NULL;
	}
	if (!read_first(c))
		ergon_error_set(err, "cray: " ERGON_PM_DIR " changed while it was opened; try again");
	else if (start_thread(c, err) == 0)
		return c;
	cray_close(c);
	return NULL;
}

static size_t cray_channels(const void *inst, const struct ergon_channel **out)
{
	const struct cray *c = inst;

	*out = c->channels;
	return c->nchannels;
}

static size_t cray_dropped(const void *inst, const struct ergon_dropped **out)
{
	const struct cray *c = inst;

	*out = c->drops.items;
	return c->drops.n;
}

static size_t cray_read(void *inst, uint64_t *raw, bool *ok)
{
	struct cray *c = inst;
	size_t good = ergon_slow_latest(c->slow, raw, ok);
	bool fresh = ergon_clock_ns() - c->opened_ns < HOLD_NS;

	for (size_t i = 0; i < c->nchannels; i++) {
		c->first[i].over |= ok[i] || !fresh;
		if (c->first[i].over)
			continue;
		raw[i] = c->first[i].raw;
		ok[i] = true;
		good++;
	}
	return good;
}

/* Only the thread touches the files. */
static void cray_rescan(void *inst)
{
	struct cray *c = inst;

	atomic_store(&c->set->reopen, true);
}

const struct ergon_backend ergon_backend_cray = {
	.name = "cray",
	.help = "node, CPU, memory and accelerator counters of HPE Cray (pm_counters)",
	.automatic = true,
	.probe = cray_probe,
	.open = cray_open,
	.channels = cray_channels,
	.dropped = cray_dropped,
	.read = cray_read,
	.rescan = cray_rescan,
	.close = cray_close,
};
