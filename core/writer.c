/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring holds four seconds at the highest rate; the thread empties it
 * once a second. Only the used part of a sample travels through the ring.
 */
#include "writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "ring.h"
#include "samples_csv.h"
#include "thread.h"

#define WRITER_RING 4096u
#define FLUSH_NS 1000000000u

struct ergon_writer {
	FILE *out;
	char name[256];
	struct ergon_samples_csv csv;
	struct ergon_ring *ring;
	struct ergon_sample item; /* the sample being written */
	int error;                /* errno of the first failure, 0: none */
	pthread_t thread;
	pthread_mutex_t lock;     /* of stopping */
	pthread_cond_t wake;
	bool stopping;
};

static size_t item_size(size_t nchannels)
{
	return offsetof(struct ergon_sample, reading.counts) + nchannels * sizeof(uint64_t);
}

static void note_error(struct ergon_writer *w, bool failed)
{
	if (failed && !w->error)
		w->error = errno ? errno : EIO;
}

static void drain(struct ergon_writer *w)
{
	while (ergon_ring_pop(w->ring, &w->item)) {
		ergon_samples_csv_row(&w->csv, &w->item, w->out);
		note_error(w, ferror(w->out) != 0);
	}
	note_error(w, fflush(w->out) != 0);
}

static void *run(void *arg)
{
	struct ergon_writer *w = arg;
	uint64_t next_ns = ergon_clock_ns();
	bool stopping = false;

	pthread_setname_np(pthread_self(), "ergon-writer");
	while (!stopping) {
		struct timespec next;
		int rc = 0;

		next_ns += FLUSH_NS;
		next.tv_sec = (time_t)(next_ns / 1000000000u);
		next.tv_nsec = (long)(next_ns % 1000000000u);
		pthread_mutex_lock(&w->lock);
		while (!w->stopping && rc == 0)
			rc = pthread_cond_timedwait(&w->wake, &w->lock, &next);
		stopping = w->stopping;
		pthread_mutex_unlock(&w->lock);
		drain(w);
	}
	return NULL;
}

static void init_wake(struct ergon_writer *w)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
}

static void writer_free(struct ergon_writer *w)
{
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	ergon_ring_destroy(w->ring);
	free(w);
}

struct ergon_writer *ergon_writer_start(FILE *out, const char *name,
					const struct ergon_channel *channels,
					const bool *selected, size_t nchannels,
					struct ergon_error *err)
{
	struct ergon_writer *w;
	int rc;

	if (!out || !name || !channels || !selected || nchannels > ERGON_METER_MAX_CHANNELS) {
		errno = EINVAL;
		ergon_error_set(err, "cannot write samples: no file or no channels");
		return NULL;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		ergon_error_set(err, "%s: %s", name, strerror(errno));
		return NULL;
	}
	w->out = out;
	strncpy(w->name, name, sizeof(w->name) - 1);
	ergon_samples_csv_init(&w->csv, channels, selected, nchannels);
	init_wake(w);
	w->ring = ergon_ring_create(WRITER_RING, item_size(nchannels));
	if (w->ring) {
		ergon_samples_csv_header(&w->csv, out);
		rc = ergon_thread_create(&w->thread, run, w);
	} else {
		rc = errno;
	}
	if (rc) {
		writer_free(w);
		errno = rc;
		ergon_error_set(err, "%s: cannot start the writer: %s", name, strerror(rc));
		return NULL;
	}
	return w;
}

void ergon_writer_push(void *arg, const struct ergon_sample *sample)
{
	struct ergon_writer *w = arg;

	ergon_ring_push(w->ring, sample);
}

int ergon_writer_finish(struct ergon_writer *w, const struct ergon_sample *last,
			struct ergon_error *err)
{
	int rc = 0;

	if (!w)
		return 0;
	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	if (last && last->index >= w->csv.next_index)
		ergon_samples_csv_row(&w->csv, last, w->out);
	note_error(w, ferror(w->out) != 0);
	note_error(w, fclose(w->out) != 0);
	if (w->error)
		rc = ergon_error_set(err, "%s: cannot write samples: %s", w->name, strerror(w->error));
	writer_free(w);
	return rc;
}
