/* SPDX-License-Identifier: BSD-3-Clause */
/* `ergon ingest`: journals of nodes into the store. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "ingest_file.h"
#include "journal.h"
#include "store_config.h"

static const char help[] =
"usage: ergon ingest [--config FILE] [--quiet] [DIR|FILE...]\n"
"\n"
"Takes the records of journals over into the store, each exactly once. A DIR\n"
"stands for every *.journal in it (default: SpoolDir of ergon.conf); what\n"
"killed slurmstepds left there as *.ckpt is finished first. May be run at any\n"
"time, also twice at once, and again after it was killed.\n"
"\n"
"  --config FILE  configuration instead of the site's\n"
"  --quiet        no summary line\n"
"  --help         this text\n"
"\n"
"Lines that are no valid records go to STORE.quarantine: file, offset, reason,\n"
"line, separated by tabs. Exit status: 0 all taken over, 1 failed or a file\n"
"could not be read, 2 wrong usage, 3 lines were put into quarantine.\n";

#define EXIT_QUARANTINED 3

struct run {
	struct ergon_ingest ingest;
	int64_t files, swept;
	bool failed;              /* something could not be read */
};

static void complain(const struct ergon_error *err)
{
	fprintf(stderr, "ergon ingest: %s\n", err->text);
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name), tail = strlen(suffix);

	return name[0] != '.' && len > tail && strcmp(name + len - tail, suffix) == 0;
}

static int is_journal(const struct dirent *entry)
{
	return has_suffix(entry->d_name, ".journal");
}

static int is_checkpoint(const struct dirent *entry)
{
	return has_suffix(entry->d_name, ".ckpt");
}

/* 0, or -1: the store failed and nothing more can be done. */
static int take_file(struct run *run, const char *path)
{
	struct ergon_error err;

	switch (ergon_ingest_file(&run->ingest, path, &err)) {
	case ERGON_INGEST_DONE:
		run->files++;
		return 0;
	case ERGON_INGEST_SKIPPED:
		complain(&err);
		run->failed = true;
		return 0;
	case ERGON_INGEST_STOPPED:
		break;
	}
	complain(&err);
	return -1;
}

static void free_names(struct dirent **names, int n)
{
	while (n > 0)
		free(names[--n]);
	free(names);
}

/* Checkpoints whose stepd is gone become journal lines. */
static void sweep(struct run *run, const char *dir)
{
	struct ergon_error err;
	struct dirent **names;
	int n = scandir(dir, &names, is_checkpoint, NULL);

	if (n < 0)
		return;
	free_names(names, n);
	if (n == 0)
		return;
	n = ergon_checkpoint_sweep(dir, NULL, &err);
	if (n < 0) {
		complain(&err);
		run->failed = true;
	} else {
		run->swept += n;
	}
}

static int take_directory(struct run *run, const char *dir)
{
	struct dirent **names;
	int n, result = 0;

	sweep(run, dir);
	n = scandir(dir, &names, is_journal, alphasort);
	if (n < 0) {
		fprintf(stderr, "ergon ingest: %s: %s\n", dir, strerror(errno));
		run->failed = true;
		return 0;
	}
	for (int i = 0; i < n && result == 0; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		result = take_file(run, path);
	}
	free_names(names, n);
	return result;
}

static int take(struct run *run, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return take_directory(run, path);
	return take_file(run, path);
}

static void summarise(const struct run *run)
{
	const struct ergon_ingest *in = &run->ingest;

	fprintf(stderr, "ergon ingest: %" PRId64 " journals: %" PRId64 " records stored, %" PRId64
		" known", run->files, in->stored, in->known);
	if (run->swept > 0)
		fprintf(stderr, ", %" PRId64 " finished from checkpoints", run->swept);
	if (in->unfinished > 0)
		fprintf(stderr, ", %" PRId64 " unfinished lines left", in->unfinished);
	if (in->bad > 0)
		fprintf(stderr, ", %" PRId64 " bad lines in %s", in->bad, in->quarantine);
	fputc('\n', stderr);
}

/* The plugin makes the spool at the first step; a timer may look before that. */
static bool nothing_yet(const struct ergon_conf *conf)
{
	struct stat st;

	return stat(conf->spool_dir, &st) < 0 && errno == ENOENT;
}

static int ingest(const struct ergon_conf *conf, char **paths, bool quiet)
{
	struct run run = { .failed = false };
	char quarantine[PATH_MAX + 16];
	struct ergon_error err;
	const char *path = ergon_store_path(conf->store, &err);
	int result = 0;

	if (path && !*paths && nothing_yet(conf)) {
		if (!quiet)
			fprintf(stderr, "ergon ingest: no %s: no step has been measured here yet\n",
				conf->spool_dir);
		return ERGON_EXIT_OK;
	}
	if (path)
		run.ingest.store = ergon_store_open(path, ERGON_STORE_WRITE, &err);
	if (!run.ingest.store) {
		complain(&err);
		return ERGON_EXIT_FAILURE;
	}
	snprintf(quarantine, sizeof(quarantine), "%s.quarantine", path);
	run.ingest.quarantine = quarantine;
	run.ingest.buffer = malloc(ERGON_INGEST_BATCH);
	if (!run.ingest.buffer) {
		fprintf(stderr, "ergon ingest: out of memory\n");
		result = -1;
	} else if (!*paths) {
		result = take(&run, conf->spool_dir);
	}
	while (result == 0 && *paths)
		result = take(&run, *paths++);
	free(run.ingest.buffer);
	ergon_store_close(run.ingest.store);
	if (!quiet)
		summarise(&run);
	if (result < 0 || run.failed)
		return ERGON_EXIT_FAILURE;
	return run.ingest.bad > 0 ? EXIT_QUARANTINED : ERGON_EXIT_OK;
}

int ergon_cmd_ingest(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	const char *config = NULL;
	struct ergon_conf conf;
	struct ergon_error err;
	bool quiet = false;
	int option;

	while ((option = getopt_long(argc, argv, "qh", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			config = optarg;
			break;
		case 'q':
			quiet = true;
			break;
		case 'h':
			fputs(help, stdout);
			return ERGON_EXIT_OK;
		default:
			fprintf(stderr, "`ergon ingest --help` explains the options.\n");
			return ERGON_EXIT_USAGE;
		}
	}
	if (ergon_store_config(&conf, config, &err) < 0) {
		complain(&err);
		return ERGON_EXIT_FAILURE;
	}
	return ingest(&conf, argv + optind, quiet);
}
