/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flags.h"
#include "ledger_read.h"
#include "merge_scan.h"
#include "merge_which.h"

#define MAX_SIZE (1 << 26)      /* ranks; a larger size= is a damaged header */
#define PROGRESS_FILES 64       /* between two calls of progress */
#define SEPARATOR "\x1f"        /* cannot be in a cleaned text */

/* Activities in which a rank waits for another. */
static const bool is_waiting[ERGON_ACTIVITY_COUNT] = {
	[ERGON_ACTIVITY_WAIT] = true,
	[ERGON_ACTIVITY_COLLECTIVE] = true,
	[ERGON_ACTIVITY_POLL] = true,
};

/* --- tables --- */

static void list_add(struct merge_list *list, void *item)
{
	if (list->n == list->capacity) {
		list->capacity = list->capacity ? 2 * list->capacity : 64;
		list->items = realloc(list->items, list->capacity * sizeof(*list->items));
		/* A tool of the user's own: without memory there is nothing to save. */
		if (!list->items)
			abort();
	}
	list->items[list->n++] = item;
}

static void list_sort(struct merge_list *list, int (*compare)(const void *a, const void *b))
{
	if (list->n > 0)
		qsort(list->items, list->n, sizeof(*list->items), compare);
}

static void list_free(struct merge_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i]);
	free(list->items);
}

/* The entry under the key; a new one of this size when there is none. */
static void *entry(struct strmap *map, const char *key, size_t len, size_t size, bool *is_new)
{
	void *found = strmap_get(map, key, len);

	*is_new = !found;
	if (found)
		return found;
	found = calloc(1, size);
	if (!found || strmap_put(map, key, len, found) < 0)
		abort();
	return found;
}

static struct merge_phase *phase_of(struct merge *m, const char *name)
{
	bool is_new;
	struct merge_phase *phase = entry(&m->phase_map, name, strlen(name), sizeof(*phase), &is_new);

	if (is_new) {
		snprintf(phase->name, sizeof(phase->name), "%s", name);
		list_add(&m->phases, phase);
	}
	return phase;
}

static struct merge_row *row_of(struct merge *m, const struct rank_row *from)
{
	char key[2 * ERGON_NAME_MAX + 4];
	size_t phase = strlen(from->phase), function = strlen(from->function);
	struct merge_row *row;
	bool is_new;

	memcpy(key, from->phase, phase);
	key[phase] = (char)(1 + from->activity); /* no text holds such a byte */
	memcpy(key + phase + 1, from->function, function);
	row = entry(&m->row_map, key, phase + 1 + function, sizeof(*row), &is_new);
	if (is_new) {
		memcpy(row->phase, from->phase, phase + 1);
		memcpy(row->function, from->function, function + 1);
		row->activity = from->activity;
		row->sum = phase_of(m, from->phase);
		list_add(&m->rows, row);
	}
	return row;
}

static struct merge_node *node_of(struct merge *m, const struct rankfile_head *head)
{
	char key[128];
	int len = snprintf(key, sizeof(key), "%s" SEPARATOR "%s", head->host, head->boot_id);
	struct merge_node *node;
	bool is_new;

	node = entry(&m->node_map, key, (size_t)len, sizeof(*node), &is_new);
	if (is_new) {
		memcpy(node->host, head->host, sizeof(node->host));
		memcpy(node->boot_id, head->boot_id, sizeof(node->boot_id));
		list_add(&m->nodes, node);
	}
	return node;
}

static bool is_of_run(struct merge *m, const struct merge_which *run, const struct rankfile_head *head,
		      const char *path)
{
	/* Without a chosen run no head can be read; each file then says why. */
	if (run->job[0] == '\0' ||
	    (strcmp(head->job, run->job) == 0 && strcmp(head->step, run->step) == 0))
		return true;
	problem_add(&m->problems, PROBLEM_FOREIGN, path, 0,
		    "of job %s step %s, not of job %s step %s; not merged",
		    head->job, head->step, run->job, run->step);
	return false;
}

/* --- a node --- */

static void add_node(struct merge *m, const struct rankfile *f, const char *path)
{
	struct merge_node *node = node_of(m, &f->head);

	if (node->has_file) {
		problem_add(&m->problems, PROBLEM_NODE_TWICE, path, 0,
			    "a second account of node %s; the first is used", node->host);
		return;
	}
	node->has_file = true;
	for (size_t i = 0; i < f->nchannels; i++) {
		struct ergon_board_channel channel = { .domain = f->channels[i].domain,
						       .package = f->channels[i].package };
		int c = ergon_column_of(&channel);

		if (f->channels[i].flags & ERGON_FLAG_ESTIMATED)
			m->estimated = true;
		if (c < 0)
			continue;
		node->measured |= 1u << c;
		node->node_j[c] += f->channels[i].energy_j;
		node->unattributed_j[c] += f->channels[i].unattributed_j;
		node->values += 2;
	}
	if (f->partial)
		problem_add(&m->problems, PROBLEM_PARTIAL, path, 0, "node %s: %s", node->host,
			    f->partial);
}

static void read_node(struct merge *m, const struct merge_scan *scan,
		      const struct merge_file *file, const struct merge_which *run, struct rankfile *f)
{
	char *path = merge_scan_path(scan, file);
	struct merge_node *node;
	int rc;

	if (!path)
		return;
	rc = file->kind == MERGE_NODE_CSV ?
		rankfile_read(f, path, RANKFILE_NODE, &m->problems) :
		ledger_read_node(f, path, &m->problems);
	if (rc < 0 || !is_of_run(m, run, &f->head, path)) {
		free(path);
		return;
	}
	node = node_of(m, &f->head);
	if (file->kind == MERGE_NODE_CSV || !node->has_file ||
	    !merge_scan_twin(scan, file, MERGE_NODE_CSV))
		add_node(m, f, path);
	if (file->kind == MERGE_NODE_LEDGER && !node->ledger)
		node->ledger = path;
	else
		free(path);
}

/* --- a rank --- */

/* Texts that should be the same in all ranks. */
static void compare_heads(struct merge *m, const struct rankfile_head *head, const char *path)
{
	const struct { const char *what, *first, *here; } texts[] = {
		{ "mpi", m->head.mpi, head->mpi },
		{ "mechanism", m->head.mechanism, head->mechanism },
		{ "scope", m->head.scope, head->scope },
		{ "share", m->head.share, head->share },
	};

	if (m->seen == 0) {
		m->head = *head;
		return;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(texts[i].first, texts[i].here) != 0)
			problem_add(&m->problems, PROBLEM_MIXED, path, 0,
				    "%s is '%s' here and '%s' in the first rank", texts[i].what,
				    texts[i].here, texts[i].first);
	if (head->size != m->head.size)
		problem_add(&m->problems, PROBLEM_MIXED, path, 0,
			    "size is %d here and %d in the first rank", head->size, m->head.size);
}

/* Whether the rank is new; marks it. */
static bool claim_rank(struct merge *m, const struct rankfile_head *head, const char *path)
{
	int limit = m->seen ? m->head.size : head->size;

	if (head->size > MAX_SIZE) {
		problem_add(&m->problems, PROBLEM_HEADER, path, 0, "size %d is impossible", head->size);
		return false;
	}
	if (!m->ranks_seen) {
		m->ranks_seen = calloc((size_t)limit / 8 + 1, 1);
		if (!m->ranks_seen)
			abort();
	}
	if (head->rank >= limit) {
		problem_add(&m->problems, PROBLEM_MIXED, path, 0,
			    "rank %d, but the first rank says that there are %d; not merged",
			    head->rank, limit);
		return false;
	}
	if (m->ranks_seen[head->rank / 8] & 1u << head->rank % 8) {
		problem_add(&m->problems, PROBLEM_DUPLICATE, path, 0,
			    "rank %d is there twice; the first file is used", head->rank);
		return false;
	}
	m->ranks_seen[head->rank / 8] |= (uint8_t)(1u << head->rank % 8);
	return true;
}

static void add_row(struct merge *m, struct merge_node *node, int rank,
		    const struct rank_row *from, const char *path)
{
	struct merge_row *row = row_of(m, from);
	struct merge_tally tally = merge_tally_of(from);

	if (row->serial == m->serial) {
		problem_add(&m->problems, PROBLEM_TEXT, path, 0,
			    "%s, %s, %s is there twice; the first is used", from->phase,
			    ergon_activity_word(from->activity), from->function);
		return;
	}
	row->serial = m->serial;
	merge_cost_add(&row->cost, rank, &tally);
	merge_tally_add(&row->sum->tally, &tally);
	merge_tally_add(&m->tally_activity[from->activity], &tally);
	if (is_waiting[from->activity])
		merge_tally_add(&m->tally_waiting, &tally);
	merge_tally_add(&m->tally_all, &tally);
	m->measured |= from->measured;
	node->ranks_measured |= from->measured;
	node->values++;
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		node->ranks_j[c] += from->joules[c];
	if (from->flags & ERGON_FLAG_ESTIMATED)
		m->estimated = true;
}

static void add_rank(struct merge *m, const struct rankfile *f, const char *path)
{
	struct merge_node *node;
	uint64_t calls = 0;
	int rank = f->head.rank;

	if (!claim_rank(m, &f->head, path))
		return;
	compare_heads(m, &f->head, path);
	m->serial++;
	m->seen++;
	node = node_of(m, &f->head);
	node->ranks++;
	for (size_t i = 0; i < f->nrows; i++) {
		add_row(m, node, rank, &f->rows[i], path);
		if (f->rows[i].activity != ERGON_ACTIVITY_STARTUP)
			calls = merge_add_counts(calls, f->rows[i].calls);
	}
	for (int a = 0; a < ERGON_ACTIVITY_COUNT; a++)
		merge_settle(&m->activity[a], &m->tally_activity[a], rank);
	for (size_t i = 0; i < f->nrows; i++) {
		struct merge_phase *phase = phase_of(m, f->rows[i].phase);

		merge_settle(&phase->cost, &phase->tally, rank);
	}
	merge_settle(&m->waiting, &m->tally_waiting, rank);
	merge_settle(&m->all, &m->tally_all, rank);
	m->wall_s = fmax(m->wall_s, f->head.wall_s);
	m->overhead_s += f->head.overhead_s;
	m->missed = merge_add_counts(m->missed, f->head.missed);
	if (strcmp(f->head.mechanism, "model") == 0)
		m->estimated = true;
	if (f->partial || f->damaged) {
		m->partial++;
		problem_add(&m->problems, PROBLEM_PARTIAL, path, 0, "rank %d is partial: %s", rank,
			    f->partial ? f->partial : "its file is damaged");
	} else {
		m->complete++;
	}
	if (calls == 0 && !f->partial && !f->damaged)
		problem_add(&m->problems, PROBLEM_NO_CALLS, path, 0,
			    "rank %d was initialised and made no MPI call that is counted", rank);
}

/* Path of the ledger of the node a rank was on, NULL: none. */
static const char *node_ledger(struct merge *m, const struct ergon_rank_head *rank)
{
	struct rankfile_head head = { 0 };

	memcpy(head.host, rank->host, sizeof(head.host));
	memcpy(head.boot_id, rank->boot_id, sizeof(head.boot_id));
	return node_of(m, &head)->ledger;
}

static int read_ledger(struct merge *m, const char *path, struct rankfile *f)
{
	struct ledger l;
	int rc = ledger_read_rank(&l, path, &m->problems);

	if (rc == 0)
		rc = ledger_finish_rank(&l, path, node_ledger(m, &l.head), f, &m->problems);
	ledger_free(&l);
	return rc;
}

/* A damaged CSV beside a ledger: the ledger is the better one. */
static int read_rank_csv(struct merge *m, const struct merge_scan *scan,
			 const struct merge_file *file, const char *path, struct rankfile *f)
{
	int rc = rankfile_read(f, path, RANKFILE_RANK, &m->problems);
	char *ledger;

	if ((rc == 0 && !f->damaged) || !merge_scan_twin(scan, file, MERGE_RANK_LEDGER))
		return rc;
	if (asprintf(&ledger, "%.*sledger", (int)(strlen(path) - strlen("csv")), path) < 0)
		return -1;
	rc = read_ledger(m, ledger, f);
	free(ledger);
	if (rc < 0)
		rc = rankfile_read(f, path, RANKFILE_RANK, &m->problems);
	return rc;
}

static void read_rank(struct merge *m, const struct merge_scan *scan,
		      const struct merge_file *file, const struct merge_which *run, struct rankfile *f)
{
	char *path;
	int rc;

	/* The CSV is written before the ledger is removed: both may be there. */
	if (file->kind == MERGE_RANK_LEDGER && merge_scan_twin(scan, file, MERGE_RANK_CSV))
		return;
	path = merge_scan_path(scan, file);
	if (!path)
		return;
	if (run->ns[0] && !merge_which_has_ns(file, run->ns)) {
		problem_add(&m->problems, PROBLEM_FOREIGN, path, 0,
			    "of another MPI_COMM_WORLD (spawned processes, a second program) than '%s'; not merged, see --namespace",
			    run->ns);
	} else {
		rc = file->kind == MERGE_RANK_CSV ? read_rank_csv(m, scan, file, path, f) :
						    read_ledger(m, path, f);
		if (rc == 0 && is_of_run(m, run, &f->head, path))
			add_rank(m, f, path);
	}
	free(path);
}

/* --- the end --- */

static int by_name(const void *a, const void *b)
{
	const struct merge_phase *x = *(void *const *)a, *y = *(void *const *)b;

	return strcmp(x->name, y->name);
}

static int by_phase(const void *a, const void *b)
{
	const struct merge_row *x = *(void *const *)a, *y = *(void *const *)b;
	int order = strcmp(x->phase, y->phase);

	if (order == 0)
		order = x->activity - y->activity;
	return order ? order : strcmp(x->function, y->function);
}

int merge_run(struct merge *m, char *const dirs[], unsigned ndirs, const char *ns,
	      struct ergon_error *err)
{
	struct merge_scan scan = { 0 };
	struct rankfile f = { 0 };
	struct merge_which run;

	if (merge_scan_dirs(&scan, dirs, ndirs, err) < 0) {
		merge_scan_free(&scan);
		return -1;
	}
	merge_which_choose(&run, &scan, ns, &f);
	for (size_t i = 0; i < scan.nfiles; i++) {
		if (m->progress && i % PROGRESS_FILES == 0)
			m->progress(i, scan.nfiles);
		if (scan.files[i].kind < MERGE_RANK_CSV)
			read_node(m, &scan, &scan.files[i], &run, &f);
		else
			read_rank(m, &scan, &scan.files[i], &run, &f);
	}
	rankfile_free(&f);
	merge_scan_free(&scan);
	if (m->seen > 0) {
		memcpy(m->ns, run.ns, sizeof(m->ns));
		merge_check(m);
		list_sort(&m->rows, by_phase);
		list_sort(&m->phases, by_name);
	}
	problems_finish(&m->problems);
	return m->seen > 0 ? 0 : 1;
}

void merge_free(struct merge *m)
{
	for (size_t i = 0; i < m->nodes.n; i++)
		free(((struct merge_node *)m->nodes.items[i])->ledger);
	list_free(&m->rows);
	list_free(&m->phases);
	list_free(&m->nodes);
	free(m->ranks_seen);
	strmap_free(&m->row_map);
	strmap_free(&m->phase_map);
	strmap_free(&m->node_map);
	problems_free(&m->problems);
	memset(m, 0, sizeof(*m));
}
