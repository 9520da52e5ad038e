/* SPDX-License-Identifier: BSD-3-Clause */
#include "account.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "cputime.h"
#include "delta.h"
#include "flags.h"
#include "log.h"
#include "sampler.h"
#include "share.h"
#include "thread.h"
#include "watch.h"

#define CLERK_JOIN_S 5

/* What the sampler leaves behind; copied under the lock. */
struct progress {
	uint64_t first_ns, last_ns; /* monotonic times of the baseline and the newest sample */
	uint64_t total_uj;        /* since the baseline */
	uint64_t base[ERGON_METER_MAX_CHANNELS];
	uint64_t counts[ERGON_METER_MAX_CHANNELS];
	struct ergon_curve curve;
};

struct ergon_account {
	struct ergon_account_setup setup;
	struct ergon_record identity;
	struct ergon_sampler *sampler;
	struct ergon_watch *watch; /* NULL: no clock rate, no temperature */
	uint64_t start_real_ns, start_ns;
	int64_t asleep_ns;        /* at the start */
	int64_t busy_start_ns;
	int stat_fd;
	uint64_t publish_ns;      /* time between published samples, 0: every sample */
	uint64_t next_publish_ns;
	uint32_t unpublished;     /* flags of samples since the published one */
	atomic_bool finishing;
	bool cross_checking;      /* the sampler's */

	pthread_mutex_t lock;     /* of progress */
	struct progress progress;

	/* The clerk: a thread that writes checkpoints. */
	pthread_t clerk;
	bool has_clerk, clerk_hangs;
	int stop_fd;
	struct progress copy;
	struct ergon_record record;
	char line[ERGON_RECORD_MAX];
};

uint64_t ergon_account_decimation(double hz, double board_hz)
{
	return board_hz >= hz || board_hz <= 0 ? 1 : (uint64_t)ceil(hz / board_hz - 1e-9);
}

/*
 * At most one sample in each of the board's periods, which lie on a grid
 * beginning with the baseline. A sample half a period of the sampler early
 * is on time: the two grids differ by rounding.
 */
static void publish(struct ergon_account *a, const struct ergon_sample *s)
{
	uint64_t t_ns = s->reading.t_ns, tolerance_ns = (uint64_t)(0.5e9 / a->setup.rate.hz);

	if (!a->setup.board)
		return;
	a->unpublished |= s->reading.flags;
	if (a->publish_ns) {
		if (s->index == 0)
			a->next_publish_ns = t_ns;
		if (t_ns + tolerance_ns < a->next_publish_ns && !a->finishing)
			return;
		while (a->next_publish_ns <= t_ns + tolerance_ns)
			a->next_publish_ns += a->publish_ns;
	}
	ergon_board_publish(a->setup.board, t_ns, a->unpublished, s->reading.counts);
	a->unpublished = 0;
}

static void on_sample(void *arg, const struct ergon_sample *s)
{
	struct ergon_account *a = arg;
	struct progress *p = &a->progress;
	const struct ergon_channel *channels;
	size_t n = ergon_meter_channels(a->setup.meter, &channels);
	uint64_t total;

	pthread_mutex_lock(&a->lock);
	if (s->index == 0) {
		memcpy(p->base, s->reading.counts, n * sizeof(p->base[0]));
		p->first_ns = p->last_ns = s->reading.t_ns;
	}
	for (size_t i = 0; i < n; i++)
		p->counts[i] = s->reading.counts[i] - p->base[i];
	total = ergon_meter_total_uj(a->setup.meter, p->counts);
	/* Rounding per channel could only ever lose a microjoule; never let it go back. */
	if (total < p->total_uj)
		total = p->total_uj;
	ergon_curve_add(&p->curve, p->last_ns - p->first_ns, s->reading.t_ns - p->first_ns,
			total - p->total_uj);
	p->total_uj = total;
	p->last_ns = s->reading.t_ns;
	pthread_mutex_unlock(&a->lock);
	publish(a, s);
	if (a->cross_checking)
		a->cross_checking = ergon_crosscheck_feed(a->setup.crosscheck, &s->reading);
}

/* Split the node's energy; a whole node needs no model. */
static void split(const struct ergon_account *a, int64_t cpu_ns, uint64_t dt_ns,
		  struct ergon_record *r)
{
	struct ergon_split s = { (uint64_t)r->node_uj, 0, 0 };

	if (!a->setup.whole) {
		int64_t busy = ergon_cputime_busy_ns(a->stat_fd);
		struct ergon_usage u = {
			.node_uj = (uint64_t)r->node_uj,
			.dt_ns = dt_ns,
			.idle_w = a->setup.idle_w,
			.cpus_job = r->cpus,
			.cpus_node = r->node_cpus,
			.cpu_job_ns = cpu_ns,
			.cpu_busy_ns = busy < 0 || a->busy_start_ns < 0 ? -1 :
				       busy - a->busy_start_ns,
		};

		ergon_share_split(&u, &s);
		r->flags |= ERGON_FLAG_SHARED;
		/* CPUs held stood in for CPU time. */
		if (u.cpu_job_ns < 0 || u.cpu_busy_ns < 0)
			r->flags |= ERGON_FLAG_SCALED;
	}
	r->job_uj = (int64_t)s.job_uj;
	r->other_uj = (int64_t)s.other_uj;
	r->unallocated_uj = (int64_t)s.unallocated_uj;
}

/* Domains, and what the total covers. What never answered is absent, not 0 J. */
static void fill_domains(const struct ergon_meter *meter, const struct progress *p,
			 struct ergon_record *r)
{
	const struct ergon_channel *channels;
	size_t n = ergon_meter_channels(meter, &channels);
	bool answered[ERGON_METER_MAX_CHANNELS];

	for (size_t i = 0; i < n; i++) {
		int64_t *uj = &r->domain_uj[channels[i].domain];

		answered[i] = ergon_meter_answered(meter, i);
		if (!answered[i]) {
			r->flags |= ERGON_FLAG_GAP;
			continue;
		}
		*uj = (*uj == ERGON_NONE ? 0 : *uj) +
		      (int64_t)ergon_counts_to_uj(p->counts[i], channels[i].unit_j);
	}
	ergon_meter_scope_of(meter, answered, r->scope, sizeof(r->scope));
}

static void fill_energy(const struct ergon_account *a, const struct progress *p, int64_t cpu_ns,
			struct ergon_record *r)
{
	const struct ergon_meter *meter = a->setup.meter;
	struct ergon_sampler_stats stats;
	uint64_t max_mw = ergon_curve_max_mw(&p->curve);

	ergon_sampler_stats(a->sampler, &stats);
	fill_domains(meter, p, r);
	snprintf(r->mechanism, sizeof(r->mechanism), "%s", ergon_meter_mechanism(meter));
	r->model = ergon_meter_estimated(meter);
	r->freq_hz = a->setup.rate.hz;
	r->samples = (int64_t)stats.samples;
	r->missed = (int64_t)stats.missed;
	r->flags |= stats.flags | (stats.missed ? ERGON_FLAG_MISSED : 0);
	if (!*r->scope) {
		r->flags |= ERGON_FLAG_NOENERGY;
		if (!*r->reason)
			snprintf(r->reason, sizeof(r->reason), "no source has answered");
		return;
	}
	r->node_uj = (int64_t)p->total_uj;
	r->curve = p->curve;
	if (max_mw > 0)
		r->max_w_mw = (int64_t)max_mw;
	split(a, cpu_ns, p->last_ns - p->first_ns, r);
}

static void fill_sensors(const struct ergon_account *a, struct ergon_record *r)
{
	struct ergon_watch_summary s;

	ergon_watch_summary(a->watch, &s);
	if (s.freq_mhz.some)
		r->freq_mhz = llround(s.freq_mhz.mean);
	if (s.temp_c.some)
		r->temp_c = llround(s.temp_c.mean);
}

static void fill(const struct ergon_account *a, const struct progress *p, int64_t cpu_ns,
		 struct ergon_record *r)
{
	uint64_t elapsed = a->sampler ? p->last_ns - p->first_ns : ergon_clock_ns() - a->start_ns;

	r->start_ns = (int64_t)a->start_real_ns;
	/*
	 * Not the realtime clock again, which may have been set meanwhile: the
	 * end is never before the start. A suspend lies between them, and is
	 * in neither the curve nor the energy.
	 */
	r->end_ns = (int64_t)(a->start_real_ns + elapsed + ergon_clock_slept_ns(a->asleep_ns));
	r->cpu_ns = cpu_ns < 0 ? ERGON_NONE : cpu_ns;
	fill_sensors(a, r);
	if (a->sampler)
		fill_energy(a, p, cpu_ns, r);
	else
		r->flags |= ERGON_FLAG_NOENERGY;
}

static void write_checkpoint(struct ergon_account *a)
{
	int len;

	pthread_mutex_lock(&a->lock);
	a->copy = a->progress;
	pthread_mutex_unlock(&a->lock);
	a->record = a->identity;
	fill(a, &a->copy, -1, &a->record);
	a->record.state = ERGON_STATE_PARTIAL;
	a->record.flags |= ERGON_FLAG_PARTIAL;
	if (!*a->record.reason)
		strcpy(a->record.reason, "slurmstepd ended before the step: this is its last checkpoint");
	len = ergon_record_format(&a->record, a->line, sizeof(a->line));
	if (len > 0)
		ergon_checkpoint_write(a->setup.checkpoint, a->line, (size_t)len);
}

static void *clerk_main(void *arg)
{
	struct ergon_account *a = arg;
	struct pollfd stop = { .fd = a->stop_fd, .events = POLLIN };
	uint64_t next = ergon_clock_ns();

	pthread_setname_np(pthread_self(), "ergon-clerk");
	for (;;) {
		uint64_t now = ergon_clock_ns();
		int ready;

		if (now >= next) {
			write_checkpoint(a);
			next = now + (uint64_t)a->setup.checkpoint_s * 1000000000u;
			continue;
		}
		ready = poll(&stop, 1, (int)((next - now) / 1000000u) + 1);
		if (ready > 0 || (ready < 0 && errno != EINTR))
			return NULL;
	}
}

static void start_clerk(struct ergon_account *a)
{
	a->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	a->has_clerk = a->stop_fd >= 0 && ergon_thread_create(&a->clerk, clerk_main, a) == 0;
}

static void stop_clerk(struct ergon_account *a)
{
	uint64_t one = 1;
	struct timespec limit = { 0, 0 };
	ssize_t n;

	if (!a->has_clerk)
		return;
	a->has_clerk = false;
	n = write(a->stop_fd, &one, sizeof(one));
	(void)n;
	/* It may hang in a write to a dead disk; the job must not. */
	limit.tv_sec = (time_t)(ergon_clock_ns() / 1000000000u) + CLERK_JOIN_S;
	a->clerk_hangs = pthread_clockjoin_np(a->clerk, NULL, CLOCK_MONOTONIC, &limit) != 0;
}

static void start_sampler(struct ergon_account *a)
{
	const struct ergon_sampler_config config = {
		.hz = a->setup.rate.hz,
		.adapt_to = a->setup.rate.adapt ? a->setup.sysroot : NULL,
		.thread_name = "ergon-sampler",
		.on_sample = on_sample,
		.arg = a,
	};
	struct ergon_error err;

	a->sampler = ergon_sampler_create(a->setup.meter, &config, &err);
	if (a->sampler && ergon_sampler_start(a->sampler, &err) < 0) {
		ergon_sampler_destroy(a->sampler);
		a->sampler = NULL;
	}
	if (!a->sampler)
		snprintf(a->identity.reason, sizeof(a->identity.reason), "%.255s", err.text);
}

struct ergon_account *ergon_account_start(const struct ergon_account_setup *setup)
{
	struct ergon_account *a = calloc(1, sizeof(*a));
	uint64_t every;

	if (!a)
		return NULL;
	a->setup = *setup;
	a->identity = *setup->identity;
	a->stop_fd = -1;
	a->stat_fd = setup->sysroot ? ergon_cputime_open(setup->sysroot) : -1;
	a->busy_start_ns = ergon_cputime_busy_ns(a->stat_fd);
	every = ergon_account_decimation(setup->rate.hz, setup->board_hz);
	a->publish_ns = every > 1 ? (uint64_t)(1e9 * (double)every / setup->rate.hz) : 0;
	pthread_mutex_init(&a->lock, NULL);
	ergon_curve_init(&a->progress.curve, setup->curve_points);
	a->cross_checking = setup->crosscheck != NULL;
	a->start_real_ns = ergon_clock_real_ns();
	a->start_ns = ergon_clock_ns();
	a->asleep_ns = ergon_clock_asleep_ns();
	if (setup->meter)
		start_sampler(a);
	if (setup->sysroot && setup->sensor_hz > 0)
		a->watch = ergon_watch_start(setup->sysroot, setup->sensor_hz, NULL);
	if (setup->checkpoint)
		start_clerk(a);
	return a;
}

/* The sampler has ended: the check is ours. */
static void judge_crosscheck(const struct ergon_account *a, struct ergon_record *r)
{
	char verdict[200];

	if (!a->setup.crosscheck ||
	    !*ergon_crosscheck_verdict(a->setup.crosscheck, verdict, sizeof(verdict)))
		return;
	r->flags |= ERGON_FLAG_DISAGREE;
	ergon_log(ERGON_LOG_WARNING, ERGON_LOG_SPANK, "mechanisms disagree: %s", verdict);
	if (!*r->reason)
		snprintf(r->reason, sizeof(r->reason), "mechanisms disagree: %s", verdict);
}

void ergon_account_finish(struct ergon_account *a, int64_t cpu_ns, struct ergon_record *r)
{
	a->finishing = true;
	if (a->sampler)
		ergon_sampler_stop(a->sampler);
	stop_clerk(a);
	if (!*r->reason)
		memcpy(r->reason, a->identity.reason, sizeof(r->reason));
	fill(a, &a->progress, cpu_ns, r);
	judge_crosscheck(a, r);
}

void ergon_account_free(struct ergon_account *a)
{
	if (!a || a->clerk_hangs)
		return;
	ergon_sampler_destroy(a->sampler);
	ergon_watch_stop(a->watch);
	pthread_mutex_destroy(&a->lock);
	if (a->stat_fd >= 0)
		close(a->stat_fd);
	if (a->stop_fd >= 0)
		close(a->stop_fd);
	free(a);
}
