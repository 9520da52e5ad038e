/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clock rate and temperature of the CPUs while something runs: a thread of
 * its own (slow.h) finds the sensors, reads them at a rate of about once a
 * second (faster at first, so that a run of a second has more than one
 * reading) and keeps time-weighted means. Where there is nothing to read, the thread ends.
 */
#ifndef ERGON_WATCH_H
#define ERGON_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "sysroot.h"

#define ERGON_WATCH_HZ_MAX 10.0

struct ergon_watch;

struct ergon_watch_range {
	bool some;                /* false: could not be read, the rest is 0 */
	double mean, min, max;
};

struct ergon_watch_summary {
	/* MHz, mean over the online CPUs at each reading. */
	struct ergon_watch_range freq_mhz;
	/* degC: mean and min of the hottest package (highest mean), max of all. */
	struct ergon_watch_range temp_c;
};

/*
 * Nothing is opened here but the thread; the system root is opened anew, so
 * sr is not needed any more. hz: at most ERGON_WATCH_HZ_MAX. NULL + err.
 */
struct ergon_watch *ergon_watch_start(const struct ergon_sysroot *sr, double hz,
				      struct ergon_error *err);

/* Until the first reading is done, at most timeout_ns. */
void ergon_watch_wait(struct ergon_watch *watch, uint64_t timeout_ns);

/* What there is so far. NULL allowed: nothing. Not after stop. */
void ergon_watch_summary(struct ergon_watch *watch, struct ergon_watch_summary *out);

/* Ends the thread as ergon_slow_stop does. NULL allowed; keeps errno. */
void ergon_watch_stop(struct ergon_watch *watch);

#endif
