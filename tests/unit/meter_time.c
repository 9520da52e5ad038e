/* SPDX-License-Identifier: BSD-3-Clause */
/* What a meter makes of hours: the clocks are the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "delta.h"
#include "flags.h"
#include "handclock.h"
#include "meter.h"
#include "script.h"

#define S 1000000000ll
#define RANGE 262143328911ull

/* A source that the test sets by hand. */
struct source {
	struct ergon_channel channel;
	uint64_t value;           /* SCRIPT_FAIL: unreadable */
	int64_t takes_ns;
	int rescans;
	uint64_t found;           /* what a rescan finds; 0: nothing */
};

static size_t source_channels(const void *inst, const struct ergon_channel **out)
{
	*out = &((const struct source *)inst)->channel;
	return 1;
}

static size_t source_read(void *inst, uint64_t *raw, bool *ok)
{
	struct source *source = inst;

	handclock_pass(source->takes_ns);
	ok[0] = source->value != SCRIPT_FAIL;
	if (ok[0])
		raw[0] = source->value;
	return ok[0];
}

static void source_rescan(void *inst)
{
	struct source *source = inst;

	source->rescans++;
	if (source->found)
		source->value = source->found;
}

static void source_close(void *inst)
{
	(void)inst;
}

static const struct ergon_backend source_backend = {
	.name = "source",
	.help = "values of the test",
	.channels = source_channels,
	.read = source_read,
	.rescan = source_rescan,
	.close = source_close,
};

static struct source source;
static struct ergon_meter *meter;
static struct ergon_reading r;

/* A package or so that reads 1 J, on a machine that was suspended for a day before. */
static void open_source(enum ergon_domain domain, double unit_j, uint64_t value)
{
	handclock_ns = 100 * S;
	handclock_boot_ns = handclock_ns + 86400 * S;
	source = (struct source){
		.channel = { .name = "x", .domain = domain, .unit_j = unit_j, .modulus = RANGE,
			     .max_watts = 2000, .step_ns = unit_j < 1 ? 0 : S / 10, .source = "source" },
		.value = value,
	};
	meter = ergon_meter_new(&(struct ergon_meter_part){ &source_backend, &source }, 1, NULL);
	assert_non_null(meter);
}

static unsigned after(int64_t ns, uint64_t value)
{
	handclock_pass(ns);
	source.value = value;
	ergon_meter_read(meter, &r);
	return r.flags;
}

static void a_counter_that_stands_still_is_stale(void **state)
{
	(void)state;
	open_source(ERGON_DOMAIN_PACKAGE, 1e-6, 1000000);
	assert_int_equal(after(9 * S, 1000000), 0);
	assert_int_equal(after(S, 1000000), ERGON_FLAG_STALE);
	assert_int_equal(after(S, 1000000), ERGON_FLAG_STALE);
	/* It lives: from here on ten seconds count again. */
	assert_int_equal(after(S, 1000001), 0);
	assert_int_equal(after(9 * S, 1000001), 0);
	/* Unreadable is a gap, and nothing is known of the time in it. */
	assert_int_equal(after(S / 10, SCRIPT_FAIL), ERGON_FLAG_GAP);
	assert_int_equal(after(S / 10, 1000001), 0);
	assert_int_equal(after(99 * S / 10, 1000001), 0);
	assert_int_equal(after(S / 10, 1000001), ERGON_FLAG_STALE);
	assert_int_equal(r.counts[0], 1);
	ergon_meter_close(meter);
}

static void only_what_never_rests_can_be_stale(void **state)
{
	static const struct {
		enum ergon_domain domain;
		bool stale;
	} cases[] = {
		{ ERGON_DOMAIN_PACKAGE, true }, { ERGON_DOMAIN_NODE, true }, { ERGON_DOMAIN_MODULE, true },
		{ ERGON_DOMAIN_SOC, true }, { ERGON_DOMAIN_CPU, true },
		{ ERGON_DOMAIN_CORE, false }, { ERGON_DOMAIN_UNCORE, false }, { ERGON_DOMAIN_DRAM, false },
		{ ERGON_DOMAIN_GPU, false }, { ERGON_DOMAIN_IO, false }, { ERGON_DOMAIN_PLATFORM, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_source(cases[i].domain, 1e-6, 1000000);
		assert_int_equal(after(60 * S, 1000000), cases[i].stale ? ERGON_FLAG_STALE : 0);
		ergon_meter_close(meter);
	}
}

/* Cray counts whole joules, ten times a second: at 300 W read at 1 kHz it repeats, at 0.2 W it rests for 5 s. */
static void coarse_counters_are_not_stale(void **state)
{
	(void)state;
	open_source(ERGON_DOMAIN_NODE, 1, 1000);
	for (int64_t ms = 1; ms < 20000; ms++)
		assert_int_equal(after(S / 1000, 1000 + (uint64_t)(ms / 100 * 30)), 0);
	ergon_meter_close(meter);
	open_source(ERGON_DOMAIN_NODE, 1, 1000);
	for (int64_t s = 1; s < 60; s++)
		assert_int_equal(after(S, 1000 + (uint64_t)(s / 5)), 0);
	ergon_meter_close(meter);
}

/*
 * X22: 500 W at 1000 Hz on a counter that moves each 976 us, read in pairs:
 * most second reads repeat, some reads see two steps, and nothing is lost or flagged.
 */
static void repeats_at_1000_hz_add_up(void **state)
{
	const int64_t update_ns = 976000, start_ns = 100 * S;
	int repeats = 0;

	(void)state;
	open_source(ERGON_DOMAIN_PACKAGE, 1e-6, 1000000);
	for (int ms = 1; ms <= 1000; ms++) {
		for (int twice = 0; twice < 2; twice++) {
			uint64_t before = source.value;
			int64_t now = start_ns + ms * S / 1000 + twice * 1000;

			handclock_pass(now - handclock_ns);
			source.value = 1000000 + (uint64_t)((now - start_ns) / update_ns) * 488000;
			repeats += source.value == before;
			ergon_meter_read(meter, &r);
			assert_int_equal(r.flags, 0);
		}
	}
	assert_true(repeats >= 900);
	assert_int_equal(r.counts[0], S / update_ns * 488000);
	ergon_meter_close(meter);
}

static void a_suspend_is_a_gap_and_no_energy(void **state)
{
	uint64_t before;

	(void)state;
	open_source(ERGON_DOMAIN_PACKAGE, 1e-6, 1000000);
	assert_int_equal(after(S, 2000000), 0);
	before = r.t_ns;
	/* The counter went on, and within what 2000 W allow in an hour. */
	handclock_boot_ns += 3600 * S;
	assert_int_equal(after(S, 900000000), ERGON_FLAG_GAP);
	assert_int_equal(r.counts[0], 1000000);
	assert_in_range(r.t_ns - before, S, S + 1000);
	assert_int_equal(after(S, 901000000), 0);
	assert_int_equal(r.counts[0], 2000000);
	/* It began anew, which is neither a wrap nor a reset that we saw. */
	handclock_boot_ns += 60 * S;
	assert_int_equal(after(S, 500), ERGON_FLAG_GAP);
	assert_int_equal(after(S, 600), 0);
	assert_int_equal(r.counts[0], 2000100);
	/* An hour of suspend is not an hour of standing still. */
	handclock_boot_ns += 3600 * S;
	assert_int_equal(after(S, 600), ERGON_FLAG_GAP);
	assert_int_equal(after(S, 600), 0);
	ergon_meter_close(meter);
}

/* Clocks are read one after the other, with anything in between. */
static void preemption_is_no_suspend(void **state)
{
	(void)state;
	open_source(ERGON_DOMAIN_PACKAGE, 1e-6, 1000000);
	source.takes_ns = 5 * S;
	assert_int_equal(after(S, 2000000), 0);
	assert_int_equal(after(S, 3000000), 0);
	assert_int_equal(r.read_ns, 5 * S + 50);
	ergon_meter_close(meter);
}

/* X21, from near the wrap: 500 mJ below it, so that a wrap were possible. */
static void what_was_lost_and_found_lower_is_reset(void **state)
{
	(void)state;
	open_source(ERGON_DOMAIN_PACKAGE, 1e-6, RANGE - 500000);
	/* Readable again before anybody looked for it: the same counter, it wrapped. */
	assert_int_equal(after(S / 2, SCRIPT_FAIL), ERGON_FLAG_GAP);
	assert_int_equal(after(S / 2, 500000), 0);
	assert_int_equal(r.counts[0], 1000000);
	ergon_meter_close(meter);

	open_source(ERGON_DOMAIN_PACKAGE, 1e-6, RANGE - 500000);
	assert_int_equal(after(S / 10, SCRIPT_FAIL), ERGON_FLAG_GAP);
	source.found = 500000;
	assert_int_equal(after(11 * S / 10, SCRIPT_FAIL), ERGON_FLAG_GAP);
	assert_int_equal(source.rescans, 1);
	assert_int_equal(after(S / 10, 600000), ERGON_FLAG_RESET);
	assert_int_equal(r.counts[0], 0);
	assert_int_equal(after(S / 10, 600001), 0);
	assert_int_equal(r.counts[0], 1);
	ergon_meter_close(meter);
}

static void what_was_lost_and_found_higher_is_caught_up(void **state)
{
	(void)state;
	open_source(ERGON_DOMAIN_PACKAGE, 1e-6, 1000000);
	assert_int_equal(after(S, SCRIPT_FAIL), ERGON_FLAG_GAP);
	assert_int_equal(after(2 * S, SCRIPT_FAIL), ERGON_FLAG_GAP);
	assert_int_equal(source.rescans, 1);
	assert_int_equal(after(S, 5000000), 0);
	assert_int_equal(r.counts[0], 4000000);
	ergon_meter_close(meter);
}

/* A perf event whose package went offline reads the same for ever. */
static void what_stands_still_is_looked_for(void **state)
{
	(void)state;
	open_source(ERGON_DOMAIN_PACKAGE, 1e-6, 1000000);
	for (int s = 1; s <= 10; s++)
		after(S, 1000000);
	assert_int_equal(source.rescans, 0);
	assert_int_equal(after(S, 1000000), ERGON_FLAG_STALE);
	assert_int_equal(source.rescans, 1);
	for (int s = 0; s < 3; s++)
		after(S, 1000000);
	assert_int_equal(source.rescans, 2);
	ergon_meter_close(meter);
	/* Not an idle core. */
	open_source(ERGON_DOMAIN_CORE, 1e-6, 1000000);
	for (int s = 1; s <= 20; s++)
		after(S, 1000000);
	assert_int_equal(source.rescans, 0);
	ergon_meter_close(meter);
}

/* After 1, 2, 4 ... 32 s; anew from 1 s when it was back. */
static void rescans_become_rare(void **state)
{
	static const int expected[] = { 1, 3, 7, 15, 31, 63, 95, 127 };
	size_t k = 0;

	(void)state;
	open_source(ERGON_DOMAIN_PACKAGE, 1e-6, 1000000);
	after(S, SCRIPT_FAIL);
	for (int s = 1; s <= 130; s++) {
		after(S, SCRIPT_FAIL);
		if (k < 8 && s == expected[k])
			k++;
		assert_int_equal(source.rescans, k);
	}
	after(S, 1000000);
	after(S, SCRIPT_FAIL);
	after(S, SCRIPT_FAIL);
	assert_int_equal(source.rescans, k + 1);
	ergon_meter_close(meter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter_that_stands_still_is_stale),
		cmocka_unit_test(only_what_never_rests_can_be_stale),
		cmocka_unit_test(coarse_counters_are_not_stale),
		cmocka_unit_test(repeats_at_1000_hz_add_up),
		cmocka_unit_test(a_suspend_is_a_gap_and_no_energy),
		cmocka_unit_test(preemption_is_no_suspend),
		cmocka_unit_test(what_was_lost_and_found_lower_is_reset),
		cmocka_unit_test(what_was_lost_and_found_higher_is_caught_up),
		cmocka_unit_test(what_stands_still_is_looked_for),
		cmocka_unit_test(rescans_become_rare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
