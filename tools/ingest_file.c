/* SPDX-License-Identifier: BSD-3-Clause */
#include "ingest_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingest_parse.h"
#include "journal.h"

#define TAIL_BYTES 4096

/* One transaction's work on one file. */
struct batch {
	struct ergon_ingest *in;
	const char *path;         /* absolute */
	int fd;
	int64_t size;             /* of the file when the batch began */
	int64_t stored, known, bad;
	char *quarantine;         /* text to append, see open_memstream */
	size_t quarantine_len;
	FILE *quarantine_stream;
};

/* pread that only stops early at the end of the file. */
static ssize_t read_at(int fd, char *buf, size_t size, int64_t offset)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = pread(fd, buf + got, size - got, offset + (int64_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* Where the file stands after offset bytes, for source_put and for comparison with it. */
static int fingerprint(const struct batch *b, int64_t offset, struct ergon_store_source *out)
{
	char *buf = b->in->buffer;
	int64_t tail = offset < TAIL_BYTES ? offset : TAIL_BYTES;
	ssize_t n = read_at(b->fd, buf, ERGON_JOURNAL_LINE_MAX, 0);
	const char *lf;

	if (n < 0)
		return -1;
	lf = memchr(buf, '\n', (size_t)n);
	out->offset = offset;
	out->head_len = lf ? lf - buf : 0;
	out->head_crc = ergon_crc32c(buf, (size_t)out->head_len);
	n = read_at(b->fd, buf, (size_t)tail, offset - tail);
	if (n < 0)
		return -1;
	out->tail_len = n;
	out->tail_crc = ergon_crc32c(buf, (size_t)n);
	return 0;
}

/*
 * Where to go on. A file that was replaced, truncated or rewritten no
 * longer holds what was read of it and is read from its start; records
 * that the store has are recognised.
 */
static int64_t resume_at(const struct batch *b, const struct ergon_store_source *then)
{
	struct ergon_store_source now;

	if (then->offset > b->size || fingerprint(b, then->offset, &now) < 0 ||
	    now.head_len != then->head_len || now.head_crc != then->head_crc ||
	    now.tail_len != then->tail_len || now.tail_crc != then->tail_crc)
		return 0;
	return then->offset;
}

static void put_in_quarantine(struct batch *b, int64_t offset, const char *why,
			      const char *line, size_t len)
{
	FILE *out = b->quarantine_stream;

	b->bad++;
	fprintf(out, "%s\t%" PRId64 "\t%s\t", b->path, offset, why);
	if (len > ERGON_JOURNAL_LINE_MAX)
		len = ERGON_JOURNAL_LINE_MAX;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c < 0x80 && isprint(c) && c != '\\')
			fputc(c, out);
		else
			fprintf(out, "\\x%02x", c);
	}
	fputc('\n', out);
}

static int take_line(struct batch *b, const struct ergon_parsed *line, int64_t offset,
		     struct ergon_error *err)
{
	int stored;

	if (line->why.text[0]) {
		put_in_quarantine(b, offset, line->why.text, line->line, line->len);
		return 0;
	}
	stored = ergon_store_put(b->in->store, &line->record, err);
	if (stored < 0)
		return -1;
	b->stored += stored;
	b->known += !stored;
	return 0;
}

/* The lines of the buffer; returns how many bytes they are, -1 + err. */
static ssize_t take_lines(struct batch *b, size_t got, int64_t offset, struct ergon_error *err)
{
	const char *buf = b->in->buffer, *last = memrchr(buf, '\n', got);
	struct ergon_parser *parser = ergon_parser_start(buf, got, err);
	const struct ergon_parsed *line;
	int result = parser ? 0 : -1;

	while (result == 0 && (line = ergon_parser_next(parser)))
		result = take_line(b, line, offset + (line->line - buf), err);
	ergon_parser_stop(parser);
	if (result < 0)
		return -1;
	if (!last && got == ERGON_INGEST_BATCH) {
		put_in_quarantine(b, offset, "no end of line for 8 MiB", buf, got);
		return (ssize_t)got;
	}
	return last ? last + 1 - buf : 0;
}

static int write_all(int fd, const char *buf, size_t len, int64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pwrite(fd, buf + done, len - done, offset + (int64_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

/*
 * Append to the quarantine file behind its committed length: what lies
 * beyond was written by a run that died before its commit.
 */
static int flush_quarantine(struct batch *b, struct ergon_error *err)
{
	const char *path = b->in->quarantine;
	struct ergon_store_source known = { 0 };
	struct stat st;
	int fd;

	if (fflush(b->quarantine_stream) != 0)
		return ergon_error_set(err, "out of memory");
	if (b->quarantine_len == 0)
		return 0;
	if (ergon_store_source_get(b->in->store, path, &known, err) < 0)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0 || fstat(fd, &st) < 0)
		goto failed;
	/* An administrator may have moved or emptied it. */
	if (known.offset > st.st_size)
		known.offset = st.st_size;
	if (ftruncate(fd, known.offset) < 0 ||
	    write_all(fd, b->quarantine, b->quarantine_len, known.offset) < 0 ||
	    fdatasync(fd) < 0)
		goto failed;
	close(fd);
	known.offset += (int64_t)b->quarantine_len;
	return ergon_store_source_put(b->in->store, path, &known, err);
failed:
	ergon_error_set(err, "%s: cannot write: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Inside the transaction. *rest: bytes of the file that are left. */
static enum ergon_ingest_result take_batch(struct batch *b, int64_t *rest,
					   struct ergon_error *err)
{
	struct ergon_store_source source;
	ssize_t got, used;
	struct stat st;
	int found;

	if (fstat(b->fd, &st) < 0) {
		ergon_error_set(err, "%s: %s", b->path, strerror(errno));
		return ERGON_INGEST_SKIPPED;
	}
	b->size = st.st_size;
	found = ergon_store_source_get(b->in->store, b->path, &source, err);
	if (found < 0)
		return ERGON_INGEST_STOPPED;
	source.offset = found ? resume_at(b, &source) : 0;
	got = read_at(b->fd, b->in->buffer, ERGON_INGEST_BATCH, source.offset);
	if (got < 0) {
		ergon_error_set(err, "%s: cannot read: %s", b->path, strerror(errno));
		return ERGON_INGEST_SKIPPED;
	}
	used = take_lines(b, (size_t)got, source.offset, err);
	if (used < 0 || flush_quarantine(b, err) < 0)
		return ERGON_INGEST_STOPPED;
	*rest = used > 0 ? b->size - source.offset - used : 0;
	if (used == got && *rest < 0)
		*rest = 0;
	if (used < got && got < ERGON_INGEST_BATCH) {
		b->in->unfinished++;
		*rest = 0;
	}
	if (used == 0)
		return ERGON_INGEST_DONE;
	if (fingerprint(b, source.offset + used, &source) < 0) {
		ergon_error_set(err, "%s: cannot read: %s", b->path, strerror(errno));
		return ERGON_INGEST_SKIPPED;
	}
	return ergon_store_source_put(b->in->store, b->path, &source, err) < 0 ?
	       ERGON_INGEST_STOPPED : ERGON_INGEST_DONE;
}

static enum ergon_ingest_result run_batch(struct batch *b, int64_t *rest, struct ergon_error *err)
{
	struct ergon_ingest *in = b->in;
	enum ergon_ingest_result result = ERGON_INGEST_STOPPED;

	b->stored = b->known = b->bad = 0;
	b->quarantine_stream = open_memstream(&b->quarantine, &b->quarantine_len);
	if (!b->quarantine_stream) {
		ergon_error_set(err, "out of memory");
		return result;
	}
	if (ergon_store_begin(in->store, err) == 0) {
		result = take_batch(b, rest, err);
		if (result == ERGON_INGEST_DONE && ergon_store_commit(in->store, err) < 0)
			result = ERGON_INGEST_STOPPED;
		if (result != ERGON_INGEST_DONE)
			ergon_store_rollback(in->store);
	}
	fclose(b->quarantine_stream);
	free(b->quarantine);
	if (result == ERGON_INGEST_DONE) {
		in->stored += b->stored;
		in->known += b->known;
		in->bad += b->bad;
	}
	return result;
}

static int open_journal(const char *path, struct ergon_error *err)
{
	struct stat st;
	/* O_NONBLOCK: a FIFO must not hang us. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return ergon_error_set(err, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return ergon_error_set(err, "%s: not a regular file", path);
}

enum ergon_ingest_result ergon_ingest_file(struct ergon_ingest *in, const char *path,
					   struct ergon_error *err)
{
	enum ergon_ingest_result result;
	char *absolute = realpath(path, NULL);
	struct batch b = { .in = in, .path = absolute };
	int64_t rest = 0;

	if (!absolute) {
		ergon_error_set(err, "%s: %s", path, strerror(errno));
		return ERGON_INGEST_SKIPPED;
	}
	b.fd = open_journal(absolute, err);
	if (b.fd < 0) {
		free(absolute);
		return ERGON_INGEST_SKIPPED;
	}
	do
		result = run_batch(&b, &rest, err);
	while (result == ERGON_INGEST_DONE && rest > 0);
	close(b.fd);
	free(absolute);
	return result;
}
