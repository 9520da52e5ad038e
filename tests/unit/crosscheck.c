/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "crosscheck.h"
#include "flags.h"
#include "handclock.h"
#include "tree.h"

/*
 * A backend that passes for perf. Each reading of it also sets the files of
 * powercap to what they would tell at that moment, so that both sides are
 * exact and only what the test wants differs.
 */
struct twin {
	struct tree *tree;
	uint64_t start_ns;
	double dram_factor;       /* powercap's dram over ours */
	bool gap;                 /* the next reading fails */
};

static const struct ergon_channel channels[] = {
	{ .name = "package0", .domain = ERGON_DOMAIN_PACKAGE, .package = 0, .die = -1,
	  .unit_j = 1e-6, .max_watts = 2000, .source = "perf" },
	{ .name = "dram0", .domain = ERGON_DOMAIN_DRAM, .package = 0, .die = -1,
	  .unit_j = 1e-6, .max_watts = 2000, .source = "perf" },
};

static size_t twin_channels(const void *inst, const struct ergon_channel **out)
{
	(void)inst;
	*out = channels;
	return 2;
}

static void set_zone(struct twin *t, const char *zone, double uj)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "/sys/class/powercap/%s/energy_uj", zone);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)uj + 5000000);
	tree_write(t->tree, path, text);
}

/* 100 W and 20 W. */
static size_t twin_read(void *inst, uint64_t *raw, bool *ok)
{
	struct twin *t = inst;
	double s = (double)(ergon_clock_ns() - t->start_ns) * 1e-9;

	raw[0] = (uint64_t)(s * 100e6);
	raw[1] = (uint64_t)(s * 20e6);
	set_zone(t, "intel-rapl:0", s * 100e6);
	set_zone(t, "intel-rapl:0:0", s * 20e6 * t->dram_factor);
	ok[0] = !t->gap;
	ok[1] = true;
	t->gap = false;
	return 2;
}

static void twin_close(void *inst)
{
	(void)inst;
}

static const struct ergon_backend twin_backend = {
	.name = "perf", .channels = twin_channels, .read = twin_read, .close = twin_close,
};

struct bench {
	struct tree tree;
	struct twin twin;
	struct ergon_machine m;
	struct ergon_topo topo;
	struct ergon_cpu cpu;
	int package;
	struct ergon_meter *meter;
};

static void zone(struct tree *tree, const char *entry, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/powercap/%s/name", entry);
	tree_write(tree, path, name);
	snprintf(path, sizeof(path), "/sys/class/powercap/%s/max_energy_range_uj", entry);
	tree_write(tree, path, "262143328850\n");
	snprintf(path, sizeof(path), "/sys/class/powercap/%s/energy_uj", entry);
	tree_write(tree, path, "5000000\n");
}

static void set_up(struct bench *b, double dram_factor)
{
	*b = (struct bench){ .package = 0 };
	tree_create(&b->tree);
	zone(&b->tree, "intel-rapl:0", "package-0\n");
	zone(&b->tree, "intel-rapl:0:0", "dram\n");
	b->topo = (struct ergon_topo){
		.ncpus = 1, .cpus = &b->cpu, .npackages = 1, .packages = &b->package, .ncores = 1,
		.family = 6, .model = 0x3f,
	};
	b->m.sysroot = tree_open(&b->tree);
	b->m.topo = &b->topo;
	b->twin = (struct twin){ &b->tree, ergon_clock_ns(), dram_factor, false };
	b->meter = ergon_meter_new(&(struct ergon_meter_part){ &twin_backend, &b->twin }, 1, NULL);
	assert_non_null(b->meter);
}

static void tear_down(struct bench *b)
{
	ergon_meter_close(b->meter);
	ergon_sysroot_close((struct ergon_sysroot *)b->m.sysroot);
	tree_destroy(&b->tree);
}

/* Feeds readings until it has enough; how many it took. */
static int feed(struct bench *b, struct ergon_crosscheck *check, int limit)
{
	struct ergon_reading r;
	int n = 0;

	do {
		ergon_meter_read(b->meter, &r);
		if (!ergon_crosscheck_feed(check, &r))
			return n;
		handclock_pass(100000000);
	} while (++n < limit);
	return n;
}

static void equal_counters_agree(void **state)
{
	const struct ergon_crosscheck_pair *pairs;
	struct ergon_crosscheck *check;
	struct ergon_error err;
	char buf[128];
	struct bench b;
	size_t n;

	(void)state;
	set_up(&b, 1);
	check = ergon_crosscheck_open(&b.m, b.meter, NULL, &err);
	assert_non_null(check);
	assert_string_equal(ergon_crosscheck_other(check), "powercap");
	assert_int_equal(ergon_crosscheck_pairs(check, &pairs, &n), 0);
	assert_int_equal(n, 2);
	assert_true(feed(&b, check, 100) < 100);
	assert_true(ergon_crosscheck_pairs(check, &pairs, &n) >= 1000000000);
	assert_string_equal(pairs[0].name, "package0");
	assert_true(pairs[0].agree && pairs[1].agree);
	assert_true(pairs[0].joules[0] > 99 && pairs[0].joules[1] > 99);
	assert_string_equal(ergon_crosscheck_verdict(check, buf, sizeof(buf)), "");
	ergon_crosscheck_close(check);
	tear_down(&b);
}

/* Rows 41 to 44 of the facts: a DRAM unit that is wrong by four. */
static void a_wrong_unit_is_found(void **state)
{
	const struct ergon_crosscheck_pair *pairs;
	struct ergon_crosscheck *check;
	char buf[128], little[10];
	struct bench b;
	size_t n;

	(void)state;
	set_up(&b, 4);
	check = ergon_crosscheck_open(&b.m, b.meter, "powercap", NULL);
	assert_non_null(check);
	assert_true(feed(&b, check, 100) < 100);
	ergon_crosscheck_pairs(check, &pairs, &n);
	assert_true(pairs[0].agree);
	assert_false(pairs[1].agree);
	ergon_crosscheck_verdict(check, buf, sizeof(buf));
	assert_int_equal(strncmp(buf, "dram0: perf 2", 13), 0);
	assert_non_null(strstr(buf, "(1 : 4.0"));
	assert_int_equal(strlen(ergon_crosscheck_verdict(check, little, sizeof(little))), 9);
	ergon_crosscheck_close(check);
	tear_down(&b);
}

/* A gap spoils its second, not the check; gaps for ever end it without a verdict. */
static void disturbed_seconds_are_not_compared(void **state)
{
	const struct ergon_crosscheck_pair *pairs;
	struct ergon_crosscheck *check;
	struct ergon_reading r;
	char buf[128];
	struct bench b;
	size_t n;

	(void)state;
	set_up(&b, 4);
	check = ergon_crosscheck_open(&b.m, b.meter, "powercap", NULL);
	ergon_meter_read(b.meter, &r);
	assert_true(ergon_crosscheck_feed(check, &r));
	b.twin.gap = true;
	assert_true(feed(&b, check, 100) >= 10);
	assert_true(ergon_crosscheck_pairs(check, &pairs, &n) > 0);
	ergon_crosscheck_close(check);

	check = ergon_crosscheck_open(&b.m, b.meter, "powercap", NULL);
	for (int i = 0; i < 40; i++) {
		b.twin.gap = true;
		ergon_meter_read(b.meter, &r);
		if (!ergon_crosscheck_feed(check, &r))
			break;
		assert_true(i < 30);
	}
	assert_int_equal(ergon_crosscheck_pairs(check, &pairs, &n), 0);
	assert_string_equal(ergon_crosscheck_verdict(check, buf, sizeof(buf)), "");
	ergon_crosscheck_close(check);
	tear_down(&b);
}

static void without_a_second_mechanism_it_says_so(void **state)
{
	struct ergon_error err = { "" };
	struct bench b;

	(void)state;
	set_up(&b, 1);
	assert_null(ergon_crosscheck_open(&b.m, b.meter, "nonsense", &err));
	assert_non_null(strstr(err.text, "nonsense"));
	tree_write(&b.tree, "/sys/class/powercap/intel-rapl:0/energy_uj", "x\n");
	tree_write(&b.tree, "/sys/class/powercap/intel-rapl:0:0/energy_uj", "x\n");
	assert_null(ergon_crosscheck_open(&b.m, b.meter, NULL, &err));
	assert_true(*err.text);
	ergon_crosscheck_close(NULL);
	tear_down(&b);
}

static void resolution_is_granted(void **state)
{
	(void)state;
	/* Coarse counters: one joule of psys at each end on both sides. */
	assert_true(ergon_crosscheck_allowed_j(10, 13, 1, 1, 1000000000) > 3);
	/* 100 J in a second: 1 J, four updates of 0.1 J. */
	assert_true(ergon_crosscheck_allowed_j(100, 99, 61e-6, 1e-6, 1000000000) < 1.3);
	assert_true(ergon_crosscheck_allowed_j(100, 99, 61e-6, 1e-6, 1000000000) > 1.1);
	assert_true(ergon_crosscheck_allowed_j(0, 0, 61e-6, 1e-6, 1000000000) < 1e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_counters_agree),
		cmocka_unit_test(a_wrong_unit_is_found),
		cmocka_unit_test(disturbed_seconds_are_not_compared),
		cmocka_unit_test(without_a_second_mechanism_it_says_so),
		cmocka_unit_test(resolution_is_granted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
