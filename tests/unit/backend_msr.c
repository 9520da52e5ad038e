/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers are sparse files. In a file, unlike in the device, a register's
 * 8 bytes overlap those of the next address, and AMD's three lie side by
 * side: pread is wrapped (-Wl,--wrap=pread) and gives every address 8 bytes
 * of its own. A value FAIL(e) makes the read fail with errno e. The clock,
 * wrapped as well, stands still unless a test moves it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "delta.h"
#include "flags.h"
#include "meter.h"
#include "tree.h"

#define FIRST_REGISTER 0x600
#define FAIL_MARK 0xfa11ed0000000000u
#define FAIL(e) (FAIL_MARK | (uint64_t)(e))
#define WRAP (1ull << 32)
/* Power 1/8 W, time 1/1024 s. */
#define UNITS(esu) (0xa0003u | (uint64_t)(esu) << 8)

enum { UNIT = 0x606, PKG = 0x611, RAM = 0x619, PP0 = 0x639, PP1 = 0x641, PSYS = 0x64d };
#define AMD_UNIT 0xc0010299u
#define AMD_CORE 0xc001029au
#define AMD_PKG 0xc001029bu

#define MAX_CPUS 32

static struct tree tree;
static struct ergon_cpu cpus[MAX_CPUS];
static int packages[4];
static struct ergon_topo topo;
static struct ergon_machine m;

static uint64_t clock_ns;
static uint64_t read_ns;          /* how long a pread takes */
static unsigned reads;

/* Monotonic and boot time alike: no suspends. */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(clock_ns / 1000000000);
	ts->tv_nsec = (long)(clock_ns % 1000000000);
	return 0;
}

ssize_t __real_pread(int fd, void *buf, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t at);

ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t at)
{
	ssize_t n = __real_pread(fd, buf, size, at < FIRST_REGISTER ? at : at * 8);
	uint64_t value;

	clock_ns += read_ns;
	reads++;
	if (n == sizeof(value)) {
		memcpy(&value, buf, sizeof(value));
		if ((value & 0xffffff0000000000u) == FAIL_MARK) {
			memset(buf, 0x5a, size);
			errno = (int)(value & 0xff);
			return -1;
		}
	}
	return n;
}

static int set_up(void **state)
{
	(void)state;
	clock_ns = 1000000000;
	read_ns = 0;
	tree_create(&tree);
	memset(&topo, 0, sizeof(topo));
	m = (struct ergon_machine){ .sysroot = tree_open(&tree), .topo = &topo };
	/* Joules appear between two reads at the same time. */
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

/* --- machines --- */

struct shape {
	int packages, dies, cores, threads; /* each per one of the former */
	bool siblings_apart;      /* i and i+N/2 are threads of a core, not i and i+1 */
};

static void cpu_is(const char *vendor, int family, int model, struct shape shape)
{
	int ncores = shape.packages * shape.dies * shape.cores;

	snprintf(topo.vendor, sizeof(topo.vendor), "%s", vendor);
	topo.family = family;
	topo.model = model;
	topo.ncores = (size_t)ncores;
	topo.ncpus = (size_t)(ncores * shape.threads);
	topo.cpus = cpus;
	topo.npackages = (size_t)shape.packages;
	topo.packages = packages;
	assert_in_range(topo.ncpus, 1, MAX_CPUS);
	for (int i = 0; i < (int)topo.ncpus; i++) {
		int core = shape.siblings_apart ? i % ncores : i / shape.threads;

		cpus[i] = (struct ergon_cpu){
			.os = i,
			.package = core / (shape.dies * shape.cores),
			.die = core / shape.cores % shape.dies,
			.core = core,
		};
		packages[cpus[i].package] = cpus[i].package;
	}
}

static void set_file(const char *name, int cpu, uint32_t address, uint64_t value)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/%s", cpu, name);
	if (ergon_sysroot_access(m.sysroot, path, F_OK) < 0)
		tree_write(&tree, path, "");
	snprintf(path, sizeof(path), "%s/dev/cpu/%d/%s", tree.path, cpu, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &value, sizeof(value), (off_t)address * 8), sizeof(value));
	assert_int_equal(close(fd), 0);
}

static void set(int cpu, uint32_t address, uint64_t value)
{
	set_file("msr", cpu, address, value);
}

/* Every CPU of a package, as the hardware has it. */
static void set_package(int package, uint32_t address, uint64_t value)
{
	for (size_t i = 0; i < topo.ncpus; i++)
		if (cpus[i].package == package)
			set(cpus[i].os, address, value);
}

static void set_all(uint32_t address, uint64_t value)
{
	for (size_t i = 0; i < topo.npackages; i++)
		set_package(packages[i], address, value);
}

/* Every thread of a core. */
static void set_core(int core, uint64_t value)
{
	for (size_t i = 0; i < topo.ncpus; i++)
		if (cpus[i].core == core)
			set(cpus[i].os, AMD_CORE, value);
}

static void device_path(int cpu, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/dev/cpu/%d/msr", tree.path, cpu);
}

/* Its open file answers no more, and cannot be opened. */
static void go_offline(int cpu)
{
	char path[PATH_MAX], away[PATH_MAX];

	set(cpu, UNIT, FAIL(ENXIO));
	set(cpu, AMD_UNIT, FAIL(ENXIO));
	set(cpu, PKG, FAIL(ENXIO));
	set(cpu, AMD_CORE, FAIL(ENXIO));
	set(cpu, AMD_PKG, FAIL(ENXIO));
	device_path(cpu, path);
	snprintf(away, sizeof(away), "%s/away%d", tree.path, cpu);
	assert_int_equal(rename(path, away), 0);
}

static void go_online(int cpu)
{
	char path[PATH_MAX], away[PATH_MAX];

	device_path(cpu, path);
	snprintf(away, sizeof(away), "%s/away%d", tree.path, cpu);
	assert_int_equal(rename(away, path), 0);
}

static size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* --- measuring --- */

static struct ergon_meter *open_meter(void)
{
	struct ergon_error err = { "" };
	struct ergon_meter *meter = ergon_meter_open(&m, "msr", false, &err);

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
	return NULL;
}

static uint64_t uj_of(const struct ergon_meter *meter, const struct ergon_reading *r,
		      const char *name)
{
	const struct ergon_channel *all, *ch = channel(meter, name);

	assert_non_null(ch);
	ergon_meter_channels(meter, &all);
	return ergon_counts_to_uj(r->counts[ch - all], ch->unit_j);
}

static size_t count_channels(const struct ergon_meter *meter)
{
	const struct ergon_channel *ch;

	return ergon_meter_channels(meter, &ch);
}

/* Why a register was left out; NULL: it was not. */
static const char *dropped_why(const struct ergon_meter *meter, const char *what)
{
	const struct ergon_dropped *dropped;
	size_t n = ergon_meter_dropped(meter, &dropped);

	for (size_t i = 0; i < n; i++)
		if (strcmp(dropped[i].what, what) == 0)
			return dropped[i].why;
	return NULL;
}

static enum ergon_probe_state probe_state(struct ergon_probe *probe)
{
	size_t before = open_files();
	struct ergon_error err = { "" };
	void *inst;

	memset(probe, 0x5a, sizeof(*probe));
	ergon_backend_msr.probe(&m, probe);
	inst = ergon_backend_msr.open(&m, &err);
	assert_int_equal(inst != NULL, probe->state == ERGON_PROBE_OK);
	assert_int_equal(*err.text != '\0', *probe->reason != '\0');
	assert_int_equal(inst != NULL, *probe->reason == '\0');
	ergon_backend_msr.close(inst);
	assert_int_equal(open_files(), before);
	return probe->state;
}

static void assert_refused(enum ergon_probe_state state, const char *reason, const char *remedy)
{
	struct ergon_probe probe;

	assert_int_equal(probe_state(&probe), state);
	assert_non_null(strstr(probe.reason, reason));
	assert_non_null(strstr(probe.remedy, remedy));
}

/* --- what cannot be read --- */

static void unknown_cpus_are_refused(void **state)
{
	static const struct {
		const char *vendor;
		int family, model;
		const char *reason, *remedy;
	} cases[] = {
		{ "GenuineIntel", 6, 0xdb, "GenuineIntel family 6 model 219 (0xdb) is not",
		  "use perf or powercap" },
		{ "GenuineIntel", 6, 0xad, "GenuineIntel family 6 model 173 (0xad) has", "intel_rapl_tpmi" },
		{ "GenuineIntel", 6, 0xaf, "TPMI", "intel_rapl_tpmi" },
		{ "AuthenticAMD", 0x1b, 1, "AuthenticAMD family 27 model 1 (0x1)", "use perf or powercap" },
		{ "", -1, -1, "not known", "use perf or powercap" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cpu_is(cases[i].vendor, cases[i].family, cases[i].model,
		       (struct shape){ 1, 1, 2, 1, false });
		/* Full of energy, but of what unit? */
		set_all(UNIT, UNITS(14));
		set_all(PKG, 1000);
		assert_refused(ERGON_PROBE_UNSUPPORTED, cases[i].reason, cases[i].remedy);
	}
}

static void absence_zero_and_permission_differ(void **state)
{
	char path[PATH_MAX], safe[PATH_MAX + 8];
	uid_t user = geteuid();

	(void)state;
	cpu_is("GenuineIntel", 6, 0x55, (struct shape){ 2, 1, 2, 1, false });
	assert_refused(ERGON_PROBE_ABSENT, "/dev/cpu/0/msr: No such file", "modprobe msr");
	/* A virtual machine: registers full of nothing. */
	set_all(RAM, 0);
	assert_refused(ERGON_PROBE_ZERO, "unit register 0x606 reads 0", "VM");
	set_all(UNIT, UNITS(14));
	assert_refused(ERGON_PROBE_ZERO, "all energy registers read 0", "VM");
	/* It does not implement them at all. */
	set_all(UNIT, FAIL(EIO));
	assert_refused(ERGON_PROBE_UNSUPPORTED, "/dev/cpu/0/msr register 0x606: Input/output error", "VM");
	set_all(UNIT, UNITS(14));
	set_all(PKG, FAIL(EIO));
	set_all(RAM, FAIL(EIO));
	set_all(PP0, FAIL(EIO));
	assert_refused(ERGON_PROBE_UNSUPPORTED, "/dev/cpu/0/msr register 0x611: Input/output error", "VM");
	set_all(UNIT, FAIL(EPERM));
	assert_refused(ERGON_PROBE_PERMISSION, "Operation not permitted", "CAP_SYS_RAWIO");
	device_path(0, path);
	snprintf(safe, sizeof(safe), "%s_safe", path);
	assert_int_equal(chmod(path, 0), 0);
	for (int i = 0; i < 2; i++) {
		if (user == 0)
			assert_int_equal(seteuid(65534), 0);
		assert_refused(ERGON_PROBE_PERMISSION, i == 0 ? "/dev/cpu/0/msr: Permission denied" :
			       "/dev/cpu/0/msr_safe: Permission denied", "CAP_SYS_RAWIO");
		if (user == 0)
			assert_int_equal(seteuid(0), 0);
		if (i == 0)
			assert_int_equal(rename(path, safe), 0);
	}
}

/* One socket of two must not pass for the node; a domain that fails everywhere is left out. */
static void a_domain_is_complete_or_absent(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	cpu_is("GenuineIntel", 6, 0x55, (struct shape){ 2, 1, 2, 1, false });
	set_all(UNIT, UNITS(14));
	set_all(PKG, 1000);
	set_all(RAM, 1000);
	set_all(PP0, FAIL(EIO));
	set_package(1, RAM, FAIL(EIO));
	assert_refused(ERGON_PROBE_UNSUPPORTED, "/dev/cpu/2/msr register 0x619: Input/output error; the rest", "");
	set_package(0, RAM, FAIL(EIO));
	meter = open_meter();
	assert_string_equal(ergon_meter_scope(meter), "cpu");
	assert_int_equal(count_channels(meter), 2);
	assert_string_equal(dropped_why(meter, "dram register 0x619 cpu2"),
			    "/dev/cpu/2/msr register 0x619: Input/output error");
	ergon_meter_close(meter);
	set_package(1, PKG, FAIL(EIO));
	assert_refused(ERGON_PROBE_UNSUPPORTED, "/dev/cpu/2/msr register 0x611", "");
	set_package(1, UNIT, FAIL(EIO));
	assert_refused(ERGON_PROBE_UNSUPPORTED, "/dev/cpu/2/msr register 0x606", "");
}

/* --- msr_safe --- */

static void msr_safe_is_the_second_choice(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	cpu_is("GenuineIntel", 6, 0x2d, (struct shape){ 1, 1, 2, 1, false });
	set_file("msr_safe", 0, UNIT, UNITS(16));
	set_file("msr_safe", 0, PKG, 1000);
	set_file("msr_safe", 0, PP0, FAIL(EACCES));
	set_file("msr_safe", 0, RAM, FAIL(EACCES));
	meter = open_meter();
	assert_string_equal(channel(meter, "package0")->detail, "msr_safe 0x611 cpu0");
	assert_string_equal(dropped_why(meter, "dram register 0x619 cpu0"),
			    "/dev/cpu/0/msr_safe register 0x619: Permission denied");
	set_file("msr_safe", 0, PKG, 1000 + 65536);
	ergon_meter_read(meter, &r);
	assert_int_equal(uj_of(meter, &r, "package0"), 1000000);
	ergon_meter_close(meter);
	set_file("msr_safe", 0, PKG, FAIL(EACCES));
	assert_refused(ERGON_PROBE_PERMISSION, "/dev/cpu/0/msr_safe register 0x611: Permission denied",
		       "msr_allowlist");
	/* With msr there, nobody asks msr_safe. */
	set(0, UNIT, UNITS(16));
	set(0, PKG, 2000);
	meter = open_meter();
	assert_string_equal(channel(meter, "package0")->detail, "msr 0x611 cpu0");
	ergon_meter_close(meter);
}

/* --- Intel --- */

/*
 * What each register, wherever it is on the machine, moves by, and what that
 * is in microjoules; 0: no such channel. All but psys wrap on the way.
 */
struct machine {
	const char *name;
	int model, npackages, esu;
	uint64_t uj[5];           /* package, core, uncore, dram, platform */
	const char *scope;
};

#define STEP 65536u
#define PSYS_STEP 7u

static const struct {
	uint32_t address;
	const char *name;
} registers[] = {
	{ PKG, "package" }, { PP0, "core" }, { PP1, "uncore" }, { RAM, "dram" }, { PSYS, "platform" },
};

/* 65536 counts are 4 J at ESU 14, 1 J at ESU 16. */
static const struct machine intel_machines[] = {
	{ "Sandy Bridge", 0x2a, 1, 16, { 1000000, 1000000, 1000000, 0, 0 }, "cpu" },
	{ "Ivy Bridge-EP", 0x3e, 2, 16, { 1000000, 1000000, 0, 1000000, 0 }, "cpu+dram" },
	{ "Haswell", 0x3c, 1, 14, { 4000000, 4000000, 4000000, 4000000, 0 }, "cpu+dram" },
	{ "Haswell-X", 0x3f, 2, 14, { 4000000, 4000000, 0, 1000000, 0 }, "cpu+dram" },
	{ "Broadwell-X", 0x4f, 2, 14, { 4000000, 4000000, 0, 1000000, 0 }, "cpu+dram" },
	{ "Broadwell-D", 0x56, 1, 14, { 4000000, 4000000, 0, 1000000, 0 }, "cpu+dram" },
	{ "Skylake-X", 0x55, 2, 14, { 4000000, 4000000, 0, 1000000, 0 }, "cpu+dram" },
	{ "Ice Lake-X", 0x6a, 2, 14, { 4000000, 4000000, 0, 1000000, 0 }, "cpu+dram" },
	{ "Sapphire Rapids", 0x8f, 1, 14, { 4000000, 4000000, 0, 4000000, 7000000 }, "cpu+dram" },
	{ "Knights Landing", 0x57, 1, 14, { 4000000, 0, 0, 1000000, 0 }, "cpu+dram" },
	{ "Kaby Lake", 0x9e, 1, 14, { 4000000, 4000000, 4000000, 4000000, 427 }, "cpu+dram" },
	{ "Bay Trail", 0x37, 1, 5, { 2097152, 2097152, 0, 0, 0 }, "cpu" },
	{ "Avoton", 0x4d, 1, 16, { 1000000, 1000000, 0, 0, 0 }, "cpu" },
};

static void check_machine(const struct machine *machine)
{
	uint64_t total = machine->uj[0] + machine->uj[3];
	struct ergon_meter *meter;
	struct ergon_reading r;
	size_t channels = 0;

	cpu_is("GenuineIntel", 6, machine->model,
	       (struct shape){ machine->npackages, 1, 2, 2, true });
	set_all(UNIT, UNITS(machine->esu));
	/* The upper half is reserved: what stands there is not counted. */
	for (size_t i = 0; i < 5; i++)
		set_all(registers[i].address, 0xabcd00000000u + WRAP - 1);
	set_all(PSYS, 100);
	meter = open_meter();
	for (size_t i = 0; i < 5; i++)
		set_all(registers[i].address, 0x123400000000u + STEP - 1);
	set_all(PSYS, 100 + PSYS_STEP);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	for (size_t i = 0; i < 5; i++) {
		for (int p = 0; p < machine->npackages; p++) {
			char name[32];

			snprintf(name, sizeof(name), i == 4 ? "%s" : "%s%d", registers[i].name, p);
			channels += machine->uj[i] > 0;
			if (machine->uj[i] > 0)
				assert_int_equal(uj_of(meter, &r, name), machine->uj[i]);
			else
				assert_null(channel(meter, name));
		}
	}
	assert_int_equal(count_channels(meter), channels);
	assert_string_equal(ergon_meter_scope(meter), machine->scope);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), total * (uint64_t)machine->npackages);
	ergon_meter_close(meter);
}

static void intel_machines_have_their_units(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(intel_machines) / sizeof(intel_machines[0]); i++)
		check_machine(&intel_machines[i]);
}

/* Variorum :1067: the wrapped interval of DRAM in the package's unit was 4 times too much. */
static void dram_wraps_in_its_own_unit(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	cpu_is("GenuineIntel", 6, 0x4f, (struct shape){ 1, 1, 1, 1, false });
	set_all(UNIT, UNITS(14));
	set_all(PKG, 1);
	set_all(RAM, WRAP - 2 * STEP);
	meter = open_meter();
	for (uint64_t k = 1; k <= 4; k++) {
		set_all(RAM, (WRAP + (k - 2) * STEP) & UINT32_MAX);
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, 0);
		assert_int_equal(uj_of(meter, &r, "dram0"), k * 1000000);
	}
	/* Exactly one count over the edge, and standing still is not a wrap. */
	set_all(PKG, 0);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_RESET); /* 262144 J at once */
	set_all(PKG, UINT32_MAX);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_GLITCH);
	set_all(PKG, 0);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[0], 1);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 1);
	ergon_meter_close(meter);
}

/* A node has one psys; the other sockets' registers are empty, or say the same. */
static void psys_is_one_sockets(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	cpu_is("GenuineIntel", 6, 0x8f, (struct shape){ 2, 1, 2, 1, false });
	set_all(UNIT, UNITS(14));
	set_all(PKG, 1000);
	set_all(RAM, 0);
	set_package(0, PSYS, 0);
	set_package(1, PSYS, 50);
	meter = open_meter();
	set_package(1, PSYS, 350);
	ergon_meter_read(meter, &r);
	assert_int_equal(uj_of(meter, &r, "platform"), 300000000);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 0);
	assert_non_null(dropped_why(meter, "platform register 0x64d cpu0"));
	ergon_meter_close(meter);
	set_package(0, PSYS, 50);
	meter = open_meter();
	assert_string_equal(channel(meter, "platform")->detail, "msr 0x64d cpu0");
	assert_string_equal(dropped_why(meter, "platform register 0x64d cpu2"), "a node has one psys");
	ergon_meter_close(meter);
}

/* Cascade Lake-AP: dies are counted apart. */
static void dies_are_apart_on_intel(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	cpu_is("GenuineIntel", 6, 0x55, (struct shape){ 2, 2, 2, 1, false });
	set_all(UNIT, UNITS(14));
	for (int i = 0; i < 8; i++)
		set(i, PKG, 1000);
	meter = open_meter();
	assert_int_equal(count_channels(meter), 4);
	for (int i = 0; i < 8; i++)
		set(i, PKG, 1000 + 16384u * (unsigned)(1 + i / 2));
	ergon_meter_read(meter, &r);
	assert_int_equal(uj_of(meter, &r, "package0-die0"), 1000000);
	assert_int_equal(uj_of(meter, &r, "package0-die1"), 2000000);
	assert_int_equal(uj_of(meter, &r, "package1-die0"), 3000000);
	assert_int_equal(uj_of(meter, &r, "package1-die1"), 4000000);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 10000000);
	ergon_meter_close(meter);
}

/* A domain that is 0 everywhere is absent until it moves: until the next opening. */
static void zero_is_absent_until_it_moves(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	cpu_is("GenuineIntel", 6, 0x55, (struct shape){ 2, 1, 1, 1, false });
	set_all(UNIT, UNITS(14));
	set_all(PKG, 1000);
	set_all(PP0, 0);
	set_all(RAM, 0);
	meter = open_meter();
	assert_int_equal(count_channels(meter), 2);
	assert_non_null(strstr(dropped_why(meter, "dram register 0x619 cpu1"), "reads 0"));
	assert_non_null(strstr(dropped_why(meter, "core register 0x639 cpu0"), "reads 0"));
	/* It begins to count: what is being measured stays what it was. */
	set_package(1, RAM, 5);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(count_channels(meter), 2);
	ergon_meter_close(meter);
	/* One socket's memory counts: so does the other's, from 0. */
	meter = open_meter();
	assert_int_equal(count_channels(meter), 4);
	set_package(0, RAM, 65536);
	ergon_meter_read(meter, &r);
	assert_int_equal(uj_of(meter, &r, "dram0"), 1000000);
	assert_int_equal(uj_of(meter, &r, "dram1"), 0);
	ergon_meter_close(meter);
}

/* --- AMD and Hygon --- */

static void start_amd(int family, int model, struct shape shape)
{
	cpu_is(family == 0x18 ? "HygonGenuine" : "AuthenticAMD", family, model, shape);
	set_all(AMD_UNIT, UNITS(16));
	set_all(AMD_PKG, 1000);
	for (int core = 0; core < (int)topo.ncores; core++)
		set_core(core, WRAP - 1 - (unsigned)core);
}

/* likwid #365, rapl-read-ryzen PR 1: all cores, and each of them once. */
static void cores_are_added_up(void **state)
{
	static const struct {
		int family, model;
		struct shape shape;
	} machines[] = {
		{ 0x17, 0x31, { 2, 1, 4, 2, true } },
		{ 0x17, 0x31, { 2, 1, 4, 2, false } },
		{ 0x17, 0x71, { 1, 1, 6, 2, true } },
		{ 0x19, 0x01, { 2, 1, 4, 1, false } },
		{ 0x18, 0x01, { 2, 4, 2, 2, false } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		struct ergon_meter *meter;
		struct ergon_reading r;
		int half;

		start_amd(machines[i].family, machines[i].model, machines[i].shape);
		meter = open_meter();
		half = (int)topo.ncores / machines[i].shape.packages;
		assert_int_equal(count_channels(meter), 2 * machines[i].shape.packages);
		/* Core k: (k + 1) J; the packages 100 J. All cores wrap, core 1 stays. */
		for (int core = 0; core < (int)topo.ncores; core++)
			if (core != 1)
				set_core(core, 65536u * (unsigned)(core + 1) - 1 - (unsigned)core);
		set_all(AMD_PKG, 1000 + 6553600);
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, 0);
		assert_int_equal(uj_of(meter, &r, "core0"), (half * (half + 1) / 2 - 2) * 1000000);
		assert_int_equal(uj_of(meter, &r, "package0"), 100000000);
		if (machines[i].shape.packages == 2)
			assert_int_equal(uj_of(meter, &r, "core1"),
					 (half * half + half * (half + 1) / 2) * 1000000);
		assert_int_equal(ergon_meter_total_uj(meter, r.counts),
				 100000000u * (unsigned)machines[i].shape.packages);
		assert_string_equal(ergon_meter_scope(meter), "cpu");
		ergon_meter_close(meter);
	}
}

/* Threadripper 1950X, codecarbon #1274: both dies show the socket's 68 J. */
static void dies_of_amd_share_a_counter(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	start_amd(0x17, 0x01, (struct shape){ 1, 2, 8, 2, true });
	meter = open_meter();
	assert_int_equal(count_channels(meter), 2);
	assert_string_equal(channel(meter, "core0")->detail, "register 0xc001029a of 16 cores");
	set_all(AMD_PKG, 1000 + 68 * 65536);
	ergon_meter_read(meter, &r);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 68000000);
	ergon_meter_close(meter);
}

/* amd_energy #12: 4289021270, then 1696099 in the lower half. */
static void width_of_amd_counters(void **state)
{
	static const struct {
		int family, model;
		uint64_t before, after;
		uint64_t counts;
		unsigned flags;
	} cases[] = {
		/* Genoa, as it is: 64 bits. */
		{ 0x19, 0x11, 4289021270, WRAP + 1696099, 7642125, 0 },
		{ 0x19, 0x11, 5 * WRAP - 1, 5 * WRAP + 1, 2, 0 },
		{ 0x1a, 0x02, WRAP - 1, WRAP, 1, 0 },
		/* A counter of 64 bits that falls was set back. */
		{ 0x19, 0x11, 4289021270, 1696099, 0, ERGON_FLAG_RESET },
		/* Milan: 32 bits. */
		{ 0x19, 0x01, 4289021270, 1696099, 7642125, 0 },
		{ 0x19, 0x30, WRAP - 1, 0, 1, 0 },
		/* Listed with 32 bits, has more: all of them count. */
		{ 0x19, 0x21, 3 * WRAP + 5, 3 * WRAP + 15, 10, 0 },
		{ 0x19, 0x21, 3 * WRAP - 5, 3 * WRAP + 5, 10, 0 },
		{ 0x19, 0x21, 3 * WRAP + 15, 3 * WRAP + 5, 0, ERGON_FLAG_RESET },
		/* It only shows later: never 2^32 in one step, and nothing lost. */
		{ 0x19, 0x21, WRAP - 5, WRAP + 5, 10, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_meter *meter;
		struct ergon_reading r;

		start_amd(cases[i].family, cases[i].model, (struct shape){ 1, 1, 1, 2, false });
		set_core(0, cases[i].before);
		set_all(AMD_PKG, cases[i].before);
		meter = open_meter();
		/* A sum of cores never wraps. */
		assert_int_equal(channel(meter, "core0")->modulus, 0);
		set_all(AMD_PKG, cases[i].after);
		set_core(0, cases[i].after);
		ergon_meter_read(meter, &r);
		assert_int_equal(r.counts[0], cases[i].counts);
		assert_int_equal(r.flags, cases[i].flags);
		assert_int_equal(r.counts[1], cases[i].counts);
		ergon_meter_close(meter);
	}
}

/* --- where it is read --- */

static void package_ids_have_gaps(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	cpu_is("GenuineIntel", 6, 0x2d, (struct shape){ 2, 1, 2, 1, false });
	packages[1] = cpus[2].package = cpus[3].package = 3;
	set_all(UNIT, UNITS(16));
	set_all(PKG, 1000);
	meter = open_meter();
	set_package(3, PKG, 1000 + 65536);
	ergon_meter_read(meter, &r);
	assert_int_equal(uj_of(meter, &r, "package0"), 0);
	assert_int_equal(uj_of(meter, &r, "package3"), 1000000);
	assert_string_equal(channel(meter, "package3")->detail, "msr 0x611 cpu2");
	ergon_meter_close(meter);
}

/* PAPI, powertop #70: cpu0 offline before the topology was read, or since. */
static void offline_cpus_are_passed_over(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	cpu_is("GenuineIntel", 6, 0x2d, (struct shape){ 2, 1, 2, 1, false });
	set_all(UNIT, UNITS(16));
	set_all(PKG, 1000);
	go_offline(0);
	meter = open_meter();
	assert_string_equal(channel(meter, "package0")->detail, "msr 0x611 cpu1");
	assert_string_equal(channel(meter, "package1")->detail, "msr 0x611 cpu2");
	ergon_meter_close(meter);
	topo.cpus = cpus + 1;
	topo.ncpus = 3;
	meter = open_meter();
	assert_string_equal(channel(meter, "package0")->detail, "msr 0x611 cpu1");
	ergon_meter_close(meter);
	/* A whole package is gone: the rest must not pass for all. */
	go_offline(1);
	assert_refused(ERGON_PROBE_ABSENT, "/dev/cpu/1/msr: No such file", "");
}

/* Slurm: a failed read is no 0, and no wrap. */
static void a_failed_read_is_a_gap(void **state)
{
	static const int errors[] = { EIO, ENXIO, EPERM, 0 };
	struct ergon_meter *meter;
	struct ergon_reading r;
	char path[PATH_MAX];

	(void)state;
	cpu_is("GenuineIntel", 6, 0x2d, (struct shape){ 1, 1, 1, 1, false });
	set_all(UNIT, UNITS(16));
	set_all(PKG, 1000);
	set_all(RAM, 1000);
	meter = open_meter();
	device_path(0, path);
	for (uint64_t i = 0; i < 4; i++) {
		if (errors[i])
			set(0, PKG, FAIL(errors[i]));
		else
			assert_int_equal(truncate(path, PKG * 8 + 4), 0); /* a short read */
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, ERGON_FLAG_GAP);
		assert_int_equal(r.counts[0], i * 100);
		set(0, PKG, 1000 + (i + 1) * 100);
		set(0, RAM, 1000);
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, 0);
		assert_int_equal(r.counts[0], (i + 1) * 100);
	}
	ergon_meter_close(meter);
}

/* The leader of package 0 goes: its neighbour is read; package 1 keeps its own. */
static void another_cpu_takes_over(void **state)
{
	const struct ergon_backend *msr = &ergon_backend_msr;
	struct ergon_error err = { "" };
	uint64_t raw[4] = { 0 };
	size_t files;
	bool ok[4];
	void *inst;

	(void)state;
	cpu_is("GenuineIntel", 6, 0x2d, (struct shape){ 2, 1, 2, 1, false });
	set_all(UNIT, UNITS(16));
	set_all(PKG, 1000);
	inst = msr->open(&m, &err);
	assert_non_null(inst);
	files = open_files();
	go_offline(0);
	assert_int_equal(msr->read(inst, raw, ok), 1);
	assert_false(ok[0]);
	set(1, PKG, 1500);
	set(2, PKG, 1600);
	msr->rescan(inst);
	assert_int_equal(msr->read(inst, raw, ok), 2);
	assert_int_equal(raw[0], 1500);
	assert_int_equal(raw[1], 1600);
	/* The last one goes, too, and one comes back. */
	go_offline(1);
	msr->rescan(inst);
	assert_int_equal(msr->read(inst, raw, ok), 1);
	go_online(0);
	set(0, UNIT, UNITS(16));
	set(0, PKG, 1700);
	msr->rescan(inst);
	assert_int_equal(msr->read(inst, raw, ok), 2);
	assert_int_equal(raw[0], 1700);
	assert_int_equal(open_files(), files);
	msr->close(inst);
}

/* The same under a meter: a gap, and after a second all that was drawn in it. */
static void no_energy_is_lost_to_an_offline_cpu(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	cpu_is("GenuineIntel", 6, 0x2d, (struct shape){ 2, 1, 2, 1, false });
	set_all(UNIT, UNITS(16));
	set_all(PKG, 1000);
	m.max_watts[ERGON_DOMAIN_PACKAGE] = 500;
	meter = open_meter();
	go_offline(0);
	for (uint64_t s = 1; s <= 3; s++) {
		clock_ns += 1000000000;
		set(1, PKG, 1000 + s * 65536);
		set(2, PKG, 1000 + s * 65536);
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, s <= 2 ? ERGON_FLAG_GAP : 0);
		assert_int_equal(uj_of(meter, &r, "package0"), s <= 2 ? 0 : 3000000);
		assert_int_equal(uj_of(meter, &r, "package1"), s * 1000000);
	}
	ergon_meter_close(meter);
}

static void one_thread_of_a_core_goes(void **state)
{
	const struct ergon_backend *msr = &ergon_backend_msr;
	struct ergon_error err = { "" };
	uint64_t raw[2] = { 0 };
	bool ok[2];
	void *inst;

	(void)state;
	start_amd(0x17, 0x31, (struct shape){ 1, 1, 2, 2, true });
	set_core(0, 1000);
	set_core(1, 1000);
	inst = msr->open(&m, &err);
	assert_non_null(inst);
	assert_int_equal(msr->read(inst, raw, ok), 2);
	assert_int_equal(raw[1], 0);

	/* Thread 1 of core 1 goes: nothing can be told until thread 3 is read, and nothing is lost. */
	set_core(0, 1100);
	set_core(1, 1010);
	go_offline(1);
	assert_int_equal(msr->read(inst, raw, ok), 1);
	assert_false(ok[1]);
	msr->rescan(inst);
	assert_int_equal(msr->read(inst, raw, ok), 2);
	assert_int_equal(raw[1], 110);

	/* Thread 3 as well: the core rests, the others count. */
	go_offline(3);
	set_core(0, 1200);
	assert_int_equal(msr->read(inst, raw, ok), 1);
	msr->rescan(inst);
	set(0, AMD_CORE, 1300);
	assert_int_equal(msr->read(inst, raw, ok), 2);
	assert_int_equal(raw[1], 310);

	/* It is back, its counter somewhere. */
	go_online(3);
	set(3, AMD_CORE, 5007);
	assert_int_equal(msr->read(inst, raw, ok), 2);
	assert_int_equal(raw[1], 310);
	set(3, AMD_CORE, 5027);
	assert_int_equal(msr->read(inst, raw, ok), 2);
	assert_int_equal(raw[1], 330);
	msr->close(inst);
}

/* One of many cores was set back: that is told, and the others' energy is not lost. */
static void a_core_that_was_set_back(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	start_amd(0x17, 0x31, (struct shape){ 1, 1, 4, 2, true });
	for (int core = 0; core < 4; core++)
		set_core(core, 3000000000u);
	meter = open_meter();
	set_core(0, 3000000100u);
	set_core(1, 17);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_RESET);
	assert_int_equal(r.counts[1], 100);
	set_core(1, 27);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[1], 110);
	ergon_meter_close(meter);
}

/* 200 W for 1 ms */
#define CORE_STEP 13107u

/* 16 cores at 10 us: 160 us in a round, one round in 16 ms. Four cores: each time. */
static void many_cores_are_read_more_rarely(void **state)
{
	struct ergon_meter *meter;
	struct ergon_reading r;
	unsigned before, rounds;

	(void)state;
	start_amd(0x19, 0x01, (struct shape){ 1, 1, 16, 2, true });
	read_ns = 10000;
	m.max_watts[ERGON_DOMAIN_CORE] = 300; /* against 200 W that come all at once */
	meter = open_meter();
	before = reads;
	for (uint64_t ms = 1; ms <= 160; ms++) {
		clock_ns += 1000000 - 10000;
		set_all(AMD_PKG, 1000 + ms * 100);
		set_core(0, (WRAP - 1 + ms * CORE_STEP) & UINT32_MAX);
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, 0);
		assert_int_equal(r.counts[0], ms * 100);
		assert_in_range(r.counts[1] + 16 * CORE_STEP, ms * CORE_STEP, (ms + 16) * CORE_STEP);
	}
	rounds = (reads - before - 160) / 16;
	assert_in_range(rounds, 9, 11);
	clock_ns += 16000000;
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[1], 160 * CORE_STEP);
	ergon_meter_close(meter);

	/* However long it takes, ten times a second. */
	read_ns = 2000000;
	meter = open_meter();
	clock_ns += 100000000;
	set_core(0, 160 * CORE_STEP - 1 + 400);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[1], 400);
	ergon_meter_close(meter);

	start_amd(0x19, 0x01, (struct shape){ 1, 1, 4, 2, true });
	read_ns = 10000;
	meter = open_meter();
	for (uint64_t k = 1; k <= 10; k++) {
		set_core(3, (WRAP - 4 + k * 10) & UINT32_MAX);
		ergon_meter_read(meter, &r);
		assert_int_equal(r.counts[1], k * 10);
	}
	ergon_meter_close(meter);
}

/* Whatever the files hold, probing answers in words, and what opens has sound units. */
static void any_bytes_are_answered(void **state)
{
	static const uint32_t addresses[] = { UNIT, PKG, RAM, PP0, PP1, PSYS,
					      AMD_UNIT, AMD_CORE, AMD_PKG };
	uint64_t random = 20261201;
	int opened = 0;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct ergon_probe probe;
		char path[PATH_MAX];

		if (round % 2)
			cpu_is("AuthenticAMD", 0x19, round, (struct shape){ 1, 1, 2, 2, true });
		else
			cpu_is("GenuineIntel", 6, round % 0xd0, (struct shape){ 2, 1, 1, 1, true });
		for (int i = 0; i < 4 * 9; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			set(i % 4, addresses[i / 4],
			    random >> 40 & 15 ? random : FAIL(random >> 50 & 0x7f));
		}
		device_path((int)(random >> 33) % 4, path);
		if (random >> 37 & 1 && access(path, F_OK) == 0)
			assert_int_equal(truncate(path, (off_t)(random >> 41 & 0x3fff)), 0);
		if (probe_state(&probe) == ERGON_PROBE_OK) {
			struct ergon_meter *meter = open_meter();
			const struct ergon_channel *ch;
			struct ergon_reading r;
			size_t n = ergon_meter_channels(meter, &ch);

			for (size_t i = 0; i < n; i++)
				assert_true(ch[i].unit_j > 1e-10 && ch[i].unit_j < 1e4);
			ergon_meter_read(meter, &r);
			ergon_meter_close(meter);
			opened++;
		}
	}
	assert_in_range(opened, 20, 280);
}

/* Some core has no device: no sum, and none of the files stays open. */
static void cores_are_complete_or_absent(void **state)
{
	struct ergon_meter *meter;

	(void)state;
	start_amd(0x17, 0x31, (struct shape){ 1, 1, 4, 2, true });
	go_offline(2);
	go_offline(6);
	meter = open_meter();
	assert_int_equal(count_channels(meter), 1);
	assert_string_equal(dropped_why(meter, "core register 0xc001029a cpu0"),
			    "/dev/cpu/2/msr: No such file or directory");
	ergon_meter_close(meter);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(unknown_cpus_are_refused),
		TEST(absence_zero_and_permission_differ),
		TEST(a_domain_is_complete_or_absent),
		TEST(msr_safe_is_the_second_choice),
		TEST(intel_machines_have_their_units),
		TEST(dram_wraps_in_its_own_unit),
		TEST(psys_is_one_sockets),
		TEST(dies_are_apart_on_intel),
		TEST(zero_is_absent_until_it_moves),
		TEST(cores_are_added_up),
		TEST(dies_of_amd_share_a_counter),
		TEST(width_of_amd_counters),
		TEST(package_ids_have_gaps),
		TEST(offline_cpus_are_passed_over),
		TEST(a_failed_read_is_a_gap),
		TEST(another_cpu_takes_over),
		TEST(no_energy_is_lost_to_an_offline_cpu),
		TEST(one_thread_of_a_core_goes),
		TEST(cores_are_complete_or_absent),
		TEST(a_core_that_was_set_back),
		TEST(many_cores_are_read_more_rarely),
		TEST(any_bytes_are_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
