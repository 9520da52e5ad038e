/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cray's pm_counters: how its files are read so that numbers of one moment
 * stay together and a restart of the counters is never taken for energy.
 * No files here: whoever has them hands in a reader.
 *
 * A controller beside the node writes all files ten times a second, one
 * after the other. "freshness" counts these scans; "startup" changes when
 * the counters began anew. "generation" tells of power caps: not used.
 *
 * Source: HPE's CSM documentation, "User Access to Compute Node Power Data".
 */
#ifndef ERGON_PM_COUNTERS_H
#define ERGON_PM_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ERGON_PM_DIR "/sys/cray/pm_counters"

/* The text of one file. */
struct ergon_pm_value {
	uint64_t value;
	uint64_t us;              /* when it was taken, by the controller's clock; 0: not told */
};

/*
 * "500 J 1425408634410884 us"; older files end after the unit or the
 * number. unit: "J"; "" for files that have none. -1 + EINVAL, or ERANGE;
 * *out is set only on success.
 */
int ergon_pm_parse(const char *text, const char *unit, struct ergon_pm_value *out);

/* The same from a kept-open fd by pread at offset 0; allocates nothing. */
int ergon_pm_read(int fd, const char *unit, struct ergon_pm_value *out);

/* Files that a reader is asked for: these two, then the counters. */
enum {
	ERGON_PM_FRESHNESS,
	ERGON_PM_STARTUP,
	ERGON_PM_COUNTERS         /* the first of them */
};

/* Read one file; -1 + errno where it has no number. */
typedef int ergon_pm_reader_f(void *arg, size_t file, struct ergon_pm_value *out);

/* All of one moment. */
struct ergon_pm_snapshot {
	size_t n;                 /* counters */
	struct ergon_pm_value *values; /* n of them, the caller's */
	bool *ok;                 /* n of them, the caller's: read */
	bool has_startup;
	uint64_t startup;
	bool torn;                /* the files changed while they were read, every time */
};

/*
 * Read freshness and startup, the counters, freshness and startup again;
 * once more when these changed, three times at most. False when the
 * counters began anew each time: then nothing of it may be used.
 */
bool ergon_pm_take(ergon_pm_reader_f *read, void *arg, struct ergon_pm_snapshot *snap);

/*
 * A counter through restarts: what ergon_pm_advance() returns goes up as
 * the file does, and falls by far more than can be consumed in between when
 * the counter begins anew: after a change of startup, whether the file's
 * number is lower or higher then, and when it runs backwards all the same.
 * Whoever reads it however rarely sees a decrease, which is a reset and no
 * energy (delta.h, ERGON_MODULUS_UNKNOWN).
 */
struct ergon_pm_counter {
	bool based;
	bool has_startup;
	uint64_t startup;         /* of the last value */
	uint64_t last;            /* the file's last value */
	uint64_t base;            /* what was returned when this life began */
	uint64_t shown;           /* what was returned last */
};

uint64_t ergon_pm_advance(struct ergon_pm_counter *counter, uint64_t value,
			  const struct ergon_pm_snapshot *snap);

/*
 * The controller's clock in terms of ours. Its epoch, error and drift do
 * not matter: the reading that came soonest after its time stamp tells how
 * the two lie; when the controller's clock is set, that is begun anew.
 */
struct ergon_pm_clock {
	bool based;
	uint64_t last_us;
	uint64_t offset_ns;       /* ours minus the controller's */
};

/*
 * Our monotonic time of a value that was stamped us and read at now_ns:
 * never later than now_ns, and standing still when the stamps do.
 */
uint64_t ergon_pm_time(struct ergon_pm_clock *clock, uint64_t us, uint64_t now_ns);

#endif
