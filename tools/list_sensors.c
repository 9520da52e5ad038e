/* SPDX-License-Identifier: BSD-3-Clause */
#include "list_sensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void list_sensors_gather(struct list_sensors *ls, const struct ergon_sysroot *sr)
{
	*ls = (struct list_sensors){ .set = NULL };
	ls->set = ergon_sensors_open(sr, ERGON_SENSORS_ALL, geteuid(), &ls->drops);
	if (!ls->set)
		return;
	ls->n = ergon_sensors_list(ls->set, &ls->sensors);
	ls->values = calloc(ls->n + 1, sizeof(*ls->values));
	ls->errors = calloc(ls->n + 1, sizeof(*ls->errors));
	if (ls->values && ls->errors)
		ergon_sensors_read(ls->set, ls->values, ls->errors);
	else
		ls->n = 0;
}

void list_sensors_release(struct list_sensors *ls)
{
	ergon_sensors_close(ls->set);
	free(ls->values);
	free(ls->errors);
	ergon_drops_free(&ls->drops);
}

void list_sensors_print(const struct list_sensors *ls)
{
	if (ls->n == 0) {
		printf("\nNo temperature, fan or clock rate can be read: no hwmon device, no cpufreq policy.\n");
		return;
	}
	printf("\n%-32s %-12s %12s      %s\n", "SENSOR", "KIND", "NOW", "READ FROM");
	for (size_t i = 0; i < ls->n; i++) {
		const struct ergon_sensor *s = &ls->sensors[i];

		printf("%-32s %-12s ", s->name, ergon_sensor_kind_word(s->kind));
		if (ls->errors[i])
			printf("%12s %-4s %s; %s\n", "-", "", s->detail, strerror(ls->errors[i]));
		else
			printf("%12.1f %-4s %s\n", (double)ls->values[i] / 1000,
			       ergon_sensor_unit(s->kind), s->detail);
	}
}

json_t *list_sensors_json(const struct list_sensors *ls)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ls->n; i++) {
		const struct ergon_sensor *s = &ls->sensors[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", s->name,
			"kind", ergon_sensor_kind_word(s->kind), "unit", ergon_sensor_unit(s->kind),
			"label", s->label, "detail", s->detail));
	}
	return list;
}
