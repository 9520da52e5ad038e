/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endings HOW: two ranks; after 100 ms of barriers and 300 ms of computing
 * rank 1 ends in a bad way while rank 0 waits for it.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void compute_ms(int ms)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void end_by_abort(void)
{
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static void end_by_exit(void)
{
	exit(5);
}

static void end_by_quick_exit(void)
{
	_exit(5);
}

static void end_by_segv(void)
{
	raise(SIGSEGV);
}

static void end_by_kill(void)
{
	kill(getpid(), SIGKILL);
}

static const struct {
	const char *name;
	void (*end)(void);
} endings[] = {
	{ "abort", end_by_abort },
	{ "exit", end_by_exit },
	{ "_exit", end_by_quick_exit },
	{ "segv", end_by_segv },
	{ "kill", end_by_kill },
};

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };
	int rank, size;

	setrlimit(RLIMIT_CORE, &none);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 10; i++) {
		compute_ms(10);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (rank == size - 1) {
		compute_ms(300);
		for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
			if (argc == 2 && strcmp(argv[1], endings[i].name) == 0)
				endings[i].end();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
