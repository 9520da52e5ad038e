/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flags.h"
#include "ledger_read.h"
#include "live.h"
#include "example_ledger.h"

struct files {
	char dir[64], rank[96], node[96];
	struct ergon_rank_head head;
	struct ergon_row rows[2];
	struct ergon_node_head node_head;
	struct ergon_node_slot slots[2];
	struct ledger ledger;
	struct rankfile f;
	struct problems problems;
};

static void write_files(struct files *files)
{
	assert_int_equal(example_write(files->rank, &files->head, sizeof(files->head), files->rows,
				       sizeof(files->rows)), 0);
	assert_int_equal(example_write(files->node, &files->node_head, sizeof(files->node_head),
				       files->slots, sizeof(files->slots)), 0);
}

static int setup(void **state)
{
	struct files *files = calloc(1, sizeof(*files));

	if (!files)
		return -1;
	strcpy(files->dir, "/tmp/ergon-ledger-XXXXXX");
	if (!mkdtemp(files->dir))
		return -1;
	snprintf(files->rank, sizeof(files->rank), "%s/rank.w.0.ledger", files->dir);
	snprintf(files->node, sizeof(files->node), "%s/node.n0.ledger", files->dir);
	example_rank_ledger(&files->head, files->rows, 0);
	example_node_ledger(&files->node_head, files->slots);
	*state = files;
	return 0;
}

static int teardown(void **state)
{
	struct files *files = *state;

	unlink(files->rank);
	unlink(files->node);
	rmdir(files->dir);
	ledger_free(&files->ledger);
	rankfile_free(&files->f);
	problems_free(&files->problems);
	free(files);
	return 0;
}

static void finish(struct files *files, const char *node)
{
	write_files(files);
	assert_int_equal(ledger_read_rank(&files->ledger, files->rank, &files->problems), 0);
	assert_int_equal(ledger_finish_rank(&files->ledger, files->rank, node, &files->f,
					    &files->problems), 0);
}

static void assert_near(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-9))
		fail_msg("%.12f is not %.12f", value, expected);
}

static void assert_row(const struct rank_row *row, double time_s, double package_j)
{
	assert_near(row->time_s, time_s);
	assert_near(row->joules[ERGON_COLUMN_PACKAGE], package_j);
	assert_near(row->joules[ERGON_COLUMN_DRAM], package_j / 10);
	assert_int_equal(row->measured, 1u << ERGON_COLUMN_PACKAGE | 1u << ERGON_COLUMN_DRAM);
}

static void refuses_what_is_not_a_ledger(void **state)
{
	struct files *files = *state;

	assert_int_equal(ledger_read_rank(&files->ledger, files->rank, &files->problems), -1);
	assert_int_equal(files->problems.count[PROBLEM_UNREADABLE], 1);
	write_files(files);
	assert_int_equal(ledger_read_rank(&files->ledger, files->node, &files->problems), -1);
	assert_int_equal(files->problems.count[PROBLEM_NOT_OURS], 1);
	assert_int_equal(truncate(files->rank, 100), 0);
	assert_int_equal(ledger_read_rank(&files->ledger, files->rank, &files->problems), -1);
	assert_int_equal(files->problems.count[PROBLEM_TRUNCATED], 1);
	assert_int_equal(truncate(files->rank, 0), 0);
	assert_int_equal(ledger_read_rank(&files->ledger, files->rank, &files->problems), -1);
	assert_int_equal(files->problems.count[PROBLEM_EMPTY], 1);
}

/* Each damages one member. */
static void no_rows(struct files *f) { f->head.nrows = 5000; }
static void cut_rows(struct files *f) { f->head.nrows = 3; }
static void other_build(struct files *f) { f->head.row_size++; }
static void bad_rank(struct files *f) { f->head.rank = 2; }
static void bad_slot(struct files *f) { f->head.slot = ERGON_LIVE_SLOTS; }
static void bad_column(struct files *f) { f->head.column[1] = ERGON_COLUMN_COUNT; }
static void bad_channels(struct files *f) { f->head.nchannels = 65; }
static void bad_current(struct files *f) { f->head.current = 2; }
static void nan_weight(struct files *f) { f->head.weight[0] = (double)NAN; }
static void backwards(struct files *f) { f->head.last_ns = f->head.start_ns - 1; }
static void bad_activity(struct files *f) { f->rows[1].activity = ERGON_ACTIVITY_COUNT; }
static void negative_joules(struct files *f) { f->rows[0].joules[0] = -1; }

static void refuses_impossible_figures(void **state)
{
	static void (*const damages[])(struct files *) = {
		no_rows, cut_rows, other_build, bad_rank, bad_slot, bad_column, bad_channels,
		bad_current, nan_weight, backwards, bad_activity, negative_joules,
	};
	struct files *files = *state;

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		example_rank_ledger(&files->head, files->rows, 0);
		damages[i](files);
		write_files(files);
		if (ledger_read_rank(&files->ledger, files->rank, &files->problems) != -1)
			fail_msg("damage %zu was not seen", i);
		ledger_free(&files->ledger);
		assert_int_equal(files->problems.count[PROBLEM_LEDGER], i + 1);
	}
}

static void texts_without_an_end_are_cut(void **state)
{
	struct files *files = *state;

	memset(files->rows[0].phase, 'x', sizeof(files->rows[0].phase));
	memset(files->head.mpi, 'y', sizeof(files->head.mpi));
	finish(files, NULL);
	assert_int_equal(strlen(files->f.rows[0].phase), ERGON_NAME_MAX - 1);
	assert_int_equal(strlen(files->f.head.mpi), sizeof(files->f.head.mpi) - 1);
}

static void a_killed_rank_ends_where_its_keeper_closed_it(void **state)
{
	struct files *files = *state;

	finish(files, files->node);
	assert_int_equal(files->f.nrows, 2);
	assert_row(&files->f.rows[0], 1.0, 12);
	assert_row(&files->f.rows[1], 0.52, 7);
	assert_near(files->f.head.wall_s, 1.52);
	assert_string_equal(files->f.partial, "no end was seen: killed, or still running");
	assert_int_equal(files->problems.n, 0);
}

static void without_a_closing_entry_the_newest_total_counts(void **state)
{
	struct files *files = *state;

	files->slots[0].pid++; /* somebody else's slot by now */
	finish(files, files->node);
	assert_row(&files->f.rows[0], 1.0, 10 + 5 * 5.0 / 12);
	assert_row(&files->f.rows[1], 0.54, 5 + 5 * 7.0 / 12);
	assert_near(files->f.head.wall_s, 1.54);
}

static void without_a_node_ledger_nothing_is_invented(void **state)
{
	struct files *files = *state;

	finish(files, NULL);
	assert_row(&files->f.rows[0], 1.0, 10);
	assert_row(&files->f.rows[1], 0.5, 5);
	assert_non_null(strstr(files->f.partial, "not known"));
}

static void a_foreign_node_ledger_is_not_used(void **state)
{
	struct files *files = *state;

	strcpy(files->node_head.job, "78");
	finish(files, files->node);
	assert_row(&files->f.rows[0], 1.0, 10);
	assert_int_equal(files->problems.count[PROBLEM_LEDGER], 1);
}

static void an_aborted_rank_ends_when_it_said(void **state)
{
	struct files *files = *state;

	files->head.state = 2;
	files->head.end_ns = files->head.last_ns + 10000000u;
	finish(files, files->node);
	assert_near(files->f.rows[1].time_s, 0.51);
	assert_near(files->f.rows[0].joules[0] + files->f.rows[1].joules[0], 19);
	assert_string_equal(files->f.partial, "ended by MPI_Abort");
}

static void closed_intervals_give_the_rest_to_the_current_row(void **state)
{
	struct files *files = *state;

	files->rows[0].open_ns = files->rows[1].open_ns = 0;
	finish(files, files->node);
	assert_row(&files->f.rows[0], 1.0, 10);
	assert_row(&files->f.rows[1], 0.52, 9);
}

static void time_without_energy_needs_no_node(void **state)
{
	struct files *files = *state;

	files->head.slot = -1;
	files->head.measured = files->head.nchannels = 0;
	files->rows[0].intervals = 0;
	finish(files, files->node);
	assert_int_equal(files->f.rows[0].measured, 0);
	assert_int_equal(files->f.rows[0].flags & ERGON_FLAG_SHORT, 0);
	assert_near(files->f.rows[0].time_s, 1.0);
}

static void few_intervals_are_short(void **state)
{
	struct files *files = *state;

	files->rows[0].intervals = 9;
	files->head.last_entry = files->slots[0].upto = 150;
	finish(files, files->node);
	assert_int_equal(files->f.rows[0].flags, ERGON_FLAG_SHORT);
	assert_int_equal(files->f.rows[1].flags, 0);
	ledger_free(&files->ledger);
	files->slots[0].upto++; /* the open interval is the tenth */
	files->head.flags = ERGON_FLAG_LATE;
	finish(files, files->node);
	assert_int_equal(files->f.rows[0].flags, ERGON_FLAG_LATE);
}

static void a_node_ledger_reads_like_its_csv(void **state)
{
	struct files *files = *state;

	write_files(files);
	assert_int_equal(ledger_read_node(&files->f, files->node, &files->problems), 0);
	assert_int_equal(files->f.nchannels, 2);
	assert_string_equal(files->f.channels[1].channel, "dram0");
	assert_int_equal(files->f.channels[1].domain, ERGON_DOMAIN_DRAM);
	assert_near(files->f.channels[0].energy_j, 42);
	assert_near(files->f.channels[0].unattributed_j, 3);
	assert_non_null(files->f.partial);
	files->node_head.channels[0].domain = 99;
	write_files(files);
	assert_int_equal(ledger_read_node(&files->f, files->node, &files->problems), -1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(refuses_what_is_not_a_ledger),
		TEST(refuses_impossible_figures),
		TEST(texts_without_an_end_are_cut),
		TEST(a_killed_rank_ends_where_its_keeper_closed_it),
		TEST(without_a_closing_entry_the_newest_total_counts),
		TEST(without_a_node_ledger_nothing_is_invented),
		TEST(a_foreign_node_ledger_is_not_used),
		TEST(an_aborted_rank_ends_when_it_said),
		TEST(closed_intervals_give_the_rest_to_the_current_row),
		TEST(time_without_energy_needs_no_node),
		TEST(few_intervals_are_short),
		TEST(a_node_ledger_reads_like_its_csv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
