/* SPDX-License-Identifier: BSD-3-Clause */
#include "hwmon.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A path of ours: the class directory, an entry, "device", an attribute. */
#define PATH_SIZE 320

static const char *const prefixes[ERGON_HWMON_KINDS] = {
#define X(c, w) w,
	ERGON_HWMON_TABLE(X)
#undef X
};

/* --- one device --- */

/* Text of hwmonX/FILE, or where it lacks that of hwmonX/device/FILE. */
static ssize_t read_own(const struct ergon_sysroot *sr, const char *entry, const char *file,
			char *buf, size_t size)
{
	static const char *const places[] = { "", "device/" };
	ssize_t len = -1;

	for (size_t i = 0; i < 2 && len < 0; i++) {
		char path[PATH_SIZE];

		snprintf(path, sizeof(path), ERGON_HWMON_DIR "/%s/%s%s", entry, places[i], file);
		len = ergon_sysroot_read_text(sr, path, buf, size);
	}
	return len;
}

/* The last component of a path, cut to size; "" for "", "." and "..". */
static void base_name(const char *path, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		name = "";
	snprintf(buf, size, "%s", name);
}

/*
 * The name of the device: what the link hwmonX/device points to, or what
 * the class entry's own link says: ".../0000:41:00.0/hwmon/hwmon2".
 */
static void find_device(const struct ergon_sysroot *sr, struct ergon_hwmon_device *dev)
{
	char path[PATH_SIZE], target[PATH_MAX];
	char *parent;

	dev->device[0] = '\0';
	snprintf(path, sizeof(path), ERGON_HWMON_DIR "/%s/device", dev->entry);
	if (ergon_sysroot_read_link(sr, path, target, sizeof(target)) > 0)
		base_name(target, dev->device, sizeof(dev->device));
	if (dev->device[0])
		return;
	snprintf(path, sizeof(path), ERGON_HWMON_DIR "/%s", dev->entry);
	if (ergon_sysroot_read_link(sr, path, target, sizeof(target)) <= 0)
		return;
	parent = strstr(target, "/hwmon/hwmon");
	if (!parent)
		return;
	*parent = '\0';
	base_name(target, dev->device, sizeof(dev->device));
}

static int compare_devices(const void *a, const void *b)
{
	const struct ergon_hwmon_device *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order == 0)
		order = strverscmp(x->device, y->device);
	return order ? order : strverscmp(x->entry, y->entry);
}

static int scan_devices(const struct ergon_sysroot *sr, struct ergon_hwmon *out)
{
	char **names;
	ssize_t n = ergon_sysroot_list(sr, ERGON_HWMON_DIR, &names);

	if (n < 0)
		return -1;
	out->devices = calloc((size_t)n + 1, sizeof(*out->devices));
	for (ssize_t i = 0; out->devices && i < n; i++) {
		struct ergon_hwmon_device *dev = &out->devices[out->ndevices];

		if (strlen(names[i]) >= sizeof(dev->entry))
			continue;
		strcpy(dev->entry, names[i]);
		if (read_own(sr, dev->entry, "name", dev->name, sizeof(dev->name)) <= 0)
			continue;
		find_device(sr, dev);
		out->ndevices++;
	}
	ergon_sysroot_free_list(names);
	if (!out->devices)
		return -1;
	qsort(out->devices, out->ndevices, sizeof(*out->devices), compare_devices);
	for (size_t i = 1; i < out->ndevices; i++) {
		struct ergon_hwmon_device *dev = &out->devices[i];

		if (strcmp(dev->name, dev[-1].name) == 0 && strcmp(dev->device, dev[-1].device) == 0)
			dev->twin = dev[-1].twin + 1;
	}
	return 0;
}

/* --- its sensors --- */

/* "power12_average" -> kind, index; false for every other file. */
static bool parse_value_file(const char *file, struct ergon_hwmon_sensor *sensor)
{
	for (int kind = 0; kind < ERGON_HWMON_KINDS; kind++) {
		size_t len = strlen(prefixes[kind]);
		char *end;
		long index;

		if (strncmp(file, prefixes[kind], len) != 0 || file[len] < '0' || file[len] > '9')
			continue;
		errno = 0;
		index = strtol(file + len, &end, 10);
		if (errno != 0 || index > INT_MAX)
			return false;
		sensor->kind = (enum ergon_hwmon_kind)kind;
		sensor->index = (int)index;
		sensor->average = kind == ERGON_HWMON_POWER && strcmp(end, "_average") == 0;
		return sensor->average || strcmp(end, "_input") == 0;
	}
	return false;
}

static struct ergon_hwmon_sensor *add_sensor(struct ergon_hwmon *out,
					     const struct ergon_hwmon_sensor *sensor)
{
	struct ergon_hwmon_sensor *grown = realloc(out->sensors,
						   (out->nsensors + 1) * sizeof(*grown));

	if (!grown)
		return NULL;
	out->sensors = grown;
	grown[out->nsensors] = *sensor;
	return &grown[out->nsensors++];
}

/* A sensor of the device that is known already; NULL. */
static struct ergon_hwmon_sensor *known(struct ergon_hwmon *out, size_t first,
					const struct ergon_hwmon_sensor *sensor)
{
	for (size_t i = first; i < out->nsensors; i++)
		if (out->sensors[i].kind == sensor->kind && out->sensors[i].index == sensor->index)
			return &out->sensors[i];
	return NULL;
}

/* The sensors in one directory of a device ("" or "/device"). */
static int scan_place(const struct ergon_sysroot *sr, unsigned kinds, struct ergon_hwmon *out,
		      size_t device, const char *place)
{
	const struct ergon_hwmon_device *dev = &out->devices[device];
	char dir[80], **names;
	ssize_t n;
	int rc = 0;

	snprintf(dir, sizeof(dir), ERGON_HWMON_DIR "/%s%s", dev->entry, place);
	n = ergon_sysroot_list(sr, dir, &names);
	if (n < 0)
		return errno == ENOMEM ? -1 : 0;
	for (ssize_t i = 0; i < n && rc == 0; i++) {
		struct ergon_hwmon_sensor sensor = { .device = device }, *other;
		char base[sizeof(sensor.base)];

		if (!parse_value_file(names[i], &sensor) || !(kinds & 1u << sensor.kind))
			continue;
		snprintf(base, sizeof(base), "%s/%s%d", dir, prefixes[sensor.kind], sensor.index);
		strcpy(sensor.base, base);
		other = known(out, dev->first, &sensor);
		if (!other) {
			if (ergon_hwmon_attribute(sr, &sensor, "label", sensor.label,
						  sizeof(sensor.label)) < 0)
				sensor.label[0] = '\0';
			rc = add_sensor(out, &sensor) ? 0 : -1;
		} else if (strcmp(other->base, base) == 0 && other->average != sensor.average) {
			other->both = true;
			other->average = true;
		}
	}
	ergon_sysroot_free_list(names);
	return rc;
}

static int compare_sensors(const void *a, const void *b)
{
	const struct ergon_hwmon_sensor *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

int ergon_hwmon_scan(const struct ergon_sysroot *sr, struct ergon_hwmon *out)
{
	return ergon_hwmon_scan_kinds(sr, UINT_MAX, out);
}

int ergon_hwmon_scan_kinds(const struct ergon_sysroot *sr, unsigned kinds,
			   struct ergon_hwmon *out)
{
	*out = (struct ergon_hwmon){ 0 };
	if (scan_devices(sr, out) < 0)
		return -1;
	for (size_t i = 0; i < out->ndevices; i++) {
		struct ergon_hwmon_device *dev = &out->devices[i];

		dev->first = out->nsensors;
		if (scan_place(sr, kinds, out, i, "") < 0 ||
		    scan_place(sr, kinds, out, i, "/device") < 0) {
			ergon_hwmon_free(out);
			errno = ENOMEM;
			return -1;
		}
		dev->n = out->nsensors - dev->first;
		if (dev->n > 0)
			qsort(out->sensors + dev->first, dev->n, sizeof(*out->sensors),
			      compare_sensors);
	}
	return 0;
}

void ergon_hwmon_free(struct ergon_hwmon *hwmon)
{
	free(hwmon->devices);
	free(hwmon->sensors);
	*hwmon = (struct ergon_hwmon){ 0 };
}

/* --- what one does with a sensor --- */

char *ergon_hwmon_value_path(const struct ergon_hwmon_sensor *sensor,
			     char buf[ERGON_HWMON_PATH_SIZE])
{
	snprintf(buf, ERGON_HWMON_PATH_SIZE, "%s_%s", sensor->base, sensor->average ? "average" : "input");
	return buf;
}

ssize_t ergon_hwmon_attribute(const struct ergon_sysroot *sr,
			      const struct ergon_hwmon_sensor *sensor,
			      const char *attribute, char *buf, size_t size)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s_%s", sensor->base, attribute);
	return ergon_sysroot_read_text(sr, path, buf, size);
}

const struct ergon_hwmon_sensor *ergon_hwmon_find(const struct ergon_hwmon *hwmon,
						  const struct ergon_hwmon_device *device,
						  const struct ergon_hwmon_sensor *sensor)
{
	for (size_t i = 0; i < hwmon->nsensors; i++) {
		const struct ergon_hwmon_sensor *s = &hwmon->sensors[i];
		const struct ergon_hwmon_device *d = &hwmon->devices[s->device];

		if (s->kind == sensor->kind && s->index == sensor->index &&
		    strcmp(s->label, sensor->label) == 0 && d->twin == device->twin &&
		    strcmp(d->name, device->name) == 0 && strcmp(d->device, device->device) == 0)
			return s;
	}
	return NULL;
}
