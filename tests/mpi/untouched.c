/* SPDX-License-Identifier: BSD-3-Clause */
/* Not an MPI program. Fails when anything of ours can be noticed from inside. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int count(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static int early_errno;

__attribute__((constructor)) static void look(void)
{
	early_errno = errno;
}

int main(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	int ours = 0, others = 0;

	while (maps && fgets(line, sizeof(line), maps)) {
		ours += strstr(line, "libergon-mpi") != NULL;
		others += strstr(line, "libmpi") || strstr(line, "hwloc") || strstr(line, "ergon-sampler");
	}
	if (maps)
		fclose(maps);
	printf("errno %d fds %d threads %d mpi %d\n", early_errno, count("/proc/self/fd") - 2,
	       count("/proc/self/task") - 2, others);
	return ours ? 0 : 5;
}
