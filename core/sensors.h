/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gauges of a machine that are not energy: temperatures and fans of hwmon,
 * the clock rate of the CPUs (cpufreq.h). Power is the energy backends'.
 * What cannot be read is a missing value, never 0.
 */
#ifndef ERGON_SENSORS_H
#define ERGON_SENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend.h"
#include "sysroot.h"

/* X(constant, word, unit) */
#define ERGON_SENSOR_TABLE(X) \
	X(TEMPERATURE, "temperature", "degC") \
	X(FAN,         "fan",         "rpm") \
	X(FREQUENCY,   "frequency",   "MHz")

enum ergon_sensor_kind {
#define X(c, w, u) ERGON_SENSOR_##c,
	ERGON_SENSOR_TABLE(X)
#undef X
	ERGON_SENSOR_KINDS
};

struct ergon_sensor {
	enum ergon_sensor_kind kind;
	char name[128];           /* unique, the same after a reboot: "coretemp.Package_id_0",
				   * "apm_xgene-1.SoC_Temperature" (the second device of that
				   * name), "nvme.temp1" (no label), "cpufreq" */
	char label[64];           /* as the driver words it; "" none; cpufreq: the files in use */
	char detail[160];         /* where it is read */
	bool cpu;                 /* tells of the CPUs: feeds freq_mhz or temp_c */
};

enum ergon_sensors_which {
	ERGON_SENSORS_ALL,
	ERGON_SENSORS_CPU         /* only those with .cpu: nobody wakes a disk to read its temperature */
};

struct ergon_sensors;

/* "temperature", "degC". */
const char *ergon_sensor_kind_word(enum ergon_sensor_kind kind);
const char *ergon_sensor_unit(enum ergon_sensor_kind kind);

/*
 * Find and open. None found is an empty set; NULL: no memory. owner: see
 * ergon_cpufreq_open. drops (may be NULL) gets what is there and cannot be
 * opened, with the reason. sr must outlive the set. May take milliseconds.
 */
struct ergon_sensors *ergon_sensors_open(const struct ergon_sysroot *sr,
					 enum ergon_sensors_which which, uid_t owner,
					 struct ergon_drops *drops);

/* NULL allowed; keeps errno. */
void ergon_sensors_close(struct ergon_sensors *s);

/* The sensors, ordered by driver, device, kind and number, cpufreq last; constant
 * until closed, but for cpufreq's label and detail, which the first reading fills. */
size_t ergon_sensors_list(const struct ergon_sensors *s, const struct ergon_sensor **out);

/*
 * Read all: values[i] in thousandths of the unit where errors[i] is 0, else
 * errors[i] is an errno value. Sensors may take long (an Altra mailbox up to
 * a second): never on the thread that samples energy. One thread at a time.
 */
void ergon_sensors_read(struct ergon_sensors *s, int64_t *values, int *errors);

#endif
