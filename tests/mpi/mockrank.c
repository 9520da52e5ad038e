/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mockrank SECONDS: a rank of the mock MPI: 1 ms of computing, a barrier,
 * and so on. No launcher minds when one of them dies.
 */
#include <stdlib.h>
#include <time.h>

unsigned long MPI_Init(unsigned long, unsigned long);
unsigned long MPI_Barrier(unsigned long);
unsigned long MPI_Finalize(void);

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	double end = now_s() + (argc > 1 ? atof(argv[1]) : 1);
	struct timespec ms = { 0, 1000000 };

	MPI_Init(0, 0);
	while (now_s() < end) {
		nanosleep(&ms, NULL);
		MPI_Barrier(0);
	}
	MPI_Finalize();
	return 0;
}
