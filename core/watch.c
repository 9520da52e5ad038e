/* SPDX-License-Identifier: BSD-3-Clause */
#include "watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "gauge.h"
#include "sensors.h"
#include "slow.h"

/* The first pause between readings; they double. */
#define FIRST_NS 20000000u

/* What the thread works on; it may outlive the watch. */
struct work {
	struct ergon_sysroot *sysroot;
	uid_t owner;
	struct ergon_sensors *sensors;
	size_t n;
	int64_t *values;
	int *errors;
	atomic_bool done;
	pthread_mutex_t lock;     /* of all below */
	pthread_cond_t tried;
	bool read;                /* once, or there is nothing to read */
	struct ergon_gauge *gauges;
};

struct ergon_watch {
	struct ergon_slow *slow;
	struct work *work;        /* the thread's; until the watch is stopped */
};

static void release(void *arg)
{
	struct work *w = arg;

	ergon_sensors_close(w->sensors);
	ergon_sysroot_close(w->sysroot);
	pthread_cond_destroy(&w->tried);
	pthread_mutex_destroy(&w->lock);
	free(w->values);
	free(w->errors);
	free(w->gauges);
	free(w);
}

static void tell_read(struct work *w)
{
	w->read = true;
	pthread_cond_broadcast(&w->tried);
}

static void begin(void *arg)
{
	struct work *w = arg;
	const struct ergon_sensor *sensors;
	size_t n = 0;

	w->sensors = ergon_sensors_open(w->sysroot, ERGON_SENSORS_CPU, w->owner, NULL);
	if (w->sensors)
		n = ergon_sensors_list(w->sensors, &sensors);
	w->values = calloc(n + 1, sizeof(*w->values));
	w->errors = calloc(n + 1, sizeof(*w->errors));
	pthread_mutex_lock(&w->lock);
	w->gauges = calloc(n + 1, sizeof(*w->gauges));
	if (w->values && w->errors && w->gauges)
		w->n = n;
	w->done = w->n == 0;
	if (w->done)
		tell_read(w);
	pthread_mutex_unlock(&w->lock);
}

static void read_sensors(void *arg, uint64_t *raw, bool *ok, uint64_t *t_ns)
{
	struct work *w = arg;
	uint64_t now;

	(void)raw;
	(void)ok;
	(void)t_ns;
	ergon_sensors_read(w->sensors, w->values, w->errors);
	now = ergon_clock_ns();
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->n; i++) {
		if (w->errors[i])
			ergon_gauge_break(&w->gauges[i]);
		else
			ergon_gauge_add(&w->gauges[i], w->values[i], now);
	}
	tell_read(w);
	pthread_mutex_unlock(&w->lock);
}

static struct work *work_new(const struct ergon_sysroot *sr, struct ergon_error *err)
{
	struct work *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;

	if (!w) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	w->sysroot = ergon_sysroot_open(ergon_sysroot_path(sr), err);
	if (!w->sysroot) {
		free(w);
		return NULL;
	}
	w->owner = geteuid();
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->tried, &attr);
	pthread_condattr_destroy(&attr);
	return w;
}

struct ergon_watch *ergon_watch_start(const struct ergon_sysroot *sr, double hz,
				      struct ergon_error *err)
{
	const enum ergon_slow_kind kind = ERGON_SLOW_COUNTER;
	struct ergon_slow_config config = {
		.thread_name = "ergon-watch", .first_ns = FIRST_NS, .n = 1, .kinds = &kind,
		.begin = begin, .read = read_sensors, .release = release,
	};
	struct ergon_watch *watch;

	if (!(hz > 0 && hz <= ERGON_WATCH_HZ_MAX)) {
		errno = EINVAL;
		ergon_error_set(err, "sensors are read at most %g times a second, not %g",
				ERGON_WATCH_HZ_MAX, hz);
		return NULL;
	}
	watch = calloc(1, sizeof(*watch));
	if (!watch) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	watch->work = work_new(sr, err);
	if (watch->work) {
		config.arg = watch->work;
		config.done = &watch->work->done;
		config.period_ns = config.hold_ns = (uint64_t)(1e9 / hz);
		watch->slow = ergon_slow_start(&config, err);
		if (watch->slow)
			return watch;
		release(watch->work);
	}
	free(watch);
	return NULL;
}

void ergon_watch_wait(struct ergon_watch *watch, uint64_t timeout_ns)
{
	uint64_t end_ns = ergon_clock_ns() + timeout_ns;
	struct timespec until = {
		.tv_sec = (time_t)(end_ns / 1000000000u), .tv_nsec = (long)(end_ns % 1000000000u)
	};
	struct work *w = watch->work;

	pthread_mutex_lock(&w->lock);
	while (!w->read && ergon_clock_ns() < end_ns)
		pthread_cond_timedwait(&w->tried, &w->lock, &until);
	pthread_mutex_unlock(&w->lock);
}

/*
 * One more sensor into a range: of the highest mean, and the highest of all.
 * Since the last reading it is taken to have been what that says.
 */
static void merge(struct ergon_watch_range *range, struct ergon_gauge g, uint64_t now)
{
	double mean, max = (double)g.max / 1000;

	if (g.joined)
		ergon_gauge_add(&g, g.last, now);
	if (!ergon_gauge_mean(&g, &mean))
		return;
	mean /= 1000;
	if (!range->some || mean > range->mean) {
		range->mean = mean;
		range->min = (double)g.min / 1000;
	}
	if (!range->some || max > range->max)
		range->max = max;
	range->some = true;
}

void ergon_watch_summary(struct ergon_watch *watch, struct ergon_watch_summary *out)
{
	const struct ergon_sensor *sensors = NULL;
	uint64_t now = ergon_clock_ns();
	struct work *w;

	*out = (struct ergon_watch_summary){ 0 };
	if (!watch)
		return;
	w = watch->work;
	pthread_mutex_lock(&w->lock);
	if (w->n > 0)
		ergon_sensors_list(w->sensors, &sensors);
	for (size_t i = 0; i < w->n; i++)
		merge(sensors[i].kind == ERGON_SENSOR_FREQUENCY ? &out->freq_mhz : &out->temp_c,
		      w->gauges[i], now);
	pthread_mutex_unlock(&w->lock);
}

void ergon_watch_stop(struct ergon_watch *watch)
{
	if (!watch)
		return;
	ergon_slow_stop(watch->slow);
	free(watch);
}
