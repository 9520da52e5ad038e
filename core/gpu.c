/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two objects: `ergon_gpus` belongs to whoever opened the backend, `work`
 * to the slow thread, which may outlive the former when a driver hangs.
 */
#include "gpu.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "delta.h"
#include "gpu_count.h"
#include "log.h"
#include "slow.h"

/* NVML's counters move every 20 to 100 ms. */
#define PERIOD_NS 100000000u
#define HOLD_NS 5000000000u
/* What a counter that stood still for 5 s did not tell comes at once (gpu_count.h). */
#define STEP_NS 6000000000u
/* So long without any answer from a counter: power will do. */
#define PATIENCE_NS 5000000000u

struct work {
	const struct ergon_gpu_vendor *vendor;
	void *lib;
	size_t n;
	struct ergon_gpu_count *counts;
	bool *good;               /* answered when last read */
	uint64_t start_ns;
	atomic_bool search;       /* somebody misses a GPU */
	atomic_int answered;      /* GPUs that did when last read; -1: none was read yet */
	pthread_mutex_t lock;     /* of the two below */
	enum ergon_gpu_answer answer; /* the last that was not OK */
	struct ergon_error said;  /* with it */
};

struct ergon_gpus {
	struct ergon_channel *channels;
	size_t n;
	struct ergon_drops drops;
	struct work *work;        /* alive until slow is stopped */
	struct ergon_slow *slow;
};

static int compare(const void *a, const void *b)
{
	return ergon_pci_compare(&((const struct ergon_gpu *)a)->pci,
				 &((const struct ergon_gpu *)b)->pci);
}

void ergon_gpu_sort(struct ergon_gpu *gpus, size_t n)
{
	qsort(gpus, n, sizeof(*gpus), compare);
}

/* --- the thread --- */

static enum ergon_gpu_answer note(struct work *w, enum ergon_gpu_answer answer,
				  const struct ergon_error *err)
{
	if (answer == ERGON_GPU_OK || !*err->text)
		return answer;
	if (strcmp(w->said.text, err->text) != 0)
		ergon_log(ERGON_LOG_DEBUG, ERGON_LOG_BACKEND, "%s: %s", w->vendor->name, err->text);
	pthread_mutex_lock(&w->lock);
	w->answer = answer;
	w->said = *err;
	pthread_mutex_unlock(&w->lock);
	return answer;
}

static void start(struct work *w)
{
	struct ergon_error err = { "" };

	if (note(w, w->vendor->start(w->lib, &err), &err) == ERGON_GPU_OK)
		for (size_t i = 0; i < w->n; i++)
			note(w, w->vendor->find(w->lib, i, &err), &err);
	/* Who missed a GPU meanwhile missed it because of this start. */
	atomic_store(&w->search, false);
}

static void begin(void *arg)
{
	start(arg);
}

static void end(void *arg)
{
	struct work *w = arg;

	w->vendor->stop(w->lib);
}

/* What answers is left alone; a library of which nothing answers is started anew. */
static void search(struct work *w)
{
	struct ergon_error err = { "" };
	bool some = false;

	for (size_t i = 0; i < w->n; i++)
		some |= w->good[i];
	if (!some) {
		w->vendor->stop(w->lib);
		start(w);
		return;
	}
	for (size_t i = 0; i < w->n; i++)
		if (!w->good[i])
			note(w, w->vendor->find(w->lib, i, &err), &err);
}

/* Power stands in where there is no counter, or no trust in it. */
static bool power_helps(const struct work *w, const struct ergon_gpu_count *c,
			enum ergon_gpu_answer counter, uint64_t now)
{
	if (c->by_power)
		return true;
	if (c->based)
		return counter == ERGON_GPU_OK && ergon_gpu_count_wants_power(c, now);
	return counter == ERGON_GPU_UNSUPPORTED || now - w->start_ns >= PATIENCE_NS;
}

static bool advance(struct work *w, size_t i, uint64_t *now)
{
	struct ergon_gpu_count *c = &w->counts[i];
	enum ergon_gpu_answer counter = ERGON_GPU_UNSUPPORTED;
	struct ergon_error err = { "" };
	uint64_t uj, uw;
	bool good;

	if (!c->by_power)
		counter = note(w, w->vendor->energy(w->lib, i, &uj, &err), &err);
	*now = ergon_clock_ns();
	if (counter == ERGON_GPU_OK && !c->based &&
	    w->vendor->power(w->lib, i, &uw) == ERGON_GPU_OK)
		ergon_gpu_count_before(c, uw, *now);
	if (counter == ERGON_GPU_OK)
		ergon_gpu_count_energy(c, uj, *now);
	good = counter == ERGON_GPU_OK;
	if (power_helps(w, c, counter, *now) &&
	    w->vendor->power(w->lib, i, &uw) == ERGON_GPU_OK) {
		*now = ergon_clock_ns();
		if (!c->based && !c->by_power)
			ergon_gpu_count_no_energy(c);
		ergon_gpu_count_power(c, uw, *now);
		good = true;
	}
	return good;
}

static void read_all(void *arg, uint64_t *raw, bool *ok, uint64_t *t_ns)
{
	struct work *w = arg;
	int answered = 0;

	if (atomic_exchange(&w->search, false))
		search(w);
	for (size_t i = 0; i < w->n; i++) {
		ok[i] = w->good[i] = advance(w, i, &t_ns[i]);
		raw[i] = w->counts[i].uj;
		answered += ok[i];
	}
	atomic_store(&w->answered, answered);
}

static void release(void *arg)
{
	struct work *w = arg;

	w->vendor->release(w->lib);
	pthread_mutex_destroy(&w->lock);
	free(w->counts);
	free(w->good);
	free(w);
}

/* --- the backend --- */

static void fill_channel(const struct ergon_gpu_vendor *vendor, const struct ergon_machine *m,
			 const struct ergon_gpu *gpu, size_t i, struct ergon_channel *ch)
{
	char address[32];

	*ch = (struct ergon_channel){
		.domain = ERGON_DOMAIN_GPU,
		.package = -1,
		.die = -1,
		.unit_j = 1e-6,
		.modulus = ERGON_MODULUS_UNKNOWN,
		.max_watts = ergon_machine_max_watts(m, ERGON_DOMAIN_GPU),
		.step_ns = STEP_NS,
		.from_open = true,
	};
	ergon_pci_format(&gpu->pci, address, sizeof(address));
	snprintf(ch->name, sizeof(ch->name), "gpu%zu", i);
	snprintf(ch->source, sizeof(ch->source), "%s", vendor->name);
	snprintf(ch->id, sizeof(ch->id), "pci %s", address);
	snprintf(ch->detail, sizeof(ch->detail), "%s%s%s", address, *gpu->what ? " " : "", gpu->what);
}

static struct work *work_new(const struct ergon_gpu_vendor *vendor, void *lib, size_t n)
{
	struct work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->vendor = vendor;
	w->lib = lib;
	w->n = n;
	w->start_ns = ergon_clock_ns();
	atomic_init(&w->answered, -1);
	w->answer = ERGON_GPU_FAILED;
	pthread_mutex_init(&w->lock, NULL);
	w->counts = calloc(n, sizeof(*w->counts));
	for (size_t i = 0; w->counts && i < n; i++)
		w->counts[i].start_ns = w->start_ns;
	w->good = calloc(n, sizeof(*w->good));
	return w;
}

static struct ergon_slow *start_thread(struct work *w, struct ergon_error *err)
{
	struct ergon_slow_config config = {
		.calls_library = true, .period_ns = PERIOD_NS, .hold_ns = HOLD_NS, .n = w->n,
		.begin = begin, .read = read_all, .end = end, .release = release, .arg = w,
	};
	enum ergon_slow_kind kinds[ERGON_GPU_MAX];
	char name[16];

	snprintf(name, sizeof(name), "ergon-%s", w->vendor->name);
	config.thread_name = name;
	for (size_t i = 0; i < w->n; i++)
		kinds[i] = ERGON_SLOW_COUNTER;
	config.kinds = kinds;
	return ergon_slow_start(&config, err);
}

struct ergon_gpus *ergon_gpus_open(const struct ergon_gpu_vendor *vendor, void *lib,
				   const struct ergon_machine *m, struct ergon_gpu *gpus, size_t n,
				   struct ergon_drops *drops, struct ergon_error *err)
{
	struct ergon_gpus *g = calloc(1, sizeof(*g));

	if (n > ERGON_GPU_MAX)
		n = ERGON_GPU_MAX;
	ergon_gpu_sort(gpus, n);
	if (g) {
		g->n = n;
		g->drops = *drops;
		*drops = (struct ergon_drops){ .items = NULL };
		g->channels = calloc(n, sizeof(*g->channels));
		g->work = work_new(vendor, lib, n);
	}
	if (!g || !g->channels || !g->work || !g->work->counts || !g->work->good) {
		ergon_error_set(err, "%s: out of memory", vendor->name);
		goto failed;
	}
	for (size_t i = 0; i < n; i++)
		fill_channel(vendor, m, &gpus[i], i, &g->channels[i]);
	g->slow = start_thread(g->work, err);
	if (g->slow)
		return g;
failed:
	if (g && g->work)
		release(g->work);
	else
		vendor->release(lib);
	ergon_drops_free(drops);
	ergon_gpus_close(g);
	return NULL;
}

void ergon_gpus_probe(struct ergon_gpus *gpus, unsigned ms, const char *remedy,
		      struct ergon_probe *out)
{
	const struct timespec nap = { .tv_nsec = 5000000 };
	uint64_t until = ergon_clock_ns() + ms * UINT64_C(1000000);
	bool denied;

	while (atomic_load(&gpus->work->answered) < 0 && ergon_clock_ns() < until)
		nanosleep(&nap, NULL);
	if (atomic_load(&gpus->work->answered) > 0) {
		ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
		return;
	}
	if (atomic_load(&gpus->work->answered) < 0) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "",
				"the library has not started within %u s", ms / 1000);
		return;
	}
	pthread_mutex_lock(&gpus->work->lock);
	denied = gpus->work->answer == ERGON_GPU_DENIED;
	ergon_probe_set(out, denied ? ERGON_PROBE_PERMISSION : ERGON_PROBE_UNSUPPORTED,
			denied ? remedy : "", "%s", gpus->work->said.text);
	pthread_mutex_unlock(&gpus->work->lock);
}

size_t ergon_gpus_channels(const void *inst, const struct ergon_channel **out)
{
	const struct ergon_gpus *g = inst;

	*out = g->channels;
	return g->n;
}

size_t ergon_gpus_dropped(const void *inst, const struct ergon_dropped **out)
{
	const struct ergon_gpus *g = inst;

	*out = g->drops.items;
	return g->drops.n;
}

size_t ergon_gpus_read(void *inst, uint64_t *raw, bool *ok)
{
	struct ergon_gpus *g = inst;

	return ergon_slow_latest(g->slow, raw, ok);
}

void ergon_gpus_rescan(void *inst)
{
	struct ergon_gpus *g = inst;

	atomic_store(&g->work->search, true);
}

void ergon_gpus_close(void *inst)
{
	struct ergon_gpus *g = inst;
	int saved = errno;

	if (!g)
		return;
	ergon_slow_stop(g->slow);
	free(g->channels);
	ergon_drops_free(&g->drops);
	free(g);
	errno = saved;
}
