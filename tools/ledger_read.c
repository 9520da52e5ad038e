/* SPDX-License-Identifier: BSD-3-Clause */
#include "ledger_read.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "flags.h"
#include "live.h"
#include "number.h"
#include "text.h"

#define SHORT_NS 10000000u      /* below these a row is marked short */
#define SHORT_INTERVALS 10u

enum rank_state { RUNNING, COMPLETE, ABORTED };

static int read_at(int fd, void *buf, size_t size, off_t offset)
{
	char *to = buf;

	while (size > 0) {
		ssize_t n = pread(fd, to, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n == 0 ? 0 : errno;
			return -1;
		}
		to += n;
		offset += n;
		size -= (size_t)n;
	}
	return 0;
}

static int refuse(struct problems *problems, const char *path, const char *why)
{
	problem_add(problems, PROBLEM_LEDGER, path, 0, "%s", why);
	return -1;
}

/* Open and read the head; its first bytes are a magic of 8. Returns the fd. */
static int open_ledger(const char *path, const char *magic, void *head, size_t size,
		       struct problems *problems)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		problem_add(problems, PROBLEM_UNREADABLE, path, 0, "%s", strerror(errno));
		return -1;
	}
	memset(head, 0, size);
	if (read_at(fd, head, size, 0) < 0) {
		if (errno)
			problem_add(problems, PROBLEM_UNREADABLE, path, 0, "%s", strerror(errno));
		else if (((char *)head)[0] == '\0')
			problem_add(problems, PROBLEM_EMPTY, path, 0, "the file is empty");
		else
			problem_add(problems, PROBLEM_TRUNCATED, path, 0, "cut inside the header");
		close(fd);
		return -1;
	}
	if (memcmp(head, magic, 8) != 0) {
		problem_add(problems, PROBLEM_NOT_OURS, path, 0, "%s",
			    memcmp(head, magic, 3) == 0 ? "a ledger of another version of ergon" :
			    "not a ledger");
		close(fd);
		return -1;
	}
	return fd;
}

static void clean(char *text, size_t size)
{
	text[size - 1] = '\0';
	text_clean(text, strlen(text));
}

#define CLEAN(member) clean(member, sizeof(member))

static bool is_amount(double x)
{
	return x >= 0 && x <= NUMBER_MAX_AMOUNT;
}

static bool are_amounts(const double *x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!is_amount(x[i]))
			return false;
	return true;
}

/* --- a rank's --- */

static const char *check_rank_head(struct ergon_rank_head *head)
{
	if (head->head_size != sizeof(*head) || head->row_size != sizeof(struct ergon_row))
		return "a ledger of another build of ergon";
	if (head->nrows > ERGON_LEDGER_ROWS || head->nchannels > ERGON_BOARD_MAX_CHANNELS ||
	    head->slot < -1 || head->slot >= ERGON_LIVE_SLOTS)
		return "its counts are impossible: the file is damaged";
	if (head->last_ns < head->start_ns || head->last_ns > INT64_MAX)
		return "its times are impossible: the file is damaged";
	if (head->rank < 0 || head->rank >= head->size)
		return "it does not say which rank of how many it is";
	if (!is_amount(head->overhead_s) || !is_amount(head->hz) ||
	    !are_amounts(head->last_s, head->nchannels) ||
	    !are_amounts(head->weight, head->nchannels))
		return "its figures are impossible: the file is damaged";
	for (uint32_t c = 0; c < head->nchannels; c++)
		if (head->column[c] < -1 || head->column[c] >= ERGON_COLUMN_COUNT)
			return "its columns are impossible: the file is damaged";
	CLEAN(head->job);
	CLEAN(head->step);
	CLEAN(head->ns);
	CLEAN(head->host);
	CLEAN(head->boot_id);
	CLEAN(head->mpi);
	CLEAN(head->mechanism);
	CLEAN(head->scope);
	CLEAN(head->share);
	CLEAN(head->reason);
	return NULL;
}

static const char *check_rows(struct ledger *l)
{
	for (uint32_t i = 0; i < l->nrows; i++) {
		struct ergon_row *row = &l->rows[i];

		if (row->activity >= ERGON_ACTIVITY_COUNT || row->calls > INT64_MAX ||
		    !is_amount(row->cpu_s) || !are_amounts(row->joules, ERGON_COLUMN_COUNT) ||
		    row->time_ns > INT64_MAX || row->open_ns > INT64_MAX)
			return "a row is impossible: the file is damaged";
		CLEAN(row->phase);
		CLEAN(row->function);
	}
	return NULL;
}

int ledger_read_rank(struct ledger *l, const char *path, struct problems *problems)
{
	struct ergon_rank_head *head = &l->head;
	const char *why;
	int fd;

	l->rows = NULL;
	l->nrows = 0;
	fd = open_ledger(path, ERGON_LEDGER_MAGIC, head, sizeof(*head), problems);
	if (fd < 0)
		return -1;
	why = check_rank_head(head);
	if (!why) {
		l->nrows = head->nrows;
		l->rows = calloc(l->nrows + 1, sizeof(*l->rows));
		if (!l->rows)
			why = "out of memory";
		else if (read_at(fd, l->rows, l->nrows * sizeof(*l->rows), (off_t)sizeof(*head)) < 0)
			why = "cut inside the rows";
		else
			why = check_rows(l);
		if (!why && l->nrows > 0 && head->current >= l->nrows)
			why = "its current row does not exist: the file is damaged";
	}
	close(fd);
	return why ? refuse(problems, path, why) : 0;
}

void ledger_free(struct ledger *l)
{
	free(l->rows);
	l->rows = NULL;
	l->nrows = 0;
}

/* Where a rank's account ends: the energy per weight and the time. */
struct closing {
	bool known;
	double s[ERGON_BOARD_MAX_CHANNELS];
	uint64_t t_ns;
	uint64_t entry;
};

/* The newest consistent state of a node's account. */
static const struct ergon_node_total *valid_total(const struct ergon_node_head *head)
{
	return &head->totals[head->turn & 1];
}

static const char *check_node_head(struct ergon_node_head *head)
{
	const struct ergon_node_total *total = valid_total(head);

	if (head->head_size != sizeof(*head) || head->slot_size != sizeof(struct ergon_node_slot))
		return "a ledger of another build of ergon";
	if (head->nchannels > ERGON_BOARD_MAX_CHANNELS || head->nslots > ERGON_LIVE_SLOTS)
		return "its counts are impossible: the file is damaged";
	if (!is_amount(head->hz) || !are_amounts(total->s, head->nchannels) ||
	    !are_amounts(total->e, head->nchannels) || !are_amounts(total->u, head->nchannels))
		return "its figures are impossible: the file is damaged";
	CLEAN(head->job);
	CLEAN(head->step);
	CLEAN(head->host);
	CLEAN(head->boot_id);
	CLEAN(head->mechanism);
	CLEAN(head->scope);
	for (uint32_t c = 0; c < head->nchannels; c++) {
		if (!ergon_domain_name((enum ergon_domain)head->channels[c].domain))
			return "its channels are impossible: the file is damaged";
		CLEAN(head->channels[c].name);
	}
	return NULL;
}

static int open_node(const char *path, struct ergon_node_head *head, struct problems *problems)
{
	int fd = open_ledger(path, ERGON_NODE_MAGIC, head, sizeof(*head), problems);
	const char *why = fd < 0 ? NULL : check_node_head(head);

	if (why) {
		close(fd);
		return refuse(problems, path, why);
	}
	return fd;
}

/* From the rank's slot if the keeper closed it, else from the newest total. */
static int find_closing(const struct ledger *l, const char *node_path, struct closing *closing,
			struct problems *problems)
{
	struct ergon_node_head node;
	struct ergon_node_slot slot = { 0 };
	uint32_t index = (uint32_t)l->head.slot;
	int fd = open_node(node_path, &node, problems);

	if (fd < 0)
		return -1;
	if (index < node.nslots)
		read_at(fd, &slot, sizeof(slot),
			(off_t)(sizeof(node) + index * sizeof(slot)));
	close(fd);
	if (strcmp(node.job, l->head.job) != 0 || strcmp(node.step, l->head.step) != 0 ||
	    node.nchannels != l->head.nchannels)
		return refuse(problems, node_path, "belongs to another job than a rank's ledger of this node");
	if (slot.rank == l->head.rank && slot.pid == l->head.pid &&
	    (slot.state == ERGON_SLOT_LEFT || slot.state == ERGON_SLOT_DEAD) &&
	    are_amounts(slot.s, node.nchannels)) {
		memcpy(closing->s, slot.s, sizeof(closing->s));
		closing->t_ns = slot.upto_ns;
		closing->entry = slot.upto;
	} else {
		memcpy(closing->s, valid_total(&node)->s, sizeof(closing->s));
		closing->t_ns = valid_total(&node)->t_ns;
		closing->entry = valid_total(&node)->entry;
	}
	closing->known = true;
	return 0;
}

/* Energy of the open interval per column. */
static void open_energy(const struct ergon_rank_head *head, const struct closing *closing,
			double joules[ERGON_COLUMN_COUNT])
{
	for (uint32_t c = 0; closing->known && c < head->nchannels; c++) {
		double s = closing->s[c] - head->last_s[c];

		if (head->column[c] >= 0 && s > 0)
			joules[head->column[c]] += head->weight[c] * s;
	}
}

/* What is still to be booked: time of the current row, intervals and energy of the open rows. */
struct rest {
	uint64_t tail_ns;
	uint64_t intervals;
	double joules[ERGON_COLUMN_COUNT];
};

static int fill_rows(const struct ledger *l, struct rankfile *f, const struct rest *rest)
{
	double open_ns = (double)rest->tail_ns;

	for (uint32_t i = 0; i < l->nrows; i++)
		open_ns += (double)l->rows[i].open_ns;
	for (uint32_t i = 0; i < l->nrows; i++) {
		const struct ergon_row *from = &l->rows[i];
		uint64_t tail = i == l->head.current ? rest->tail_ns : 0;
		uint64_t intervals = from->intervals;
		double part = open_ns > 0 ? (double)(from->open_ns + tail) / open_ns :
			      i == l->head.current;
		struct rank_row *row;

		if (from->calls == 0 && from->time_ns + tail == 0)
			continue;
		row = rankfile_add_row(f);
		if (!row)
			return -1;
		memcpy(row->phase, from->phase, sizeof(row->phase));
		memcpy(row->function, from->function, sizeof(row->function));
		row->activity = (int)from->activity;
		row->calls = from->calls;
		row->time_s = (double)(from->time_ns + tail) / 1e9;
		row->cpu_s = from->cpu_s;
		row->flags = from->flags | l->head.flags;
		row->measured = l->head.measured & ((1u << ERGON_COLUMN_COUNT) - 1);
		for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
			row->joules[c] = from->joules[c] + part * rest->joules[c];
		if (part > 0)
			intervals += rest->intervals;
		if (from->time_ns + tail < SHORT_NS ||
		    (row->measured && intervals < SHORT_INTERVALS))
			row->flags |= ERGON_FLAG_SHORT;
	}
	return 0;
}

static void fill_head(const struct ergon_rank_head *from, uint64_t end_ns,
		      struct rankfile_head *head)
{
	/* The texts were checked to be terminated; the sizes are the header's. */
#define COPY(m) snprintf(head->m, sizeof(head->m), "%s", from->m)
	COPY(job);
	COPY(step);
	COPY(host);
	COPY(boot_id);
	COPY(mpi);
	COPY(mechanism);
	COPY(scope);
	COPY(share);
	COPY(reason);
#undef COPY
	head->rank = from->rank;
	head->size = from->size;
	head->freq_hz = from->hz;
	head->wall_s = end_ns > from->start_ns ? (double)(end_ns - from->start_ns) / 1e9 : 0;
	head->overhead_s = from->overhead_s;
	head->samples = from->samples;
	head->missed = from->missed;
}

int ledger_finish_rank(const struct ledger *l, const char *path, const char *node_path,
		       struct rankfile *f, struct problems *problems)
{
	const struct ergon_rank_head *head = &l->head;
	uint32_t state = head->state;
	struct closing closing = { 0 };
	struct rest rest = { 0 };
	uint64_t end_ns = head->last_ns;

	rankfile_reset(f);
	if (node_path && head->slot >= 0)
		find_closing(l, node_path, &closing, problems);
	if (head->end_ns > end_ns)
		end_ns = head->end_ns;
	else if (head->end_ns == 0 && closing.known && closing.t_ns > end_ns)
		end_ns = closing.t_ns;
	rest.tail_ns = end_ns - head->last_ns;
	if (closing.known && closing.entry > head->last_entry)
		rest.intervals = closing.entry - head->last_entry;
	open_energy(head, &closing, rest.joules);
	fill_head(head, end_ns, &f->head);
	if (fill_rows(l, f, &rest) < 0)
		return refuse(problems, path, "out of memory");
	switch (state) {
	case COMPLETE:
		f->partial = "it ended, its CSV could not be written";
		break;
	case ABORTED:
		f->partial = "ended by MPI_Abort";
		break;
	default:
		f->partial = head->slot >= 0 && !closing.known ?
			"no end was seen (killed, or still running); its energy since the last booking is not known" :
			"no end was seen: killed, or still running";
	}
	return 0;
}

/* --- a node's --- */

int ledger_read_node(struct rankfile *f, const char *path, struct problems *problems)
{
	struct ergon_node_head node;
	const struct ergon_node_total *total;
	int fd = open_node(path, &node, problems);

	if (fd < 0)
		return -1;
	close(fd);
	rankfile_reset(f);
	total = valid_total(&node);
#define COPY(m) snprintf(f->head.m, sizeof(f->head.m), "%s", node.m)
	COPY(job);
	COPY(step);
	COPY(host);
	COPY(boot_id);
	COPY(mechanism);
	COPY(scope);
#undef COPY
	f->head.freq_hz = node.hz;
	f->head.samples = total->samples;
	f->head.missed = total->missed;
	if (total->t_ns > node.start_ns)
		f->head.wall_s = (double)(total->t_ns - node.start_ns) / 1e9;
	for (uint32_t c = 0; c < node.nchannels; c++) {
		struct node_row *row = &f->channels[f->nchannels++];

		memset(row, 0, sizeof(*row));
		snprintf(row->channel, sizeof(row->channel), "%s", node.channels[c].name);
		row->domain = node.channels[c].domain;
		row->package = node.channels[c].package;
		row->energy_j = total->e[c];
		row->unattributed_j = total->u[c];
		row->flags = total->flags;
	}
	if (node.state != COMPLETE)
		f->partial = "no end was seen: its last rank was killed, or is still running";
	return 0;
}
