/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sensors below /sys/class/hwmon: which devices there are, which
 * sensors each has, where their values are read. The number in "hwmon2"
 * changes from boot to boot and when a driver is reloaded; a sensor is
 * known by its driver's name, the device it belongs to, kind and index.
 *
 * Source of layout and units: the kernel's hwmon sysfs interface. Older and
 * ACPI drivers keep their files in hwmonX/device, others in hwmonX.
 *
 * Scanning reads names and labels only, never a value: values may take a
 * second to come. It takes about a millisecond per ten devices.
 */
#ifndef ERGON_HWMON_H
#define ERGON_HWMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sysroot.h"

#define ERGON_HWMON_DIR "/sys/class/hwmon"

/* X(constant, prefix of its files) */
#define ERGON_HWMON_TABLE(X) \
	X(ENERGY, "energy") /* microjoules, cumulative */ \
	X(POWER,  "power")  /* microwatts */ \
	X(TEMP,   "temp")   /* thousandths of a degree Celsius, may be negative */ \
	X(FAN,    "fan")    /* revolutions per minute */ \
	X(FREQ,   "freq")   /* hertz */

enum ergon_hwmon_kind {
#define X(c, w) ERGON_HWMON_##c,
	ERGON_HWMON_TABLE(X)
#undef X
	ERGON_HWMON_KINDS
};

struct ergon_hwmon_device {
	char entry[24];           /* "hwmon2": good until the next change only */
	char name[48];            /* the driver's: "amdgpu", "coretemp" */
	char device[64];          /* what it belongs to: "0000:41:00.0", "APMC0D29:00"; "" unknown */
	int twin;                 /* counts devices of one name and device, 0 but for oddities */
	size_t first, n;          /* its sensors in ergon_hwmon.sensors */
};

struct ergon_hwmon_sensor {
	size_t device;            /* in ergon_hwmon.devices */
	enum ergon_hwmon_kind kind;
	int index;                /* the 1 of power1_input */
	bool average;             /* the value is power1_average, not power1_input */
	bool both;                /* power: there is the other one, too */
	char label[64];           /* the text of power1_label; "" none */
	char base[96];            /* "/sys/class/hwmon/hwmon2/device/power1" */
};

/* Devices ordered by name, device, twin; sensors of a device by kind, index. */
struct ergon_hwmon {
	struct ergon_hwmon_device *devices;
	size_t ndevices;
	struct ergon_hwmon_sensor *sensors;
	size_t nsensors;
};

/*
 * Scan for sensors of all kinds, or of those whose bit (1u << kind) is in
 * kinds: reading labels is what takes time. 0, or -1 + errno when the class directory cannot be listed (ENOENT:
 * no sensors on this machine) or without memory. Free with ergon_hwmon_free.
 */
int ergon_hwmon_scan(const struct ergon_sysroot *sr, struct ergon_hwmon *out);
int ergon_hwmon_scan_kinds(const struct ergon_sysroot *sr, unsigned kinds,
			   struct ergon_hwmon *out);
void ergon_hwmon_free(struct ergon_hwmon *hwmon);

#define ERGON_HWMON_PATH_SIZE 128

/* Path of the value file: power1_average where there is one, else ..._input. Returns buf. */
char *ergon_hwmon_value_path(const struct ergon_hwmon_sensor *sensor,
			     char buf[ERGON_HWMON_PATH_SIZE]);

/*
 * Text of another attribute of the sensor ("oem_info", "average_interval"),
 * as ergon_sysroot_read_text.
 */
ssize_t ergon_hwmon_attribute(const struct ergon_sysroot *sr,
			      const struct ergon_hwmon_sensor *sensor,
			      const char *attribute, char *buf, size_t size);

/*
 * The sensor that an earlier scan knew as (device, sensor): same name,
 * device, twin, kind, index and label. NULL when it is gone.
 */
const struct ergon_hwmon_sensor *ergon_hwmon_find(const struct ergon_hwmon *hwmon,
						  const struct ergon_hwmon_device *device,
						  const struct ergon_hwmon_sensor *sensor);

#endif
