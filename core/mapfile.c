/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int allocate(int fd, size_t size)
{
	struct rlimit limit;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return errno;
	if (st.st_size == (off_t)size)
		return 0;
	/* The kernel would tell by SIGXFSZ, which ends a host that does not expect it. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    size > limit.rlim_cur)
		return EFBIG;
	/* On a full file system this fails; a later store would be SIGBUS. */
	return posix_fallocate(fd, 0, (off_t)size);
}

void *ergon_mapfile(int fd, size_t size)
{
	int rc = allocate(fd, size);
	void *map;

	if (rc != 0) {
		errno = rc;
		return NULL;
	}
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return map == MAP_FAILED ? NULL : map;
}
