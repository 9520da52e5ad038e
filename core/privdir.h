/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A directory that is ours alone to write: where root keeps state. One
 * that another user owns or can write to is refused, so that nothing in it
 * can have been planted.
 */
#ifndef ERGON_PRIVDIR_H
#define ERGON_PRIVDIR_H

#include "error.h"

/* Open an existing one (O_CLOEXEC). The fd, or -1 + err + errno. */
int ergon_privdir_open(const char *path, struct ergon_error *err);

/* Make it (0755, whatever the umask; not its parents) unless it is there. 0, or -1 + err. */
int ergon_privdir_ensure(const char *path, struct ergon_error *err);

#endif
