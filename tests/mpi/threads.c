/* SPDX-License-Identifier: BSD-3-Clause */
/* Four threads call MPI_Allreduce on communicators of their own, 1000 times each. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define CALLS 1000

static MPI_Comm comms[THREADS];
static int sums[THREADS];

static void *work(void *arg)
{
	int i = (int)((MPI_Comm *)arg - comms);
	int in = 1, out;

	for (int n = 0; n < CALLS; n++) {
		MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comms[i]);
		sums[i] += out;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	if (provided != MPI_THREAD_MULTIPLE) {
		MPI_Finalize();
		return 77;
	}
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
	for (int i = 1; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &comms[i]);
	work(&comms[0]);
	for (int i = 1; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
	printf("%d %d %d %d\n", sums[0], sums[1], sums[2], sums[3]);
	MPI_Finalize();
	return 0;
}
