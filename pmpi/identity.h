/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who this rank is: job, step, namespace, rank, host. The launcher's
 * environment says most of it and is all there is before MPI_Init and for
 * programs that have only sessions; once MPI is up it is asked for the rank.
 *
 * job and step: Slurm's, or the launcher's namespace as job and 0 as step
 * (with mpirun inside a Slurm job: Slurm's job, the namespace as step).
 * ns tells worlds of one job apart: spawned processes have another one.
 */
#ifndef ERGON_IDENTITY_H
#define ERGON_IDENTITY_H

#include <stdint.h>

struct ergon_identity {
	char job[64], step[32];
	char ns[64];
	char node_key[32];        /* tells nodes apart that share a host name's /dev/shm */
	char host[64];
	char boot_id[40];
	char mpi[64];             /* "Open MPI v4.1.4" */
	int32_t rank, size, local_rank; /* -1: unknown */
};

/* From the environment and /proc; MPI is not called. */
void ergon_identity_environment(struct ergon_identity *id);

/* What only MPI knows. world: MPI_COMM_WORLD exists (MPI_Init was called). */
void ergon_identity_mpi(struct ergon_identity *id, int world);

#endif
