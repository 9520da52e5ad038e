/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reading half of core/record.h: a JSON object becomes a record, or an
 * error that names the member and what is wrong with it. Strict in types
 * and ranges; members it does not know are skipped, a version it does not
 * know is refused. Allocates nothing.
 */
#ifndef ERGON_RECORD_READ_H
#define ERGON_RECORD_READ_H

#include <stddef.h>

#include "error.h"
#include "record.h"

/* 0, or -1 + err; *r is set either way but meaningful only on 0. */
int ergon_record_read(struct ergon_record *r, const char *json, size_t len,
		      struct ergon_error *err);

/* Inverse of ergon_state_word; -1 for an unknown word. */
int ergon_state_parse(const char *word);

#endif
