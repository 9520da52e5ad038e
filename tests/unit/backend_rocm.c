/* SPDX-License-Identifier: BSD-3-Clause */
/* AMD GPUs as files and stubs of ROCm SMI and AMD SMI that tell what a test wants. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "flags.h"
#include "gpu_stage.h"

#define J 1000000ull
#define S 1000000000ull
/* One count of the stubs, a float: 15.259 uJ. */
#define UJ(counts) ((uint64_t)((long double)(counts) * 15.259f))

static struct gpu_stage stage;

static int set_up(void **state)
{
	(void)state;
	gpu_stage_open(&stage);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	gpu_stage_close(&stage);
	return 0;
}

/* A GPU of the amdgpu driver; power in microwatts, file NULL: no hwmon. */
static void card(const char *address, const char *device, const char *file, const char *uw)
{
	char path[PATH_MAX];

	tree_write(&stage.tree, "/dev/kfd", "");
	tree_write(&stage.tree, "/sys/bus/pci/drivers/amdgpu/bind", "");
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/amdgpu/%s/device", address);
	tree_write(&stage.tree, path, device);
	if (!file)
		return;
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/amdgpu/%s/hwmon/hwmon7/%s", address, file);
	tree_write(&stage.tree, path, uw);
}

static enum ergon_probe_state probe(struct ergon_probe *out)
{
	memset(out, 0x5a, sizeof(*out));
	ergon_backend_rocm.probe(&stage.m, out);
	return out->state;
}

static void no_gpu_is_absence(void **state)
{
	struct ergon_error err = { "" };
	struct ergon_probe out;

	(void)state;
	assert_int_equal(probe(&out), ERGON_PROBE_ABSENT);
	assert_non_null(strstr(out.reason, "no AMD GPU"));
	assert_null(ergon_backend_rocm.open(&stage.m, &err));
	assert_non_null(strstr(err.text, "rocm: no AMD GPU"));
	ergon_backend_rocm.close(NULL);

	tree_write(&stage.tree, "/sys/bus/pci/drivers/amdgpu/bind", "");
	assert_int_equal(probe(&out), ERGON_PROBE_ABSENT);
	assert_non_null(strstr(out.reason, "/dev/kfd"));
	tree_write(&stage.tree, "/dev/kfd", "");
	assert_int_equal(probe(&out), ERGON_PROBE_ABSENT);
	assert_string_equal(out.reason, "no GPU in /sys/bus/pci/drivers/amdgpu");
}

/* Counts, repeats and one step back, through whichever library there is. */
static void check_counts(void)
{
	const struct ergon_channel *channels;
	struct ergon_meter *meter;
	struct ergon_reading r;
	unsigned flags;

	card("0000:c1:00.0", "0x74a1\n", NULL, NULL);
	card("0000:46:00.0", "0x74a1\n", NULL, NULL);
	gpu_stage_tell(&stage, "gpu 0000:c1:00.0 0 0 1000000 0 0\ngpu 0000:46:00.0 0 0 500 0 0\n");
	meter = gpu_stage_meter(&stage, "rocm");
	assert_int_equal(ergon_meter_channels(meter, &channels), 2);
	assert_string_equal(channels[0].name, "gpu0");
	assert_string_equal(channels[0].id, "pci 0000:46:00.0");
	assert_string_equal(channels[0].detail, "0000:46:00.0 AMD 0x74a1");
	assert_false(channels[0].integrated);
	gpu_stage_settle(meter);
	gpu_stage_tell(&stage, "gpu 0000:c1:00.0 0 0 21000000 0 0\ngpu 0000:46:00.0 0 0 500 0 0\n");
	assert_int_equal(gpu_stage_until(meter, 1, 1, &flags), UJ(21000000) - UJ(1000000));
	assert_int_equal(flags, 0);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 0);
	gpu_stage_tell(&stage, "gpu 0000:c1:00.0 0 0 100 0 0\ngpu 0000:46:00.0 0 0 500 0 0\n");
	flags = 0;
	for (int tries = 0; tries < 500 && !flags; tries++) {
		ergon_meter_read(meter, &r);
		flags = r.flags;
		usleep(10000);
	}
	assert_int_equal(flags, ERGON_FLAG_RESET);
	assert_int_equal(r.counts[1], UJ(21000000) - UJ(1000000));
	ergon_meter_close(meter);
	assert_int_equal(gpu_stage_calls(&stage, "init"), 1);
	assert_int_equal(gpu_stage_calls(&stage, "shutdown"), 1);
}

static void rocm_smi_gives_exact_joules(void **state)
{
	struct ergon_probe out;

	(void)state;
	check_counts();
	gpu_stage_tell(&stage, "init 8 0\n");
	card("0000:c1:00.0", "0x74a1\n", "power1_average", "none\n");
	assert_int_equal(probe(&out), ERGON_PROBE_UNSUPPORTED);
	assert_string_equal(out.reason, "ROCm SMI: init: error 8");
}

static void amd_smi_is_preferred(void **state)
{
	struct ergon_probe out;

	(void)state;
	check_counts();
	gpu_stage_tell(&stage, "init 10 0\n");
	assert_int_equal(probe(&out), ERGON_PROBE_PERMISSION);
	assert_string_equal(out.reason, "AMD SMI: init: error 10 (permission)");
	assert_non_null(strstr(out.remedy, "render"));
}

/* rocm_smi_lib #160: one die of an MI250X tells for the card, the other reads 0. */
static void second_dies_are_left_out(void **state)
{
	const struct ergon_channel *channels;
	const struct ergon_dropped *dropped;
	struct ergon_meter *meter;

	(void)state;
	card("0000:c1:00.0", "0x7408\n", "power1_average", "0\n");
	card("0000:c6:00.0", "0x7408\n", "power1_average", "92000000\n");
	card("0000:d1:00.0", "0x7408\n", "power1_average", "91000000\n");
	card("0000:d6:00.0", "0x7408\n", NULL, NULL);
	card("0000:e1:00.0", "0x740f\n", "power1_average", "0\n");
	/* A card of which no die tells power is a card all the same. */
	card("0000:f1:00.0", "0x7408\n", NULL, NULL);
	card("0000:f6:00.0", "0x7408\n", NULL, NULL);
	meter = gpu_stage_meter(&stage, "rocm");
	assert_int_equal(ergon_meter_channels(meter, &channels), 4);
	assert_string_equal(channels[3].id, "pci 0000:f1:00.0");
	assert_string_equal(channels[0].id, "pci 0000:c6:00.0");
	assert_string_equal(channels[1].id, "pci 0000:d1:00.0");
	assert_string_equal(channels[2].id, "pci 0000:e1:00.0");
	assert_int_equal(ergon_meter_dropped(meter, &dropped), 3);
	assert_string_equal(dropped[0].what, "0000:c1:00.0");
	assert_string_equal(dropped[0].why, "second die: the first one tells for the whole card");
	assert_string_equal(dropped[1].what, "0000:d6:00.0");
	ergon_meter_close(meter);
}

/* An APU's power is that of its package, which has a meter of its own. */
static void graphics_of_processors_are_left_out(void **state)
{
	const struct ergon_dropped *dropped;
	const struct ergon_channel *channels;
	struct ergon_meter *meter;
	struct ergon_probe out;

	(void)state;
	card("0000:0c:00.0", "0x164e\n", "power1_input", "31000000\n");
	tree_write(&stage.tree, "/sys/bus/pci/drivers/amdgpu/0000:0c:00.0/hwmon/hwmon7/in1_label", "vddnb\n");
	assert_int_equal(probe(&out), ERGON_PROBE_ABSENT);
	card("0000:03:00.0", "0x73bf\n", "power1_average", "18000000\n");
	tree_write(&stage.tree, "/sys/bus/pci/drivers/amdgpu/0000:03:00.0/hwmon/hwmon7/in1_label", "vddgfx\n");
	meter = gpu_stage_meter(&stage, "rocm");
	assert_int_equal(ergon_meter_channels(meter, &channels), 1);
	assert_string_equal(channels[0].id, "pci 0000:03:00.0");
	assert_int_equal(ergon_meter_dropped(meter, &dropped), 1);
	assert_string_equal(dropped[0].what, "0000:0c:00.0");
	assert_string_equal(dropped[0].why, "the processor's own graphics");
	ergon_meter_close(meter);
}

static void without_power_every_other_die_counts(void **state)
{
	const struct ergon_channel *channels;
	struct ergon_meter *meter;

	(void)state;
	card("0000:c1:00.0", "0x740c\n", NULL, NULL);
	card("0000:c6:00.0", "0x740c\n", NULL, NULL);
	card("0000:c8:00.0", "0x74a1\n", NULL, NULL);
	card("0000:c9:00.0", "0x740c\n", NULL, NULL);
	card("0000:ce:00.0", "0x740c\n", NULL, NULL);
	meter = gpu_stage_meter(&stage, "rocm");
	assert_int_equal(ergon_meter_channels(meter, &channels), 3);
	assert_string_equal(channels[0].id, "pci 0000:c1:00.0");
	assert_string_equal(channels[1].id, "pci 0000:c8:00.0");
	assert_string_equal(channels[2].id, "pci 0000:c9:00.0");
	ergon_meter_close(meter);
}

/*
 * No counter (0, or NOT_SUPPORTED): power at once. A counter that stands
 * still (rocm_smi_lib #180) or never answers: power after 5 s. None of both: no value.
 */
static void power_stands_in(void **state)
{
	struct ergon_reading r = { .t_ns = 0 };
	struct ergon_meter *meter;
	uint64_t start;

	(void)state;
	/* The joules of a standstill come at once: no glitch to the usual guard. */
	stage.m.max_watts[ERGON_DOMAIN_GPU] = 0;
	card("0000:01:00.0", "0x74a1\n", "power1_average", "100000000\n");
	card("0000:02:00.0", "0x74a1\n", "power1_input", "200000000\n");
	card("0000:03:00.0", "0x74a1\n", "power1_average", "300000000\n");
	card("0000:04:00.0", "0x74a1\n", "power1_average", "400000000\n");
	gpu_stage_tell(&stage, "gpu 0000:01:00.0 0 0 0 0 0\ngpu 0000:02:00.0 0 2 5 0 0\n"
		       "gpu 0000:03:00.0 0 0 77000 0 0\ngpu 0000:04:00.0 0 1 5 0 0\n");
	start = ergon_clock_ns();
	meter = gpu_stage_meter(&stage, "rocm");
	while (ergon_clock_ns() - start < 2 * S) {
		usleep(20000);
		ergon_meter_read(meter, &r);
	}
	assert_true(r.counts[0] > 100 * J && r.counts[0] < 240 * J);
	assert_true(r.counts[1] > 200 * J && r.counts[1] < 480 * J);
	assert_true(r.counts[2] < 30 * J); /* until the first answer */
	assert_int_equal(r.counts[3], 0);
	assert_false(ergon_meter_answered(meter, 3));
	while (ergon_clock_ns() - start < 7 * S) {
		usleep(100000);
		ergon_meter_read(meter, &r);
	}
	/* The standstill is made up for. */
	assert_true(r.counts[2] > 300 * 5 * J && r.counts[2] < 300 * 12 * J);
	assert_true(r.counts[3] > 400 * 5 * J && r.counts[3] < 400 * 12 * J);
	assert_int_equal(r.flags, 0);
	ergon_meter_close(meter);
}

/* AMD SMI ends for all its users at once: one meter must not take it from another. */
static void meters_share_the_library(void **state)
{
	struct ergon_meter *first, *second;
	unsigned flags;

	(void)state;
	card("0000:c1:00.0", "0x74a1\n", NULL, NULL);
	gpu_stage_tell(&stage, "gpu 0000:c1:00.0 0 0 1000000 0 0\n");
	first = gpu_stage_meter(&stage, "rocm");
	gpu_stage_settle(first);
	second = gpu_stage_meter(&stage, "rocm");
	gpu_stage_settle(second);
	ergon_meter_close(first);
	gpu_stage_tell(&stage, "gpu 0000:c1:00.0 0 0 21000000 0 0\n");
	assert_int_equal(gpu_stage_until(second, 0, 1, &flags), UJ(21000000) - UJ(1000000));
	assert_int_equal(gpu_stage_calls(&stage, "init"), 1);
	assert_int_equal(gpu_stage_calls(&stage, "shutdown"), 0);
	ergon_meter_close(second);
	assert_int_equal(gpu_stage_calls(&stage, "shutdown"), 1);
}

int main(int argc, char **argv)
{
	/* An AMD SMI of before ROCm 6 lacks functions: ROCm SMI is taken. */
	static const struct gpu_libraries modes[] = {
		{ "rocm_smi", { "lacking/libamd_smi.so", "librocm_smi64.so" } },
		{ "amd_smi", { "libamd_smi.so", "librocm_smi64.so" } },
	};
	const struct CMUnitTest rocm_smi[] = {
		cmocka_unit_test_setup_teardown(rocm_smi_gives_exact_joules, set_up, tear_down),
	};
	const struct CMUnitTest amd_smi[] = {
		cmocka_unit_test_setup_teardown(no_gpu_is_absence, set_up, tear_down),
		cmocka_unit_test_setup_teardown(amd_smi_is_preferred, set_up, tear_down),
		cmocka_unit_test_setup_teardown(second_dies_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(graphics_of_processors_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_power_every_other_die_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(power_stands_in, set_up, tear_down),
		cmocka_unit_test_setup_teardown(meters_share_the_library, set_up, tear_down),
	};
	int rc = gpu_stage_run(argv, modes, sizeof(modes) / sizeof(modes[0]));

	(void)argc;
	if (rc >= 0)
		return rc;
	if (strcmp(gpu_stage_mode(), "rocm_smi") == 0)
		return cmocka_run_group_tests(rocm_smi, NULL, NULL);
	return cmocka_run_group_tests(amd_smi, NULL, NULL);
}
