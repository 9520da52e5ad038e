/* SPDX-License-Identifier: BSD-3-Clause */
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

#include "hwmon.h"
#include "tree.h"

#define CLASS "/sys/class/hwmon/"

static struct tree tree;
static struct ergon_sysroot *sr;
static struct ergon_hwmon hw;

static int set_up(void **state)
{
	(void)state;
	tree_create(&tree);
	sr = tree_open(&tree);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ergon_hwmon_free(&hw);
	ergon_sysroot_close(sr);
	tree_destroy(&tree);
	return 0;
}

static void make_link(const char *path, const char *target)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", tree.path, path);
	assert_int_equal(symlink(target, full), 0);
}

static const struct ergon_hwmon_device *device_of(const struct ergon_hwmon_sensor *sensor)
{
	return &hw.devices[sensor->device];
}

static void no_class_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(ergon_hwmon_scan(sr, &hw), -1);
	assert_int_equal(errno, ENOENT);
	ergon_hwmon_free(&hw);
}

static void an_empty_class_has_nothing(void **state)
{
	(void)state;
	tree_write(&tree, CLASS "README", "not a directory");
	tree_write(&tree, CLASS "hwmon0/power1_input", "1\n"); /* no name */
	tree_write(&tree, CLASS "hwmon1/name", "\n");
	assert_int_equal(ergon_hwmon_scan(sr, &hw), 0);
	assert_int_equal(hw.ndevices, 0);
	assert_int_equal(hw.nsensors, 0);
}

/* Only value files of the four kinds make a sensor. */
static void value_files_make_sensors(void **state)
{
	static const struct {
		enum ergon_hwmon_kind kind;
		int index;
		const char *label;
	} want[] = {
		{ ERGON_HWMON_ENERGY, 1, "" },
		{ ERGON_HWMON_POWER, 2, "PPT" },
		{ ERGON_HWMON_TEMP, 1, "edge" },
		{ ERGON_HWMON_TEMP, 10, "" },
		{ ERGON_HWMON_FAN, 1, "" },
	};
	static const char *const noise[] = {
		"power_input", "power1_cap", "power3_input_lowest", "temp1_crit", "tempx_input",
		"temp-1_input", "fan99999999999999999999_input", "in0_input", "power/control",
		"energy1_average", "temp1_average",
	};
	char path[PATH_MAX];

	(void)state;
	tree_write(&tree, CLASS "hwmon0/name", "amdgpu\n");
	tree_write(&tree, CLASS "hwmon0/fan1_input", "1200\n");
	tree_write(&tree, CLASS "hwmon0/temp10_input", "-5000\n");
	tree_write(&tree, CLASS "hwmon0/temp1_input", "41000\n");
	tree_write(&tree, CLASS "hwmon0/temp1_label", "edge\n");
	tree_write(&tree, CLASS "hwmon0/power2_input", "5000000\n");
	tree_write(&tree, CLASS "hwmon0/power2_label", "PPT\n");
	tree_write(&tree, CLASS "hwmon0/energy1_input", "7\n");
	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		snprintf(path, sizeof(path), CLASS "hwmon0/%s", noise[i]);
		tree_write(&tree, path, "1\n");
	}
	assert_int_equal(ergon_hwmon_scan(sr, &hw), 0);
	assert_int_equal(hw.ndevices, 1);
	assert_string_equal(hw.devices[0].entry, "hwmon0");
	assert_string_equal(hw.devices[0].name, "amdgpu");
	assert_string_equal(hw.devices[0].device, "");
	assert_int_equal(hw.nsensors, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < hw.nsensors; i++) {
		assert_int_equal(hw.sensors[i].kind, want[i].kind);
		assert_int_equal(hw.sensors[i].index, want[i].index);
		assert_string_equal(hw.sensors[i].label, want[i].label);
		assert_false(hw.sensors[i].average);
	}
	ergon_hwmon_free(&hw);
	assert_int_equal(ergon_hwmon_scan_kinds(sr, 1u << ERGON_HWMON_FAN | 1u << ERGON_HWMON_POWER,
						&hw), 0);
	assert_int_equal(hw.nsensors, 2);
	assert_int_equal(hw.sensors[0].kind, ERGON_HWMON_POWER);
	assert_int_equal(hw.sensors[1].kind, ERGON_HWMON_FAN);
}

static void average_is_preferred_to_input(void **state)
{
	char path[ERGON_HWMON_PATH_SIZE];

	(void)state;
	tree_write(&tree, CLASS "hwmon0/name", "x\n");
	tree_write(&tree, CLASS "hwmon0/power1_average", "1\n");
	tree_write(&tree, CLASS "hwmon0/power1_input", "1\n");
	tree_write(&tree, CLASS "hwmon0/power2_average", "1\n");
	tree_write(&tree, CLASS "hwmon0/power3_input", "1\n");
	assert_int_equal(ergon_hwmon_scan(sr, &hw), 0);
	assert_int_equal(hw.nsensors, 3);
	assert_string_equal(ergon_hwmon_value_path(&hw.sensors[0], path),
			    "/sys/class/hwmon/hwmon0/power1_average");
	assert_true(hw.sensors[0].both);
	assert_true(hw.sensors[1].average);
	assert_false(hw.sensors[1].both);
	assert_string_equal(ergon_hwmon_value_path(&hw.sensors[2], path),
			    "/sys/class/hwmon/hwmon0/power3_input");
}

/* ACPI power meters keep all their files, the name too, in the device's directory. */
static void files_may_be_in_the_device_directory(void **state)
{
	char text[64];

	(void)state;
	tree_write(&tree, "/sys/devices/ACPI000D:00/name", "power_meter\n");
	tree_write(&tree, "/sys/devices/ACPI000D:00/power1_average", "250000000\n");
	tree_write(&tree, "/sys/devices/ACPI000D:00/power1_oem_info", "Module Power Socket 0\n");
	tree_write(&tree, "/sys/devices/ACPI000D:00/temp1_input", "2\n");
	tree_write(&tree, CLASS "hwmon3/temp1_input", "1\n");
	make_link(CLASS "hwmon3/device", "../../../devices/ACPI000D:00");
	assert_int_equal(ergon_hwmon_scan(sr, &hw), 0);
	assert_int_equal(hw.ndevices, 1);
	assert_string_equal(hw.devices[0].name, "power_meter");
	assert_string_equal(hw.devices[0].device, "ACPI000D:00");
	assert_int_equal(hw.nsensors, 2);
	assert_string_equal(hw.sensors[0].base, "/sys/class/hwmon/hwmon3/device/power1");
	assert_true(ergon_hwmon_attribute(sr, &hw.sensors[0], "oem_info", text, sizeof(text)) > 0);
	assert_string_equal(text, "Module Power Socket 0");
	assert_int_equal(ergon_hwmon_attribute(sr, &hw.sensors[0], "label", text, sizeof(text)), -1);
	/* What both directories have is one sensor. */
	assert_string_equal(hw.sensors[1].base, "/sys/class/hwmon/hwmon3/temp1");
}

/* On the real machine hwmonX itself is a link into the device's directory. */
static void the_class_link_names_the_device_too(void **state)
{
	(void)state;
	tree_write(&tree, "/sys/devices/pci0000:00/0000:41:00.0/hwmon/hwmon7/name", "xe\n");
	tree_write(&tree, CLASS "hwmon0/name", "x\n");
	make_link(CLASS "hwmon7", "../../devices/pci0000:00/0000:41:00.0/hwmon/hwmon7");
	make_link("/sys/devices/pci0000:00/0000:41:00.0/hwmon/hwmon7/device", "../..");
	assert_int_equal(ergon_hwmon_scan(sr, &hw), 0);
	assert_int_equal(hw.ndevices, 2);
	assert_string_equal(hw.devices[1].name, "xe");
	assert_string_equal(hw.devices[1].device, "0000:41:00.0");
}

/* Order is by name and device, whatever the numbers are. */
static void order_does_not_depend_on_numbers(void **state)
{
	(void)state;
	tree_write(&tree, CLASS "hwmon0/name", "b\n");
	tree_write(&tree, CLASS "hwmon1/name", "apm_xgene\n");
	tree_write(&tree, CLASS "hwmon2/name", "apm_xgene\n");
	tree_write(&tree, CLASS "hwmon10/name", "apm_xgene\n");
	tree_write(&tree, CLASS "hwmon9/name", "apm_xgene\n");
	make_link(CLASS "hwmon1/device", "../APMC0D29:10");
	make_link(CLASS "hwmon2/device", "../APMC0D29:9");
	assert_int_equal(ergon_hwmon_scan(sr, &hw), 0);
	assert_int_equal(hw.ndevices, 5);
	/* Without a device told apart by their order alone. */
	assert_string_equal(hw.devices[0].entry, "hwmon9");
	assert_int_equal(hw.devices[0].twin, 0);
	assert_string_equal(hw.devices[1].entry, "hwmon10");
	assert_int_equal(hw.devices[1].twin, 1);
	assert_string_equal(hw.devices[2].device, "APMC0D29:9");
	assert_int_equal(hw.devices[2].twin, 0);
	assert_string_equal(hw.devices[3].device, "APMC0D29:10");
	assert_string_equal(hw.devices[4].name, "b");
}

/* X17: hwmon2 becomes hwmon5; the sensor is the same one. */
static void a_renumbered_sensor_is_found_again(void **state)
{
	const struct ergon_hwmon_sensor *again;
	struct ergon_hwmon_device device;
	struct ergon_hwmon_sensor sensor;
	char from[PATH_MAX], to[PATH_MAX];

	(void)state;
	tree_write(&tree, CLASS "hwmon2/name", "apm_xgene\n");
	tree_write(&tree, CLASS "hwmon2/power1_input", "60000000\n");
	tree_write(&tree, CLASS "hwmon2/power1_label", "CPU power\n");
	make_link(CLASS "hwmon2/device", "../APMC0D29:00");
	assert_int_equal(ergon_hwmon_scan(sr, &hw), 0);
	sensor = hw.sensors[0];
	device = *device_of(&sensor);
	ergon_hwmon_free(&hw);

	snprintf(from, sizeof(from), "%s" CLASS "hwmon2", tree.path);
	snprintf(to, sizeof(to), "%s" CLASS "hwmon5", tree.path);
	assert_int_equal(rename(from, to), 0);
	/* Another device took the old number. */
	tree_write(&tree, CLASS "hwmon2/name", "apm_xgene\n");
	tree_write(&tree, CLASS "hwmon2/power1_input", "1\n");
	tree_write(&tree, CLASS "hwmon2/power1_label", "CPU power\n");
	make_link(CLASS "hwmon2/device", "../APMC0D29:01");
	assert_int_equal(ergon_hwmon_scan(sr, &hw), 0);
	again = ergon_hwmon_find(&hw, &device, &sensor);
	assert_non_null(again);
	assert_string_equal(again->base, CLASS "hwmon5/power1");
	/* Another label is another sensor. */
	strcpy(sensor.label, "IO power");
	assert_null(ergon_hwmon_find(&hw, &device, &sensor));
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(no_class_is_an_error),
		T(an_empty_class_has_nothing),
		T(value_files_make_sensors),
		T(average_is_preferred_to_input),
		T(files_may_be_in_the_device_directory),
		T(the_class_link_names_the_device_too),
		T(order_does_not_depend_on_numbers),
		T(a_renumbered_sensor_is_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
