/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes journal lines to stdout for the tests of ingest and acct.
 *
 *   journal_make < SPEC       a record per line of words MEMBER=VALUE
 *   journal_make --many N [FIRST_JOB]
 *                             N records like those of a busy site, 2 nodes a step
 *   journal_make --checkpoint < JSON
 *                             the checkpoint file that holds this record
 *
 * Members are those of the record; besides flags=a|b, state=WORD,
 * package=UJ (any domain), max_mw=, and curve=DT_NS:MJ,MJ,... (the node's).
 * What is not said is that of a plain complete step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flags.h"
#include "journal.h"
#include "record.h"
#include "record_field.h"
#include "record_read.h"

#define T0 INT64_C(1796083200000000000)
#define SECOND INT64_C(1000000000)

static void plain(struct ergon_record *r)
{
	ergon_record_init(r);
	strcpy(r->cluster, "c1");
	strcpy(r->node, "n1");
	strcpy(r->user, "alice");
	strcpy(r->account, "phys");
	strcpy(r->partition, "batch");
	strcpy(r->job_name, "solver");
	strcpy(r->mechanism, "perf");
	strcpy(r->scope, "cpu+dram");
	r->job = 1;
	r->restart = 0;
	r->step = 0;
	r->uid = 1000;
	r->nnodes = 1;
	r->ntasks = 1;
	r->node_tasks = 1;
	r->cpus = r->node_cpus = 4;
	r->start_ns = T0;
	r->end_ns = T0 + 10 * SECOND;
	r->state = ERGON_STATE_COMPLETE;
	r->exit_code = 0;
	r->model = 0;
	r->freq_hz = 1;
	r->samples = 11;
	r->missed = 0;
}

static void emit(const struct ergon_record *r)
{
	static char json[ERGON_RECORD_MAX];
	int len = ergon_record_format(r, json, sizeof(json));

	if (len < 0)
		exit(1);
	printf("%s\t%08" PRIx32 "\n", json, ergon_crc32c(json, (size_t)len));
}

static void set_curve(struct ergon_record *r, char *value)
{
	char *at;

	r->curve.dt_ns = strtoull(value, &at, 10);
	for (r->curve.used = 0; *at && r->curve.used < ERGON_CURVE_MAX; r->curve.used++)
		r->curve.uj[r->curve.used] = strtoull(at + 1, &at, 10) * 1000;
}

static int set_member(struct ergon_record *r, const char *name, char *value)
{
	int domain = ergon_domain_parse(name);

	if (strcmp(name, "max_mw") == 0)
		return r->max_w_mw = strtoll(value, NULL, 10), 0;
	for (size_t i = 0; i < ergon_record_field_count; i++) {
		const struct ergon_record_field *f = &ergon_record_fields[i];
		void *member = (char *)r + f->offset;

		if (strcmp(f->name, name) != 0)
			continue;
		if (f->kind == ERGON_FIELD_INTEGER)
			*(int64_t *)member = strcmp(value, "null") == 0 ? ERGON_NONE :
					     strtoll(value, NULL, 10);
		else if (f->kind == ERGON_FIELD_TEXT)
			snprintf(member, f->size, "%s", value);
		else if (f->kind == ERGON_FIELD_STATE)
			r->state = (enum ergon_state)ergon_state_parse(value);
		else if (f->kind == ERGON_FIELD_FLAGS)
			r->flags = ergon_flags_parse(value);
		else if (f->kind == ERGON_FIELD_CURVE)
			set_curve(r, value);
		else
			return -1;
		return 0;
	}
	if (domain < 0)
		return -1;
	r->domain_uj[domain] = strtoll(value, NULL, 10);
	return 0;
}

static int from_spec(void)
{
	char line[8192];

	while (fgets(line, sizeof(line), stdin)) {
		struct ergon_record r;
		char *save = NULL;

		if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
			continue;
		plain(&r);
		for (char *word = strtok_r(line, " \t\n", &save); word;
		     word = strtok_r(NULL, " \t\n", &save)) {
			char *value = strchr(word, '=');

			if (!value) {
				fprintf(stderr, "journal_make: '%s' is not MEMBER=VALUE\n", word);
				return 1;
			}
			*value++ = '\0';
			if (set_member(&r, word, value) < 0) {
				fprintf(stderr, "journal_make: no member '%s'\n", word);
				return 1;
			}
		}
		emit(&r);
	}
	return 0;
}

static void many(long n, long first)
{
	struct ergon_record r;

	plain(&r);
	r.domain_uj[ERGON_DOMAIN_PACKAGE] = 600000000;
	r.domain_uj[ERGON_DOMAIN_DRAM] = 100000000;
	r.node_uj = r.job_uj = 700000000;
	r.cpu_ns = 39 * SECOND;
	r.max_w_mw = 81500;
	r.nnodes = 2;
	r.curve.used = 10;
	for (int i = 0; i < r.curve.used; i++)
		r.curve.uj[i] = 70000000;
	for (long i = 0; i < n; i++) {
		r.job = first + i / 6;
		r.step = i / 2 % 3;
		r.start_ns = T0 + i * SECOND / 10;
		r.end_ns = r.start_ns + 10 * SECOND;
		snprintf(r.node, sizeof(r.node), "n%04ld", i % 1000);
		emit(&r);
	}
}

static int checkpoint(void)
{
	char text[ERGON_RECORD_MAX + 64];
	int head = snprintf(text, sizeof(text), "%020d ", 1);
	size_t len = (size_t)head + fread(text + head, 1, ERGON_RECORD_MAX, stdin);

	/* The first slot of two; the other was never written. */
	fwrite(text, 1, len, stdout);
	printf("\t%08" PRIx32 "\n", ergon_crc32c(text, len));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return from_spec();
	if (argc == 2 && strcmp(argv[1], "--checkpoint") == 0)
		return checkpoint();
	if (argc < 3 || strcmp(argv[1], "--many") != 0)
		return 2;
	many(atol(argv[2]), argc > 3 ? atol(argv[3]) : 1);
	return fflush(stdout) == 0 ? 0 : 1;
}
