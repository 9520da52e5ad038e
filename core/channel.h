/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A channel: one measured quantity of one instance. Plain data, filled by
 * a backend when it is opened and constant from then on.
 */
#ifndef ERGON_CHANNEL_H
#define ERGON_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

/* X(constant, word) */
#define ERGON_DOMAIN_TABLE(X) \
	X(PACKAGE,  "package") \
	X(CORE,     "core") \
	X(UNCORE,   "uncore") \
	X(DRAM,     "dram") \
	X(PLATFORM, "platform") \
	X(GPU,      "gpu") \
	X(NODE,     "node") \
	X(CPU,      "cpu") \
	X(IO,       "io") \
	X(SOC,      "soc") \
	X(MODULE,   "module")

enum ergon_domain {
#define X(c, w) ERGON_DOMAIN_##c,
	ERGON_DOMAIN_TABLE(X)
#undef X
	ERGON_DOMAIN_COUNT
};

struct ergon_channel {
	char name[32];            /* unique in a meter: "package0", "package1-die3", "dram0", "platform" */
	enum ergon_domain domain;
	int package;              /* physical package id, -1: the whole node */
	int die;                  /* die id where dies are counted apart, else -1 */
	double unit_j;            /* joules per count */
	uint64_t modulus;         /* counts at which the counter wraps; 0: 2^64 */
	uint64_t repair;          /* counts to add to a negative delta (perf, see delta.h); 0: none */
	double max_watts;         /* plausibility guard; 0: none */
	uint64_t step_ns;         /* the count may stand still so long and then move at once
				   * (sources read on a slow thread); 0: 1 ms */
	bool from_open;           /* the count was 0 when it was opened: the first reading counts,
				   * however late it comes (sources on a slow thread) */
	bool in_total;            /* part of the node total; chosen by the meter, see scope.h */
	bool integrated;          /* the source tells power; it was made energy (integral.h) */
	char source[16];          /* mechanism that reads it */
	char id[64];              /* hardware identity where domain, package and die do not say it:
				   * "pci 0000:41:00.0"; "" else */
	char detail[96];          /* where it is read: "intel-rapl:0", "power/energy-pkg cpu0" */
};

/* "package" ...; NULL when out of range. */
const char *ergon_domain_name(enum ergon_domain domain);

/* Accepts the words above and the aliases pkg, pp0, pp1, ram, psys; -1 when unknown. */
int ergon_domain_parse(const char *word);

#endif
