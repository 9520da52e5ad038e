/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts that users chose (names of jobs, accounts ...) are printed with
 * control characters, direction overrides and the delimiter replaced by
 * '?': a job's name must not steer a terminal or forge a column.
 */
#include "acct_field.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include "acct_nodes.h"
#include "acct_select.h"
#include "acct_time.h"
#include "flags.h"

#define NS_PER_S 1000000000
#define UJ_PER_J 1000000

struct ergon_acct_field {
	const char *name;
	int width;
	void (*print)(const struct ergon_acct_row *row, FILE *out);
};

int64_t ergon_acct_joules(int64_t uj)
{
	return (uj + UJ_PER_J / 2) / UJ_PER_J;
}

static int64_t elapsed_ns(const struct ergon_acct_row *row)
{
	return row->end_ns == ERGON_NONE ? ERGON_NONE : row->end_ns - row->start_ns;
}

double ergon_acct_watts(const struct ergon_acct_row *row)
{
	int64_t ns = elapsed_ns(row);

	/* uJ / ns = kW */
	return row->job_uj == ERGON_NONE || ns <= 0 ? -1 : (double)row->job_uj / (double)ns * 1e3;
}

static void print_number(int64_t number, FILE *out)
{
	if (number != ERGON_NONE)
		fprintf(out, "%" PRId64, number);
}

/* As sacct scales: by 1000, a fraction only when there is one. */
static void print_scaled(double number, bool estimated, FILE *out)
{
	static const char units[] = "\0KMGTPE";
	int unit = 0;

	while (number > 1000 && unit < 6) {
		number /= 1000;
		unit++;
	}
	fprintf(out, number == floor(number) ? "%s%.0f" : "%s%.2f", estimated ? "~" : "", number);
	if (unit > 0)
		fputc(units[unit], out);
}

static void print_energy(const struct ergon_acct_row *row, int64_t uj, FILE *out)
{
	double joules = (double)uj / UJ_PER_J;

	if (uj == ERGON_NONE)
		return;
	/* Whole joules as in sacct, but what is small keeps its fraction. */
	print_scaled(joules >= 1000 ? (double)ergon_acct_joules(uj) : joules, row->estimated, out);
}

void ergon_acct_print_id(const struct ergon_acct_row *row, FILE *out)
{
	char step[32];

	if (row->array_job != ERGON_NONE && row->array_task != ERGON_NONE)
		fprintf(out, "%" PRId64 "_%" PRId64, row->array_job, row->array_task);
	else
		fprintf(out, "%" PRId64, row->job);
	if (row->het != ERGON_NONE)
		fprintf(out, "+%" PRId64, row->het);
	if (!row->is_job)
		fprintf(out, ".%s", ergon_acct_step_name(row->step, step, sizeof(step)));
}

static void print_raw_id(const struct ergon_acct_row *row, FILE *out)
{
	char step[32];

	fprintf(out, "%" PRId64, row->job);
	if (!row->is_job)
		fprintf(out, ".%s", ergon_acct_step_name(row->step, step, sizeof(step)));
}

void ergon_acct_print_flags(const struct ergon_acct_row *row, FILE *out)
{
	char words[256];

	/* Not '|' between them: that is what -P puts between columns. */
	ergon_flags_format(row->flags | (row->estimated ? ERGON_FLAG_ESTIMATED : 0),
			   words, sizeof(words));
	for (char *c = words; *c; c++)
		fputc(*c == '|' ? ',' : *c, out);
	if (strcmp(row->scope, "mixed") == 0)
		fprintf(out, "%smixed", *words ? "," : "");
	if (row->overflow)
		fprintf(out, "%soverflow", *words || strcmp(row->scope, "mixed") == 0 ? "," : "");
}

/* A special step bears its own name, as in sacct. */
static void print_job_name(const struct ergon_acct_row *row, FILE *out)
{
	char step[32];

	fputs(row->is_job || row->step >= 0 ? row->job_name :
	      ergon_acct_step_name(row->step, step, sizeof(step)), out);
}

static void print_time(int64_t ns, FILE *out)
{
	char text[32];

	fputs(ns == ERGON_NONE ? "Unknown" : ergon_acct_time_format(ns, text, sizeof(text)), out);
}

static void print_end(const struct ergon_acct_row *row, FILE *out)
{
	print_time(strcmp(row->state, "RUNNING") == 0 ? ERGON_NONE : row->end_ns, out);
}

static void print_elapsed(const struct ergon_acct_row *row, FILE *out)
{
	char text[32];
	int64_t ns = elapsed_ns(row);

	if (ns != ERGON_NONE)
		fputs(ergon_acct_elapsed_format(ns, text, sizeof(text)), out);
}

static void print_elapsed_raw(const struct ergon_acct_row *row, FILE *out)
{
	int64_t ns = elapsed_ns(row);

	print_number(ns == ERGON_NONE ? ns : ns / NS_PER_S, out);
}

static void print_exit_code(const struct ergon_acct_row *row, FILE *out)
{
	int status = (int)row->exit_code;

	if (row->exit_code != ERGON_NONE)
		fprintf(out, "%d:%d", WEXITSTATUS(status), WTERMSIG(status));
}

static void print_nodes(const struct ergon_acct_row *row, FILE *out)
{
	char *list = ergon_acct_nodes(row->nodes, row->node_count);

	fputs(list ? list : "", out);
	free(list);
}

static void print_delay(const struct ergon_acct_row *row, FILE *out)
{
	int64_t ns = elapsed_ns(row);

	if (row->job_uj != ERGON_NONE && ns != ERGON_NONE)
		print_scaled(round((double)row->job_uj / UJ_PER_J * ((double)ns / NS_PER_S)),
			     row->estimated, out);
}

static void print_watts(const struct ergon_acct_row *row, double watts, FILE *out)
{
	if (watts >= 0)
		fprintf(out, "%s%.1f", row->estimated ? "~" : "", watts);
}

static void print_ave_watts(const struct ergon_acct_row *row, FILE *out)
{
	print_watts(row, ergon_acct_watts(row), out);
}

static void print_max_watts(const struct ergon_acct_row *row, FILE *out)
{
	print_watts(row, row->max_mw == ERGON_NONE ? -1 : (double)row->max_mw / 1e3, out);
}

static void print_energy_raw(const struct ergon_acct_row *row, FILE *out)
{
	if (row->job_uj != ERGON_NONE)
		print_number(ergon_acct_joules(row->job_uj), out);
}

static void print_coverage(const struct ergon_acct_row *row, FILE *out)
{
	fprintf(out, "%" PRId64 "/%" PRId64, row->nodes_measured, row->nnodes);
}

#define TEXT(m) \
	static void print_##m(const struct ergon_acct_row *row, FILE *out) { fputs(row->m, out); }
#define NUMBER(m) \
	static void print_##m(const struct ergon_acct_row *row, FILE *out) { print_number(row->m, out); }
#define ENERGY(name, m) \
	static void print_##name(const struct ergon_acct_row *row, FILE *out) \
	{ print_energy(row, row->m, out); }

TEXT(account)
TEXT(cluster)
TEXT(mechanism)
TEXT(partition)
TEXT(qos)
TEXT(scope)
TEXT(state)
TEXT(user)
NUMBER(ncpus)
NUMBER(nnodes)
NUMBER(ntasks)
NUMBER(restart)
NUMBER(uid)
ENERGY(job_energy, job_uj)
ENERGY(node_energy, node_uj)
ENERGY(package_energy, domain_uj[ERGON_DOMAIN_PACKAGE])
ENERGY(dram_energy, domain_uj[ERGON_DOMAIN_DRAM])
ENERGY(gpu_energy, domain_uj[ERGON_DOMAIN_GPU])

static void print_start(const struct ergon_acct_row *row, FILE *out)
{
	print_time(row->start_ns, out);
}

static const struct ergon_acct_field fields[] = {
	{ "Account", 10, print_account },
	{ "AveWatts", 10, print_ave_watts },
	{ "Cluster", 10, print_cluster },
	{ "ConsumedEnergy", 14, print_job_energy },
	{ "ConsumedEnergyRaw", 17, print_energy_raw },
	{ "Coverage", 10, print_coverage },
	{ "DramEnergy", 14, print_dram_energy },
	{ "Elapsed", 10, print_elapsed },
	{ "ElapsedRaw", 10, print_elapsed_raw },
	{ "End", 19, print_end },
	{ "EnergyDelay", 14, print_delay },
	{ "ExitCode", 8, print_exit_code },
	{ "Flags", -20, ergon_acct_print_flags },
	{ "GpuEnergy", 14, print_gpu_energy },
	{ "JobID", -12, ergon_acct_print_id },
	{ "JobIDRaw", -12, print_raw_id },
	{ "JobName", 10, print_job_name },
	{ "MaxWatts", 10, print_max_watts },
	{ "Mechanism", 10, print_mechanism },
	{ "NCPUS", 10, print_ncpus },
	{ "NNodes", 8, print_nnodes },
	{ "NTasks", 8, print_ntasks },
	{ "NodeEnergy", 14, print_node_energy },
	{ "NodeList", 15, print_nodes },
	{ "PackageEnergy", 14, print_package_energy },
	{ "Partition", 10, print_partition },
	{ "QOS", 10, print_qos },
	{ "Restarts", 8, print_restart },
	{ "Scope", 12, print_scope },
	{ "Start", 19, print_start },
	{ "State", 10, print_state },
	{ "UID", 6, print_uid },
	{ "User", 9, print_user },
};

#define NFIELDS (sizeof(fields) / sizeof(fields[0]))

static int parse_width(const char *text, int *width)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value == 0 || value > 10000 || value < -10000)
		return -1;
	*width = (int)value;
	return 0;
}

static int add_column(struct ergon_acct_format *format, char *word, struct ergon_error *err)
{
	struct ergon_acct_column *column = &format->columns[format->n];
	char *percent = strchr(word, '%');

	if (percent)
		*percent = '\0';
	if (format->n == ERGON_ACCT_COLUMNS_MAX)
		return ergon_error_set(err, "more than %d fields requested",
				       ERGON_ACCT_COLUMNS_MAX);
	for (size_t i = 0; *word && i < NFIELDS; i++) {
		if (strncasecmp(fields[i].name, word, strlen(word)) != 0)
			continue;
		column->field = &fields[i];
		column->width = fields[i].width;
		if (percent && parse_width(percent + 1, &column->width) < 0)
			return ergon_error_set(err, "Invalid width requested: \"%s%%%s\"", word,
					       percent + 1);
		format->n++;
		return 0;
	}
	return ergon_error_set(err, "Invalid field requested: \"%s\"", word);
}

int ergon_acct_format_parse(struct ergon_acct_format *format, const char *list,
			    struct ergon_error *err)
{
	char *copy = strdup(list), *save = NULL;
	int result = 0;

	if (!copy)
		return ergon_error_set(err, "out of memory");
	format->n = 0;
	for (char *word = strtok_r(copy, ", ", &save); word && result == 0;
	     word = strtok_r(NULL, ", ", &save))
		result = add_column(format, word, err);
	free(copy);
	if (result == 0 && format->n == 0)
		return ergon_error_set(err, "no field requested");
	return result;
}

/* Output */

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* C1 controls and what changes the direction of text, in UTF-8. */
static size_t harmful(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	if (s[0] < 0x20 || s[0] == 0x7f)
		return 1;
	if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
		return 2;
	if (s[0] == 0xe2 && s[1] == 0x80 && ((s[2] >= 0x8e && s[2] <= 0x8f) ||
					    (s[2] >= 0xa8 && s[2] <= 0xae)))
		return 3;
	if (s[0] == 0xe2 && s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9)
		return 3;
	return 0;
}

static void disarm(char *text, const char *delimiter)
{
	size_t gap = delimiter ? strlen(delimiter) : 0;
	char *to = text;

	for (const char *from = text; *from;) {
		size_t len = harmful(from);

		if (len == 0 && gap > 0 && strncmp(from, delimiter, gap) == 0)
			len = gap;
		*to++ = len > 0 ? '?' : *from;
		from += len > 0 ? len : 1;
	}
	*to = '\0';
}

static size_t display_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += !is_continuation(*text);
	return width;
}

/* A cell that does not fit is cut and ends in '+'. */
static void print_aligned(const char *text, int width, FILE *out)
{
	size_t room = (size_t)abs(width), used = display_width(text), bytes = 0;

	if (used <= room) {
		int pad = (int)(room - used);

		if (width > 0)
			fprintf(out, "%*s%s ", pad, "", text);
		else
			fprintf(out, "%s%*s ", text, pad, "");
		return;
	}
	for (used = 0; used < room; bytes++)
		used += !is_continuation(text[bytes]);
	fprintf(out, "%.*s+ ", (int)bytes - 1, text);
}

static void print_cell(const struct ergon_acct_format *format, size_t column, const char *text,
		       FILE *out)
{
	if (format->layout == ERGON_ACCT_ALIGNED) {
		print_aligned(text, format->columns[column].width, out);
		return;
	}
	fputs(text, out);
	if (format->layout == ERGON_ACCT_PARSABLE || column + 1 < format->n)
		fputs(format->delimiter, out);
}

void ergon_acct_print_header(const struct ergon_acct_format *format, FILE *out)
{
	for (size_t i = 0; i < format->n; i++)
		print_cell(format, i, format->columns[i].field->name, out);
	fputc('\n', out);
	if (format->layout != ERGON_ACCT_ALIGNED)
		return;
	for (size_t i = 0; i < format->n; i++) {
		for (int k = abs(format->columns[i].width); k > 0; k--)
			fputc('-', out);
		fputc(' ', out);
	}
	fputc('\n', out);
}

void ergon_acct_print_row(const struct ergon_acct_format *format,
			  const struct ergon_acct_row *row, FILE *out)
{
	for (size_t i = 0; i < format->n; i++) {
		char *text = NULL;
		size_t len;
		FILE *cell = open_memstream(&text, &len);

		if (cell) {
			format->columns[i].field->print(row, cell);
			fclose(cell);
		}
		if (text)
			disarm(text, format->layout == ERGON_ACCT_ALIGNED ? NULL :
			       format->delimiter);
		print_cell(format, i, text ? text : "", out);
		free(text);
	}
	fputc('\n', out);
}

void ergon_acct_print_fields(FILE *out)
{
	for (size_t i = 0; i < NFIELDS; i++)
		fprintf(out, "%-19s%s", fields[i].name,
			i % 4 == 3 || i + 1 == NFIELDS ? "\n" : " ");
}
