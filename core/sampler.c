/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One timerfd on an absolute grid, one eventfd to stop. When the sampling
 * period is longer than a counter may be left alone, the grid is divided:
 * every `divide`-th tick is a sample, the others only keep the meter's
 * counts from losing a wrap, or look whether an idle machine is idle still.
 * A forked child has no thread, so everything that would join or lock first
 * asks whether this is still our process.
 */
#include "sampler.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "cputime.h"
#include "flags.h"
#include "pace.h"
#include "thread.h"

/* When to wake up; points lie at multiples of tick_ns after the start. */
struct grid {
	uint64_t tick_ns;         /* distance of grid points */
	uint64_t divide;          /* grid points per sample */
	bool keepalive;           /* the meter is read at the points between samples */
};

/* What freq=auto knows of the machine. */
struct load {
	int fd;                   /* /proc/stat; -1: the rate is fixed */
	struct ergon_pace pace;
	uint64_t t_ns;            /* last check: when, */
	int64_t busy_ns;          /* busy time of all CPUs, -1 unknown, */
	uint64_t own_ns;          /* and of the sampler's thread: it is no load */
};

struct ergon_sampler {
	struct ergon_meter *meter;
	ergon_sample_f *on_sample;
	void *arg;
	char thread_name[16];
	struct grid busy, idle;
	const struct grid *grid;  /* one of the two */
	struct load load;
	uint64_t start_ns;        /* time of the baseline */
	uint64_t origin_ns;       /* time of grid point 0 */
	uint64_t passed;          /* grid points that are over */
	uint64_t pending_missed;  /* of the grid before this one */
	unsigned pending_flags;   /* of keep-alive reads since the last sample */
	int timer_fd;
	int stop_fd;
	pid_t owner;              /* process that has the thread */
	bool started;
	bool running;
	atomic_bool stopping;
	pthread_t thread;
	struct ergon_sample work; /* the sample being taken */
	pthread_mutex_t lock;     /* of the two below */
	struct ergon_sample latest;
	struct ergon_sampler_stats stats;
};

/* Samples every period_ns, wake-ups at least every wake_ns. */
static struct grid make_grid(uint64_t period_ns, uint64_t wake_ns, uint64_t keepalive_ns)
{
	struct grid g = { .divide = 1, .keepalive = keepalive_ns > 0 && period_ns > keepalive_ns };

	if (g.keepalive && wake_ns > keepalive_ns)
		wake_ns = keepalive_ns;
	if (period_ns > wake_ns)
		g.divide = (period_ns + wake_ns - 1) / wake_ns;
	g.tick_ns = period_ns / g.divide;
	/* A keep-alive of less than a tenth of a millisecond cannot be served. */
	if (g.tick_ns < 100000) {
		g.tick_ns = 100000;
		g.divide = (period_ns + g.tick_ns / 2) / g.tick_ns;
	}
	return g;
}

static void set_rate(struct ergon_sampler *s, const struct ergon_sampler_config *config)
{
	uint64_t period_ns = (uint64_t)(1e9 / config->hz + 0.5);
	uint64_t keepalive_ns = ergon_meter_keepalive_ns(s->meter);

	s->busy = make_grid(period_ns, period_ns, keepalive_ns);
	s->grid = &s->busy;
	s->load.fd = -1;
	/* A rate that is never higher than an idle machine's has nothing to adapt. */
	if (!config->adapt_to || period_ns >= ERGON_PACE_IDLE_PERIOD_NS)
		return;
	s->idle = make_grid(ERGON_PACE_IDLE_PERIOD_NS,
			    period_ns > ERGON_PACE_CHECK_NS ? period_ns : ERGON_PACE_CHECK_NS,
			    keepalive_ns);
	s->load.fd = ergon_cputime_open(config->adapt_to);
}

struct ergon_sampler *ergon_sampler_create(struct ergon_meter *meter,
					   const struct ergon_sampler_config *config,
					   struct ergon_error *err)
{
	struct ergon_sampler *s;

	if (!meter || !config || !isfinite(config->hz) ||
	    config->hz < ERGON_HZ_MIN || config->hz > ERGON_HZ_MAX) {
		errno = EINVAL;
		ergon_error_set(err, "cannot make a sampler: it needs a meter and a rate from %g to %g Hz",
				ERGON_HZ_MIN, ERGON_HZ_MAX);
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		ergon_error_set(err, "cannot make a sampler: %s", strerror(errno));
		return NULL;
	}
	s->meter = meter;
	s->on_sample = config->on_sample;
	s->arg = config->arg;
	strncpy(s->thread_name, config->thread_name ? config->thread_name : "ergon-sampler",
		sizeof(s->thread_name) - 1);
	s->timer_fd = -1;
	s->stop_fd = -1;
	s->owner = getpid();
	pthread_mutex_init(&s->lock, NULL);
	set_rate(s, config);
	return s;
}

/* Read the meter; fold cost and flags into the statistics. */
static void read_meter(struct ergon_sampler *s)
{
	struct ergon_reading *reading = &s->work.reading;

	ergon_meter_read(s->meter, reading);
	pthread_mutex_lock(&s->lock);
	s->stats.flags |= reading->flags;
	s->stats.reads++;
	s->stats.read_ns_sum += reading->read_ns;
	if (reading->read_ns > s->stats.read_ns_max)
		s->stats.read_ns_max = reading->read_ns;
	pthread_mutex_unlock(&s->lock);
}

static void take_sample(struct ergon_sampler *s, uint64_t missed)
{
	struct ergon_sample *sample = &s->work;

	read_meter(s);
	missed += s->pending_missed;
	s->pending_missed = 0;
	sample->reading.flags |= s->pending_flags | (missed ? ERGON_FLAG_MISSED : 0);
	s->pending_flags = 0;
	pthread_mutex_lock(&s->lock);
	sample->index = s->stats.samples++;
	s->stats.missed += missed;
	s->stats.flags |= sample->reading.flags;
	sample->missed = s->stats.missed;
	s->latest = *sample;
	pthread_mutex_unlock(&s->lock);
	if (s->on_sample)
		s->on_sample(s->arg, sample);
}

/* Grid points that have passed since the last call; -1 when the timer failed. */
static int passed_points(struct ergon_sampler *s, uint64_t *points)
{
	ssize_t n = read(s->timer_fd, points, sizeof(*points));

	if (n == (ssize_t)sizeof(*points))
		return 0;
	*points = 0;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* How many samples became due with these grid points. */
static uint64_t pass(struct ergon_sampler *s, uint64_t points)
{
	uint64_t before = s->passed / s->grid->divide;

	s->passed += points;
	return s->passed / s->grid->divide - before;
}

/* Busy CPUs since the last check, without this thread; -1 when unknown. */
static double busy_cpus(struct load *load, uint64_t now)
{
	struct load last = *load;
	double busy, own;

	load->t_ns = now;
	load->busy_ns = ergon_cputime_busy_ns(load->fd);
	load->own_ns = ergon_clock_thread_cpu_ns();
	if (last.busy_ns < 0 || load->busy_ns < last.busy_ns)
		return -1;
	busy = (double)(load->busy_ns - last.busy_ns);
	own = (double)(load->own_ns - last.own_ns);
	return busy > own ? (busy - own) / (double)(now - last.t_ns) : 0;
}

/* The grid that suits the load. */
static const struct grid *choose_grid(struct ergon_sampler *s, uint64_t now)
{
	struct load *load = &s->load;

	/* Checks lie on a grid of their own. After a late one little time is left to judge by. */
	if (load->fd < 0 ||
	    (now - s->start_ns) / ERGON_PACE_CHECK_NS == (load->t_ns - s->start_ns) / ERGON_PACE_CHECK_NS ||
	    now - load->t_ns < ERGON_PACE_CHECK_NS / 2)
		return s->grid;
	return ergon_pace_check(&load->pace, now, busy_cpus(load, now)) ? &s->idle : &s->busy;
}

static int set_timer(struct ergon_sampler *s)
{
	uint64_t tick_ns = s->grid->tick_ns, first = s->origin_ns + tick_ns;
	struct itimerspec timer = {
		.it_interval = { (time_t)(tick_ns / 1000000000u), (long)(tick_ns % 1000000000u) },
		.it_value = { (time_t)(first / 1000000000u), (long)(first % 1000000000u) },
	};

	return timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

/* Go on with another grid. What passed on the old one meanwhile was missed. */
static void change_grid(struct ergon_sampler *s, const struct grid *grid)
{
	uint64_t now = ergon_clock_ns(), points;

	if (passed_points(s, &points) == 0)
		s->pending_missed += pass(s, points);
	s->grid = grid;
	s->passed = 0;
	s->origin_ns = now - (now - s->start_ns) % grid->tick_ns;
	set_timer(s); /* as it was set before, to another time: cannot fail */
}

static void serve(struct ergon_sampler *s, uint64_t points)
{
	uint64_t now = ergon_clock_ns();
	uint64_t planned = s->origin_ns + (s->passed + 1) * s->grid->tick_ns;
	uint64_t due = pass(s, points);
	const struct grid *grid = choose_grid(s, now);

	pthread_mutex_lock(&s->lock);
	s->stats.ticks += due > 0;
	if (now > planned && now - planned > s->stats.late_ns_max)
		s->stats.late_ns_max = now - planned;
	pthread_mutex_unlock(&s->lock);
	if (due > 0 || grid != s->grid) {
		take_sample(s, due > 0 ? due - 1 : 0);
	} else if (grid->keepalive) {
		read_meter(s);
		s->pending_flags |= s->work.reading.flags;
	}
	pthread_mutex_lock(&s->lock);
	s->stats.cpu_ns = ergon_clock_thread_cpu_ns();
	pthread_mutex_unlock(&s->lock);
	if (grid != s->grid)
		change_grid(s, grid);
}

static void *run(void *arg)
{
	struct ergon_sampler *s = arg;
	struct pollfd fds[] = {
		{ .fd = s->stop_fd, .events = POLLIN },
		{ .fd = s->timer_fd, .events = POLLIN },
	};

	pthread_setname_np(pthread_self(), s->thread_name);
	ergon_thread_ask_short_slices();
	for (;;) {
		uint64_t points;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents || s->stopping)
			break;
		if (!fds[1].revents)
			continue;
		if (passed_points(s, &points) < 0)
			break;
		if (points > 0)
			serve(s, points);
	}
	return NULL;
}

static void close_fds(struct ergon_sampler *s)
{
	if (s->timer_fd >= 0)
		close(s->timer_fd);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	s->timer_fd = -1;
	s->stop_fd = -1;
}

int ergon_sampler_start(struct ergon_sampler *s, struct ergon_error *err)
{
	int rc;

	if (s->started) {
		errno = EALREADY;
		return ergon_error_set(err, "the sampler was started before");
	}
	s->owner = getpid();
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->timer_fd < 0 || s->stop_fd < 0)
		goto fail;
	take_sample(s, 0);
	s->started = true;
	s->start_ns = s->work.reading.t_ns;
	s->origin_ns = s->start_ns;
	s->load.t_ns = s->start_ns;
	s->load.busy_ns = ergon_cputime_busy_ns(s->load.fd);
	if (set_timer(s) < 0)
		goto fail;
	rc = ergon_thread_create(&s->thread, run, s);
	if (rc) {
		errno = rc;
		goto fail;
	}
	s->running = true;
	return 0;
fail:
	ergon_error_set(err, "cannot start the sampler: %s", strerror(errno));
	close_fds(s);
	return -1;
}

void ergon_sampler_stop(struct ergon_sampler *s)
{
	uint64_t one = 1, points, due;
	ssize_t written;

	if (!s->running)
		return;
	s->running = false;
	if (s->owner != getpid())
		return;
	s->stopping = true;
	/* Cannot fail: the counter is 0. If it did, the next tick would see the flag. */
	written = write(s->stop_fd, &one, sizeof(one));
	(void)written;
	pthread_join(s->thread, NULL);
	/* Ticks that passed while the thread was kept from running: the last sample serves one. */
	if (passed_points(s, &points) < 0)
		points = 0;
	due = pass(s, points);
	pthread_mutex_lock(&s->lock);
	s->stats.ticks += due > 0;
	pthread_mutex_unlock(&s->lock);
	/* What has not answered by now is not starting any more. */
	if (!ergon_meter_settle(s->meter, 0))
		s->pending_flags |= ERGON_FLAG_GAP;
	take_sample(s, due > 0 ? due - 1 : 0);
	close_fds(s);
}

void ergon_sampler_destroy(struct ergon_sampler *s)
{
	int saved = errno;

	if (!s)
		return;
	ergon_sampler_stop(s);
	close_fds(s);
	if (s->load.fd >= 0)
		close(s->load.fd);
	if (s->owner == getpid())
		pthread_mutex_destroy(&s->lock);
	free(s);
	errno = saved;
}

void ergon_sampler_stats(const struct ergon_sampler *s, struct ergon_sampler_stats *out)
{
	/* The lock is not part of what a reader promises to leave alone. */
	pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock;

	if (s->owner != getpid()) {
		memset(out, 0, sizeof(*out));
		return;
	}
	pthread_mutex_lock(lock);
	*out = s->stats;
	pthread_mutex_unlock(lock);
}

void ergon_sampler_latest(struct ergon_sampler *s, struct ergon_sample *out)
{
	if (s->owner != getpid()) {
		memset(out, 0, sizeof(*out));
		return;
	}
	pthread_mutex_lock(&s->lock);
	*out = s->latest;
	pthread_mutex_unlock(&s->lock);
}
