/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mockrank SECONDS [HABIT]: a rank of the mock MPI: 1 ms of sleep, a
 * barrier, and so on. No launcher minds when one of them dies. HABIT:
 *   close  closes every file it did not open, half-way
 *   chdir  changes to the root directory, half-way
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

unsigned long MPI_Init(unsigned long, unsigned long);
unsigned long MPI_Barrier(unsigned long);
unsigned long MPI_Finalize(void);

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void indulge(const char *habit)
{
	if (strcmp(habit, "close") == 0)
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	if (strcmp(habit, "chdir") == 0 && chdir("/") < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	double end = now_s() + seconds;
	const char *habit = argc > 2 ? argv[2] : NULL;
	struct timespec ms = { 0, 1000000 };

	MPI_Init(0, 0);
	while (now_s() < end) {
		if (habit && now_s() > end - seconds / 2) {
			indulge(habit);
			habit = NULL;
		}
		nanosleep(&ms, NULL);
		MPI_Barrier(0);
	}
	MPI_Finalize();
	return 0;
}
