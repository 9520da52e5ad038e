/* SPDX-License-Identifier: BSD-3-Clause */
/* What -j and -u name. */
#ifndef ERGON_ACCT_SELECT_H
#define ERGON_ACCT_SELECT_H

#include <stdbool.h>

#include "acct_total.h"
#include "store.h"

struct ergon_acct_job_id {
	struct ergon_store_pick pick;
	int64_t step;             /* ERGON_NONE: all, and the job itself */
};

/* Growing lists; free the arrays (and the names). */
struct ergon_acct_jobs {
	struct ergon_acct_job_id *ids;
	size_t n;
};

struct ergon_acct_users {
	struct ergon_store_user *users;
	size_t n;
};

/* Add JOB[.STEP][,...], JOB one of J, ARRAY_TASK, J+HET; STEP a number, batch, extern, interactive. */
int ergon_acct_jobs_add(struct ergon_acct_jobs *jobs, const char *text, struct ergon_error *err);

/* Add a list of user names and numbers; a name without an account here is looked for as it stands. */
int ergon_acct_users_add(struct ergon_acct_users *users, const char *text,
			 struct ergon_error *err);

void ergon_acct_jobs_free(struct ergon_acct_jobs *jobs);
void ergon_acct_users_free(struct ergon_acct_users *users);

/* Whether a row is asked for; without ids every row is. job: the row of its job. */
bool ergon_acct_wants(const struct ergon_acct_jobs *jobs, const struct ergon_acct_row *job,
		      const struct ergon_acct_row *row);

/* "batch", "extern", "interactive" or the number. */
char *ergon_acct_step_name(int64_t step, char *buf, size_t size);

#endif
