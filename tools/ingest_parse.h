/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of a journal to records, on a thread of its own: reading them takes
 * about as long as storing them, and the two go on side by side.
 */
#ifndef ERGON_INGEST_PARSE_H
#define ERGON_INGEST_PARSE_H

#include <stddef.h>

#include "error.h"
#include "record.h"

struct ergon_parsed {
	const char *line;         /* in the buffer, without its LF */
	size_t len;
	struct ergon_record record;
	struct ergon_error why;   /* text "": a record; else why it is none */
};

struct ergon_parser;

/* Begin with the complete lines of buf, which must stay until the stop. NULL + err. */
struct ergon_parser *ergon_parser_start(const char *buf, size_t len, struct ergon_error *err);

/* The next line that is not empty, valid until the next call; NULL: no more. */
const struct ergon_parsed *ergon_parser_next(struct ergon_parser *p);

/* End, at any point. NULL allowed. */
void ergon_parser_stop(struct ergon_parser *p);

#endif
