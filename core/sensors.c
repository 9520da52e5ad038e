/* SPDX-License-Identifier: BSD-3-Clause */
#include "sensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "cpufreq.h"
#include "hwmon.h"

/*
 * The drivers that tell the CPUs' temperature, and the label that does: of
 * each device the first row that fits. A label that ends in '*' stands for
 * all that begin so; "": a sensor without label, the device's first.
 * Tdie before Tctl: Tctl is Tdie plus an offset on some CPUs. Old kernels
 * give k10temp no labels.
 */
static const struct cpu_row {
	const char *driver;
	const char *label;
} cpu_rows[] = {
	{ "coretemp",  "Package id *" },
	{ "k10temp",   "Tdie" },
	{ "k10temp",   "Tctl" },
	{ "k10temp",   "" },
	{ "zenpower",  "Tdie" },
	{ "zenpower",  "Tctl" },
	{ "apm_xgene", "SoC Temperature" },
};

/* What hwmon has and what it is here; raw * mul / div is in thousandths of the unit. */
static const struct hwmon_row {
	enum ergon_hwmon_kind hwmon;
	enum ergon_sensor_kind kind;
	int64_t mul, div;
} hwmon_rows[] = {
	{ ERGON_HWMON_TEMP, ERGON_SENSOR_TEMPERATURE, 1,    1 },
	{ ERGON_HWMON_FAN,  ERGON_SENSOR_FAN,         1000, 1 },
	{ ERGON_HWMON_FREQ, ERGON_SENSOR_FREQUENCY,   1,    1000 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Values beyond are no sensor's, and would not fit when made thousandths. */
#define VALUE_MAX (INT64_MAX / 1000000)

struct source {
	int fd;
	const struct hwmon_row *row; /* NULL: cpufreq */
};

struct ergon_sensors {
	size_t n;
	struct ergon_sensor *sensors;
	struct source *sources;
	struct ergon_cpufreq *cpufreq; /* NULL: none; else it is the last sensor */
	bool described;           /* cpufreq's label and detail tell what is read */
};

static const struct {
	const char *word, *unit;
} kinds[] = {
#define X(c, w, u) { w, u },
	ERGON_SENSOR_TABLE(X)
#undef X
};

const char *ergon_sensor_kind_word(enum ergon_sensor_kind kind)
{
	return kinds[kind].word;
}

const char *ergon_sensor_unit(enum ergon_sensor_kind kind)
{
	return kinds[kind].unit;
}

/* --- which ones, and how they are called --- */

static bool fits(const struct cpu_row *row, const struct ergon_hwmon_device *device,
		 const struct ergon_hwmon_sensor *sensor)
{
	size_t len = strlen(row->label);

	if (sensor->kind != ERGON_HWMON_TEMP || strcmp(row->driver, device->name) != 0)
		return false;
	if (len == 0)
		return !*sensor->label && sensor->index == 1;
	if (row->label[len - 1] == '*')
		return strncmp(sensor->label, row->label, len - 1) == 0;
	return strcmp(sensor->label, row->label) == 0;
}

/* The row that speaks for the CPUs of this device; NULL: it has nothing to do with them. */
static const struct cpu_row *row_of(const struct ergon_hwmon *hwmon,
				    const struct ergon_hwmon_device *device)
{
	for (size_t r = 0; r < COUNT(cpu_rows); r++)
		for (size_t i = 0; i < device->n; i++)
			if (fits(&cpu_rows[r], device, &hwmon->sensors[device->first + i]))
				return &cpu_rows[r];
	return NULL;
}

/* Which of the devices of one name, in the order of what they belong to; -1: the only one. */
static int instance_of(const struct ergon_hwmon *hwmon, const struct ergon_hwmon_device *device)
{
	int before = 0, all = 0;

	for (size_t i = 0; i < hwmon->ndevices; i++) {
		if (strcmp(hwmon->devices[i].name, device->name) != 0)
			continue;
		before += &hwmon->devices[i] < device;
		all++;
	}
	return all > 1 ? before : -1;
}

static bool label_is_unique(const struct ergon_hwmon *hwmon, const struct ergon_hwmon_device *device,
			    const struct ergon_hwmon_sensor *sensor)
{
	size_t same = 0;

	for (size_t i = 0; i < device->n; i++)
		same += strcmp(hwmon->sensors[device->first + i].label, sensor->label) == 0;
	return same == 1;
}

static const char *attribute_of(const struct ergon_hwmon_sensor *sensor)
{
	return strrchr(sensor->base, '/') + 1;
}

static void name_sensor(struct ergon_sensor *out, const struct ergon_hwmon *hwmon,
			const struct ergon_hwmon_device *device,
			const struct ergon_hwmon_sensor *sensor)
{
	int instance = instance_of(hwmon, device);
	const char *word = attribute_of(sensor);
	char number[16] = "";

	/* A temperature and a fan may share a label, a name is one sensor's. */
	if (*sensor->label && label_is_unique(hwmon, device, sensor))
		word = sensor->label;
	if (instance >= 0)
		snprintf(number, sizeof(number), "-%d", instance);
	snprintf(out->name, sizeof(out->name), "%s%s.%s", device->name, number, word);
	snprintf(out->label, sizeof(out->label), "%s", sensor->label);
	snprintf(out->detail, sizeof(out->detail), "%s/%s_input%s%s", device->entry,
		 attribute_of(sensor), *device->device ? " of " : "", device->device);
	ergon_make_printable(out->name);
	ergon_make_printable(out->label);
	ergon_make_printable(out->detail);
	for (char *p = out->name; (p = strchr(p, ' ')); )
		*p = '_';
}

/* --- opening --- */

static bool grow(struct ergon_sensors *s)
{
	struct ergon_sensor *sensors = realloc(s->sensors, (s->n + 1) * sizeof(*sensors));
	struct source *sources;

	if (!sensors)
		return false;
	s->sensors = sensors;
	sources = realloc(s->sources, (s->n + 1) * sizeof(*sources));
	if (!sources)
		return false;
	s->sources = sources;
	s->sensors[s->n] = (struct ergon_sensor){ .cpu = false };
	s->sources[s->n] = (struct source){ .fd = -1 };
	return true;
}

static const struct hwmon_row *hwmon_row(enum ergon_hwmon_kind kind)
{
	for (size_t i = 0; i < COUNT(hwmon_rows); i++)
		if (hwmon_rows[i].hwmon == kind)
			return &hwmon_rows[i];
	return NULL; /* energy and power: the backends' */
}

static int add_hwmon(struct ergon_sensors *s, const struct ergon_sysroot *sr,
		     const struct ergon_hwmon *hwmon, const struct ergon_hwmon_sensor *sensor,
		     bool cpu, struct ergon_drops *drops)
{
	const struct ergon_hwmon_device *device = &hwmon->devices[sensor->device];
	const struct hwmon_row *row = hwmon_row(sensor->kind);
	char path[ERGON_HWMON_PATH_SIZE];
	int fd;

	if (!row)
		return 0;
	if (!grow(s))
		return -1;
	name_sensor(&s->sensors[s->n], hwmon, device, sensor);
	fd = ergon_sysroot_open_file(sr, ergon_hwmon_value_path(sensor, path), O_RDONLY);
	if (fd < 0) {
		ergon_drop(drops, s->sensors[s->n].name, "%s: %s", path, strerror(errno));
		return 0;
	}
	s->sensors[s->n].kind = row->kind;
	s->sensors[s->n].cpu = cpu;
	s->sources[s->n] = (struct source){ fd, row };
	s->n++;
	return 0;
}

static int open_hwmon(struct ergon_sensors *s, const struct ergon_sysroot *sr,
		      enum ergon_sensors_which which, struct ergon_drops *drops)
{
	struct ergon_hwmon hwmon;
	int rc = 0;

	if (ergon_hwmon_scan(sr, &hwmon) < 0)
		return 0;
	for (size_t d = 0; d < hwmon.ndevices; d++) {
		const struct ergon_hwmon_device *device = &hwmon.devices[d];
		const struct cpu_row *row = row_of(&hwmon, device);

		for (size_t i = 0; rc == 0 && i < device->n; i++) {
			const struct ergon_hwmon_sensor *sensor = &hwmon.sensors[device->first + i];
			bool cpu = row && fits(row, device, sensor);

			if (cpu || which == ERGON_SENSORS_ALL)
				rc = add_hwmon(s, sr, &hwmon, sensor, cpu, drops);
		}
	}
	ergon_hwmon_free(&hwmon);
	return rc;
}

static int open_cpufreq(struct ergon_sensors *s, const struct ergon_sysroot *sr, uid_t owner)
{
	struct ergon_error err;

	s->cpufreq = ergon_cpufreq_open(sr, owner, &err);
	if (!s->cpufreq)
		return 0;
	if (!grow(s))
		return -1;
	s->sensors[s->n].kind = ERGON_SENSOR_FREQUENCY;
	s->sensors[s->n].cpu = true;
	strcpy(s->sensors[s->n].name, "cpufreq");
	s->n++;
	return 0;
}

struct ergon_sensors *ergon_sensors_open(const struct ergon_sysroot *sr,
					 enum ergon_sensors_which which, uid_t owner,
					 struct ergon_drops *drops)
{
	struct ergon_sensors *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (open_hwmon(s, sr, which, drops) == 0 && open_cpufreq(s, sr, owner) == 0)
		return s;
	ergon_sensors_close(s);
	return NULL;
}

void ergon_sensors_close(struct ergon_sensors *s)
{
	int saved = errno;

	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->sources[i].fd >= 0)
			close(s->sources[i].fd);
	ergon_cpufreq_close(s->cpufreq);
	free(s->sensors);
	free(s->sources);
	free(s);
	errno = saved;
}

size_t ergon_sensors_list(const struct ergon_sensors *s, const struct ergon_sensor **out)
{
	*out = s->sensors;
	return s->n;
}

/* --- reading --- */

static int read_hwmon(const struct source *source, int64_t *value)
{
	int64_t raw;

	if (ergon_fd_read_i64(source->fd, &raw) < 0)
		return errno;
	if (raw > VALUE_MAX || raw < -VALUE_MAX)
		return ERANGE;
	*value = raw * source->row->mul / source->row->div;
	return 0;
}

static int read_cpufreq(struct ergon_sensors *s, struct ergon_sensor *sensor, int64_t *value)
{
	bool good = ergon_cpufreq_read(s->cpufreq, value);

	if (!s->described && good)
		ergon_cpufreq_describe(s->cpufreq, sensor->label, sizeof(sensor->label),
				       sensor->detail, sizeof(sensor->detail));
	else if (!s->described)
		ergon_cpufreq_why(s->cpufreq, sensor->detail, sizeof(sensor->detail));
	ergon_make_printable(sensor->detail);
	s->described |= good;
	return good ? 0 : ENODATA;
}

void ergon_sensors_read(struct ergon_sensors *s, int64_t *values, int *errors)
{
	for (size_t i = 0; i < s->n; i++)
		errors[i] = s->sources[i].row ? read_hwmon(&s->sources[i], &values[i]) :
						read_cpufreq(s, &s->sensors[i], &values[i]);
}
