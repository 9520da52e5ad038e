/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that came from somebody else's file. */
#ifndef ERGON_TEXT_H
#define ERGON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Replace by '?' what must not reach a terminal or JSON: control characters
 * and bytes that are not UTF-8. Returns whether there was any.
 */
bool text_clean(char *text, size_t len);

#endif
