/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_read SYSROOT1 SYSROOT2 ...: what one read of the perf backend costs
 * when the k-th sysroot offers k domains. Grouped: one instance with k
 * domains. Apart: k instances of one domain each. The variants take turns,
 * so that noise strikes all of them; medians are printed.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "clock.h"
#include "meter.h"

#define MAX_DOMAINS 8
#define ROUNDS 20000

struct variant {
	const struct ergon_backend *backend;
	size_t domains;
	void *grouped;
	void *apart[MAX_DOMAINS];
	uint64_t *grouped_ns;
	uint64_t *apart_ns;
};

static void die(const char *what, const struct ergon_error *err)
{
	fprintf(stderr, "bench_read: %s: %s\n", what, err->text);
	exit(1);
}

static void *open_perf(const char *root, const struct ergon_backend *perf)
{
	struct ergon_error err = { "" };
	/* Not freed: a machine must outlive its instances, and these live as long as we do. */
	struct ergon_machine *machine = calloc(1, sizeof(*machine));
	void *inst;

	if (!machine)
		exit(1);
	machine->sysroot = ergon_sysroot_open(root, &err);
	if (!machine->sysroot)
		die(root, &err);
	machine->topo = ergon_topo_load(machine->sysroot, &err);
	if (!machine->topo)
		die(root, &err);
	inst = perf->open(machine, &err);
	if (!inst)
		die(root, &err);
	return inst;
}

static void open_variant(struct variant *v, char **roots, size_t k)
{
	const struct ergon_channel *channels;

	v->backend = ergon_backend_by_name("perf");
	v->domains = k;
	v->grouped = open_perf(roots[k - 1], v->backend);
	for (size_t i = 0; i < k; i++)
		v->apart[i] = open_perf(roots[0], v->backend);
	v->grouped_ns = calloc(ROUNDS, sizeof(uint64_t));
	v->apart_ns = calloc(ROUNDS, sizeof(uint64_t));
	if (!v->grouped_ns || !v->apart_ns)
		exit(1);
	if (v->backend->channels(v->grouped, &channels) != k) {
		fprintf(stderr, "bench_read: %s: expected %zu channels\n", roots[k - 1], k);
		exit(1);
	}
}

static void measure(struct variant *v, size_t round)
{
	uint64_t raw[ERGON_METER_MAX_CHANNELS], start, middle;
	bool ok[ERGON_METER_MAX_CHANNELS];

	start = ergon_clock_ns();
	v->backend->read(v->grouped, raw, ok);
	middle = ergon_clock_ns();
	for (size_t i = 0; i < v->domains; i++)
		v->backend->read(v->apart[i], raw, ok);
	v->apart_ns[round] = ergon_clock_ns() - middle;
	v->grouped_ns[round] = middle - start;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double median(uint64_t *ns)
{
	qsort(ns, ROUNDS, sizeof(*ns), ascending);
	return (double)ns[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	struct variant variants[MAX_DOMAINS] = { { 0 } };
	cpu_set_t cpus;
	double one = 0;

	if (n < 1 || n > MAX_DOMAINS) {
		fprintf(stderr, "usage: bench_read SYSROOT1 [SYSROOT2 ...]\n");
		return 2;
	}
	/* On the counters' own CPU; elsewhere an inter-processor interrupt hides the rest. */
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (size_t k = 1; k <= n; k++)
		open_variant(&variants[k - 1], argv + 1, k);
	for (size_t round = 0; round < ROUNDS; round++)
		for (size_t k = 0; k < n; k++)
			measure(&variants[k], round);
	printf("domains  grouped_ns  ratio_to_one  apart_ns  apart_to_grouped\n");
	for (size_t k = 0; k < n; k++) {
		double grouped = median(variants[k].grouped_ns), apart = median(variants[k].apart_ns);

		if (k == 0)
			one = grouped;
		printf("%7zu  %10.0f  %12.2f  %8.0f  %16.2f\n", k + 1, grouped, grouped / one,
		       apart, apart / grouped);
	}
	return 0;
}
