/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sensors as files that the test rewrites. A thread reads them at its own
 * pace: what must come is waited for, and energy is compared with power
 * times the time between two readings of the meter.
 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "delta.h"
#include "flags.h"
#include "hwmon_source.h"
#include "meter.h"
#include "tree.h"

#define CLASS "/sys/class/hwmon/"
#define MS 1000000ull

/* Each reading of a value takes so long: the linker puts this in between. */
static atomic_int reading_ms;

int __wrap_ergon_fd_read_u64(int fd, uint64_t *value);
int __real_ergon_fd_read_u64(int fd, uint64_t *value);

int __wrap_ergon_fd_read_u64(int fd, uint64_t *value)
{
	struct timespec t = { .tv_nsec = reading_ms % 1000 * 1000000, .tv_sec = reading_ms / 1000 };

	if (reading_ms)
		nanosleep(&t, NULL);
	return __real_ergon_fd_read_u64(fd, value);
}

static struct tree tree;
static struct ergon_cpu cpus[8];
static int packages[2];
static struct ergon_topo topo;
static struct ergon_machine m;

static int set_up(void **state)
{
	(void)state;
	tree_create(&tree);
	for (int i = 0; i < 8; i++)
		cpus[i] = (struct ergon_cpu){ .os = i, .package = i / 4, .core = i };
	packages[0] = 0;
	packages[1] = 1;
	topo = (struct ergon_topo){
		.ncpus = 8, .cpus = cpus, .npackages = 2, .packages = packages, .ncores = 8,
		.family = -1, .model = -1,
	};
	m = (struct ergon_machine){ .sysroot = tree_open(&tree), .topo = &topo };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ergon_sysroot_close((struct ergon_sysroot *)m.sysroot);
	tree_destroy(&tree);
	return 0;
}

static void one_package(void)
{
	for (int i = 0; i < 8; i++)
		cpus[i].package = 0;
	topo.npackages = 1;
}

/* --- machines --- */

/* A file of hwmonN, with a newline as the kernel has it. */
static void attr(int n, const char *file, const char *text)
{
	char path[PATH_MAX], line[128];

	snprintf(path, sizeof(path), CLASS "hwmon%d/%s", n, file);
	snprintf(line, sizeof(line), "%s\n", text);
	tree_write(&tree, path, line);
}

static void attr_u64(int n, const char *file, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	attr(n, file, text);
}

static void device(int n, const char *driver, const char *name)
{
	char path[PATH_MAX], target[PATH_MAX];

	attr(n, "name", driver);
	snprintf(path, sizeof(path), "/sys/devices/%s/uevent", name);
	tree_write(&tree, path, "");
	snprintf(path, sizeof(path), "%s" CLASS "hwmon%d/device", tree.path, n);
	snprintf(target, sizeof(target), "../../../devices/%s", name);
	assert_int_equal(symlink(target, path), 0);
}

static void altra(int n, const char *name, uint64_t cpu_uw, uint64_t io_uw)
{
	device(n, "apm_xgene", name);
	attr(n, "power1_label", "CPU power");
	attr_u64(n, "power1_input", cpu_uw);
	attr(n, "power2_label", "IO power");
	attr_u64(n, "power2_input", io_uw);
}

static void acpi_meter(int n, const char *oem_info, uint64_t uw)
{
	char name[32];

	snprintf(name, sizeof(name), "ACPI000D:%02d", n);
	device(n, "power_meter", name);
	attr(n, "power1_average_interval", "50");
	attr(n, "power1_oem_info", oem_info);
	attr_u64(n, "power1_average", uw);
}

static void numa_node(const char *name, int node)
{
	char path[PATH_MAX], text[16];

	snprintf(path, sizeof(path), "/sys/devices/%s/numa_node", name);
	snprintf(text, sizeof(text), "%d\n", node);
	tree_write(&tree, path, text);
}

/* --- looking at it --- */

/* "cpu0 cpu1 io0 io1" */
static char *names(const void *inst)
{
	static char text[512];
	const struct ergon_channel *ch;
	size_t n = ergon_backend_hwmon.channels(inst, &ch);

	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 ch[i].name);
	return text;
}

/* Open until it has these channels: what does not answer in time is taken at first. */
static void *open_hwmon(const char *want)
{
	struct ergon_error err = { "" };
	void *inst = ergon_backend_hwmon.open(&m, &err);

	for (int tries = 0; inst && strcmp(names(inst), want) != 0 && tries < 20; tries++) {
		ergon_backend_hwmon.close(inst);
		inst = ergon_backend_hwmon.open(&m, &err);
	}
	assert_string_equal(err.text, "");
	assert_non_null(inst);
	assert_string_equal(names(inst), want);
	return inst;
}

static const struct ergon_channel *channel(const void *inst, const char *name)
{
	const struct ergon_channel *ch;
	size_t n = ergon_backend_hwmon.channels(inst, &ch);

	for (size_t i = 0; i < n; i++)
		if (strcmp(ch[i].name, name) == 0)
			return &ch[i];
	fail_msg("no channel %s", name);
	return NULL;
}

/* Why something whose name holds `what` was left out; "" when it was not. */
static const char *dropped(const void *inst, const char *what)
{
	const struct ergon_dropped *d;
	size_t n = ergon_backend_hwmon.dropped(inst, &d);

	for (size_t i = 0; i < n; i++)
		if (strstr(d[i].what, what))
			return d[i].why;
	return "";
}

/* What is not answered in time is taken for good: a busy machine may need several tries. */
static void expect_probe(enum ergon_probe_state state, const char *reason)
{
	struct ergon_probe probe;
	struct ergon_error err = { "" };

	for (int tries = 0; tries < 20; tries++) {
		memset(&probe, 0x5a, sizeof(probe));
		ergon_backend_hwmon.probe(&m, &probe);
		if (probe.state == state)
			break;
	}
	assert_string_equal(probe.reason, reason);
	assert_int_equal(probe.state, state);
	for (int tries = 0; state != ERGON_PROBE_OK && tries < 20; tries++) {
		void *inst = ergon_backend_hwmon.open(&m, &err);

		ergon_backend_hwmon.close(inst);
		if (!inst)
			break;
	}
	if (state != ERGON_PROBE_OK)
		assert_non_null(strstr(err.text, reason));
}

static void nap(uint64_t ms)
{
	struct timespec t = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * MS) };

	nanosleep(&t, NULL);
}

/* Until it has been true once, at most 8 s. */
#define WAIT_FOR(what) do { \
	bool met = false; \
	for (int tries = 0; !(met = (what)) && tries < 800; tries++) \
		nap(10); \
	assert_true(met); \
} while (0)

static size_t good(void *inst, uint64_t *raw, bool *ok)
{
	return ergon_backend_hwmon.read(inst, raw, ok);
}

/* --- what is found --- */

static void nothing_is_absent(void **state)
{
	(void)state;
	expect_probe(ERGON_PROBE_ABSENT, "/sys/class/hwmon: No such file or directory");
	device(0, "coretemp", "coretemp.0");
	attr(0, "temp1_input", "40000");
	expect_probe(ERGON_PROBE_ABSENT, "no power or energy sensor in /sys/class/hwmon");
	device(1, "ina226", "1-0040");
	attr(1, "power1_input", "5000000");
	device(2, "ltc2947", "1-005c");
	attr(2, "energy1_input", "5000000");
	expect_probe(ERGON_PROBE_ABSENT,
		     "of none of the 2 power and energy sensors is known what it feeds");
}

/* Two devices of one name are two sockets: by their names, or by where they are. */
static void altra_has_a_device_per_socket(void **state)
{
	void *inst;

	(void)state;
	altra(4, "APMC0D29:00", 60000000, 20000000);
	altra(1, "APMC0D29:01", 70000000, 21000000);
	inst = open_hwmon("cpu0 cpu1 io0 io1");
	assert_string_equal(channel(inst, "cpu0")->detail, "apm_xgene APMC0D29:00 power1_input");
	assert_string_equal(channel(inst, "io1")->detail, "apm_xgene APMC0D29:01 power2_input");
	assert_int_equal(channel(inst, "io1")->domain, ERGON_DOMAIN_IO);
	assert_int_equal(channel(inst, "io1")->package, 1);
	assert_true(channel(inst, "cpu0")->integrated);
	ergon_backend_hwmon.close(inst);

	tree_write(&tree, "/sys/devices/system/node/node0/cpulist", "0-3\n");
	tree_write(&tree, "/sys/devices/system/node/node1/cpulist", "4-7\n");
	numa_node("APMC0D29:00", 1);
	numa_node("APMC0D29:01", 0);
	inst = open_hwmon("cpu0 cpu1 io0 io1");
	assert_string_equal(channel(inst, "cpu0")->detail, "apm_xgene APMC0D29:01 power1_input");
	ergon_backend_hwmon.close(inst);

	/* Nodes that say the same of both say nothing. */
	numa_node("APMC0D29:01", 1);
	inst = open_hwmon("cpu0 cpu1 io0 io1");
	assert_string_equal(channel(inst, "cpu0")->detail, "apm_xgene APMC0D29:00 power1_input");
	ergon_backend_hwmon.close(inst);
}

static void one_socket_of_two_is_no_total(void **state)
{
	void *inst;

	(void)state;
	altra(4, "APMC0D29:00", 60000000, 20000000);
	expect_probe(ERGON_PROBE_UNSUPPORTED, "the 2 known sensors do not cover all packages");
	/* The other one is there but has no value. */
	altra(5, "APMC0D29:01", 70000000, 21000000);
	attr(5, "power1_input", "garbage");
	inst = open_hwmon("io0 io1");
	assert_string_equal(dropped(inst, "APMC0D29:01 power1"), "Invalid argument");
	assert_string_equal(dropped(inst, "APMC0D29:00 power1"),
			    "alone it would pass for all packages");
	ergon_backend_hwmon.close(inst);
}

static void grace_is_told_by_its_oem_info(void **state)
{
	void *inst;

	(void)state;
	for (int s = 0; s < 2; s++) {
		static const char *const parts[] = { "SysIO", "CPU", "Grace", "Module", "Total" };

		for (int i = 0; i < 5; i++) {
			char text[64];

			snprintf(text, sizeof(text), "%s Power Socket %d", parts[i], 1 - s);
			acpi_meter(s * 5 + i, text, 100000000 + (uint64_t)i);
		}
	}
	inst = open_hwmon("cpu0 cpu1 io0 io1 soc0 soc1 module0 module1");
	assert_string_equal(channel(inst, "module1")->detail, "power_meter ACPI000D:03 power1_average");
	/* What is unknown of a socket is not the node. */
	assert_string_equal(dropped(inst, "2 power sensors of power_meter"),
			    "an unknown part of a socket");
	ergon_backend_hwmon.close(inst);
}

static void a_meter_without_socket_is_the_nodes(void **state)
{
	void *inst;

	(void)state;
	acpi_meter(3, "Acme Corporation", 412000000);
	acpi_meter(7, "", 413000000);
	inst = open_hwmon("node");
	assert_int_equal(channel(inst, "node")->package, -1);
	assert_true(channel(inst, "node")->integrated);
	assert_string_equal(dropped(inst, "ACPI000D:07"),
			    "power_meter ACPI000D:03 power1_average tells it already");
	ergon_backend_hwmon.close(inst);
}

static void gpus_are_known_by_their_address(void **state)
{
	void *inst;

	(void)state;
	device(1, "amdgpu", "0000:83:00.0");
	attr(1, "power1_average", "90000000");
	device(2, "amdgpu", "0000:03:00.0");
	attr(2, "power1_input", "80000000");
	attr(2, "power1_label", "PPT");
	device(3, "amdgpu", "0000:0c:00.0");
	attr(3, "in1_label", "vddnb");
	attr(3, "power1_input", "30000000");
	/* Of some cards only the second energy is shown. */
	device(4, "xe", "0000:4d:00.0");
	attr(4, "energy2_label", "pkg");
	attr(4, "energy2_input", "700");
	device(5, "xe", "0000:4e:00.0");
	attr(5, "energy1_label", "card");
	attr(5, "energy1_input", "800");
	attr(5, "energy2_label", "pkg");
	attr(5, "energy2_input", "700");
	attr(5, "power1_input", "5");
	device(6, "i915", "0000:4f:00.0");
	attr(6, "energy1_input", "900");
	device(7, "i915_gt0", "0000:4f:00.0");
	attr(7, "energy1_input", "900");
	inst = open_hwmon("gpu0 gpu1 gpu2 gpu3 gpu4");
	assert_string_equal(channel(inst, "gpu0")->detail, "amdgpu 0000:03:00.0 power1_input");
	assert_string_equal(channel(inst, "gpu0")->id, "pci 0000:03:00.0");
	assert_true(channel(inst, "gpu0")->integrated);
	assert_string_equal(channel(inst, "gpu1")->detail, "xe 0000:4d:00.0 energy2_input");
	assert_string_equal(channel(inst, "gpu2")->detail, "xe 0000:4e:00.0 energy1_input");
	assert_false(channel(inst, "gpu2")->integrated);
	assert_string_equal(channel(inst, "gpu3")->detail, "i915 0000:4f:00.0 energy1_input");
	assert_string_equal(channel(inst, "gpu4")->detail, "amdgpu 0000:83:00.0 power1_average");
	assert_string_equal(dropped(inst, "0000:4e:00.0 energy2"), "inside energy1, the card's");
	assert_string_equal(dropped(inst, "0000:4e:00.0 power1"), "");
	assert_string_equal(dropped(inst, "1 energy sensor of i915_gt0"), "tiles inside their card");
	assert_string_equal(dropped(inst, "1 power sensor of amdgpu"), "the processor's own graphics");
	ergon_backend_hwmon.close(inst);
}

/* Energy rather than mean power rather than power. */
static void the_best_of_a_sensors_files_is_read(void **state)
{
	static const char *const labels[] = { "Chip 0 ", "Chip 0 Vdd", "Chip 0 Memory", "System" };
	void *inst;

	(void)state;
	one_package();
	device(0, "ibmpowernv", "opal-sensor");
	for (int i = 0; i < 4; i++) {
		char file[32];

		snprintf(file, sizeof(file), "energy%d_label", i + 1);
		attr(0, file, labels[i]);
		snprintf(file, sizeof(file), "energy%d_input", i + 1);
		attr(0, file, "1000000");
		snprintf(file, sizeof(file), "power%d_label", i + 1);
		attr(0, file, labels[i]);
		snprintf(file, sizeof(file), "power%d_input", i + 1);
		attr(0, file, "1000000");
	}
	device(1, "power_meter", "ACPI000D:00");
	attr(1, "power1_average", "5000000");
	attr(1, "power1_input", "4000000");
	inst = open_hwmon("package0 dram0 node");
	assert_false(channel(inst, "package0")->integrated);
	assert_string_equal(channel(inst, "dram0")->detail, "ibmpowernv opal-sensor energy3_input");
	assert_string_equal(dropped(inst, "1 energy sensor of ibmpowernv"), "parts of System");
	ergon_backend_hwmon.close(inst);
}

/* amd_energy with several NUMA nodes per socket tells each socket once per node. */
static void amd_energy_tells_each_socket_once(void **state)
{
	void *inst;

	(void)state;
	device(0, "amd_energy", "amd_energy.0");
	for (int i = 0; i < 20; i++) {
		char file[32], label[32];

		snprintf(file, sizeof(file), "energy%d_label", i + 1);
		snprintf(label, sizeof(label), i < 16 ? "Ecore%03d" : "Esocket%d", i < 16 ? i : i - 16);
		attr(0, file, label);
		snprintf(file, sizeof(file), "energy%d_input", i + 1);
		attr_u64(0, file, 1000000 + (uint64_t)i);
	}
	tree_write(&tree, "/sys/devices/system/node/node0/cpulist", "0-1\n");
	tree_write(&tree, "/sys/devices/system/node/node1/cpulist", "2-3\n");
	tree_write(&tree, "/sys/devices/system/node/node2/cpulist", "4-5\n");
	tree_write(&tree, "/sys/devices/system/node/node3/cpulist", "6-7\n");
	inst = open_hwmon("package0 package1");
	assert_string_equal(channel(inst, "package1")->detail, "amd_energy amd_energy.0 energy19_input");
	assert_string_equal(dropped(inst, "energy18_input"),
			    "amd_energy amd_energy.0 energy17_input tells it already");
	assert_string_equal(dropped(inst, "16 energy sensors of amd_energy"), "inside package");
	ergon_backend_hwmon.close(inst);
}

/* How often a source of the domain is read, ms; 0: there is none. */
static unsigned period_ms(const struct ergon_hwmon_sources *sources, enum ergon_domain domain)
{
	for (size_t i = 0; i < sources->n; i++)
		if (sources->items[i].domain == domain)
			return (unsigned)(sources->items[i].period_ns / MS);
	return 0;
}

/* A mailbox rarely, a GPU's 32 bits often enough, Grace as often as it averages, within limits. */
static void each_driver_has_its_period(void **state)
{
	static const struct {
		const char *interval;
		unsigned ms;
	} grace[] = {
		{ "50", 50 }, { "120", 120 }, { "10", 50 }, { "60000", 1000 }, { "", 1000 },
		{ "-1", 1000 }, { "18446744073709551615", 1000 },
	};
	struct ergon_hwmon_sources sources;
	struct ergon_hwmon hw;

	(void)state;
	one_package();
	altra(1, "APMC0D29:00", 60000000, 20000000);
	acpi_meter(2, "", 400000000);
	acpi_meter(3, "Module Power Socket 0", 400000000);
	device(4, "xe", "0000:4d:00.0");
	attr(4, "energy1_input", "1");
	for (size_t i = 0; i < sizeof(grace) / sizeof(grace[0]); i++) {
		attr(3, "power1_average_interval", grace[i].interval);
		assert_int_equal(ergon_hwmon_scan(m.sysroot, &hw), 0);
		assert_int_equal(ergon_hwmon_sources_find(&m, &hw, &sources, NULL), 0);
		assert_int_equal(period_ms(&sources, ERGON_DOMAIN_MODULE), grace[i].ms);
		assert_int_equal(period_ms(&sources, ERGON_DOMAIN_CPU), 200);
		assert_int_equal(period_ms(&sources, ERGON_DOMAIN_NODE), 1000);
		assert_int_equal(period_ms(&sources, ERGON_DOMAIN_GPU), 100);
		ergon_hwmon_sources_free(&sources);
		ergon_hwmon_free(&hw);
	}
}

/* --- what is read --- */

/* Microjoules of a channel between two readings of a meter, and the seconds between them. */
static uint64_t spent(struct ergon_meter *meter, const char *name, unsigned ms, double *s)
{
	static struct ergon_reading from, to;
	const struct ergon_channel *ch;
	size_t n = ergon_meter_channels(meter, &ch), i = 0;

	while (i < n && strcmp(ch[i].name, name) != 0)
		i++;
	assert_true(i < n);
	ergon_meter_read(meter, &from);
	nap(ms);
	ergon_meter_read(meter, &to);
	assert_int_equal(to.flags, 0);
	*s = (double)(to.t_ns - from.t_ns) * 1e-9;
	return to.counts[i] - from.counts[i];
}

static struct ergon_meter *open_meter(void)
{
	struct ergon_error err = { "" };
	struct ergon_meter *meter = ergon_meter_open(&m, "hwmon", false, &err);
	struct ergon_reading r;

	assert_string_equal(err.text, "");
	assert_non_null(meter);
	/* A busy machine may be late with the first answers. */
	WAIT_FOR((ergon_meter_read(meter, &r), r.flags == 0));
	return meter;
}

/* Watts of a channel: of several tries one must come close. The machine is busy. */
static void expect_watts(struct ergon_meter *meter, const char *name, double watts)
{
	double best = INFINITY;

	for (int tries = 0; tries < 10 && best > 0.02; tries++) {
		double s, joules = (double)spent(meter, name, 100, &s) * 1e-6;
		double off = fabs(joules / s / watts - 1);

		best = off < best ? off : best;
	}
	if (best > 0.02)
		fail_msg("%s: %.1f %% off", name, best * 100);
}

/* X16: 5000 W do not fit in 32 bits of microwatts. */
static void five_kilowatts_are_five_kilowatts(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	acpi_meter(0, "", 5000000000);
	meter = open_meter();
	assert_string_equal(ergon_meter_scope(meter), "node");
	expect_watts(meter, "node", 5000);
	ergon_meter_close(meter);
}

static void all_sockets_count(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	altra(1, "APMC0D29:00", 60000000, 20000000);
	altra(2, "APMC0D29:01", 70000000, 21000000);
	meter = open_meter();
	assert_string_equal(ergon_meter_scope(meter), "cpu+io");
	expect_watts(meter, "cpu0", 60);
	expect_watts(meter, "cpu1", 70);
	expect_watts(meter, "io1", 21);
	ergon_meter_close(meter);
}

static void a_counter_is_handed_on(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	device(0, "xe", "0000:4d:00.0");
	attr_u64(0, "energy1_input", 5000000000000);
	meter = open_meter();
	attr_u64(0, "energy1_input", 5000000123456);
	WAIT_FOR((ergon_meter_read(meter, &r), r.counts[0] == 123456));
	/* #61: back to the start of counting. */
	attr_u64(0, "energy1_input", 200);
	WAIT_FOR((ergon_meter_read(meter, &r), r.flags & ERGON_FLAG_RESET));
	attr_u64(0, "energy1_input", 1000200);
	WAIT_FOR((ergon_meter_read(meter, &r), r.counts[0] == 1123456));
	/* ... and up by 22 MJ at once. */
	attr_u64(0, "energy1_input", 22000000000000);
	WAIT_FOR((ergon_meter_read(meter, &r), r.flags & ERGON_FLAG_GLITCH));
	assert_int_equal(r.counts[0], 1123456);
	ergon_meter_close(meter);
}

/* #46: a build that hands 32 bits through; 7642125 units of 2^-16 J are 116.6 J. */
static void amd_energy_wraps_at_32_bits_of_units(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	one_package();
	device(0, "amd_energy", "amd_energy.0");
	attr(0, "energy1_label", "Esocket0");
	attr_u64(0, "energy1_input", 4289021270 * 1000000ull / 65536);
	meter = open_meter();
	attr_u64(0, "energy1_input", 1696099 * 1000000ull / 65536);
	WAIT_FOR((ergon_meter_read(meter, &r), r.counts[0] > 0));
	assert_true(llabs((long long)r.counts[0] - 7642125 * 1000000ll / 65536) <= 1);
	assert_int_equal(r.flags, 0);
	ergon_meter_close(meter);
}

/* Below 2^32 units and beyond, a counter of 64 bits goes on. */
static void amd_energy_may_be_wider(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	one_package();
	device(0, "amd_energy", "amd_energy.0");
	attr(0, "energy1_label", "Esocket0");
	attr_u64(0, "energy1_input", 65535999000);
	meter = open_meter();
	attr_u64(0, "energy1_input", 65536001000);
	WAIT_FOR((ergon_meter_read(meter, &r), r.counts[0] == 2000));
	attr_u64(0, "energy1_input", 65536002000);
	WAIT_FOR((ergon_meter_read(meter, &r), r.counts[0] == 3000));
	ergon_meter_close(meter);
}

/* --- what is no value --- */

static void zero_of_a_meter_is_no_value(void **state)
{
	uint64_t raw[2];
	bool ok[2];
	void *inst;

	(void)state;
	acpi_meter(0, "", 0);
	expect_probe(ERGON_PROBE_ZERO, "all of 1 sensors read 0");
	/* A GPU that draws nothing is no such case. */
	device(1, "amdgpu", "0000:03:00.0");
	attr(1, "power1_average", "0");
	inst = open_hwmon("gpu0");
	assert_string_equal(dropped(inst, "power_meter ACPI000D:00"), "reads 0");
	WAIT_FOR(good(inst, raw, ok) == 1);
	ergon_backend_hwmon.close(inst);
}

static void impossible_values_are_no_values(void **state)
{
	static const uint64_t values[] = {
		UINT32_MAX, UINT32_MAX * 1000ull, INT32_MAX, UINT64_MAX, 100001000000,
	};

	(void)state;
	acpi_meter(0, "", 0);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		attr_u64(0, "power1_average", values[i]);
		expect_probe(ERGON_PROBE_UNSUPPORTED,
			     "1 of 1 sensors give no value: reads an impossible value");
	}
	attr(0, "power1_average", "-1");
	expect_probe(ERGON_PROBE_UNSUPPORTED, "1 of 1 sensors give no value: Invalid argument");
	attr_u64(0, "power1_average", 99999000000);
	expect_probe(ERGON_PROBE_OK, "");
	/* A site that knows better. */
	m.max_watts[ERGON_DOMAIN_NODE] = 2000;
	expect_probe(ERGON_PROBE_UNSUPPORTED,
		     "1 of 1 sensors give no value: reads an impossible value");
}

/* While one sensor is silent the others go on; it is taken up again. */
static void a_silent_sensor_stops_no_other(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;
	uint64_t others;

	(void)state;
	one_package();
	altra(1, "APMC0D29:00", 60000000, 20000000);
	meter = open_meter();
	attr(1, "power1_input", "");
	/* For a few seconds the last power is taken for granted. */
	WAIT_FOR((ergon_meter_read(meter, &r), r.flags == ERGON_FLAG_GAP));
	others = r.counts[1];
	WAIT_FOR((ergon_meter_read(meter, &r), r.counts[1] > others));
	assert_int_equal(r.flags, ERGON_FLAG_GAP);
	attr(1, "power1_input", "60000000");
	WAIT_FOR((ergon_meter_read(meter, &r), r.flags == 0));
	ergon_meter_close(meter);
}

/* X17: the driver is loaded again, hwmon2 becomes hwmon5 and hwmon2 someone else's. */
static void a_renumbered_sensor_is_found_again(void **state)
{
	char from[PATH_MAX], to[PATH_MAX];
	uint64_t raw[2] = { 0, 0 };
	bool ok[2];
	void *inst;

	(void)state;
	device(2, "xe", "0000:4d:00.0");
	attr(2, "energy1_input", "1000");
	inst = open_hwmon("gpu0");
	WAIT_FOR(good(inst, raw, ok) == 1 && raw[0] == 1000);
	/* An open file does not die with its name here: it falls silent. */
	attr(2, "energy1_input", "");
	snprintf(from, sizeof(from), "%s" CLASS "hwmon2", tree.path);
	snprintf(to, sizeof(to), "%s" CLASS "hwmon4", tree.path);
	assert_int_equal(rename(from, to), 0);
	snprintf(from, sizeof(from), "%s" CLASS "hwmon4/name", tree.path);
	assert_int_equal(unlink(from), 0);
	device(2, "xe", "0000:4e:00.0");
	attr(2, "energy1_input", "7");
	device(5, "xe", "0000:4d:00.0");
	attr(5, "energy1_input", "2000");
	nap(150);
	ergon_backend_hwmon.rescan(inst);
	WAIT_FOR(good(inst, raw, ok) == 1 && raw[0] == 2000);
	ergon_backend_hwmon.close(inst);
}

/* A GPU that sleeps is not read: reading would wake it. */
static void sleeping_gpus_are_left_alone(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;
	uint64_t before = 0;
	bool still;

	(void)state;
	device(0, "amdgpu", "0000:03:00.0");
	attr_u64(0, "power1_average", 90000000);
	attr(0, "device/power/runtime_status", "active");
	device(1, "xe", "0000:04:00.0");
	attr_u64(1, "energy1_input", 1000);
	attr(1, "device/power/runtime_status", "active");
	meter = open_meter();
	expect_watts(meter, "gpu0", 90);
	attr(0, "device/power/runtime_status", "suspended");
	attr(1, "device/power/runtime_status", "suspended");
	WAIT_FOR((ergon_meter_read(meter, &r), still = r.counts[0] == before, before = r.counts[0],
		  nap(250), still));
	/* What only a reader could see. */
	attr_u64(0, "power1_average", 80000000);
	attr_u64(1, "energy1_input", 3000);
	nap(250);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[0], before);
	assert_int_equal(r.counts[1], 0);
	attr(0, "device/power/runtime_status", "active");
	attr(1, "device/power/runtime_status", "active");
	WAIT_FOR((ergon_meter_read(meter, &r), r.counts[1] == 2000));
	expect_watts(meter, "gpu0", 80);
	ergon_meter_close(meter);
}

/* Nobody waits for a slow sensor, and what it drew before its first answer is counted. */
static void slow_sensors_hold_nobody_up(void **state)
{
	struct ergon_error err = { "" };
	uint64_t before = ergon_clock_ns(), raw[2] = { 77, 77 };
	uint64_t first;
	bool ok[2];
	void *inst;

	(void)state;
	one_package();
	altra(1, "APMC0D29:00", 60000000, 20000000);
	reading_ms = 800;
	inst = ergon_backend_hwmon.open(&m, &err);
	assert_non_null(inst);
	assert_true(ergon_clock_ns() - before < 700 * MS);
	assert_int_equal(good(inst, raw, ok), 2);
	assert_int_equal(raw[0], 0);
	/* Never a gap until both have been read, one after the other. */
	WAIT_FOR((assert_int_equal(good(inst, raw, ok), 2), raw[0] > 0 && raw[1] > 0));
	first = ergon_clock_ns() - before;
	assert_true(raw[0] >= 96 * 1000000ull - 60 * 100000 && raw[0] <= first / 1000 * 60);
	assert_true(raw[1] >= 32 * 1000000ull - 20 * 100000 && raw[1] <= first / 1000 * 20);
	before = ergon_clock_ns();
	ergon_backend_hwmon.close(inst);
	assert_true(ergon_clock_ns() - before < 700 * MS);
	reading_ms = 0;
	nap(900); /* the thread looks at its files no more */
}

/* A counter that has not been read has no energy to tell. */
static void slow_counters_begin_with_their_first_answer(void **state)
{
	uint64_t raw[1] = { 77 };
	struct ergon_error err;
	bool ok[1] = { true };
	void *inst;

	(void)state;
	device(0, "xe", "0000:4d:00.0");
	attr(0, "energy1_input", "1000");
	reading_ms = 300;
	inst = ergon_backend_hwmon.open(&m, &err);
	assert_non_null(inst);
	assert_int_equal(good(inst, raw, ok), 0);
	assert_false(ok[0]);
	WAIT_FOR(good(inst, raw, ok) == 1);
	assert_int_equal(raw[0], 1000);
	ergon_backend_hwmon.close(inst);
	reading_ms = 0;
	nap(400);
}

static void rights_are_not_absence(void **state)
{
	struct ergon_probe probe;
	char path[PATH_MAX];
	uid_t uid = geteuid();

	(void)state;
	one_package();
	device(0, "amd_energy", "amd_energy.0");
	attr(0, "energy1_label", "Esocket0");
	attr(0, "energy1_input", "5000");
	snprintf(path, sizeof(path), "%s" CLASS "hwmon0/energy1_input", tree.path);
	assert_int_equal(chmod(path, uid ? 0 : 0400), 0);
	if (uid == 0)
		assert_int_equal(seteuid(65534), 0);
	ergon_backend_hwmon.probe(&m, &probe);
	assert_int_equal(seteuid(uid), 0);
	assert_int_equal(probe.state, ERGON_PROBE_PERMISSION);
	assert_string_equal(probe.reason, "1 of 1 sensors may not be read");
	assert_non_null(strstr(probe.remedy, "root"));
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_is_absent),
		T(altra_has_a_device_per_socket),
		T(one_socket_of_two_is_no_total),
		T(grace_is_told_by_its_oem_info),
		T(a_meter_without_socket_is_the_nodes),
		T(gpus_are_known_by_their_address),
		T(the_best_of_a_sensors_files_is_read),
		T(amd_energy_tells_each_socket_once),
		T(each_driver_has_its_period),
		T(five_kilowatts_are_five_kilowatts),
		T(all_sockets_count),
		T(a_counter_is_handed_on),
		T(amd_energy_wraps_at_32_bits_of_units),
		T(amd_energy_may_be_wider),
		T(zero_of_a_meter_is_no_value),
		T(impossible_values_are_no_values),
		T(a_silent_sensor_stops_no_other),
		T(a_renumbered_sensor_is_found_again),
		T(sleeping_gpus_are_left_alone),
		T(slow_sensors_hold_nobody_up),
		T(slow_counters_begin_with_their_first_answer),
		T(rights_are_not_absence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
