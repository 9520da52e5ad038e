/* SPDX-License-Identifier: BSD-3-Clause */
#include "msr_device.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int ergon_msr_open(const struct ergon_sysroot *sr, int cpu, bool *safe)
{
	char path[64];
	int fd, first;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = ergon_sysroot_open_file(sr, path, O_RDONLY);
	*safe = false;
	if (fd >= 0)
		return fd;
	first = errno;
	snprintf(path, sizeof(path), "/dev/cpu/%d/msr_safe", cpu);
	fd = ergon_sysroot_open_file(sr, path, O_RDONLY);
	*safe = fd >= 0;
	/* Where only one of them exists, its answer is the one that matters. */
	if (fd < 0 && errno == ENOENT)
		errno = first;
	return fd;
}

int ergon_msr_read(int fd, uint32_t address, uint64_t *value)
{
	uint64_t raw;
	ssize_t n = pread(fd, &raw, sizeof(raw), (off_t)address);

	if (n == (ssize_t)sizeof(raw)) {
		*value = le64toh(raw);
		return 0;
	}
	if (n >= 0)
		errno = EIO;
	return -1;
}
