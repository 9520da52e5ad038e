/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ERGON_SAY_H
#define ERGON_SAY_H

/*
 * One line, "ergon: ...", to the host's stderr, past its stdio. Lost where it
 * cannot be written; a broken pipe or a limit on file sizes does not signal
 * the host. Keeps errno and the signal mask. Any thread.
 */
void ergon_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
