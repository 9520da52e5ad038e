/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * polling PATTERN: a mock MPI in the program itself, so that a poll takes
 * the time that is asked for. Prints the seconds spent in polling and in
 * computing, as the program sees it.
 *   spin   stretches of 20 ms of polls, 20 ms of computing between
 *   slow   polls of 2 ms, 1 ms of computing between
 *   sparse a short poll every 0.1 ms of computing
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

static double poll_s;

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void burn(double seconds)
{
	double end = now_s() + seconds;

	while (now_s() < end)
		;
}

int PMPI_Init(int *argc, char ***argv);
int PMPI_Finalize(void);
int PMPI_Iprobe(int source, int tag, int comm, int *flag, void *status);
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Iprobe(int source, int tag, int comm, int *flag, void *status);

int PMPI_Init(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int PMPI_Finalize(void)
{
	return 0;
}

int PMPI_Iprobe(int source, int tag, int comm, int *flag, void *status)
{
	(void)source;
	(void)tag;
	(void)comm;
	(void)status;
	if (poll_s > 0)
		burn(poll_s);
	*flag = 0;
	return 0;
}

static double in_polls, in_app;

static void compute(double seconds)
{
	double begin = now_s();

	burn(seconds);
	in_app += now_s() - begin;
}

static void polls(int count, double seconds)
{
	double begin = now_s();
	int flag;

	for (int i = 0; seconds > 0 ? now_s() < begin + seconds : i < count; i++)
		for (int n = 0; n < (seconds > 0 ? 100 : 1); n++)
			MPI_Iprobe(0, 0, 0, &flag, NULL);
	in_polls += now_s() - begin;
}

int main(int argc, char **argv)
{
	const char *pattern = argc > 1 ? argv[1] : "";

	MPI_Init(&argc, &argv);
	for (int i = 0; strcmp(pattern, "spin") == 0 && i < 25; i++) {
		polls(0, 0.02);
		compute(0.02);
	}
	poll_s = strcmp(pattern, "slow") == 0 ? 0.002 : 0;
	for (int i = 0; strcmp(pattern, "slow") == 0 && i < 200; i++) {
		polls(1, 0);
		compute(0.001);
	}
	for (int i = 0; strcmp(pattern, "sparse") == 0 && i < 5000; i++) {
		polls(1, 0);
		compute(0.0001);
	}
	MPI_Finalize();
	printf("%.6f %.6f\n", in_polls, in_app);
	return 0;
}
