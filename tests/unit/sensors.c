/* SPDX-License-Identifier: BSD-3-Clause */
/* hwmon devices as files; what they are called and what they tell. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sensors.h"
#include "tree.h"

#define MAX 32

static struct tree tree;
static struct ergon_sysroot *sr;
static struct ergon_sensors *set;
static const struct ergon_sensor *list;
static size_t n;
static int64_t values[MAX];
static int errors[MAX];
static struct ergon_drops drops;

static int set_up(void **state)
{
	(void)state;
	tree_create(&tree);
	sr = tree_open(&tree);
	set = NULL;
	drops = (struct ergon_drops){ NULL, 0 };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ergon_sensors_close(set);
	ergon_drops_free(&drops);
	ergon_sysroot_close(sr);
	tree_destroy(&tree);
	return 0;
}

static void file(int hwmon, const char *name, const char *text)
{
	char path[128], line[96];

	snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/%s", hwmon, name);
	snprintf(line, sizeof(line), "%s\n", text);
	tree_write(&tree, path, line);
}

static void device(int hwmon, const char *driver, const char *belongs_to)
{
	char path[PATH_MAX], target[128];

	file(hwmon, "name", driver);
	snprintf(path, sizeof(path), "%s/sys/class/hwmon/hwmon%d/device", tree.path, hwmon);
	snprintf(target, sizeof(target), "../../../%s", belongs_to);
	if (*belongs_to)
		assert_int_equal(symlink(target, path), 0);
}

static void temp(int hwmon, int index, const char *label, const char *value)
{
	char name[32];

	snprintf(name, sizeof(name), "temp%d_input", index);
	file(hwmon, name, value);
	snprintf(name, sizeof(name), "temp%d_label", index);
	if (*label)
		file(hwmon, name, label);
}

static void start(enum ergon_sensors_which which)
{
	ergon_sensors_close(set);
	set = ergon_sensors_open(sr, which, geteuid(), &drops);
	assert_non_null(set);
	n = ergon_sensors_list(set, &list);
	assert_true(n <= MAX);
	ergon_sensors_read(set, values, errors);
}

/* The one called so; its value is in *milli, or its error told. */
static const struct ergon_sensor *find(const char *name, int64_t *milli, int *error)
{
	const struct ergon_sensor *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i].name, name) != 0)
			continue;
		assert_null(found);
		found = &list[i];
		*milli = values[i];
		*error = errors[i];
	}
	if (!found)
		fail_msg("no sensor %s", name);
	return found;
}

static void assert_value(const char *name, enum ergon_sensor_kind kind, int64_t milli)
{
	int64_t value;
	int error;
	const struct ergon_sensor *s = find(name, &value, &error);

	assert_int_equal(error, 0);
	assert_int_equal(value, milli);
	assert_int_equal(s->kind, kind);
	assert_true(*s->detail);
}

static void nothing_is_an_empty_set(void **state)
{
	(void)state;
	start(ERGON_SENSORS_ALL);
	assert_int_equal(n, 0);
	ergon_sensors_close(NULL);
}

static void kinds_have_words_and_units(void **state)
{
	(void)state;
	assert_string_equal(ergon_sensor_kind_word(ERGON_SENSOR_TEMPERATURE), "temperature");
	assert_string_equal(ergon_sensor_unit(ERGON_SENSOR_TEMPERATURE), "degC");
	assert_string_equal(ergon_sensor_unit(ERGON_SENSOR_FAN), "rpm");
	assert_string_equal(ergon_sensor_unit(ERGON_SENSOR_FREQUENCY), "MHz");
}

/* Every kind in its unit; power and energy are the backends'. */
static void values_come_in_thousandths(void **state)
{
	(void)state;
	device(0, "amdgpu", "0000:41:00.0");
	temp(0, 1, "edge", "-12500");
	file(0, "fan1_input", "729");
	file(0, "freq1_input", "1700000000");
	file(0, "freq1_label", "sclk");
	file(0, "power1_average", "30000000");
	file(0, "energy1_input", "1");
	tree_write(&tree, "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "2199500\n");
	start(ERGON_SENSORS_ALL);
	assert_int_equal(n, 4);
	assert_value("amdgpu.edge", ERGON_SENSOR_TEMPERATURE, -12500);
	assert_value("amdgpu.fan1", ERGON_SENSOR_FAN, 729000);
	assert_value("amdgpu.sclk", ERGON_SENSOR_FREQUENCY, 1700000);
	assert_value("cpufreq", ERGON_SENSOR_FREQUENCY, 2199500);
	assert_string_equal(list[3].label, "scaling_cur_freq");
	assert_string_equal(list[0].detail, "hwmon0/temp1_input of 0000:41:00.0");
}

/* X17, S3.19: two of a name are told apart by what they belong to, not by their number. */
static void names_survive_a_reboot(void **state)
{
	(void)state;
	device(5, "apm_xgene", "APMC0D29:00");
	temp(5, 1, "SoC Temperature", "41000");
	device(2, "apm_xgene", "APMC0D29:01");
	temp(2, 1, "SoC Temperature", "44000");
	device(3, "nvme", "nvme0");
	temp(3, 1, "Composite", "35850");
	start(ERGON_SENSORS_ALL);
	assert_value("apm_xgene-0.SoC_Temperature", ERGON_SENSOR_TEMPERATURE, 41000);
	assert_value("apm_xgene-1.SoC_Temperature", ERGON_SENSOR_TEMPERATURE, 44000);
	assert_value("nvme.Composite", ERGON_SENSOR_TEMPERATURE, 35850);
}

/* A label that two sensors of a device share names neither. */
static void names_are_unique(void **state)
{
	(void)state;
	device(0, "nct6798", "");
	temp(0, 1, "SYSTIN", "30000");
	temp(0, 2, "AUXTIN", "31000");
	temp(0, 3, "AUXTIN", "32000");
	temp(0, 4, "", "33000");
	start(ERGON_SENSORS_ALL);
	assert_int_equal(n, 4);
	assert_value("nct6798.SYSTIN", ERGON_SENSOR_TEMPERATURE, 30000);
	assert_value("nct6798.temp2", ERGON_SENSOR_TEMPERATURE, 31000);
	assert_value("nct6798.temp3", ERGON_SENSOR_TEMPERATURE, 32000);
	assert_value("nct6798.temp4", ERGON_SENSOR_TEMPERATURE, 33000);
}

/* Firmware's words may hold anything. */
static void texts_are_printable(void **state)
{
	(void)state;
	device(0, "acpi\033[2J", "");
	temp(0, 1, "Zone \xb0\t1", "30000");
	start(ERGON_SENSORS_ALL);
	assert_value("acpi?[2J.Zone_??1", ERGON_SENSOR_TEMPERATURE, 30000);
	assert_string_equal(list[0].label, "Zone ??1");
}

/* Which sensor tells the CPUs' temperature, machine by machine. */
static void the_cpu_temperature(void **state)
{
	static const struct {
		const char *driver;
		const char *labels[4];
		const char *cpu;  /* the only one; NULL: none */
	} cases[] = {
		{ "coretemp", { "Package id 0", "Core 0", "Core 1" }, "coretemp.Package_id_0" },
		{ "coretemp", { "Core 0", "Core 1", "Package id 12" }, "coretemp.Package_id_12" },
		{ "coretemp", { "Core 0", "Core 1" }, NULL },
		{ "k10temp", { "Tctl", "Tdie", "Tccd1" }, "k10temp.Tdie" },
		{ "k10temp", { "Tctl", "Tccd1", "Tccd2" }, "k10temp.Tctl" },
		{ "k10temp", { "" }, "k10temp.temp1" },
		{ "zenpower", { "Tdie", "Tctl" }, "zenpower.Tdie" },
		{ "apm_xgene", { "SoC Temperature" }, "apm_xgene.SoC_Temperature" },
		{ "nvme", { "Package id 0", "Tctl" }, NULL },
		{ "acpitz", { "" }, NULL },
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		size_t labels = 0;
		tear_down(NULL);
		set_up(NULL);
		device(0, cases[c].driver, "");
		for (int i = 0; i < 4 && cases[c].labels[i]; i++, labels++)
			temp(0, i + 1, cases[c].labels[i], "50000");
		start(ERGON_SENSORS_ALL);
		assert_int_equal(n, labels);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(list[i].cpu, cases[c].cpu &&
					 strcmp(list[i].name, cases[c].cpu) == 0);
		start(ERGON_SENSORS_CPU);
		assert_int_equal(n, cases[c].cpu != NULL);
		if (cases[c].cpu)
			assert_string_equal(list[0].name, cases[c].cpu);
	}
}

/* No number is no value, never 0; it comes back. */
static void bad_text_is_a_missing_value(void **state)
{
	static const char *const texts[] = { "", "N/A", "-", "12 C", "99999999999999999999",
					     "9223372036854775807", "- 5" };
	int64_t value;
	int error;

	(void)state;
	device(0, "coretemp", "coretemp.0");
	temp(0, 1, "Package id 0", "50000");
	start(ERGON_SENSORS_CPU);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		file(0, "temp1_input", texts[i]);
		values[0] = 4711;
		ergon_sensors_read(set, values, errors);
		find("coretemp.Package_id_0", &value, &error);
		assert_int_not_equal(error, 0);
		assert_int_equal(value, 4711);
	}
	file(0, "temp1_input", "127000");
	ergon_sensors_read(set, values, errors);
	assert_value("coretemp.Package_id_0", ERGON_SENSOR_TEMPERATURE, 127000);
}

/* What cannot be opened is left out, with the reason. */
static void what_cannot_be_opened_is_dropped(void **state)
{
	char path[PATH_MAX];

	(void)state;
	device(0, "coretemp", "coretemp.0");
	temp(0, 1, "Package id 0", "50000");
	temp(0, 2, "Core 0", "49000");
	snprintf(path, sizeof(path), "%s/sys/class/hwmon/hwmon0/temp1_input", tree.path);
	if (geteuid() == 0) {
		assert_int_equal(unlink(path), 0);
		assert_int_equal(symlink("/does/not/exist", path), 0);
	} else {
		assert_int_equal(chmod(path, 0), 0);
	}
	start(ERGON_SENSORS_ALL);
	assert_int_equal(n, 1);
	assert_string_equal(list[0].name, "coretemp.Core_0");
	assert_int_equal(drops.n, 1);
	assert_string_equal(drops.items[0].what, "coretemp.Package_id_0");
	assert_non_null(strstr(drops.items[0].why, "temp1_input: "));
}

static void silent_cpufreq_says_why(void **state)
{
	int64_t value;
	int error;

	(void)state;
	tree_write(&tree, "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "0\n");
	start(ERGON_SENSORS_CPU);
	assert_non_null(strstr(find("cpufreq", &value, &error)->detail, "policy0/scaling_cur_freq: "));
	assert_int_equal(error, ENODATA);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_an_empty_set),
		TEST(kinds_have_words_and_units),
		TEST(values_come_in_thousandths),
		TEST(names_survive_a_reboot),
		TEST(names_are_unique),
		TEST(texts_are_printable),
		TEST(the_cpu_temperature),
		TEST(bad_text_is_a_missing_value),
		TEST(what_cannot_be_opened_is_dropped),
		TEST(silent_cpufreq_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
