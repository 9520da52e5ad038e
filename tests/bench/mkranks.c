/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mkranks DIR RANKS ROWS RANKS_PER_NODE: a result as a run would leave it,
 * with figures made from the rank and row number, whose nanojoules add up
 * exactly.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NANO 1000000000u
#define UNATTRIBUTED_NJ 1234567890u

static const char *const functions[][2] = {
	{ "app", "" }, { "p2p", "MPI_Send" }, { "wait", "MPI_Waitall" }, { "poll", "MPI_Test" },
	{ "collective", "MPI_Allreduce" }, { "collective", "MPI_Bcast" }, { "rma", "MPI_Put" },
	{ "io", "MPI_File_write_all" }, { "comm", "MPI_Comm_split" }, { "startup", "MPI_Init" },
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

struct run {
	const char *dir;
	unsigned ranks, rows, ranks_per_node;
};

static FILE *create(const struct run *run, const char *name)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", run->dir, name);
	out = fopen(path, "w");
	if (!out)
		perror(path);
	return out;
}

static void print_nano(FILE *out, uint64_t nano)
{
	fprintf(out, ",%" PRIu64 ".%09" PRIu64, nano / NANO, nano % NANO);
}

/* Adds the rank's nJ to the node's. */
static int write_rank(const struct run *run, unsigned rank, uint64_t node_nj[2])
{
	char name[64];
	FILE *out;

	snprintf(name, sizeof(name), "rank.w.%u.csv", rank);
	out = create(run, name);
	if (!out)
		return -1;
	fprintf(out, "# ergon-rank 1\n# job=77 step=0 ns=w rank=%u size=%u local_rank=%u host=n%u boot_id=b%u"
		" mpi=\"Open MPI v4.1.4\" mechanism=perf scope=cpu+dram share=cores freq_hz=100\n",
		rank, run->ranks, rank % run->ranks_per_node, rank / run->ranks_per_node,
		rank / run->ranks_per_node);
	fprintf(out, "# start=2026-11-30T12:00:00.123456789Z wall_s=%u.5 state=complete samples=1000"
		" missed=0 overhead_s=0.001000000\n", 10 + rank % 7);
	fprintf(out, "phase,activity,function,calls,time_s,cpu_s,package_j,dram_j,gpu_j,platform_j,node_j,flags\n");
	for (unsigned i = 0; i < run->rows; i++) {
		const char *const *function = functions[i % FUNCTIONS];
		uint64_t time_ns = 20000000u + 1000u * i + 7919u * (rank % 101);
		uint64_t package_nj = 40 * time_ns + 13u * rank + i, dram_nj = 5 * time_ns + 3u * i;

		fprintf(out, i < FUNCTIONS ? "main,%s,%s,%u" : "main/p%4$u,%1$s,%2$s,%3$u",
			function[0], function[1], i % FUNCTIONS ? 100 + i : 0,
			(unsigned)(i / FUNCTIONS));
		print_nano(out, time_ns);
		print_nano(out, time_ns);
		print_nano(out, package_nj);
		print_nano(out, dram_nj);
		fprintf(out, ",,,,%s\n", i % 13 == 12 ? "short" : "");
		node_nj[0] += package_nj;
		node_nj[1] += dram_nj;
	}
	fprintf(out, "# end rows=%u\n", run->rows);
	return fclose(out);
}

static int write_node(const struct run *run, unsigned node, const uint64_t node_nj[2])
{
	static const char *const domains[] = { "package", "dram" };
	char name[64];
	FILE *out;

	snprintf(name, sizeof(name), "node.n%u.csv", node);
	out = create(run, name);
	if (!out)
		return -1;
	fprintf(out, "# ergon-node 1\n# job=77 step=0 host=n%u boot_id=b%u mechanism=perf scope=cpu+dram freq_hz=100\n"
		"# start=2026-11-30T12:00:00.100000000Z wall_s=17.0 state=complete samples=1000 missed=0\n"
		"channel,domain,package,energy_j,unattributed_j,flags\n", node, node);
	for (int i = 0; i < 2; i++) {
		fprintf(out, "%s0,%s,0", domains[i], domains[i]);
		print_nano(out, node_nj[i] + UNATTRIBUTED_NJ);
		print_nano(out, UNATTRIBUTED_NJ);
		fprintf(out, ",\n");
	}
	fprintf(out, "# end rows=2\n");
	return fclose(out);
}

int main(int argc, char **argv)
{
	struct run run;
	uint64_t node_nj[2] = { 0, 0 };

	if (argc != 5) {
		fprintf(stderr, "usage: mkranks DIR RANKS ROWS RANKS_PER_NODE\n");
		return 2;
	}
	run.dir = argv[1];
	run.ranks = (unsigned)strtoul(argv[2], NULL, 10);
	run.rows = (unsigned)strtoul(argv[3], NULL, 10);
	run.ranks_per_node = (unsigned)strtoul(argv[4], NULL, 10);
	if (run.ranks_per_node == 0)
		return 2;
	for (unsigned rank = 0; rank < run.ranks; rank++) {
		if (write_rank(&run, rank, node_nj) != 0)
			return 1;
		if ((rank + 1) % run.ranks_per_node == 0 || rank + 1 == run.ranks) {
			if (write_node(&run, rank / run.ranks_per_node, node_nj) != 0)
				return 1;
			node_nj[0] = node_nj[1] = 0;
		}
	}
	return 0;
}
