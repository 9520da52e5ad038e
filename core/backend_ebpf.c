/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RAPL through the kernel's `power` PMU, read in the kernel: a clock on the
 * leader CPU of each package runs energy.bpf.c at the asked rate, which
 * sends the absolute counts through a ring buffer. read() takes what has
 * come and hands out the newest.
 *
 * What comes is never the whole truth: a clock may be silent (its CPU went
 * offline, or idles on a hypervisor that hides that from perf), and when
 * nobody reads for longer than the buffer lasts, the newest records are the
 * ones that are lost. So a count that is older than
 * STALE_NS is read from the event itself, by the system call that the perf
 * backend uses. Losing records therefore costs no energy, only moments in
 * between: they are counted (ebpf.h) and raise no flag. With a clock slower
 * than 1 / STALE_NS most readings are of that kind.
 *
 * libbpf is opened when asked for: the plugin and the interposer's sampler
 * must not drag it and libelf into every job.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend.h"
#include "clock.h"
#include "dynlib.h"
#include "ebpf.h"
#include "energy_record.h"
#include "log.h"
#include "power_pmu.h"

_Static_assert(ERGON_ENERGY_VALUES == ERGON_POWER_EVENTS, "a value per event");

#define LOCKDOWN "/sys/kernel/security/lockdown"

#define REMEDY_LIBBPF "install libbpf 1.x (Debian: libbpf1), or use perf"
#define REMEDY_RIGHTS "run as root or grant CAP_BPF and CAP_PERFMON, or use perf"
#define REMEDY_LOCKDOWN "boot without lockdown=confidentiality, or use powercap"
#define REMEDY_MEMLOCK "run as root or grant CAP_BPF and CAP_PERFMON, raise ulimit -l, or use perf"
#define REMEDY_KERNEL "use perf"

#define DEFAULT_HZ 1000.0
/* RAPL renews its counters every 1 ms; the clock at 1000 Hz is as old, and sometimes late. */
#define STALE_NS 1500000
/* The kernel's fast clock may differ from ours by less than this. */
#define SKEW_NS 10000
/* How long the ring buffer lasts when nobody reads; with freq=auto an idle machine is read once a second. */
#define RING_SECONDS 2.0
#define RING_MAX_BYTES (16u << 20)
/* The kernel puts 8 bytes before each record. */
#define RECORD_BYTES (sizeof(struct ergon_energy_record) + 8)

/* --- libbpf, opened at run time --- */

#define LIBBPF_TABLE(X) \
	X(bpf_map__fd) \
	X(bpf_map__set_max_entries) \
	X(bpf_map_update_elem) \
	X(bpf_object__destroy_skeleton) \
	X(bpf_object__load_skeleton) \
	X(bpf_object__open_skeleton) \
	X(bpf_program__fd) \
	X(libbpf_set_print) \
	X(ring_buffer__consume) \
	X(ring_buffer__free) \
	X(ring_buffer__new)

/* Written once, by load_libbpf(). */
static struct {
#define X(f) __typeof__(f) *f;
	LIBBPF_TABLE(X)
#undef X
} libbpf;

static pthread_once_t libbpf_once = PTHREAD_ONCE_INIT;
static struct ergon_error libbpf_missing; /* "" when all is there */

static void load_libbpf(void)
{
	static const char *const names[] = { "libbpf.so.1", NULL };
	static const struct ergon_dynsym syms[] = {
#define X(f) { #f, offsetof(__typeof__(libbpf), f) },
		LIBBPF_TABLE(X)
#undef X
	};

	if (ergon_dynlib_load(names, syms, sizeof(syms) / sizeof(syms[0]), &libbpf,
			      &libbpf_missing) == 0)
		libbpf_missing.text[0] = '\0';
}

/* The skeleton's functions call these by name. */
#define bpf_object__destroy_skeleton libbpf.bpf_object__destroy_skeleton
#define bpf_object__load_skeleton libbpf.bpf_object__load_skeleton
#define bpf_object__open_skeleton libbpf.bpf_object__open_skeleton
#include "core/energy.skel.h"

/* --- state --- */

/* What is known of one unit (power_pmu.h). */
struct view {
	const struct ergon_power_unit *unit;
	uint32_t wanted;          /* bit per event that is open */
	int clock_fd;             /* -1 */
	int64_t t_ns;             /* age of values; 0: none yet */
	int64_t not_before_ns;    /* records of before are older than values */
	uint64_t values[ERGON_POWER_EVENTS]; /* in group order */
};

struct ebpf {
	struct ergon_power_pmu *pmu;
	struct energy_bpf *skel;
	struct ring_buffer *ring;
	size_t nviews;
	struct view *views;
	size_t ncpus;             /* CPU numbers up to the highest leader */
	struct view **by_cpu;     /* NULL where no unit is */
	const struct ergon_energy_slot *slots; /* mapped, one per CPU number */
	size_t slots_size;
	uint64_t records, direct;
};

static void ebpf_close(void *inst)
{
	struct ebpf *ebpf = inst;
	struct ergon_ebpf_stats stats;
	int saved = errno;

	if (!ebpf)
		return;
	if (ebpf->slots) {
		ergon_ebpf_stats(ebpf, &stats);
		ergon_log(ERGON_LOG_DEBUG, ERGON_LOG_BACKEND,
			  "ebpf: %llu ticks, %llu records, %llu lost, %llu direct readings",
			  (unsigned long long)stats.ticks, (unsigned long long)stats.records,
			  (unsigned long long)stats.lost, (unsigned long long)stats.direct);
		munmap((void *)ebpf->slots, ebpf->slots_size);
	}
	/* The last reference to a clock takes the program off it. */
	for (size_t i = 0; i < ebpf->nviews; i++)
		if (ebpf->views[i].clock_fd >= 0)
			close(ebpf->views[i].clock_fd);
	if (ebpf->ring)
		libbpf.ring_buffer__free(ebpf->ring);
	if (ebpf->skel)
		energy_bpf__destroy(ebpf->skel);
	free(ebpf->by_cpu);
	free(ebpf->views);
	ergon_power_pmu_close(ebpf->pmu);
	free(ebpf);
	errno = saved;
}

/* --- reading --- */

/* One record of the ring buffer; called by libbpf. */
static int take_record(void *arg, void *data, size_t size)
{
	struct ebpf *ebpf = arg;
	const struct ergon_energy_record *record = data;
	struct view *view;

	if (size < sizeof(*record) || record->cpu >= ebpf->ncpus)
		return 0;
	view = ebpf->by_cpu[record->cpu];
	ebpf->records++;
	if (!view || (record->good & view->wanted) != view->wanted ||
	    (int64_t)record->t_ns < view->not_before_ns)
		return 0;
	for (size_t i = 0; i < view->unit->nfds; i++)
		view->values[i] = record->values[view->unit->event[i]];
	view->t_ns = (int64_t)record->t_ns;
	return 0;
}

/* True when the view holds values that are new enough. */
static bool refresh(struct ebpf *ebpf, struct view *view, int64_t now_ns)
{
	if (view->t_ns && now_ns - view->t_ns <= STALE_NS)
		return true;
	if (!ergon_power_unit_read(view->unit, view->values))
		return false;
	ebpf->direct++;
	view->t_ns = (int64_t)ergon_clock_ns();
	view->not_before_ns = view->t_ns + SKEW_NS;
	return true;
}

static size_t ebpf_read(void *inst, uint64_t *raw, bool *ok)
{
	struct ebpf *ebpf = inst;
	size_t good = 0;
	int64_t now_ns;

	libbpf.ring_buffer__consume(ebpf->ring);
	now_ns = (int64_t)ergon_clock_ns();
	for (size_t v = 0; v < ebpf->nviews; v++) {
		struct view *view = &ebpf->views[v];
		bool fresh = refresh(ebpf, view, now_ns);

		for (size_t i = 0; i < view->unit->nfds; i++) {
			ssize_t channel = view->unit->channel[i];

			if (channel < 0)
				continue;
			ok[channel] = fresh;
			if (fresh)
				raw[channel] = view->values[i];
			good += fresh;
		}
	}
	return good;
}

void ergon_ebpf_stats(const void *inst, struct ergon_ebpf_stats *out)
{
	const struct ebpf *ebpf = inst;

	*out = (struct ergon_ebpf_stats){ .records = ebpf->records, .direct = ebpf->direct };
	for (size_t i = 0; i < ebpf->nviews; i++) {
		const struct ergon_energy_slot *slot = &ebpf->slots[ebpf->views[i].unit->cpu];

		out->ticks += __atomic_load_n(&slot->ticks, __ATOMIC_RELAXED);
		out->lost += __atomic_load_n(&slot->lost, __ATOMIC_RELAXED);
	}
}

/* --- opening --- */

static int make_views(struct ebpf *ebpf)
{
	const struct ergon_power_pmu *pmu = ebpf->pmu;

	ebpf->views = calloc(pmu->nunits, sizeof(*ebpf->views));
	if (!ebpf->views)
		return -1;
	for (size_t u = 0; u < pmu->nunits; u++) {
		const struct ergon_power_unit *unit = &pmu->units[u];
		struct view *view = &ebpf->views[ebpf->nviews];

		if (unit->nfds == 0)
			continue;
		*view = (struct view){ .unit = unit, .clock_fd = -1 };
		for (size_t i = 0; i < unit->nfds; i++)
			view->wanted |= 1u << unit->event[i];
		if ((size_t)unit->cpu >= ebpf->ncpus)
			ebpf->ncpus = (size_t)unit->cpu + 1;
		ebpf->nviews++;
	}
	ebpf->by_cpu = calloc(ebpf->ncpus, sizeof(struct view *));
	if (!ebpf->by_cpu)
		return -1;
	for (size_t i = 0; i < ebpf->nviews; i++)
		ebpf->by_cpu[ebpf->views[i].unit->cpu] = &ebpf->views[i];
	return 0;
}

/* A power of 2 of at least a page, as the kernel wants it. */
static uint32_t ring_bytes(double hz, size_t clocks)
{
	double wanted = hz * RING_SECONDS * (double)clocks * (double)RECORD_BYTES;
	uint32_t bytes = (uint32_t)sysconf(_SC_PAGESIZE);

	while (bytes < RING_MAX_BYTES && (double)bytes < wanted)
		bytes *= 2;
	return bytes;
}

static int debug_line(enum libbpf_print_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* libbpf is a talker: to those who asked for it only. */
static int debug_line(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[512];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	ergon_log(ERGON_LOG_DEBUG, ERGON_LOG_BACKEND, "%s", line);
	return 0;
}

/*
 * Load the program. libbpf has one sink for the whole process, and where
 * BPF counts as locked memory (before Linux 5.11) it lifts RLIMIT_MEMLOCK:
 * both are again as they were when this returns.
 */
static int load_program(struct ebpf *ebpf, double hz)
{
	libbpf_print_fn_t host_sink = libbpf.libbpf_set_print(debug_line);
	struct rlimit host_limit, limit;
	bool limited = getrlimit(RLIMIT_MEMLOCK, &host_limit) == 0;
	int rc = -1;

	ebpf->skel = energy_bpf__open();
	if (ebpf->skel &&
	    libbpf.bpf_map__set_max_entries(ebpf->skel->maps.events, (uint32_t)ebpf->ncpus *
					    ERGON_ENERGY_VALUES) == 0 &&
	    libbpf.bpf_map__set_max_entries(ebpf->skel->maps.slots, (uint32_t)ebpf->ncpus) == 0 &&
	    libbpf.bpf_map__set_max_entries(ebpf->skel->maps.records,
					    ring_bytes(hz, ebpf->nviews)) == 0) {
		rc = energy_bpf__load(ebpf->skel);
		errno = -rc;
	}
	if (limited && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
	    limit.rlim_cur != host_limit.rlim_cur)
		setrlimit(RLIMIT_MEMLOCK, &host_limit);
	libbpf.libbpf_set_print(host_sink);
	return rc;
}

static int map_slots(struct ebpf *ebpf)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *slots;

	ebpf->slots_size = (ebpf->ncpus * sizeof(*ebpf->slots) + page - 1) / page * page;
	slots = mmap(NULL, ebpf->slots_size, PROT_READ, MAP_SHARED,
		     libbpf.bpf_map__fd(ebpf->skel->maps.slots), 0);
	if (slots == MAP_FAILED)
		return -1;
	ebpf->slots = slots;
	return 0;
}

static int publish_events(struct ebpf *ebpf)
{
	int map = libbpf.bpf_map__fd(ebpf->skel->maps.events);

	for (size_t v = 0; v < ebpf->nviews; v++) {
		const struct ergon_power_unit *unit = ebpf->views[v].unit;

		for (size_t i = 0; i < unit->nfds; i++) {
			uint32_t key = (uint32_t)unit->cpu * ERGON_ENERGY_VALUES +
				       (uint32_t)unit->event[i];

			if (libbpf.bpf_map_update_elem(map, &key, &unit->fds[i], BPF_ANY) < 0)
				return -1;
		}
	}
	return 0;
}

/* A period, not a frequency: kernel.perf_event_max_sample_rate does not bear on it. */
static int start_clock(struct ebpf *ebpf, struct view *view, double hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = (uint64_t)(1e9 / hz + 0.5),
		.disabled = 1,
	};

	view->clock_fd = (int)syscall(SYS_perf_event_open, &attr, -1, view->unit->cpu, -1,
				      PERF_FLAG_FD_CLOEXEC);
	if (view->clock_fd < 0)
		return -1;
	if (ioctl(view->clock_fd, PERF_EVENT_IOC_SET_BPF,
		  libbpf.bpf_program__fd(ebpf->skel->progs.energy_tick)) < 0)
		return -1;
	return ioctl(view->clock_fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* --- the answer --- */

/* Before 5.11 what BPF takes counts as locked memory. */
static bool locks_memory(void)
{
	struct utsname host;
	int major, minor;

	return uname(&host) == 0 && sscanf(host.release, "%d.%d", &major, &minor) == 2 &&
	       (major < 5 || (major == 5 && minor < 11));
}

static void explain_failure(const struct ergon_machine *m, const char *step, struct ergon_probe *out)
{
	const char *why = strerror(errno);
	char lockdown[128];

	if (errno != EPERM && errno != EACCES)
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_KERNEL,
				"%s: %s; it needs Linux 5.8", step, why);
	else if (ergon_sysroot_read_text(m->sysroot, LOCKDOWN, lockdown, sizeof(lockdown)) > 0 &&
		 strstr(lockdown, "[confidentiality]"))
		ergon_probe_set(out, ERGON_PROBE_PERMISSION, REMEDY_LOCKDOWN,
				"%s: %s (kernel lockdown)", step, why);
	else
		ergon_probe_set(out, ERGON_PROBE_PERMISSION,
				locks_memory() ? REMEDY_MEMLOCK : REMEDY_RIGHTS, "%s: %s", step, why);
}

/* NULL, or the step that failed (errno tells how). */
static const char *set_up(struct ebpf *ebpf, double hz)
{
	if (make_views(ebpf) < 0)
		return "memory";
	if (load_program(ebpf, hz) < 0)
		return "loading the BPF program";
	if (map_slots(ebpf) < 0)
		return "mapping the BPF program's counters";
	ebpf->ring = libbpf.ring_buffer__new(libbpf.bpf_map__fd(ebpf->skel->maps.records),
					     take_record, ebpf, NULL);
	if (!ebpf->ring)
		return "mapping the BPF ring buffer";
	if (publish_events(ebpf) < 0)
		return "giving energy events to BPF";
	for (size_t i = 0; i < ebpf->nviews; i++)
		if (start_clock(ebpf, &ebpf->views[i], hz) < 0)
			return "starting the BPF program";
	return NULL;
}

static struct ebpf *discover(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct ebpf *ebpf;
	const char *failed;

	pthread_once(&libbpf_once, load_libbpf);
	if (*libbpf_missing.text) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, REMEDY_LIBBPF, "%s", libbpf_missing.text);
		return NULL;
	}
	ebpf = calloc(1, sizeof(*ebpf));
	if (!ebpf) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "out of memory");
		return NULL;
	}
	ebpf->pmu = ergon_power_pmu_open(m, "ebpf", out);
	if (!ebpf->pmu) {
		ebpf_close(ebpf);
		return NULL;
	}
	failed = set_up(ebpf, m->hz > 0 ? m->hz : DEFAULT_HZ);
	if (failed) {
		explain_failure(m, failed, out);
		ebpf_close(ebpf);
		return NULL;
	}
	return ebpf;
}

static void ebpf_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	ebpf_close(discover(m, out));
}

static void *ebpf_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct ebpf *ebpf = discover(m, &probe);

	if (!ebpf)
		ergon_probe_error("ebpf", &probe, err);
	return ebpf;
}

static size_t ebpf_channels(const void *inst, const struct ergon_channel **out)
{
	const struct ebpf *ebpf = inst;

	*out = ebpf->pmu->channels;
	return ebpf->pmu->nchannels;
}

static size_t ebpf_dropped(const void *inst, const struct ergon_dropped **out)
{
	const struct ebpf *ebpf = inst;

	*out = ebpf->pmu->drops.items;
	return ebpf->pmu->drops.n;
}

const struct ergon_backend ergon_backend_ebpf = {
	.name = "ebpf",
	.help = "RAPL counters read in the kernel by an eBPF program; only when asked for",
	.group = "rapl",
	.probe = ebpf_probe,
	.open = ebpf_open,
	.channels = ebpf_channels,
	.dropped = ebpf_dropped,
	.read = ebpf_read,
	.close = ebpf_close,
};
