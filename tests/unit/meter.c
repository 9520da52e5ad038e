/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "delta.h"
#include "flags.h"
#include "meter.h"
#include "script.h"
#include "tree.h"

/* Guards are off where a test feeds seconds of energy into microseconds of run time. */
static struct ergon_channel energy(const char *name, enum ergon_domain domain, uint64_t modulus)
{
	struct ergon_channel ch = {
		.domain = domain, .package = 0, .die = -1, .unit_j = 1e-6,
		.modulus = modulus, .in_total = true, .source = "script",
	};

	snprintf(ch.name, sizeof(ch.name), "%s", name);
	return ch;
}

static void counts_start_at_zero_and_add_up(void **state)
{
	struct ergon_channel ch = energy("package0", ERGON_DOMAIN_PACKAGE, 262143328911);
	const uint64_t rows[] = { 262143328000, 1000, 1000, 2500 };
	struct script script = { &ch, 1, rows, 4, 0, 0 };
	struct ergon_meter *meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	struct ergon_reading r;
	const struct ergon_channel *channels;

	(void)state;
	assert_non_null(meter);
	assert_string_equal(ergon_meter_mechanism(meter), "script");
	assert_int_equal(ergon_meter_channels(meter, &channels), 1);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 1911);
	assert_int_equal(r.flags, 0);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 1911);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 1911 + 1500);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 3411);
	assert_string_equal(ergon_meter_scope(meter), "cpu");
	ergon_meter_close(meter);
	assert_int_equal(script.closed, 1);
	ergon_meter_close(NULL);
}

static void failed_readings_are_caught_up(void **state)
{
	struct ergon_channel ch[] = {
		energy("package0", ERGON_DOMAIN_PACKAGE, 0),
		energy("dram0", ERGON_DOMAIN_DRAM, 0),
	};
	const uint64_t rows[] = { 100, 10, SCRIPT_FAIL, 11, 300, 12 };
	struct script script = { ch, 2, rows, 3, 0, 0 };
	struct ergon_meter *meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	struct ergon_reading r;

	(void)state;
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_GAP);
	assert_int_equal(r.counts[0], 0);
	assert_int_equal(r.counts[1], 1);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[0], 200);
	assert_int_equal(r.counts[1], 2);
	ergon_meter_close(meter);
}

/* X21: the file vanishes and returns with a lower value. */
static void counters_that_come_back_lower_are_reset(void **state)
{
	struct ergon_channel ch = energy("package0", ERGON_DOMAIN_PACKAGE, ERGON_MODULUS_UNKNOWN);
	const uint64_t rows[] = { 5000000, 6000000, SCRIPT_FAIL, 40, 140 };
	struct script script = { &ch, 1, rows, 5, 0, 0 };
	struct ergon_meter *meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	struct ergon_reading r;

	(void)state;
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 1000000);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_GAP);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_RESET);
	assert_int_equal(r.counts[0], 1000000);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[0], 1000100);
	ergon_meter_close(meter);
}

static void a_channel_dead_at_open_starts_when_it_lives(void **state)
{
	struct ergon_channel ch = energy("package0", ERGON_DOMAIN_PACKAGE, 0);
	const uint64_t rows[] = { SCRIPT_FAIL, 900000, 900007 };
	struct script script = { &ch, 1, rows, 3, 0, 0 };
	struct ergon_meter *meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	struct ergon_reading r;

	(void)state;
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 0);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 7);
	ergon_meter_close(meter);
}

/* X9 through the meter: dt is microseconds, so a guard of 2000 W refuses the wrap. */
static void impossible_steps_are_not_energy(void **state)
{
	struct ergon_channel ch = energy("package0", ERGON_DOMAIN_PACKAGE, 262143328911);
	const uint64_t rows[] = { 131000000000, 130800000000, 130800000100, 230800000100, 230800000101 };
	struct script script = { &ch, 1, rows, 5, 0, 0 };
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	ch.max_watts = 2000;
	meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_RESET);
	assert_int_equal(r.counts[0], 0);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[0], 100);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_GLITCH);
	assert_int_equal(r.counts[0], 100);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[0], 101);
	ergon_meter_close(meter);
}

/* X4, X5: what a total covers; platform stands apart. */
static void totals_name_their_scope(void **state)
{
	struct ergon_channel ch[] = {
		energy("package0", ERGON_DOMAIN_PACKAGE, 0),
		energy("package1", ERGON_DOMAIN_PACKAGE, 0),
		energy("core0", ERGON_DOMAIN_CORE, 0),
		energy("dram0", ERGON_DOMAIN_DRAM, 0),
		energy("platform", ERGON_DOMAIN_PLATFORM, 0),
	};
	const uint64_t rows[] = { 0, 0, 0, 0, 0, 3, 4, 2, 1, 9 };
	struct script script = { ch, 5, rows, 2, 0, 0 };
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	assert_string_equal(ergon_meter_scope(meter), "cpu+dram");
	ergon_meter_read(meter, &r);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 8);
	ergon_meter_close(meter);
}

static void readings_are_dated_in_their_middle(void **state)
{
	struct ergon_channel ch = energy("package0", ERGON_DOMAIN_PACKAGE, 0);
	const uint64_t rows[] = { 0 };
	struct script script = { &ch, 1, rows, 1, 0, 0 };
	struct ergon_meter *meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	struct ergon_reading r;
	uint64_t before = ergon_clock_ns(), after;

	(void)state;
	ergon_meter_read(meter, &r);
	after = ergon_clock_ns();
	assert_in_range(r.t_ns, before, after);
	assert_true(r.read_ns <= after - before);
	ergon_meter_close(meter);
}

static void too_many_channels_are_refused(void **state)
{
	struct ergon_channel ch = energy("package0", ERGON_DOMAIN_PACKAGE, 0);
	const uint64_t rows[] = { 0 };
	struct script script = { &ch, 0, rows, 1, 0, 0 };
	struct ergon_error err = { "" };

	(void)state;
	assert_null(ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, &err));
	assert_non_null(strstr(err.text, "script: 0 channels"));
	script.nchannels = ERGON_METER_MAX_CHANNELS + 1;
	assert_null(ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, &err));
	assert_non_null(strstr(err.text, "129 channels"));
	assert_int_equal(script.closed, 0);
}

static void keepalive_is_half_a_wrap_at_the_guard(void **state)
{
	struct ergon_channel ch[] = {
		energy("package0", ERGON_DOMAIN_PACKAGE, 65536000000),
		energy("dram0", ERGON_DOMAIN_DRAM, ERGON_MODULUS_UNKNOWN),
		{ .name = "package1", .unit_j = 0x1p-32, .repair = 1ull << 48 },
	};
	const uint64_t rows[] = { 0, 0, 0 };
	struct script script = { ch, 3, rows, 1, 0, 0 };
	struct ergon_meter *meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);

	(void)state;
	assert_int_equal(ergon_meter_keepalive_ns(meter), 30000000000ull);
	ergon_meter_close(meter);
	ch[2].max_watts = 4096;
	meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	assert_int_equal(ergon_meter_keepalive_ns(meter), 8000000000ull);
	ergon_meter_close(meter);
	ch[0].max_watts = 32768;
	meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	assert_int_equal(ergon_meter_keepalive_ns(meter), 1000000000ull);
	ergon_meter_close(meter);
}

static void estimates_say_so(void **state)
{
	struct ergon_channel ch = energy("package0", ERGON_DOMAIN_PACKAGE, 0);
	const uint64_t rows[] = { 0 };
	struct script script = { &ch, 1, rows, 1, 0, 0 };
	struct ergon_backend backend = script_backend;
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	backend.estimated = true;
	meter = ergon_meter_new(&(struct ergon_meter_part){ &backend, &script }, 1, NULL);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, ERGON_FLAG_ESTIMATED);
	assert_string_equal(ergon_meter_scope(meter), "estimate");
	ergon_meter_close(meter);
}

/* Every mechanism that was tried tells why not. */
static void failures_are_told_one_by_one(void **state)
{
	struct tree tree;
	struct ergon_machine m = { 0 };
	struct ergon_error err = { "" };
	struct ergon_cpu cpu = { 0, 0, 0, 0 };
	int package = 0;
	struct ergon_topo topo = {
		.ncpus = 1, .cpus = &cpu, .npackages = 1, .packages = &package, .ncores = 1,
		.family = -1, .model = -1,
	};

	(void)state;
	tree_create(&tree);
	m.sysroot = tree_open(&tree);
	m.topo = &topo;
	assert_null(ergon_meter_open(&m, "nonsense,model", false, &err));
	assert_non_null(strstr(err.text, "nonsense: no such mechanism; model: "));
	assert_null(ergon_meter_open(&m, "auto", true, &err));
	assert_non_null(strstr(err.text, "model: /proc/stat"));
	assert_null(ergon_meter_open(&m, ",", false, &err));
	ergon_sysroot_close((struct ergon_sysroot *)m.sysroot);
	tree_destroy(&tree);
}

/* Firmware's texts go onto terminals and into JSON, which must not lose a channel by them. */
static void texts_are_printable(void **state)
{
	struct ergon_channel ch = energy("package0", ERGON_DOMAIN_PACKAGE, 0);
	const uint64_t rows[] = { 0 };
	struct script script = { &ch, 1, rows, 1, 0, 0 };
	const struct ergon_channel *channels;
	struct ergon_drops drops = { NULL, 0 };
	struct ergon_meter *meter;
	struct ergon_probe probe;

	(void)state;
	strcpy(ch.detail, "zone\n\xff\x1b[1m");
	strcpy(ch.id, "pci \xfe");
	meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	ergon_meter_channels(meter, &channels);
	assert_string_equal(channels[0].detail, "zone???[1m");
	assert_string_equal(channels[0].id, "pci ?");
	ergon_meter_close(meter);
	ergon_drop(&drops, "a\tb", "%s", "\xc3\xa4 c");
	assert_string_equal(drops.items[0].what, "a?b");
	assert_string_equal(drops.items[0].why, "?? c");
	ergon_drops_free(&drops);
	ergon_probe_set(&probe, ERGON_PROBE_ABSENT, "", "%s", "\x7f");
	assert_string_equal(probe.reason, "?");
}

/* More cards than a meter has room for cost the processors' energy nothing. */
static void a_crowd_of_sensors_leaves_the_others_alone(void **state)
{
	struct ergon_cpu cpu = { 0, 0, 0, 0 };
	int package = 0;
	struct ergon_topo topo = {
		.ncpus = 1, .cpus = &cpu, .npackages = 1, .packages = &package, .ncores = 1,
		.family = -1, .model = -1,
	};
	struct ergon_machine m = { .topo = &topo };
	const struct ergon_dropped *dropped;
	struct ergon_error err = { "" };
	struct ergon_meter *meter;
	char path[96];
	struct tree tree;
	size_t n;

	(void)state;
	tree_create(&tree);
	m.sysroot = tree_open(&tree);
	tree_write(&tree, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
	tree_write(&tree, "/sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n");
	tree_write(&tree, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
	for (int i = 0; i <= ERGON_METER_MAX_CHANNELS; i++) {
		snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/name", i);
		tree_write(&tree, path, "amdgpu\n");
		snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%d/power1_average", i);
		tree_write(&tree, path, "90000000\n");
	}
	meter = ergon_meter_open(&m, "auto", false, &err);
	assert_string_equal(err.text, "");
	assert_non_null(meter);
	assert_string_equal(ergon_meter_mechanism(meter), "powercap");
	assert_string_equal(ergon_meter_scope(meter), "cpu");
	n = ergon_meter_dropped(meter, &dropped);
	assert_int_equal(n, 1);
	assert_string_equal(dropped[0].what, "hwmon");
	assert_string_equal(dropped[0].why, "its 129 channels do not fit into a meter of 128");
	ergon_meter_close(meter);
	assert_null(ergon_meter_open(&m, "powercap+hwmon", false, &err));
	assert_non_null(strstr(err.text, "hwmon: its 129 channels do not fit into a meter of 128"));
	ergon_sysroot_close((struct ergon_sysroot *)m.sysroot);
	tree_destroy(&tree);
}

/* RAPL, a node meter and two GPUs, one of which another part tells already. */
static void parts_are_read_together(void **state)
{
	struct ergon_channel rapl[] = {
		energy("package0", ERGON_DOMAIN_PACKAGE, 0), energy("dram0", ERGON_DOMAIN_DRAM, 0),
	};
	struct ergon_channel gpus[] = {
		energy("gpu0", ERGON_DOMAIN_GPU, 0), energy("gpu1", ERGON_DOMAIN_GPU, 0),
	};
	struct ergon_channel more[] = {
		energy("gpu0", ERGON_DOMAIN_GPU, 0), energy("node", ERGON_DOMAIN_NODE, 0),
	};
	const uint64_t rows[3][4] = { { 0, 0, 10, 1 }, { 0, 0, 200, 300 }, { 0, 0, 200, 7000 } };
	struct script scripts[] = {
		{ rapl, 2, rows[0], 2, 0, 0 }, { gpus, 2, rows[1], 2, 0, 0 },
		{ more, 2, rows[2], 2, 0, 0 },
	};
	struct ergon_backend second = script_backend, third = script_backend;
	const struct ergon_meter_part parts[] = {
		{ &script_backend, &scripts[0] }, { &second, &scripts[1] }, { &third, &scripts[2] },
	};
	const struct ergon_channel *channels;
	const struct ergon_dropped *dropped;
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	second.name = "second";
	third.name = "third";
	strcpy(gpus[0].id, "pci 0000:41:00.0");
	strcpy(gpus[1].id, "pci 0000:42:00.0");
	strcpy(more[0].id, "pci 0000:41:00.0");
	strcpy(more[0].detail, "the same again");
	more[1].package = -1;

	meter = ergon_meter_new(parts, 2, NULL);
	assert_string_equal(ergon_meter_mechanism(meter), "script+second");
	assert_string_equal(ergon_meter_scope(meter), "cpu+dram+gpu");
	ergon_meter_read(meter, &r);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 511);
	ergon_meter_close(meter);

	scripts[0].next = scripts[1].next = 0;
	meter = ergon_meter_new(parts, 3, NULL);
	assert_string_equal(ergon_meter_mechanism(meter), "script+second+third");
	assert_string_equal(ergon_meter_scope(meter), "node");
	assert_int_equal(ergon_meter_channels(meter, &channels), 5);
	assert_string_equal(channels[4].name, "node");
	assert_int_equal(ergon_meter_dropped(meter, &dropped), 1);
	assert_string_equal(dropped[0].what, "the same again");
	assert_string_equal(dropped[0].why, "script tells gpu0 already");
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 10);
	assert_int_equal(r.counts[3], 300);
	assert_int_equal(r.counts[4], 7000);
	assert_int_equal(ergon_meter_total_uj(meter, r.counts), 7000);
	assert_int_equal(r.flags, 0);
	ergon_meter_close(meter);
	assert_int_equal(scripts[2].closed, 1);
}

/* A power meter of the node, then a counter of the same node, then its GPU under a taken name. */
static void counters_replace_integrated_power(void **state)
{
	struct ergon_channel power[] = {
		energy("node", ERGON_DOMAIN_NODE, 0), energy("gpu0", ERGON_DOMAIN_GPU, 0),
	};
	struct ergon_channel counter[] = {
		energy("node", ERGON_DOMAIN_NODE, 0), energy("gpu0", ERGON_DOMAIN_GPU, 0),
	};
	const uint64_t rows[2][4] = { { 0, 0, 5, 6 }, { 0, 0, 70, 80 } };
	struct script scripts[] = { { power, 2, rows[0], 2, 0, 0 }, { counter, 2, rows[1], 2, 0, 0 } };
	struct ergon_backend second = script_backend;
	const struct ergon_meter_part parts[] = {
		{ &script_backend, &scripts[0] }, { &second, &scripts[1] },
	};
	const struct ergon_channel *channels;
	const struct ergon_dropped *dropped;
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	second.name = "second";
	power[0].integrated = true;
	strcpy(power[0].detail, "power_meter");
	strcpy(power[1].id, "pci 0000:41:00.0");
	strcpy(counter[1].id, "pci 0000:42:00.0");
	meter = ergon_meter_new(parts, 2, NULL);
	assert_int_equal(ergon_meter_channels(meter, &channels), 3);
	assert_false(channels[0].integrated);
	assert_string_equal(channels[2].name, "gpu1");
	assert_int_equal(ergon_meter_dropped(meter, &dropped), 1);
	assert_string_equal(dropped[0].what, "power_meter");
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 70);
	assert_int_equal(r.counts[1], 6);
	assert_int_equal(r.counts[2], 80);
	assert_string_equal(ergon_meter_mechanism(meter), "script+second");
	ergon_meter_close(meter);
	/* Where nothing of it is left, a mechanism is not named. */
	scripts[0].next = scripts[1].next = 0;
	scripts[0].nchannels = 1;
	meter = ergon_meter_new(parts, 2, NULL);
	assert_string_equal(ergon_meter_mechanism(meter), "second");
	ergon_meter_close(meter);
}

/* A source that answers at the third reading is waited for, one that never does is not. */
static void slow_starters_are_waited_for(void **state)
{
	struct ergon_channel ch = energy("gpu0", ERGON_DOMAIN_GPU, 0);
	const uint64_t rows[] = { SCRIPT_FAIL, SCRIPT_FAIL, 900, 905 };
	struct script late = { &ch, 1, rows, 4, 0, 0 }, never = { &ch, 1, rows, 1, 0, 0 };
	struct ergon_meter *meter;
	struct ergon_reading r;

	(void)state;
	meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &late }, 1, NULL);
	assert_true(ergon_meter_settle(meter, 60000));
	assert_int_equal(late.next, 3);
	assert_true(ergon_meter_settle(meter, 60000));
	assert_int_equal(late.next, 3);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 5);
	assert_int_equal(r.flags, 0);
	ergon_meter_close(meter);
	meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &never }, 1, NULL);
	assert_false(ergon_meter_settle(meter, 20));
	ergon_meter_close(meter);
}

/* A source that counts from its opening loses nothing while it starts, and is no gap for 3 s. */
static void what_counts_from_the_opening_starts_late(void **state)
{
	struct ergon_channel ch = energy("gpu0", ERGON_DOMAIN_GPU, ERGON_MODULUS_UNKNOWN);
	const uint64_t rows[] = { SCRIPT_FAIL, SCRIPT_FAIL, 700, 705 };
	struct script late = { &ch, 1, rows, 4, 0, 0 }, never = { &ch, 1, rows, 1, 0, 0 };
	struct ergon_meter *meter;
	struct ergon_reading r;
	uint64_t start;

	(void)state;
	ch.from_open = true;
	meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &late }, 1, NULL);
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[0], 0);
	assert_false(ergon_meter_answered(meter, 0));
	ergon_meter_read(meter, &r);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.counts[0], 700);
	assert_true(ergon_meter_answered(meter, 0));
	ergon_meter_read(meter, &r);
	assert_int_equal(r.counts[0], 705);
	ergon_meter_close(meter);

	start = ergon_clock_ns();
	meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &never }, 1, NULL);
	do {
		usleep(10000);
		ergon_meter_read(meter, &r);
	} while (!(r.flags & ERGON_FLAG_GAP) && ergon_clock_ns() - start < 8000000000);
	assert_int_equal(r.flags, ERGON_FLAG_GAP);
	assert_true(ergon_clock_ns() - start > 2900000000);
	ergon_meter_close(meter);
}

static int rescans;

static void count_rescan(void *inst)
{
	(void)inst;
	rescans++;
}

/* Read a channel that fails but for the first `good` readings. */
static void check_rescans(size_t good)
{
	struct ergon_channel ch = energy("package0", ERGON_DOMAIN_PACKAGE, 0);
	const uint64_t rows[] = { 1, SCRIPT_FAIL };
	struct script script = { &ch, 1, rows + 1 - good, 1 + good, 0, 0 };
	struct ergon_backend backend = script_backend;
	struct ergon_meter *meter;
	struct ergon_reading r;
	uint64_t start = ergon_clock_ns(), end;

	backend.rescan = count_rescan;
	rescans = 0;
	meter = ergon_meter_new(&(struct ergon_meter_part){ &backend, &script }, 1, NULL);
	do {
		ergon_meter_read(meter, &r);
		assert_int_equal(r.flags, ERGON_FLAG_GAP);
		end = ergon_clock_ns();
		if (end - start < 900000000)
			assert_int_equal(rescans, 0);
		usleep(10000);
	} while (end - start < 1500000000);
	assert_int_equal(rescans, 1);
	ergon_meter_close(meter);
}

/* A source that stays away is looked for after a second, not at every reading. */
static void lost_sources_are_looked_for(void **state)
{
	(void)state;
	check_rescans(1);
}

/* Nor at once when it was never there: a slow one is about to start. */
static void late_sources_are_given_time(void **state)
{
	(void)state;
	check_rescans(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_start_at_zero_and_add_up),
		cmocka_unit_test(failed_readings_are_caught_up),
		cmocka_unit_test(counters_that_come_back_lower_are_reset),
		cmocka_unit_test(a_channel_dead_at_open_starts_when_it_lives),
		cmocka_unit_test(impossible_steps_are_not_energy),
		cmocka_unit_test(totals_name_their_scope),
		cmocka_unit_test(readings_are_dated_in_their_middle),
		cmocka_unit_test(too_many_channels_are_refused),
		cmocka_unit_test(keepalive_is_half_a_wrap_at_the_guard),
		cmocka_unit_test(estimates_say_so),
		cmocka_unit_test(failures_are_told_one_by_one),
		cmocka_unit_test(texts_are_printable),
		cmocka_unit_test(a_crowd_of_sensors_leaves_the_others_alone),
		cmocka_unit_test(parts_are_read_together),
		cmocka_unit_test(counters_replace_integrated_power),
		cmocka_unit_test(slow_starters_are_waited_for),
		cmocka_unit_test(what_counts_from_the_opening_starts_late),
		cmocka_unit_test(lost_sources_are_looked_for),
		cmocka_unit_test(late_sources_are_given_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
