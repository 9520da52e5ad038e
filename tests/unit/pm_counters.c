/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "delta.h"
#include "flags.h"
#include "pm_counters.h"

static void texts_are_numbers_or_errors(void **state)
{
	static const struct {
		const char *text, *unit;
		int error;
		uint64_t value, us;
	} cases[] = {
		{ "500 J 1425408634410884 us\n", "J", 0, 500, 1425408634410884 },
		{ "500 J 1425408634410884 us", "J", 0, 500, 1425408634410884 },
		{ "  0\tJ  7 us \n", "J", 0, 0, 7 },
		{ "500 J\n", "J", 0, 500, 0 },
		{ "500\n", "J", 0, 500, 0 },
		{ "18446744073709551615 J 18446744073709551615 us\n", "J", 0, UINT64_MAX, UINT64_MAX },
		{ "41\n", "", 0, 41, 0 },
		{ "", "J", EINVAL, 0, 0 },
		{ "\n", "J", EINVAL, 0, 0 },
		{ "abc", "J", EINVAL, 0, 0 },
		{ "J", "J", EINVAL, 0, 0 },
		{ "-5 J 7 us\n", "J", EINVAL, 0, 0 },
		{ "5.5 J 7 us\n", "J", EINVAL, 0, 0 },
		{ "500J 7 us\n", "J", EINVAL, 0, 0 },
		{ "500 W 7 us\n", "J", EINVAL, 0, 0 },
		{ "500 Joules\n", "J", EINVAL, 0, 0 },
		{ "500 7 us\n", "J", EINVAL, 0, 0 },
		{ "500 J us\n", "J", EINVAL, 0, 0 },
		{ "500 J 7 ms\n", "J", EINVAL, 0, 0 },
		{ "500 J 7 us 8\n", "J", EINVAL, 0, 0 },
		{ "500 J 7\n", "J", EINVAL, 0, 0 },
		{ "41 J\n", "", EINVAL, 0, 0 },
		{ "1234567890123456789012345 J 7 us\n", "J", ERANGE, 0, 0 },
		{ "18446744073709551616 J\n", "J", ERANGE, 0, 0 },
		{ "5 J 18446744073709551616 us\n", "J", ERANGE, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_pm_value v = { 77, 78 };
		int rc = ergon_pm_parse(cases[i].text, cases[i].unit, &v);

		if (cases[i].error) {
			assert_int_equal(rc, -1);
			assert_int_equal(errno, cases[i].error);
			assert_int_equal(v.value, 77);
			assert_int_equal(v.us, 78);
		} else {
			assert_int_equal(rc, 0);
			assert_int_equal(v.value, cases[i].value);
			assert_int_equal(v.us, cases[i].us);
		}
	}
}

static void files_are_read_from_their_start(void **state)
{
	static const char good[] = "9000 J 1000 us\n";
	char path[] = "/tmp/ergon-pm-XXXXXX", many[200];
	struct ergon_pm_value v;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ergon_pm_read(fd, "J", &v), -1); /* empty */
	assert_int_equal(write(fd, good, strlen(good)), strlen(good));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ergon_pm_read(fd, "J", &v), 0);
		assert_int_equal(v.value, 9000);
		assert_int_equal(v.us, 1000);
	}
	assert_int_equal(pwrite(fd, "9\0", 2, 0), 2); /* a NUL inside */
	assert_int_equal(ergon_pm_read(fd, "J", &v), -1);
	memset(many, ' ', sizeof(many));
	many[0] = '9';
	assert_int_equal(pwrite(fd, many, sizeof(many), 0), sizeof(many));
	assert_int_equal(ergon_pm_read(fd, "J", &v), -1);
	close(fd);
	assert_int_equal(ergon_pm_read(fd, "J", &v), -1);
}

/* Any text is a number or an error: FUZZ_SEED and FUZZ_ROUNDS as in fuzz_sysfs. */
static void damaged_text_is_survived(void **state)
{
	static const char bytes[] = "0123456789 \t\nJus-.\xff", good[] = "500 J 1425408634410884 us\n";
	const char *seed_text = getenv("FUZZ_SEED"), *rounds_text = getenv("FUZZ_ROUNDS");
	uint64_t random_state = seed_text ? strtoull(seed_text, NULL, 10) : 20261201;
	long rounds = (rounds_text ? atol(rounds_text) : 400) * 100, parsed = 0;

	(void)state;
	for (long round = 0; round < rounds; round++) {
		struct ergon_pm_value v = { 77, 78 };
		char *text;
		size_t len;

		random_state = random_state * 6364136223846793005u + 1442695040888963407u;
		len = (random_state >> 33) % sizeof(good);
		/* Its own size on the heap: a byte too far is found. */
		text = calloc(1, len + 1);
		assert_non_null(text);
		memcpy(text, good, len);
		for (int k = (random_state >> 40) & 3; k > 0 && len > 0; k--) {
			random_state = random_state * 6364136223846793005u + 1442695040888963407u;
			text[(random_state >> 33) % len] =
				bytes[(random_state >> 50) % (sizeof(bytes) - 1)];
		}
		errno = 0;
		if (ergon_pm_parse(text, "J", &v) == 0) {
			parsed++;
		} else {
			assert_true(errno == EINVAL || errno == ERANGE);
			assert_int_equal(v.value, 77);
		}
		free(text);
	}
	assert_in_range(parsed, rounds / 20, rounds - rounds / 20);
}

/* --- snapshots: a reader with a script --- */

#define ABSENT UINT64_MAX

struct script {
	uint64_t freshness[8], startup[8]; /* by the number of their reading */
	uint64_t counter[4];               /* by the number of the pass */
	size_t nfresh, nstart, npass;
};

static int scripted(void *arg, size_t file, struct ergon_pm_value *out)
{
	struct script *s = arg;

	out->us = 0;
	if (file == ERGON_PM_FRESHNESS)
		out->value = s->freshness[s->nfresh++];
	else if (file == ERGON_PM_STARTUP)
		out->value = s->startup[s->nstart++];
	else
		out->value = s->counter[s->npass++];
	return out->value == ABSENT ? -1 : 0;
}

/* One counter; what was read of it, ABSENT when nothing may be used. */
static uint64_t take(struct script *s, struct ergon_pm_snapshot *snap)
{
	static struct ergon_pm_value value;
	static bool ok;

	*snap = (struct ergon_pm_snapshot){ .n = 1, .values = &value, .ok = &ok };
	return ergon_pm_take(scripted, s, snap) && ok ? value.value : ABSENT;
}

/* X13: freshness 41 before, 42 after. */
static void what_changed_meanwhile_is_read_again(void **state)
{
	struct script s = {
		.freshness = { 41, 42, 42 }, .startup = { 7, 7, 7 }, .counter = { 500, 510 },
	};
	struct ergon_pm_snapshot snap;

	(void)state;
	assert_int_equal(take(&s, &snap), 510);
	assert_int_equal(s.npass, 2);
	assert_false(snap.torn);
	assert_true(snap.has_startup);
	assert_int_equal(snap.startup, 7);
}

static void a_quiet_moment_is_read_once(void **state)
{
	struct script s = {
		.freshness = { 41, 41 }, .startup = { 7, 7 }, .counter = { 500, 510 },
	};
	struct ergon_pm_snapshot snap;

	(void)state;
	assert_int_equal(take(&s, &snap), 500);
	assert_int_equal(s.npass, 1);
}

/* Each counter is still a number of its own; only their moment differs. */
static void tries_are_bounded(void **state)
{
	struct script s = {
		.freshness = { 1, 2, 3, 4 }, .startup = { 7, 7, 7, 7 }, .counter = { 500, 510, 520, 530 },
	};
	struct ergon_pm_snapshot snap;

	(void)state;
	assert_int_equal(take(&s, &snap), 520);
	assert_int_equal(s.npass, 3);
	assert_true(snap.torn);
}

/* Which life such a number is of, nobody knows. */
static void endless_restarts_give_nothing(void **state)
{
	struct script s = {
		.freshness = { 1, 1, 1, 1 }, .startup = { 7, 8, 9, 10 }, .counter = { 500, 510, 520 },
	};
	struct ergon_pm_snapshot snap;

	(void)state;
	assert_int_equal(take(&s, &snap), ABSENT);
	assert_int_equal(s.npass, 3);
}

static void machines_without_marks_are_read(void **state)
{
	struct script s = {
		.freshness = { ABSENT, ABSENT }, .startup = { ABSENT, ABSENT }, .counter = { 500 },
	};
	struct ergon_pm_snapshot snap;

	(void)state;
	assert_int_equal(take(&s, &snap), 500);
	assert_int_equal(s.npass, 1);
	assert_false(snap.has_startup);
}

/* --- counters through restarts, as the delta engine sees them --- */

static const struct ergon_channel channel = {
	.unit_j = 1, .modulus = ERGON_MODULUS_UNKNOWN, .max_watts = 100000, .step_ns = 3000000000,
};

struct step {
	uint64_t value, startup;
	uint64_t joules;
	unsigned flags;
};

/* What a meter that reads after every step, or only at the end, makes of it. */
static void follow(const struct step *steps, size_t n)
{
	struct ergon_pm_counter counter = { 0 };
	uint64_t first = 0, last = 0;
	bool reset = false;

	for (size_t i = 0; i < n; i++) {
		const struct ergon_pm_snapshot snap = {
			.has_startup = steps[i].startup != ABSENT, .startup = steps[i].startup,
		};
		uint64_t now = ergon_pm_advance(&counter, steps[i].value, &snap);
		struct ergon_delta d = ergon_delta(&channel, i ? last : now, now, 100000000);

		assert_int_equal(d.counts, steps[i].joules);
		assert_int_equal(d.flags, steps[i].flags);
		reset |= d.flags != 0;
		last = now;
		if (i == 0)
			first = now;
	}
	if (reset) {
		struct ergon_delta d = ergon_delta(&channel, first, last, 10000000000);

		assert_int_equal(d.counts, 0);
		assert_int_equal(d.flags, ERGON_FLAG_RESET);
	}
}

#define R ERGON_FLAG_RESET
#define FOLLOW(...) do { \
	const struct step steps[] = { __VA_ARGS__ }; \
	follow(steps, sizeof(steps) / sizeof(steps[0])); \
} while (0)

static void restarts_are_no_energy(void **state)
{
	(void)state;
	/* X11: equal is 0 J. */
	FOLLOW({ 500, 1, 0, 0 }, { 500, 1, 0, 0 }, { 503, 1, 3, 0 });
	/* X12: startup changes, 9000 -> 12. */
	FOLLOW({ 9000, 1, 0, 0 }, { 9010, 1, 10, 0 }, { 12, 2, 0, R }, { 42, 2, 30, 0 });
	/* Up over a restart is no energy either, nor is standing still. */
	FOLLOW({ 9000, 1, 0, 0 }, { 9500, 2, 0, R }, { 9510, 2, 10, 0 });
	FOLLOW({ 9000, 1, 0, 0 }, { 9000, 2, 0, R }, { 9010, 2, 10, 0 });
	/* startup may go down, or be back at what it was. */
	FOLLOW({ 9000, 5, 0, 0 }, { 9500, 4, 0, R }, { 9900, 5, 0, R }, { 9901, 5, 1, 0 });
	/* Backwards without a restart, even by little: a glitch, counted from there. */
	FOLLOW({ 9000, 1, 0, 0 }, { 8999, 1, 0, R }, { 9001, 1, 2, 0 });
	FOLLOW({ 9000, ABSENT, 0, 0 }, { 12, ABSENT, 0, R }, { 13, ABSENT, 1, 0 });
	/* startup could not be read once: the restart is seen later. */
	FOLLOW({ 9000, 1, 0, 0 }, { 9001, ABSENT, 1, 0 }, { 9100, 2, 0, R });
	/* startup comes to be known: nothing began anew. */
	FOLLOW({ 9000, ABSENT, 0, 0 }, { 9001, 1, 1, 0 });
	/* Absurd jumps. */
	FOLLOW({ 9000, 1, 0, 0 }, { UINT64_MAX, 1, 0, R }, { 9000, 1, 0, R }, { 9001, 1, 1, 0 });
	FOLLOW({ UINT64_MAX, 1, 0, 0 }, { 0, 1, 0, R }, { 1, 1, 1, 0 });
}

/* A controller gone mad: no joule comes of it. */
static void many_restarts_are_no_energy(void **state)
{
	struct ergon_pm_snapshot snap = { .has_startup = true };
	struct ergon_pm_counter counter = { 0 };
	uint64_t last = ergon_pm_advance(&counter, 1000, &snap), joules = 0;

	(void)state;
	for (uint64_t i = 1; i < 2000000; i++) {
		uint64_t now;

		snap.startup = i;
		now = ergon_pm_advance(&counter, 1000 + i, &snap);
		joules += ergon_delta(&channel, last, now, 100000000).counts;
		last = now;
	}
	assert_int_equal(joules, 0);
}

/* --- time --- */

#define MS 1000000ull
#define EPOCH_US 1425408634410884ull

static void time_is_the_controllers_in_our_clock(void **state)
{
	struct ergon_pm_clock clock = { 0 };

	(void)state;
	/* The first stamp could be this old; a later one was fresher. */
	assert_int_equal(ergon_pm_time(&clock, EPOCH_US, 5000 * MS), 5000 * MS);
	assert_int_equal(ergon_pm_time(&clock, EPOCH_US + 100000, 5040 * MS), 5040 * MS);
	/* So this one is 60 ms old. */
	assert_int_equal(ergon_pm_time(&clock, EPOCH_US + 200000, 5200 * MS), 5140 * MS);
	/* The same stamp again: the same time. */
	assert_int_equal(ergon_pm_time(&clock, EPOCH_US + 200000, 9000 * MS), 5140 * MS);
	/* And it goes on where it stopped. */
	assert_int_equal(ergon_pm_time(&clock, EPOCH_US + 300000, 5240 * MS), 5240 * MS);
}

static void a_clock_that_is_set_is_found_again(void **state)
{
	struct ergon_pm_clock clock = { 0 };

	(void)state;
	assert_int_equal(ergon_pm_time(&clock, EPOCH_US, 5000 * MS), 5000 * MS);
	/* An hour back, an hour forth, to the start of the world. */
	assert_int_equal(ergon_pm_time(&clock, EPOCH_US - 3600000000, 5100 * MS), 5100 * MS);
	assert_int_equal(ergon_pm_time(&clock, EPOCH_US, 5200 * MS), 5200 * MS);
	assert_int_equal(ergon_pm_time(&clock, 1, 5300 * MS), 5300 * MS);
	assert_int_equal(ergon_pm_time(&clock, UINT64_MAX / 2000, 5400 * MS), 5400 * MS);
	/* It runs slow: 150 ms behind is an age, more is the clock. */
	clock = (struct ergon_pm_clock){ 0 };
	ergon_pm_time(&clock, EPOCH_US, 5000 * MS);
	assert_int_equal(ergon_pm_time(&clock, EPOCH_US + 100000, 5250 * MS), 5100 * MS);
	assert_int_equal(ergon_pm_time(&clock, EPOCH_US + 200000, 5450 * MS), 5450 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_numbers_or_errors),
		cmocka_unit_test(files_are_read_from_their_start),
		cmocka_unit_test(damaged_text_is_survived),
		cmocka_unit_test(what_changed_meanwhile_is_read_again),
		cmocka_unit_test(a_quiet_moment_is_read_once),
		cmocka_unit_test(tries_are_bounded),
		cmocka_unit_test(endless_restarts_give_nothing),
		cmocka_unit_test(machines_without_marks_are_read),
		cmocka_unit_test(restarts_are_no_energy),
		cmocka_unit_test(many_restarts_are_no_energy),
		cmocka_unit_test(time_is_the_controllers_in_our_clock),
		cmocka_unit_test(a_clock_that_is_set_is_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
