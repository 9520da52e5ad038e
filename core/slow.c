/* SPDX-License-Identifier: BSD-3-Clause */
#include "slow.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "integral.h"
#include "thread.h"

#define JOIN_MS 100

struct value {
	struct ergon_integral power;
	uint64_t raw;             /* newest counter */
	uint64_t t_ns;            /* when it was taken */
	uint64_t shown;           /* power: what readers have seen so far */
	bool some;                /* there has been a reading */
};

struct ergon_slow {
	struct ergon_slow_config config;
	char thread_name[16];     /* the kernel's limit */
	enum ergon_slow_kind *kinds;
	pid_t owner;
	uint64_t start_ns;
	pthread_t thread;
	pthread_mutex_t lock;     /* of all below; never held while reading */
	pthread_cond_t wake;      /* stopping changed */
	bool stopping;
	int users;                /* the owner and the thread */
	struct value *values;
	/* the thread's own */
	uint64_t *raw, *t_ns;
	bool *ok;
};

static void destroy(struct ergon_slow *slow)
{
	if (slow->config.release)
		slow->config.release(slow->config.arg);
	pthread_cond_destroy(&slow->wake);
	pthread_mutex_destroy(&slow->lock);
	free(slow->kinds);
	free(slow->values);
	free(slow->raw);
	free(slow->t_ns);
	free(slow->ok);
	free(slow);
}

/* The last user frees. */
static void leave(struct ergon_slow *slow)
{
	bool last;

	pthread_mutex_lock(&slow->lock);
	last = --slow->users == 0;
	pthread_mutex_unlock(&slow->lock);
	if (last)
		destroy(slow);
}

static void take(struct ergon_slow *slow, size_t i)
{
	struct value *v = &slow->values[i];
	struct ergon_integral *power = &v->power;

	if (slow->kinds[i] != ERGON_SLOW_COUNTER) {
		/* Before the first reading power was what it says. */
		if (!power->based) {
			power->average = slow->kinds[i] == ERGON_SLOW_AVERAGE;
			ergon_integral_add(power, slow->raw[i], slow->start_ns);
		}
		ergon_integral_add(power, slow->raw[i], slow->t_ns[i]);
	}
	v->raw = slow->raw[i];
	v->t_ns = slow->t_ns[i];
	v->some = true;
}

static void read_once(struct ergon_slow *slow)
{
	uint64_t now = ergon_clock_ns();

	for (size_t i = 0; i < slow->config.n; i++) {
		slow->ok[i] = false;
		slow->t_ns[i] = now;
	}
	slow->config.read(slow->config.arg, slow->raw, slow->ok, slow->t_ns);
	pthread_mutex_lock(&slow->lock);
	for (size_t i = 0; i < slow->config.n; i++)
		if (slow->ok[i])
			take(slow, i);
	pthread_mutex_unlock(&slow->lock);
}

/* True when it is time to end. */
static bool wait_until(struct ergon_slow *slow, uint64_t t_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(t_ns / 1000000000u), .tv_nsec = (long)(t_ns % 1000000000u)
	};
	bool stopping;

	pthread_mutex_lock(&slow->lock);
	while (!slow->stopping && ergon_clock_ns() < t_ns)
		pthread_cond_timedwait(&slow->wake, &slow->lock, &until);
	stopping = slow->stopping;
	pthread_mutex_unlock(&slow->lock);
	return stopping;
}

static void *run(void *arg)
{
	struct ergon_slow *slow = arg;
	const struct ergon_slow_config *config = &slow->config;
	uint64_t next = slow->start_ns;
	uint64_t period = config->first_ns ? config->first_ns : config->period_ns;

	prctl(PR_SET_NAME, slow->thread_name);
	if (config->begin)
		config->begin(config->arg);
	while (!config->done || !*config->done) {
		uint64_t now;

		read_once(slow);
		now = ergon_clock_ns();
		next += period;
		if (next < now)
			next = now; /* the source is slower than asked: no catching up */
		if (wait_until(slow, next))
			break;
		period = 2 * period < config->period_ns ? 2 * period : config->period_ns;
	}
	if (config->end)
		config->end(config->arg);
	leave(slow);
	return NULL;
}

struct ergon_slow *ergon_slow_start(const struct ergon_slow_config *config,
				    struct ergon_error *err)
{
	struct ergon_slow *slow = calloc(1, sizeof(*slow));
	size_t n = config->n ? config->n : 1;
	pthread_condattr_t attr;
	int rc;

	if (!slow)
		goto no_memory;
	slow->config = *config;
	snprintf(slow->thread_name, sizeof(slow->thread_name), "%s", config->thread_name);
	slow->config.thread_name = slow->thread_name;
	slow->owner = getpid();
	slow->users = 2;
	slow->kinds = calloc(n, sizeof(*slow->kinds));
	slow->values = calloc(n, sizeof(*slow->values));
	slow->raw = calloc(n, sizeof(*slow->raw));
	slow->t_ns = calloc(n, sizeof(*slow->t_ns));
	slow->ok = calloc(n, sizeof(*slow->ok));
	pthread_mutex_init(&slow->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&slow->wake, &attr);
	pthread_condattr_destroy(&attr);
	slow->config.release = NULL; /* arg is the caller's until the thread runs */
	if (!slow->kinds || !slow->values || !slow->raw || !slow->t_ns || !slow->ok) {
		destroy(slow);
		goto no_memory;
	}
	memcpy(slow->kinds, config->kinds, config->n * sizeof(*slow->kinds));
	slow->start_ns = ergon_clock_ns();
	slow->config.release = config->release;
	rc = config->calls_library ? ergon_thread_create_for_library(&slow->thread, run, slow) :
				     ergon_thread_create(&slow->thread, run, slow);
	if (rc == 0)
		return slow;
	slow->config.release = NULL;
	destroy(slow);
	ergon_error_set(err, "cannot start thread %s: %s", config->thread_name, strerror(rc));
	return NULL;
no_memory:
	ergon_error_set(err, "out of memory");
	return NULL;
}

/* Power goes on as last read for as long as a value is good, and never backwards. */
static uint64_t show(const struct ergon_slow *slow, struct value *v, uint64_t now)
{
	uint64_t limit = v->t_ns + slow->config.hold_ns, uj;

	uj = ergon_integral_held(&v->power, now < limit ? now : limit);
	if (uj > v->shown)
		v->shown = uj;
	return v->shown;
}

size_t ergon_slow_latest(struct ergon_slow *slow, uint64_t *raw, bool *ok)
{
	size_t good = 0;
	uint64_t now;

	pthread_mutex_lock(&slow->lock);
	now = ergon_clock_ns();
	for (size_t i = 0; i < slow->config.n; i++) {
		struct value *v = &slow->values[i];

		ok[i] = v->some && (now <= v->t_ns || now - v->t_ns <= slow->config.hold_ns);
		if (!ok[i])
			continue;
		raw[i] = slow->kinds[i] == ERGON_SLOW_COUNTER ? v->raw : show(slow, v, now);
		good++;
	}
	pthread_mutex_unlock(&slow->lock);
	return good;
}

uint64_t ergon_slow_age_ns(struct ergon_slow *slow)
{
	uint64_t now = ergon_clock_ns(), age = 0;

	pthread_mutex_lock(&slow->lock);
	for (size_t i = 0; i < slow->config.n; i++) {
		const struct value *v = &slow->values[i];

		if (v->some && now > v->t_ns && now - v->t_ns > age)
			age = now - v->t_ns;
	}
	pthread_mutex_unlock(&slow->lock);
	return age;
}

void ergon_slow_stop(struct ergon_slow *slow)
{
	struct timespec until;
	int saved = errno;
	uint64_t end_ns;

	if (!slow || slow->owner != getpid())
		return;
	pthread_mutex_lock(&slow->lock);
	slow->stopping = true;
	pthread_cond_signal(&slow->wake);
	pthread_mutex_unlock(&slow->lock);
	end_ns = ergon_clock_ns() + JOIN_MS * 1000000u;
	until.tv_sec = (time_t)(end_ns / 1000000000u);
	until.tv_nsec = (long)(end_ns % 1000000000u);
	if (pthread_clockjoin_np(slow->thread, NULL, CLOCK_MONOTONIC, &until) != 0)
		pthread_detach(slow->thread);
	leave(slow);
	errno = saved;
}
