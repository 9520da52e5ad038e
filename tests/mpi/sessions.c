/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that never calls MPI_Init; exit 77 where there are no sessions. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
#if MPI_VERSION >= 4
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	int in = 1, out = 0, rank;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, "ergon", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
	MPI_Comm_rank(comm, &rank);
	for (int i = 0; i < 10; i++)
		MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
	MPI_Comm_free(&comm);
	MPI_Group_free(&group);
	MPI_Session_finalize(&session);
	printf("rank %d out %d\n", rank, out);
	return 0;
#else
	return 77;
#endif
}
