/* SPDX-License-Identifier: BSD-3-Clause */
#include "acct_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "acct_field.h"
#include "acct_nodes.h"
#include "flags.h"

static json_t *number(int64_t value)
{
	return value == ERGON_NONE ? json_null() : json_integer(value);
}

static json_t *text(const char *value)
{
	json_t *string = *value ? json_string(value) : NULL;

	return string ? string : json_null();
}

/* Microjoules and milliwatts are exact in a double up to nine petajoules. */
static json_t *scaled(int64_t value, double unit)
{
	return value == ERGON_NONE ? json_null() : json_real((double)value / unit);
}

/* Takes ownership of the text. */
static json_t *owned(char *value)
{
	json_t *string = text(value ? value : "");

	free(value);
	return string;
}

static json_t *job_id(const struct ergon_acct_row *row)
{
	char *id = NULL;
	size_t len;
	FILE *out = open_memstream(&id, &len);

	if (out) {
		ergon_acct_print_id(row, out);
		fclose(out);
	}
	return owned(id);
}

static json_t *domains(const struct ergon_acct_row *row)
{
	json_t *object = json_object();

	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
		if (row->domain_uj[d] != ERGON_NONE)
			json_object_set_new(object, ergon_domain_name((enum ergon_domain)d),
					    scaled(row->domain_uj[d], 1e6));
	return object;
}

static json_t *exit_code(const struct ergon_acct_row *row)
{
	int status = (int)row->exit_code;

	if (row->exit_code == ERGON_NONE)
		return json_null();
	return json_pack("{s:i,s:i}", "code", WEXITSTATUS(status), "signal", WTERMSIG(status));
}

static json_t *flags(const struct ergon_acct_row *row)
{
	json_t *array = json_array();

	for (unsigned bit = 0; bit < ERGON_FLAG_COUNT; bit++)
		if (row->flags & (1u << bit))
			json_array_append_new(array, json_string(ergon_flag_word(bit)));
	if (row->estimated && !(row->flags & ERGON_FLAG_ESTIMATED))
		json_array_append_new(array,
				      json_string(ergon_flag_word(ERGON_FLAG_BIT_ESTIMATED)));
	if (strcmp(row->scope, "mixed") == 0)
		json_array_append_new(array, json_string("mixed"));
	if (row->overflow)
		json_array_append_new(array, json_string("overflow"));
	return array;
}

static json_t *row_object(const struct ergon_acct_row *row)
{
	double watts = ergon_acct_watts(row);
	json_t *object = json_object();

	json_object_set_new(object, "id", job_id(row));
	json_object_set_new(object, "job", number(row->job));
	if (!row->is_job)
		json_object_set_new(object, "step", number(row->step));
	json_object_set_new(object, "cluster", text(row->cluster));
	json_object_set_new(object, "restart", number(row->restart));
	json_object_set_new(object, "array_job", number(row->array_job));
	json_object_set_new(object, "array_task", number(row->array_task));
	json_object_set_new(object, "het", number(row->het));
	json_object_set_new(object, "name", text(row->job_name));
	json_object_set_new(object, "uid", number(row->uid));
	json_object_set_new(object, "user", text(row->user));
	json_object_set_new(object, "account", text(row->account));
	json_object_set_new(object, "partition", text(row->partition));
	json_object_set_new(object, "qos", text(row->qos));
	json_object_set_new(object, "nnodes", number(row->nnodes));
	json_object_set_new(object, "ntasks", number(row->ntasks));
	json_object_set_new(object, "ncpus", number(row->ncpus));
	json_object_set_new(object, "nodes", owned(ergon_acct_nodes(row->nodes, row->node_count)));
	json_object_set_new(object, "start_ns", number(row->start_ns));
	json_object_set_new(object, "end_ns", number(row->end_ns));
	json_object_set_new(object, "state", text(row->state));
	json_object_set_new(object, "exit", exit_code(row));
	json_object_set_new(object, "job_j", scaled(row->job_uj, 1e6));
	json_object_set_new(object, "node_j", scaled(row->node_uj, 1e6));
	json_object_set_new(object, "domains_j", domains(row));
	json_object_set_new(object, "ave_w", watts < 0 ? json_null() : json_real(watts));
	json_object_set_new(object, "max_w", scaled(row->max_mw, 1e3));
	json_object_set_new(object, "mechanism", text(row->mechanism));
	json_object_set_new(object, "scope", text(row->scope));
	json_object_set_new(object, "nodes_measured", number(row->nodes_measured));
	json_object_set_new(object, "flags", flags(row));
	return object;
}

int ergon_acct_json(const struct ergon_acct_row *job, const struct ergon_acct_row *steps,
		    size_t nsteps, FILE *out)
{
	json_t *object = row_object(job), *array = json_array();
	int result;

	for (size_t i = 0; i < nsteps; i++)
		json_array_append_new(array, row_object(&steps[i]));
	result = json_object_set_new(object, "steps", array);
	if (result == 0)
		result = json_dumpf(object, out, JSON_COMPACT);
	json_decref(object);
	return result;
}
