/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The members of a record for those who read and store it: JSON member,
 * SQL column, place in the struct, limits. One row per member, in the
 * order in which core/record.c writes them.
 */
#ifndef ERGON_RECORD_FIELD_H
#define ERGON_RECORD_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum ergon_field_kind {
	ERGON_FIELD_INTEGER,      /* int64_t, null: ERGON_NONE */
	ERGON_FIELD_TEXT,         /* char array, null: "" */
	ERGON_FIELD_RATE,         /* double, null: -1 */
	ERGON_FIELD_WATTS,        /* int64_t milliwatts, written in watts */
	ERGON_FIELD_STATE,
	ERGON_FIELD_DOMAINS,
	ERGON_FIELD_CURVE,
	ERGON_FIELD_FLAGS
};

enum ergon_field_need {
	ERGON_FIELD_MAY_MISS,     /* absent or null */
	ERGON_FIELD_MAY_NULL,     /* must be there */
	ERGON_FIELD_MUST          /* must be there and not null */
};

struct ergon_record_field {
	const char *name;
	enum ergon_field_kind kind;
	enum ergon_field_need need;
	size_t offset;
	size_t size;              /* of a text member */
	int64_t min, max;         /* of an integer member */
	bool key;                 /* part of the record's identity */
};

extern const struct ergon_record_field ergon_record_fields[];
extern const size_t ergon_record_field_count;

#endif
