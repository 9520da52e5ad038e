/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of `ergon list` that tells of temperatures, fans and clock rates. */
#ifndef ERGON_TOOLS_LIST_SENSORS_H
#define ERGON_TOOLS_LIST_SENSORS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "sensors.h"

struct list_sensors {
	struct ergon_sensors *set;
	size_t n;
	const struct ergon_sensor *sensors;
	int64_t *values;          /* as ergon_sensors_read */
	int *errors;
	struct ergon_drops drops; /* what cannot be opened */
};

/* Opens and reads all once; without memory there are none. */
void list_sensors_gather(struct list_sensors *ls, const struct ergon_sysroot *sr);
void list_sensors_release(struct list_sensors *ls);

void list_sensors_print(const struct list_sensors *ls);

/* An array, a new reference. */
json_t *list_sensors_json(const struct list_sensors *ls);

#endif
