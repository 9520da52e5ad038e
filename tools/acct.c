/* SPDX-License-Identifier: BSD-3-Clause */
/* `ergon acct`: options and the way from the store's records to rows. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "acct_field.h"
#include "acct_json.h"
#include "acct_run.h"
#include "acct_select.h"
#include "acct_time.h"
#include "acct_total.h"
#include "commands.h"
#include "environ.h"
#include "store_config.h"

#define NS_PER_S INT64_C(1000000000)

static const char help[] =
"usage: ergon acct [OPTION...]\n"
"\n"
"Energy of jobs and their steps, in sacct's manner, from what `ergon ingest`\n"
"has stored. Without -j: jobs that ran today; of the user, for root of all.\n"
"\n"
"  -j, --jobs JOB[.STEP][,...]  also ARRAY_TASK, JOB+HET, JOB.batch, JOB.extern\n"
"  -u, --user USER[,...]        names or numbers\n"
"  -a, --allusers               jobs of all users\n"
"  -S, --starttime TIME         jobs that ran at or after TIME\n"
"  -E, --endtime TIME           jobs that ran at or before TIME\n"
"                               2026-11-30[T12:00[:00]], 12:00, today, now-2hours\n"
"  -X, --allocations            jobs only, no steps\n"
"  -D, --duplicates             every run of a requeued job, not only the last\n"
"  -o, --format FIELD[%[-]WIDTH][,...]\n"
"  -e, --helpformat             list the fields\n"
"  -p, --parsable               '|' after every field; -P, --parsable2: between\n"
"      --delimiter TEXT         instead of '|'\n"
"  -n, --noheader\n"
"      --json                   {\"v\":1,\"jobs\":[...]}, exact numbers\n"
"      --config FILE            configuration instead of the site's\n"
"\n"
"ConsumedEnergy: what is put down to the job; NodeEnergy: what its nodes used\n"
"meanwhile. Joules, scaled by 1000; \"~\" before a figure: from a model, not\n"
"measured (the Flags say estimated). Empty: not measured, never 0. A job's\n"
"energy is the union over time of its steps on each node, so it may be less\n"
"than their sum. Coverage: nodes with energy / nodes.\n"
"ERGON_ACCT_FORMAT holds other default fields.\n";

struct options {
	struct ergon_acct_jobs jobs;
	struct ergon_acct_users users;
	struct ergon_acct_format format;
	const char *fields, *config;
	int64_t since_ns, until_ns; /* ERGON_NONE: not given */
	bool all_users, jobs_only, duplicates, no_header, json;
	bool done;                /* help was printed */
};

/* The records of one job number, as they come from the store. */
struct acct {
	const struct options *options;
	struct ergon_record **records;
	size_t n, room;
	bool first;               /* nothing printed yet (JSON needs commas) */
};

static void complain(const struct ergon_error *err)
{
	fprintf(stderr, "ergon acct: %s\n", err->text);
}

/* Order of records inside a job number: by cluster and start, as runs need it. */
static int by_start(const void *a, const void *b)
{
	const struct ergon_record *x = *(struct ergon_record *const *)a;
	const struct ergon_record *y = *(struct ergon_record *const *)b;
	int order = strcmp(x->cluster, y->cluster);

	if (order != 0)
		return order;
	return x->start_ns != y->start_ns ? (x->start_ns < y->start_ns ? -1 : 1) :
	       x->step < y->step ? -1 : x->step > y->step;
}

/* Order inside a run: node by node. */
static int by_node(const void *a, const void *b)
{
	const struct ergon_record *x = *(struct ergon_record *const *)a;
	const struct ergon_record *y = *(struct ergon_record *const *)b;
	int order = strcmp(x->node, y->node);

	return order != 0 ? order : by_start(a, b);
}

/* Order of the steps of a run: interactive, batch, extern, 0, 1 ... */
static int by_step(const void *a, const void *b)
{
	const struct ergon_record *x = *(struct ergon_record *const *)a;
	const struct ergon_record *y = *(struct ergon_record *const *)b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return by_node(a, b);
}

/* An extern step has no environment to learn its cluster from; its siblings have. */
static void adopt_cluster(struct acct *acct)
{
	const char *cluster = NULL;

	for (size_t i = 0; i < acct->n; i++) {
		const char *name = acct->records[i]->cluster;

		if (*name && cluster && strcmp(cluster, name) != 0)
			return;
		if (*name)
			cluster = name;
	}
	for (size_t i = 0; cluster && i < acct->n; i++)
		if (!*acct->records[i]->cluster)
			memcpy(acct->records[i]->cluster, cluster, strlen(cluster) + 1);
}

static int print_json(struct acct *acct, const struct ergon_acct_row *job,
		      const struct ergon_acct_row *steps, size_t nsteps)
{
	fputs(acct->first ? "" : ",\n", stdout);
	acct->first = false;
	return ergon_acct_json(job, steps, nsteps, stdout);
}

static int print_run(struct acct *acct, const struct ergon_acct_row *job,
		     const struct ergon_acct_row *steps, size_t nsteps)
{
	const struct options *o = acct->options;
	bool show_job = ergon_acct_wants(&o->jobs, job, job);

	if (o->json)
		return show_job || nsteps > 0 ? print_json(acct, job, steps, nsteps) : 0;
	if (show_job)
		ergon_acct_print_row(&o->format, job, stdout);
	for (size_t i = 0; i < nsteps; i++)
		ergon_acct_print_row(&o->format, &steps[i], stdout);
	return 0;
}

/* Rows of the steps that are asked for; how many, -1 when memory is out. */
static ssize_t make_steps(const struct options *o, const struct ergon_acct_row *job,
			  struct ergon_record **records, size_t n, struct ergon_acct_row *steps)
{
	size_t used = 0;

	qsort(records, n, sizeof(*records), by_step);
	for (size_t i = 0, len; i < n && !o->jobs_only; i += len) {
		for (len = 1; i + len < n && records[i + len]->step == records[i]->step;)
			len++;
		if (ergon_acct_step(&steps[used],
				    (const struct ergon_record *const *)records + i, len) < 0)
			return -1;
		/* What a step does not know of its job, the job knows. */
		steps[used].array_job = job->array_job;
		steps[used].array_task = job->array_task;
		steps[used].het = job->het;
		steps[used].restart = job->restart;
		if (ergon_acct_wants(&o->jobs, job, &steps[used]))
			used++;
		else
			ergon_acct_row_free(&steps[used]);
	}
	return (ssize_t)used;
}

/* One run of a job: all its records. order: how many runs came before. */
static int show_run(struct acct *acct, struct ergon_record **records, size_t n, int64_t order)
{
	struct ergon_acct_row *steps = calloc(n, sizeof(*steps));
	struct ergon_acct_row job;
	ssize_t nsteps;
	int result = -1;

	qsort(records, n, sizeof(*records), by_node);

	if (!steps || ergon_acct_job(&job, (const struct ergon_record *const *)records, n) < 0) {
		free(steps);
		return -1;
	}
	/* The counts of the records may be unknown, or those of a number that came back. */
	if (job.restart < order)
		job.restart = order;
	nsteps = make_steps(acct->options, &job, records, n, steps);
	if (nsteps >= 0)
		result = print_run(acct, &job, steps, (size_t)nsteps);
	for (size_t i = 0; i < n; i++)
		ergon_acct_row_free(&steps[i]);
	ergon_acct_row_free(&job);
	free(steps);
	return result;
}

/* The runs of one cluster's job; without -D only the last is shown. */
static int show_runs(struct acct *acct, struct ergon_record **records, size_t n)
{
	int64_t order = 0;

	for (size_t i = 0, run; i < n; i += run, order++) {
		run = ergon_acct_run((const struct ergon_record *const *)records + i, n - i);
		if (run == 0)
			return -1;
		if ((acct->options->duplicates || i + run == n) &&
		    show_run(acct, records + i, run, order) < 0)
			return -1;
	}
	return 0;
}

/* How many records from at on are of one cluster. */
static size_t of_one_cluster(const struct acct *acct, size_t at)
{
	size_t end = at + 1;

	while (end < acct->n &&
	       strcmp(acct->records[end]->cluster, acct->records[at]->cluster) == 0)
		end++;
	return end - at;
}

/* All records of a job number are there: print what is asked for and forget them. */
static int flush_job(struct acct *acct)
{
	int result = 0;

	if (acct->n == 0)
		return 0;
	adopt_cluster(acct);
	qsort(acct->records, acct->n, sizeof(*acct->records), by_start);
	for (size_t i = 0, n; i < acct->n && result == 0; i += n) {
		n = of_one_cluster(acct, i);
		result = show_runs(acct, acct->records + i, n);
	}
	for (size_t i = 0; i < acct->n; i++)
		free(acct->records[i]);
	acct->n = 0;
	return result;
}

static int on_record(const struct ergon_record *record, void *arg)
{
	struct acct *acct = arg;

	if (acct->n > 0 && acct->records[0]->job != record->job && flush_job(acct) < 0)
		return 1;
	if (acct->n == acct->room) {
		size_t room = acct->room ? 2 * acct->room : 64;
		void *more = realloc(acct->records, room * sizeof(*acct->records));

		if (!more)
			return 1;
		acct->records = more;
		acct->room = room;
	}
	acct->records[acct->n] = malloc(sizeof(*record));
	if (!acct->records[acct->n])
		return 1;
	memcpy(acct->records[acct->n++], record, sizeof(*record));
	return 0;
}

static void make_query(const struct options *o, struct ergon_store_pick *picks,
		       struct ergon_store_user *me, struct ergon_store_query *q)
{
	time_t midnight = 0;

	for (size_t i = 0; i < o->jobs.n; i++)
		picks[i] = o->jobs.ids[i].pick;
	*q = (struct ergon_store_query){ picks, o->jobs.n, o->users.users, o->users.n,
		o->since_ns, o->until_ns };
	/* As sacct: whoever names jobs means them whoever ran them. */
	if (o->all_users)
		q->nusers = 0;
	else if (q->nusers == 0 && o->jobs.n == 0 && getuid() != 0) {
		*me = (struct ergon_store_user){ (int64_t)getuid(), NULL };
		q->users = me;
		q->nusers = 1;
	}
	if (q->since_ns == ERGON_NONE && o->jobs.n == 0) {
		ergon_acct_time_parse("today", time(NULL), &midnight);
		q->since_ns = (int64_t)midnight * NS_PER_S;
	}
	if (q->until_ns == ERGON_NONE)
		q->until_ns = INT64_MAX;
}

static int show(const struct options *o, struct ergon_store *store, struct ergon_error *err)
{
	struct ergon_store_pick *picks = calloc(o->jobs.n + 1, sizeof(*picks));
	struct acct acct = { .options = o, .first = true };
	struct ergon_store_query query;
	struct ergon_store_user me;
	int result = -1;

	if (picks) {
		make_query(o, picks, &me, &query);
		if (o->json)
			fputs("{\"v\":1,\"jobs\":[", stdout);
		else if (!o->no_header)
			ergon_acct_print_header(&o->format, stdout);
		result = ergon_store_records(store, &query, on_record, &acct, err);
		if (result == 0)
			result = flush_job(&acct) < 0;
		if (o->json)
			fputs("]}\n", stdout);
	}
	if (!picks || result > 0)
		result = ergon_error_set(err, "out of memory");
	for (size_t i = 0; i < acct.n; i++)
		free(acct.records[i]);
	free(acct.records);
	free(picks);
	if (result == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		result = ergon_error_set(err, "cannot write the output");
	return result;
}

static int set_time(int64_t *ns, const char *option, const char *text, struct ergon_error *err)
{
	time_t t;

	if (ergon_acct_time_parse(text, time(NULL), &t) < 0)
		return ergon_error_set(err, "%s: '%s' is not a time: expected for instance "
				       "2026-11-30T12:00, 12:00, today or now-2hours",
				       option, text);
	*ns = (int64_t)t * NS_PER_S;
	return 0;
}

enum { OPTION_CONFIG = 256, OPTION_DELIMITER, OPTION_JSON };

static const struct option long_options[] = {
	{ "allocations", no_argument, NULL, 'X' },
	{ "allusers", no_argument, NULL, 'a' },
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "delimiter", required_argument, NULL, OPTION_DELIMITER },
	{ "duplicates", no_argument, NULL, 'D' },
	{ "endtime", required_argument, NULL, 'E' },
	{ "format", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, 'h' },
	{ "helpformat", no_argument, NULL, 'e' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "noheader", no_argument, NULL, 'n' },
	{ "parsable", no_argument, NULL, 'p' },
	{ "parsable2", no_argument, NULL, 'P' },
	{ "starttime", required_argument, NULL, 'S' },
	{ "uid", required_argument, NULL, 'u' },
	{ "user", required_argument, NULL, 'u' },
	{ NULL, 0, NULL, 0 }
};

/* Options that take a value or print; 0, or -1 + err. */
static int set_option(struct options *o, int option, const char *value, struct ergon_error *err)
{
	switch (option) {
	case 'S':
		return set_time(&o->since_ns, "-S", value, err);
	case 'E':
		return set_time(&o->until_ns, "-E", value, err);
	case 'j':
		return ergon_acct_jobs_add(&o->jobs, value, err);
	case 'u':
		return ergon_acct_users_add(&o->users, value, err);
	case 'o':
		o->fields = value;
		return 0;
	case OPTION_CONFIG:
		o->config = value;
		return 0;
	case OPTION_DELIMITER:
		o->format.delimiter = value;
		return *value ? 0 : ergon_error_set(err, "--delimiter: is empty");
	case 'h':
		fputs(help, stdout);
		o->done = true;
		return 0;
	case 'e':
		ergon_acct_print_fields(stdout);
		o->done = true;
		return 0;
	}
	return ergon_error_set(err, "`ergon acct --help` explains the options");
}

static int parse_options(struct options *o, int argc, char **argv, struct ergon_error *err)
{
	int option;

	while (!o->done && (option = getopt_long(argc, argv, "aDeE:hj:no:pPS:u:X",
						 long_options, NULL)) != -1) {
		switch (option) {
		case 'a':
			o->all_users = true;
			break;
		case 'D':
			o->duplicates = true;
			break;
		case 'n':
			o->no_header = true;
			break;
		case 'p':
			o->format.layout = ERGON_ACCT_PARSABLE;
			break;
		case 'P':
			o->format.layout = ERGON_ACCT_PARSABLE2;
			break;
		case 'X':
			o->jobs_only = true;
			break;
		case OPTION_JSON:
			o->json = true;
			break;
		default:
			if (set_option(o, option, optarg, err) < 0)
				return -1;
		}
	}
	if (!o->done && optind < argc)
		return ergon_error_set(err, "unexpected argument '%s'; jobs are given with -j",
				       argv[optind]);
	return 0;
}

static int acct_run(struct options *o, struct ergon_error *err)
{
	struct ergon_store *store;
	struct ergon_conf conf;
	const char *path;
	int result;

	if (!o->fields)
		o->fields = ergon_env_get(ERGON_ENV_ACCT_FORMAT);
	if (ergon_acct_format_parse(&o->format, *o->fields ? o->fields :
				    ERGON_ACCT_DEFAULT_FORMAT, err) < 0 ||
	    ergon_store_config(&conf, o->config, err) < 0)
		return -1;
	path = ergon_store_path(conf.store, err);
	store = path ? ergon_store_open(path, ERGON_STORE_READ, err) : NULL;
	if (!store)
		return -1;
	result = show(o, store, err);
	ergon_store_close(store);
	return result;
}

int ergon_cmd_acct(int argc, char **argv)
{
	struct options o = { .since_ns = ERGON_NONE, .until_ns = ERGON_NONE,
		.format = { .layout = ERGON_ACCT_ALIGNED, .delimiter = "|" } };
	struct ergon_error err;
	int status = ERGON_EXIT_OK;

	if (parse_options(&o, argc, argv, &err) < 0) {
		complain(&err);
		status = ERGON_EXIT_USAGE;
	} else if (!o.done && acct_run(&o, &err) < 0) {
		complain(&err);
		status = ERGON_EXIT_FAILURE;
	}
	ergon_acct_jobs_free(&o.jobs);
	ergon_acct_users_free(&o.users);
	return status;
}
