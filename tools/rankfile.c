/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cell may hold is a row of a table; one parser per kind of cell. */
#include "rankfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "flags.h"
#include "number.h"
#include "text.h"

#define MAX_FIELDS 64
#define HEAD_BYTES 4096         /* enough for the three comment lines */
#define NELEMS(a) (sizeof(a) / sizeof((a)[0]))

enum cell {
	CELL_NAME,                /* text of limited length */
	CELL_ACTIVITY,
	CELL_COUNT,               /* integer >= 0 */
	CELL_RANK,                /* integer >= 0, kept as int */
	CELL_AMOUNT,              /* number >= 0 */
	CELL_ENERGY,              /* the same, may be empty: not measured */
	CELL_FLAGS,
	CELL_DOMAIN,
	CELL_PACKAGE              /* integer, empty: node-wide */
};

/* A column of a row, or a key of the header. */
struct field {
	const char *name;
	enum cell cell;
	size_t offset, size;
	bool required;
	int column;               /* of an energy */
};

#define OF(s, m) offsetof(struct s, m), sizeof(((struct s *)0)->m)

static const struct field head_keys[] = {
	{ "job", CELL_NAME, OF(rankfile_head, job), true, 0 },
	{ "step", CELL_NAME, OF(rankfile_head, step), true, 0 },
	{ "host", CELL_NAME, OF(rankfile_head, host), true, 0 },
	{ "boot_id", CELL_NAME, OF(rankfile_head, boot_id), false, 0 },
	{ "mpi", CELL_NAME, OF(rankfile_head, mpi), false, 0 },
	{ "mechanism", CELL_NAME, OF(rankfile_head, mechanism), false, 0 },
	{ "scope", CELL_NAME, OF(rankfile_head, scope), false, 0 },
	{ "share", CELL_NAME, OF(rankfile_head, share), false, 0 },
	{ "reason", CELL_NAME, OF(rankfile_head, reason), false, 0 },
	{ "state", CELL_NAME, OF(rankfile_head, state), true, 0 },
	{ "rank", CELL_RANK, OF(rankfile_head, rank), false, 0 },
	{ "size", CELL_RANK, OF(rankfile_head, size), false, 0 },
	{ "freq_hz", CELL_AMOUNT, OF(rankfile_head, freq_hz), false, 0 },
	{ "wall_s", CELL_AMOUNT, OF(rankfile_head, wall_s), false, 0 },
	{ "overhead_s", CELL_AMOUNT, OF(rankfile_head, overhead_s), false, 0 },
	{ "samples", CELL_COUNT, OF(rankfile_head, samples), false, 0 },
	{ "missed", CELL_COUNT, OF(rankfile_head, missed), false, 0 },
};

static const struct field rank_columns[] = {
	{ "phase", CELL_NAME, OF(rank_row, phase), true, 0 },
	{ "activity", CELL_ACTIVITY, OF(rank_row, activity), true, 0 },
	{ "function", CELL_NAME, OF(rank_row, function), true, 0 },
	{ "calls", CELL_COUNT, OF(rank_row, calls), true, 0 },
	{ "time_s", CELL_AMOUNT, OF(rank_row, time_s), true, 0 },
	{ "cpu_s", CELL_AMOUNT, OF(rank_row, cpu_s), true, 0 },
	{ "flags", CELL_FLAGS, OF(rank_row, flags), false, 0 },
#define X(c, d, w) { w, CELL_ENERGY, OF(rank_row, joules[ERGON_COLUMN_##c]), false, ERGON_COLUMN_##c },
	ERGON_COLUMN_TABLE(X)
#undef X
};

static const struct field node_columns[] = {
	{ "channel", CELL_NAME, OF(node_row, channel), true, 0 },
	{ "domain", CELL_DOMAIN, OF(node_row, domain), true, 0 },
	{ "package", CELL_PACKAGE, OF(node_row, package), true, 0 },
	{ "energy_j", CELL_AMOUNT, OF(node_row, energy_j), true, 0 },
	{ "unattributed_j", CELL_AMOUNT, OF(node_row, unattributed_j), true, 0 },
	{ "flags", CELL_FLAGS, OF(node_row, flags), false, 0 },
};

static const struct kind {
	const char *magic;
	const struct field *columns;
	size_t ncolumns;
} kinds[] = {
	[RANKFILE_RANK] = { "# ergon-rank ", rank_columns, NELEMS(rank_columns) },
	[RANKFILE_NODE] = { "# ergon-node ", node_columns, NELEMS(node_columns) },
};

/* Where reading is. */
struct scan {
	struct rankfile *f;
	const struct kind *kind;
	const char *path;
	struct problems *problems;
	char *next;               /* rest of the text */
	unsigned line;
	bool crlf;                /* already reported */
	const struct field *layout[MAX_FIELDS]; /* column of each field, NULL: unknown */
	unsigned nfields;
	size_t rows;              /* good rows */
	size_t lines;             /* row lines, good or bad */
	bool columns_seen, ended;
};

/* --- cells --- */

static const struct number_fault
	too_long = { PROBLEM_TEXT, "is too long" },
	unknown_word = { PROBLEM_TEXT, "is not a known word" };

static const struct number_fault *parse_name(const char *text, char *out, size_t size)
{
	size_t len = strlen(text);

	if (len >= size)
		return &too_long;
	memcpy(out, text, len + 1);
	return NULL;
}

static const struct number_fault *parse_activity(const char *text, int *out)
{
	for (int i = 0; i < ERGON_ACTIVITY_COUNT; i++) {
		if (strcmp(text, ergon_activity_word((enum ergon_activity)i)) == 0) {
			*out = i;
			return NULL;
		}
	}
	return &unknown_word;
}

/* object: a struct rank_row, node_row or rankfile_head, as the field says. */
static const struct number_fault *parse_cell(const struct field *field, const char *text, void *object)
{
	void *member = (char *)object + field->offset;
	const struct number_fault *why;
	uint64_t count;

	switch (field->cell) {
	case CELL_NAME:
		return parse_name(text, member, field->size);
	case CELL_ACTIVITY:
		return parse_activity(text, member);
	case CELL_COUNT:
		return number_count(text, INT64_MAX, member);
	case CELL_AMOUNT:
		return number_amount(text, member);
	case CELL_ENERGY:
		if (*text == '\0')
			return NULL;
		why = number_amount(text, member);
		if (!why)
			((struct rank_row *)object)->measured |= 1u << field->column;
		return why;
	case CELL_FLAGS:
		*(unsigned *)member = ergon_flags_parse(text);
		return NULL;
	case CELL_DOMAIN:
		*(int *)member = ergon_domain_parse(text);
		return *(int *)member < 0 ? &unknown_word : NULL;
	case CELL_PACKAGE:
		*(int *)member = -1;
		if (*text == '\0' || strcmp(text, "-1") == 0)
			return NULL;
		/* fall through */
	case CELL_RANK:
		why = number_count(text, INT32_MAX, &count);
		if (!why)
			*(int *)member = (int)count;
		return why;
	}
	return &unknown_word;
}

/* --- text --- */

static int load(struct rankfile *f, const char *path, size_t limit, struct problems *problems)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = -1;

	f->text_len = 0;
	while (fd >= 0) {
		if (f->text_len + 1 >= f->text_capacity) {
			size_t capacity = f->text_capacity ? 2 * f->text_capacity : 1u << 16;
			char *text = realloc(f->text, capacity);

			if (!text) {
				errno = ENOMEM;
				n = -1;
				break;
			}
			f->text = text;
			f->text_capacity = capacity;
		}
		n = read(fd, f->text + f->text_len, f->text_capacity - 1 - f->text_len);
		if (n <= 0)
			break;
		f->text_len += (size_t)n;
		if (f->text_len >= limit)
			break;
	}
	if (n < 0)
		problem_add(problems, PROBLEM_UNREADABLE, path, 0, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -1;
	if (f->text_len > RANKFILE_MAX_BYTES) {
		problem_add(problems, PROBLEM_UNREADABLE, path, 0,
			    "more than %u MiB: not a file of ergon", RANKFILE_MAX_BYTES >> 20);
		return -1;
	}
	f->text[f->text_len] = '\0';
	return 0;
}

/* Bytes that file systems and editors put around the text. */
static void trim_text(struct scan *scan)
{
	struct rankfile *f = scan->f;
	size_t nul = 0;

	while (nul < f->text_len && f->text[f->text_len - 1 - nul] == '\0')
		nul++;
	if (nul > 0) {
		f->text_len -= nul;
		f->damaged = true;
		problem_add(scan->problems, PROBLEM_NUL, scan->path, 0,
			    "%zu NUL bytes at the end: the node or its file system went down while it was written",
			    nul);
	}
	scan->next = f->text;
	if (f->text_len >= 3 && memcmp(f->text, "\xef\xbb\xbf", 3) == 0) {
		scan->next += 3;
		problem_add(scan->problems, PROBLEM_BOM, scan->path, 1,
			    "begins with a byte order mark: was it edited? Read without it");
	}
}

/* The next line, NUL-terminated in place; *cut when it has no line end. NULL at the end. */
static char *next_line(struct scan *scan, bool *cut)
{
	char *line = scan->next, *end = scan->f->text + scan->f->text_len, *stop;
	size_t len;

	if (line >= end)
		return NULL;
	scan->line++;
	stop = memchr(line, '\n', (size_t)(end - line));
	*cut = !stop;
	if (!stop)
		stop = end;
	scan->next = stop + 1;
	*stop = '\0';
	len = (size_t)(stop - line);
	if (len > 0 && line[len - 1] == '\r') {
		line[--len] = '\0';
		if (!scan->crlf)
			problem_add(scan->problems, PROBLEM_LINE_ENDS, scan->path, scan->line,
				    "lines end in CR LF: was it edited or copied as text? Read all the same");
		scan->crlf = true;
	}
	if (text_clean(line, len))
		problem_add(scan->problems, PROBLEM_ENCODING, scan->path, scan->line,
			    "bytes that are not UTF-8 text, shown as '?'");
	return line;
}

/*
 * Take one quoted text at *s (which is at the opening quote), unquote it in
 * place and move *s behind the closing quote. NULL: it is not closed.
 */
static char *take_quoted(char **s)
{
	char *text = *s, *from = *s + 1, *to = *s;

	for (; *from; from++) {
		if (*from == '"' && from[1] != '"') {
			*s = from + 1;
			*to = '\0';
			return text;
		}
		from += *from == '"';
		*to++ = *from;
	}
	return NULL;
}

/* Split at commas in place. The number of fields, -1: a quote is wrong. */
static int split_fields(char *line, char *fields[MAX_FIELDS])
{
	int n = 0;

	for (char *s = line;; s++) {
		char *text = s;

		if (*s == '"') {
			text = take_quoted(&s);
			if (!text || (*s && *s != ','))
				return -1;
		} else {
			s += strcspn(s, ",");
		}
		if (n < MAX_FIELDS)
			fields[n] = text;
		n++;
		if (*s == '\0')
			return n;
		*s = '\0';
	}
}

/* --- header --- */

static int parse_pair(struct scan *scan, const char *key, const char *value, uint32_t *given)
{
	for (size_t i = 0; i < NELEMS(head_keys); i++) {
		const struct number_fault *why;

		if (strcmp(key, head_keys[i].name) != 0)
			continue;
		why = parse_cell(&head_keys[i], value, &scan->f->head);
		if (why) {
			bool rank = head_keys[i].cell == CELL_RANK;

			problem_add(scan->problems, why->kind, scan->path, scan->line, "%s '%.60s' %s%s",
				    key, value, why->text, why != &number_negative ? "" :
				    rank ? ": the process did not know its rank; not merged" :
				    ": the end is before the start");
			return head_keys[i].required || rank ? -1 : 0;
		}
		*given |= 1u << i;
		return 0;
	}
	return 0;
}

/* "# key=value key="quoted value"": unknown keys are skipped. */
static int parse_pairs(struct scan *scan, char *s, uint32_t *given)
{
	for (s += strspn(s, "# "); *s; s += strspn(s, " ")) {
		char *key = s, *value;

		s += strcspn(s, "= ");
		if (*s != '=') {
			problem_add(scan->problems, PROBLEM_HEADER, scan->path, scan->line,
				    "'%.40s': expected key=value", key);
			return -1;
		}
		*s++ = '\0';
		value = s;
		if (*s == '"') {
			value = take_quoted(&s);
			if (!value) {
				problem_add(scan->problems, PROBLEM_HEADER, scan->path, scan->line,
					    "the quote after %s= is not closed: the line is cut", key);
				return -1;
			}
		} else {
			s += strcspn(s, " ");
		}
		if (*s)
			*s++ = '\0';
		if (parse_pair(scan, key, value, given) < 0)
			return -1;
	}
	return 0;
}

static int check_magic(struct scan *scan, const char *line)
{
	size_t len = strlen(scan->kind->magic);

	if (strncmp(line, scan->kind->magic, len) != 0) {
		problem_add(scan->problems, PROBLEM_NOT_OURS, scan->path, scan->line,
			    "does not begin with '%s1'", scan->kind->magic);
		return -1;
	}
	if (strcmp(line + len, "1") != 0) {
		problem_add(scan->problems, PROBLEM_VERSION, scan->path, scan->line,
			    "version '%.20s': this ergon reads version 1", line + len);
		return -1;
	}
	return 0;
}

static int read_head(struct scan *scan)
{
	uint32_t given = 0;
	char *line;
	bool cut;

	if (scan->next >= scan->f->text + scan->f->text_len) {
		problem_add(scan->problems, PROBLEM_EMPTY, scan->path, 0, "the file is empty");
		return -1;
	}
	for (int i = 0; i < 3; i++) {
		line = next_line(scan, &cut);
		if (!line || cut) {
			problem_add(scan->problems, PROBLEM_TRUNCATED, scan->path, scan->line,
				    "cut inside the header");
			return -1;
		}
		if (i == 0 ? check_magic(scan, line) < 0 :
		    line[0] == '#' ? parse_pairs(scan, line, &given) < 0 : i < 2)
			return -1;
	}
	for (size_t i = 0; i < NELEMS(head_keys); i++) {
		bool rank = scan->kind == &kinds[RANKFILE_RANK] && head_keys[i].cell == CELL_RANK;

		if ((head_keys[i].required || rank) && !(given & 1u << i)) {
			problem_add(scan->problems, PROBLEM_HEADER, scan->path, 0,
				    "the header does not say %s=", head_keys[i].name);
			return -1;
		}
	}
	if (scan->kind == &kinds[RANKFILE_RANK] && scan->f->head.rank >= scan->f->head.size) {
		problem_add(scan->problems, PROBLEM_HEADER, scan->path, 0, "rank %d of %d",
			    scan->f->head.rank, scan->f->head.size);
		return -1;
	}
	return 0;
}

/* --- rows --- */

static int parse_columns(struct scan *scan, char *line)
{
	char *fields[MAX_FIELDS];
	int n = split_fields(line, fields);

	if (n < 1 || n > MAX_FIELDS) {
		problem_add(scan->problems, PROBLEM_COLUMNS, scan->path, scan->line,
			    "the column line cannot be read");
		return -1;
	}
	if (n == 1 && strchr(fields[0], ';')) {
		problem_add(scan->problems, PROBLEM_COLUMNS, scan->path, scan->line,
			    "columns are separated by ';' instead of ',': was it saved by a spreadsheet?");
		return -1;
	}
	scan->nfields = (unsigned)n;
	for (size_t c = 0; c < scan->kind->ncolumns; c++) {
		const struct field *column = &scan->kind->columns[c];
		int found = 0;

		for (int i = 0; i < n; i++) {
			if (strcmp(fields[i], column->name) == 0) {
				scan->layout[i] = column;
				found++;
			}
		}
		if (found > 1 || (column->required && found == 0)) {
			problem_add(scan->problems, PROBLEM_COLUMNS, scan->path, scan->line,
				    "column %s is %s", column->name, found ? "there twice" : "missing");
			return -1;
		}
	}
	scan->columns_seen = true;
	return 0;
}

static void *new_row(struct scan *scan)
{
	struct rankfile *f = scan->f;
	void *row;

	if (scan->kind == &kinds[RANKFILE_RANK])
		return rankfile_add_row(f);
	if (f->nchannels == ERGON_BOARD_MAX_CHANNELS)
		return NULL;
	row = &f->channels[f->nchannels++];
	memset(row, 0, sizeof(struct node_row));
	return row;
}

static void drop_row(struct scan *scan)
{
	if (scan->kind == &kinds[RANKFILE_RANK])
		scan->f->nrows--;
	else
		scan->f->nchannels--;
	scan->f->damaged = true;
}

static void parse_row(struct scan *scan, char *line)
{
	char *fields[MAX_FIELDS];
	int n = split_fields(line, fields);
	void *row;

	scan->lines++;
	if (n != (int)scan->nfields) {
		scan->f->damaged = true;
		if (n < 0)
			problem_add(scan->problems, PROBLEM_TEXT, scan->path, scan->line,
				    "a quote is not closed: the line is cut; dropped");
		else
			problem_add(scan->problems, PROBLEM_COLUMNS, scan->path, scan->line,
				    "%d fields where the column line has %u (%s); dropped", n, scan->nfields,
				    n > (int)scan->nfields ? "decimal commas, or two lines in one" :
				    "shifted, or a part of a line");
		return;
	}
	row = new_row(scan);
	if (!row) {
		scan->f->damaged = true;
		problem_add(scan->problems, PROBLEM_COLUMNS, scan->path, scan->line,
			    "more rows than there can be; dropped");
		return;
	}
	for (int i = 0; i < n; i++) {
		const struct number_fault *why = scan->layout[i] ?
			parse_cell(scan->layout[i], fields[i], row) : NULL;

		if (why) {
			problem_add(scan->problems, why->kind, scan->path, scan->line,
				    "%s '%.60s' %s; line dropped", scan->layout[i]->name, fields[i],
				    why->text);
			drop_row(scan);
			return;
		}
	}
	scan->rows++;
}

/* A line that begins with '#'. -1: reading must stop. */
static int parse_comment(struct scan *scan, const char *line)
{
	static const char end[] = "# end rows=";
	uint64_t rows;

	if (strncmp(line, scan->kind->magic, strlen(scan->kind->magic)) == 0) {
		problem_add(scan->problems, PROBLEM_TEXT, scan->path, scan->line,
			    "a second file begins here: two writers? Read up to here");
		scan->f->damaged = true;
		return -1;
	}
	if (strncmp(line, end, sizeof(end) - 1) != 0)
		return 0;
	scan->ended = true;
	if (number_count(line + sizeof(end) - 1, INT64_MAX, &rows) || rows != scan->lines) {
		problem_add(scan->problems, PROBLEM_TRUNCATED, scan->path, scan->line,
			    "'%.40s' after %zu rows: lines are lost", line + 2, scan->lines);
		scan->f->damaged = true;
	}
	return 0;
}

static int read_rows(struct scan *scan)
{
	char *line;
	bool cut;

	while ((line = next_line(scan, &cut))) {
		if (scan->ended) {
			problem_add(scan->problems, PROBLEM_TEXT, scan->path, scan->line,
				    "text after the end line: two writers? Not read");
			scan->f->damaged = true;
			break;
		}
		if (line[0] == '#') {
			/* An end line without its line end is whole if the count is right. */
			if (parse_comment(scan, line) < 0)
				break;
		} else if (cut) {
			problem_add(scan->problems, PROBLEM_TRUNCATED, scan->path, scan->line,
				    "the last line is cut; dropped");
			scan->f->damaged = true;
			return 0;
		} else if (!scan->columns_seen) {
			if (parse_columns(scan, line) < 0)
				return -1;
		} else {
			parse_row(scan, line);
		}
	}
	if (!scan->columns_seen || scan->lines == 0) {
		problem_add(scan->problems, PROBLEM_NO_ROWS, scan->path, 0, "a header and no rows");
		scan->f->damaged = true;
		return -1;
	}
	if (!scan->ended && !scan->f->damaged)
		problem_add(scan->problems, PROBLEM_TRUNCATED, scan->path, 0,
			    "no end line: the file is cut");
	if (!scan->ended)
		scan->f->damaged = true;
	return scan->rows > 0 ? 0 : -1;
}

/* Why a rank whose file ends in this state is not a complete one. */
static const char *why_partial(const char *state)
{
	static const struct { const char *state, *why; } states[] = {
		{ "complete", NULL },
		{ "aborted", "ended by MPI_Abort" },
		{ "noFinalize", "ended without MPI_Finalize" },
	};

	for (size_t i = 0; i < NELEMS(states); i++)
		if (strcmp(state, states[i].state) == 0)
			return states[i].why;
	return "its file does not say that it is complete";
}

/* --- the interface --- */

void rankfile_reset(struct rankfile *f)
{
	memset(&f->head, 0, sizeof(f->head));
	f->head.rank = f->head.size = -1;
	f->nrows = f->nchannels = 0;
	f->damaged = false;
	f->partial = NULL;
}

void rankfile_free(struct rankfile *f)
{
	free(f->rows);
	free(f->text);
	memset(f, 0, sizeof(*f));
}

struct rank_row *rankfile_add_row(struct rankfile *f)
{
	struct rank_row *row;

	if (f->nrows == RANKFILE_MAX_ROWS)
		return NULL;
	if (f->nrows == f->rows_capacity) {
		size_t capacity = f->rows_capacity ? 2 * f->rows_capacity : 128;

		row = realloc(f->rows, capacity * sizeof(*row));
		if (!row)
			return NULL;
		f->rows = row;
		f->rows_capacity = capacity;
	}
	row = &f->rows[f->nrows++];
	memset(row, 0, sizeof(*row));
	return row;
}

int rankfile_read(struct rankfile *f, const char *path, enum rankfile_kind kind,
		  struct problems *problems)
{
	struct scan scan = { .f = f, .kind = &kinds[kind], .path = path, .problems = problems };

	rankfile_reset(f);
	if (load(f, path, RANKFILE_MAX_BYTES + 1, problems) < 0)
		return -1;
	trim_text(&scan);
	if (read_head(&scan) < 0)
		return -1;
	f->partial = why_partial(f->head.state);
	return read_rows(&scan);
}

int rankfile_read_head(struct rankfile *f, const char *path, enum rankfile_kind kind)
{
	struct problems problems = { 0 };
	struct scan scan = { .f = f, .kind = &kinds[kind], .path = path, .problems = &problems };
	int rc = -1;

	rankfile_reset(f);
	if (load(f, path, HEAD_BYTES, &problems) == 0) {
		trim_text(&scan);
		rc = read_head(&scan);
	}
	problems_free(&problems);
	return rc;
}
