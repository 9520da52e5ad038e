/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store: every record of a site in one database, found by job, user
 * and time. What is behind it (SQLite) is known to store.c alone.
 *
 * A store serves one thread. Writers take turns: what happens between
 * begin and commit is seen whole or not at all, also after a crash.
 */
#ifndef ERGON_STORE_H
#define ERGON_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"
#include "record.h"

struct ergon_store;

enum ergon_store_mode {
	ERGON_STORE_READ,         /* must exist */
	ERGON_STORE_WRITE         /* created with mode 0640 when missing, its directory too */
};

/* The file of a `Store` value "sqlite:FILE"; NULL + err for anything else. */
const char *ergon_store_path(const char *url, struct ergon_error *err);

struct ergon_store *ergon_store_open(const char *path, enum ergon_store_mode mode,
				     struct ergon_error *err);
void ergon_store_close(struct ergon_store *s);

/* Become the only writer; waits up to ten seconds for another one. */
int ergon_store_begin(struct ergon_store *s, struct ergon_error *err);
int ergon_store_commit(struct ergon_store *s, struct ergon_error *err);
void ergon_store_rollback(struct ergon_store *s);

/*
 * Store a record. Of two with the same key (cluster, job, restart, step,
 * het, node, start) complete beats partial beats running; of equal ones the
 * later end wins. 1: stored, 0: the one that is there stays, -1: error.
 */
int ergon_store_put(struct ergon_store *s, const struct ergon_record *r,
		    struct ergon_error *err);

/*
 * How far a file has been taken over, and what tells it from a successor of
 * the same name: its first line and the last bytes before the offset.
 */
struct ergon_store_source {
	int64_t offset;
	int64_t head_len, head_crc;
	int64_t tail_len, tail_crc;
};

/* 1 found, 0 not, -1 error. */
int ergon_store_source_get(struct ergon_store *s, const char *path,
			   struct ergon_store_source *src, struct ergon_error *err);
int ergon_store_source_put(struct ergon_store *s, const char *path,
			   const struct ergon_store_source *src, struct ergon_error *err);

/* A job as a user names it: J, J+HET, ARRAY, ARRAY_TASK; ERGON_NONE: any. */
struct ergon_store_pick {
	int64_t job;
	int64_t het;
	int64_t array_task;
};

struct ergon_store_user {
	int64_t uid;              /* ERGON_NONE: by name */
	const char *name;
};

struct ergon_store_query {
	const struct ergon_store_pick *picks; /* none: every job */
	size_t npicks;
	const struct ergon_store_user *users; /* none: everyone */
	size_t nusers;
	int64_t since_ns, until_ns; /* jobs that ran at some time in between */
};

/* Return non-zero to stop. The record is valid during the call. */
typedef int ergon_store_record_f(const struct ergon_record *r, void *arg);

/*
 * All records of the jobs that match, ordered by job, cluster, restart,
 * node, start, step. Records that do not name their cluster come along with
 * every job of their number. 0; -1 + err; what the function returned when it stopped.
 */
int ergon_store_records(struct ergon_store *s, const struct ergon_store_query *q,
			ergon_store_record_f *f, void *arg, struct ergon_error *err);

#endif
