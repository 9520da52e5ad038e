/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Energy and power sensors of hwmon drivers (hwmon_source.h). A reading
 * may be a mailbox or firmware call that takes milliseconds, or a second
 * when it fails: each driver is read on a slow thread of its own, at its
 * own period, so that one that hangs holds up no other. Power becomes
 * energy there (slow.h).
 *
 * A sensor that gives no value is missing, the others go on: errors,
 * 0 where the table says so, more than the domain can draw, and the bit
 * patterns that drivers let through for "unknown".
 *
 * A GPU that sleeps is not woken to be measured: it draws next to nothing,
 * which is what is told of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "backend.h"
#include "clock.h"
#include "hwmon_source.h"
#include "scope.h"

#define MS 1000000ull
/* open() waits so long for the first answers: it is in the way of a job's start. */
#define FIRST_ANSWER_MS 20
/* Longer than a round of mailboxes that all time out, shorter than 32 bits of a GPU. */
#define HOLD_NS (5000 * MS)

#define REMEDY_DRIVER "load the platform's driver: xgene-hwmon, acpi_power_meter (on Grace with " \
	"force_cap_on=y), amdgpu, i915, xe, amd_energy; in a VM measure on the host"
#define REMEDY_RIGHTS "run as root, or let a group read the sensors' files (udev)"

/* What a reading gave, or a positive errno. */
enum {
	ANSWER_NONE = 0,
	ANSWER_GOOD = -1,
	ANSWER_ZERO = -2,
	ANSWER_ABSURD = -3
};

struct sensor {
	struct ergon_hwmon_source source;
	int fd;                   /* -1: gone */
	int status;               /* of a GPU: what its runtime power management says; -1: nothing */
	bool based;               /* last is one */
	uint64_t last;            /* the last good value */
	uint64_t max;             /* highest believable value, uW; of a counter UINT64_MAX - 1 */
	atomic_int answer;        /* the last one */
	atomic_bool out;          /* not wanted after all: not read */
};

/* The sensors of one driver and period: belongs to its thread, which may outlive the backend. */
struct group {
	struct ergon_sysroot *sysroot; /* its own, for the same reason */
	int answered;             /* eventfd: readable after the first round */
	atomic_bool rescan;       /* look for sensors that are gone */
	size_t n;
	struct sensor sensors[];
};

struct reader {
	struct group *group;
	struct ergon_slow *slow;
	size_t first;             /* of its readings in hwmon.raw */
};

struct hwmon {
	size_t nreaders;
	struct reader *readers;
	size_t nraw;
	uint64_t *raw;            /* newest of all sensors, wanted or not */
	bool *ok;
	size_t nchannels;
	struct ergon_channel *channels;
	struct source {
		size_t raw;       /* position in raw */
		const struct sensor *sensor;
		bool begun;       /* has had a value */
	} *sources;               /* of the channels */
	uint64_t opened_ns;
	struct ergon_drops drops;
};

/* --- on the slow thread --- */

/* Drivers hand these through, the first also in mW: all ones, and INT_MAX. */
static bool is_pattern(uint64_t uw)
{
	return uw == UINT32_MAX || uw == UINT32_MAX * 1000ull || uw == INT32_MAX;
}

static bool is_asleep(const struct sensor *sensor)
{
	static const char word[] = "suspended";
	char text[sizeof(word)];

	return sensor->status >= 0 &&
	       pread(sensor->status, text, sizeof(text), 0) >= (ssize_t)strlen(word) &&
	       memcmp(text, word, strlen(word)) == 0;
}

static int read_sensor(const struct sensor *sensor, uint64_t *value)
{
	bool counter = sensor->source.kind == ERGON_SLOW_COUNTER;

	if (sensor->fd < 0)
		return ENODEV;
	if (is_asleep(sensor) && (!counter || sensor->based)) {
		*value = counter ? sensor->last : 0;
		return ANSWER_GOOD;
	}
	if (ergon_fd_read_u64(sensor->fd, value) < 0)
		return errno;
	if (*value == 0 && sensor->source.zero_is_none)
		return ANSWER_ZERO;
	if (*value > sensor->max || (!counter && is_pattern(*value)))
		return ANSWER_ABSURD;
	return ANSWER_GOOD;
}

static void close_sensor(struct sensor *sensor)
{
	if (sensor->fd >= 0)
		close(sensor->fd);
	if (sensor->status >= 0)
		close(sensor->status);
}

/* Open the files of a sensor, as found by a scan. -1 + errno; nothing changes then. */
static int open_files(const struct ergon_sysroot *sr, const struct ergon_hwmon_sensor *found,
		      const char *entry, struct sensor *sensor)
{
	char path[ERGON_HWMON_PATH_SIZE];
	int fd = ergon_sysroot_open_file(sr, ergon_hwmon_value_path(found, path), O_RDONLY);

	if (fd < 0)
		return -1;
	close_sensor(sensor);
	sensor->fd = fd;
	sensor->status = -1;
	if (sensor->source.domain != ERGON_DOMAIN_GPU)
		return 0;
	snprintf(path, sizeof(path), ERGON_HWMON_DIR "/%s/device/power/runtime_status", entry);
	sensor->status = ergon_sysroot_open_file(sr, path, O_RDONLY);
	return 0;
}

static void find_again(struct group *group)
{
	struct ergon_hwmon hw;

	if (ergon_hwmon_scan_kinds(group->sysroot, ERGON_HWMON_SOURCE_KINDS, &hw) < 0)
		return;
	for (size_t i = 0; i < group->n; i++) {
		struct sensor *sensor = &group->sensors[i];
		const struct ergon_hwmon_sensor *found = NULL;

		/* An old file stays when there is no other. */
		if (sensor->answer > 0)
			found = ergon_hwmon_find(&hw, &sensor->source.device, &sensor->source.sensor);
		if (found)
			open_files(group->sysroot, found, hw.devices[found->device].entry, sensor);
	}
	ergon_hwmon_free(&hw);
}

static void read_group(void *arg, uint64_t *raw, bool *ok, uint64_t *t_ns)
{
	struct group *group = arg;

	if (atomic_exchange(&group->rescan, false))
		find_again(group);
	for (size_t i = 0; i < group->n; i++) {
		struct sensor *sensor = &group->sensors[i];
		uint64_t value = 0;
		int answer;

		if (sensor->out)
			continue;
		answer = read_sensor(sensor, &value);
		sensor->answer = answer;
		ok[i] = answer == ANSWER_GOOD;
		if (ok[i]) {
			raw[i] = sensor->last = value;
			sensor->based = true;
		}
		t_ns[i] = ergon_clock_ns();
	}
	eventfd_write(group->answered, 1);
}

static void free_group(void *arg)
{
	struct group *group = arg;

	if (!group)
		return;
	for (size_t i = 0; i < group->n; i++)
		close_sensor(&group->sensors[i]);
	if (group->answered >= 0)
		close(group->answered);
	ergon_sysroot_close(group->sysroot);
	free(group);
}

/* --- opening --- */

static void hwmon_close(void *inst)
{
	struct hwmon *h = inst;
	int saved = errno;

	if (!h)
		return;
	for (size_t i = 0; i < h->nreaders; i++)
		ergon_slow_stop(h->readers[i].slow);
	free(h->readers);
	free(h->raw);
	free(h->ok);
	free(h->channels);
	free(h->sources);
	ergon_drops_free(&h->drops);
	free(h);
	errno = saved;
}

static bool same_group(const struct ergon_hwmon_source *a, const struct ergon_hwmon_source *b)
{
	return a->period_ns == b->period_ns && strcmp(a->device.name, b->device.name) == 0;
}

static void open_sensor(const struct ergon_machine *m, const struct ergon_hwmon_source *source,
			struct sensor *sensor)
{
	double max_uw = ergon_machine_max_watts(m, source->domain) * 1e6;

	sensor->source = *source;
	sensor->max = source->kind == ERGON_SLOW_COUNTER ? UINT64_MAX - 1 : (uint64_t)max_uw;
	sensor->fd = sensor->status = -1;
	if (open_files(m->sysroot, &source->sensor, source->device.entry, sensor) < 0) {
		sensor->answer = errno;
		sensor->out = true;
	}
}

/* The sources that belong together with sources->items[first], opened. */
static struct group *new_group(const struct ergon_machine *m,
			       const struct ergon_hwmon_sources *sources, size_t first)
{
	struct group *group = calloc(1, sizeof(*group) + sources->n * sizeof(group->sensors[0]));

	if (!group)
		return NULL;
	group->answered = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	group->sysroot = ergon_sysroot_open(ergon_sysroot_path(m->sysroot), NULL);
	if (group->answered < 0 || !group->sysroot) {
		free_group(group);
		return NULL;
	}
	for (size_t i = first; i < sources->n; i++)
		if (same_group(&sources->items[first], &sources->items[i]))
			open_sensor(m, &sources->items[i], &group->sensors[group->n++]);
	return group;
}

static int start_reader(struct hwmon *h, struct group *group, struct ergon_error *err)
{
	struct reader *reader = &h->readers[h->nreaders];
	enum ergon_slow_kind *kinds = calloc(group->n, sizeof(*kinds));
	struct ergon_slow_config config = {
		.thread_name = "ergon-hwmon",
		.period_ns = group->sensors[0].source.period_ns,
		.hold_ns = HOLD_NS,
		.n = group->n,
		.kinds = kinds,
		.read = read_group,
		.release = free_group,
		.arg = group,
	};

	for (size_t i = 0; kinds && i < group->n; i++)
		kinds[i] = group->sensors[i].source.kind;
	*reader = (struct reader){ .group = group, .first = h->nraw };
	if (kinds)
		reader->slow = ergon_slow_start(&config, err);
	else
		ergon_error_set(err, "out of memory");
	free(kinds);
	if (!reader->slow) {
		free_group(group);
		return -1;
	}
	h->nraw += group->n;
	h->nreaders++;
	return 0;
}

static int start_readers(struct hwmon *h, const struct ergon_machine *m,
			 const struct ergon_hwmon_sources *sources, struct ergon_error *err)
{
	h->readers = calloc(sources->n + 1, sizeof(*h->readers));
	h->raw = calloc(sources->n + 1, sizeof(*h->raw));
	h->ok = calloc(sources->n + 1, sizeof(*h->ok));
	h->channels = calloc(sources->n + 1, sizeof(*h->channels));
	h->sources = calloc(sources->n + 1, sizeof(*h->sources));
	if (!h->readers || !h->raw || !h->ok || !h->channels || !h->sources)
		return ergon_error_set(err, "out of memory");
	for (size_t i = 0; i < sources->n; i++) {
		struct group *group;
		bool begun = false;

		for (size_t k = 0; k < i && !begun; k++)
			begun = same_group(&sources->items[k], &sources->items[i]);
		if (begun)
			continue;
		group = new_group(m, sources, i);
		if (!group)
			return ergon_error_set(err, "%s", strerror(errno));
		if (start_reader(h, group, err) < 0)
			return -1;
	}
	return 0;
}

/* Until all sensors have answered once, or time is over. */
static void await_answers(const struct hwmon *h)
{
	uint64_t deadline = ergon_clock_ns() + FIRST_ANSWER_MS * MS;

	for (size_t i = 0; i < h->nreaders; i++) {
		struct pollfd answered = { .fd = h->readers[i].group->answered, .events = POLLIN };
		uint64_t now = ergon_clock_ns();

		poll(&answered, 1, now < deadline ? (int)((deadline - now) / MS) : 0);
	}
}

/* Judging what was opened */

struct tally {
	size_t forbidden, zero, bad;
	unsigned broken;          /* bits of domains of which a package has no value */
	char why[96];             /* of the last bad one */
};

/* Sensors that may answer later: no answer yet, busy, a mailbox that timed out, a GPU asleep. */
static bool may_recover(int answer)
{
	return answer == ANSWER_NONE || answer == EAGAIN || answer == EBUSY ||
	       answer == ETIMEDOUT || answer == EINTR || answer == EPERM;
}

static void judge_sensor(struct hwmon *h, struct sensor *sensor, struct tally *tally)
{
	const struct ergon_hwmon_source *source = &sensor->source;
	int answer = sensor->answer;
	char what[96];

	if (answer == ANSWER_GOOD || (!sensor->out && may_recover(answer)))
		return;
	tally->bad++;
	tally->zero += answer == ANSWER_ZERO;
	tally->forbidden += answer == EACCES || answer == EPERM;
	if (source->package >= 0)
		tally->broken |= 1u << source->domain;
	snprintf(tally->why, sizeof(tally->why), "%s", answer == ANSWER_ZERO ? "reads 0" :
		 answer == ANSWER_ABSURD ? "reads an impossible value" : strerror(answer));
	sensor->out = true;
	ergon_drop(&h->drops, ergon_hwmon_source_describe(source, what, sizeof(what)), "%s",
		   tally->why);
}

static bool is_pci_address(const char *device)
{
	unsigned a[4];
	int end = 0;

	return sscanf(device, "%4x:%2x:%2x.%1x%n", &a[0], &a[1], &a[2], &a[3], &end) == 4 &&
	       end == 12 && device[end] == '\0';
}

/* By domain, package, and bus. */
static int compare_channels(const struct ergon_channel *a, const struct ergon_channel *b)
{
	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	if (a->package != b->package)
		return a->package < b->package ? -1 : 1;
	return strcmp(a->id, b->id);
}

/* Keeps channels in order; raw is where its readings are. */
static void add_channel(struct hwmon *h, const struct ergon_machine *m,
			const struct sensor *sensor, size_t raw)
{
	const struct ergon_hwmon_source *source = &sensor->source;
	struct ergon_channel ch = {
		.domain = source->domain,
		.package = source->package,
		.die = -1,
		.unit_j = 1e-6,
		.modulus = source->modulus,
		.max_watts = ergon_machine_max_watts(m, source->domain),
		.step_ns = HOLD_NS,
		.integrated = source->kind != ERGON_SLOW_COUNTER,
		.from_open = source->kind != ERGON_SLOW_COUNTER,
		.source = "hwmon",
	};
	size_t at = h->nchannels++;

	ergon_channel_set_name(&ch);
	if (is_pci_address(source->device.device))
		snprintf(ch.id, sizeof(ch.id), "pci %s", source->device.device);
	ergon_hwmon_source_describe(source, ch.detail, sizeof(ch.detail));
	for (; at > 0 && compare_channels(&ch, &h->channels[at - 1]) < 0; at--) {
		h->channels[at] = h->channels[at - 1];
		h->sources[at] = h->sources[at - 1];
	}
	h->channels[at] = ch;
	h->sources[at] = (struct source){ raw, sensor, false };
}

static void name_gpus(struct hwmon *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->nchannels; i++)
		if (h->channels[i].domain == ERGON_DOMAIN_GPU)
			snprintf(h->channels[i].name, sizeof(h->channels[i].name), "gpu%zu", n++);
}

/* Leave out what has no value, and with it its domain; the rest are channels. */
static void choose_channels(struct hwmon *h, const struct ergon_machine *m, struct tally *tally)
{
	for (size_t r = 0; r < h->nreaders; r++)
		for (size_t i = 0; i < h->readers[r].group->n; i++)
			judge_sensor(h, &h->readers[r].group->sensors[i], tally);
	for (size_t r = 0; r < h->nreaders; r++) {
		struct group *group = h->readers[r].group;

		for (size_t i = 0; i < group->n; i++) {
			struct sensor *sensor = &group->sensors[i];
			const struct ergon_hwmon_source *source = &sensor->source;
			char what[96];

			if (sensor->out)
				continue;
			if (!(tally->broken & 1u << source->domain)) {
				add_channel(h, m, sensor, h->readers[r].first + i);
				continue;
			}
			sensor->out = true;
			ergon_drop(&h->drops, ergon_hwmon_source_describe(source, what, sizeof(what)),
				   "alone it would pass for all packages");
		}
	}
	name_gpus(h);
}

/* Why these sensors give no energy; OK when they do. */
static void judge(const struct hwmon *h, const struct ergon_hwmon_sources *sources,
		  const struct tally *tally, struct ergon_probe *out)
{
	if (h->nchannels > 0)
		ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
	else if (sources->known == 0 && sources->unknown == 0)
		ergon_probe_set(out, ERGON_PROBE_ABSENT, REMEDY_DRIVER,
				"no power or energy sensor in " ERGON_HWMON_DIR);
	else if (sources->known == 0)
		ergon_probe_set(out, ERGON_PROBE_ABSENT, REMEDY_DRIVER,
				"of none of the %zu power and energy sensors is known what it feeds",
				sources->unknown);
	else if (tally->forbidden > 0)
		ergon_probe_set(out, ERGON_PROBE_PERMISSION, REMEDY_RIGHTS,
				"%zu of %zu sensors may not be read", tally->forbidden,
				sources->known);
	else if (tally->zero > 0 && tally->zero == tally->bad)
		ergon_probe_set(out, ERGON_PROBE_ZERO, "", "all of %zu sensors read 0", tally->zero);
	else if (tally->bad > 0)
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "%zu of %zu sensors give no value: %s",
				tally->bad, sources->known, tally->why);
	else
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "",
				"the %zu known sensors do not cover all packages", sources->known);
}

static void probe_failure(struct ergon_probe *out, int error)
{
	if (error == EACCES || error == EPERM)
		ergon_probe_set(out, ERGON_PROBE_PERMISSION, REMEDY_RIGHTS, ERGON_HWMON_DIR ": %s",
				strerror(error));
	else
		ergon_probe_set(out, ERGON_PROBE_ABSENT, REMEDY_DRIVER, ERGON_HWMON_DIR ": %s",
				strerror(error));
}

static struct hwmon *discover(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct ergon_hwmon_sources sources = { 0 };
	struct hwmon *h = calloc(1, sizeof(*h));
	struct ergon_hwmon hw = { 0 };
	struct tally tally = { 0 };
	struct ergon_error err;

	if (!h || ergon_hwmon_scan_kinds(m->sysroot, ERGON_HWMON_SOURCE_KINDS, &hw) < 0) {
		probe_failure(out, errno);
		hwmon_close(h);
		return NULL;
	}
	if (ergon_hwmon_sources_find(m, &hw, &sources, &h->drops) < 0) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "out of memory");
	} else if (start_readers(h, m, &sources, &err) < 0) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "%s", err.text);
	} else {
		h->opened_ns = ergon_clock_ns();
		await_answers(h);
		choose_channels(h, m, &tally);
		judge(h, &sources, &tally, out);
	}
	ergon_hwmon_sources_free(&sources);
	ergon_hwmon_free(&hw);
	if (out->state == ERGON_PROBE_OK)
		return h;
	hwmon_close(h);
	return NULL;
}

static void hwmon_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	hwmon_close(discover(m, out));
}

static void *hwmon_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct hwmon *h = discover(m, &probe);

	if (!h)
		ergon_probe_error("hwmon", &probe, err);
	return h;
}

/* --- using --- */

static size_t hwmon_channels(const void *inst, const struct ergon_channel **out)
{
	const struct hwmon *h = inst;

	*out = h->channels;
	return h->nchannels;
}

static size_t hwmon_dropped(const void *inst, const struct ergon_dropped **out)
{
	const struct hwmon *h = inst;

	*out = h->drops.items;
	return h->drops.n;
}

/*
 * Power is energy from when its thread was started, and its first answer
 * says how much (slow.h): until it comes there is 0 to tell, not a gap.
 */
static bool is_beginning(const struct hwmon *h, const struct source *source)
{
	int answer = source->sensor->answer;

	return !source->begun && source->sensor->source.kind != ERGON_SLOW_COUNTER &&
	       (answer == ANSWER_NONE || answer == ANSWER_GOOD) &&
	       ergon_clock_ns() - h->opened_ns < HOLD_NS;
}

static size_t hwmon_read(void *inst, uint64_t *raw, bool *ok)
{
	struct hwmon *h = inst;
	size_t good = 0;

	for (size_t i = 0; i < h->nreaders; i++)
		ergon_slow_latest(h->readers[i].slow, h->raw + h->readers[i].first,
				  h->ok + h->readers[i].first);
	for (size_t i = 0; i < h->nchannels; i++) {
		struct source *source = &h->sources[i];

		/* A sensor that is gone is missed at once, not when its last value is old. */
		ok[i] = h->ok[source->raw] && source->sensor->answer != ENODEV;
		if (ok[i]) {
			raw[i] = h->raw[source->raw];
			source->begun = true;
		} else if (is_beginning(h, source)) {
			raw[i] = 0;
			ok[i] = true;
		}
		good += ok[i];
	}
	return good;
}

/* The threads look themselves: they alone touch the files. */
static void hwmon_rescan(void *inst)
{
	struct hwmon *h = inst;

	for (size_t i = 0; i < h->nreaders; i++)
		h->readers[i].group->rescan = true;
}

const struct ergon_backend ergon_backend_hwmon = {
	.name = "hwmon",
	.help = "power and energy sensors in /sys/class/hwmon: Altra, Grace, POWER, ACPI meters, GPUs",
	.automatic = true,
	.probe = hwmon_probe,
	.open = hwmon_open,
	.channels = hwmon_channels,
	.dropped = hwmon_dropped,
	.read = hwmon_read,
	.rescan = hwmon_rescan,
	.close = hwmon_close,
};
