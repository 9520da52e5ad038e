/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of blocks between the two threads: a lock per block, not per line. */
#include "ingest_parse.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "journal.h"
#include "record_read.h"

#define BLOCKS 4
#define BLOCK_LINES 64

struct block {
	struct ergon_parsed lines[BLOCK_LINES];
	size_t used;
};

struct ergon_parser {
	pthread_t thread;
	pthread_mutex_t lock;     /* for the three below */
	pthread_cond_t changed;
	size_t filled, emptied;   /* blocks, since the start */
	bool finished;            /* the thread fills no more */
	bool stop;
	const char *at, *end;     /* the thread's */
	size_t taken;             /* the caller's: lines of the block at emptied */
	struct block blocks[BLOCKS];
};

static void parse(struct ergon_parsed *out, const char *line, size_t len)
{
	const char *why;
	ssize_t json = ergon_journal_check(line, len, &why);

	out->line = line;
	out->len = len;
	out->why.text[0] = '\0';
	if (json < 0)
		ergon_error_set(&out->why, "%s", why);
	else
		ergon_record_read(&out->record, line, (size_t)json, &out->why);
}

static void fill(struct ergon_parser *p, struct block *b)
{
	b->used = 0;
	while (b->used < BLOCK_LINES && p->at < p->end) {
		const char *lf = memchr(p->at, '\n', (size_t)(p->end - p->at));

		if (lf > p->at)
			parse(&b->lines[b->used++], p->at, (size_t)(lf - p->at));
		p->at = lf + 1;
	}
}

static void *parse_all(void *arg)
{
	struct ergon_parser *p = arg;

	pthread_mutex_lock(&p->lock);
	while (p->at < p->end && !p->stop) {
		struct block *b = &p->blocks[p->filled % BLOCKS];

		if (p->filled - p->emptied == BLOCKS) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		fill(p, b);
		pthread_mutex_lock(&p->lock);
		p->filled++;
		pthread_cond_signal(&p->changed);
	}
	p->finished = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct ergon_parser *ergon_parser_start(const char *buf, size_t len, struct ergon_error *err)
{
	const char *last = memrchr(buf, '\n', len);
	struct ergon_parser *p = calloc(1, sizeof(*p));

	if (!p) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	p->at = buf;
	p->end = last ? last + 1 : buf;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	if (pthread_create(&p->thread, NULL, parse_all, p) == 0)
		return p;
	ergon_error_set(err, "cannot start a thread");
	free(p);
	return NULL;
}

/* The caller is done with the block at emptied: wait for the next. NULL: there is none. */
static struct block *next_block(struct ergon_parser *p)
{
	struct block *b = NULL;

	pthread_mutex_lock(&p->lock);
	if (p->taken > 0) {
		p->emptied++;
		p->taken = 0;
		pthread_cond_signal(&p->changed);
	}
	while (p->filled == p->emptied && !p->finished)
		pthread_cond_wait(&p->changed, &p->lock);
	if (p->filled > p->emptied)
		b = &p->blocks[p->emptied % BLOCKS];
	pthread_mutex_unlock(&p->lock);
	return b;
}

const struct ergon_parsed *ergon_parser_next(struct ergon_parser *p)
{
	struct block *b = &p->blocks[p->emptied % BLOCKS];

	if (p->taken == 0 || p->taken == b->used)
		b = next_block(p);
	/* Only the last block can be empty: blank lines at the end. */
	return b && p->taken < b->used ? &b->lines[p->taken++] : NULL;
}

void ergon_parser_stop(struct ergon_parser *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
	free(p);
}
