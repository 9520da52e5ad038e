/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RAPL zones below /sys/class/powercap: what each one measures, by its
 * name and its parent's, never by its index (psys may be intel-rapl:1 and
 * the second socket intel-rapl:2). Zones that would be counted twice are
 * left out with a reason.
 */
#ifndef ERGON_POWERCAP_H
#define ERGON_POWERCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"

#define ERGON_POWERCAP_DIR "/sys/class/powercap"

struct ergon_zone {
	char entry[64];           /* "intel-rapl:0:1" */
	enum ergon_domain domain;
	int package;              /* physical package id; -1: the whole node */
	int die;                  /* where dies are counted apart, else -1 */
	bool mmio;                /* control type intel-rapl-mmio */
	uint64_t range_uj;        /* max_energy_range_uj; 0: unreadable */
};

struct ergon_zones {
	struct ergon_zone *zones; /* ordered by domain, package, die */
	size_t nzones;
	size_t nentries;          /* RAPL directories seen, usable or not */
};

/*
 * Find the zones; adds to drops (may be NULL) what is left out. 0, or -1 +
 * errno when the class directory cannot be listed. Free with ergon_zones_free.
 */
int ergon_zones_scan(const struct ergon_machine *m, struct ergon_zones *out,
		     struct ergon_drops *drops);
void ergon_zones_free(struct ergon_zones *zones);

/* Counts at which a zone wraps: its range plus one unit of 2^32-1 in the range. */
uint64_t ergon_zone_modulus_uj(uint64_t range_uj);

#endif
