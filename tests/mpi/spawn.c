/* SPDX-License-Identifier: BSD-3-Clause */
/* A parent spawns two children and waits for them; children have ranks 0 and 1 too. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	MPI_Comm parent, children;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (parent == MPI_COMM_NULL) {
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
			       MPI_ERRCODES_IGNORE);
		MPI_Barrier(children);
		MPI_Comm_disconnect(&children);
		printf("parent %d\n", rank);
	} else {
		MPI_Barrier(parent);
		MPI_Comm_disconnect(&parent);
		printf("child %d\n", rank);
	}
	MPI_Finalize();
	return 0;
}
