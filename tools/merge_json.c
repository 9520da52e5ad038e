/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole result; the keys are a contract, see doc/formats.md. */
#include <jansson.h>

#include "flags.h"
#include "merge.h"

/* Texts are clean UTF-8 (text.h); json_string would refuse others. */
static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

static json_t *stat_json(const struct merge_stat *stat)
{
	if (stat->ranks == 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:i}", "total", stat->total, "min", stat->min,
			 "mean", merge_mean(stat), "max", stat->max, "max_rank", stat->max_rank);
}

static json_t *flags_json(unsigned flags)
{
	json_t *list = json_array();

	for (unsigned bit = 0; ergon_flag_word(bit); bit++)
		if (flags & 1u << bit)
			json_array_append_new(list, json_string(ergon_flag_word(bit)));
	return list;
}

static json_t *cost_json(const struct merge *m, const struct merge_cost *cost)
{
	json_t *object = json_pack("{s:I, s:I, s:o, s:f}", "ranks", (json_int_t)cost->time.ranks,
				   "calls", (json_int_t)cost->calls, "time_s",
				   stat_json(&cost->time), "cpu_s", cost->cpu_s);

	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		if (m->measured & 1u << c)
			json_object_set_new(object, ergon_column_word(c),
					    stat_json(&cost->joules[c]));
	json_object_set_new(object, "flags", flags_json(merge_flags(cost)));
	return object;
}

static json_t *rows_json(const struct merge *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->rows.n; i++) {
		const struct merge_row *row = m->rows.items[i];
		json_t *object = json_pack("{s:s, s:s, s:s}", "phase", row->phase, "activity",
					   ergon_activity_word(row->activity), "function",
					   row->function);
		json_t *cost = cost_json(m, &row->cost);

		json_object_update(object, cost);
		json_decref(cost);
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *columns_json(const struct merge *m)
{
	json_t *list = json_array();

	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		if (m->measured & 1u << c)
			json_array_append_new(list, json_string(ergon_column_word(c)));
	return list;
}

static json_t *node_sums_json(const struct merge *m, const double sums[ERGON_COLUMN_COUNT])
{
	json_t *object = json_object();

	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		if (m->node_measured & 1u << c)
			json_object_set_new(object, ergon_column_word(c), json_real(sums[c]));
	return object;
}

static json_t *conservation_json(const struct merge *m)
{
	json_t *object = json_object();

	for (int c = 0; c < ERGON_COLUMN_COUNT; c++) {
		const struct merge_conservation *check = &m->conservation[c];
		json_t *entry;

		if (!check->known)
			continue;
		entry = json_pack("{s:f, s:f, s:f, s:f, s:b}", "ranks", check->ranks,
				  "unattributed", check->unattributed, "node", check->node,
				  "relative", check->relative, "ok", check->ok);
		if (!check->ok)
			json_object_set_new(entry, "why", json_string(m->why));
		json_object_set_new(object, ergon_column_word(c), entry);
	}
	return object;
}

static json_t *problems_json(const struct merge *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->problems.n; i++) {
		const struct problem *problem = &m->problems.list[i];
		json_t *line = problem->line ? json_integer(problem->line) : json_null();

		json_array_append_new(list, json_pack("{s:s, s:b, s:s?, s:o, s:s}", "kind",
						      problem_word(problem->kind), "serious",
						      problem_serious(problem->kind), "file",
						      problem->file, "line", line, "text",
						      problem->text));
	}
	return list;
}

static json_t *activities_json(const struct merge *m)
{
	json_t *object = json_object();

	for (int a = 0; a < ERGON_ACTIVITY_COUNT; a++)
		if (m->activity[a].time.ranks > 0)
			json_object_set_new(object, ergon_activity_word(a),
					    cost_json(m, &m->activity[a]));
	return object;
}

static json_t *phases_json(const struct merge *m)
{
	json_t *object = json_object();

	for (size_t i = 0; i < m->phases.n; i++) {
		const struct merge_phase *phase = m->phases.items[i];

		json_object_set_new(object, phase->name, cost_json(m, &phase->cost));
	}
	return object;
}

int merge_write_json(const struct merge *m, FILE *out)
{
	const struct rankfile_head *head = &m->head;
	json_t *root = json_pack(
		"{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:I, s:f, s:I, s:b, s:{s:i, s:I, s:I, s:I}}",
		"v", 1, "job", head->job, "step", head->step, "mpi", text_or_null(head->mpi),
		"mechanism", text_or_null(head->mechanism), "scope", text_or_null(head->scope),
		"share", text_or_null(head->share), "reason", text_or_null(head->reason),
		"freq_hz", head->freq_hz, "hosts", (json_int_t)m->hosts, "wall_s", m->wall_s,
		"missed", (json_int_t)m->missed, "estimated", m->estimated, "ranks",
		"size", head->size, "seen", (json_int_t)m->seen,
		"complete", (json_int_t)m->complete, "partial", (json_int_t)m->partial);
	int rc = -1;

	if (!root)
		return -1;
	json_object_set_new(root, "columns", columns_json(m));
	json_object_set_new(root, "rows", rows_json(m));
	json_object_set_new(root, "activities", activities_json(m));
	json_object_set_new(root, "phases", phases_json(m));
	json_object_set_new(root, "waiting", cost_json(m, &m->waiting));
	json_object_set_new(root, "total", cost_json(m, &m->all));
	json_object_set_new(root, "unattributed", node_sums_json(m, m->unattributed_j));
	json_object_set_new(root, "node", node_sums_json(m, m->node_j));
	json_object_set_new(root, "conservation", conservation_json(m));
	json_object_set_new(root, "problems", problems_json(m));
	rc = json_dumpf(root, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
	fputc('\n', out);
	json_decref(root);
	return rc;
}
