/* SPDX-License-Identifier: BSD-3-Clause */
#include "rankcsv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "flags.h"

#define NANO 1000000000u
#define SHORT_NS 10000000u
#define SHORT_INTERVALS 10

static char *format_parts(int negative, uint64_t nano, char *buf, size_t size)
{
	snprintf(buf, size, "%s%" PRIu64 ".%09u", negative ? "-" : "", nano / NANO,
		 (unsigned)(nano % NANO));
	return buf;
}

char *ergon_ns_format(uint64_t ns, char *buf, size_t size)
{
	return format_parts(0, ns, buf, size);
}

char *ergon_nano_format(double value, char *buf, size_t size)
{
	double nano = fabs(value) * NANO;

	/* Beyond 2^63 nano-units a joule is lost in the noise anyway. */
	if (!isfinite(value) || nano >= 0x1p63)
		nano = 0;
	return format_parts(value < 0 && nano >= 0.5, (uint64_t)(nano + 0.5), buf, size);
}

static void put_quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* key=value; blanks and quotes as in doc/formats.md. */
static void put_key(FILE *out, const char *key, const char *value)
{
	if (*value && !strpbrk(value, " \t\"")) {
		fprintf(out, " %s=%s", key, value);
		return;
	}
	fprintf(out, " %s=", key);
	put_quoted(out, value);
}

static void put_field(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\n\r")) {
		fputs(text, out);
		return;
	}
	put_quoted(out, text);
}

static void put_start(FILE *out, uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / NANO);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	fprintf(out, "# start=%04d-%02d-%02dT%02d:%02d:%02d.%09uZ", tm.tm_year + 1900,
		tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		(unsigned)(real_ns % NANO));
}

static void put_hz(FILE *out, double hz)
{
	char buf[32];

	ergon_nano_format(hz, buf, sizeof(buf));
	/* 100.000000000 -> 100 */
	for (char *end = buf + strlen(buf) - 1; *end == '0' || *end == '.'; end--) {
		int dot = *end == '.';

		*end = '\0';
		if (dot)
			break;
	}
	fprintf(out, " freq_hz=%s", buf);
}

static bool has_column(const struct ergon_rank_head *head, int column)
{
	return column <= ERGON_COLUMN_LAST_FIXED || (head->measured & 1u << column);
}

static void put_row(FILE *out, const struct ergon_rank_head *head, const struct ergon_row *row)
{
	uint32_t flags = row->flags | head->flags;
	char buf[256];

	if (row->time_ns < SHORT_NS || row->intervals < SHORT_INTERVALS)
		flags |= ERGON_FLAG_SHORT;
	put_field(out, row->phase);
	fprintf(out, ",%s,", ergon_activity_word(row->activity));
	put_field(out, row->function);
	fprintf(out, ",%" PRIu64, row->calls);
	fprintf(out, ",%s", ergon_ns_format(row->time_ns, buf, sizeof(buf)));
	fprintf(out, ",%s", ergon_nano_format(row->cpu_s, buf, sizeof(buf)));
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		if (has_column(head, c))
			fprintf(out, ",%s", head->measured & 1u << c ?
				ergon_nano_format(row->joules[c], buf, sizeof(buf)) : "");
	fprintf(out, ",%s\n", ergon_flags_format(flags, buf, sizeof(buf)));
}

void ergon_rank_csv(FILE *out, const struct ergon_rank_head *head,
		    const struct ergon_row *rows, const char *state)
{
	char buf[32];

	fprintf(out, "# ergon-rank 1\n#");
	put_key(out, "job", head->job);
	put_key(out, "step", head->step);
	put_key(out, "ns", head->ns);
	fprintf(out, " rank=%d size=%d local_rank=%d", head->rank, head->size, head->local_rank);
	put_key(out, "host", head->host);
	put_key(out, "boot_id", head->boot_id);
	put_key(out, "mpi", head->mpi);
	put_key(out, "mechanism", head->mechanism);
	put_key(out, "scope", head->scope);
	put_key(out, "share", head->share);
	put_hz(out, head->hz);
	if (head->reason[0])
		put_key(out, "reason", head->reason);
	fputc('\n', out);
	put_start(out, head->start_real_ns);
	fprintf(out, " wall_s=%s state=%s samples=%" PRIu64 " missed=%" PRIu64,
		ergon_ns_format(head->end_ns - head->start_ns, buf, sizeof(buf)), state,
		head->samples, head->missed);
	fprintf(out, " overhead_s=%s\n", ergon_nano_format(head->overhead_s, buf, sizeof(buf)));
	fputs("phase,activity,function,calls,time_s,cpu_s", out);
	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		if (has_column(head, c))
			fprintf(out, ",%s", ergon_column_word(c));
	fputs(",flags\n", out);
	for (uint32_t i = 0; i < head->nrows; i++)
		put_row(out, head, &rows[i]);
	fprintf(out, "# end rows=%u\n", (unsigned)head->nrows);
}

void ergon_node_csv(FILE *out, const struct ergon_node_head *head,
		    const struct ergon_node_total *total, const char *state)
{
	char buf[256];

	fprintf(out, "# ergon-node 1\n#");
	put_key(out, "job", head->job);
	put_key(out, "step", head->step);
	put_key(out, "host", head->host);
	put_key(out, "boot_id", head->boot_id);
	put_key(out, "mechanism", head->mechanism);
	put_key(out, "scope", head->scope);
	put_hz(out, head->hz);
	fputc('\n', out);
	put_start(out, head->start_real_ns);
	fprintf(out, " wall_s=%s state=%s samples=%" PRIu64 " missed=%" PRIu64 "\n",
		ergon_ns_format(total->t_ns - head->start_ns, buf, sizeof(buf)), state,
		total->samples, total->missed);
	fputs("channel,domain,package,energy_j,unattributed_j,flags\n", out);
	for (uint32_t c = 0; c < head->nchannels; c++) {
		const struct ergon_board_channel *channel = &head->channels[c];
		const char *domain = ergon_domain_name(channel->domain);

		put_field(out, channel->name);
		fprintf(out, ",%s,", domain ? domain : "");
		if (channel->package >= 0)
			fprintf(out, "%d", channel->package);
		fprintf(out, ",%s", ergon_nano_format(total->e[c], buf, sizeof(buf)));
		fprintf(out, ",%s", ergon_nano_format(total->u[c], buf, sizeof(buf)));
		fprintf(out, ",%s\n", ergon_flags_format(total->flags, buf, sizeof(buf)));
	}
	fprintf(out, "# end rows=%u\n", head->nchannels);
}

int ergon_write_whole(int dirfd, const char *name,
		      void (*write_text)(FILE *out, const void *arg), const void *arg)
{
	char temp[256];
	int fd, failed;
	FILE *out;

	snprintf(temp, sizeof(temp), "%s.tmp.%ld", name, (long)getpid());
	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return -1;
	out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		unlinkat(dirfd, temp, 0);
		return -1;
	}
	write_text(out, arg);
	failed = ferror(out);
	if (fclose(out) != 0 || failed || renameat(dirfd, temp, dirfd, name) < 0) {
		int saved = errno ? errno : EIO;

		unlinkat(dirfd, temp, 0);
		errno = saved;
		return -1;
	}
	return 0;
}
