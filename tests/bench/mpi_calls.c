/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ns per call of MPI_Allreduce on MPI_COMM_SELF and of an MPI_Iprobe that
 * misses, in tight loops: the smallest of several rounds, which is what the
 * machine can do when nobody disturbs it. One line: "allreduce NS iprobe NS".
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

#define CALLS 200000
#define ROUNDS 15

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void allreduce(void)
{
	int in = 1, out;

	for (int i = 0; i < CALLS; i++)
		MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

static void iprobe(void)
{
	int flag;

	for (int i = 0; i < CALLS; i++)
		MPI_Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static double best_ns(void (*loop)(void))
{
	double best = 1e18;

	for (int i = 0; i < ROUNDS; i++) {
		double begin = now_ns();
		double ns;

		loop();
		ns = (now_ns() - begin) / CALLS;
		if (ns < best)
			best = ns;
	}
	return best;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	printf("allreduce %.2f", best_ns(allreduce));
	printf(" iprobe %.2f\n", best_ns(iprobe));
	MPI_Finalize();
	return 0;
}
