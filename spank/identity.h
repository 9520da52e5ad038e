/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose account this is. Ids come from Slurm's credential; cluster, user,
 * account, partition, QOS, job name, array and het numbers come through the
 * user's environment and are unverified until joined at import.
 */
#ifndef ERGON_IDENTITY_H
#define ERGON_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include <slurm/spank.h>

#include "record.h"
#include "topo.h"

struct ergon_identity {
	uid_t uid;
	gid_t gid;
	uint32_t nodeid;          /* index of this node in the step */
	bool regular;             /* not batch, extern or interactive */
	bool whole;               /* step or job holds every CPU of the node */
	char host[64];            /* the machine's own short name */
};

/* Fill the key, names and sizes of *r and *id. topo may be NULL. */
void ergon_identity_get(spank_t sp, const struct ergon_topo *topo,
			struct ergon_identity *id, struct ergon_record *r);

/*
 * The node's name in Slurm (and the component of a het step): from the path of slurmstepd's own socket
 * (SPOOLDIR/NODE_JOB.STEP), which is there from the start; else from
 * SLURMD_NODENAME, which appears with the first task's exit; else host.
 */
void ergon_identity_node(spank_t sp, const struct ergon_identity *id, struct ergon_record *r);

/*
 * Node and het component of a socket path that ends in /NODE_JOB.STEP[.HET];
 * false when it is another's. *het is left alone when there is none.
 */
bool ergon_node_of_socket(const char *path, int64_t job, int64_t step,
			  char *node, size_t size, int64_t *het);

#endif
