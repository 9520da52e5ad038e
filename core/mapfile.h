/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that processes share by mapping them. */
#ifndef ERGON_MAPFILE_H
#define ERGON_MAPFILE_H

#include <stddef.h>

/*
 * Maps the file for reading and writing. A file that has not the size yet
 * gets it, and all its blocks, so that no store into the mapping can fail.
 * NULL + errno: EFBIG when it would exceed RLIMIT_FSIZE, ENOSPC, ...
 */
void *ergon_mapfile(int fd, size_t size);

#endif
