/* SPDX-License-Identifier: BSD-3-Clause */
/* peak COMMAND...: run it, then print "SECONDS s, KB kB" on standard error. Exits as it did. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double start = now_s();
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	pid = fork();
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0) {
		perror("peak");
		return 99;
	}
	fprintf(stderr, "%.2f s, %ld kB\n", now_s() - start, usage.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
