/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which CPU sits in which package, die and core: plain data, loaded once.
 * topo.c is the only file that includes hwloc.h; no hwloc type leaves it.
 * Ids are the operating system's and may have gaps.
 */
#ifndef ERGON_TOPO_H
#define ERGON_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "sysroot.h"

struct ergon_cpu {
	int os;                   /* kernel CPU number */
	int package;              /* physical package id */
	int die;                  /* die id within the package, 0 when there are no dies */
	int core;                 /* core, numbered over the node from 0 */
};

struct ergon_topo {
	size_t ncpus;             /* online CPUs, ascending by os */
	struct ergon_cpu *cpus;
	size_t npackages;         /* distinct package ids, ascending */
	int *packages;
	size_t ncores;
	char vendor[32];          /* "GenuineIntel", "AuthenticAMD", ...; "" unknown */
	int family;               /* CPUID family and model; -1 unknown */
	int model;
};

/*
 * Load from SYSROOT/topo.xml (hwloc XML, a fixture) if there is one, else
 * from the live machine. Freed by ergon_topo_free. May take tens of ms.
 */
struct ergon_topo *ergon_topo_load(const struct ergon_sysroot *sr, struct ergon_error *err);
void ergon_topo_free(struct ergon_topo *topo);

/*
 * The topology as text for a fixture's topo.xml, from which
 * ergon_topo_load makes the same. Host name, serial numbers and UUIDs are
 * left out. malloc'ed; NULL + err.
 */
char *ergon_topo_export(const struct ergon_sysroot *sr, struct ergon_error *err);

/*
 * As ergon_topo_load, through a cache file that is valid for one boot
 * (the kernel's boot_id) and one set of online CPUs. An unusable or
 * foreign cache is replaced (temp + rename, mode 0444); failing to write
 * it is not an error. The file must belong to the caller's euid.
 */
struct ergon_topo *ergon_topo_load_cached(const struct ergon_sysroot *sr, const char *cache_file,
					  struct ergon_error *err);

/* NULL when the CPU is not online. */
const struct ergon_cpu *ergon_topo_cpu(const struct ergon_topo *topo, int os);

/* Lowest online CPU of a package (die -1: any die); -1 when there is none. */
int ergon_topo_first_cpu(const struct ergon_topo *topo, int package, int die);

/* Position of a package id in packages[]; -1 when unknown. */
int ergon_topo_package_index(const struct ergon_topo *topo, int package);

/* True when some package has more than one die. */
bool ergon_topo_has_dies(const struct ergon_topo *topo);

/* True on AMD and Hygon, where dies of a package show one and the same counter. */
bool ergon_topo_counts_per_package(const struct ergon_topo *topo);

/*
 * Parse the kernel's list format ("0,18", "0-3,8"). Returns the number of
 * CPUs, ascending, in a malloc'ed *cpus; -1 + EINVAL on bad text.
 */
ssize_t ergon_cpulist_parse(const char *text, int **cpus);

#endif
