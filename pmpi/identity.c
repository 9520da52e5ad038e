/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launchers known: srun (PMIx, PMI-2), Open MPI's mpirun up to 4 (ORTE) and
 * from 5 (PRRTE), Hydra (MPICH, Intel MPI), PALS, Flux. The environment is
 * read with getenv, not through the table of ERGON_ variables: these names
 * are others'.
 */
#include "identity.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "next.h"

static const char *const rank_variables[] = {
	"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID",
	"PALS_RANKID", "FLUX_TASK_RANK", NULL
};

static const char *const size_variables[] = {
	"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",
	"PALS_SIZE", "FLUX_JOB_SIZE", NULL
};

static const char *const local_rank_variables[] = {
	"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
	"PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID", NULL
};

static int parse_int(const char *text, int32_t *out)
{
	char *end;
	long value;

	if (!text || !isdigit((unsigned char)text[0]))
		return -1;
	errno = 0;
	value = strtol(text, &end, 10);
	if (*end || errno || value > INT32_MAX)
		return -1;
	*out = (int32_t)value;
	return 0;
}

static int32_t first_number(const char *const *variables)
{
	int32_t value;

	for (; *variables; variables++)
		if (parse_int(getenv(*variables), &value) == 0)
			return value;
	return -1;
}

/* A name that is safe in a file name and holds no dot: dots separate. */
static void copy_safe(char *out, size_t size, const char *text, size_t len)
{
	size_t n = 0;

	for (; n < len && n + 1 < size && text[n]; n++)
		out[n] = isalnum((unsigned char)text[n]) || text[n] == '-' || text[n] == '_' ?
			 text[n] : '_';
	out[n] = '\0';
}

static void copy_line(char *out, size_t size, const char *path)
{
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		n = read(fd, out, size - 1);
		close(fd);
	}
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* Field 22 of /proc/PID/stat: with the pid it names a process for good. */
static unsigned long long start_ticks(long pid)
{
	char path[64], text[1024];
	char *field;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	copy_line(text, sizeof(text), path);
	field = strrchr(text, ')');
	for (int i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field + 1, NULL, 10) : 0;
}

/*
 * The process that launched us. Hydra's proxy made the socket PMI_FD, so it
 * is found even with a shell in between; a rank without a launcher
 * (singleton) is its own.
 */
static long launcher_pid(int32_t rank)
{
	int32_t fd;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (rank < 0)
		return getpid();
	if (parse_int(getenv("PMI_FD"), &fd) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid > 0)
		return peer.pid;
	return getppid();
}

/*
 * Split a namespace into what all worlds of one launch share and the rest:
 * ORTE: a number, family * 65536 + world; PRRTE: "prterun-host-pid@world".
 */
static void split_namespace(struct ergon_identity *id, const char *name)
{
	char *end;
	unsigned long number = strtoul(name, &end, 10);
	const char *at = strrchr(name, '@');

	if (*name && !*end && number <= UINT32_MAX) {
		snprintf(id->job, sizeof(id->job), "%lu", number >> 16);
		snprintf(id->ns, sizeof(id->ns), "%lu", number & 0xffff);
	} else if (at) {
		copy_safe(id->job, sizeof(id->job), name, (size_t)(at - name));
		copy_safe(id->ns, sizeof(id->ns), at + 1, SIZE_MAX);
	} else {
		copy_safe(id->job, sizeof(id->job), name, SIZE_MAX);
	}
}

static void set_job(struct ergon_identity *id)
{
	const char *job = getenv("SLURM_JOB_ID");
	const char *step = getenv("SLURM_STEP_ID");
	const char *ns = getenv("PMIX_NAMESPACE");
	int own_launcher = ns && strncmp(ns, "slurm.pmix.", 11) != 0;

	strcpy(id->step, "0");
	strcpy(id->ns, "0");
	if (own_launcher) {
		split_namespace(id, ns);
	} else if (!job || !step) {
		long pid = launcher_pid(id->rank);

		snprintf(id->job, sizeof(id->job), "%ld-%llu", pid, start_ticks(pid));
	} else if (getenv("PMI_SPAWNED")) {
		snprintf(id->ns, sizeof(id->ns), "%ld", launcher_pid(id->rank));
	}
	if (!job)
		return;
	if (step && !own_launcher)
		copy_safe(id->step, sizeof(id->step), step, SIZE_MAX);
	else
		copy_safe(id->step, sizeof(id->step), id->job, sizeof(id->step));
	copy_safe(id->job, sizeof(id->job), job, SIZE_MAX);
}

void ergon_identity_environment(struct ergon_identity *id)
{
	const char *node = getenv("SLURMD_NODENAME");
	const char *node_id = getenv("SLURM_NODEID");

	memset(id, 0, sizeof(*id));
	id->rank = first_number(rank_variables);
	id->size = first_number(size_variables);
	id->local_rank = first_number(local_rank_variables);
	set_job(id);
	copy_safe(id->node_key, sizeof(id->node_key), node_id ? node_id : "0", SIZE_MAX);
	if (node && *node)
		snprintf(id->host, sizeof(id->host), "%s", node);
	else if (gethostname(id->host, sizeof(id->host)) < 0)
		strcpy(id->host, "unknown");
	id->host[sizeof(id->host) - 1] = '\0';
	copy_line(id->boot_id, sizeof(id->boot_id), "/proc/sys/kernel/random/boot_id");
}

/*
 * MPI_COMM_WORLD is an address in Open MPI and a number in every MPICH ABI
 * library (MPICH, Intel MPI, MVAPICH, Cray); other libraries are left to
 * the environment.
 */
static int world_handle(const char *version, uintptr_t *world)
{
	static const char *const mpich_like[] = { "MPICH", "Intel(R) MPI", "MVAPICH", NULL };

	if (strstr(version, "Open MPI")) {
		*world = (uintptr_t)ergon_next_symbol("ompi_mpi_comm_world");
		return *world ? 0 : -1;
	}
	for (int i = 0; mpich_like[i]; i++) {
		if (strstr(version, mpich_like[i])) {
			*world = 0x44000000;
			return 0;
		}
	}
	return -1;
}

static void ask_number(const char *function, uintptr_t world, int32_t *out)
{
	int (*ask)(uintptr_t comm, int *value);
	void *symbol = ergon_next_symbol(function);
	int value = -1;

	memcpy(&ask, &symbol, sizeof(ask));
	if (symbol && ask(world, &value) == 0 && value >= 0)
		*out = value;
}

/* "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n..." without the rest. */
static void set_version(struct ergon_identity *id, const char *text)
{
	size_t len = strcspn(text, ",\n");
	const char *word = strstr(text, " Version:");
	size_t name = word && word < text + len ? (size_t)(word - text) : len;

	if (name < len) {
		word += strlen(" Version:");
		word += strspn(word, " \t");
	} else {
		word = "";
	}
	snprintf(id->mpi, sizeof(id->mpi), "%.*s%s%.*s", (int)name, text, *word ? " " : "",
		 (int)strcspn(word, ",\n"), word);
	for (char *c = id->mpi; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
}

void ergon_identity_mpi(struct ergon_identity *id, int world)
{
	static char version[8192]; /* MPI_MAX_LIBRARY_VERSION_STRING is 256 or 8192 */
	int (*get_version)(char *text, int *len);
	void *symbol = ergon_next_symbol("PMPI_Get_library_version");
	uintptr_t handle;
	int len = 0;

	version[0] = '\0';
	memcpy(&get_version, &symbol, sizeof(get_version));
	if (symbol)
		get_version(version, &len);
	version[sizeof(version) - 1] = '\0';
	set_version(id, version);
	if (world && world_handle(version, &handle) == 0) {
		ask_number("PMPI_Comm_rank", handle, &id->rank);
		ask_number("PMPI_Comm_size", handle, &id->size);
	}
}
