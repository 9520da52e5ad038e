/* SPDX-License-Identifier: BSD-3-Clause */
/* One line for a person: what went wrong, where, and what to do. */
#ifndef ERGON_ERROR_H
#define ERGON_ERROR_H

struct ergon_error {
	char text[512];
};

/*
 * Format a message into err (which may be NULL) and return -1, so that
 * a function can end with `return ergon_error_set(err, ...)`.
 * Long messages are cut, never overrun. Keeps errno.
 */
int ergon_error_set(struct ergon_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
