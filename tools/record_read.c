/* SPDX-License-Identifier: BSD-3-Clause */
#include "record_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "flags.h"
#include "json_scan.h"
#include "record_field.h"

#define NAME_MAX_LEN 256          /* of a member, longer ones are an error */
#define MJ_MAX INT64_C(100000000000000)
#define DT_MAX INT64_C(10000000000000000)   /* 120 of them fit into 64 bits */

struct reader {
	struct ergon_json json;
	struct ergon_record *record;
	uint64_t seen;            /* a bit per row of the table */
	bool versioned;
	char why[96];             /* the reason when it is not json.why */
};

int ergon_state_parse(const char *word)
{
	for (int s = 0; s <= ERGON_STATE_PARTIAL; s++)
		if (strcmp(word, ergon_state_word((enum ergon_state)s)) == 0)
			return s;
	return -1;
}

static int fail(struct reader *rd, const char *why)
{
	rd->json.why = why;
	return -1;
}

static int read_integer(struct reader *rd, int64_t *value, int64_t min, int64_t max)
{
	if (ergon_json_integer(&rd->json, value) < 0)
		return -1;
	if (*value >= min && *value <= max)
		return 0;
	snprintf(rd->why, sizeof(rd->why), "%" PRId64 " is not in %" PRId64 "..%" PRId64,
		 *value, min, max);
	return fail(rd, rd->why);
}

static int read_state(struct reader *rd)
{
	char word[16];
	int state;

	if (ergon_json_string(&rd->json, word, sizeof(word)) < 0)
		return -1;
	state = ergon_state_parse(word);
	if (state < 0)
		return fail(rd, "not running, complete or partial");
	rd->record->state = (enum ergon_state)state;
	return 0;
}

static int read_watts(struct reader *rd, int64_t *mw)
{
	double watts;

	if (ergon_json_real(&rd->json, &watts) < 0)
		return -1;
	if (watts < 0 || watts > 1e9)
		return fail(rd, "out of range");
	*mw = (int64_t)(watts * 1e3 + 0.5);
	return 0;
}

static int read_rate(struct reader *rd, double *hz)
{
	if (ergon_json_real(&rd->json, hz) < 0)
		return -1;
	return *hz >= 0 ? 0 : fail(rd, "out of range");
}

static int read_domains(struct reader *rd)
{
	bool first = true;
	int more;

	if (ergon_json_expect(&rd->json, '{') < 0)
		return -1;
	while ((more = ergon_json_next(&rd->json, '}', &first)) > 0) {
		char name[NAME_MAX_LEN];
		int domain;

		if (ergon_json_member(&rd->json, name, sizeof(name)) < 0)
			return -1;
		domain = ergon_domain_parse(name);
		if (domain < 0 ? ergon_json_skip(&rd->json) < 0 :
		    !ergon_json_take_null(&rd->json) &&
		    read_integer(rd, &rd->record->domain_uj[domain], 0, MJ_MAX * 1000) < 0)
			return -1;
	}
	return more;
}

static int read_points(struct reader *rd)
{
	struct ergon_curve *c = &rd->record->curve;
	bool first = true;
	int more;

	if (ergon_json_expect(&rd->json, '[') < 0)
		return -1;
	c->used = 0;
	while ((more = ergon_json_next(&rd->json, ']', &first)) > 0) {
		int64_t mj;

		if (c->used == ERGON_CURVE_MAX)
			return fail(rd, "too many points");
		if (read_integer(rd, &mj, 0, MJ_MAX) < 0)
			return -1;
		c->uj[c->used++] = (uint64_t)mj * 1000;
	}
	return more;
}

/* The node's curve; job_mj is the same shape scaled to job_uj. */
static int read_curve(struct reader *rd)
{
	struct ergon_curve *c = &rd->record->curve;
	bool first = true;
	int64_t dt_ns = 0;
	int more;

	if (ergon_json_expect(&rd->json, '{') < 0)
		return -1;
	while ((more = ergon_json_next(&rd->json, '}', &first)) > 0) {
		char name[NAME_MAX_LEN];

		if (ergon_json_member(&rd->json, name, sizeof(name)) < 0)
			return -1;
		if (strcmp(name, "dt_ns") == 0 ? read_integer(rd, &dt_ns, 1, DT_MAX) < 0 :
		    strcmp(name, "node_mj") == 0 ? read_points(rd) < 0 :
		    ergon_json_skip(&rd->json) < 0)
			return -1;
	}
	if (more == 0 && c->used > 0 && dt_ns == 0)
		return fail(rd, "no dt_ns");
	c->dt_ns = (uint64_t)dt_ns;
	return more;
}

static int read_flags(struct reader *rd)
{
	bool first = true;
	int more;

	if (ergon_json_expect(&rd->json, '[') < 0)
		return -1;
	while ((more = ergon_json_next(&rd->json, ']', &first)) > 0) {
		char word[NAME_MAX_LEN];

		if (ergon_json_string(&rd->json, word, sizeof(word)) < 0)
			return -1;
		rd->record->flags |= ergon_flags_parse(word);
	}
	return more;
}

static int read_value(struct reader *rd, const struct ergon_record_field *f)
{
	void *member = (char *)rd->record + f->offset;

	if (ergon_json_take_null(&rd->json))
		return f->need == ERGON_FIELD_MUST ? fail(rd, "is null") : 0;
	switch (f->kind) {
	case ERGON_FIELD_INTEGER:
		return read_integer(rd, member, f->min, f->max);
	case ERGON_FIELD_TEXT:
		return ergon_json_string(&rd->json, member, f->size) < 0 ? -1 : 0;
	case ERGON_FIELD_RATE:
		return read_rate(rd, member);
	case ERGON_FIELD_WATTS:
		return read_watts(rd, member);
	case ERGON_FIELD_STATE:
		return read_state(rd);
	case ERGON_FIELD_DOMAINS:
		return read_domains(rd);
	case ERGON_FIELD_CURVE:
		return read_curve(rd);
	case ERGON_FIELD_FLAGS:
		return read_flags(rd);
	}
	return -1;
}

static int read_version(struct reader *rd)
{
	int64_t version;

	if (ergon_json_integer(&rd->json, &version) < 0)
		return -1;
	if (version != ERGON_RECORD_VERSION) {
		snprintf(rd->why, sizeof(rd->why), "version %" PRId64 ", this program reads %d",
			 version, ERGON_RECORD_VERSION);
		return fail(rd, rd->why);
	}
	rd->versioned = true;
	return 0;
}

static size_t find_field(const char *name)
{
	size_t at = 0;

	while (at < ergon_record_field_count && strcmp(ergon_record_fields[at].name, name) != 0)
		at++;
	return at;
}

/* A member of another name than the one that was due; *at is the count of rows when unknown. */
static int read_name(struct reader *rd, char name[NAME_MAX_LEN], size_t *at)
{
	if (ergon_json_member(&rd->json, name, NAME_MAX_LEN) < 0) {
		strcpy(name, "name of a member");
		return -1;
	}
	*at = find_field(name);
	if (*at == ergon_record_field_count && strcmp(name, "v") != 0)
		strcpy(name, "unknown member");
	return 0;
}

static int read_other(struct reader *rd, const char *name)
{
	if (strcmp(name, "v") != 0)
		return ergon_json_skip(&rd->json);
	return rd->versioned ? fail(rd, "is there twice") : read_version(rd);
}

static int read_field(struct reader *rd, size_t at)
{
	uint64_t bit = UINT64_C(1) << at;

	if (rd->seen & bit)
		return fail(rd, "is there twice");
	rd->seen |= bit;
	return read_value(rd, &ergon_record_fields[at]);
}

/* The writer keeps the order of the table: look for the next row first. name is for the error. */
static int read_members(struct reader *rd, char name[NAME_MAX_LEN])
{
	bool first = true;
	size_t next = 0;
	int more;

	while ((more = ergon_json_next(&rd->json, '}', &first)) > 0) {
		size_t at = next;

		if (at == ergon_record_field_count ||
		    !ergon_json_take_member(&rd->json, ergon_record_fields[at].name)) {
			if (read_name(rd, name, &at) < 0)
				return -1;
			if (at == ergon_record_field_count) {
				if (read_other(rd, name) < 0)
					return -1;
				continue;
			}
		}
		if (read_field(rd, at) < 0) {
			strcpy(name, ergon_record_fields[at].name);
			return -1;
		}
		next = at + 1;
	}
	strcpy(name, "object");
	return more < 0 ? -1 : ergon_json_finish(&rd->json);
}

/* What no single member can tell. */
static int check_whole(struct reader *rd, struct ergon_error *err)
{
	struct ergon_record *r = rd->record;
	struct ergon_curve *c = &r->curve;

	if (!rd->versioned)
		return ergon_error_set(err, "v: is missing");
	for (size_t i = 0; i < ergon_record_field_count; i++)
		if (ergon_record_fields[i].need != ERGON_FIELD_MAY_MISS &&
		    !(rd->seen & UINT64_C(1) << i))
			return ergon_error_set(err, "%s: is missing", ergon_record_fields[i].name);
	if (r->node[0] == '\0')
		return ergon_error_set(err, "node: is empty");
	if (r->end_ns != ERGON_NONE && r->end_ns < r->start_ns)
		return ergon_error_set(err, "end_ns: before start_ns");
	if (r->state == ERGON_STATE_COMPLETE && r->end_ns == ERGON_NONE)
		return ergon_error_set(err, "end_ns: is null in a complete record");
	c->end_ns = c->dt_ns * (uint64_t)c->used;
	if (r->end_ns != ERGON_NONE && c->end_ns > (uint64_t)(r->end_ns - r->start_ns))
		c->end_ns = (uint64_t)(r->end_ns - r->start_ns);
	return 0;
}

int ergon_record_read(struct ergon_record *r, const char *json, size_t len,
		      struct ergon_error *err)
{
	struct reader rd = { .record = r };
	char name[NAME_MAX_LEN] = "object";

	ergon_record_init(r);
	ergon_json_start(&rd.json, json, len);
	if (ergon_json_expect(&rd.json, '{') < 0 || read_members(&rd, name) < 0)
		return ergon_error_set(err, "%s: %s", name, rd.json.why);
	return check_whole(&rd, err);
}
