/* SPDX-License-Identifier: BSD-3-Clause */
#include "identity.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Slurm's special step ids are the last 32-bit numbers: -4, -5, -6. */
#define FIRST_SPECIAL_STEP 0xfffffff0u
#define SLURM_NO_VAL 0xfffffffeu

static int64_t item_u32(spank_t sp, spank_item_t item)
{
	uint32_t value;

	return spank_get_item(sp, item, &value) == ESPANK_SUCCESS && value != SLURM_NO_VAL ?
	       (int64_t)value : ERGON_NONE;
}

static void env_text(spank_t sp, const char *name, char *buf, size_t size)
{
	/* Too long a value is cut. */
	spank_err_t rc = spank_getenv(sp, name, buf, (int)size);

	if (rc != ESPANK_SUCCESS && rc != ESPANK_NOSPACE)
		buf[0] = '\0';
	buf[size - 1] = '\0';
}

static int64_t env_integer(spank_t sp, const char *name)
{
	char text[24], *end;
	long long value;

	env_text(sp, name, text, sizeof(text));
	value = strtoll(text, &end, 10);
	return *text && !*end && value >= 0 ? value : ERGON_NONE;
}

/* Cores in a list such as "0-3,8"; 0 when there is none. */
static int64_t count_cores(spank_t sp)
{
	char *list = NULL;
	int *cores;
	ssize_t n;

	if (spank_get_item(sp, S_JOB_ALLOC_CORES, &list) != ESPANK_SUCCESS || !list)
		return 0;
	n = ergon_cpulist_parse(list, &cores);
	if (n < 0)
		return 0;
	free(cores);
	return n;
}

static void get_names(spank_t sp, struct ergon_record *r)
{
	env_text(sp, "SLURM_CLUSTER_NAME", r->cluster, sizeof(r->cluster));
	env_text(sp, "SLURM_JOB_USER", r->user, sizeof(r->user));
	env_text(sp, "SLURM_JOB_ACCOUNT", r->account, sizeof(r->account));
	env_text(sp, "SLURM_JOB_PARTITION", r->partition, sizeof(r->partition));
	env_text(sp, "SLURM_JOB_QOS", r->qos, sizeof(r->qos));
	env_text(sp, "SLURM_JOB_NAME", r->job_name, sizeof(r->job_name));
	r->het = env_integer(sp, "SLURM_HET_JOB_OFFSET");
}

void ergon_identity_get(spank_t sp, const struct ergon_topo *topo,
			struct ergon_identity *id, struct ergon_record *r)
{
	int64_t step = item_u32(sp, S_JOB_STEPID), nodeid = item_u32(sp, S_JOB_NODEID);
	uint16_t cpus;

	memset(id, 0, sizeof(*id));
	id->uid = (uid_t)-1;
	id->gid = (gid_t)-1;
	spank_get_item(sp, S_JOB_UID, &id->uid);
	spank_get_item(sp, S_JOB_GID, &id->gid);
	id->nodeid = nodeid == ERGON_NONE ? 0 : (uint32_t)nodeid;
	id->regular = step >= 0 && step < FIRST_SPECIAL_STEP;
	if (gethostname(id->host, sizeof(id->host) - 1) < 0 || !*id->host)
		strcpy(id->host, "localhost");
	id->host[strcspn(id->host, "./")] = '\0';

	r->job = item_u32(sp, S_JOB_ID);
	/* The item is 0 even where the variable is right (22.05); the extern step has neither. */
	r->restart = env_integer(sp, "SLURM_RESTART_COUNT");
	if (r->restart == ERGON_NONE)
		r->restart = item_u32(sp, S_SLURM_RESTART_COUNT);
	if (r->restart == ERGON_NONE)
		r->restart = 0;
	r->step = step >= FIRST_SPECIAL_STEP ? (int32_t)step : step;
	r->uid = id->uid == (uid_t)-1 ? ERGON_NONE : (int64_t)id->uid;
	get_names(sp, r);
	r->array_task = item_u32(sp, S_JOB_ARRAY_TASK_ID);
	r->array_job = item_u32(sp, S_JOB_ARRAY_ID);
	if (r->array_job <= 0 || r->array_task == ERGON_NONE)
		r->array_job = r->array_task = ERGON_NONE;
	r->nnodes = item_u32(sp, S_JOB_NNODES);
	r->ntasks = item_u32(sp, S_JOB_TOTAL_TASK_COUNT);
	r->node_tasks = item_u32(sp, S_JOB_LOCAL_TASK_COUNT);
	if (spank_get_item(sp, S_JOB_NCPUS, &cpus) == ESPANK_SUCCESS)
		r->cpus = cpus;
	if (topo) {
		r->node_cpus = (int64_t)topo->ncpus;
		/* A job that holds the node leaves no one to share with, whatever its step uses. */
		id->whole = r->cpus >= r->node_cpus || count_cores(sp) >= (int64_t)topo->ncores;
	}
}

bool ergon_node_of_socket(const char *path, int64_t job, int64_t step,
			  char *node, size_t size, int64_t *het)
{
	const char *base = strrchr(path, '/'), *at;
	char tail[64], *end;
	unsigned long component;
	size_t len;

	if (!base++ || *base == '.')
		return false;
	snprintf(tail, sizeof(tail), "_%" PRId64 ".%" PRIu32, job, (uint32_t)step);
	/* A node's name may hold anything, the tail itself included. */
	for (at = strstr(base, tail); at; at = strstr(at + 1, tail)) {
		const char *rest = at + strlen(tail);

		len = (size_t)(at - base);
		if (len == 0 || len >= size || (*rest && *rest != '.'))
			continue;
		if (*rest) {
			component = strtoul(rest + 1, &end, 10);
			if (end == rest + 1 || *end)
				continue;
			*het = (int64_t)component;
		}
		memcpy(node, base, len);
		node[len] = '\0';
		return true;
	}
	return false;
}

static bool node_from_sockets(struct ergon_record *r)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	bool found = false;

	while (!found && dir && (entry = readdir(dir))) {
		struct sockaddr_un sun;
		socklen_t len = sizeof(sun) - 1;

		memset(&sun, 0, sizeof(sun));
		if (getsockname(atoi(entry->d_name), (struct sockaddr *)&sun, &len) == 0 &&
		    sun.sun_family == AF_UNIX)
			found = ergon_node_of_socket(sun.sun_path, r->job, r->step,
						     r->node, sizeof(r->node), &r->het);
	}
	if (dir)
		closedir(dir);
	return found;
}

void ergon_identity_node(spank_t sp, const struct ergon_identity *id, struct ergon_record *r)
{
	if (node_from_sockets(r))
		return;
	env_text(sp, "SLURMD_NODENAME", r->node, sizeof(r->node));
	if (!*r->node || *r->node == '.' || strchr(r->node, '/'))
		strcpy(r->node, id->host);
}
