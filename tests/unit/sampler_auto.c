/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * freq=auto against a machine whose /proc/stat the test writes, so that it is
 * idle or loaded whatever else runs here. Wake-ups are those the kernel counts.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "clock.h"
#include "flags.h"
#include "pace.h"
#include "sampler.h"
#include "tree.h"

#define HZ 100
#define SECOND 1000000000ull

/* The machine, its meter (1 W, from the clock) and what the callback saw. */
struct fixture {
	struct tree tree;
	struct ergon_sysroot *sysroot;
	int stat_fd;
	struct ergon_channel channel;
	uint64_t burn_ns;         /* CPU time a reading takes */
	struct ergon_meter *meter;
	struct ergon_sampler *sampler;
	atomic_ullong last_ns;    /* time of the newest sample */
	atomic_int tid;           /* of the sampler */
	clockid_t clock;
	bool in_order;
	/* A thread makes the machine's CPU time grow: */
	pthread_t load;
	atomic_bool loaded;       /* one CPU busy */
	atomic_bool own;          /* as the sampler's own thread uses it */
	atomic_bool stop;
};

static size_t channels(const void *inst, const struct ergon_channel **out)
{
	*out = &((const struct fixture *)inst)->channel;
	return 1;
}

static size_t read_clock(void *inst, uint64_t *raw, bool *ok)
{
	struct fixture *f = inst;
	uint64_t begin = ergon_clock_thread_cpu_ns();

	while (f->burn_ns && ergon_clock_thread_cpu_ns() - begin < f->burn_ns)
		;
	raw[0] = ergon_clock_ns() / 1000;
	ok[0] = true;
	return 1;
}

static void close_nothing(void *inst)
{
	(void)inst;
}

static const struct ergon_backend clock_backend = {
	.name = "clock",
	.help = "1 W",
	.channels = channels,
	.read = read_clock,
	.close = close_nothing,
};

static void nap_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* In place, in one write: the sampler never sees half a number. */
static void write_stat(struct fixture *f, uint64_t busy_ns)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "cpu  %012llu 0 0 0 0 0 0 0 0 0\n",
			 (unsigned long long)(busy_ns / (SECOND / (uint64_t)sysconf(_SC_CLK_TCK))));

	assert_int_equal(pwrite(f->stat_fd, text, (size_t)n, 0), n);
}

static uint64_t now_on(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static void *make_load(void *arg)
{
	struct fixture *f = arg;
	uint64_t busy = 0, last = ergon_clock_ns(), own = 0;

	while (!f->stop) {
		uint64_t now = ergon_clock_ns();

		if (f->loaded)
			busy += now - last;
		if (f->own && f->tid) {
			uint64_t used = now_on(f->clock);

			busy += used - own;
			own = used;
		}
		last = now;
		write_stat(f, busy);
		nap_ms(5);
	}
	return NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char path[128];

	assert_non_null(f);
	tree_create(&f->tree);
	tree_write(&f->tree, "/proc/stat", "cpu  000000000000 0 0 0 0 0 0 0 0 0\n");
	snprintf(path, sizeof(path), "%s/proc/stat", f->tree.path);
	f->stat_fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(f->stat_fd >= 0);
	f->sysroot = tree_open(&f->tree);
	f->channel = (struct ergon_channel){
		.name = "node", .domain = ERGON_DOMAIN_NODE, .package = -1, .die = -1,
		.unit_j = 1e-6, .max_watts = 1000,
	};
	f->meter = ergon_meter_new(&(struct ergon_meter_part){ &clock_backend, f }, 1, NULL);
	assert_non_null(f->meter);
	f->in_order = true;
	assert_int_equal(pthread_create(&f->load, NULL, make_load, f), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ergon_sampler_destroy(f->sampler);
	f->stop = true;
	pthread_join(f->load, NULL);
	ergon_meter_close(f->meter);
	ergon_sysroot_close(f->sysroot);
	close(f->stat_fd);
	tree_destroy(&f->tree);
	free(f);
	return 0;
}

static void on_sample(void *arg, const struct ergon_sample *sample)
{
	struct fixture *f = arg;

	if (sample->reading.t_ns <= f->last_ns || sample->reading.flags & ~(unsigned)ERGON_FLAG_MISSED)
		f->in_order = false;
	f->last_ns = sample->reading.t_ns;
	if (sample->index == 1) {
		pthread_getcpuclockid(pthread_self(), &f->clock);
		f->tid = gettid();
	}
}

/* In place of the one before; teardown ends it, so a check may fail while it runs. */
static void start(struct fixture *f, const struct ergon_sysroot *adapt_to)
{
	struct ergon_sampler_config config = {
		.hz = HZ, .adapt_to = adapt_to, .on_sample = on_sample, .arg = f,
	};

	ergon_sampler_destroy(f->sampler);
	f->tid = 0;
	f->sampler = ergon_sampler_create(f->meter, &config, NULL);
	assert_non_null(f->sampler);
	assert_int_equal(ergon_sampler_start(f->sampler, NULL), 0);
}

/* How often the thread has gone to sleep since it began. */
static uint64_t wakeups(const struct fixture *f)
{
	unsigned long long n = 0;
	char path[64], line[128];
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", f->tid);
	in = fopen(path, "re");
	assert_non_null(in);
	while (!found && fgets(line, sizeof(line), in))
		found = sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1;
	fclose(in);
	assert_true(found);
	return n;
}

/* Planned ticks so far. */
static uint64_t planned(const struct fixture *f)
{
	struct ergon_sampler_stats stats;

	ergon_sampler_stats(f->sampler, &stats);
	return stats.ticks + stats.missed;
}

struct rates {
	double wakeups, planned;  /* per second */
};

static struct rates rates_during(const struct fixture *f, long ms)
{
	uint64_t woken = wakeups(f), ticks = planned(f), begin = ergon_clock_ns();
	double seconds;

	nap_ms(ms);
	seconds = (double)(ergon_clock_ns() - begin) / SECOND;
	return (struct rates){
		(double)(wakeups(f) - woken) / seconds, (double)(planned(f) - ticks) / seconds,
	};
}

/* How long no sample has come. */
static uint64_t silence_ns(const struct fixture *f)
{
	uint64_t last = f->last_ns; /* first: the next one may come any time */

	return ergon_clock_ns() - last;
}

/* Until no sample came for three periods; false after 9 s. */
static bool wait_for_idle(const struct fixture *f)
{
	uint64_t begin = ergon_clock_ns();

	do {
		nap_ms(10);
		if (silence_ns(f) > 300000000u)
			return true;
	} while (ergon_clock_ns() - begin < 9 * SECOND);
	return false;
}

static void an_idle_machine_is_left_alone(void **state)
{
	struct fixture *f = *state;
	struct rates fixed, idle, load;
	uint64_t began, idle_after, woke_ns;

	start(f, NULL);
	nap_ms(50);
	fixed = rates_during(f, 400);

	began = ergon_clock_ns();
	start(f, f->sysroot);
	assert_true(wait_for_idle(f));
	idle_after = ergon_clock_ns() - began;
	idle = rates_during(f, 1500);

	began = ergon_clock_ns();
	f->loaded = true;
	while (f->last_ns < began + 2000000u || silence_ns(f) > 50000000u) {
		nap_ms(1);
		assert_true(ergon_clock_ns() - began < 9 * SECOND);
	}
	woke_ns = f->last_ns - began;
	nap_ms(100);
	load = rates_during(f, 400);

	printf("wake-ups per second: %.0f at %d Hz, %.1f idle, %.0f under load; idle after %.2f s, load seen after %.2f s\n",
	       fixed.wakeups, HZ, idle.wakeups, load.wakeups, (double)idle_after / SECOND,
	       (double)woke_ns / SECOND);
	/* Not before it was quiet for two seconds. */
	assert_true(idle_after >= ERGON_PACE_QUIET_NS);
	assert_true(idle.wakeups * 10 <= fixed.wakeups);
	assert_true(idle.planned > 0 && idle.planned < 2.5);
	/* The plan under load is the asked rate; what the machine could not serve is counted. */
	assert_true(load.planned > 0.9 * HZ && load.planned < 1.1 * HZ);
	/* 0.31 s by design; the rest is for a busy test machine. */
	assert_true(woke_ns < SECOND);
	assert_true(f->in_order);
}

static void what_cannot_be_judged_is_sampled_as_asked(void **state)
{
	struct fixture *f = *state;
	struct tree empty;
	struct ergon_sysroot *sysroot;
	struct ergon_sampler_stats stats;

	tree_create(&empty);
	sysroot = tree_open(&empty);
	start(f, sysroot);
	nap_ms(2600);
	ergon_sampler_stop(f->sampler);
	ergon_sampler_stats(f->sampler, &stats);
	ergon_sysroot_close(sysroot);
	tree_destroy(&empty);
	assert_in_range(stats.ticks + stats.missed, 255, 400);
}

/* Readings that take 0.3 CPUs are no reason to go on reading. */
static void its_own_time_is_no_load(void **state)
{
	struct fixture *f = *state;

	f->burn_ns = 3000000;
	f->own = true;
	start(f, f->sysroot);
	assert_true(wait_for_idle(f));
	assert_true(f->in_order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_idle_machine_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_judged_is_sampled_as_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(its_own_time_is_no_load, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
