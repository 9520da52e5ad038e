/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "flags.h"
#include "rankfile.h"
#include "text.h"

#define MAGIC "# ergon-rank 1\n"
#define WHO "# job=1 step=0 rank=3 size=8 host=n2 boot_id=b mpi=\"Open MPI\" mechanism=perf\n"
#define WHEN "# start=2026-11-30T12:00:00Z wall_s=12.5 state=complete samples=7\n"
#define COLUMNS "phase,activity,function,calls,time_s,cpu_s,package_j,dram_j,flags\n"
#define HEAD MAGIC WHO WHEN COLUMNS
#define ROW "main,app,,1,2.5,2.25,100.125,,short|gap\n"
#define END "# end rows=1\n"

struct reading {
	char path[64];
	struct rankfile f;
	struct problems problems;
};

static int setup(void **state)
{
	struct reading *r = calloc(1, sizeof(*r));
	int fd;

	if (!r)
		return -1;
	strcpy(r->path, "/tmp/ergon-rankfile-XXXXXX");
	fd = mkstemp(r->path);
	if (fd < 0)
		return -1;
	close(fd);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct reading *r = *state;

	unlink(r->path);
	rankfile_free(&r->f);
	problems_free(&r->problems);
	free(r);
	return 0;
}

static int read_bytes(struct reading *r, const char *text, size_t len, enum rankfile_kind kind)
{
	FILE *out = fopen(r->path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
	problems_free(&r->problems);
	return rankfile_read(&r->f, r->path, kind, &r->problems);
}

static int read_text(struct reading *r, const char *text)
{
	return read_bytes(r, text, strlen(text), RANKFILE_RANK);
}

static const struct bad {
	const char *what, *text;
	int rc;
	enum problem_kind kind;
	unsigned line;
	size_t rows;
	bool damaged;
} bad[] = {
	{ "empty", "", -1, PROBLEM_EMPTY, 0, 0, false },
	{ "header not first", ROW HEAD, -1, PROBLEM_NOT_OURS, 1, 0, false },
	{ "node file", "# ergon-node 1\n", -1, PROBLEM_NOT_OURS, 1, 0, false },
	{ "version", "# ergon-rank 2\n" WHO, -1, PROBLEM_VERSION, 1, 0, false },
	{ "cut in the magic", "# ergon-ra", -1, PROBLEM_TRUNCATED, 1, 0, false },
	{ "cut in a quoted text", MAGIC "# job=1 step=0 mpi=\"Open MP", -1, PROBLEM_TRUNCATED, 2, 0, false },
	{ "line end in a quoted text", MAGIC "# job=1 host=\"n\n2\" step=0\n" WHEN, -1, PROBLEM_HEADER, 2, 0, false },
	{ "word in the header", MAGIC "# job=1 oops step=0\n" WHEN, -1, PROBLEM_HEADER, 2, 0, false },
	{ "no rank", MAGIC "# job=1 step=0 size=2 host=n2\n" WHEN, -1, PROBLEM_HEADER, 0, 0, false },
	{ "rank past size", MAGIC "# job=1 step=0 rank=2 size=2 host=n2\n" WHEN, -1, PROBLEM_HEADER, 0, 0, false },
	{ "negative rank", MAGIC "# job=1 step=0 rank=-1 size=2 host=n2\n" WHEN, -1, PROBLEM_VALUE, 2, 0, false },
	{ "header only", HEAD, -1, PROBLEM_NO_ROWS, 0, 0, true },
	{ "no column line", MAGIC WHO WHEN "# end rows=0\n", -1, PROBLEM_NO_ROWS, 0, 0, true },
	{ "no rows", HEAD "# end rows=0\n", -1, PROBLEM_NO_ROWS, 0, 0, true },
	{ "semicolons", MAGIC WHO WHEN "phase;activity;function;calls\n" ROW, -1, PROBLEM_COLUMNS, 4, 0, false },
	{ "column missing", MAGIC WHO WHEN "phase,activity,function,calls,cpu_s\n", -1, PROBLEM_COLUMNS, 4, 0, false },
	{ "column twice", MAGIC WHO WHEN "phase,activity,function,calls,time_s,time_s,cpu_s\n", -1, PROBLEM_COLUMNS, 4, 0, false },
	{ "cut in a number", HEAD ROW "main,p2p,MPI_Send,1,2.", 0, PROBLEM_TRUNCATED, 6, 1, true },
	{ "no end line", HEAD ROW, 0, PROBLEM_TRUNCATED, 0, 1, true },
	{ "rows lost", HEAD ROW "# end rows=2\n", 0, PROBLEM_TRUNCATED, 6, 1, true },
	{ "end line cut", HEAD ROW ROW "# end rows=", 0, PROBLEM_TRUNCATED, 7, 2, true },
	{ "text after the end", HEAD ROW END ROW, 0, PROBLEM_TEXT, 7, 1, true },
	{ "two files in one", HEAD ROW MAGIC, 0, PROBLEM_TEXT, 6, 1, true },
	{ "shifted", HEAD ROW "main,app,,1,2.5,2.25,,short\n# end rows=2\n", 0, PROBLEM_COLUMNS, 6, 1, true },
	{ "decimal comma", HEAD ROW "main,app,,1,2,5,2,25,1,5,,\n# end rows=2\n", 0, PROBLEM_COLUMNS, 6, 1, true },
	{ "quoted comma", HEAD ROW "main,app,,1,\"2,5\",2,1,,\n# end rows=2\n", 0, PROBLEM_NUMBER, 6, 1, true },
	{ "quote open", HEAD ROW "\"main,app,,1,2,2,1,,\n# end rows=2\n", 0, PROBLEM_TEXT, 6, 1, true },
	{ "text after a quote", HEAD ROW "\"main\"x,app,,1,2,2,1,,\n# end rows=2\n", 0, PROBLEM_TEXT, 6, 1, true },
	{ "nan", HEAD ROW "main,app,,1,2,2,nan,,\n# end rows=2\n", 0, PROBLEM_VALUE, 6, 1, true },
	{ "inf", HEAD ROW "main,app,,1,2,2,-Infinity,,\n# end rows=2\n", 0, PROBLEM_VALUE, 6, 1, true },
	{ "negative energy", HEAD ROW "main,app,,1,2,2,-0.5,,\n# end rows=2\n", 0, PROBLEM_VALUE, 6, 1, true },
	{ "negative calls", HEAD ROW "main,app,,-1,2,2,1,,\n# end rows=2\n", 0, PROBLEM_VALUE, 6, 1, true },
	{ "huge integer", HEAD ROW "main,app,,9223372036854775808,2,2,1,,\n# end rows=2\n", 0, PROBLEM_NUMBER, 6, 1, true },
	{ "huge number", HEAD ROW "main,app,,1,1e999,2,1,,\n# end rows=2\n", 0, PROBLEM_NUMBER, 6, 1, true },
	{ "fraction of a call", HEAD ROW "main,app,,1.5,2,2,1,,\n# end rows=2\n", 0, PROBLEM_NUMBER, 6, 1, true },
	{ "no time", HEAD ROW "main,app,,1,,2,1,,\n# end rows=2\n", 0, PROBLEM_NUMBER, 6, 1, true },
	{ "blank in a number", HEAD ROW "main,app,,1,2 ,2,1,,\n# end rows=2\n", 0, PROBLEM_NUMBER, 6, 1, true },
	{ "hexadecimal", HEAD ROW "main,app,,1,0x10,2,1,,\n# end rows=2\n", 0, PROBLEM_NUMBER, 6, 1, true },
	{ "unknown activity", HEAD ROW "main,apps,,1,2,2,1,,\n# end rows=2\n", 0, PROBLEM_TEXT, 6, 1, true },
	{ "end before start", MAGIC WHO "# wall_s=-1.5 state=complete\n" COLUMNS ROW END, 0, PROBLEM_VALUE, 3, 1, false },
	{ "comma in the header", MAGIC WHO "# wall_s=1,5 state=complete\n" COLUMNS ROW END, 0, PROBLEM_NUMBER, 3, 1, false },
	{ "CR LF", MAGIC "# job=1 step=0 rank=3 size=8 host=n2\r\n" WHEN COLUMNS ROW END, 0, PROBLEM_LINE_ENDS, 2, 1, false },
	{ "byte order mark", "\xef\xbb\xbf" HEAD ROW END, 0, PROBLEM_BOM, 1, 1, false },
	{ "not UTF-8", MAGIC "# job=1 step=0 rank=3 size=8 host=n\xe9\n" WHEN COLUMNS ROW END, 0, PROBLEM_ENCODING, 2, 1, false },
	{ "escape sequence", MAGIC "# job=1 step=0 rank=3 size=8 host=\x1b[2J\n" WHEN COLUMNS ROW END, 0, PROBLEM_ENCODING, 2, 1, false },
};

static void what_is_wrong_is_named_with_its_line(void **state)
{
	struct reading *r = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int rc = read_text(r, bad[i].text);

		if (rc != bad[i].rc || r->problems.n != 1 ||
		    r->problems.list[0].kind != bad[i].kind ||
		    r->problems.list[0].line != bad[i].line || r->f.nrows != bad[i].rows ||
		    r->f.damaged != bad[i].damaged) {
			problems_print(&r->problems, stderr);
			fail_msg("%s: rc %d, rows %zu, damaged %d", bad[i].what, rc, r->f.nrows,
				 r->f.damaged);
		}
	}
}

static void bytes_of_a_crash_are_seen(void **state)
{
	static const char at_end[] = HEAD ROW "main,p2\0\0\0\0\0\0\0";
	static const char inside[] = HEAD "main,\0pp,,1,2,2,1,,\n" ROW "# end rows=2\n";
	struct reading *r = *state;

	assert_int_equal(read_bytes(r, at_end, sizeof(at_end) - 1, RANKFILE_RANK), 0);
	assert_int_equal(r->problems.count[PROBLEM_NUL], 1);
	assert_int_equal(r->f.nrows, 1);
	assert_true(r->f.damaged);
	assert_int_equal(read_bytes(r, inside, sizeof(inside) - 1, RANKFILE_RANK), 0);
	assert_int_equal(r->problems.count[PROBLEM_ENCODING], 1);
	assert_int_equal(r->f.nrows, 1);
	assert_true(r->f.damaged);
}

static void a_missing_file_is_a_problem(void **state)
{
	struct reading *r = *state;

	assert_int_equal(rankfile_read(&r->f, "/nonexistent", RANKFILE_RANK, &r->problems), -1);
	assert_int_equal(r->problems.count[PROBLEM_UNREADABLE], 1);
	assert_int_equal(rankfile_read(&r->f, "/", RANKFILE_RANK, &r->problems), -1);
	assert_int_equal(r->problems.count[PROBLEM_UNREADABLE], 2);
}

static void a_good_file_is_read_to_the_letter(void **state)
{
	struct reading *r = *state;
	const struct rank_row *row;

	assert_int_equal(read_text(r, HEAD ROW
				   "\"a,\"\"b\"\"\",collective,MPI_Bcast,9007199254740993,1e-3,.5,0,0.000000001,\n"
				   "# end rows=2\n"), 0);
	assert_int_equal(r->problems.n, 0);
	assert_false(r->f.damaged);
	assert_null(r->f.partial);
	assert_int_equal(r->f.head.rank, 3);
	assert_int_equal(r->f.head.size, 8);
	assert_string_equal(r->f.head.mpi, "Open MPI");
	assert_int_equal(r->f.head.samples, 7);
	assert_true(r->f.head.wall_s == 12.5);
	assert_int_equal(r->f.nrows, 2);
	row = &r->f.rows[0];
	assert_true(row->time_s == 2.5 && row->cpu_s == 2.25 && row->joules[0] == 100.125);
	assert_int_equal(row->measured, 1u << ERGON_COLUMN_PACKAGE);
	assert_int_equal(row->flags, ERGON_FLAG_SHORT | ERGON_FLAG_GAP);
	row = &r->f.rows[1];
	assert_string_equal(row->phase, "a,\"b\"");
	assert_int_equal(row->activity, ERGON_ACTIVITY_COLLECTIVE);
	assert_true(row->calls == UINT64_C(9007199254740993));
	assert_true(row->time_s == 1e-3 && row->cpu_s == 0.5 && row->joules[1] == 1e-9);
	assert_int_equal(row->measured, 1u << ERGON_COLUMN_PACKAGE | 1u << ERGON_COLUMN_DRAM);
}

static void unknown_columns_keys_and_comments_are_skipped(void **state)
{
	struct reading *r = *state;

	assert_int_equal(read_text(r, MAGIC "# job=1 step=0 rank=3 size=8 host=n,2;\n# colour=\"blue green\" state=noFinalize\n"
				   "flags,cpu_s,time_s,calls,cores,function,activity,phase\n"
				   "# a note\n"
				   "short,1,2,3,x y,MPI_Send,p2p,main\n"
				   "# end rows=1"), 0);
	assert_int_equal(r->problems.n, 0);
	assert_string_equal(r->f.head.host, "n,2;");
	assert_int_equal(r->f.rows[0].activity, ERGON_ACTIVITY_P2P);
	assert_true(r->f.rows[0].time_s == 2);
	assert_int_equal(r->f.rows[0].measured, 0);
	assert_string_equal(r->f.partial, "ended without MPI_Finalize");
}

static void a_node_file_is_read(void **state)
{
	static const char text[] = "# ergon-node 1\n# job=1 step=0 host=n2\n# wall_s=1 state=complete\n"
		"channel,domain,package,energy_j,unattributed_j,flags\n"
		"package1,package,1,10.5,0.5,\npsys,psys,,20,20,gap\nx,nonsense,,1,1,\n# end rows=3\n";
	struct reading *r = *state;

	assert_int_equal(read_bytes(r, text, strlen(text), RANKFILE_NODE), 0);
	assert_int_equal(r->f.nchannels, 2);
	assert_int_equal(r->f.channels[0].domain, ERGON_DOMAIN_PACKAGE);
	assert_int_equal(r->f.channels[0].package, 1);
	assert_int_equal(r->f.channels[1].domain, ERGON_DOMAIN_PLATFORM);
	assert_int_equal(r->f.channels[1].package, -1);
	assert_int_equal(r->f.channels[1].flags, ERGON_FLAG_GAP);
	assert_int_equal(r->problems.count[PROBLEM_TEXT], 1);
	assert_true(r->f.damaged);
}

static void numbers_do_not_lose_digits(void **state)
{
	struct reading *r = *state;
	char text[1024];

	for (unsigned i = 0; i < 2000; i++) {
		char number[64];

		snprintf(number, sizeof(number), "%u.%09u", i * 7919u, i * 500009u);
		snprintf(text, sizeof(text), HEAD "main,app,,1,%s,2,%se3,,\n" END, number, number);
		assert_int_equal(read_text(r, text), 0);
		if (r->f.rows[0].time_s != strtod(number, NULL))
			fail_msg("%s was read as %.17g", number, r->f.rows[0].time_s);
	}
}

static void text_is_cleaned(void **state)
{
	static const struct { const char *dirty, *clean; } texts[] = {
		{ "plain", "plain" },
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\x1b[1m\t", "?[1m?" },
		{ "\xc0\xaf", "??" },             /* overlong */
		{ "\xed\xa0\x80", "???" },        /* surrogate */
		{ "\xf4\x90\x80\x80", "????" },   /* past Unicode */
		{ "\xc2\x9b" "1m", "??1m" },      /* C1 control */
		{ "\xe2\x82", "??" },             /* cut */
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		strcpy(text, texts[i].dirty);
		assert_int_equal(text_clean(text, strlen(text)),
				 strcmp(texts[i].dirty, texts[i].clean) != 0);
		assert_string_equal(text, texts[i].clean);
	}
}

static void the_list_of_problems_stays_small(void **state)
{
	struct reading *r = *state;

	for (int i = 0; i < 10000; i++)
		problem_add(&r->problems, PROBLEM_NUMBER, "file", 1, "text %d", i);
	assert_false(problem_serious(PROBLEM_NO_CALLS));
	assert_true(problems_serious(&r->problems));
	problems_finish(&r->problems);
	assert_int_equal(r->problems.n, PROBLEMS_KEPT + 1);
	assert_string_equal(r->problems.list[PROBLEMS_KEPT].text, "and 9980 more of the kind 'number'");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_wrong_is_named_with_its_line),
		TEST(bytes_of_a_crash_are_seen),
		TEST(a_missing_file_is_a_problem),
		TEST(a_good_file_is_read_to_the_letter),
		TEST(unknown_columns_keys_and_comments_are_skipped),
		TEST(a_node_file_is_read),
		TEST(numbers_do_not_lose_digits),
		TEST(text_is_cleaned),
		TEST(the_list_of_problems_stays_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
