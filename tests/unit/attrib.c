/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "attrib.h"
#include "flags.h"

/* Two packages of two cores of two threads, and a CPU the table knows no core of. */
static const struct ergon_board_cpu cpus[] = {
	{ 0, 0, 0 }, { 1, 0, 1 }, { 2, 1, 2 }, { 3, 1, 3 },
	{ 4, 0, 0 }, { 5, 0, 1 }, { 6, 1, 2 }, { 7, 1, 3 },
};
#define NCPUS (sizeof(cpus) / sizeof(cpus[0]))

static const struct ergon_board_channel channels[] = {
	{ .name = "package0", .unit_j = 1, .domain = ERGON_DOMAIN_PACKAGE, .package = 0 },
	{ .name = "package1", .unit_j = 1, .domain = ERGON_DOMAIN_PACKAGE, .package = 1 },
	{ .name = "platform", .unit_j = 1, .domain = ERGON_DOMAIN_PLATFORM, .package = -1 },
	{ .name = "core0", .unit_j = 1, .domain = ERGON_DOMAIN_CORE, .package = 0 },
};
#define NCHANNELS (sizeof(channels) / sizeof(channels[0]))

static void near(double got, double want)
{
	assert_true(fabs(got - want) <= 1e-12 * fmax(fabs(want), 1));
}

static struct ergon_weights weigh(uint64_t mask, enum ergon_share_mode mode)
{
	uint64_t bits[ERGON_LIVE_CPUS / 64] = { mask };
	struct ergon_weights w;

	ergon_attrib_weigh(cpus, NCPUS, bits, mode, &w);
	return w;
}

static void unknown_words_are_refused(void **state)
{
	(void)state;
	assert_int_equal(ergon_share_parse(NULL), -1);
	assert_int_equal(ergon_share_parse(""), -1);
	assert_int_equal(ergon_share_parse("core"), -1);
	assert_int_equal(ergon_share_parse("cpu"), -1);
	assert_null(ergon_share_word(ERGON_SHARE_COUNT));
	for (int i = 0; i < ERGON_SHARE_COUNT; i++)
		assert_int_equal(ergon_share_parse(ergon_share_word(i)), i);
}

static void strange_masks_weigh_nothing(void **state)
{
	struct ergon_weights none = weigh(0, ERGON_SHARE_CORES);
	struct ergon_weights foreign = weigh(UINT64_C(1) << 40, ERGON_SHARE_EQUAL);
	uint64_t all[ERGON_LIVE_CPUS / 64];
	static const struct ergon_board_cpu bad[] = {
		{ -1, 0, 0 }, { ERGON_LIVE_CPUS, 0, 0 }, { 0, -1, 0 },
		{ 0, ERGON_BOARD_MAX_PACKAGES, 0 },
	};
	struct ergon_weights w;

	(void)state;
	near(none.node, 0);
	near(foreign.node, 0);
	memset(all, 0xff, sizeof(all));
	ergon_attrib_weigh(bad, 4, all, ERGON_SHARE_CORES, &w);
	near(w.node, 0);
}

static void cores_are_counted_once(void **state)
{
	struct ergon_weights w = weigh(0x11, ERGON_SHARE_CORES); /* both threads of core 0 */

	(void)state;
	near(w.node, 1);
	near(w.package[0], 1);
	near(w.package[1], 0);
	w = weigh(0xff, ERGON_SHARE_CORES);
	near(w.node, 4);
	near(w.package[0], 2);
	near(w.package[1], 2);
}

static void equal_ranks_weigh_the_same(void **state)
{
	struct ergon_weights one = weigh(0x01, ERGON_SHARE_EQUAL);
	struct ergon_weights many = weigh(0xff, ERGON_SHARE_EQUAL);

	(void)state;
	near(one.node, 1);
	near(one.package[0], 1);
	near(one.package[1], 0);
	near(many.node, 1);
	near(many.package[0], 1);
	near(many.package[1], 1);
}

/* sum(weight * S) + U = E for every channel, whatever the ranks. */
static void energy_in_is_energy_out(void **state)
{
	static const uint64_t masks[][3] = {
		{ 0x01, 0x02, 0x04 }, { 0x11, 0x11, 0x11 }, { 0x0f, 0x01, 0xff },
		{ 0x01, 0x02, 0 }, { 0x04, 0, 0 }, { 0, 0, 0 },
	};
	static const double joules[] = { 1.25, 0.5, 3.75, 0.75 };

	(void)state;
	for (size_t m = 0; m < sizeof(masks) / sizeof(masks[0]); m++) {
		for (int mode = 0; mode < ERGON_SHARE_COUNT; mode++) {
			struct ergon_weights ranks[3], sum = { 0 };
			struct ergon_share share = { .present = 3 };

			for (int r = 0; r < 3; r++) {
				ranks[r] = weigh(masks[m][r], mode);
				ergon_attrib_add(&sum, &ranks[r]);
			}
			for (int i = 0; i < 1000; i++)
				ergon_attrib_interval(channels, NCHANNELS, m % 2 ? 1 : 0.3, joules,
						      &sum, &share);
			for (size_t c = 0; c < NCHANNELS; c++) {
				double held = 0;

				for (int r = 0; r < 3; r++)
					held += share.s[c] * ergon_attrib_weight(&ranks[r], &channels[c]);
				near(share.e[c], 1000 * joules[c]);
				assert_true(fabs(held + share.u[c] - share.e[c]) <= 1e-12 * share.e[c]);
			}
		}
	}
}

static void a_package_without_ranks_is_nobodys(void **state)
{
	struct ergon_weights sum = weigh(0x01, ERGON_SHARE_CORES);
	struct ergon_share share = { .present = 1 };
	static const double joules[] = { 10, 20, 30, 5 };

	(void)state;
	ergon_attrib_interval(channels, NCHANNELS, 1, joules, &sum, &share);
	near(share.u[0], 0);
	near(share.u[1], 20);
	near(share.u[2], 0);
	near(share.s[0], 10);
	near(share.s[1], 0);
}

static void rows_are_split_by_time(void **state)
{
	struct ergon_row rows[3] = { { .open_ns = 1000 }, { .open_ns = 3000 }, { .open_ns = 0 } };
	struct ergon_amount amount = {
		.joules = { [ERGON_COLUMN_PACKAGE] = 8 }, .cpu_s = 4, .intervals = 2,
		.flags = ERGON_FLAG_GAP,
	};

	(void)state;
	assert_int_equal(ergon_attrib_open_ns(rows, 3), 4000);
	ergon_attrib_split(rows, 3, 0, &amount);
	near(rows[0].joules[ERGON_COLUMN_PACKAGE], 2);
	near(rows[1].joules[ERGON_COLUMN_PACKAGE], 6);
	near(rows[2].joules[ERGON_COLUMN_PACKAGE], 0);
	near(rows[0].cpu_s, 1);
	near(rows[1].cpu_s, 3);
	assert_int_equal(rows[1].intervals, 2);
	assert_int_equal(rows[2].intervals, 0);
	assert_int_equal(rows[2].flags, 0);
	assert_int_equal(rows[0].flags, ERGON_FLAG_GAP);
	assert_int_equal(ergon_attrib_open_ns(rows, 3), 0);
}

static void without_time_the_current_row_gets_all(void **state)
{
	struct ergon_row rows[2] = { { .open_ns = 0 }, { .open_ns = 0 } };
	struct ergon_amount amount = { .joules = { 5, 1, 0, 0, 0 } };

	(void)state;
	ergon_attrib_split(rows, 2, 1, &amount);
	near(rows[0].joules[0], 0);
	near(rows[1].joules[0], 5);
	near(rows[1].joules[1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_words_are_refused),
		cmocka_unit_test(strange_masks_weigh_nothing),
		cmocka_unit_test(cores_are_counted_once),
		cmocka_unit_test(equal_ranks_weigh_the_same),
		cmocka_unit_test(energy_in_is_energy_out),
		cmocka_unit_test(a_package_without_ranks_is_nobodys),
		cmocka_unit_test(rows_are_split_by_time),
		cmocka_unit_test(without_time_the_current_row_gets_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
