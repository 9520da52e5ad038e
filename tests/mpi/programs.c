/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * programs NAME: one small MPI program per name, run by programs.sh with
 * and without the interposer. Each prints what it computed, so that a
 * changed argument shows, and makes a number of calls that the script knows.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD

static int rank, size;

static void compute_ms(int ms)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void ring(void)
{
	int token = 1;

	for (int i = 0; i < 100; i++) {
		int next = (rank + 1) % size, prev = (rank + size - 1) % size;

		if (rank == 0) {
			MPI_Send(&token, 1, MPI_INT, next, i, WORLD);
			MPI_Recv(&token, 1, MPI_INT, prev, i, WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(&token, 1, MPI_INT, prev, i, WORLD, MPI_STATUS_IGNORE);
			token += rank;
			MPI_Send(&token, 1, MPI_INT, next, i, WORLD);
		}
	}
	printf("rank %d token %d\n", rank, token);
}

static void imbalance(void)
{
	for (int i = 0; i < 3; i++) {
		if (rank == 0)
			compute_ms(100);
		MPI_Barrier(WORLD);
	}
}

/* Rank 1 sends late; rank 0 polls. */
static void poll_test(void)
{
	int value = 0, flag = 0;
	MPI_Request request;

	if (rank == 1) {
		compute_ms(100);
		value = 42;
		MPI_Send(&value, 1, MPI_INT, 0, 0, WORLD);
	} else if (rank == 0) {
		MPI_Irecv(&value, 1, MPI_INT, 1, 0, WORLD, &request);
		while (!flag)
			MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
		printf("value %d\n", value);
	}
}

static void poll_iprobe(void)
{
	int value = 0, flag = 0;

	if (rank == 1) {
		compute_ms(100);
		value = 43;
		MPI_Send(&value, 1, MPI_INT, 0, 0, WORLD);
	} else if (rank == 0) {
		while (!flag)
			MPI_Iprobe(1, 0, WORLD, &flag, MPI_STATUS_IGNORE);
		MPI_Recv(&value, 1, MPI_INT, 1, 0, WORLD, MPI_STATUS_IGNORE);
		printf("value %d\n", value);
	}
}

static void testsome(void)
{
	MPI_Request requests[4];
	int values[4] = { 0 }, indices[4], done = 0, count;

	if (rank == 1) {
		for (int i = 0; i < 4; i++) {
			compute_ms(10);
			MPI_Send(&i, 1, MPI_INT, 0, i, WORLD);
		}
	} else if (rank == 0) {
		for (int i = 0; i < 4; i++)
			MPI_Irecv(&values[i], 1, MPI_INT, 1, i, WORLD, &requests[i]);
		while (done < 4) {
			MPI_Testsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
			if (count > 0)
				done += count;
		}
		printf("values %d %d %d %d\n", values[0], values[1], values[2], values[3]);
	}
}

static void nonblocking(void)
{
	int in = rank + 1, out = 0, all[64] = { 0 };
	MPI_Request requests[2];

	for (int i = 0; i < 10; i++) {
		MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, WORLD, &requests[0]);
		MPI_Iallgather(&in, 1, MPI_INT, all, 1, MPI_INT, WORLD, &requests[1]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
	printf("rank %d out %d all %d\n", rank, out, all[size - 1]);
}

static void persistent(void)
{
	int in = rank, out = -1, peer = rank ^ 1;
	MPI_Request requests[2];

	MPI_Send_init(&in, 1, MPI_INT, peer, 0, WORLD, &requests[0]);
	MPI_Recv_init(&out, 1, MPI_INT, peer, 0, WORLD, &requests[1]);
	for (int i = 0; i < 10; i++) {
		MPI_Startall(2, requests);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		in += 2;
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	printf("rank %d out %d\n", rank, out);
}

#if MPI_VERSION >= 4
static void persistent_collective(void)
{
	int in = rank + 1, out = 0;
	MPI_Request request;

	MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, WORLD, MPI_INFO_NULL, &request);
	for (int i = 0; i < 10; i++) {
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		in++;
	}
	MPI_Request_free(&request);
	printf("rank %d out %d\n", rank, out);
}

static void large_count(void)
{
	int in = rank + 1, out = 0;

	for (int i = 0; i < 10; i++)
		MPI_Allreduce_c(&in, &out, 1, MPI_INT, MPI_SUM, WORLD);
	printf("rank %d out %d\n", rank, out);
}
#endif

static void rma(void)
{
	int memory = 0, one = 1, old = 0, value = rank + 10;
	MPI_Win win;

	MPI_Win_create(&memory, sizeof(memory), sizeof(memory), MPI_INFO_NULL, WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	printf("rank %d put %d\n", rank, memory);
	MPI_Win_fence(0, win);
	/* Twelve arguments: six of them on the stack. */
	MPI_Get_accumulate(&one, 1, MPI_INT, &old, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT,
			   MPI_SUM, win);
	MPI_Win_fence(0, win);
	printf("rank %d old %d now %d\n", rank, old, memory);
	MPI_Win_free(&win);
}

static void file_io(void)
{
	const char *path = getenv("TEST_FILE");
	int value = rank * 3, back = -1;
	MPI_File file;

	MPI_File_open(WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof(value), &value, 1, MPI_INT,
			      MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_File_read_at(file, rank * (MPI_Offset)sizeof(value), &back, 1, MPI_INT,
			 MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	printf("rank %d read %d\n", rank, back);
}

static void split(void)
{
	MPI_Comm half, copy;
	int r, s;

	MPI_Comm_split(WORLD, rank % 2, rank, &half);
	MPI_Comm_dup(half, &copy);
	MPI_Comm_rank(copy, &r);
	MPI_Comm_size(copy, &s);
	MPI_Comm_free(&copy);
	MPI_Comm_free(&half);
	printf("rank %d is %d of %d\n", rank, r, s);
}

static void tiny(void)
{
	int in = 1, out = 0;
	long sum = 0;

	for (int i = 0; i < 1000000; i++) {
		MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
		sum += out;
	}
	printf("rank %d sum %ld\n", rank, sum);
}

/* A child that leaves by exit() runs our destructor. */
static void fork_exit(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		exit(7);
	waitpid(pid, &status, 0);
	MPI_Barrier(WORLD);
	printf("rank %d child %d\n", rank, WEXITSTATUS(status));
}

static void fork_exec(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execlp("sh", "sh", "-c", "exit 9", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	MPI_Barrier(WORLD);
	printf("rank %d child %d\n", rank, WEXITSTATUS(status));
}

static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*run)(void);
} programs[] = {
	{ "ring", ring },
	{ "imbalance", imbalance },
	{ "poll_test", poll_test },
	{ "poll_iprobe", poll_iprobe },
	{ "testsome", testsome },
	{ "nonblocking", nonblocking },
	{ "persistent", persistent },
	{ "rma", rma },
	{ "file", file_io },
	{ "split", split },
	{ "tiny", tiny },
	{ "fork_exit", fork_exit },
	{ "fork_exec", fork_exec },
	{ "nothing", nothing },
#if MPI_VERSION >= 4
	{ "persistent_collective", persistent_collective },
	{ "large_count", large_count },
#endif
};

int main(int argc, char **argv)
{
	int flag = -1, version, subversion;

	/* Legal before MPI_Init. */
	MPI_Initialized(&flag);
	MPI_Get_version(&version, &subversion);
	if (flag != 0 || argc != 2)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &rank);
	MPI_Comm_size(WORLD, &size);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (strcmp(programs[i].name, argv[1]) == 0) {
			programs[i].run();
			fflush(stdout);
			MPI_Finalize();
			/* Legal after MPI_Finalize. */
			MPI_Finalized(&flag);
			return flag == 1 ? 0 : 4;
		}
	}
	MPI_Finalize();
	return 77;
}
