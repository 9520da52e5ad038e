/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Damaged sysfs text: bytes of a good machine's files are changed at random
 * (fixed seed; FUZZ_SEED and FUZZ_ROUNDS override). Whatever they hold,
 * probing answers in words, and what opens has sound channels; sensors have
 * names one can print and values in bounds.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "meter.h"
#include "sensors.h"
#include "tree.h"

#define ZONES "/sys/class/powercap/"
#define HWMON "/sys/class/hwmon/hwmon"
#define NODE "/sys/cray/pm_counters/"
#define PMU "/sys/bus/event_source/devices/power/"

static const struct file {
	const char *path;
	const char *text;
} files[] = {
	{ ZONES "intel-rapl:0/name", "package-0-die-0\n" },
	{ ZONES "intel-rapl:0/energy_uj", "131000000000\n" },
	{ ZONES "intel-rapl:0/max_energy_range_uj", "262143328850\n" },
	{ ZONES "intel-rapl:0:0/name", "dram\n" },
	{ ZONES "intel-rapl:0:0/energy_uj", "62000000000\n" },
	{ ZONES "intel-rapl:0:0/max_energy_range_uj", "65712999613\n" },
	{ ZONES "intel-rapl:1/name", "psys-1\n" },
	{ ZONES "intel-rapl:1/energy_uj", "7\n" },
	{ ZONES "intel-rapl:1/max_energy_range_uj", "18446744073709551615\n" },
	{ ZONES "intel-rapl-mmio:0/name", "package-0\n" },
	{ ZONES "intel-rapl-mmio:0/energy_uj", "131000000000\n" },
	{ HWMON "0/name", "apm_xgene\n" },
	{ HWMON "0/power1_label", "CPU power\n" },
	{ HWMON "1/name", "apm_xgene\n" },
	{ HWMON "1/power1_label", "CPU power\n" },
	{ HWMON "1/device/numa_node", "1\n" },
	{ HWMON "2/name", "power_meter\n" },
	{ HWMON "2/power1_oem_info", "Grace Power Socket 1\n" },
	{ HWMON "2/power1_average_interval", "50\n" },
	{ HWMON "3/device/name", "power_meter\n" },
	{ HWMON "3/device/power1_oem_info", "Grace Power Socket 0\n" },
	{ HWMON "4/name", "amd_energy\n" },
	{ HWMON "4/energy1_label", "Esocket0\n" },
	{ HWMON "4/energy2_label", "Esocket1\n" },
	{ HWMON "4/energy3_label", "Esocket2\n" },
	{ HWMON "5/name", "amdgpu\n" },
	{ HWMON "6/name", "ibmpowernv\n" },
	{ HWMON "6/energy1_label", "Chip 0 \n" },
	{ HWMON "6/energy2_label", "Chip 8 Memory\n" },
	{ HWMON "7/name", "xe\n" },
	{ "/sys/devices/system/node/node0/cpulist", "0\n" },
	{ "/sys/devices/system/node/node1/cpulist", "1\n" },
	/* A type no kernel has: the text is read, nothing is opened. */
	{ PMU "type", "4294967295\n" },
	{ PMU "cpumask", "0-1,3\n" },
	{ PMU "events/energy-pkg", "event=0x02\n" },
	{ PMU "events/energy-pkg.scale", "2.3283064365386962890625e-10\n" },
	{ PMU "events/energy-pkg.unit", "Joules\n" },
	{ NODE "freshness", "41\n" },
	{ NODE "startup", "7\n" },
	{ NODE "energy", "81234567 J 1733054400123456 us\n" },
	{ NODE "cpu_energy", "9345678 J 1733054400123456 us\n" },
	{ NODE "accel0_energy", "14234560 J 1733054400123456 us\n" },
	{ NODE "accel_energy", "0 J\n" },
	{ "/proc/stat", "cpu 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7 8 9 10\n" },
};

/* Left alone: hwmon asks these on a thread, and does not wait long for the answer. */
static const char *const values[] = {
	HWMON "0/power1_input", HWMON "1/power1_input", HWMON "2/power1_average",
	HWMON "3/device/power1_average", HWMON "4/energy1_input", HWMON "4/energy2_input",
	HWMON "4/energy3_input", HWMON "5/power1_average", HWMON "6/energy1_input",
	HWMON "6/energy2_input", HWMON "7/energy1_input",
};

#define NFILES (sizeof(files) / sizeof(files[0]))

#define POLICY "/sys/devices/system/cpu/cpufreq/policy"
#define HWMON "/sys/class/hwmon/hwmon"

static const struct file sensor_files[] = {
	{ POLICY "0/affected_cpus", "0 1 2 3\n" },
	{ POLICY "0/cpuinfo_avg_freq", "2100000\n" },
	{ POLICY "0/scaling_cur_freq", "2000000\n" },
	{ POLICY "0/scaling_driver", "cppc_cpufreq\n" },
	{ POLICY "4/affected_cpus", "4\n" },
	{ POLICY "4/scaling_cur_freq", "1000000\n" },
	{ HWMON "0/name", "coretemp\n" },
	{ HWMON "0/temp1_label", "Package id 0\n" },
	{ HWMON "0/temp1_input", "51000\n" },
	{ HWMON "0/temp2_label", "Core 0\n" },
	{ HWMON "0/temp2_input", "-50000\n" },
	{ HWMON "1/name", "nct6798\n" },
	{ HWMON "1/fan2_label", "CPU Fan\n" },
	{ HWMON "1/fan2_input", "729\n" },
};

#define NSENSOR_FILES (sizeof(sensor_files) / sizeof(sensor_files[0]))

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % n;
}

/* How many rounds to go. */
static long start_random(void)
{
	const char *seed = getenv("FUZZ_SEED"), *rounds = getenv("FUZZ_ROUNDS");

	random_state = seed ? strtoull(seed, NULL, 10) : 20261201;
	return rounds ? atol(rounds) : 400;
}

static void damage(const struct tree *tree, const struct file *file)
{
	static const char bytes[] = "0123456789-:,=xX.eE \n\t\0\xff/packgedim";
	char text[512];
	size_t len = strlen(file->text);

	memcpy(text, file->text, len);
	for (uint32_t n = random_below(4); n > 0; n--) {
		char byte = bytes[random_below(sizeof(bytes) - 1)];
		size_t at = random_below((uint32_t)len + 1);

		switch (random_below(4)) {
		case 0: /* cut */
			len = at;
			break;
		case 1: /* insert many */
			for (uint32_t k = 1 + random_below(40); k > 0 && len < sizeof(text) - 1; k--) {
				memmove(text + at + 1, text + at, len - at);
				text[at] = byte;
				len++;
			}
			break;
		default:
			if (at < len)
				text[at] = byte;
		}
	}
	tree_write_bytes(tree, file->path, text, len);
}

static void assert_printable(const char *text)
{
	for (; *text; text++)
		assert_in_range(*text, ' ', '~');
}

static void check_meter(struct ergon_meter *meter)
{
	const struct ergon_channel *ch;
	size_t n = ergon_meter_channels(meter, &ch);
	const struct ergon_dropped *dropped;
	size_t ndropped = ergon_meter_dropped(meter, &dropped);
	struct ergon_reading r;

	assert_in_range(n, 1, ERGON_METER_MAX_CHANNELS);
	assert_true(*ergon_meter_scope(meter));
	for (size_t i = 0; i < n; i++) {
		assert_true(ch[i].unit_j > 0);
		assert_printable(ch[i].id);
		assert_printable(ch[i].detail);
		assert_non_null(memchr(ch[i].name, '\0', sizeof(ch[i].name)));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(ch[i].name, ch[k].name);
	}
	for (size_t i = 0; i < ndropped; i++) {
		assert_printable(dropped[i].what);
		assert_printable(dropped[i].why);
	}
	ergon_meter_read(meter, &r);
	ergon_meter_close(meter);
}

static void any_text_is_answered(void **state)
{
	long rounds = start_random();
	struct ergon_cpu cpus[2] = { { 0, 0, 0, 0 }, { 1, 1, 0, 1 } };
	int packages[2] = { 0, 1 };
	struct ergon_topo topo = {
		.ncpus = 2, .cpus = cpus, .npackages = 2, .packages = packages, .ncores = 2,
		.vendor = "GenuineIntel", .family = 6, .model = 85,
	};
	struct ergon_machine m = { .topo = &topo };
	long opened = 0;
	struct tree tree;

	(void)state;
	tree_create(&tree);
	m.sysroot = tree_open(&tree);
	for (size_t f = 0; f < NFILES; f++)
		tree_write(&tree, files[f].path, files[f].text);
	for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
		tree_write(&tree, values[v], "60000000\n");
	for (long round = 0; round < rounds; round++) {
		size_t f = random_below(NFILES);

		damage(&tree, &files[f]);
		for (size_t b = 0; ergon_backends[b]; b++) {
			struct ergon_error err = { "" };
			struct ergon_probe probe;
			struct ergon_meter *meter;

			ergon_backends[b]->probe(&m, &probe);
			assert_in_range(probe.state, 0, ERGON_PROBE_COUNT - 1);
			assert_int_equal(*probe.reason == '\0', probe.state == ERGON_PROBE_OK);
			assert_printable(probe.reason);
			meter = ergon_meter_open(&m, ergon_backends[b]->name, false, &err);
			assert_int_equal(meter != NULL, probe.state == ERGON_PROBE_OK);
			assert_int_equal(meter != NULL, *err.text == '\0');
			if (meter) {
				opened++;
				check_meter(meter);
			}
		}
		if (random_below(3) > 0)
			tree_write(&tree, files[f].path, files[f].text);
	}
	/* Damage that nothing survives would test one branch only. */
	assert_true(opened > rounds / 10);
	ergon_sysroot_close((struct ergon_sysroot *)m.sysroot);
	tree_destroy(&tree);
}

/* How many have a value. */
static size_t check_sensors(struct ergon_sensors *set)
{
	const struct ergon_sensor *list;
	size_t n = ergon_sensors_list(set, &list), good = 0;
	int64_t milli[16];
	int errors[16];

	assert_in_range(n, 1, 5);
	ergon_sensors_read(set, milli, errors);
	for (size_t i = 0; i < n; i++) {
		assert_true(*list[i].name && !strchr(list[i].name, ' '));
		assert_printable(list[i].name);
		assert_printable(list[i].label);
		assert_printable(list[i].detail);
		assert_in_range(list[i].kind, 0, ERGON_SENSOR_KINDS - 1);
		if (list[i].cpu && list[i].kind == ERGON_SENSOR_FREQUENCY && !errors[i])
			assert_in_range(milli[i], 1, INT32_MAX);
		good += !errors[i];
	}
	return good;
}

static void any_sensor_is_answered(void **state)
{
	long rounds = start_random(), good = 0;
	struct ergon_sysroot *sr;
	struct tree tree;

	(void)state;
	tree_create(&tree);
	sr = tree_open(&tree);
	for (size_t f = 0; f < NSENSOR_FILES; f++)
		tree_write(&tree, sensor_files[f].path, sensor_files[f].text);
	for (long round = 0; round < rounds; round++) {
		const struct file *file = &sensor_files[random_below(NSENSOR_FILES)];
		struct ergon_sensors *set;

		damage(&tree, file);
		set = ergon_sensors_open(sr, ERGON_SENSORS_ALL, geteuid(), NULL);
		assert_non_null(set);
		good += (long)check_sensors(set);
		ergon_sensors_close(set);
		if (random_below(3) > 0)
			tree_write(&tree, file->path, file->text);
	}
	assert_true(good > rounds);
	ergon_sysroot_close(sr);
	tree_destroy(&tree);
}

#define NVIDIA "/proc/driver/nvidia/gpus/0000:41:00.0/"
#define AMDGPU "/sys/bus/pci/drivers/amdgpu/0000:c1:00.0/"

static const struct file gpu_files[] = {
	{ NVIDIA "information", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\n"
	  "GPU UUID: \t GPU-8a56a4bc-e184-a047-2620-be19fdf913d5\nBus Type: \t PCIe\n"
	  "Bus Location: \t 0000:41:00.0\nDevice Minor: \t 0\nGPU Excluded:\t No\n" },
	{ AMDGPU "device", "0x740c\n" },
	{ AMDGPU "vendor", "0x1002\n" },
	{ AMDGPU "hwmon/hwmon4/in1_label", "vddgfx\n" },
	{ AMDGPU "hwmon/hwmon4/power1_average", "92000000\n" },
};

#define NGPU_FILES (sizeof(gpu_files) / sizeof(gpu_files[0]))

static bool has_library(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);

	if (library)
		dlclose(library);
	return library != NULL;
}

/* What the drivers of GPUs tell, up to where their libraries would be called. */
static void any_gpu_is_answered(void **state)
{
	const struct ergon_backend *backends[2];
	struct ergon_machine m = { 0 };
	long rounds = start_random(), identified = 0;
	struct tree tree;
	size_t n = 0;

	(void)state;
	/* A library would be asked for GPUs, each time for seconds. */
	if (!has_library("libnvidia-ml.so.1"))
		backends[n++] = &ergon_backend_nvml;
	if (!has_library("libamd_smi.so") && !has_library("librocm_smi64.so"))
		backends[n++] = &ergon_backend_rocm;
	if (n == 0)
		skip();
	tree_create(&tree);
	m.sysroot = tree_open(&tree);
	tree_write(&tree, "/dev/nvidiactl", "");
	tree_write(&tree, "/dev/nvidia0", "");
	tree_write(&tree, "/dev/kfd", "");
	for (size_t f = 0; f < NGPU_FILES; f++)
		tree_write(&tree, gpu_files[f].path, gpu_files[f].text);
	for (long round = 0; round < rounds; round++) {
		const struct file *file = &gpu_files[random_below(NGPU_FILES)];

		damage(&tree, file);
		for (size_t b = 0; b < n; b++) {
			struct ergon_probe probe;

			backends[b]->probe(&m, &probe);
			assert_in_range(probe.state, 0, ERGON_PROBE_COUNT - 1);
			assert_int_not_equal(probe.state, ERGON_PROBE_OK);
			assert_true(*probe.reason);
			identified += strstr(probe.reason, " GPUs, but no ") != NULL;
		}
		if (random_below(3) > 0)
			tree_write(&tree, file->path, file->text);
	}
	assert_true(identified > rounds / 10);
	ergon_sysroot_close((struct ergon_sysroot *)m.sysroot);
	tree_destroy(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_text_is_answered),
		cmocka_unit_test(any_sensor_is_answered),
		cmocka_unit_test(any_gpu_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
