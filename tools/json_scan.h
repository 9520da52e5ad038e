/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A strict JSON scanner over a piece of memory: the caller says what it
 * expects next and gets it, or -1 and a reason. Allocates nothing and reads
 * every byte once, because ingest reads a hundred thousand records a second.
 * After a -1 the scanner must not be used on.
 */
#ifndef ERGON_JSON_SCAN_H
#define ERGON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ergon_json {
	const char *at, *end;
	const char *why;          /* constant text, set by whatever returned -1 */
};

void ergon_json_start(struct ergon_json *j, const char *text, size_t len);

/* 0 when only blanks are left. */
int ergon_json_finish(struct ergon_json *j);

/* Skip blanks; the next byte without taking it, '\0' at the end. */
static inline char ergon_json_peek(struct ergon_json *j)
{
	while (j->at < j->end &&
	       (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
		j->at++;
	return j->at < j->end ? *j->at : '\0';
}

/* Skip blanks and take c, or fail. */
int ergon_json_expect(struct ergon_json *j, char c);

/* Take `null` when it comes next. */
bool ergon_json_take_null(struct ergon_json *j);

/*
 * A string, unescaped into buf with a NUL: its length. Refuses invalid
 * UTF-8, lone surrogates, NUL, control characters, and what does not fit.
 */
int ergon_json_string(struct ergon_json *j, char *buf, size_t size);

/* An integer of 64 bits; a fraction or an exponent is refused. */
int ergon_json_integer(struct ergon_json *j, int64_t *value);

/* Any finite number. */
int ergon_json_real(struct ergon_json *j, double *value);

/* Skip one value of any type, nested at most 32 deep. */
int ergon_json_skip(struct ergon_json *j);

/*
 * Inside an array or object whose opening bracket was taken: 1 before each
 * element (commas are taken), 0 when close was taken. *first starts true.
 */
int ergon_json_next(struct ergon_json *j, char close, bool *first);

/* Take `"name":` when exactly that comes next: the common case of ergon_json_member. */
bool ergon_json_take_member(struct ergon_json *j, const char *name);

/* The name of a member and its colon; returns the length of the name. */
int ergon_json_member(struct ergon_json *j, char *buf, size_t size);

#endif
