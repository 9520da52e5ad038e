/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "board_describe.h"
#include "script.h"

static struct ergon_board_info describe(size_t nchannels)
{
	static const uint64_t rows[ERGON_METER_MAX_CHANNELS];
	struct ergon_channel channels[ERGON_METER_MAX_CHANNELS];
	struct script script = { channels, nchannels, rows, 1, 0, 0 };
	struct ergon_cpu cpus[2] = { { 0, 0, 0, 0 }, { 4, 7, 0, 1 } };
	int packages[2] = { 0, 7 };
	const struct ergon_topo topo = {
		.ncpus = 2, .cpus = cpus, .npackages = 2, .packages = packages, .ncores = 2,
	};
	struct ergon_board_info info = { .hz = 10 };
	struct ergon_board_cpu *described;
	struct ergon_meter *meter;

	for (size_t i = 0; i < nchannels; i++) {
		channels[i] = (struct ergon_channel){
			.domain = ERGON_DOMAIN_PACKAGE, .package = (int)i, .die = -1, .unit_j = 1e-6,
			.source = "script",
		};
		if (i == 1)
			channels[i].package = 7;
		snprintf(channels[i].name, sizeof(channels[i].name), "package%zu", i);
		snprintf(channels[i].id, sizeof(channels[i].id), "%zu", i);
	}
	meter = ergon_meter_new(&(struct ergon_meter_part){ &script_backend, &script }, 1, NULL);
	assert_non_null(meter);
	described = ergon_board_describe(meter, &topo, &info);
	assert_non_null(described);
	assert_int_equal(info.ncpus, 2);
	assert_int_equal(info.npackages, 2);
	assert_int_equal(described[1].os, 4);
	assert_int_equal(described[1].package, 1);
	free(described);
	ergon_meter_close(meter);
	return info;
}

static void a_meter_is_described_as_it_is(void **state)
{
	struct ergon_board_info info = describe(2);

	(void)state;
	assert_int_equal(info.nchannels, 2);
	assert_string_equal(info.channels[1].name, "package1");
	assert_int_equal(info.channels[1].package, 1); /* the second one, whose id is 7 */
	assert_true(info.channels[0].in_total);
	assert_string_equal(info.scope, "cpu");
	assert_string_equal(info.reason, "");
	assert_int_equal(describe(ERGON_BOARD_MAX_CHANNELS).nchannels, ERGON_BOARD_MAX_CHANNELS);
}

/* The rest would be missing from a total that says it has them. */
static void more_channels_than_a_board_has_are_a_reason(void **state)
{
	struct ergon_board_info info = describe(ERGON_BOARD_MAX_CHANNELS + 1);

	(void)state;
	assert_int_equal(info.nchannels, 0);
	assert_string_equal(info.reason, "script has 65 channels, ranks can see 64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_meter_is_described_as_it_is),
		cmocka_unit_test(more_channels_than_a_board_has_are_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
