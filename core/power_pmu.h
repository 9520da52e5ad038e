/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's `power` PMU: what sysfs says of it, and its events opened,
 * one group per package (per die on Intel parts with several). Shared by
 * the backends that differ in how they read these events.
 */
#ifndef ERGON_POWER_PMU_H
#define ERGON_POWER_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend.h"

/* energy-pkg, -cores, -gpu, -ram, -psys. */
#define ERGON_POWER_EVENTS 5

struct ergon_power_event {
	bool present;
	uint64_t config;
	double scale;             /* joules per count */
};

/* A place that counts: a package, or a die of it. */
struct ergon_power_unit {
	int package;
	int die;                  /* -1: the whole package */
	int cpu;                  /* where its events are open; -1 none */
	int leader;               /* group fd, -1 */
	bool lone;                /* no group: one event, read without a group's frame */
	size_t nfds;
	int fds[ERGON_POWER_EVENTS];         /* in group order */
	size_t event[ERGON_POWER_EVENTS];    /* which event each is */
	ssize_t channel[ERGON_POWER_EVENTS]; /* channel of each, -1: not used */
};

struct ergon_power_pmu {
	const struct ergon_machine *m;
	const char *source;       /* mechanism that reads */
	uint32_t type;
	struct ergon_power_event specs[ERGON_POWER_EVENTS];
	bool lone;                /* only one of them is present */
	size_t nunits;
	struct ergon_power_unit *units;
	size_t nchannels;
	struct ergon_channel *channels;
	int open_errno;           /* of the first event that did not open */
	struct ergon_drops drops;
};

/*
 * Find and open all energy events that count; waits up to 20 ms for them to
 * move. source (a literal) names the mechanism in the channels. NULL: out
 * says why; else out is ok. Free with ergon_power_pmu_close.
 */
struct ergon_power_pmu *ergon_power_pmu_open(const struct ergon_machine *m, const char *source,
					     struct ergon_probe *out);

/* One channel of pmu without its group. NULL + errno. */
struct ergon_power_pmu *ergon_power_pmu_open_single(const struct ergon_power_pmu *pmu, size_t channel);

/* NULL allowed; keeps errno. */
void ergon_power_pmu_close(struct ergon_power_pmu *pmu);

/* One system call for all events of a unit, in group order. Allocates nothing. */
bool ergon_power_unit_read(const struct ergon_power_unit *unit, uint64_t values[ERGON_POWER_EVENTS]);

/*
 * Open the events of a unit anew if they count no more: unreadable, or,
 * having been detached with the last CPU of a package, the same for ever.
 * Under the PMU's type of now, on any CPU of the unit that is online. True
 * when they were opened and count, from 0; else nothing has changed. Takes
 * up to 30 ms, a millisecond where the unit is well.
 */
bool ergon_power_unit_revive(struct ergon_power_pmu *pmu, struct ergon_power_unit *unit);

#endif
