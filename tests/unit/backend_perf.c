/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The real kernel reads; only the description of the PMU is the test's. The
 * stand-in for energy is the msr PMU: tsc (0x00) moves at a constant rate,
 * smi (0x04) stands still. Where the kernel does not let us, tests skip.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "flags.h"
#include "meter.h"
#include "standin.h"
#include "tree.h"

#define PMU STANDIN_PMU
#define TSC STANDIN_TSC
#define SMI STANDIN_SMI
#define EXACT STANDIN_EXACT

static struct tree tree;
static struct ergon_cpu cpus[4];
static int packages[2];
static struct ergon_topo topo;
static struct ergon_machine m;

static int set_up(void **state)
{
	(void)state;
	tree_create(&tree);
	for (int i = 0; i < 4; i++)
		cpus[i] = (struct ergon_cpu){ .os = i, .package = 0, .core = i };
	packages[0] = 0;
	packages[1] = 1;
	topo = (struct ergon_topo){
		.ncpus = 1, .cpus = cpus, .npackages = 1, .packages = packages, .ncores = 1,
		.vendor = "GenuineIntel", .family = 6, .model = 0x8f,
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

static void event(const char *name, const char *code, const char *scale)
{
	standin_event(&tree, name, code, scale);
}

/* The msr PMU under the name of power; skips the test where it cannot be opened. */
static void stand_in(const char *cpumask)
{
	struct ergon_probe probe;

	if (!standin_write(&tree, cpumask)) {
		print_message("no msr PMU here\n");
		skip();
	}
	ergon_backend_perf.probe(&m, &probe);
	if (probe.state != ERGON_PROBE_OK) {
		print_message("no stand-in: %s\n", probe.reason);
		skip();
	}
}

/* Two packages need two CPUs. */
static void two_packages(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		print_message("one CPU only\n");
		skip();
	}
	topo.ncpus = topo.ncores = topo.npackages = 2;
	cpus[1].package = 1;
}

static struct ergon_meter *open_meter(void)
{
	struct ergon_error err = { "" };
	struct ergon_meter *meter = ergon_meter_open(&m, "perf", false, &err);

	assert_string_equal(err.text, "");
	assert_non_null(meter);
	return meter;
}

static const struct ergon_channel *channel(const struct ergon_meter *meter, const char *name)
{
	const struct ergon_channel *ch;
	size_t n = ergon_meter_channels(meter, &ch);

	for (size_t i = 0; i < n; i++)
		if (strcmp(ch[i].name, name) == 0)
			return &ch[i];
	fail_msg("no channel %s", name);
	return NULL;
}

static bool was_dropped(const struct ergon_meter *meter, const char *what, const char *why)
{
	const struct ergon_dropped *dropped;
	size_t n = ergon_meter_dropped(meter, &dropped);

	for (size_t i = 0; i < n; i++)
		if (strcmp(dropped[i].what, what) == 0 && strstr(dropped[i].why, why))
			return true;
	return false;
}

/* --- without the kernel --- */

static void absence_is_explained(void **state)
{
	struct ergon_probe probe;

	(void)state;
	ergon_backend_perf.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_ABSENT);
	assert_non_null(strstr(probe.remedy, "modprobe rapl"));
	tree_write(&tree, PMU "/type", "nonsense\n");
	ergon_backend_perf.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_ABSENT);
	tree_write(&tree, PMU "/type", "4294967296\n");
	ergon_backend_perf.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_ABSENT);
	tree_write(&tree, PMU "/type", "9\n");
	ergon_backend_perf.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_UNSUPPORTED);
	assert_non_null(strstr(probe.reason, "no usable energy event"));
}

static void bad_descriptions_are_not_used(void **state)
{
	static const struct {
		const char *code, *scale;
	} cases[] = {
		{ "", EXACT }, { "event=\n", EXACT }, { "event=x\n", EXACT }, { "umask=0x1\n", EXACT },
		{ "event=0x02,umask=0x1\n", EXACT }, { "event=99999999999999999999999\n", EXACT },
		{ TSC, "" }, { TSC, "x\n" }, { TSC, "0\n" }, { TSC, "-1\n" }, { TSC, "inf\n" },
		{ TSC, "nan\n" }, { TSC, "1e-10x\n" },
	};
	struct ergon_probe probe;

	(void)state;
	tree_write(&tree, PMU "/type", "9\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		event("energy-pkg", cases[i].code, cases[i].scale);
		ergon_backend_perf.probe(&m, &probe);
		assert_int_equal(probe.state, ERGON_PROBE_UNSUPPORTED);
		assert_non_null(strstr(probe.reason, "no usable energy event"));
	}
	event("energy-pkg", TSC, EXACT);
	tree_write(&tree, PMU "/events/energy-pkg.unit", "Watts\n");
	ergon_backend_perf.probe(&m, &probe);
	assert_non_null(strstr(probe.reason, "no usable energy event"));
}

static void an_unknown_pmu_is_unsupported(void **state)
{
	struct ergon_probe probe;

	(void)state;
	tree_write(&tree, PMU "/type", "4294967295\n");
	event("energy-pkg", TSC, EXACT);
	ergon_backend_perf.probe(&m, &probe);
	/* Where perf is forbidden altogether the kernel says so first. */
	assert_true(probe.state == ERGON_PROBE_UNSUPPORTED || probe.state == ERGON_PROBE_PERMISSION);
	assert_true(*probe.reason && *probe.remedy);
}

/* --- with it --- */

static void a_constant_zero_is_no_energy(void **state)
{
	struct ergon_error err = { "" };
	struct ergon_probe probe;

	(void)state;
	stand_in("0\n");
	event("energy-pkg", SMI, EXACT);
	ergon_backend_perf.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_ZERO);
	assert_null(ergon_meter_open(&m, "perf", false, &err));
	assert_non_null(strstr(err.text, "constant 0"));
}

static void dead_events_are_dropped(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	stand_in("0\n");
	event("energy-ram", SMI, EXACT);
	event("energy-gpu", SMI, EXACT);
	event("energy-cores", "event=0x77\n", EXACT);
	event("energy-new", TSC, EXACT);
	meter = open_meter();
	assert_string_equal(ergon_meter_scope(meter), "cpu");
	assert_true(was_dropped(meter, "energy-ram cpu0", "constant 0"));
	assert_true(was_dropped(meter, "energy-cores cpu0", ""));
	assert_true(was_dropped(meter, "energy-new", "unknown event"));
	/* A GPU may sleep. */
	assert_int_equal(channel(meter, "uncore0")->in_total, false);
	ergon_meter_close(meter);
}

static void scale_and_config_are_exact(void **state)
{
	struct ergon_meter *meter;
	const struct ergon_channel *ch;

	(void)state;
	stand_in("0\n");
	/* A comma locale must not turn 2.3e-10 into 2. */
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		print_message("no locale with a decimal comma here\n");
	meter = open_meter();
	setlocale(LC_NUMERIC, "C");
	ch = channel(meter, "package0");
	assert_true(ch->unit_j == 0x1p-32);
	assert_int_equal(ch->modulus, 0);
	assert_int_equal(ch->package, 0);
	assert_int_equal(ch->die, -1);
	assert_string_equal(ch->source, "perf");
	assert_string_equal(ch->detail, "power/energy-pkg cpu0");
	ergon_meter_close(meter);
}

/* Two events of one group count the same clock: 100 W and 10 W of it stay 10 : 1. */
static void domains_are_read_together(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading a, b;
	uint64_t pkg, ram;

	(void)state;
	stand_in("0\n");
	event("energy-pkg", TSC, "1e-7\n");
	event("energy-ram", TSC, "1e-8\n");
	meter = open_meter();
	ergon_meter_read(meter, &a);
	usleep(100000);
	ergon_meter_read(meter, &b);
	pkg = b.counts[0] - a.counts[0];
	ram = b.counts[1] - a.counts[1];
	assert_true(pkg > 0);
	/* The kernel reads them a few hundred ns apart; a hypervisor may step in. */
	assert_true(fabs((double)pkg / (double)ram - 1) < 0.01);
	assert_string_equal(ergon_meter_scope(meter), "cpu+dram");
	assert_int_equal(ergon_meter_total_uj(meter, b.counts),
			 (uint64_t)((double)b.counts[0] * 0.1 + 0.5) +
			 (uint64_t)((double)b.counts[1] * 0.01 + 0.5));
	ergon_meter_close(meter);
}

/* Alone or in the group, a channel is the same counter; alone no other's. */
static void a_single_channel_is_that_channel(void **state)
{
	const struct ergon_channel *all, *one;
	void *inst, *single;
	struct ergon_error err;
	size_t n;

	(void)state;
	stand_in("0\n");
	event("energy-psys", SMI, "1\n");
	inst = ergon_backend_perf.open(&m, &err);
	assert_non_null(inst);
	n = ergon_backend_perf.channels(inst, &all);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		uint64_t raw[3] = { 0, 42, 42 };
		bool ok[3] = { false, false, false };

		single = ergon_backend_perf.open_single(inst, i);
		assert_non_null(single);
		assert_int_equal(ergon_backend_perf.channels(single, &one), 1);
		assert_string_equal(one->name, all[i].name);
		assert_int_equal(ergon_backend_perf.read(single, raw, ok), 1);
		assert_true(ok[0] && !ok[1] && raw[1] == 42);
		/* tsc moves, smi does not. */
		assert_int_equal(raw[0] > 0, one->domain == ERGON_DOMAIN_PACKAGE);
		ergon_backend_perf.close(single);
	}
	ergon_backend_perf.close(inst);
}

static long reads_so_far(void)
{
	FILE *in = fopen("/proc/self/io", "r");
	char line[128];
	long n = -1;

	while (in && n < 0 && fgets(line, sizeof(line), in))
		if (sscanf(line, "syscr: %ld", &n) != 1)
			n = -1;
	if (in)
		fclose(in);
	return n;
}

static void one_system_call_reads_a_package(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;
	long before, bare, with;

	(void)state;
	stand_in("0\n");
	event("energy-ram", TSC, EXACT);
	event("energy-cores", TSC, EXACT);
	event("energy-psys", TSC, EXACT);
	if (reads_so_far() < 0) {
		print_message("no /proc/self/io here\n");
		skip();
	}
	meter = open_meter();
	before = reads_so_far();
	bare = reads_so_far() - before;
	before = reads_so_far();
	for (int i = 0; i < 100; i++)
		ergon_meter_read(meter, &r);
	with = reads_so_far() - before;
	assert_int_equal(with - bare, 100);
	ergon_meter_close(meter);
}

static void cpus_are_placed_by_topology(void **state)
{
	static const struct {
		const char *mask; /* NULL: the file is missing */
		int cpu_of_package[2];
	} cases[] = {
		{ "0-1\n", { 0, 1 } },
		{ "1,0\n", { 0, 1 } },
		{ NULL, { 0, 1 } },
		{ "\n", { 0, 1 } },
		{ "garbage\n", { 0, 1 } },
		{ "0,7\n", { 0, 1 } }, /* cpu7 went offline: another of its package */
	};

	(void)state;
	stand_in(NULL);
	two_packages();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_meter *meter;
		char detail[96], path[PATH_MAX];

		if (cases[i].mask) {
			tree_write(&tree, PMU "/cpumask", cases[i].mask);
		} else {
			snprintf(path, sizeof(path), "%s" PMU "/cpumask", tree.path);
			unlink(path);
		}
		meter = open_meter();
		for (int p = 0; p < 2; p++) {
			char name[16];

			snprintf(name, sizeof(name), "package%d", p);
			snprintf(detail, sizeof(detail), "power/energy-pkg cpu%d",
				 cases[i].cpu_of_package[p]);
			assert_string_equal(channel(meter, name)->detail, detail);
		}
		ergon_meter_close(meter);
	}
}

/* X14, X15: package 3 is counted on cpu1, cpu0 being offline. */
static void cpu0_may_be_offline(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	stand_in(NULL);
	two_packages();
	topo.ncpus = topo.npackages = 1;
	cpus[0] = (struct ergon_cpu){ .os = 1, .package = 3 };
	packages[0] = 3;
	tree_write(&tree, PMU "/cpumask", "1\n");
	meter = open_meter();
	assert_string_equal(channel(meter, "package3")->detail, "power/energy-pkg cpu1");
	ergon_meter_close(meter);
	tree_write(&tree, PMU "/cpumask", "0\n");
	meter = open_meter();
	assert_string_equal(channel(meter, "package3")->detail, "power/energy-pkg cpu1");
	ergon_meter_close(meter);
}

/* The topology is older than the kernel's view: cpu 4000 is gone, its neighbour is not. */
static void a_neighbour_stands_in_for_a_lost_cpu(void **state)
{
	struct ergon_probe probe;
	struct ergon_meter *meter;

	(void)state;
	stand_in(NULL);
	topo.ncpus = 2;
	cpus[1] = (struct ergon_cpu){ .os = 4000, .package = 0, .core = 1 };
	tree_write(&tree, PMU "/cpumask", "4000\n");
	ergon_backend_perf.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_OK);
	meter = open_meter();
	assert_string_equal(channel(meter, "package0")->detail, "power/energy-pkg cpu0");
	ergon_meter_close(meter);
}

/* Package 1 lost all its CPUs: package 0 alone must not pass for the node. */
static void a_lost_package_is_no_total(void **state)
{
	struct ergon_probe probe;

	(void)state;
	stand_in("0\n");
	two_packages();
	cpus[1].os = 4000;
	ergon_backend_perf.probe(&m, &probe);
	assert_int_equal(probe.state, ERGON_PROBE_UNSUPPORTED);
	assert_non_null(strstr(probe.reason, "1 of 2 packages"));
}

/* Our perf events: the open files of that kind, by number. */
static size_t perf_fds(int *fds, size_t max)
{
	size_t n = 0;

	for (int fd = 3; fd < 64 && n < max; fd++) {
		char path[64], target[64];
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = '\0';
		if (strcmp(target, "anon_inode:[perf_event]") == 0)
			fds[n++] = fd;
	}
	return n;
}

/* How an event dies: the kernel detached it and it reads the same for ever, or it cannot be read. */
enum death { DETACHED, UNREADABLE };

static void kill_event(int fd, enum death how)
{
	int null;

	if (how == DETACHED) {
		assert_int_equal(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
		return;
	}
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(null >= 0);
	assert_int_equal(dup2(null, fd), fd);
	close(null);
}

/* The units of a dead leader are opened again and count on; the others keep their files. */
static void dead_events_are_opened_again(void **state)
{
	const struct ergon_backend *perf = &ergon_backend_perf;

	(void)state;
	stand_in("0-1\n");
	two_packages();
	event("energy-ram", TSC, EXACT);
	for (enum death how = DETACHED; how <= UNREADABLE; how++) {
		struct ergon_error err = { "" };
		uint64_t before[4], dead[4], alive[4], later[4];
		void *inst = perf->open(&m, &err);
		int fds[8], now[8];
		bool ok[4];

		assert_non_null(inst);
		assert_int_equal(perf_fds(fds, 8), 4);
		assert_int_equal(perf->read(inst, before, ok), 4);
		perf->rescan(inst); /* all are well */
		assert_int_equal(perf_fds(now, 8), 4);
		assert_memory_equal(fds, now, 4 * sizeof(int));
		assert_int_equal(perf->read(inst, before, ok), 4);
		/* Both events of package 0; channels are package 0, 1, dram 0, 1. */
		kill_event(fds[1], how);
		kill_event(fds[0], how);
		assert_int_equal(perf->read(inst, dead, ok), how == DETACHED ? 4 : 2);
		assert_true(ok[1] && ok[3]);
		/* Nothing to open them with: nothing changes. */
		tree_write(&tree, PMU "/type", "4000000000\n");
		perf->rescan(inst);
		assert_int_equal(perf->read(inst, later, ok), how == DETACHED ? 4 : 2);
		if (how == DETACHED)
			assert_int_equal(later[0], dead[0]);
		assert_true(later[1] > dead[1]);
		/* The PMU came back, and has another number. (This one counts ns.) */
		tree_write(&tree, PMU "/type", "1\n");
		perf->rescan(inst);
		assert_int_equal(perf->read(inst, alive, ok), 4);
		for (int i = 0; i < 4; i++)
			assert_true(alive[i] > before[i]);
		assert_int_equal(perf->read(inst, later, ok), 4);
		for (int i = 0; i < 4; i++)
			assert_true(later[i] > alive[i]);
		/* What was not counted is not made up: 5 s of ns at most, on top of what was. */
		assert_true(alive[0] - (how == DETACHED ? dead[0] : before[0]) < 5000000000u);
		perf->close(inst);
		assert_int_equal(perf_fds(now, 8), 0);
		stand_in("0-1\n");
	}
}

static void dies_count_apart_on_intel_only(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	stand_in(NULL);
	two_packages();
	cpus[1].package = 0;
	cpus[1].die = 1;
	topo.npackages = 1;
	tree_write(&tree, PMU "/cpumask", "0-1\n");
	meter = open_meter();
	assert_int_equal(channel(meter, "package0-die0")->die, 0);
	assert_string_equal(channel(meter, "package0-die1")->detail, "power/energy-pkg cpu1");
	ergon_meter_close(meter);
	strcpy(topo.vendor, "AuthenticAMD");
	meter = open_meter();
	assert_string_equal(channel(meter, "package0")->detail, "power/energy-pkg cpu0");
	assert_true(was_dropped(meter, "power cpu1", "package 0"));
	ergon_meter_close(meter);
}

/* X10: what to add to a counter that ran backwards is 2^(64-ESU). */
static void repair_follows_the_energy_unit(void **state)
{
	static const struct {
		const char *vendor;
		int family, model;
		uint64_t range_uj;    /* of package-0 in powercap, 0: no powercap */
		int package_bits, dram_bits;
	} cases[] = {
		{ "AuthenticAMD", 0x17, 0x31, 0, 48, 48 },
		{ "HygonGenuine", 0x18, 0x00, 0, 48, 48 },
		{ "GenuineIntel", 6, 0x2d, 0, 48, 48 },
		{ "GenuineIntel", 6, 0x3e, 0, 48, 48 },
		{ "GenuineIntel", 6, 0x55, 0, 50, 48 },
		{ "GenuineIntel", 6, 0x8f, 0, 50, 50 },
		{ "GenuineIntel", 6, 0x8f, 65532610987, 48, 50 },
		{ "GenuineIntel", 6, 0x2d, 262143328850, 50, 48 },
		{ "GenuineIntel", 6, 0x2d, 262143999938, 50, 48 },
	};

	(void)state;
	stand_in("0\n");
	event("energy-ram", TSC, EXACT);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_meter *meter;
		char text[32];

		strcpy(topo.vendor, cases[i].vendor);
		topo.family = cases[i].family;
		topo.model = cases[i].model;
		if (cases[i].range_uj) {
			snprintf(text, sizeof(text), "%llu\n", (unsigned long long)cases[i].range_uj);
			tree_write(&tree, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
			tree_write(&tree, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", text);
		}
		meter = open_meter();
		assert_int_equal(channel(meter, "package0")->repair, 1ull << cases[i].package_bits);
		assert_int_equal(channel(meter, "dram0")->repair, 1ull << cases[i].dram_bits);
		ergon_meter_close(meter);
	}
	/* Another unit than 2^-32 J is not the kernel's: nothing to repair. */
	event("energy-pkg", TSC, "1e-9\n");
	struct ergon_meter *meter = open_meter();
	assert_int_equal(channel(meter, "package0")->repair, 0);
	ergon_meter_close(meter);
}

static void psys_is_apart_or_alone(void **state)
{
	struct ergon_meter *meter;
	char path[PATH_MAX];

	(void)state;
	stand_in("0\n");
	event("energy-psys", TSC, EXACT);
	meter = open_meter();
	assert_false(channel(meter, "platform")->in_total);
	assert_int_equal(channel(meter, "platform")->package, -1);
	assert_string_equal(ergon_meter_scope(meter), "cpu");
	ergon_meter_close(meter);
	snprintf(path, sizeof(path), "%s" PMU "/events/energy-pkg", tree.path);
	assert_int_equal(unlink(path), 0);
	meter = open_meter();
	assert_true(channel(meter, "platform")->in_total);
	assert_string_equal(ergon_meter_scope(meter), "platform");
	ergon_meter_close(meter);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(absence_is_explained),
		TEST(bad_descriptions_are_not_used),
		TEST(an_unknown_pmu_is_unsupported),
		TEST(a_constant_zero_is_no_energy),
		TEST(dead_events_are_dropped),
		TEST(scale_and_config_are_exact),
		TEST(domains_are_read_together),
		TEST(a_single_channel_is_that_channel),
		TEST(one_system_call_reads_a_package),
		TEST(cpus_are_placed_by_topology),
		TEST(cpu0_may_be_offline),
		TEST(a_neighbour_stands_in_for_a_lost_cpu),
		TEST(a_lost_package_is_no_total),
		TEST(dead_events_are_opened_again),
		TEST(dies_count_apart_on_intel_only),
		TEST(repair_follows_the_energy_unit),
		TEST(psys_is_apart_or_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
