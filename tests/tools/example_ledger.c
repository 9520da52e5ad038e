/* SPDX-License-Identifier: BSD-3-Clause */
#include "example_ledger.h"

#include <stdio.h>
#include <string.h>

#include "live.h"

#define START_NS 1000000000u
#define BOOKED_NS (START_NS + 1500000000u)

/* package, dram */
static const double scale[2] = { 1, 0.1 };

static void fill_row(struct ergon_row *row, const char *function, enum ergon_activity activity,
		     uint64_t calls, uint64_t time_ns, uint64_t open_ns, double joules)
{
	memset(row, 0, sizeof(*row));
	strcpy(row->phase, "main");
	strcpy(row->function, function);
	row->activity = activity;
	row->calls = calls;
	row->time_ns = time_ns;
	row->open_ns = open_ns;
	row->intervals = 20;
	row->cpu_s = (double)time_ns / 1e9;
	row->joules[ERGON_COLUMN_PACKAGE] = joules * scale[0];
	row->joules[ERGON_COLUMN_DRAM] = joules * scale[1];
}

void example_rank_ledger(struct ergon_rank_head *head, struct ergon_row *rows, int rank)
{
	memset(head, 0, sizeof(*head));
	memcpy(head->magic, ERGON_LEDGER_MAGIC, sizeof(head->magic));
	head->head_size = sizeof(*head);
	head->row_size = sizeof(struct ergon_row);
	head->nrows = 2;
	head->current = 1;
	head->rank = head->local_rank = head->slot = rank;
	head->size = 2;
	head->pid = 100 + rank;
	strcpy(head->job, "77");
	strcpy(head->step, "0");
	strcpy(head->ns, "w");
	strcpy(head->host, "n0");
	strcpy(head->boot_id, "b0");
	strcpy(head->mpi, "Open MPI v4.1.4");
	strcpy(head->mechanism, "perf");
	strcpy(head->scope, "cpu+dram");
	strcpy(head->share, "cores");
	head->hz = 100;
	head->start_ns = START_NS;
	head->last_ns = BOOKED_NS;
	head->samples = 150;
	head->nchannels = 2;
	head->measured = 1u << ERGON_COLUMN_PACKAGE | 1u << ERGON_COLUMN_DRAM;
	head->column[0] = ERGON_COLUMN_PACKAGE;
	head->column[1] = ERGON_COLUMN_DRAM;
	for (int c = 0; c < 2; c++) {
		head->last_s[c] = 30 * scale[c];
		head->weight[c] = 0.5;
	}
	fill_row(&rows[0], "", ERGON_ACTIVITY_APP, 0, 1000000000u, 50000000u, 10);
	fill_row(&rows[1], "MPI_Barrier", ERGON_ACTIVITY_COLLECTIVE, 3, 500000000u, 30000000u, 5);
}

void example_node_ledger(struct ergon_node_head *head, struct ergon_node_slot slots[2])
{
	static const char *const names[2] = { "package0", "dram0" };
	struct ergon_node_total *total;

	memset(head, 0, sizeof(*head));
	memset(slots, 0, 2 * sizeof(*slots));
	memcpy(head->magic, ERGON_NODE_MAGIC, sizeof(head->magic));
	head->head_size = sizeof(*head);
	head->slot_size = sizeof(struct ergon_node_slot);
	head->nslots = 2;
	head->nchannels = 2;
	strcpy(head->job, "77");
	strcpy(head->step, "0");
	strcpy(head->host, "n0");
	strcpy(head->boot_id, "b0");
	strcpy(head->mechanism, "perf");
	strcpy(head->scope, "cpu+dram");
	head->hz = 100;
	head->start_ns = START_NS;
	head->turn = 1;
	total = &head->totals[1];
	total->t_ns = BOOKED_NS + 40000000u;
	total->samples = 154;
	for (int c = 0; c < 2; c++) {
		strcpy(head->channels[c].name, names[c]);
		head->channels[c].domain = c == 0 ? ERGON_DOMAIN_PACKAGE : ERGON_DOMAIN_DRAM;
		total->s[c] = 40 * scale[c];
		total->e[c] = 42 * scale[c];
		total->u[c] = 3 * scale[c];
		slots[0].s[c] = 38 * scale[c];
	}
	for (int i = 0; i < 2; i++) {
		slots[i].rank = i;
		slots[i].pid = 100 + i;
	}
	slots[0].state = ERGON_SLOT_DEAD;
	slots[0].upto_ns = BOOKED_NS + 20000000u;
	slots[1].state = ERGON_SLOT_PRESENT;
}

int example_write(const char *path, const void *head, size_t head_size, const void *body,
		  size_t body_size)
{
	FILE *out = fopen(path, "w");
	int rc = 0;

	if (!out)
		return -1;
	if (fwrite(head, head_size, 1, out) != 1 || fwrite(body, body_size, 1, out) != 1)
		rc = -1;
	return fclose(out) == 0 ? rc : -1;
}
