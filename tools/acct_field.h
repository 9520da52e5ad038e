/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns of `ergon acct`: one table of names, widths and writers, and the layouts of sacct. */
#ifndef ERGON_ACCT_FIELD_H
#define ERGON_ACCT_FIELD_H

#include <stdbool.h>
#include <stdio.h>

#include "acct_total.h"
#include "error.h"

#define ERGON_ACCT_COLUMNS_MAX 128
#define ERGON_ACCT_DEFAULT_FORMAT \
	"JobID,JobName,Partition,Account,NNodes,Elapsed,State,ConsumedEnergy,NodeEnergy," \
	"AveWatts,Mechanism,Flags"

struct ergon_acct_field;

struct ergon_acct_column {
	const struct ergon_acct_field *field;
	int width;                /* negative: flush left */
};

enum ergon_acct_layout {
	ERGON_ACCT_ALIGNED,       /* columns of a width, blanks between */
	ERGON_ACCT_PARSABLE,      /* a delimiter after every column */
	ERGON_ACCT_PARSABLE2      /* a delimiter between columns */
};

struct ergon_acct_format {
	struct ergon_acct_column columns[ERGON_ACCT_COLUMNS_MAX];
	size_t n;
	enum ergon_acct_layout layout;
	const char *delimiter;
};

/*
 * Columns from a list of FIELD[%[-]WIDTH]; a beginning of a name is enough,
 * the first of the table wins, case does not matter.
 */
int ergon_acct_format_parse(struct ergon_acct_format *format, const char *list,
			    struct ergon_error *err);

void ergon_acct_print_header(const struct ergon_acct_format *format, FILE *out);
void ergon_acct_print_row(const struct ergon_acct_format *format,
			  const struct ergon_acct_row *row, FILE *out);

/* The names of all fields, four to a line. */
void ergon_acct_print_fields(FILE *out);

/* "123", "100_7", "200+1", with ".0", ".batch" ... for a step. */
void ergon_acct_print_id(const struct ergon_acct_row *row, FILE *out);

/* The words of row's flags joined by ',', "mixed" and "overflow" included. */
void ergon_acct_print_flags(const struct ergon_acct_row *row, FILE *out);

/* J rounded to whole joules. */
int64_t ergon_acct_joules(int64_t uj);

/* Mean power in W over the whole time; negative: unknown. */
double ergon_acct_watts(const struct ergon_acct_row *row);

#endif
