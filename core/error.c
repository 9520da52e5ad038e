/* SPDX-License-Identifier: BSD-3-Clause */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int ergon_error_set(struct ergon_error *err, const char *fmt, ...)
{
	int saved = errno;

	if (err) {
		va_list ap;

		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	errno = saved;
	return -1;
}
