/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fcntl locks on the bytes of the roster (live.h tells which). They end
 * with the process, whatever ended it, and belong to nobody else.
 */
#ifndef ERGON_LOCKS_H
#define ERGON_LOCKS_H

#include <stdbool.h>

/* Never wait. 0, or -1 + errno when another process holds it. */
int ergon_lock_try(int fd, long byte);

/* All bytes at once: nobody else holds any. */
int ergon_lock_all(int fd);

void ergon_lock_drop(int fd, long byte);

/* Does another process hold it? Ours do not count. True when that cannot be told. */
bool ergon_lock_is_held(int fd, long byte);

#endif
