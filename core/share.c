/* SPDX-License-Identifier: BSD-3-Clause */
#include "share.h"

/* uj * part / whole, part clamped to [0, whole]; 0 when whole is not positive. */
static uint64_t portion(uint64_t uj, int64_t part, int64_t whole)
{
	if (whole <= 0 || part <= 0)
		return 0;
	if (part >= whole)
		return uj;
	return (uint64_t)((unsigned __int128)uj * (uint64_t)part / (uint64_t)whole);
}

bool ergon_share_is_whole(const struct ergon_usage *u)
{
	return u->cpus_node > 0 && u->cpus_job >= u->cpus_node;
}

void ergon_share_split(const struct ergon_usage *u, struct ergon_split *out)
{
	uint64_t idle = 0, dynamic, idle_job, dynamic_job;
	double idle_uj;

	if (ergon_share_is_whole(u)) {
		*out = (struct ergon_split){ u->node_uj, 0, 0 };
		return;
	}
	idle_uj = u->idle_w * (double)u->dt_ns * 1e-3; /* W * ns = nJ */
	if (idle_uj >= (double)u->node_uj)
		idle = u->node_uj;
	else if (idle_uj > 0)
		idle = (uint64_t)idle_uj;
	dynamic = u->node_uj - idle;

	idle_job = portion(idle, u->cpus_job, u->cpus_node);
	if (u->cpu_job_ns < 0 || u->cpu_busy_ns < 0)
		dynamic_job = portion(dynamic, u->cpus_job, u->cpus_node);
	else
		dynamic_job = portion(dynamic, u->cpu_job_ns, u->cpu_busy_ns);
	out->job_uj = idle_job + dynamic_job;
	out->other_uj = dynamic - dynamic_job;
	out->unallocated_uj = idle - idle_job;
}
