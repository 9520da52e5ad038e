/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sampler against a scripted backend: 8 W for ever, from the clock, on
 * a counter of one microjoule that wraps after 4 J (half a second).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "clock.h"
#include "flags.h"
#include "sampler.h"

#define WATTS 8
#define MODULUS 4000000u

struct script {
	struct ergon_channel channel;
	uint64_t start_ns;
	unsigned reads;
	bool silent;              /* does not answer */
};

static size_t script_channels(const void *inst, const struct ergon_channel **out)
{
	*out = &((const struct script *)inst)->channel;
	return 1;
}

static size_t script_read(void *inst, uint64_t *raw, bool *ok)
{
	struct script *s = inst;
	uint64_t uj = (ergon_clock_ns() - s->start_ns) / 1000 * WATTS;

	s->reads++;
	raw[0] = uj % MODULUS;
	ok[0] = !s->silent;
	return ok[0];
}

static void script_close(void *inst)
{
	(void)inst;
}

static const struct ergon_backend script_backend = {
	.name = "script",
	.help = "8 W from the clock",
	.channels = script_channels,
	.read = script_read,
	.close = script_close,
};

/* What a test needs: a meter over the script and what the callback saw. */
struct bench {
	struct script script;
	struct ergon_meter *meter;
	uint64_t seen, missed_flags, first_ns, last_ns, first_count, last_count;
	atomic_uint flags;
	int sleep_at;             /* index of the sample whose callback is slow, -1: none */
	bool in_order;
	bool signals_blocked;
	char thread_name[16];
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->script = (struct script){
		.channel = { .name = "node", .domain = ERGON_DOMAIN_NODE, .package = -1, .die = -1,
			     .unit_j = 1e-6, .modulus = MODULUS, .max_watts = 10, .in_total = true },
		.start_ns = ergon_clock_ns(),
	};
	b->meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &b->script }, 1, NULL);
	b->sleep_at = -1;
	b->in_order = true;
	*state = b;
	return b->meter ? 0 : -1;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	ergon_meter_close(b->meter);
	free(b);
	return 0;
}

static void nap_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static void on_sample(void *arg, const struct ergon_sample *sample)
{
	struct bench *b = arg;

	if (sample->index != b->seen || (b->seen && sample->reading.t_ns <= b->last_ns) ||
	    sample->reading.counts[0] < b->last_count)
		b->in_order = false;
	if (b->seen++ == 0) {
		b->first_ns = sample->reading.t_ns;
		b->first_count = sample->reading.counts[0];
	}
	if (sample->index == 1) {
		sigset_t mask;

		pthread_sigmask(SIG_SETMASK, NULL, &mask);
		b->signals_blocked = sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1) &&
				     sigismember(&mask, SIGPROF) && sigismember(&mask, SIGCHLD);
		pthread_getname_np(pthread_self(), b->thread_name, sizeof(b->thread_name));
	}
	if ((int)sample->index == b->sleep_at)
		nap_ms(65);
	b->missed_flags += (sample->reading.flags & ERGON_FLAG_MISSED) != 0;
	b->flags |= sample->reading.flags;
	b->last_ns = sample->reading.t_ns;
	b->last_count = sample->reading.counts[0];
}

static struct ergon_sampler *make(struct bench *b, double hz)
{
	struct ergon_sampler_config config = {
		.hz = hz, .thread_name = "ergon-test", .on_sample = on_sample, .arg = b,
	};
	struct ergon_sampler *s = ergon_sampler_create(b->meter, &config, NULL);

	assert_non_null(s);
	return s;
}

static void bad_arguments_are_refused(void **state)
{
	struct bench *b = *state;
	struct ergon_sampler_config config = { .hz = 1 };
	static const double rates[] = { 0, 0.09, 1001, -1, NAN, INFINITY };
	struct ergon_error err;

	assert_null(ergon_sampler_create(NULL, &config, &err));
	assert_null(ergon_sampler_create(b->meter, NULL, &err));
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		config.hz = rates[i];
		err.text[0] = '\0';
		assert_null(ergon_sampler_create(b->meter, &config, &err));
		assert_int_equal(errno, EINVAL);
		assert_non_null(strstr(err.text, "Hz"));
	}
	ergon_sampler_destroy(NULL);
}

/* 8 W between the first and the last sample, to the time one read takes. */
static void assert_energy(const struct bench *b)
{
	double uj = (double)(b->last_count - b->first_count);
	double expected = (double)(b->last_ns - b->first_ns) / 1000 * WATTS;

	assert_true(fabs(uj - expected) < 0.05 * expected);
	assert_true((b->flags & ~(unsigned)ERGON_FLAG_MISSED) == 0);
}

static void ticks_lie_on_a_grid(void **state)
{
	struct bench *b = *state;
	struct ergon_sampler *s = make(b, 100);
	struct ergon_sampler_stats stats;
	struct ergon_sample latest;
	uint64_t planned;

	assert_int_equal(ergon_sampler_start(s, NULL), 0);
	nap_ms(400);
	ergon_sampler_stop(s);
	ergon_sampler_stats(s, &stats);
	ergon_sampler_latest(s, &latest);
	planned = (b->last_ns - b->first_ns) / 10000000u;
	assert_true(b->in_order);
	assert_int_equal(stats.samples, b->seen);
	assert_int_equal(latest.index + 1, b->seen);
	assert_int_equal(latest.reading.t_ns, b->last_ns);
	assert_int_equal(latest.missed, stats.missed);
	/* Not one tick is lost silently; the last may fall between join and read. */
	assert_in_range(stats.ticks + stats.missed, planned - 1, planned);
	assert_in_range(stats.samples, stats.ticks + 1, stats.ticks + 2);
	assert_true(stats.read_ns_sum >= stats.read_ns_max && stats.read_ns_max > 0);
	assert_true(stats.cpu_ns > 0 && stats.cpu_ns < 400000000u);
	assert_energy(b);
	ergon_sampler_destroy(s);
}

static void missed_ticks_are_counted(void **state)
{
	struct bench *b = *state;
	struct ergon_sampler *s = make(b, 100);
	struct ergon_sampler_stats stats;

	b->sleep_at = 3;
	assert_int_equal(ergon_sampler_start(s, NULL), 0);
	nap_ms(250);
	ergon_sampler_stop(s);
	ergon_sampler_stats(s, &stats);
	assert_true(stats.missed >= 5); /* 65 ms are six or seven ticks, one is served late */
	assert_true(stats.late_ns_max >= 50000000u);
	assert_true(b->missed_flags >= 1);
	assert_true(stats.flags & ERGON_FLAG_MISSED);
	assert_in_range(stats.ticks + stats.missed, (b->last_ns - b->first_ns) / 10000000u - 1,
			(b->last_ns - b->first_ns) / 10000000u);
	assert_energy(b);
	ergon_sampler_destroy(s);
}

static void a_slow_rate_still_reads_before_the_wrap(void **state)
{
	struct bench *b = *state;
	struct ergon_sampler *s = make(b, 1);
	struct ergon_sampler_stats stats;
	uint64_t keepalive = ergon_meter_keepalive_ns(b->meter);

	assert_in_range(keepalive, 50000000u, 250000000u);
	assert_int_equal(ergon_sampler_start(s, NULL), 0);
	nap_ms(1300);
	ergon_sampler_stop(s);
	ergon_sampler_stats(s, &stats);
	assert_int_equal(stats.samples + stats.missed, 3); /* baseline, 1 s, the end */
	assert_true(stats.reads >= 3 + 4);
	assert_int_equal(stats.reads + 1, b->script.reads); /* one when the meter was made */
	assert_energy(b);
	ergon_sampler_destroy(s);
}

static void stop_does_not_wait_for_the_next_tick(void **state)
{
	struct bench *b = *state;
	struct ergon_sampler *s = make(b, 0.1);
	uint64_t before, seen;

	assert_int_equal(ergon_sampler_start(s, NULL), 0);
	assert_int_equal(ergon_sampler_start(s, NULL), -1);
	nap_ms(20);
	before = ergon_clock_ns();
	ergon_sampler_stop(s);
	assert_true(ergon_clock_ns() - before < 1000000000u);
	assert_int_equal(b->seen, 2);
	seen = b->seen;
	ergon_sampler_stop(s);
	assert_int_equal(b->seen, seen);
	assert_int_equal(ergon_sampler_start(s, NULL), -1);
	ergon_sampler_destroy(s);
}

static unsigned count_fds(bool *all_cloexec)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] == '.')
			continue;
		n++;
		if (fd > 2 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			*all_cloexec = false;
	}
	closedir(dir);
	return n;
}

static void the_host_notices_nothing(void **state)
{
	struct bench *b = *state;
	struct ergon_sampler *s = make(b, 200);
	bool cloexec_before = true, cloexec = true;
	unsigned before = count_fds(&cloexec_before);
	sigset_t mask_before, mask_after;

	pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
	assert_int_equal(ergon_sampler_start(s, NULL), 0);
	nap_ms(100);
	count_fds(&cloexec);
	ergon_sampler_stop(s);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	for (int sig = 1; sig < NSIG; sig++)
		assert_int_equal(sigismember(&mask_before, sig), sigismember(&mask_after, sig));
	assert_int_equal(cloexec, cloexec_before);
	assert_int_equal(count_fds(&cloexec), before);
	assert_true(b->signals_blocked);
	assert_string_equal(b->thread_name, "ergon-test");
	ergon_sampler_destroy(s);
}

static void a_forked_child_does_not_wait_for_the_thread(void **state)
{
	struct bench *b = *state;
	struct ergon_sampler *s = make(b, 1000);
	int status;
	pid_t pid;

	assert_int_equal(ergon_sampler_start(s, NULL), 0);
	nap_ms(20);
	pid = fork();
	if (pid == 0) {
		struct ergon_sampler_stats stats;
		struct ergon_sample sample;
		uint64_t seen = b->seen;

		alarm(20); /* a child that hangs is killed, which fails the test */
		ergon_sampler_latest(s, &sample);
		ergon_sampler_stats(s, &stats);
		ergon_sampler_stop(s);
		ergon_sampler_destroy(s);
		_exit(sample.index == 0 && stats.samples == 0 && b->seen == seen ? 0 : 1);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ergon_sampler_stop(s);
	assert_true(b->in_order && b->seen > 2);
	ergon_sampler_destroy(s);
}

static void *look(void *arg)
{
	struct ergon_sampler *s = arg;
	uint64_t last = 0, wrong = 0;

	for (int i = 0; i < 2000; i++) {
		struct ergon_sampler_stats stats;
		struct ergon_sample sample;

		ergon_sampler_latest(s, &sample);
		ergon_sampler_stats(s, &stats);
		wrong += sample.index < last || stats.samples < sample.index;
		last = sample.index;
	}
	return (void *)(uintptr_t)wrong;
}

static void others_may_look_while_it_runs(void **state)
{
	struct bench *b = *state;
	struct ergon_sampler *s = make(b, 1000);
	pthread_t threads[2];
	void *wrong;

	assert_int_equal(ergon_sampler_start(s, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look, s), 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	nap_ms(50);
	ergon_sampler_destroy(s); /* stops it */
	assert_true(b->in_order);
}

/* While it runs it may be starting; in the end it is missing. */
static void what_never_answered_is_a_gap_in_the_end(void **state)
{
	struct bench *b = *state;
	struct ergon_sampler *s;

	ergon_meter_close(b->meter);
	b->script.silent = b->script.channel.from_open = true;
	b->meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &b->script }, 1, NULL);
	s = make(b, 100);
	assert_int_equal(ergon_sampler_start(s, NULL), 0);
	nap_ms(50);
	assert_int_equal(b->flags & ERGON_FLAG_GAP, 0);
	ergon_sampler_stop(s);
	assert_int_equal(b->flags & ERGON_FLAG_GAP, ERGON_FLAG_GAP);
	ergon_sampler_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bad_arguments_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(ticks_lie_on_a_grid, setup, teardown),
		cmocka_unit_test_setup_teardown(missed_ticks_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(a_slow_rate_still_reads_before_the_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(stop_does_not_wait_for_the_next_tick, setup, teardown),
		cmocka_unit_test_setup_teardown(the_host_notices_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_forked_child_does_not_wait_for_the_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(others_may_look_while_it_runs, setup, teardown),
		cmocka_unit_test_setup_teardown(what_never_answered_is_a_gap_in_the_end, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
