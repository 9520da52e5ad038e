/* SPDX-License-Identifier: BSD-3-Clause */
/* Zones as files that the test rewrites; expectations in joules of the channel named. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "delta.h"
#include "flags.h"
#include "meter.h"
#include "powercap.h"
#include "tree.h"

#define ESU14 262143328850ull
#define ESU16 65532610987ull
#define DRAM 65712999613ull

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
		cpus[i] = (struct ergon_cpu){ .os = i, .package = i / 2, .core = i };
	packages[0] = 0;
	packages[1] = 1;
	topo = (struct ergon_topo){
		.ncpus = 4, .cpus = cpus, .npackages = 2, .packages = packages, .ncores = 4,
		.vendor = "GenuineIntel", .family = 6, .model = 85,
	};
	m = (struct ergon_machine){ .sysroot = tree_open(&tree), .topo = &topo };
	/* Joules appear between two reads that are microseconds apart. */
	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
		m.max_watts[d] = 1e6;
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
	for (int i = 0; i < 4; i++)
		cpus[i].package = 0;
	topo.npackages = 1;
}

static void set_energy(const char *entry, uint64_t uj)
{
	char path[PATH_MAX], text[32];

	snprintf(path, sizeof(path), "/sys/class/powercap/%s/energy_uj", entry);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)uj);
	tree_write(&tree, path, text);
}

static void zone(const char *entry, const char *name, uint64_t uj, uint64_t range)
{
	char path[PATH_MAX], text[64];

	snprintf(path, sizeof(path), "/sys/class/powercap/%s/name", entry);
	snprintf(text, sizeof(text), "%s\n", name);
	tree_write(&tree, path, text);
	set_energy(entry, uj);
	if (range > 0) {
		snprintf(path, sizeof(path), "/sys/class/powercap/%s/max_energy_range_uj", entry);
		snprintf(text, sizeof(text), "%llu\n", (unsigned long long)range);
		tree_write(&tree, path, text);
	}
}

static struct ergon_meter *open_meter(void)
{
	struct ergon_error err = { "" };
	struct ergon_meter *meter = ergon_meter_open(&m, "powercap", false, &err);

	assert_string_equal(err.text, "");
	assert_non_null(meter);
	return meter;
}

/* Microjoules of the channel `name` in a reading. */
static uint64_t uj_of(const struct ergon_meter *meter, const struct ergon_reading *r, const char *name)
{
	const struct ergon_channel *ch;
	size_t n = ergon_meter_channels(meter, &ch);

	for (size_t i = 0; i < n; i++)
		if (strcmp(ch[i].name, name) == 0)
			return ergon_counts_to_uj(r->counts[i], ch[i].unit_j);
	fail_msg("no channel %s", name);
	return 0;
}

static enum ergon_probe_state probe_state(struct ergon_probe *probe)
{
	memset(probe, 0x5a, sizeof(*probe));
	ergon_backend_powercap.probe(&m, probe);
	return probe->state;
}

static void modulus_is_range_and_one_unit(void **state)
{
	(void)state;
	assert_int_equal(ergon_zone_modulus_uj(ESU14), 262143328911);
	assert_int_equal(ergon_zone_modulus_uj(ESU16), 65532611002);
	assert_int_equal(ergon_zone_modulus_uj(DRAM), 65712999628);
	assert_int_equal(ergon_zone_modulus_uj(4294967295000000), 4294967296000000);
	assert_int_equal(ergon_zone_modulus_uj(262143999938), 262143999999);
	assert_true(ergon_zone_modulus_uj(0) == ERGON_MODULUS_UNKNOWN);
	assert_true(ergon_zone_modulus_uj(UINT64_MAX) == ERGON_MODULUS_UNKNOWN);
}

/* X1, X2, X3: each zone wraps at its own modulus, exactly. */
static void wraps_are_exact_per_zone(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	zone("intel-rapl:0", "package-0", 262143328000, ESU14);
	zone("intel-rapl:0:0", "dram", 65712999000, DRAM);
	zone("intel-rapl:1", "package-1", 65532600000, ESU16);
	zone("intel-rapl:1:0", "dram", 5, DRAM);
	meter = open_meter();
	assert_string_equal(ergon_meter_scope(meter), "cpu+dram");
	set_energy("intel-rapl:0", 1000);
	set_energy("intel-rapl:0:0", 387);
	set_energy("intel-rapl:1", 500);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(uj_of(meter, &r, "package0"), 1911);
	assert_int_equal(uj_of(meter, &r, "dram0"), 628 + 387);
	assert_int_equal(uj_of(meter, &r, "package1"), 11502);
	assert_int_equal(uj_of(meter, &r, "dram1"), 0);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 1911 + 628 + 387 + 11502);
	ergon_meter_close(meter);
}

/* X4: psys apart, an orphan dram counted once, core and uncore inside the package. */
static void top_level_psys_and_dram(void **state)
{
	static const char *const entries[] = {
		"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1", "intel-rapl:2",
	};
	static const char *const names[] = { "package-0", "core", "uncore", "psys", "dram" };
	static const uint64_t start[] = {
		124599532281, 23893449269, 23992349269, 154571208422, 182178908522,
	};
	static const char *const channels[] = { "package0", "core0", "uncore0", "platform", "dram0" };
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	one_package();
	for (size_t i = 0; i < 5; i++)
		zone(entries[i], names[i], start[i], ESU14);
	meter = open_meter();
	for (size_t i = 0; i < 5; i++)
		set_energy(entries[i], start[i] + 1000000);
	ergon_meter_read(meter, &r);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(uj_of(meter, &r, channels[i]), 1000000);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 2000000);
	assert_string_equal(ergon_meter_scope(meter), "cpu+dram");
	ergon_meter_close(meter);
}

/* X5: the zone index is not the package id. */
static void psys_between_the_sockets(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	zone("intel-rapl:0", "package-0", 10, ESU14);
	zone("intel-rapl:1", "psys", 10, ESU14);
	zone("intel-rapl:2", "package-1", 10, ESU14);
	meter = open_meter();
	set_energy("intel-rapl:0", 3000010);
	set_energy("intel-rapl:1", 9000010);
	set_energy("intel-rapl:2", 4000010);
	ergon_meter_read(meter, &r);
	assert_int_equal(uj_of(meter, &r, "package0"), 3000000);
	assert_int_equal(uj_of(meter, &r, "package1"), 4000000);
	assert_int_equal(uj_of(meter, &r, "platform"), 9000000);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 7000000);
	ergon_meter_close(meter);
}

/* X6 */
static void mmio_is_the_same_counter(void **state)
{
	const struct ergon_dropped *dropped;
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	one_package();
	zone("intel-rapl:0", "package-0", 10, ESU14);
	zone("intel-rapl-mmio:0", "package-0", 10, ESU14);
	meter = open_meter();
	set_energy("intel-rapl:0", 5000010);
	set_energy("intel-rapl-mmio:0", 5000010);
	ergon_meter_read(meter, &r);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 5000000);
	assert_int_equal(ergon_meter_dropped(meter, &dropped), 1);
	assert_string_equal(dropped[0].what, "intel-rapl-mmio:0");
	assert_non_null(strstr(dropped[0].why, "intel-rapl:0"));
	ergon_meter_close(meter);
}

/* X7: 68 J shown twice is 68 J on AMD and 136 J on Intel. */
static void dies_are_mirrors_on_amd_only(void **state)
{
	static const struct {
		const char *vendor;
		uint64_t total_uj;
		size_t dropped;
	} cases[] = {
		{ "AuthenticAMD", 68000000, 1 },
		{ "HygonGenuine", 68000000, 1 },
		{ "GenuineIntel", 136000000, 0 },
	};

	(void)state;
	one_package();
	cpus[2].die = cpus[3].die = 1;
	for (size_t i = 0; i < 3; i++) {
		const struct ergon_dropped *dropped;
		struct ergon_meter *meter;
		struct ergon_reading r;

		strcpy(topo.vendor, cases[i].vendor);
		zone("intel-rapl:0", "package-0-die-0", 1000, ESU16);
		zone("intel-rapl:1", "package-0-die-1", 1000, ESU16);
		meter = open_meter();
		set_energy("intel-rapl:0", 68001000);
		set_energy("intel-rapl:1", 68001000);
		ergon_meter_read(meter, &r);
		assert_int_equal(ergon_meter_total_uj(meter, r.counts), cases[i].total_uj);
		assert_int_equal(ergon_meter_dropped(meter, &dropped), cases[i].dropped);
		ergon_meter_close(meter);
	}
}

/* likwid #365: the core zone of AMD has one core's energy, and would pass for all cores'. */
static void core_of_amd_is_one_core(void **state)
{
	static const char *const vendors[] = { "AuthenticAMD", "HygonGenuine", "GenuineIntel" };

	(void)state;
	one_package();
	zone("intel-rapl:0", "package-0", 1000, ESU16);
	zone("intel-rapl:0:0", "core", 1000, ESU16);
	for (size_t i = 0; i < 3; i++) {
		const struct ergon_dropped *dropped;
		const struct ergon_channel *ch;
		struct ergon_meter *meter;

		strcpy(topo.vendor, vendors[i]);
		meter = open_meter();
		assert_int_equal(ergon_meter_channels(meter, &ch), i < 2 ? 1 : 2);
		assert_int_equal(ergon_meter_dropped(meter, &dropped), i < 2);
		if (i < 2)
			assert_non_null(strstr(dropped[0].why, "one core"));
		ergon_meter_close(meter);
	}
}

/* X8 for root: what cannot be read is neither 0 J nor absent. */
static void unreadable_is_not_zero(void **state)
{
	struct ergon_probe probe;
	char path[PATH_MAX];

	(void)state;
	one_package();
	zone("intel-rapl:0", "package-0", 10, ESU14);
	snprintf(path, sizeof(path), "%s/sys/class/powercap/intel-rapl:0/energy_uj", tree.path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(probe_state(&probe), ERGON_PROBE_UNSUPPORTED);
	assert_true(*probe.reason && *probe.remedy);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/does/not/exist", path), 0);
	assert_int_equal(probe_state(&probe), ERGON_PROBE_UNSUPPORTED);
	if (geteuid() != 0) {
		unlink(path);
		set_energy("intel-rapl:0", 10);
		chmod(path, 0);
		assert_int_equal(probe_state(&probe), ERGON_PROBE_PERMISSION);
	}
}

static void absence_and_zero_differ(void **state)
{
	struct ergon_error err = { "" };
	struct ergon_probe probe;

	(void)state;
	assert_int_equal(probe_state(&probe), ERGON_PROBE_ABSENT);
	assert_true(*probe.reason && *probe.remedy);
	tree_write(&tree, "/sys/class/powercap/intel-rapl/enabled", "1\n");
	tree_write(&tree, "/sys/class/powercap/dtpm/name", "soc\n");
	assert_int_equal(probe_state(&probe), ERGON_PROBE_ABSENT);
	zone("intel-rapl:0", "package-0", 0, ESU14);
	zone("intel-rapl:1", "package-1", 0, ESU14);
	assert_int_equal(probe_state(&probe), ERGON_PROBE_ZERO);
	assert_null(ergon_meter_open(&m, "powercap", false, &err));
	assert_non_null(strstr(err.text, "powercap: all RAPL zones read 0"));
	/* One that moved is enough: the other may just have wrapped. */
	set_energy("intel-rapl:1", 7);
	assert_int_equal(probe_state(&probe), ERGON_PROBE_OK);
	assert_string_equal(probe.reason, "");
	assert_string_equal(probe.remedy, "");
}

/* All dram unreadable: scope cpu. One of two: no total at all. */
static void a_domain_is_complete_or_absent(void **state)
{
	struct ergon_meter *meter;
	struct ergon_probe probe;

	(void)state;
	zone("intel-rapl:0", "package-0", 10, ESU14);
	zone("intel-rapl:0:0", "dram", 10, DRAM);
	zone("intel-rapl:1", "package-1", 10, ESU14);
	zone("intel-rapl:1:0", "dram", 10, DRAM);
	tree_write(&tree, "/sys/class/powercap/intel-rapl:1:0/energy_uj", "");
	assert_int_equal(probe_state(&probe), ERGON_PROBE_UNSUPPORTED);
	assert_non_null(strstr(probe.reason, "1 of 2 dram zones"));
	tree_write(&tree, "/sys/class/powercap/intel-rapl:0:0/energy_uj", "");
	meter = open_meter();
	assert_string_equal(ergon_meter_scope(meter), "cpu");
	ergon_meter_close(meter);
	tree_write(&tree, "/sys/class/powercap/intel-rapl:1/energy_uj", "");
	assert_int_equal(probe_state(&probe), ERGON_PROBE_UNSUPPORTED);
	assert_non_null(strstr(probe.reason, "1 of 2 package zones"));
}

static void unknown_range_gives_no_wrap(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	zone("intel-rapl:0", "package-0", 5000000, 0);
	meter = open_meter();
	set_energy("intel-rapl:0", 10);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_RESET);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 0);
	set_energy("intel-rapl:0", 30);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 20);
	ergon_meter_close(meter);
}

/* X18 at run time: a file that holds no number is a gap, and its energy is not lost. */
static void bad_text_is_a_gap(void **state)
{
	static const char *const texts[] = { "", "\n", "abc\n", "1234567890123456789012345\n" };
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	zone("intel-rapl:0", "package-0", 1000000, ESU14);
	meter = open_meter();
	for (size_t i = 0; i < 4; i++) {
		tree_write(&tree, "/sys/class/powercap/intel-rapl:0/energy_uj", texts[i]);
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, ERGON_FLAG_GAP);
		assert_int_equal(r.counts[0], 0);
	}
	set_energy("intel-rapl:0", 1000042);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[0], 42);
	ergon_meter_close(meter);
}

/* PAPI #53, procfs #459, node_exporter #1808: whole numbers, exact words. */
static void names_are_parsed_whole(void **state)
{
	static const struct {
		const char *name;
		const char *channel; /* NULL: dropped */
	} cases[] = {
		{ "package-0", "package0" },
		{ "package-15", "package15" },
		{ "package-0-die-3", "package0-die3" },
		{ "psys", "platform" },
		{ "psys-1", "platform1" },
		{ "dram", "dram" },
		{ "package-", NULL },
		{ "package-x", NULL },
		{ "package-0-die-", NULL },
		{ "package-0-die-1x", NULL },
		{ "package-99999999999", NULL },
		{ "Package-0", NULL },
		{ "psysx", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_drops drops = { NULL, 0 };
		struct ergon_channel ch = { 0 };
		struct ergon_zones zones;

		zone("intel-rapl:4", cases[i].name, 1, ESU14);
		assert_int_equal(ergon_zones_scan(&m, &zones, &drops), 0);
		assert_int_equal(zones.nentries, 1);
		assert_int_equal(zones.nzones, cases[i].channel != NULL);
		assert_int_equal(drops.n, cases[i].channel == NULL);
		if (cases[i].channel) {
			ch.domain = zones.zones[0].domain;
			ch.package = zones.zones[0].package;
			ch.die = zones.zones[0].die;
			ergon_channel_set_name(&ch);
			assert_string_equal(ch.name, cases[i].channel);
		}
		ergon_zones_free(&zones);
		ergon_drops_free(&drops);
	}
}

/* Of a zone its name, range and counter are read; whatever else is there, broken or not, is left alone. */
static void unrelated_files_do_not_matter(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;
	char path[PATH_MAX];

	(void)state;
	zone("intel-rapl:0", "package-0", 100, 262143999938);
	tree_write(&tree, "/sys/class/powercap/intel-rapl:0/enabled", "");
	tree_write(&tree, "/sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "-1\n");
	tree_write(&tree, "/sys/class/powercap/intel-rapl:0/power/control", "auto\n");
	/* Where the kernel's file answers EIO: a directory cannot be read either. */
	tree_write(&tree, "/sys/class/powercap/intel-rapl:0/power/autosuspend_delay_ms/x", "");
	snprintf(path, sizeof(path), "%s/sys/class/powercap/intel-rapl:0/device", tree.path);
	assert_int_equal(symlink("../nowhere", path), 0);
	tree_write(&tree, "/sys/class/powercap/dtpm/enabled", "1\n");
	tree_write(&tree, "/sys/class/powercap/dtpm:0/name", "package-0\n");
	meter = open_meter();
	set_energy("intel-rapl:0", 350);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 250);
	ergon_meter_close(meter);
}

/* A dead zone: its open file answers no more, and the entry is gone. */
static void unregister(const char *entry)
{
	char from[PATH_MAX], to[PATH_MAX];

	snprintf(from, sizeof(from), "/sys/class/powercap/%s/energy_uj", entry);
	tree_write(&tree, from, "");
	snprintf(from, sizeof(from), "%s/sys/class/powercap/%s", tree.path, entry);
	snprintf(to, sizeof(to), "%s/dead-%s", tree.path, entry);
	assert_int_equal(rename(from, to), 0);
}

/* Found by control type, name and parent; a working source keeps its fd. */
static void zones_are_found_again_by_what_they_are(void **state)
{
	const struct ergon_backend *pc = &ergon_backend_powercap;
	struct ergon_error err = { "" };
	uint64_t raw[4] = { 0 };
	bool ok[4];
	void *inst;

	(void)state;
	zone("intel-rapl:0", "package-0", 10, ESU14);
	zone("intel-rapl:0:0", "dram", 11, DRAM);
	zone("intel-rapl:1", "package-1", 20, ESU14);
	zone("intel-rapl:1:0", "dram", 21, DRAM);
	inst = pc->open(&m, &err);
	assert_non_null(inst);

	/* Both packages go; only the mmio twin of the second one stays. */
	unregister("intel-rapl:0");
	unregister("intel-rapl:1");
	zone("intel-rapl-mmio:0", "package-1", 99, ESU14);
	assert_int_equal(pc->read(inst, raw, ok), 2); /* the drams' files went on */
	pc->rescan(inst);
	assert_int_equal(pc->read(inst, raw, ok), 2);
	assert_false(ok[0] || ok[1]);

	/* They come back the other way round, psys between them, one unreadable. */
	zone("intel-rapl:0", "package-1", 1020, ESU14);
	zone("intel-rapl:1", "psys", 5, ESU14);
	zone("intel-rapl:2", "package-0", 1010, ESU14);
	zone("intel-rapl:2:0", "dram", 2011, DRAM);
	tree_write(&tree, "/sys/class/powercap/intel-rapl:2/energy_uj", "\n");
	pc->rescan(inst);
	assert_int_equal(pc->read(inst, raw, ok), 3);
	assert_false(ok[0]);
	assert_int_equal(raw[1], 1020);
	set_energy("intel-rapl:2", 1012);
	pc->rescan(inst);
	assert_int_equal(pc->read(inst, raw, ok), 4);
	assert_int_equal(raw[0], 1012);
	assert_int_equal(raw[1], 1020);
	assert_int_equal(raw[2], 11); /* its first file never failed */
	pc->close(inst);
}

static void psys_alone_is_a_total_of_its_own_scope(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	zone("intel-rapl:0", "psys", 1, ESU14);
	meter = open_meter();
	assert_string_equal(ergon_meter_scope(meter), "platform");
	ergon_meter_close(meter);
}

static void guards_come_from_the_machine(void **state)
{
	const struct ergon_channel *ch;
	struct ergon_meter *meter;

	(void)state;
	memset(m.max_watts, 0, sizeof(m.max_watts));
	m.max_watts[ERGON_DOMAIN_DRAM] = 77;
	zone("intel-rapl:0", "package-0", 1, ESU14);
	zone("intel-rapl:0:0", "dram", 1, DRAM);
	meter = open_meter();
	assert_int_equal(ergon_meter_channels(meter, &ch), 2);
	assert_true(ch[0].max_watts == 2000);
	assert_true(ch[1].max_watts == 77);
	ergon_meter_close(meter);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(absence_and_zero_differ),
		TEST(unreadable_is_not_zero),
		TEST(modulus_is_range_and_one_unit),
		TEST(wraps_are_exact_per_zone),
		TEST(top_level_psys_and_dram),
		TEST(psys_between_the_sockets),
		TEST(mmio_is_the_same_counter),
		TEST(dies_are_mirrors_on_amd_only),
		TEST(core_of_amd_is_one_core),
		TEST(a_domain_is_complete_or_absent),
		TEST(unknown_range_gives_no_wrap),
		TEST(bad_text_is_a_gap),
		TEST(names_are_parsed_whole),
		TEST(unrelated_files_do_not_matter),
		TEST(zones_are_found_again_by_what_they_are),
		TEST(psys_alone_is_a_total_of_its_own_scope),
		TEST(guards_come_from_the_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
