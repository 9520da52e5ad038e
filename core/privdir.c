/* SPDX-License-Identifier: BSD-3-Clause */
#include "privdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ergon_privdir_open(const char *path, struct ergon_error *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ergon_error_set(err, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022))
		return fd;
	close(fd);
	errno = EPERM;
	return ergon_error_set(err, "%s: must belong to uid %d and be writable by nobody else",
			       path, (int)geteuid());
}

int ergon_privdir_ensure(const char *path, struct ergon_error *err)
{
	bool made = mkdir(path, 0755) == 0;
	int fd;

	if (!made && errno != EEXIST)
		return ergon_error_set(err, "%s: cannot be made: %s", path, strerror(errno));
	fd = ergon_privdir_open(path, err);
	if (fd < 0)
		return -1;
	if (made)
		fchmod(fd, 0755);
	close(fd);
	return 0;
}
