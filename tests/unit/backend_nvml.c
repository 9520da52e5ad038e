/* SPDX-License-Identifier: BSD-3-Clause */
/* NVIDIA GPUs as files and a stub of NVML that tells what a test wants. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "flags.h"
#include "gpu_stage.h"

#define J 1000000ull
#define MS 1000000ull

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

/* What the driver shows of a GPU; more: further lines. */
static void card(const char *address, int number, const char *more)
{
	char path[PATH_MAX], text[512];

	tree_write(&stage.tree, "/dev/nvidiactl", "");
	snprintf(path, sizeof(path), "/dev/nvidia%d", number);
	tree_write(&stage.tree, path, "");
	snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", address);
	snprintf(text, sizeof(text),
		 "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t %d\n"
		 "GPU UUID: \t GPU-5a0d0000-0000-0000-0000-00000000000%d\n"
		 "Bus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d\n%s",
		 100 + number, number, address, number, more);
	tree_write(&stage.tree, path, text);
}

static enum ergon_probe_state probe(struct ergon_probe *out)
{
	memset(out, 0x5a, sizeof(*out));
	ergon_backend_nvml.probe(&stage.m, out);
	return out->state;
}

static void no_gpu_is_absence(void **state)
{
	struct ergon_error err = { "" };
	struct ergon_probe out;

	(void)state;
	assert_int_equal(probe(&out), ERGON_PROBE_ABSENT);
	assert_non_null(strstr(out.reason, "/dev/nvidiactl"));
	assert_null(ergon_backend_nvml.open(&stage.m, &err));
	assert_non_null(strstr(err.text, "nvml: no NVIDIA GPU"));
	ergon_backend_nvml.close(NULL);
}

/* Numbered in the order of the bus, not of the names or of the device files. */
static void eight_gpus_in_the_order_of_the_bus(void **state)
{
	static const char *const addresses[] = {
		"0000:07:00.0", "0000:0a:00.0", "0000:41:00.0", "0000:4a:00.0",
		"0000:87:00.0", "0000:9f:00.0", "0000:b7:00.0", "0001:07:00.0",
	};
	const struct ergon_channel *channels;
	struct ergon_meter *meter;
	char name[16], id[32];

	(void)state;
	for (int i = 0; i < 8; i++)
		card(addresses[i], 7 - i, "GPU Excluded:\t No\n");
	meter = gpu_stage_meter(&stage, "nvml");
	assert_int_equal(ergon_meter_channels(meter, &channels), 8);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "gpu%d", i);
		snprintf(id, sizeof(id), "pci %s", addresses[i]);
		assert_string_equal(channels[i].name, name);
		assert_string_equal(channels[i].id, id);
		assert_int_equal(channels[i].domain, ERGON_DOMAIN_GPU);
		assert_int_equal(channels[i].package, -1);
		assert_true(channels[i].in_total);
	}
	assert_string_equal(channels[2].detail, "0000:41:00.0 NVIDIA A100-SXM4-40GB "
			    "GPU-5a0d0000-0000-0000-0000-000000000005");
	assert_string_equal(ergon_meter_scope(meter), "gpu");
	ergon_meter_close(meter);
}

/* Excluded by the driver, denied by the job's cgroup (here: no device file), not readable. */
static void gpus_that_are_not_ours_are_left_out(void **state)
{
	const struct ergon_dropped *dropped;
	const struct ergon_channel *channels;
	struct ergon_probe out;
	struct ergon_meter *meter;
	char path[PATH_MAX];

	(void)state;
	card("0000:07:00.0", 0, "GPU Excluded:\t Yes\n");
	card("0000:0a:00.0", 1, "");
	card("0000:41:00.0", 2, "");
	snprintf(path, sizeof(path), "%s/dev/nvidia1", stage.tree.path);
	unlink(path);
	tree_write(&stage.tree, "/proc/driver/nvidia/gpus/0000:99:00.0/power", "");
	meter = gpu_stage_meter(&stage, "nvml");
	assert_int_equal(ergon_meter_channels(meter, &channels), 1);
	assert_string_equal(channels[0].id, "pci 0000:41:00.0");
	assert_int_equal(ergon_meter_dropped(meter, &dropped), 3);
	assert_string_equal(dropped[0].what, "0000:07:00.0");
	assert_non_null(strstr(dropped[0].why, "leave this GPU alone"));
	assert_string_equal(dropped[1].what, "0000:0a:00.0");
	assert_non_null(strstr(dropped[1].why, "/dev/nvidia1"));
	assert_non_null(strstr(dropped[2].why, "information"));
	ergon_meter_close(meter);

	snprintf(path, sizeof(path), "%s/dev/nvidia2", stage.tree.path);
	unlink(path);
	assert_int_equal(probe(&out), ERGON_PROBE_PERMISSION);
	assert_string_equal(out.reason, "none of 2 NVIDIA GPUs may be opened");
}

/* alumet #338, pynvml #18: repeats are 0 J, and nothing is lost or added. */
static void counters_give_exact_joules(void **state)
{
	struct ergon_meter *meter;
	unsigned flags;
	struct ergon_reading r;

	(void)state;
	card("0000:41:00.0", 0, "");
	card("0000:07:00.0", 1, "");
	gpu_stage_tell(&stage, "gpu 0000:07:00.0 0 0 1000 3 0\ngpu 0000:41:00.0 0 0 18446744073709000 3 0\n");
	meter = gpu_stage_meter(&stage, "nvml");
	gpu_stage_settle(meter);
	for (int i = 0; i < 20; i++) {
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, 0);
		usleep(10000);
	}
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 0);
	gpu_stage_tell(&stage, "gpu 0000:07:00.0 0 0 251000 3 0\ngpu 0000:41:00.0 0 0 18446744073709543 3 0\n");
	assert_int_equal(gpu_stage_until(meter, 0, 1, &flags), 250 * J);
	usleep(150000);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 250 * J);
	assert_int_equal(r.counts[1], 543000);
	assert_int_equal(flags | r.flags, 0);
	ergon_meter_close(meter);
	assert_int_equal(gpu_stage_calls(&stage, "init"), 1);
	assert_int_equal(gpu_stage_calls(&stage, "shutdown"), 1);
}

/* The driver was loaded again: the counter starts anew, and what was before is not lost twice. */
static void a_driver_reload_is_a_reset(void **state)
{
	struct ergon_meter *meter;
	unsigned flags;

	(void)state;
	card("0000:41:00.0", 0, "");
	gpu_stage_tell(&stage, "gpu 0000:41:00.0 0 0 9000000 3 0\n");
	meter = gpu_stage_meter(&stage, "nvml");
	gpu_stage_settle(meter);
	gpu_stage_tell(&stage, "gpu 0000:41:00.0 0 0 9001000 3 0\n");
	assert_int_equal(gpu_stage_until(meter, 0, 1, &flags), 1 * J);
	gpu_stage_tell(&stage, "gpu 0000:41:00.0 0 0 12 3 0\n");
	flags = 0;
	for (int tries = 0; tries < 500 && !(flags & ERGON_FLAG_RESET); tries++) {
		struct ergon_reading r;

		ergon_meter_read(meter, &r);
		flags |= r.flags;
		assert_int_equal(r.counts[0], 1 * J);
		usleep(10000);
	}
	assert_int_equal(flags, ERGON_FLAG_RESET);
	gpu_stage_tell(&stage, "gpu 0000:41:00.0 0 0 3012 3 0\n");
	assert_int_equal(gpu_stage_until(meter, 0, 1, &flags), 3 * J);
	assert_int_equal(flags, 0);
	ergon_meter_close(meter);
}

/* nvml-wrapper #54, codecarbon #1319: NOT_SUPPORTED (3) on Pascal; 100 W are integrated. */
static void without_energy_power_is_integrated(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading first, last;
	double watts;

	(void)state;
	card("0000:41:00.0", 0, "");
	gpu_stage_tell(&stage, "gpu 0000:41:00.0 0 3 0 0 100000\n");
	meter = gpu_stage_meter(&stage, "nvml");
	gpu_stage_settle(meter);
	ergon_meter_read(meter, &first);
	do {
		usleep(50000);
		ergon_meter_read(meter, &last);
	} while (last.t_ns - first.t_ns < 1500 * MS);
	watts = (double)(last.counts[0] - first.counts[0]) * 1e3 / (double)(last.t_ns - first.t_ns);
	assert_true(watts > 50 && watts < 150);
	assert_int_equal(last.flags, 0);
	ergon_meter_close(meter);
}

/* NVML takes its time: whoever opens does not wait for it, nor does whoever closes. */
static void a_slow_start_holds_nobody_up(void **state)
{
	struct ergon_meter *meter;
	uint64_t before = ergon_clock_ns();

	(void)state;
	card("0000:41:00.0", 0, "");
	gpu_stage_tell(&stage, "init 0 1500\ngpu 0000:41:00.0 0 0 5 3 0\n");
	meter = gpu_stage_meter(&stage, "nvml");
	assert_false(ergon_meter_answered(meter, 0));
	ergon_meter_close(meter);
	assert_true(ergon_clock_ns() - before < 1000 * MS);
	for (int tries = 0; tries < 500 && gpu_stage_calls(&stage, "shutdown") == 0; tries++)
		usleep(10000);
	assert_int_equal(gpu_stage_calls(&stage, "shutdown"), 1);
}

/* 100 W are drawn while NVML starts for 600 ms: nothing is missing. */
static void what_is_drawn_while_it_starts_counts(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;
	uint64_t before = ergon_clock_ns();
	double most;

	(void)state;
	card("0000:41:00.0", 0, "");
	gpu_stage_tell(&stage, "init 0 600\ngpu 0000:41:00.0 0 0 5000 0 100000\n");
	meter = gpu_stage_meter(&stage, "nvml");
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[0], 0);
	gpu_stage_settle(meter);
	most = (double)(ergon_clock_ns() - before) * 1e-9 * 100 * J;
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_true(r.counts[0] >= 60 * J && (double)r.counts[0] <= most);
	ergon_meter_close(meter);
}

/* The meter misses the GPU after 1 s and has it looked for: no reason to start anew. */
static void a_slow_start_is_not_repeated(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	card("0000:41:00.0", 0, "");
	gpu_stage_tell(&stage, "init 0 1500\ngpu 0000:41:00.0 0 0 5 3 0\n");
	meter = gpu_stage_meter(&stage, "nvml");
	gpu_stage_settle(meter);
	ergon_meter_close(meter);
	assert_int_equal(gpu_stage_calls(&stage, "init"), 1);
}

/* One falls off the bus, one is denied; the third goes on. Both come back without a new start. */
static void lost_gpus_do_not_disturb_the_others(void **state)
{
	struct ergon_reading r;
	struct ergon_meter *meter;
	const struct ergon_channel *channels;
	uint64_t start;
	unsigned flags;

	(void)state;
	card("0000:07:00.0", 0, "");
	card("0000:41:00.0", 1, "");
	card("0000:87:00.0", 2, "");
	gpu_stage_tell(&stage, "gpu 0000:07:00.0 0 0 10 3 0\ngpu 0000:41:00.0 0 0 10 3 0\n"
		       "gpu 0000:87:00.0 0 0 10 3 0\n");
	meter = gpu_stage_meter(&stage, "nvml");
	assert_int_equal(ergon_meter_channels(meter, &channels), 3);
	gpu_stage_settle(meter);
	gpu_stage_tell(&stage, "gpu 0000:07:00.0 15 15 99 3 0\ngpu 0000:41:00.0 0 0 1010 3 0\n"
		       "gpu 0000:87:00.0 4 4 99 4 1\n");
	start = ergon_clock_ns();
	do {
		usleep(20000);
		ergon_meter_read(meter, &r);
	} while (!(r.flags & ERGON_FLAG_GAP) && ergon_clock_ns() - start < 8000 * MS);
	assert_int_equal(r.flags, ERGON_FLAG_GAP);
	assert_int_equal(r.counts[0], 0);
	assert_int_equal(r.counts[1], 1 * J);
	assert_int_equal(r.counts[2], 0);
	gpu_stage_tell(&stage, "gpu 0000:07:00.0 0 0 7010 3 0\ngpu 0000:41:00.0 0 0 1010 3 0\n"
		       "gpu 0000:87:00.0 0 0 10 3 0\n");
	assert_int_equal(gpu_stage_until(meter, 0, 1, &flags), 7 * J);
	for (int tries = 0; tries < 500 && (r.flags & ERGON_FLAG_GAP); tries++) {
		usleep(10000);
		ergon_meter_read(meter, &r);
	}
	assert_int_equal(r.flags, 0);
	ergon_meter_close(meter);
	assert_int_equal(gpu_stage_calls(&stage, "init"), 1);
}

/* The driver was updated and not yet loaded: told by the probe, and tried again. */
static void a_start_that_fails_is_tried_again(void **state)
{
	struct ergon_meter *meter;
	struct ergon_probe out;
	unsigned flags;

	(void)state;
	card("0000:41:00.0", 0, "");
	gpu_stage_tell(&stage, "init 18 0\ngpu 0000:41:00.0 0 0 5 3 0\n");
	assert_int_equal(probe(&out), ERGON_PROBE_UNSUPPORTED);
	assert_string_equal(out.reason, "nvmlInit: Driver/library version mismatch");
	assert_int_equal(gpu_stage_calls(&stage, "shutdown"), 0);
	gpu_stage_tell(&stage, "init 4 0\n");
	assert_int_equal(probe(&out), ERGON_PROBE_PERMISSION);
	assert_string_equal(out.reason, "nvmlInit: stub error 4");
	assert_non_null(strstr(out.remedy, "root"));

	meter = gpu_stage_meter(&stage, "nvml");
	gpu_stage_tell(&stage, "gpu 0000:41:00.0 0 0 5 3 0\n");
	gpu_stage_settle(meter);
	gpu_stage_tell(&stage, "gpu 0000:41:00.0 0 0 2005 3 0\n");
	assert_int_equal(gpu_stage_until(meter, 0, 1, &flags), 2 * J);
	ergon_meter_close(meter);
	assert_int_equal(probe(&out), ERGON_PROBE_OK);
	assert_string_equal(out.reason, "");
}

/* A vGPU that tells neither energy nor power is not 0 J. */
static void nothing_told_is_not_zero(void **state)
{
	struct ergon_meter *meter;
	struct ergon_probe out;

	(void)state;
	card("0000:41:00.0", 0, "");
	gpu_stage_tell(&stage, "gpu 0000:41:00.0 0 3 0 3 0\n");
	assert_int_equal(probe(&out), ERGON_PROBE_UNSUPPORTED);
	assert_string_equal(out.reason, "energy: stub error 3");
	meter = gpu_stage_meter(&stage, "nvml");
	assert_false(ergon_meter_settle(meter, 300));
	assert_false(ergon_meter_answered(meter, 0));
	ergon_meter_close(meter);
}

/* A container that hides /proc/driver: NVML lists the GPUs itself. */
static void without_proc_nvml_lists(void **state)
{
	const struct ergon_channel *channels;
	struct ergon_meter *meter;
	struct ergon_probe out;
	unsigned flags;

	(void)state;
	tree_write(&stage.tree, "/dev/nvidiactl", "");
	assert_int_equal(probe(&out), ERGON_PROBE_ABSENT);
	assert_string_equal(out.reason, "NVML lists no GPU");
	gpu_stage_tell(&stage, "init 18 0\n");
	assert_int_equal(probe(&out), ERGON_PROBE_UNSUPPORTED);
	gpu_stage_tell(&stage, "gpu 0000:87:00.0 0 0 7 3 0\ngpu 0000:41:00.0 0 0 5 3 0\n");
	meter = gpu_stage_meter(&stage, "nvml");
	assert_int_equal(ergon_meter_channels(meter, &channels), 2);
	assert_string_equal(channels[0].id, "pci 0000:41:00.0");
	assert_string_equal(channels[0].detail, "0000:41:00.0 (listed by NVML alone)");
	gpu_stage_settle(meter);
	gpu_stage_tell(&stage, "gpu 0000:87:00.0 0 0 7 3 0\ngpu 0000:41:00.0 0 0 1005 3 0\n");
	assert_int_equal(gpu_stage_until(meter, 0, 1, &flags), 1 * J);
	ergon_meter_close(meter);
	assert_int_equal(gpu_stage_calls(&stage, "init"), 1 + gpu_stage_calls(&stage, "shutdown"));
}

/* The same, and NVML hangs: it is given three seconds. */
static void a_listing_that_hangs_holds_nobody_up(void **state)
{
	uint64_t start = ergon_clock_ns();
	struct ergon_error err = { "" };

	(void)state;
	tree_write(&stage.tree, "/dev/nvidiactl", "");
	gpu_stage_tell(&stage, "init 0 20000\ngpu 0000:41:00.0 0 0 5 3 0\n");
	assert_null(ergon_backend_nvml.open(&stage.m, &err));
	assert_true(ergon_clock_ns() - start < 10 * 1000000000ull);
	assert_string_equal(err.text, "nvml: NVML does not answer");
}

static void a_forked_child_leaves_it_alone(void **state)
{
	struct ergon_meter *meter;
	int status;
	pid_t pid;

	(void)state;
	card("0000:41:00.0", 0, "");
	gpu_stage_tell(&stage, "gpu 0000:41:00.0 0 0 5 3 0\n");
	meter = gpu_stage_meter(&stage, "nvml");
	gpu_stage_settle(meter);
	pid = fork();
	if (pid == 0) {
		ergon_meter_close(meter);
		_exit(gpu_stage_calls(&stage, "shutdown"));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ergon_meter_close(meter);
	assert_int_equal(gpu_stage_calls(&stage, "shutdown"), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_gpu_is_absence, set_up, tear_down),
		cmocka_unit_test_setup_teardown(eight_gpus_in_the_order_of_the_bus, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gpus_that_are_not_ours_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counters_give_exact_joules, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_driver_reload_is_a_reset, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_energy_power_is_integrated, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_slow_start_holds_nobody_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_drawn_while_it_starts_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_slow_start_is_not_repeated, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lost_gpus_do_not_disturb_the_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_start_that_fails_is_tried_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_told_is_not_zero, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_proc_nvml_lists, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_forked_child_leaves_it_alone, set_up, tear_down),
		/* The last one: its thread lives until the process ends. */
		cmocka_unit_test_setup_teardown(a_listing_that_hangs_holds_nobody_up, set_up, tear_down),
	};
	static const struct gpu_libraries mode = { "nvml", { "libnvidia-ml.so.1" } };
	int rc = gpu_stage_run(argv, &mode, 1);

	(void)argc;
	return rc >= 0 ? rc : cmocka_run_group_tests(tests, NULL, NULL);
}
