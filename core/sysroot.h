/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one door to /sys, /proc and /dev. A sysroot is a directory that
 * stands for "/": the real one, or a fixture. It may hold symbolic links
 * into the real tree. Paths are given as on a real machine ("/sys/...").
 *
 * Thread-safe after open; every fd is O_CLOEXEC. Failures return -1 with
 * errno set; the caller who talks to people fills an ergon_error.
 */
#ifndef ERGON_SYSROOT_H
#define ERGON_SYSROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"

struct ergon_sysroot;

/* root NULL or "": "/". NULL + err when it is not a directory. */
struct ergon_sysroot *ergon_sysroot_open(const char *root, struct ergon_error *err);
void ergon_sysroot_close(struct ergon_sysroot *sr);

/* The directory as given ("/" for the real machine), for messages. */
const char *ergon_sysroot_path(const struct ergon_sysroot *sr);
bool ergon_sysroot_is_real(const struct ergon_sysroot *sr);

/* Open a file (flags as open(2), O_CLOEXEC is added). */
int ergon_sysroot_open_file(const struct ergon_sysroot *sr, const char *path, int flags);

/* access(2) with mode F_OK, R_OK ... against the effective ids. */
int ergon_sysroot_access(const struct ergon_sysroot *sr, const char *path, int mode);

/*
 * Read a small text file: NUL-terminated, trailing white space removed.
 * Returns the length; -1 + errno; EMSGSIZE when it does not fit,
 * EINVAL when it holds a NUL byte before its end.
 */
ssize_t ergon_sysroot_read_text(const struct ergon_sysroot *sr, const char *path,
				char *buf, size_t size);

/* What a symbolic link says, NUL-terminated. Its length; -1 + errno; EMSGSIZE when it does not fit. */
ssize_t ergon_sysroot_read_link(const struct ergon_sysroot *sr, const char *path,
				char *buf, size_t size);

/* Decimal u64 followed by nothing but white space; EINVAL, ERANGE otherwise. */
int ergon_sysroot_read_u64(const struct ergon_sysroot *sr, const char *path, uint64_t *value);

/* The same from a kept-open fd by pread at offset 0; allocates nothing. */
int ergon_fd_read_u64(int fd, uint64_t *value);

/* The same with a sign; ERANGE beyond 63 bits. */
int ergon_fd_read_i64(int fd, int64_t *value);

/* The same from text. */
int ergon_parse_u64(const char *text, uint64_t *value);

/*
 * Names in a directory, sorted by strverscmp, without "." and "..".
 * *names is NULL-terminated; free with ergon_sysroot_free_list.
 * Returns the number of names or -1.
 */
ssize_t ergon_sysroot_list(const struct ergon_sysroot *sr, const char *path, char ***names);
void ergon_sysroot_free_list(char **names);

#endif
