/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sampling rate as people write it: "100" (Hz), "auto" or "auto:HZ". The
 * one parser for options, ergon.conf and the environment; the same in every
 * locale. Pure; needs nothing but libc.
 */
#ifndef ERGON_RATE_H
#define ERGON_RATE_H

#include <stdbool.h>
#include <stddef.h>

#define ERGON_HZ_MIN 0.1
#define ERGON_HZ_MAX 1000.0
/* Samples per second under load when "auto" is not told more. */
#define ERGON_HZ_AUTO 100.0

/* What a text should have been; completes "expected ...". */
#define ERGON_RATE_EXPECTS "a rate from 0.1 to 1000 Hz, auto or auto:HZ"

struct ergon_rate {
	double hz;                /* 0: not given */
	bool adapt;               /* hz is for load; an idle machine is sampled once a second */
};

/* digits[.digits], "auto", "auto:" digits[.digits]. -1: none of these or out of range, *rate unchanged. */
int ergon_rate_parse(const char *text, struct ergon_rate *rate);

/* The text that parses to the same; at most 20 characters. Returns buf. */
char *ergon_rate_format(const struct ergon_rate *rate, char *buf, size_t size);

#endif
