/* SPDX-License-Identifier: BSD-3-Clause */
#include "cputime.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int ergon_cputime_open(const struct ergon_sysroot *sysroot)
{
	return ergon_sysroot_open_file(sysroot, "/proc/stat", O_RDONLY);
}

int64_t ergon_cputime_busy_ns(int fd)
{
	char buf[256];
	unsigned long long t[7];
	ssize_t n = fd < 0 ? -1 : pread(fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return -1;
	buf[n] = '\0';
	/* user nice system idle iowait irq softirq */
	if (sscanf(buf, "cpu %llu %llu %llu %llu %llu %llu %llu",
		   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6]) != 7)
		return -1;
	return (int64_t)(t[0] + t[1] + t[2] + t[5] + t[6]) * (1000000000 / sysconf(_SC_CLK_TCK));
}
