/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A backend that reads from a script: row k of `rows` is what read number
 * k + 1 sees (the first is taken by ergon_meter_new); the last row repeats.
 */
#ifndef ERGON_TEST_SCRIPT_H
#define ERGON_TEST_SCRIPT_H

#include <stdint.h>

#include "backend.h"

/* In a row: this channel's reading fails. */
#define SCRIPT_FAIL UINT64_MAX

struct script {
	const struct ergon_channel *channels;
	size_t nchannels;
	const uint64_t *rows;     /* nrows * nchannels */
	size_t nrows;
	size_t next;              /* reads so far */
	int closed;
};

extern const struct ergon_backend script_backend;

#endif
