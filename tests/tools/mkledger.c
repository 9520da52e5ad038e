/* SPDX-License-Identifier: BSD-3-Clause */
/* mkledger DIR: the three files of example_ledger.h. */
#include <stdio.h>
#include <string.h>

#include "example_ledger.h"

static int report(const char *path, int rc)
{
	if (rc < 0)
		perror(path);
	return rc;
}

int main(int argc, char **argv)
{
	struct ergon_node_head node;
	struct ergon_node_slot slots[2];
	char path[4096];
	int rc;

	if (argc != 2) {
		fprintf(stderr, "usage: mkledger DIR\n");
		return 2;
	}
	for (int rank = 0; rank < 2; rank++) {
		struct ergon_rank_head head;
		struct ergon_row rows[2];

		example_rank_ledger(&head, rows, rank);
		snprintf(path, sizeof(path), "%s/rank.w.%d.ledger", argv[1], rank);
		if (report(path, example_write(path, &head, sizeof(head), rows, sizeof(rows))) < 0)
			return 1;
	}
	example_node_ledger(&node, slots);
	snprintf(path, sizeof(path), "%s/node.n0.ledger", argv[1]);
	rc = report(path, example_write(path, &node, sizeof(node), slots, sizeof(slots)));
	return rc < 0;
}
