/* SPDX-License-Identifier: BSD-3-Clause */
#include "acct_select.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	int64_t step;
} special_steps[] = {
	{ "batch", ERGON_STEP_BATCH },
	{ "extern", ERGON_STEP_EXTERN },
	{ "interactive", ERGON_STEP_INTERACTIVE },
};

#define SPECIAL_STEPS (sizeof(special_steps) / sizeof(special_steps[0]))

char *ergon_acct_step_name(int64_t step, char *buf, size_t size)
{
	for (size_t i = 0; i < SPECIAL_STEPS; i++) {
		if (special_steps[i].step == step) {
			snprintf(buf, size, "%s", special_steps[i].word);
			return buf;
		}
	}
	snprintf(buf, size, "%" PRId64, step);
	return buf;
}

/* Digits up to the next other character; -1 when there are none or too many. */
static int take_number(const char **text, int64_t *value)
{
	const char *start = *text;

	*value = 0;
	while (isdigit((unsigned char)**text) && *value <= UINT32_MAX)
		*value = *value * 10 + *(*text)++ - '0';
	return *text > start && *value <= UINT32_MAX ? 0 : -1;
}

static int parse_step(const char *text, int64_t *step)
{
	for (size_t i = 0; i < SPECIAL_STEPS; i++) {
		if (strcmp(text, special_steps[i].word) == 0) {
			*step = special_steps[i].step;
			return 0;
		}
	}
	return take_number(&text, step) < 0 || *text ? -1 : 0;
}

static int parse_job(const char *text, struct ergon_acct_job_id *id)
{
	*id = (struct ergon_acct_job_id){ { 0, ERGON_NONE, ERGON_NONE }, ERGON_NONE };
	if (take_number(&text, &id->pick.job) < 0 || id->pick.job == 0)
		return -1;
	if (*text == '_' && (text++, take_number(&text, &id->pick.array_task) < 0))
		return -1;
	if (*text == '+' && (text++, take_number(&text, &id->pick.het) < 0))
		return -1;
	if (*text == '.')
		return parse_step(text + 1, &id->step);
	return *text ? -1 : 0;
}

static void *grow(void *array, size_t n, size_t size)
{
	return n % 16 ? array : realloc(array, (n + 16) * size);
}

int ergon_acct_jobs_add(struct ergon_acct_jobs *jobs, const char *text, struct ergon_error *err)
{
	char *copy = strdup(text), *save = NULL;
	size_t before = jobs->n;
	int result = 0;

	for (char *word = copy ? strtok_r(copy, ", ", &save) : NULL; word && result == 0;
	     word = strtok_r(NULL, ", ", &save)) {
		void *more = grow(jobs->ids, jobs->n, sizeof(*jobs->ids));

		if (!more) {
			result = ergon_error_set(err, "out of memory");
			break;
		}
		jobs->ids = more;
		if (parse_job(word, &jobs->ids[jobs->n++]) < 0)
			result = ergon_error_set(err, "-j: '%s' is not a job: expected JOB, "
						 "ARRAY_TASK or JOB+HET, with .STEP, .batch, "
						 ".extern or .interactive", word);
	}
	if (result == 0 && jobs->n == before)
		result = ergon_error_set(err, "-j: no job given");
	free(copy);
	return result;
}

static int parse_user(const char *word, struct ergon_store_user *user)
{
	const struct passwd *pw = getpwnam(word);
	char *end;
	long uid;

	*user = (struct ergon_store_user){ ERGON_NONE, NULL };
	errno = 0;
	uid = strtol(word, &end, 10);
	if (pw)
		user->uid = (int64_t)pw->pw_uid;
	else if (!errno && *word && !*end && uid >= 0)
		user->uid = uid;
	else
		user->name = strdup(word);
	return user->uid != ERGON_NONE || user->name ? 0 : -1;
}

int ergon_acct_users_add(struct ergon_acct_users *users, const char *text,
			 struct ergon_error *err)
{
	char *copy = strdup(text), *save = NULL;
	size_t before = users->n;
	int result = 0;

	for (char *word = copy ? strtok_r(copy, ", ", &save) : NULL; word && result == 0;
	     word = strtok_r(NULL, ", ", &save)) {
		void *more = grow(users->users, users->n, sizeof(*users->users));

		if (more)
			users->users = more;
		if (!more || parse_user(word, &users->users[users->n]) < 0)
			result = ergon_error_set(err, "out of memory");
		else
			users->n++;
	}
	if (result == 0 && users->n == before)
		result = ergon_error_set(err, "-u: no user given");
	free(copy);
	return result;
}

void ergon_acct_jobs_free(struct ergon_acct_jobs *jobs)
{
	free(jobs->ids);
	*jobs = (struct ergon_acct_jobs){ NULL, 0 };
}

void ergon_acct_users_free(struct ergon_acct_users *users)
{
	for (size_t i = 0; i < users->n; i++)
		free((char *)users->users[i].name);
	free(users->users);
	*users = (struct ergon_acct_users){ NULL, 0 };
}

static bool names_job(const struct ergon_store_pick *pick, const struct ergon_acct_row *job)
{
	if (pick->array_task != ERGON_NONE)
		return job->array_job == pick->job && job->array_task == pick->array_task;
	if (pick->het != ERGON_NONE)
		return job->job == pick->job && job->het == pick->het;
	return job->job == pick->job || job->array_job == pick->job;
}

bool ergon_acct_wants(const struct ergon_acct_jobs *jobs, const struct ergon_acct_row *job,
		      const struct ergon_acct_row *row)
{
	for (size_t i = 0; i < jobs->n; i++) {
		const struct ergon_acct_job_id *id = &jobs->ids[i];

		if (names_job(&id->pick, job) &&
		    (id->step == ERGON_NONE || (!row->is_job && row->step == id->step)))
			return true;
	}
	return jobs->n == 0;
}
