/* SPDX-License-Identifier: BSD-3-Clause */
#include "acct_run.h"

#include <stdbool.h>
#include <stdlib.h>

struct seen {
	int64_t *steps;           /* each once, the last one met at the end */
	size_t n;
	int64_t restart;          /* of a step that knows it */
};

int64_t ergon_acct_end_ns(const struct ergon_record *r)
{
	int64_t end = r->end_ns;

	if (end == ERGON_NONE)
		end = r->start_ns + (int64_t)r->curve.end_ns;
	/* Even a step of no length counts once. */
	return end > r->start_ns ? end : r->start_ns + 1;
}

/* The records from at on that overlap in time, one with the next. */
static size_t overlapping(const struct ergon_record *const *records, size_t at, size_t n)
{
	int64_t end = ergon_acct_end_ns(records[at++]);

	for (; at < n && records[at]->start_ns < end; at++)
		if (ergon_acct_end_ns(records[at]) > end)
			end = ergon_acct_end_ns(records[at]);
	return at;
}

static bool has_step(const struct seen *seen, int64_t step)
{
	for (size_t i = seen->n; i > 0; i--)
		if (seen->steps[i - 1] == step)
			return true;
	return false;
}

static bool is_of_another_run(const struct seen *seen, const struct ergon_record *r)
{
	if (has_step(seen, r->step))
		return true;
	return r->step != ERGON_STEP_EXTERN && r->restart != ERGON_NONE &&
	       seen->restart != ERGON_NONE && r->restart != seen->restart;
}

static void add(struct seen *seen, const struct ergon_record *r)
{
	if (!has_step(seen, r->step))
		seen->steps[seen->n++] = r->step;
	if (r->step != ERGON_STEP_EXTERN && r->restart != ERGON_NONE)
		seen->restart = r->restart;
}

size_t ergon_acct_run(const struct ergon_record *const *records, size_t n)
{
	struct seen seen = { calloc(n + 1, sizeof(*seen.steps)), 0, ERGON_NONE };
	size_t end = 0;

	while (seen.steps && end < n) {
		size_t next = overlapping(records, end, n);

		for (size_t i = end; i < next; i++)
			if (is_of_another_run(&seen, records[i]))
				goto out;
		for (; end < next; end++)
			add(&seen, records[end]);
	}
out:
	free(seen.steps);
	return end;
}
