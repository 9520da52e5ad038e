/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be said once all files are read: who is missing, does it add up. */
#include <math.h>

#include "merge.h"

#define ROUNDING 0.5e-9         /* of a figure with nine decimals */
#define TOLERANCE 1e-9          /* relative */

static void find_missing(struct merge *m)
{
	char text[256] = "";
	size_t used = 0;
	unsigned missing = (unsigned)m->head.size - m->seen;

	for (int rank = 0; missing > 0 && rank < m->head.size; rank++) {
		int last = rank;

		if (m->ranks_seen[rank / 8] & 1u << rank % 8)
			continue;
		while (last + 1 < m->head.size &&
		       !(m->ranks_seen[(last + 1) / 8] & 1u << (last + 1) % 8))
			last++;
		if (used + 40 > sizeof(text)) {
			used += (size_t)snprintf(text + used, sizeof(text) - used, ", ...");
			break;
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d",
					 used ? ", " : "", rank);
		if (last > rank)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "-%d", last);
		rank = last;
	}
	if (missing > 0)
		problem_add(&m->problems, PROBLEM_MISSING, NULL, 0, "%u of %d ranks are missing: %s",
			    missing, m->head.size, text);
}

static void sum_nodes(struct merge *m)
{
	for (size_t i = 0; i < m->nodes.n; i++) {
		const struct merge_node *node = m->nodes.items[i];

		m->hosts += node->ranks > 0;
		m->nodes_with_file += node->has_file;
		m->node_measured |= node->measured;
		if (node->ranks_measured && !node->has_file)
			problem_add(&m->problems, PROBLEM_NODE_MISSING, NULL, 0,
				    "node %s: no node file; its %u ranks are not part of the conservation check",
				    node->host, node->ranks);
		for (int c = 0; c < ERGON_COLUMN_COUNT; c++) {
			m->node_j[c] += node->node_j[c];
			m->unattributed_j[c] += node->unattributed_j[c];
		}
	}
}

/* What is known to be lost or doubtful, for a difference that needs a reason. */
static void explain(struct merge *m)
{
	static const struct { enum problem_kind kind; const char *text; } causes[] = {
		{ PROBLEM_MISSING, "ranks are missing" },
		{ PROBLEM_PARTIAL, "ranks are partial" },
		{ PROBLEM_DUPLICATE, "a rank is there twice" },
		{ PROBLEM_FOREIGN, "files of another run were left out" },
		{ PROBLEM_NODE_TWICE, "a node has two files" },
		{ PROBLEM_NODE_MISSING, "a node has no file" },
		{ PROBLEM_MIXED, "the files disagree" },
	};
	size_t used = 0;

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (m->problems.count[causes[i].kind] > 0)
			used += (size_t)snprintf(m->why + used, sizeof(m->why) - used, "%s%s",
						 used ? "; " : "", causes[i].text);
	if (used == 0)
		snprintf(m->why, sizeof(m->why), "nothing in the files explains it: they were changed, or this is a fault of ergon");
}

static void check_conservation(struct merge *m, int c)
{
	struct merge_conservation *check = &m->conservation[c];
	double worst = 0, values = 0;

	for (size_t i = 0; i < m->nodes.n; i++) {
		const struct merge_node *node = m->nodes.items[i];
		double difference;

		if (!node->has_file || !(node->measured & 1u << c))
			continue;
		difference = node->ranks_j[c] + node->unattributed_j[c] - node->node_j[c];
		check->known = true;
		check->ranks += node->ranks_j[c];
		check->unattributed += node->unattributed_j[c];
		check->node += node->node_j[c];
		values += (double)node->values;
		if (fabs(difference) > worst || !check->worst_host) {
			worst = fabs(difference);
			check->worst_host = node->host;
		}
	}
	if (!check->known)
		return;
	check->difference = check->ranks + check->unattributed - check->node;
	check->relative = check->node > ROUNDING ? fabs(check->difference) / check->node : 0;
	/* Nine decimals in the files: many small figures may differ by their rounding. */
	check->ok = fabs(check->difference) <= TOLERANCE * check->node + ROUNDING * values;
	if (!check->ok)
		problem_add(&m->problems, PROBLEM_CONSERVATION, NULL, 0,
			    "%s: ranks and unattributed differ from the nodes by %.9f J (most on %s): %s",
			    ergon_column_word(c), check->difference, check->worst_host, m->why);
}

void merge_check(struct merge *m)
{
	find_missing(m);
	sum_nodes(m);
	explain(m);
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		check_conservation(m, c);
}
