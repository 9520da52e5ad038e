/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Variants differ in what paces the sampling thread and in who writes; all
 * read the same meter and write the same rows to the same kind of file,
 * flushed once a second.
 */
#include "bench_rate.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "clock.h"
#include "sampler.h"
#include "samples_csv.h"
#include "thread.h"
#include "writer.h"

#define FLUSH_NS 1000000000u

const struct bench_variant bench_variants[] = {
	{ "ergon", "grid", false, true },
	{ "no writer thread", "grid", false, false },
	{ "plain sleep", "sleep", true, true },
	{ "plain sleep, no writer thread", "sleep", true, false },
	{ NULL, NULL, false, false },
};

struct run {
	struct ergon_meter *meter;
	const struct ergon_channel *channels;
	size_t nchannels;
	bool selected[ERGON_METER_MAX_CHANNELS];
	double hz;
	struct timespec period;
	uint64_t *t_ns;           /* of each sample */
	size_t samples, max_samples;
	/* Who writes: */
	struct ergon_writer *writer;
	FILE *out;                /* NULL: the writer has it */
	struct ergon_samples_csv csv;
	uint64_t flush_ns;
	/* Who paces: */
	struct ergon_sampler *sampler;
	pthread_t sleeper;
	atomic_bool stop;
	struct ergon_sample work; /* of the sleeper */
};

static void write_row(struct run *run, const struct ergon_sample *sample)
{
	ergon_samples_csv_row(&run->csv, sample, run->out);
	if (sample->reading.t_ns < run->flush_ns)
		return;
	fflush(run->out);
	run->flush_ns = sample->reading.t_ns + FLUSH_NS;
}

static void on_sample(void *arg, const struct ergon_sample *sample)
{
	struct run *run = arg;

	if (run->samples == run->max_samples)
		return;
	run->t_ns[run->samples++] = sample->reading.t_ns;
	if (run->writer)
		ergon_writer_push(run->writer, sample);
	else
		write_row(run, sample);
}

static void *sleep_and_sample(void *arg)
{
	struct run *run = arg;

	pthread_setname_np(pthread_self(), "ergon-sleeper");
	ergon_thread_ask_short_slices();
	while (!run->stop) {
		ergon_meter_read(run->meter, &run->work.reading);
		on_sample(run, &run->work);
		run->work.index++;
		nanosleep(&run->period, NULL);
	}
	return NULL;
}

static int open_output(struct run *run, const struct bench_variant *variant, struct ergon_error *err)
{
	run->out = tmpfile();
	if (!run->out)
		return ergon_error_set(err, "cannot make a temporary file: %s", strerror(errno));
	if (!variant->writer) {
		ergon_samples_csv_init(&run->csv, run->channels, run->selected, run->nchannels);
		ergon_samples_csv_header(&run->csv, run->out);
		return 0;
	}
	run->writer = ergon_writer_start(run->out, "temporary file", run->channels, run->selected,
					 run->nchannels, err);
	if (!run->writer)
		return -1;
	run->out = NULL;
	return 0;
}

static int start(struct run *run, const struct bench_variant *variant, struct ergon_error *err)
{
	struct ergon_sampler_config config = { .hz = run->hz, .on_sample = on_sample, .arg = run };
	int rc;

	if (!variant->sleeps) {
		run->sampler = ergon_sampler_create(run->meter, &config, err);
		return run->sampler ? ergon_sampler_start(run->sampler, err) : -1;
	}
	rc = ergon_thread_create(&run->sleeper, sleep_and_sample, run);
	return rc ? ergon_error_set(err, "cannot start a thread: %s", strerror(rc)) : 0;
}

/* The sampler's last sample is not one of its ticks. */
static void stop(struct run *run, const struct bench_variant *variant)
{
	run->stop = true;
	if (variant->sleeps)
		pthread_join(run->sleeper, NULL);
	else
		ergon_sampler_stop(run->sampler);
	if (!variant->sleeps && run->samples > 2)
		run->samples--;
}

static int close_output(struct run *run, struct ergon_error *err)
{
	struct ergon_writer *writer = run->writer;
	FILE *out = run->out;
	bool failed;

	run->writer = NULL;
	run->out = NULL;
	if (!out)
		return ergon_writer_finish(writer, NULL, err);
	failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed)
		return ergon_error_set(err, "cannot write the temporary file: %s", strerror(errno));
	return 0;
}

static void summarise(const struct run *run, struct bench_rate *out)
{
	size_t n = run->samples - 1;
	double planned;
	uint64_t period_ns = (uint64_t)(1e9 / run->hz + 0.5);

	out->samples = run->samples;
	out->seconds = (double)(run->t_ns[n] - run->t_ns[0]) * 1e-9;
	out->hz = (double)n / out->seconds;
	planned = round(out->seconds * run->hz);
	out->missed = planned > (double)n ? (uint64_t)planned - n : 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t distance = run->t_ns[i + 1] - run->t_ns[i];

		run->t_ns[i] = distance > period_ns ? distance - period_ns : period_ns - distance;
	}
	out->jitter = spread_of(run->t_ns, n);
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int measure(struct run *run, const struct bench_variant *variant, double seconds,
		   struct bench_rate *out, struct ergon_error *err)
{
	struct timespec duration = { (time_t)seconds, (long)((seconds - floor(seconds)) * 1e9) };
	uint64_t begin = ergon_clock_ns();
	double cpu = cpu_seconds();
	int rc;

	if (open_output(run, variant, err) < 0 || start(run, variant, err) < 0)
		return -1;
	while (nanosleep(&duration, &duration) < 0 && errno == EINTR)
		;
	stop(run, variant);
	out->cpu = (cpu_seconds() - cpu) * 1e9 / (double)(ergon_clock_ns() - begin);
	rc = close_output(run, err);
	if (rc == 0 && run->samples < 2)
		rc = ergon_error_set(err, "not even two samples in %g s", seconds);
	if (rc == 0)
		summarise(run, out);
	return rc;
}

int bench_rate(struct ergon_meter *meter, const struct bench_variant *variant, double hz, double seconds,
	       struct bench_rate *out, struct ergon_error *err)
{
	uint64_t period_ns = (uint64_t)(1e9 / hz + 0.5);
	struct run *run = calloc(1, sizeof(*run));
	int rc = -1;

	if (!run)
		return ergon_error_set(err, "out of memory");
	run->meter = meter;
	run->hz = hz;
	run->period = (struct timespec){ (time_t)(period_ns / 1000000000u), (long)(period_ns % 1000000000u) };
	run->nchannels = ergon_meter_channels(meter, &run->channels);
	memset(run->selected, true, sizeof(run->selected));
	run->max_samples = (size_t)(2 * hz * seconds) + 16;
	run->t_ns = malloc(run->max_samples * sizeof(*run->t_ns));
	if (run->t_ns) {
		memset(run->t_ns, 0, run->max_samples * sizeof(*run->t_ns)); /* no page faults later */
		rc = measure(run, variant, seconds, out, err);
	} else {
		ergon_error_set(err, "out of memory");
	}
	ergon_sampler_destroy(run->sampler);
	ergon_writer_finish(run->writer, NULL, NULL);
	if (run->out)
		fclose(run->out);
	free(run->t_ns);
	free(run);
	return rc;
}
