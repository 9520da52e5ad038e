/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What merge found wrong: a list that stays small however many files are
 * bad. The first few of a kind are kept word for word, the rest counted.
 */
#ifndef ERGON_PROBLEM_H
#define ERGON_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PROBLEMS_KEPT 20        /* of one kind */

/* X(constant, word, whether the merge is incomplete or doubtful because of it) */
#define PROBLEM_TABLE(X) \
	X(UNREADABLE,   "unreadable",     true) \
	X(EMPTY,        "empty",          true) \
	X(NOT_OURS,     "no-magic",       true) \
	X(VERSION,      "version",        true) \
	X(HEADER,       "header",         true) \
	X(NO_ROWS,      "no-rows",        true) \
	X(TRUNCATED,    "truncated",      true) \
	X(COLUMNS,      "columns",        true) \
	X(NUMBER,       "number",         true) \
	X(VALUE,        "value",          true) \
	X(TEXT,         "text",           true) \
	X(LINE_ENDS,    "line-ends",      true) \
	X(BOM,          "byte-order-mark", true) \
	X(ENCODING,     "encoding",       true) \
	X(NUL,          "nul-bytes",      true) \
	X(LEDGER,       "ledger",         true) \
	X(DUPLICATE,    "duplicate-rank", true) \
	X(FOREIGN,      "foreign",        true) \
	X(MISSING,      "missing-ranks",  true) \
	X(PARTIAL,      "partial",        true) \
	X(NODE_TWICE,   "node-twice",     true) \
	X(NODE_MISSING, "node-missing",   true) \
	X(MIXED,        "mixed",          true) \
	X(CONSERVATION, "conservation",   true) \
	X(NO_CALLS,     "no-mpi-calls",   false)

enum problem_kind {
#define X(c, w, s) PROBLEM_##c,
	PROBLEM_TABLE(X)
#undef X
	PROBLEM_COUNT
};

struct problem {
	enum problem_kind kind;
	unsigned line;            /* 0: the whole file */
	char *file;               /* NULL: no one file */
	char *text;
};

struct problems {
	struct problem *list;
	size_t n, capacity;
	size_t count[PROBLEM_COUNT];
};

/* Note a problem. file may be NULL, line 0. Runs out of memory silently: the count is kept. */
void problem_add(struct problems *p, enum problem_kind kind, const char *file, unsigned line,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Adds "and N more" entries for what was counted and not kept; call once, at the end. */
void problems_finish(struct problems *p);

/* Whether anything makes the merge incomplete or doubtful. */
bool problems_serious(const struct problems *p);

const char *problem_word(enum problem_kind kind);
bool problem_serious(enum problem_kind kind);

/* One line each: "ergon merge: FILE:LINE: TEXT". */
void problems_print(const struct problems *p, FILE *out);

void problems_free(struct problems *p);

#endif
