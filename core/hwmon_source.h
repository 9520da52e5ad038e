/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which hwmon sensors tell the energy of what: a table of drivers, labels
 * and rules (hwmon_source.c). Sensors that repeat or are part of others
 * are left out with a reason; unknown ones are no energy sources, and one
 * line tells of all of them.
 */
#ifndef ERGON_HWMON_SOURCE_H
#define ERGON_HWMON_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "hwmon.h"
#include "slow.h"

/* The kinds of sensors that a scan must have (ergon_hwmon_scan_kinds). */
#define ERGON_HWMON_SOURCE_KINDS (1u << ERGON_HWMON_ENERGY | 1u << ERGON_HWMON_POWER)

struct ergon_hwmon_source {
	struct ergon_hwmon_device device; /* as scanned: with sensor, what to find it by again */
	struct ergon_hwmon_sensor sensor;
	enum ergon_domain domain;
	int package;              /* physical package id; -1: the node, or a GPU */
	enum ergon_slow_kind kind; /* counter of uJ, power or mean power in uW */
	uint64_t modulus;         /* of a counter, uJ; see ergon_channel */
	uint64_t period_ns;       /* how often to read it */
	bool zero_is_none;        /* a reading of 0 means that the sensor has none */
};

struct ergon_hwmon_sources {
	struct ergon_hwmon_source *items; /* in the table's order, then by package or device */
	size_t n;
	size_t known;             /* sensors that the table takes for sources, those left out too */
	size_t unknown;           /* power and energy sensors that it does not know */
};

/*
 * Find them in a scan; adds to drops (may be NULL) what is left out. 0, or
 * -1 without memory. Free with ergon_hwmon_sources_free.
 */
int ergon_hwmon_sources_find(const struct ergon_machine *m, const struct ergon_hwmon *hwmon,
			     struct ergon_hwmon_sources *out, struct ergon_drops *drops);
void ergon_hwmon_sources_free(struct ergon_hwmon_sources *sources);

/* "apm_xgene APMC0D29:00 power1_input", cut to size. Returns buf. */
char *ergon_hwmon_source_describe(const struct ergon_hwmon_source *source, char *buf, size_t size);

#endif
