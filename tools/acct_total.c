/* SPDX-License-Identifier: BSD-3-Clause */
#include "acct_total.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "acct_run.h"
#include "flags.h"

/* The union over time */

struct span {
	const struct ergon_record *record;
	size_t index;
	int64_t from, to;         /* to > from */
	double curve_uj;          /* of the whole curve; 0: none, power is taken as constant */
};

static int rank(const struct ergon_record *r)
{
	return r->step == ERGON_STEP_EXTERN ? 0 :
	       r->step == ERGON_STEP_BATCH || r->step == ERGON_STEP_INTERACTIVE ? 1 : 2;
}

/* Whose energy counts first when both run. */
static int by_precedence(const struct span *a, const struct span *b)
{
	const struct ergon_record *x = a->record, *y = b->record;

	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	if (x->cpus != y->cpus)
		return x->cpus > y->cpus ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->from != y->from ? (x->from < y->from ? -1 : 1) :
	       x->index < y->index ? -1 : x->index > y->index;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The part of a record's energy that fell between two times. */
static double portion(const struct span *s, int64_t from, int64_t to)
{
	if (s->curve_uj > 0)
		return ergon_curve_energy_uj(&s->record->curve, (uint64_t)(from - s->from),
					     (uint64_t)(to - s->from)) / s->curve_uj;
	return (double)(to - from) / (double)(s->to - s->from);
}

/* Whether a record stands for the CPUs it held and leaves the rest to others. */
static bool is_share(const struct ergon_record *r)
{
	return rank(r) == 2 && (r->flags & ERGON_FLAG_SHARED) &&
	       r->cpus != ERGON_NONE && r->node_cpus != ERGON_NONE;
}

/* Those that run between from and to, in order of precedence. */
static void count(const struct span **active, size_t n, int64_t from, int64_t to,
		  double *job, double *node)
{
	const struct ergon_record *first;
	int64_t room;

	if (n == 0)
		return;
	first = active[0]->record;
	job[active[0]->index] += portion(active[0], from, to);
	node[active[0]->index] += portion(active[0], from, to);
	if (!is_share(first))
		return;
	room = first->node_cpus - first->cpus;
	for (size_t i = 1; i < n && room > 0; i++) {
		const struct ergon_record *r = active[i]->record;

		if (!is_share(r) || r->cpus > room)
			continue;
		job[active[i]->index] += portion(active[i], from, to);
		room -= r->cpus;
	}
}

static size_t drop_ended(const struct span **active, size_t n, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (active[i]->to > now)
			active[kept++] = active[i];
	return kept;
}

static size_t insert(const struct span **active, size_t n, const struct span *s)
{
	size_t at = n;

	while (at > 0 && by_precedence(s, active[at - 1]) < 0) {
		active[at] = active[at - 1];
		at--;
	}
	active[at] = s;
	return n + 1;
}

static void sweep(const struct span *spans, size_t n, int64_t *times, const struct span **active,
		  double *job, double *node)
{
	size_t running = 0, next = 0;

	for (size_t i = 0; i < n; i++) {
		times[2 * i] = spans[i].from;
		times[2 * i + 1] = spans[i].to;
	}
	qsort(times, 2 * n, sizeof(*times), by_value);
	for (size_t t = 0; t + 1 < 2 * n; t++) {
		if (times[t] == times[t + 1])
			continue;
		running = drop_ended(active, running, times[t]);
		while (next < n && spans[next].from <= times[t])
			running = insert(active, running, &spans[next++]);
		count(active, running, times[t], times[t + 1], job, node);
	}
}

int ergon_acct_union(const struct ergon_record *const *records, size_t n,
		     double *job, double *node)
{
	struct span *spans = calloc(n + 1, sizeof(*spans));
	int64_t *times = calloc(2 * n + 1, sizeof(*times));
	const struct span **active = calloc(n + 1, sizeof(struct span *));
	size_t used = 0;
	int result = -1;

	for (size_t i = 0; i < n; i++)
		job[i] = node[i] = 0;
	if (!spans || !times || !active)
		goto out;
	for (size_t i = 0; i < n; i++) {
		const struct ergon_record *r = records[i];

		/* What has no energy must not hide what has. */
		if (r->job_uj == ERGON_NONE)
			continue;
		spans[used++] = (struct span){ r, i, r->start_ns, ergon_acct_end_ns(r),
			ergon_curve_energy_uj(&r->curve, 0, UINT64_MAX) };
	}
	qsort(spans, used, sizeof(*spans), by_start);
	sweep(spans, used, times, active, job, node);
	result = 0;
out:
	free(spans);
	free(times);
	free(active);
	return result;
}

/* Rows */

static void add_uj(struct ergon_acct_row *row, int64_t *sum, int64_t uj, double part)
{
	if (uj == ERGON_NONE || part <= 0)
		return;
	if (*sum == ERGON_NONE)
		*sum = 0;
	/* A whole is a whole: a sum of parts may miss it by a rounding. */
	if (part < 1 - 1e-9)
		uj = llround((double)uj * part);
	if (__builtin_add_overflow(*sum, uj, sum)) {
		row->overflow = true;
		*sum = INT64_MAX;
	}
}

static void add_energy(struct ergon_acct_row *row, const struct ergon_record *r,
		       double job, double node)
{
	add_uj(row, &row->job_uj, r->job_uj, job);
	add_uj(row, &row->node_uj, r->node_uj, node);
	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
		add_uj(row, &row->domain_uj[d], r->domain_uj[d], node);
}

static void first_text(const char **text, const char *value)
{
	if (!**text)
		*text = value;
}

static void first_number(int64_t *number, int64_t value)
{
	if (*number == ERGON_NONE)
		*number = value;
}

static void highest(int64_t *number, int64_t value)
{
	if (*number == ERGON_NONE || (value != ERGON_NONE && value > *number))
		*number = value;
}

static void same_text(const char **text, const char *value)
{
	if (!**text)
		*text = value;
	else if (*value && strcmp(*text, value) != 0)
		*text = "mixed";
}

static void row_init(struct ergon_acct_row *row, const struct ergon_record *r)
{
	*row = (struct ergon_acct_row){
		.cluster = "", .user = "", .account = "", .partition = "", .qos = "",
		.job_name = "", .mechanism = "", .scope = "", .state = "",
		.job = r->job, .restart = r->restart, .step = r->step, .het = ERGON_NONE,
		.uid = ERGON_NONE, .array_job = ERGON_NONE, .array_task = ERGON_NONE,
		.nnodes = ERGON_NONE, .ntasks = ERGON_NONE, .ncpus = ERGON_NONE,
		.start_ns = r->start_ns, .end_ns = ERGON_NONE, .exit_code = ERGON_NONE,
		.job_uj = ERGON_NONE, .node_uj = ERGON_NONE, .max_mw = ERGON_NONE,
	};
	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
		row->domain_uj[d] = ERGON_NONE;
}

static void add_identity(struct ergon_acct_row *row, const struct ergon_record *r)
{
	first_text(&row->cluster, r->cluster);
	first_text(&row->user, r->user);
	first_text(&row->account, r->account);
	first_text(&row->partition, r->partition);
	first_text(&row->qos, r->qos);
	first_text(&row->job_name, r->job_name);
	first_number(&row->uid, r->uid);
	first_number(&row->het, r->het);
	first_number(&row->array_job, r->array_job);
	first_number(&row->array_task, r->array_task);
}

static void add_common(struct ergon_acct_row *row, const struct ergon_record *r)
{
	add_identity(row, r);
	highest(&row->restart, r->restart);
	highest(&row->nnodes, r->nnodes);
	highest(&row->max_mw, r->max_w_mw);
	if (r->start_ns < row->start_ns)
		row->start_ns = r->start_ns;
	highest(&row->end_ns, r->end_ns);
	if (r->job_uj != ERGON_NONE) {
		same_text(&row->mechanism, r->mechanism);
		same_text(&row->scope, r->scope);
	}
	row->flags |= r->flags;
	row->estimated = row->estimated || r->model == 1 || (r->flags & ERGON_FLAG_ESTIMATED);
	if (r->state == ERGON_STATE_RUNNING)
		row->state = "RUNNING";
	else if (r->state == ERGON_STATE_PARTIAL && !*row->state)
		row->state = "PARTIAL";
}

/* A job's own status is its batch script's; else the worst of its steps. */
static void add_exit(struct ergon_acct_row *row, const struct ergon_record *r, bool *from_batch)
{
	if (r->step == ERGON_STEP_EXTERN && row->is_job)
		return;
	if (r->step == ERGON_STEP_BATCH && !*from_batch) {
		*from_batch = true;
		row->exit_code = r->exit_code;
	} else if (!*from_batch || r->step == ERGON_STEP_BATCH) {
		highest(&row->exit_code, r->exit_code);
	}
}

static void finish(struct ergon_acct_row *row)
{
	int64_t *sums[] = { &row->job_uj, &row->node_uj };

	if (!*row->state)
		row->state = row->exit_code == ERGON_NONE || row->exit_code == 0 ?
			     "COMPLETED" : "FAILED";
	if (row->nnodes == ERGON_NONE || row->nnodes < (int64_t)row->node_count)
		row->nnodes = (int64_t)row->node_count;
	for (size_t i = 0; i < 2; i++)
		if (*sums[i] == INT64_MAX)
			*sums[i] = ERGON_NONE;
	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
		if (row->domain_uj[d] == INT64_MAX)
			row->domain_uj[d] = ERGON_NONE;
}

static void add_cpus(struct ergon_acct_row *row, int64_t cpus)
{
	if (cpus != ERGON_NONE)
		row->ncpus = (row->ncpus == ERGON_NONE ? 0 : row->ncpus) + cpus;
}

/* How many of the records from the first on are of its node. */
static size_t of_one_node(const struct ergon_record *const *records, size_t n)
{
	size_t i = 1;

	while (i < n && strcmp(records[i]->node, records[0]->node) == 0)
		i++;
	return i;
}

static bool any_energy(const struct ergon_record *const *records, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (records[i]->job_uj != ERGON_NONE)
			return true;
	return false;
}

int ergon_acct_step(struct ergon_acct_row *row, const struct ergon_record *const *records,
		    size_t n)
{
	bool from_batch = false;

	row_init(row, records[0]);
	row->nodes = calloc(n, sizeof(*row->nodes));
	if (!row->nodes)
		return -1;
	for (size_t i = 0; i < n; i++) {
		add_common(row, records[i]);
		add_exit(row, records[i], &from_batch);
		highest(&row->ntasks, records[i]->ntasks);
	}
	for (size_t i = 0, len; i < n; i += len) {
		int64_t cpus = ERGON_NONE;

		len = of_one_node(records + i, n - i);
		row->nodes[row->node_count++] = records[i]->node;
		row->nodes_measured += any_energy(records + i, len);
		for (size_t k = i; k < i + len; k++) {
			add_energy(row, records[k], 1, 1);
			highest(&cpus, records[k]->cpus);
		}
		add_cpus(row, cpus);
	}
	finish(row);
	return 0;
}

int ergon_acct_job(struct ergon_acct_row *row, const struct ergon_record *const *records,
		   size_t n)
{
	double *job = calloc(n, sizeof(*job)), *node = calloc(n, sizeof(*node));
	bool from_batch = false;

	row_init(row, records[0]);
	row->is_job = true;
	row->nodes = calloc(n, sizeof(*row->nodes));
	if (!job || !node || !row->nodes)
		goto no_memory;
	for (size_t i = 0; i < n; i++) {
		add_common(row, records[i]);
		add_exit(row, records[i], &from_batch);
	}
	for (size_t i = 0, len; i < n; i += len) {
		int64_t cpus = ERGON_NONE;

		len = of_one_node(records + i, n - i);
		row->nodes[row->node_count++] = records[i]->node;
		row->nodes_measured += any_energy(records + i, len);
		if (ergon_acct_union(records + i, len, job + i, node + i) < 0)
			goto no_memory;
		for (size_t k = i; k < i + len; k++) {
			add_energy(row, records[k], job[k], node[k]);
			highest(&cpus, records[k]->cpus);
		}
		add_cpus(row, cpus);
	}
	free(job);
	free(node);
	finish(row);
	return 0;
no_memory:
	free(job);
	free(node);
	ergon_acct_row_free(row);
	return -1;
}

void ergon_acct_row_free(struct ergon_acct_row *row)
{
	free(row->nodes);
	row->nodes = NULL;
	row->node_count = 0;
}
