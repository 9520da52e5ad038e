/* SPDX-License-Identifier: BSD-3-Clause */
#include "ledgerfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "live.h"
#include "mapfile.h"
#include "rankcsv.h"

#define MAX_RUNS 1000

/* Both in the form of the structs: a fixed head, then the array. */
#define RANK_SIZE (sizeof(struct ergon_rank_head) + ERGON_LEDGER_ROWS * sizeof(struct ergon_row))
#define NODE_SIZE (sizeof(struct ergon_node_head) + ERGON_LIVE_SLOTS * sizeof(struct ergon_node_slot))

#define COPY(member, text) snprintf(member, sizeof(member), "%s", text)

void ergon_step_number(const char *output_dir, struct ergon_identity *id)
{
	char step[sizeof(id->step)], path[512];

	if (id->rank < 0)
		return;
	memcpy(step, id->step, sizeof(step));
	for (int run = 2; run < MAX_RUNS; run++) {
		bool taken = false;
		static const char *const suffixes[] = { "csv", "ledger" };

		for (int i = 0; i < 2; i++) {
			snprintf(path, sizeof(path), "%s/ergon.%s.%s/rank.%s.%d.%s", output_dir,
				 id->job, id->step, id->ns, id->rank, suffixes[i]);
			taken |= access(path, F_OK) == 0;
		}
		if (!taken)
			return;
		snprintf(id->step, sizeof(id->step), "%.24s-%d", step, run);
	}
}

int ergon_step_dir(const char *output_dir, const struct ergon_identity *id, char *path,
		   size_t size, struct ergon_error *err)
{
	int fd;
	int n = snprintf(path, size, "%s/ergon.%s.%s", output_dir, id->job, id->step);

	if (n < 0 || (size_t)n >= size)
		return ergon_error_set(err, "ERGON_OUTPUT_DIR is too long");
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return ergon_error_set(err, "cannot make %s: %s; set ERGON_OUTPUT_DIR (srun: out=) "
				       "to a directory that can be written to", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ergon_error_set(err, "cannot open %s: %s", path, strerror(errno));
	return fd;
}

/* A file under a name that no other process on any node takes, until it is filled. */
static void *make_file(int dirfd, const struct ergon_identity *id, char temp[112], size_t size)
{
	void *map;
	int fd, saved;

	snprintf(temp, 112, "ledger.%s.%llx.tmp.%ld", id->host,
		 (unsigned long long)ergon_clock_real_ns(), (long)getpid());
	fd = openat(dirfd, temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	map = ergon_mapfile(fd, size);
	saved = errno;
	if (!map)
		unlinkat(dirfd, temp, 0);
	close(fd);
	errno = saved;
	return map;
}

static int publish_as(int dirfd, const char *temp, const char *stem)
{
	char name[128];

	snprintf(name, sizeof(name), "%s.csv", stem);
	if (faccessat(dirfd, name, F_OK, 0) == 0) {
		errno = EEXIST;
		return -1;
	}
	snprintf(name, sizeof(name), "%s.ledger", stem);
	if (linkat(dirfd, temp, dirfd, name, 0) == 0)
		return unlinkat(dirfd, temp, 0);
	/* A file system without links. */
	return errno == EPERM ? renameat(dirfd, temp, dirfd, name) : -1;
}

/*
 * Give the filled file the first free name of PREFIX SUFFIX, PREFIX-2
 * SUFFIX, ... It is in stem before the file has it: who finds the stem and
 * no file knows that we were killed in between.
 */
static int publish(int dirfd, const char *temp, const char *prefix, const char *suffix,
		   char stem[112])
{
	int rc = -1;

	errno = EEXIST;
	for (int run = 1; rc < 0 && errno == EEXIST && run < MAX_RUNS; run++) {
		if (run == 1)
			snprintf(stem, 112, "%s%s", prefix, suffix);
		else
			snprintf(stem, 112, "%s-%d%s", prefix, run, suffix);
		rc = publish_as(dirfd, temp, stem);
	}
	if (rc < 0) {
		int saved = errno;

		*stem = '\0';
		unlinkat(dirfd, temp, 0);
		errno = saved;
	}
	return rc;
}

static void fill_rank(struct ergon_rank_head *head, const struct ergon_identity *id)
{
	memcpy(head->magic, ERGON_LEDGER_MAGIC, sizeof(head->magic));
	head->head_size = sizeof(*head);
	head->row_size = sizeof(struct ergon_row);
	head->rank = id->rank;
	head->size = id->size;
	head->local_rank = id->local_rank;
	head->pid = getpid();
	head->slot = -1;
	COPY(head->job, id->job);
	COPY(head->step, id->step);
	COPY(head->ns, id->ns);
	COPY(head->host, id->host);
	COPY(head->boot_id, id->boot_id);
	COPY(head->mpi, id->mpi);
	COPY(head->mechanism, "none");
	COPY(head->scope, "none");
}

static int create_rank_file(struct ergon_ledger *ledger, int dirfd, const struct ergon_identity *id)
{
	char prefix[80], suffix[24], temp[112];

	ledger->head = make_file(dirfd, id, temp, RANK_SIZE);
	if (!ledger->head)
		return -1;
	ledger->rows = (struct ergon_row *)(ledger->head + 1);
	fill_rank(ledger->head, id);
	ergon_ledger_add_row(ledger, "main", ERGON_ACTIVITY_APP, "");
	snprintf(prefix, sizeof(prefix), "rank.%s", id->ns);
	if (id->rank >= 0)
		snprintf(suffix, sizeof(suffix), ".%d", id->rank);
	else
		snprintf(suffix, sizeof(suffix), ".pid%ld", (long)getpid());
	if (publish(dirfd, temp, prefix, suffix, ledger->stem) == 0)
		return 0;
	ergon_ledger_drop(ledger);
	return -1;
}

int ergon_ledger_create(struct ergon_ledger *ledger, const char *output_dir,
			const struct ergon_identity *id, struct ergon_error *err)
{
	int dirfd, rc;

	memset(ledger, 0, sizeof(*ledger));
	dirfd = ergon_step_dir(output_dir, id, ledger->dir, sizeof(ledger->dir), err);
	if (dirfd < 0)
		return -1;
	rc = create_rank_file(ledger, dirfd, id);
	if (rc < 0)
		ergon_error_set(err, "cannot make a file in %s: %s; set ERGON_OUTPUT_DIR to a "
				"directory that can be written to", ledger->dir, strerror(errno));
	close(dirfd);
	return rc;
}

uint32_t ergon_ledger_add_row(struct ergon_ledger *ledger, const char *phase,
			      enum ergon_activity activity, const char *function)
{
	uint32_t n = ledger->head->nrows;
	struct ergon_row *row;

	if (n == ERGON_LEDGER_ROWS)
		return n - 1;
	row = &ledger->rows[n];
	if (n == ERGON_LEDGER_ROWS - 1)
		function = "other";
	COPY(row->phase, phase);
	COPY(row->function, function);
	row->activity = activity;
	atomic_store_explicit(&ledger->head->nrows, n + 1, memory_order_release);
	return n;
}

void ergon_ledger_drop(struct ergon_ledger *ledger)
{
	if (!ledger->head)
		return;
	munmap(ledger->head, RANK_SIZE);
	ledger->head = NULL;
}

struct rank_text {
	const struct ergon_ledger *ledger;
	const char *state;
};

static void rank_text(FILE *out, const void *arg)
{
	const struct rank_text *text = arg;

	ergon_rank_csv(out, text->ledger->head, text->ledger->rows, text->state);
}

/* STEM.csv whole, then STEM.ledger gone (or not): never a moment without either. */
static int turn_into_csv(const char *dir, const char *stem,
			 void (*write_text)(FILE *out, const void *arg), const void *arg,
			 bool keep)
{
	char name[128];
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc, saved;

	if (dirfd < 0)
		return -1;
	snprintf(name, sizeof(name), "%s.csv", stem);
	rc = ergon_write_whole(dirfd, name, write_text, arg);
	snprintf(name, sizeof(name), "%s.ledger", stem);
	if (rc == 0 && !keep)
		rc = unlinkat(dirfd, name, 0);
	saved = errno;
	close(dirfd);
	errno = saved;
	return rc;
}

int ergon_ledger_finish(struct ergon_ledger *ledger, const char *state)
{
	struct rank_text text = { ledger, state };

	return turn_into_csv(ledger->dir, ledger->stem, rank_text, &text, false);
}

static void fill_node(struct ergon_node_head *head, const struct ergon_identity *id,
		      const struct ergon_board_info *info)
{
	memcpy(head->magic, ERGON_NODE_MAGIC, sizeof(head->magic));
	head->head_size = sizeof(*head);
	head->slot_size = sizeof(struct ergon_node_slot);
	head->nslots = ERGON_LIVE_SLOTS;
	head->nchannels = info->nchannels;
	COPY(head->job, id->job);
	COPY(head->step, id->step);
	COPY(head->host, id->host);
	COPY(head->boot_id, id->boot_id);
	COPY(head->mechanism, info->mechanism);
	COPY(head->scope, info->scope);
	head->hz = info->hz;
	head->start_real_ns = ergon_clock_real_ns();
	head->start_ns = ergon_clock_ns();
	memcpy(head->channels, info->channels, sizeof(head->channels));
}

static struct ergon_node_head *continue_file(int dirfd, const char *stem)
{
	char name[128];
	struct ergon_node_head *map;
	int fd;

	snprintf(name, sizeof(name), "%s.ledger", stem);
	fd = openat(dirfd, name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	map = ergon_mapfile(fd, NODE_SIZE);
	close(fd);
	return map;
}

static struct ergon_node_head *create_node_file(int dirfd, const struct ergon_identity *id,
						const struct ergon_board_info *info,
						char stem[112])
{
	char prefix[80], temp[112];
	struct ergon_node_head *head = make_file(dirfd, id, temp, NODE_SIZE);

	if (!head)
		return NULL;
	fill_node(head, id, info);
	snprintf(prefix, sizeof(prefix), "node.%s", id->host);
	if (publish(dirfd, temp, prefix, "", stem) == 0)
		return head;
	munmap(head, NODE_SIZE);
	return NULL;
}

int ergon_node_ledger_open(struct ergon_node_ledger *node, const char *output_dir,
			   const struct ergon_identity *id, const struct ergon_board_info *info,
			   char stem[112], struct ergon_error *err)
{
	int dirfd;

	memset(node, 0, sizeof(*node));
	dirfd = ergon_step_dir(output_dir, id, node->dir, sizeof(node->dir), err);
	if (dirfd < 0)
		return -1;
	if (*stem)
		node->head = continue_file(dirfd, stem);
	if (!node->head)
		node->head = create_node_file(dirfd, id, info, stem);
	if (!node->head)
		ergon_error_set(err, "cannot make a file in %s: %s", node->dir, strerror(errno));
	close(dirfd);
	if (!node->head)
		return -1;
	node->head->keeper_pid = getpid();
	node->slots = (struct ergon_node_slot *)(node->head + 1);
	memcpy(node->stem, stem, sizeof(node->stem));
	return 0;
}

void ergon_node_ledger_update(struct ergon_node_ledger *node,
			      const struct ergon_node_total *total)
{
	uint64_t turn = node->head->turn + 1;

	node->head->totals[turn & 1] = *total;
	atomic_store_explicit(&node->head->turn, turn, memory_order_release);
}

struct node_text {
	const struct ergon_node_head *head;
	const char *state;
};

static void node_text(FILE *out, const void *arg)
{
	const struct node_text *text = arg;

	ergon_node_csv(out, text->head, &text->head->totals[text->head->turn & 1], text->state);
}

void ergon_node_ledger_drop(struct ergon_node_ledger *node)
{
	if (!node->head)
		return;
	munmap(node->head, NODE_SIZE);
	node->head = NULL;
}

int ergon_node_ledger_finish(struct ergon_node_ledger *node, const char *state, bool keep)
{
	struct node_text text = { node->head, state };

	return turn_into_csv(node->dir, node->stem, node_text, &text, keep);
}
