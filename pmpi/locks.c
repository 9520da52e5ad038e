/* SPDX-License-Identifier: BSD-3-Clause */
#include "locks.h"

#include <fcntl.h>
#include <unistd.h>

static int set_lock(int fd, short type, long byte, long len)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = len,
	};

	return fcntl(fd, F_SETLK, &lock);
}

int ergon_lock_try(int fd, long byte)
{
	return set_lock(fd, F_WRLCK, byte, 1);
}

int ergon_lock_all(int fd)
{
	return set_lock(fd, F_WRLCK, 0, 0);
}

void ergon_lock_drop(int fd, long byte)
{
	set_lock(fd, F_UNLCK, byte, 1);
}

bool ergon_lock_is_held(int fd, long byte)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1,
	};

	return fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}
