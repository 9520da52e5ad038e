/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flags.h"
#include "rankcsv.h"

static void numbers_need_no_locale(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0, "0.000000000" }, { -0.0, "0.000000000" }, { 1.5, "1.500000000" },
		{ -2.25, "-2.250000000" }, { 1e-9, "0.000000001" }, { 4e-10, "0.000000000" },
		{ -4e-10, "0.000000000" }, { 0.9999999999, "1.000000000" },
		{ 123456789.125, "123456789.125000000" },
		{ NAN, "0.000000000" }, { INFINITY, "0.000000000" }, { 1e300, "0.000000000" },
	};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(ergon_nano_format(cases[i].value, buf, sizeof(buf)), cases[i].text);
	assert_string_equal(ergon_ns_format(0, buf, sizeof(buf)), "0.000000000");
	assert_string_equal(ergon_ns_format(12345678901, buf, sizeof(buf)), "12.345678901");
	assert_string_equal(ergon_ns_format(UINT64_MAX, buf, sizeof(buf)), "18446744073.709551615");
}

static void cut_off_words_and_quotes(void **state)
{
	struct ergon_rank_head head = {
		.nrows = 2, .rank = 3, .size = 8, .local_rank = 1, .job = "12", .step = "0", .ns = "0",
		.host = "n,2", .boot_id = "", .mpi = "Open \"MPI\" 4", .mechanism = "perf",
		.scope = "cpu+dram", .share = "cores", .hz = 100, .start_real_ns = 1796083200123456789,
		.start_ns = 1000, .end_ns = 12345679901, .samples = 1234, .overhead_s = 0.004,
		.flags = ERGON_FLAG_ESTIMATED,
		.measured = 1u << ERGON_COLUMN_PACKAGE | 1u << ERGON_COLUMN_DRAM,
	};
	const struct ergon_row rows[2] = {
		{ .phase = "main", .activity = ERGON_ACTIVITY_APP, .calls = 1, .time_ns = 10000000000,
		  .intervals = 1000, .cpu_s = 9.998, .joules = { 612.345678, 0 } },
		{ .phase = "a,\"b\"", .function = "MPI_Barrier", .activity = ERGON_ACTIVITY_COLLECTIVE,
		  .calls = 7, .time_ns = 2345678901, .intervals = 9, .joules = { 1, 2, 3, 4, 5 } },
	};
	static const char want[] =
		"# ergon-rank 1\n"
		"# job=12 step=0 ns=0 rank=3 size=8 local_rank=1 host=n,2 boot_id=\"\" mpi=\"Open \"\"MPI\"\" 4\""
		" mechanism=perf scope=cpu+dram share=cores freq_hz=100\n"
		"# start=2026-12-01T00:00:00.123456789Z wall_s=12.345678901 state=complete samples=1234 missed=0"
		" overhead_s=0.004000000\n"
		"phase,activity,function,calls,time_s,cpu_s,package_j,dram_j,gpu_j,platform_j,node_j,flags\n"
		"main,app,,1,10.000000000,9.998000000,612.345678000,0.000000000,,,,estimated\n"
		"\"a,\"\"b\"\"\",collective,MPI_Barrier,7,2.345678901,0.000000000,1.000000000,2.000000000,,,,estimated|short\n"
		"# end rows=2\n";
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	ergon_rank_csv(out, &head, rows, "complete");
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

/* A machine whose meters are not RAPL's: its columns stand behind the fixed ones. */
static void other_domains_have_columns_where_measured(void **state)
{
	struct ergon_rank_head head = {
		.nrows = 1, .size = 1, .job = "1", .step = "0", .ns = "0", .hz = 1,
		.measured = 1u << ERGON_COLUMN_CPU | 1u << ERGON_COLUMN_MODULE,
	};
	struct ergon_row row = {
		.phase = "main", .activity = ERGON_ACTIVITY_APP, .calls = 1, .time_ns = 1000000000,
		.intervals = 100,
	};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	row.joules[ERGON_COLUMN_CPU] = 3;
	row.joules[ERGON_COLUMN_IO] = 4;
	row.joules[ERGON_COLUMN_MODULE] = 5;
	assert_non_null(out);
	ergon_rank_csv(out, &head, &row, "complete");
	fclose(out);
	assert_non_null(strstr(text, ",node_j,cpu_j,module_j,flags\n"));
	assert_non_null(strstr(text, ",0.000000000,,,,,,3.000000000,5.000000000,\n"));
	free(text);
}

static void rates_are_short(void **state)
{
	static const struct {
		double hz;
		const char *text;
	} cases[] = { { 100, " freq_hz=100\n" }, { 0.1, " freq_hz=0.1\n" }, { 0, " freq_hz=0\n" },
		      { 62.5, " freq_hz=62.5\n" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ergon_rank_head head = { .hz = cases[i].hz };
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		ergon_rank_csv(out, &head, NULL, "complete");
		fclose(out);
		assert_non_null(strstr(text, cases[i].text));
		free(text);
	}
}

static void node_rows(void **state)
{
	struct ergon_node_head head = {
		.nchannels = 2, .job = "1", .step = "0", .host = "n1", .boot_id = "b",
		.mechanism = "powercap", .scope = "cpu+dram", .hz = 1, .start_ns = 5,
		.channels = {
			{ .name = "package0", .domain = ERGON_DOMAIN_PACKAGE, .package = 0 },
			{ .name = "platform", .domain = ERGON_DOMAIN_PLATFORM, .package = -1 },
		},
	};
	struct ergon_node_total total = {
		.t_ns = 1000000005, .samples = 2, .missed = 1, .flags = ERGON_FLAG_GAP,
		.e = { 10.5, 20 }, .u = { 0.25, 0 },
	};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	ergon_node_csv(out, &head, &total, "complete");
	fclose(out);
	assert_non_null(strstr(text, " wall_s=1.000000000 state=complete samples=2 missed=1\n"));
	assert_non_null(strstr(text, "\npackage0,package,0,10.500000000,0.250000000,gap\n"
				     "platform,platform,,20.000000000,0.000000000,gap\n# end rows=2\n"));
	free(text);
}

static void put_text(FILE *out, const void *arg)
{
	fputs(arg, out);
}

static void a_file_is_whole_or_absent(void **state)
{
	char dir[] = "/tmp/ergon-unit.XXXXXX", path[64], back[16] = "";
	int dirfd;
	FILE *in;

	(void)state;
	assert_int_equal(ergon_write_whole(-1, "x", put_text, "text"), -1);
	assert_non_null(mkdtemp(dir));
	dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_true(dirfd >= 0);
	assert_int_equal(ergon_write_whole(dirfd, "no/where", put_text, "text"), -1);
	assert_int_equal(ergon_write_whole(dirfd, "file", put_text, "text"), 0);
	snprintf(path, sizeof(path), "%s/file", dir);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_non_null(fgets(back, sizeof(back), in));
	assert_string_equal(back, "text");
	fclose(in);
	assert_int_equal(unlink(path), 0);
	close(dirfd);
	/* Nothing else was left: */
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_need_no_locale),
		cmocka_unit_test(cut_off_words_and_quotes),
		cmocka_unit_test(other_domains_have_columns_where_measured),
		cmocka_unit_test(rates_are_short),
		cmocka_unit_test(node_rows),
		cmocka_unit_test(a_file_is_whole_or_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
