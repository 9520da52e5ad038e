/* SPDX-License-Identifier: BSD-3-Clause */
/* `ergon merge`: options and exit codes; merge.c does the work. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "commands.h"
#include "merge.h"

#define EXIT_NOTHING 1
#define EXIT_PROBLEMS 3

static const char help[] =
	"usage: ergon merge DIR... [--json [FILE]] [--csv [FILE]] [--top N] [--namespace NS]\n"
	"\n"
	"Merges what the ranks of one MPI step wrote: time and energy by phase, activity\n"
	"and MPI function, over all ranks. DIR is ergon.<job>.<step>, or a directory that\n"
	"holds exactly one of these. Several DIRs are merged into one result.\n"
	"\n"
	"  --json [FILE]  write JSON to FILE; without FILE to standard output, in place of the table\n"
	"  --csv [FILE]   the same with CSV\n"
	"  --top N        in the long table show only the N rows that cost most\n"
	"  --namespace NS merge rank.NS.*; by default the namespace that most files are of\n"
	"  -h, --help     this text\n"
	"\n"
	"Exit status: 0 complete, 1 nothing usable, 2 usage, 3 merged, with problems (see stderr).\n";

struct output {
	bool wanted;
	const char *file;         /* NULL: standard output */
};

struct options {
	struct output json, csv;
	unsigned top;
	const char *ns;           /* NULL: most files' */
	char **dirs;
	unsigned ndirs;
	bool help;
};

static int usage_error(const char *what, const char *word)
{
	fprintf(stderr, "ergon merge: %s%s; see `ergon merge --help`\n", what, word);
	return -1;
}

/* A FILE may follow: what is not an option and not a directory is one. */
static void take_file(struct output *output, const char *equals, char **argv, int *i)
{
	struct stat st;

	output->wanted = true;
	if (equals)
		output->file = equals + 1;
	else if (argv[*i + 1] && (argv[*i + 1][0] != '-' || argv[*i + 1][1] == '\0') &&
		 (stat(argv[*i + 1], &st) < 0 || !S_ISDIR(st.st_mode)))
		output->file = argv[++*i];
	if (output->file && strcmp(output->file, "-") == 0)
		output->file = NULL;
}

static int take_number(const char *text, unsigned *out)
{
	char *end;
	unsigned long value;

	if (!text || *text < '0' || *text > '9')
		return usage_error("--top needs a number", "");
	errno = 0;
	value = strtoul(text, &end, 10);
	if (*end || errno || value > 1000000)
		return usage_error("--top needs a number, not ", text);
	*out = (unsigned)value;
	return 0;
}

static bool is_option(const char *arg, const char *name, const char **equals)
{
	size_t len = strlen(name);

	if (strncmp(arg, name, len) != 0)
		return false;
	*equals = arg[len] == '=' ? arg + len : NULL;
	return arg[len] == '\0' || arg[len] == '=';
}

static int parse_options(int argc, char **argv, struct options *o)
{
	bool only_dirs = false;

	o->dirs = calloc((size_t)argc + 1, sizeof(*o->dirs));
	if (!o->dirs)
		return usage_error("out of memory", "");
	for (int i = 1; i < argc; i++) {
		const char *equals = NULL;

		if (only_dirs || argv[i][0] != '-') {
			o->dirs[o->ndirs++] = argv[i];
		} else if (strcmp(argv[i], "--") == 0) {
			only_dirs = true;
		} else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			o->help = true;
		} else if (is_option(argv[i], "--json", &equals)) {
			take_file(&o->json, equals, argv, &i);
		} else if (is_option(argv[i], "--csv", &equals)) {
			take_file(&o->csv, equals, argv, &i);
		} else if (is_option(argv[i], "--top", &equals)) {
			if (take_number(equals ? equals + 1 : argv[++i], &o->top) < 0)
				return -1;
		} else if (is_option(argv[i], "--namespace", &equals)) {
			o->ns = equals ? equals + 1 : argv[++i];
			if (!o->ns)
				return usage_error("--namespace needs a name", "");
		} else {
			return usage_error("no option ", argv[i]);
		}
	}
	if (o->help)
		return 0;
	if (o->ndirs == 0)
		return usage_error("which directory?", "");
	for (unsigned i = 0; i < o->ndirs; i++)
		if (o->dirs[i][0] == '\0')
			return usage_error("a directory without a name", "");
	if (o->json.wanted && o->csv.wanted && !o->json.file && !o->csv.file)
		return usage_error("--json and --csv cannot both go to standard output", "");
	return 0;
}

static int write_json(const struct merge *m, FILE *out)
{
	return merge_write_json(m, out);
}

static int write_csv(const struct merge *m, FILE *out)
{
	merge_write_csv(m, out);
	return 0;
}

/* To the file or standard output. */
static int write_output(const struct merge *m, const struct output *output,
			int (*write)(const struct merge *m, FILE *out))
{
	FILE *out = output->file ? fopen(output->file, "w") : stdout;
	int rc = out ? write(m, out) : -1;

	if (out && (fflush(out) != 0 || ferror(out)))
		rc = -1;
	if (out && output->file && fclose(out) != 0)
		rc = -1;
	if (rc < 0)
		fprintf(stderr, "ergon merge: cannot write %s: %s\n",
			output->file ? output->file : "to standard output", strerror(errno));
	return rc;
}

static int write_all(const struct merge *m, const struct options *o)
{
	bool taken = (o->json.wanted && !o->json.file) || (o->csv.wanted && !o->csv.file);
	int rc = 0;

	if (!taken) {
		merge_write_text(m, o->top, stdout);
		if (fflush(stdout) != 0 || ferror(stdout)) {
			fprintf(stderr, "ergon merge: cannot write to standard output: %s\n", strerror(errno));
			rc = -1;
		}
	}
	if (o->json.wanted && write_output(m, &o->json, write_json) < 0)
		rc = -1;
	if (o->csv.wanted && write_output(m, &o->csv, write_csv) < 0)
		rc = -1;
	return rc;
}

/* On a terminal, once a second from the second second on. */
static void show_progress(size_t done, size_t files)
{
	static uint64_t shown_ns;
	uint64_t now_ns = ergon_clock_ns();

	if (shown_ns == 0)
		shown_ns = now_ns;
	if (now_ns - shown_ns < 1000000000u)
		return;
	shown_ns = now_ns;
	fprintf(stderr, "\rergon merge: %zu of %zu files\033[K", done, files);
}

static int merge(const struct options *o)
{
	bool terminal = isatty(STDERR_FILENO);
	struct merge m = { .progress = terminal ? show_progress : NULL };
	struct ergon_error err;
	int rc = merge_run(&m, o->dirs, o->ndirs, o->ns, &err);

	if (terminal)
		fputs("\r\033[K", stderr);
	problems_print(&m.problems, stderr);
	if (rc < 0) {
		fprintf(stderr, "ergon merge: %s\n", err.text);
		rc = ERGON_EXIT_USAGE;
	} else if (rc > 0) {
		fprintf(stderr, "ergon merge: %s%s: no rank file that can be used\n", o->dirs[0],
			o->ndirs > 1 ? ", ..." : "");
		rc = EXIT_NOTHING;
	} else if (write_all(&m, o) < 0) {
		rc = ERGON_EXIT_FAILURE;
	} else {
		rc = problems_serious(&m.problems) ? EXIT_PROBLEMS : ERGON_EXIT_OK;
	}
	merge_free(&m);
	return rc;
}

int ergon_cmd_merge(int argc, char **argv)
{
	struct options o = { 0 };
	int rc = ERGON_EXIT_USAGE;

	if (parse_options(argc, argv, &o) == 0) {
		if (o.help)
			fputs(help, stdout);
		rc = o.help ? ERGON_EXIT_OK : merge(&o);
	}
	free(o.dirs);
	return rc;
}
