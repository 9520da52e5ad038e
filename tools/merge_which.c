/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge_which.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger_read.h"

#define VOTES 64                /* heads read to find out which run this is */

static void name_run(struct merge_which *run, const struct rankfile_head *head,
		     const struct merge_file *file)
{
	memset(run, 0, sizeof(*run));
	memcpy(run->job, head->job, sizeof(run->job));
	memcpy(run->step, head->step, sizeof(run->step));
	snprintf(run->ns, sizeof(run->ns), "%.*s", (int)file->ns_len, file->ns);
}

/* Read only who a rank file is of. */
static int read_identity(const struct merge_scan *scan, const struct merge_file *file,
			 struct rankfile *f)
{
	char *path = merge_scan_path(scan, file);
	int rc = -1;

	if (path && file->kind == MERGE_RANK_CSV) {
		rc = rankfile_read_head(f, path, RANKFILE_RANK);
	} else if (path) {
		struct problems problems = { 0 };
		struct ledger l;

		rc = ledger_read_rank(&l, path, &problems);
		if (rc == 0)
			rc = ledger_finish_rank(&l, path, NULL, f, &problems);
		ledger_free(&l);
		problems_free(&problems);
	}
	free(path);
	return rc;
}

bool merge_which_has_ns(const struct merge_file *file, const char *ns)
{
	return file->ns_len == strlen(ns) && memcmp(file->ns, ns, file->ns_len) == 0;
}

static bool is_candidate(const struct merge_file *file, const char *ns)
{
	return file->kind >= MERGE_RANK_CSV && (!ns || merge_which_has_ns(file, ns));
}

void merge_which_choose(struct merge_which *chosen, const struct merge_scan *scan, const char *ns,
			struct rankfile *f)
{
	size_t n = 0, step, seen = 0;
	unsigned lead = 0;

	for (size_t i = 0; i < scan->nfiles; i++)
		n += is_candidate(&scan->files[i], ns);
	step = n > VOTES ? n / VOTES : 1;
	memset(chosen, 0, sizeof(*chosen));
	for (size_t i = 0; i < scan->nfiles; i++) {
		struct merge_which run;

		if (!is_candidate(&scan->files[i], ns) || seen++ % step != 0 ||
		    read_identity(scan, &scan->files[i], f) < 0)
			continue;
		name_run(&run, &f->head, &scan->files[i]);
		if (memcmp(&run, chosen, sizeof(run)) == 0) {
			lead++;
		} else if (lead == 0) {
			*chosen = run;
			lead = 1;
		} else {
			lead--;
		}
	}
	if (ns)
		snprintf(chosen->ns, sizeof(chosen->ns), "%s", ns);
}
