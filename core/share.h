/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What part of a node's energy is a step's, when the node is not the
 * step's alone. Pure; everything it needs is known on the node itself.
 *
 *   idle  = idle_w * dt, at most the node's energy; the rest is dynamic
 *   job   = idle * cpus_job / cpus_node + dynamic * cpu_job / cpu_busy
 *   other = dynamic energy of the node's other work
 *   unallocated = idle energy of the CPUs the step does not hold
 *
 * job + other + unallocated is the node's energy to the microjoule.
 */
#ifndef ERGON_SHARE_H
#define ERGON_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct ergon_usage {
	uint64_t node_uj;
	uint64_t dt_ns;
	double idle_w;            /* of the whole node; 0: unknown, all energy is dynamic */
	int64_t cpus_job;         /* held by the step, on this node */
	int64_t cpus_node;
	int64_t cpu_job_ns;       /* CPU time of the step; < 0: unknown, CPUs held stand in */
	int64_t cpu_busy_ns;      /* CPU time of everything on the node; < 0: unknown */
};

struct ergon_split {
	uint64_t job_uj, other_uj, unallocated_uj;
};

/* True when the step holds every CPU: it gets all. */
bool ergon_share_is_whole(const struct ergon_usage *u);

void ergon_share_split(const struct ergon_usage *u, struct ergon_split *out);

/*
 * Idle watts of a node from the configuration's list: "95" for every node,
 * or "n[1-9,12]:95,login:80", first match counts; leading zeros in a range
 * fix the width. 0 when the list does not say.
 */
double ergon_idle_watts(const char *list, const char *node);

#endif
