/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SQLite behind store.h. The columns of table record are made from the
 * table of record_field.c; every value goes through a bound parameter.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "flags.h"
#include "record_field.h"
#include "record_read.h"

#define SCHEMA_VERSION 1
#define APPLICATION_ID 0x4572676e /* "Ergn" */
/* Given up when a lock is held so long and its holder writes nothing. */
#define STUCK_MS 10000
#define RETRY_MS 5
/* The members whose row says key, those first that tell most records apart. */
#define KEY "job, cluster, restart, step, het, node, start_ns"
/* Unknown restart and het component: keys must not be NULL to be equal. */
#define NO_NUMBER (-1)
#define CURVE_BYTES (ERGON_CURVE_MAX * 10)
#define SQL_MAX 8192

enum statement {
	BEGIN, COMMIT, ROLLBACK, PUT, SOURCE_GET, SOURCE_PUT,
	FORGET_JOBS, FORGET_USERS, WANT_USER, WANT_JOB, WANT_ARRAY, WANT_ALL, RECORDS,
	STATEMENT_COUNT
};

struct ergon_store {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENT_COUNT];
	struct timespec written;  /* when others last wrote, see wait_turn */
	int64_t stuck_ms;         /* waited since then */
	char path[PATH_MAX];
};

static const char schema[] =
	"CREATE TABLE schema_version (version INTEGER NOT NULL);"
	"CREATE UNIQUE INDEX record_key ON record (" KEY ");"
	"CREATE INDEX record_end ON record (end_ns);"
	"CREATE INDEX record_array ON record (array_job) WHERE array_job IS NOT NULL;"
	"CREATE TABLE journal_offset (path TEXT PRIMARY KEY, offset INTEGER NOT NULL,"
	" head_len INTEGER NOT NULL, head_crc INTEGER NOT NULL,"
	" tail_len INTEGER NOT NULL, tail_crc INTEGER NOT NULL) WITHOUT ROWID;"
	/* A job's energy is a union over time of its steps: not a matter for SQL. */
	"CREATE VIEW step (cluster, job, restart, step, het, uid, records, nnodes, start_ns,"
	" end_ns, job_uj, node_uj) AS SELECT cluster, job, restart, step, het, MAX(uid), COUNT(*),"
	" MAX(nnodes), MIN(start_ns), MAX(end_ns), SUM(job_uj), SUM(node_uj)"
	" FROM record GROUP BY cluster, job, restart, step, het;";

#define RANK(row) "(CASE " row ".state WHEN 'complete' THEN 2 WHEN 'partial' THEN 1 ELSE 0 END)"
#define BETTER \
	" WHERE " RANK("excluded") " > " RANK("record") " OR (" RANK("excluded") " = " RANK("record") \
	" AND IFNULL(excluded.end_ns, 0) > IFNULL(record.end_ns, 0))"

#define BY_USER \
	" AND (NOT EXISTS (SELECT 1 FROM wanted_user) OR EXISTS (SELECT 1 FROM wanted_user w" \
	" WHERE w.uid = r.uid OR w.name = r.user))"
#define BY_TIME \
	" AND (r.end_ns >= ?1 OR r.end_ns IS NULL) AND EXISTS (SELECT 1 FROM record o" \
	" WHERE o.job = r.job AND o.cluster = r.cluster AND o.start_ns <= ?2)"
#define WANT "INSERT OR IGNORE INTO wanted_job SELECT r.job, r.cluster FROM record r WHERE "

/* NULL: made from the columns, see put_sql and records_sql. */
static const char *const sql[STATEMENT_COUNT] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[SOURCE_GET] = "SELECT offset, head_len, head_crc, tail_len, tail_crc FROM journal_offset"
		" WHERE path = ?",
	[SOURCE_PUT] = "INSERT OR REPLACE INTO journal_offset"
		" (path, offset, head_len, head_crc, tail_len, tail_crc) VALUES (?, ?, ?, ?, ?, ?)",
	[FORGET_JOBS] = "DELETE FROM wanted_job",
	[FORGET_USERS] = "DELETE FROM wanted_user",
	[WANT_USER] = "INSERT INTO wanted_user VALUES (?, ?)",
	[WANT_JOB] = WANT "r.job = ?3 AND (?4 IS NULL OR r.het = ?4)" BY_TIME BY_USER,
	[WANT_ARRAY] = WANT "r.array_job = ?3 AND (?4 IS NULL OR r.array_task = ?4)" BY_TIME BY_USER,
	[WANT_ALL] = WANT "1" BY_TIME BY_USER,
};

static int sql_error(const struct ergon_store *s, const char *doing, struct ergon_error *err)
{
	int code = sqlite3_extended_errcode(s->db);
	const char *hint = "";

	if ((code & 0xff) == SQLITE_BUSY)
		hint = "; another program holds it: try again later";
	else if ((code & 0xff) == SQLITE_FULL)
		hint = "; make room on its file system and run again";
	else if ((code & 0xff) == SQLITE_IOERR)
		hint = "; see whether its file system is full or broken";
	else if ((code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT)
		hint = "; move it away and run `ergon ingest` on the journals again";
	return ergon_error_set(err, "%s: %s: %s%s", s->path, doing, sqlite3_errmsg(s->db), hint);
}

/* Columns */

enum column_list { LIST_DEFINE, LIST_NAMES, LIST_MARKS, LIST_UPDATE };

struct text {
	char buf[SQL_MAX];
	size_t len;
};

static void add(struct text *t, const char *piece)
{
	size_t len = strlen(piece);

	if (t->len + len < sizeof(t->buf)) {
		memcpy(t->buf + t->len, piece, len + 1);
		t->len += len;
	}
}

static void add_column(struct text *t, enum column_list what, const char *name, const char *type)
{
	if (t->len > 0 && t->buf[t->len - 1] != '(' && t->buf[t->len - 1] != ' ')
		add(t, ",");
	add(t, what == LIST_MARKS ? "?" : "\"");
	if (what == LIST_MARKS)
		return;
	add(t, name);
	add(t, "\"");
	if (what == LIST_DEFINE) {
		add(t, " ");
		add(t, type);
	} else if (what == LIST_UPDATE) {
		add(t, "=excluded.\"");
		add(t, name);
		add(t, "\"");
	}
}

/* The one place that knows the order of columns; bind_record and read_row follow it. */
static void add_columns(struct text *t, enum column_list what)
{
	for (size_t i = 0; i < ergon_record_field_count; i++) {
		const struct ergon_record_field *f = &ergon_record_fields[i];

		switch (f->kind) {
		case ERGON_FIELD_INTEGER:
			add_column(t, what, f->name, f->key ? "INTEGER NOT NULL" : "INTEGER");
			break;
		case ERGON_FIELD_WATTS:
			add_column(t, what, "max_mw", "INTEGER");
			break;
		case ERGON_FIELD_RATE:
			add_column(t, what, f->name, "REAL");
			break;
		case ERGON_FIELD_TEXT:
		case ERGON_FIELD_STATE:
		case ERGON_FIELD_FLAGS:
			add_column(t, what, f->name, f->key ? "TEXT NOT NULL" : "TEXT");
			break;
		case ERGON_FIELD_DOMAINS:
			for (int d = 0; d < ERGON_DOMAIN_COUNT; d++) {
				char name[32];

				snprintf(name, sizeof(name), "%s_domain_uj",
					 ergon_domain_name((enum ergon_domain)d));
				add_column(t, what, name, "INTEGER");
			}
			break;
		case ERGON_FIELD_CURVE:
			add_column(t, what, "curve_dt_ns", "INTEGER");
			add_column(t, what, "curve_mj", "BLOB");
			break;
		}
	}
}

static void put_sql(struct text *t)
{
	struct text update = { .len = 0 };

	add(t, "INSERT INTO record (");
	add_columns(t, LIST_NAMES);
	add(t, ") VALUES (");
	add_columns(t, LIST_MARKS);
	add(t, ") ON CONFLICT (" KEY ") DO UPDATE SET ");
	add_columns(&update, LIST_UPDATE);
	add(t, update.buf);
	add(t, BETTER);
}

static void records_sql(struct text *t)
{
	struct text columns = { .len = 0 };

	add_columns(&columns, LIST_NAMES);
	add(t, "SELECT ");
	add(t, columns.buf);
	/* An extern step may not know its cluster: it comes along with its job number. */
	add(t, " FROM (SELECT DISTINCT job AS wanted FROM wanted_job) JOIN record ON job = wanted"
	       " WHERE EXISTS (SELECT 1 FROM wanted_job w WHERE w.job = record.job AND"
	       " (w.cluster = record.cluster OR w.cluster = '' OR record.cluster = ''))"
	       " ORDER BY job, cluster, restart, node, start_ns, step");
}

static size_t curve_pack(const struct ergon_curve *c, unsigned char *out)
{
	size_t len = 0;

	for (int i = 0; i < c->used; i++) {
		uint64_t mj = c->uj[i] / 1000;

		for (; mj >= 0x80; mj >>= 7)
			out[len++] = (unsigned char)(mj | 0x80);
		out[len++] = (unsigned char)mj;
	}
	return len;
}

static void curve_unpack(struct ergon_curve *c, const unsigned char *bytes, size_t len)
{
	size_t at = 0;

	for (c->used = 0; at < len && c->used < ERGON_CURVE_MAX; c->used++) {
		uint64_t mj = 0;
		int shift = 0;

		for (; at < len && (bytes[at] & 0x80) && shift < 56; shift += 7)
			mj |= (uint64_t)(bytes[at++] & 0x7f) << shift;
		if (at < len)
			mj |= (uint64_t)bytes[at++] << shift;
		c->uj[c->used] = mj * 1000;
	}
}

/* Records to rows and back */

/* Unbound parameters are NULL: statements are cleared before they are bound. */
static void bind_integer(sqlite3_stmt *st, int at, int64_t value, bool key)
{
	if (value != ERGON_NONE)
		sqlite3_bind_int64(st, at, value);
	else if (key)
		sqlite3_bind_int64(st, at, NO_NUMBER);
}

static void bind_text(sqlite3_stmt *st, int at, const char *text, bool key)
{
	if (*text || key)
		sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

struct scratch {
	unsigned char curve[CURVE_BYTES];
	char flags[256];
};

/* The values stay where they are until the statement has run: hence scratch. */
static void bind_record(sqlite3_stmt *st, const struct ergon_record *r, struct scratch *tmp)
{
	int at = 1;

	sqlite3_clear_bindings(st);
	for (size_t i = 0; i < ergon_record_field_count; i++) {
		const struct ergon_record_field *f = &ergon_record_fields[i];
		const void *member = (const char *)r + f->offset;

		switch (f->kind) {
		case ERGON_FIELD_INTEGER:
		case ERGON_FIELD_WATTS:
			bind_integer(st, at++, *(const int64_t *)member, f->key);
			break;
		case ERGON_FIELD_TEXT:
			bind_text(st, at++, member, f->key);
			break;
		case ERGON_FIELD_RATE:
			if (r->freq_hz >= 0)
				sqlite3_bind_double(st, at, r->freq_hz);
			at++;
			break;
		case ERGON_FIELD_STATE:
			bind_text(st, at++, ergon_state_word(r->state), false);
			break;
		case ERGON_FIELD_DOMAINS:
			for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
				bind_integer(st, at++, r->domain_uj[d], false);
			break;
		case ERGON_FIELD_CURVE:
			bind_integer(st, at++, r->curve.used ? (int64_t)r->curve.dt_ns :
				     ERGON_NONE, false);
			sqlite3_bind_blob(st, at++, tmp->curve,
					  (int)curve_pack(&r->curve, tmp->curve), SQLITE_STATIC);
			break;
		case ERGON_FIELD_FLAGS:
			bind_text(st, at++, ergon_flags_format(r->flags, tmp->flags,
							       sizeof(tmp->flags)), false);
			break;
		}
	}
}

static int64_t row_integer(sqlite3_stmt *st, int at)
{
	return sqlite3_column_type(st, at) == SQLITE_NULL ? ERGON_NONE :
	       sqlite3_column_int64(st, at);
}

static const char *row_text(sqlite3_stmt *st, int at)
{
	const char *text = (const char *)sqlite3_column_text(st, at);

	return text ? text : "";
}

static void read_row(sqlite3_stmt *st, struct ergon_record *r)
{
	struct ergon_curve *c = &r->curve;
	int at = 0, state;

	ergon_record_init(r);
	for (size_t i = 0; i < ergon_record_field_count; i++) {
		const struct ergon_record_field *f = &ergon_record_fields[i];
		void *member = (char *)r + f->offset;

		switch (f->kind) {
		case ERGON_FIELD_INTEGER:
		case ERGON_FIELD_WATTS:
			*(int64_t *)member = row_integer(st, at++);
			break;
		case ERGON_FIELD_TEXT:
			snprintf(member, f->size, "%s", row_text(st, at++));
			break;
		case ERGON_FIELD_RATE:
			r->freq_hz = sqlite3_column_type(st, at) == SQLITE_NULL ? -1 :
				     sqlite3_column_double(st, at);
			at++;
			break;
		case ERGON_FIELD_STATE:
			state = ergon_state_parse(row_text(st, at++));
			r->state = state < 0 ? ERGON_STATE_PARTIAL : (enum ergon_state)state;
			break;
		case ERGON_FIELD_DOMAINS:
			for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
				r->domain_uj[d] = row_integer(st, at++);
			break;
		case ERGON_FIELD_CURVE:
			c->dt_ns = (uint64_t)sqlite3_column_int64(st, at++);
			curve_unpack(c, sqlite3_column_blob(st, at),
				     (size_t)sqlite3_column_bytes(st, at));
			at++;
			break;
		case ERGON_FIELD_FLAGS:
			r->flags = ergon_flags_parse(row_text(st, at++));
			break;
		}
	}
	r->restart = r->restart == NO_NUMBER ? ERGON_NONE : r->restart;
	r->het = r->het == NO_NUMBER ? ERGON_NONE : r->het;
	c->end_ns = c->dt_ns * (uint64_t)c->used;
	if (r->end_ns != ERGON_NONE && c->end_ns > (uint64_t)(r->end_ns - r->start_ns))
		c->end_ns = (uint64_t)(r->end_ns - r->start_ns);
}

/* Opening */

const char *ergon_store_path(const char *url, struct ergon_error *err)
{
	static const char scheme[] = "sqlite:";
	size_t len = sizeof(scheme) - 1;

	if (strncmp(url, scheme, len) == 0 && url[len] == '/')
		return url + len;
	ergon_error_set(err, "Store = '%s': expected sqlite:FILE with an absolute path", url);
	return NULL;
}

/* SQLite would create the file with the umask's mode: create it first. */
static int create_file(const char *path, struct ergon_error *err)
{
	char dir[PATH_MAX], *slash;
	int fd;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash && slash != dir) {
		*slash = '\0';
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return ergon_error_set(err, "%s: cannot create the directory: %s", dir,
					       strerror(errno));
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		return ergon_error_set(err, "%s: cannot open for writing: %s", path,
				       strerror(errno));
	close(fd);
	return 0;
}

/*
 * A busy handler. Several that ingest at once take turns batch by batch
 * in no fair order: one may wait long while the others get on, and gives
 * up only when nothing is written any more.
 */
static int wait_turn(void *arg, int tries)
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
	struct ergon_store *s = arg;
	char wal[PATH_MAX + 8];
	struct stat st = { 0 };

	snprintf(wal, sizeof(wal), "%s-wal", s->path);
	if (stat(wal, &st) < 0)
		st.st_mtim = s->written;
	if (tries == 0 || st.st_mtim.tv_sec != s->written.tv_sec ||
	    st.st_mtim.tv_nsec != s->written.tv_nsec)
		s->stuck_ms = 0;
	s->written = st.st_mtim;
	s->stuck_ms += RETRY_MS;
	if (s->stuck_ms > STUCK_MS)
		return 0;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	return 1;
}

static int run_sql(struct ergon_store *s, const char *text, const char *doing,
		   struct ergon_error *err)
{
	if (sqlite3_exec(s->db, text, NULL, NULL, NULL) != SQLITE_OK)
		return sql_error(s, doing, err);
	return 0;
}

/* The first column of the first row; -1 + err. */
static int one_number(struct ergon_store *s, const char *text, int64_t *value,
		      struct ergon_error *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, text, -1, &st, NULL);

	if (rc == SQLITE_OK) {
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW)
			*value = sqlite3_column_int64(st, 0);
	}
	if (rc != SQLITE_ROW)
		sql_error(s, "cannot read", err);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 0 : -1;
}

static int create_schema(struct ergon_store *s, struct ergon_error *err)
{
	struct text t = { .len = 0 };
	char stamp[128];

	add(&t, "CREATE TABLE record (");
	add_columns(&t, LIST_DEFINE);
	add(&t, ")");
	snprintf(stamp, sizeof(stamp), "INSERT INTO schema_version VALUES (%d);"
		 "PRAGMA application_id = %d", SCHEMA_VERSION, APPLICATION_ID);
	if (run_sql(s, t.buf, "cannot create", err) < 0)
		return -1;
	if (run_sql(s, schema, "cannot create", err) < 0)
		return -1;
	return run_sql(s, stamp, "cannot create", err);
}

/* Under the write lock, so that of two that find it empty one creates it. */
static int ensure_schema(struct ergon_store *s, enum ergon_store_mode mode,
			 struct ergon_error *err)
{
	int64_t tables, id, version = 0;

	if (one_number(s, "PRAGMA application_id", &id, err) < 0 ||
	    one_number(s, "SELECT COUNT(*) FROM sqlite_master", &tables, err) < 0)
		return -1;
	if (tables == 0 && mode == ERGON_STORE_WRITE)
		return create_schema(s, err);
	if (tables == 0)
		return ergon_error_set(err, "%s: is empty; run `ergon ingest` first", s->path);
	if (id != APPLICATION_ID)
		return ergon_error_set(err, "%s: is a database of another program", s->path);
	if (one_number(s, "SELECT version FROM schema_version", &version, err) < 0)
		return -1;
	if (version != SCHEMA_VERSION)
		return ergon_error_set(err, "%s: has schema version %d, this program knows %d",
				       s->path, (int)version, SCHEMA_VERSION);
	return 0;
}

static int prepare(struct ergon_store *s, enum statement which, struct ergon_error *err)
{
	struct text t = { .len = 0 };

	if (sql[which])
		add(&t, sql[which]);
	else if (which == PUT)
		put_sql(&t);
	else
		records_sql(&t);
	if (sqlite3_prepare_v3(s->db, t.buf, -1, SQLITE_PREPARE_PERSISTENT,
			       &s->statements[which], NULL) != SQLITE_OK)
		return sql_error(s, "cannot prepare a statement", err);
	return 0;
}

/*
 * SQLite does not call the busy handler when two turn a new database to
 * WAL at once (it would wait for a lock that the other needs): ask again.
 */
static int use_wal(struct ergon_store *s, struct ergon_error *err)
{
	int rc, tries = 0;

	do
		rc = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
	while ((rc & 0xff) == SQLITE_BUSY && wait_turn(s, tries++));
	return rc == SQLITE_OK ? 0 : sql_error(s, "cannot open", err);
}

static int set_up(struct ergon_store *s, enum ergon_store_mode mode, struct ergon_error *err)
{
	static const char for_writing[] =
		"PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;"
		"PRAGMA wal_autocheckpoint = 8000;";
	static const char for_asking[] =
		"CREATE TEMP TABLE wanted_job (job INTEGER, cluster TEXT, PRIMARY KEY (job, cluster));"
		"CREATE TEMP TABLE wanted_user (uid INTEGER, name TEXT)";
	int keep_wal = 1;

	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_handler(s->db, wait_turn, s);
	if (mode == ERGON_STORE_WRITE) {
		if (use_wal(s, err) < 0 || run_sql(s, for_writing, "cannot open", err) < 0)
			return -1;
		/* A reader without write permission needs the -wal and -shm files to be there. */
		sqlite3_file_control(s->db, "main", SQLITE_FCNTL_PERSIST_WAL, &keep_wal);
		if (run_sql(s, "BEGIN IMMEDIATE", "cannot lock", err) < 0)
			return -1;
		if (ensure_schema(s, mode, err) < 0) {
			sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
			return -1;
		}
		if (run_sql(s, "COMMIT", "cannot create", err) < 0)
			return -1;
	} else if (ensure_schema(s, mode, err) < 0) {
		return -1;
	}
	if (run_sql(s, for_asking, "cannot open", err) < 0)
		return -1;
	for (int i = 0; i < STATEMENT_COUNT; i++)
		if (prepare(s, (enum statement)i, err) < 0)
			return -1;
	return 0;
}

struct ergon_store *ergon_store_open(const char *path, enum ergon_store_mode mode,
				     struct ergon_error *err)
{
	int flags = mode == ERGON_STORE_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
	struct ergon_store *s;

	if (mode == ERGON_STORE_WRITE && create_file(path, err) < 0)
		return NULL;
	if (mode == ERGON_STORE_READ && access(path, R_OK) < 0) {
		ergon_error_set(err, "%s: %s%s", path, strerror(errno),
				errno == ENOENT ? "; `ergon ingest` creates it" :
				errno == EACCES ? "; its group may read it" : "");
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	snprintf(s->path, sizeof(s->path), "%s", path);
	if (sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		if (s->db)
			sql_error(s, "cannot open", err);
		else
			ergon_error_set(err, "%s: out of memory", path);
	} else if (set_up(s, mode, err) == 0) {
		return s;
	}
	ergon_store_close(s);
	return NULL;
}

void ergon_store_close(struct ergon_store *s)
{
	int saved = errno;

	if (!s)
		return;
	for (int i = 0; i < STATEMENT_COUNT; i++)
		sqlite3_finalize(s->statements[i]);
	sqlite3_close(s->db);
	free(s);
	errno = saved;
}

/* Writing */

/* Run a statement that returns no rows; its parameters are bound. */
static int run(struct ergon_store *s, enum statement which, const char *doing,
	       struct ergon_error *err)
{
	sqlite3_stmt *st = s->statements[which];
	int rc = sqlite3_step(st);

	if (rc != SQLITE_DONE)
		sql_error(s, doing, err);
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : -1;
}

int ergon_store_begin(struct ergon_store *s, struct ergon_error *err)
{
	return run(s, BEGIN, "cannot lock", err);
}

int ergon_store_commit(struct ergon_store *s, struct ergon_error *err)
{
	return run(s, COMMIT, "cannot commit", err);
}

void ergon_store_rollback(struct ergon_store *s)
{
	if (!sqlite3_get_autocommit(s->db))
		run(s, ROLLBACK, "cannot roll back", NULL);
}

int ergon_store_put(struct ergon_store *s, const struct ergon_record *r, struct ergon_error *err)
{
	struct scratch tmp;

	bind_record(s->statements[PUT], r, &tmp);
	if (run(s, PUT, "cannot store a record", err) < 0)
		return -1;
	return sqlite3_changes(s->db) > 0;
}

int ergon_store_source_get(struct ergon_store *s, const char *path,
			   struct ergon_store_source *src, struct ergon_error *err)
{
	sqlite3_stmt *st = s->statements[SOURCE_GET];
	int rc, result = 0;

	sqlite3_bind_text(st, 1, path, -1, SQLITE_STATIC);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		src->offset = sqlite3_column_int64(st, 0);
		src->head_len = sqlite3_column_int64(st, 1);
		src->head_crc = sqlite3_column_int64(st, 2);
		src->tail_len = sqlite3_column_int64(st, 3);
		src->tail_crc = sqlite3_column_int64(st, 4);
		result = 1;
	} else if (rc != SQLITE_DONE) {
		result = sql_error(s, "cannot read", err);
	}
	sqlite3_reset(st);
	return result;
}

int ergon_store_source_put(struct ergon_store *s, const char *path,
			   const struct ergon_store_source *src, struct ergon_error *err)
{
	sqlite3_stmt *st = s->statements[SOURCE_PUT];
	const int64_t numbers[] = {
		src->offset, src->head_len, src->head_crc, src->tail_len, src->tail_crc
	};

	sqlite3_bind_text(st, 1, path, -1, SQLITE_STATIC);
	for (int i = 0; i < 5; i++)
		sqlite3_bind_int64(st, i + 2, numbers[i]);
	return run(s, SOURCE_PUT, "cannot store how far it read", err);
}

/* Asking */

static int want_pick(struct ergon_store *s, enum statement which, const struct ergon_store_query *q,
		     int64_t job, int64_t part, struct ergon_error *err)
{
	sqlite3_stmt *st = s->statements[which];

	sqlite3_clear_bindings(st);
	sqlite3_bind_int64(st, 1, q->since_ns);
	sqlite3_bind_int64(st, 2, q->until_ns);
	if (which != WANT_ALL) {
		sqlite3_bind_int64(st, 3, job);
		bind_integer(st, 4, part, false);
	}
	return run(s, which, "cannot read", err);
}

static int want(struct ergon_store *s, const struct ergon_store_query *q, struct ergon_error *err)
{
	sqlite3_stmt *user = s->statements[WANT_USER];

	if (run(s, FORGET_JOBS, "cannot read", err) < 0 ||
	    run(s, FORGET_USERS, "cannot read", err) < 0)
		return -1;
	for (size_t i = 0; i < q->nusers; i++) {
		sqlite3_clear_bindings(user);
		bind_integer(user, 1, q->users[i].uid, false);
		bind_text(user, 2, q->users[i].name ? q->users[i].name : "", false);
		if (run(s, WANT_USER, "cannot read", err) < 0)
			return -1;
	}
	if (q->npicks == 0)
		return want_pick(s, WANT_ALL, q, 0, 0, err);
	for (size_t i = 0; i < q->npicks; i++) {
		const struct ergon_store_pick *p = &q->picks[i];

		if (p->array_task == ERGON_NONE &&
		    want_pick(s, WANT_JOB, q, p->job, p->het, err) < 0)
			return -1;
		if (p->het == ERGON_NONE &&
		    want_pick(s, WANT_ARRAY, q, p->job, p->array_task, err) < 0)
			return -1;
	}
	return 0;
}

int ergon_store_records(struct ergon_store *s, const struct ergon_store_query *q,
			ergon_store_record_f *f, void *arg, struct ergon_error *err)
{
	sqlite3_stmt *st = s->statements[RECORDS];
	struct ergon_record *r;
	int rc, result = 0;

	if (want(s, q, err) < 0)
		return -1;
	r = malloc(sizeof(*r));
	if (!r)
		return ergon_error_set(err, "out of memory");
	while (result == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		read_row(st, r);
		result = f(r, arg);
	}
	if (result == 0 && rc != SQLITE_DONE)
		result = sql_error(s, "cannot read", err);
	sqlite3_reset(st);
	free(r);
	return result;
}
