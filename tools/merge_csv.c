/* SPDX-License-Identifier: BSD-3-Clause */
/* One line per row, every statistic a column. */
#include <inttypes.h>
#include <string.h>

#include "flags.h"
#include "merge.h"

static void write_field(const char *text, FILE *out)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void write_stat_names(const char *name, FILE *out)
{
	static const char *const parts[] = { "total", "min", "mean", "max", "max_rank" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		fprintf(out, ",%s_%s", name, parts[i]);
}

/* Empty fields where no rank has the quantity. */
static void write_stat(const struct merge_stat *stat, FILE *out)
{
	if (stat->ranks == 0)
		fputs(",,,,,", out);
	else
		fprintf(out, ",%.9f,%.9f,%.9f,%.9f,%d", stat->total, stat->min, merge_mean(stat),
			stat->max, stat->max_rank);
}

void merge_write_csv(const struct merge *m, FILE *out)
{
	char words[128];

	fputs("phase,activity,function,ranks,calls", out);
	write_stat_names("time_s", out);
	fputs(",cpu_s", out);
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		if (m->measured & 1u << c)
			write_stat_names(ergon_column_word(c), out);
	fputs(",flags\n", out);
	for (size_t i = 0; i < m->rows.n; i++) {
		const struct merge_row *row = m->rows.items[i];

		write_field(row->phase, out);
		fprintf(out, ",%s,", ergon_activity_word(row->activity));
		write_field(row->function, out);
		fprintf(out, ",%u,%" PRIu64, row->cost.time.ranks, row->cost.calls);
		write_stat(&row->cost.time, out);
		fprintf(out, ",%.9f", row->cost.cpu_s);
		for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
			if (m->measured & 1u << c)
				write_stat(&row->cost.joules[c], out);
		fprintf(out, ",%s\n", ergon_flags_format(merge_flags(&row->cost), words, sizeof(words)));
	}
}
