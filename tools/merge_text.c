/* SPDX-License-Identifier: BSD-3-Clause */
/* The table for a person. Cells are collected first, so that columns fit what they hold. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "flags.h"
#include "merge.h"

#define LEFT_COLUMNS 3          /* texts; the others are figures, to the right */
#define MAX_COLUMNS (12 + 3 * ERGON_COLUMN_COUNT)
#define HOSTS_SHOWN 4

/* A table: lines of cells; a line with one cell is a title. */
struct table {
	struct line {
		char *cells[MAX_COLUMNS];
		unsigned n;
	} *lines;
	size_t n, capacity;
};

static void table_line(struct table *t)
{
	if (t->n == t->capacity) {
		t->capacity = t->capacity ? 2 * t->capacity : 64;
		t->lines = realloc(t->lines, t->capacity * sizeof(*t->lines));
		if (!t->lines)
			abort();
	}
	t->lines[t->n++].n = 0;
}

static void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void table_cell(struct table *t, const char *fmt, ...)
{
	struct line *line = &t->lines[t->n - 1];
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&line->cells[line->n], fmt, ap) < 0)
		abort();
	va_end(ap);
	line->n++;
}

/* Columns of a terminal that a UTF-8 text takes, near enough. */
static int width(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void table_print(const struct table *t, FILE *out)
{
	int widths[MAX_COLUMNS] = { 0 };

	for (size_t i = 0; i < t->n; i++)
		for (unsigned c = 0; t->lines[i].n > 1 && c < t->lines[i].n; c++)
			if (width(t->lines[i].cells[c]) > widths[c])
				widths[c] = width(t->lines[i].cells[c]);
	for (size_t i = 0; i < t->n; i++) {
		const struct line *line = &t->lines[i];
		unsigned n = line->n;

		while (n > 0 && line->cells[n - 1][0] == '\0')
			n--;
		for (unsigned c = 0; c < n; c++) {
			int pad = line->n > 1 ? widths[c] - width(line->cells[c]) : 0;
			bool left = c < LEFT_COLUMNS || c + 1 == line->n;

			fprintf(out, "%s%*s%s%*s", c ? "  " : "", left ? 0 : pad, "", line->cells[c],
				left && c + 1 < n ? pad : 0, "");
		}
		fputc('\n', out);
	}
}

static void table_free(struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		for (unsigned c = 0; c < t->lines[i].n; c++)
			free(t->lines[i].cells[c]);
	free(t->lines);
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void head_cells(const struct merge *m, struct table *t, const char *title)
{
	static const char *const names[] = {
		"ranks", "calls", "time_s", "min_s", "mean_s", "max_s", "at_rank", "cpu_s",
	};

	table_line(t);
	table_cell(t, "%s", "");
	table_line(t);
	table_cell(t, "%s", title);
	table_cell(t, "activity");
	table_cell(t, "function");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		table_cell(t, "%s", names[i]);
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++) {
		const char *name = ergon_column_word(c);

		if (!(m->measured & 1u << c))
			continue;
		table_cell(t, "%s", name);
		table_cell(t, "%%");
		table_cell(t, "W");
	}
	table_cell(t, "flags");
}

/* The words of the flags, `short` as '*'. */
static void flag_cell(const struct merge_cost *cost, struct table *t)
{
	unsigned flags = merge_flags(cost);
	char words[128];

	ergon_flags_format(flags & ~(unsigned)ERGON_FLAG_SHORT, words, sizeof(words));
	table_cell(t, "%s%s%s", flags & ERGON_FLAG_SHORT ? "*" : "",
		   flags & ERGON_FLAG_SHORT && *words ? " " : "", words);
}

static void cost_cells(const struct merge *m, struct table *t, const char *phase,
		       const char *activity, const char *function, const struct merge_cost *cost)
{
	const struct merge_stat *time = &cost->time;

	table_line(t);
	table_cell(t, "%s", phase);
	table_cell(t, "%s", activity);
	table_cell(t, "%s", function);
	table_cell(t, "%u", time->ranks);
	table_cell(t, "%" PRIu64, cost->calls);
	table_cell(t, "%.3f", time->total);
	table_cell(t, "%.3f", time->min);
	table_cell(t, "%.3f", merge_mean(time));
	table_cell(t, "%.3f", time->max);
	table_cell(t, "%d", time->max_rank);
	table_cell(t, "%.3f", cost->cpu_s);
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++) {
		const struct merge_stat *joules = &cost->joules[c];

		if (!(m->measured & 1u << c))
			continue;
		if (joules->ranks == 0) {
			for (int i = 0; i < 3; i++)
				table_cell(t, "-");
			continue;
		}
		table_cell(t, "%.3f", joules->total);
		table_cell(t, "%.1f", percent(joules->total, m->all.joules[c].total));
		if (time->total > 0)
			table_cell(t, "%.1f", joules->total / time->total);
		else
			table_cell(t, "-");
	}
	flag_cell(cost, t);
}

/* The first energy column that exists, -1: none. */
static int main_column(const struct merge *m)
{
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		if (m->measured & 1u << c)
			return c;
	return -1;
}

static int costlier(const void *a, const void *b, void *arg)
{
	const struct merge_row *x = *(void *const *)a, *y = *(void *const *)b;
	int c = main_column(arg);
	double dx = c < 0 ? x->cost.time.total : x->cost.joules[c].total;
	double dy = c < 0 ? y->cost.time.total : y->cost.joules[c].total;

	return dx > dy ? -1 : dx < dy;
}

/* The rows, or the top ones; what is not shown is counted. */
static void row_lines(const struct merge *m, unsigned top, struct table *t)
{
	size_t n = m->rows.n;
	void **rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		abort();
	if (n > 0)
		memcpy(rows, m->rows.items, n * sizeof(*rows));
	if (top > 0) {
		qsort_r(rows, n, sizeof(*rows), costlier, (void *)m);
		n = top < n ? top : n;
	}
	for (size_t i = 0; i < n; i++) {
		const struct merge_row *row = rows[i];

		cost_cells(m, t, row->phase, ergon_activity_word(row->activity), row->function,
			   &row->cost);
	}
	if (n < m->rows.n) {
		table_line(t);
		table_cell(t, "(%zu more rows)", m->rows.n - n);
	}
	free(rows);
}

static void write_tables(const struct merge *m, unsigned top, FILE *out)
{
	struct table t = { 0 };

	head_cells(m, &t, "by activity");
	for (int a = 0; a < ERGON_ACTIVITY_COUNT; a++)
		if (m->activity[a].time.ranks > 0)
			cost_cells(m, &t, "", ergon_activity_word(a), "", &m->activity[a]);
	if (m->phases.n > 1) {
		head_cells(m, &t, "by phase");
		for (size_t i = 0; i < m->phases.n; i++) {
			const struct merge_phase *phase = m->phases.items[i];

			cost_cells(m, &t, phase->name, "", "", &phase->cost);
		}
	}
	head_cells(m, &t, "phase");
	row_lines(m, top, &t);
	cost_cells(m, &t, m->estimated ? "total (estimated)" : "total", "", "", &m->all);
	table_print(&t, out);
	table_free(&t);
}

static void write_hosts(const struct merge *m, FILE *out)
{
	unsigned shown = 0;

	fprintf(out, "hosts      %u:", m->hosts);
	for (size_t i = 0; i < m->nodes.n && shown < HOSTS_SHOWN; i++) {
		const struct merge_node *node = m->nodes.items[i];

		if (node->ranks > 0)
			fprintf(out, "%s %s", shown++ ? "," : "", node->host);
	}
	fprintf(out, "%s\n", m->hosts > shown ? ", ..." : "");
}

static const char *or_dash(const char *text)
{
	return *text ? text : "-";
}

static void write_head(const struct merge *m, FILE *out)
{
	const struct rankfile_head *head = &m->head;

	fprintf(out, "job        %s step %s\n", head->job, head->step);
	fprintf(out, "MPI        %s\n", or_dash(head->mpi));
	fprintf(out, "ranks      %u of %d", m->seen, head->size);
	if (m->partial > 0)
		fprintf(out, ", %u partial", m->partial);
	fputc('\n', out);
	write_hosts(m, out);
	fprintf(out, "wall       %.3f s (the longest rank)\n", m->wall_s);
	if (m->measured == 0)
		fprintf(out, "energy     not measured: %s\n",
			*head->reason ? head->reason : "the files do not say why");
	else
		fprintf(out, "energy     %s%s, scope %s, shared by %s, %g Hz\n",
			m->estimated ? "estimated, " : "", or_dash(head->mechanism),
			or_dash(head->scope), or_dash(head->share), head->freq_hz);
	if (m->missed > 0)
		fprintf(out, "missed     %" PRIu64 " planned samples\n", m->missed);
}

/* What waiting cost: the sum, and how far the ranks are apart. */
static void write_waiting(const struct merge *m, FILE *out)
{
	const struct merge_stat *time = &m->waiting.time;
	int c = main_column(m);

	if (time->ranks == 0)
		return;
	fprintf(out, "\nwaiting (wait + collective + poll): %.3f s, %.1f %% of the ranks' time\n",
		time->total, percent(time->total, m->all.time.total));
	fprintf(out, "  per rank %.3f s (rank %d) to %.3f s (rank %d), mean %.3f s; beyond the least %.3f s\n",
		time->min, time->min_rank, time->max, time->max_rank, merge_mean(time),
		time->total - time->ranks * time->min);
	if (c >= 0 && m->waiting.joules[c].ranks > 0) {
		const struct merge_stat *joules = &m->waiting.joules[c];

		fprintf(out, "  %s %.3f, %.1f %%%s; per rank %.3f (rank %d) to %.3f (rank %d); beyond the least %.3f\n",
			ergon_column_word(c), joules->total,
			percent(joules->total, m->all.joules[c].total),
			m->estimated ? " (estimated)" : "", joules->min, joules->min_rank,
			joules->max, joules->max_rank, joules->total - joules->ranks * joules->min);
	}
}

static void write_conservation(const struct merge *m, FILE *out)
{
	if (m->measured == 0)
		return;
	fputc('\n', out);
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		if (m->node_measured & 1u << c)
			fprintf(out, "unattributed  %s %.3f J (%.1f %% of the nodes)\n",
				ergon_column_word(c), m->unattributed_j[c],
				percent(m->unattributed_j[c], m->node_j[c]));
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++) {
		const struct merge_conservation *check = &m->conservation[c];

		if (!(m->measured & 1u << c) && !check->known)
			continue;
		fprintf(out, "conservation  %s ", ergon_column_word(c));
		if (!check->known) {
			fprintf(out, "not checked: no node file has it\n");
			continue;
		}
		fprintf(out, "ranks %.9f + unattributed %.9f, nodes %.9f: ", check->ranks,
			check->unattributed, check->node);
		if (check->ok)
			fprintf(out, "OK (relative difference %.1e)\n", check->relative);
		else
			fprintf(out, "differs by %.9f J, relative %.1e, most on %s: %s\n",
				check->difference, check->relative, check->worst_host, m->why);
	}
	if (m->nodes_with_file < m->hosts)
		fprintf(out, "conservation  checked on %u of %u hosts\n", m->nodes_with_file, m->hosts);
}

void merge_write_text(const struct merge *m, unsigned top, FILE *out)
{
	write_head(m, out);
	write_tables(m, top, out);
	write_waiting(m, out);
	write_conservation(m, out);
}
