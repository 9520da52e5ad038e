/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *prefix, *ending;
} names[MERGE_FILE_KINDS] = {
	[MERGE_NODE_CSV]    = { "node.", ".csv" },
	[MERGE_NODE_LEDGER] = { "node.", ".ledger" },
	[MERGE_RANK_CSV]    = { "rank.", ".csv" },
	[MERGE_RANK_LEDGER] = { "rank.", ".ledger" },
};

/* What the name says. -1: not one of ours. */
static int parse_name(const char *name, struct merge_file *file)
{
	size_t len = strlen(name);

	for (int kind = 0; kind < MERGE_FILE_KINDS; kind++) {
		size_t prefix = strlen(names[kind].prefix), ending = strlen(names[kind].ending);
		const char *stop = name + len - ending, *last;

		if (len <= prefix + ending || strncmp(name, names[kind].prefix, prefix) != 0 ||
		    strcmp(stop, names[kind].ending) != 0)
			continue;
		*file = (struct merge_file){ .kind = (enum merge_file_kind)kind, .name = name,
					     .stem_len = len - ending };
		if (kind == MERGE_NODE_CSV || kind == MERGE_NODE_LEDGER)
			return 0;
		last = memrchr(name, '.', (size_t)(stop - name));
		if (last < name + prefix)
			return -1;
		file->ns = name + prefix;
		file->ns_len = (size_t)(last - file->ns);
		/* Without a number (rank.<ns>.pid<pid>: not known to itself) it comes last. */
		file->rank = last[1] >= '0' && last[1] <= '9' ? strtoul(last + 1, NULL, 10) : ULONG_MAX;
		return 0;
	}
	return -1;
}

static int add_file(struct merge_scan *scan, unsigned dir, const char *name)
{
	struct merge_file file;
	char *copy;

	if (parse_name(name, &file) < 0)
		return 0;
	if (scan->nfiles == scan->capacity) {
		size_t capacity = scan->capacity ? 2 * scan->capacity : 256;
		struct merge_file *files = realloc(scan->files, capacity * sizeof(*files));

		if (!files)
			return -1;
		scan->files = files;
		scan->capacity = capacity;
	}
	copy = strdup(name);
	if (!copy)
		return -1;
	parse_name(copy, &file);
	file.dir = dir;
	scan->files[scan->nfiles++] = file;
	return 0;
}

static int list_dir(struct merge_scan *scan, unsigned dir, struct ergon_error *err)
{
	DIR *d = opendir(scan->dirs[dir]);
	struct dirent *entry;

	if (!d)
		return ergon_error_set(err, "%s: %s", scan->dirs[dir], strerror(errno));
	while ((entry = readdir(d))) {
		if (add_file(scan, dir, entry->d_name) < 0) {
			closedir(d);
			return ergon_error_set(err, "%s: out of memory", scan->dirs[dir]);
		}
	}
	closedir(d);
	return 0;
}

/* The one result below a directory. 0 and *child NULL: there is none. */
static int only_result(const char *parent, char **child, struct ergon_error *err)
{
	DIR *d = opendir(parent);
	struct dirent *entry;
	unsigned found = 0;

	*child = NULL;
	if (!d)
		return ergon_error_set(err, "%s: %s", parent, strerror(errno));
	while ((entry = readdir(d))) {
		struct stat st;

		if (strncmp(entry->d_name, "ergon.", 6) != 0 ||
		    fstatat(dirfd(d), entry->d_name, &st, 0) < 0 || !S_ISDIR(st.st_mode))
			continue;
		found++;
		free(*child);
		if (asprintf(child, "%s%s%s", parent, parent[strlen(parent) - 1] == '/' ? "" : "/",
			     entry->d_name) < 0)
			*child = NULL;
	}
	closedir(d);
	if (found > 1) {
		free(*child);
		*child = NULL;
		return ergon_error_set(err, "%s holds %u results (ergon.*): name the one to merge",
				       parent, found);
	}
	return 0;
}

static int compare_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t shorter = a_len < b_len ? a_len : b_len;
	int order = shorter ? memcmp(a, b, shorter) : 0;

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* "node.n1" comes before "node.n1-2", a later run's. */
static int compare(const void *a, const void *b)
{
	const struct merge_file *x = a, *y = b;
	int order;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	order = compare_text(x->ns, x->ns_len, y->ns, y->ns_len);
	if (order == 0 && x->rank != y->rank)
		order = x->rank < y->rank ? -1 : 1;
	if (order == 0)
		order = compare_text(x->name, x->stem_len, y->name, y->stem_len);
	return order ? order : (x->dir > y->dir) - (x->dir < y->dir);
}

int merge_scan_dirs(struct merge_scan *scan, char *const dirs[], unsigned ndirs,
		    struct ergon_error *err)
{
	scan->dirs = calloc(ndirs, sizeof(*scan->dirs));
	if (!scan->dirs)
		return ergon_error_set(err, "out of memory");
	for (unsigned i = 0; i < ndirs; i++) {
		size_t before = scan->nfiles;

		scan->dirs[i] = strdup(dirs[i]);
		scan->ndirs = i + 1;
		if (!scan->dirs[i])
			return ergon_error_set(err, "out of memory");
		if (list_dir(scan, i, err) < 0)
			return -1;
		if (scan->nfiles == before) {
			char *child;

			if (only_result(dirs[i], &child, err) < 0)
				return -1;
			if (!child)
				continue;
			free(scan->dirs[i]);
			scan->dirs[i] = child;
			if (list_dir(scan, i, err) < 0)
				return -1;
		}
	}
	if (scan->nfiles > 0)
		qsort(scan->files, scan->nfiles, sizeof(*scan->files), compare);
	return 0;
}

char *merge_scan_path(const struct merge_scan *scan, const struct merge_file *file)
{
	const char *dir = scan->dirs[file->dir];
	char *path;

	if (asprintf(&path, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", file->name) < 0)
		return NULL;
	return path;
}

bool merge_scan_twin(const struct merge_scan *scan, const struct merge_file *file,
		     enum merge_file_kind kind)
{
	char *path;
	bool there;

	if (asprintf(&path, "%s/%.*s%s", scan->dirs[file->dir], (int)file->stem_len, file->name,
		     names[kind].ending) < 0)
		return false;
	there = access(path, F_OK) == 0;
	free(path);
	return there;
}

void merge_scan_free(struct merge_scan *scan)
{
	for (size_t i = 0; i < scan->nfiles; i++)
		free((char *)scan->files[i].name);
	for (unsigned i = 0; i < scan->ndirs; i++)
		free(scan->dirs[i]);
	free(scan->files);
	free(scan->dirs);
	memset(scan, 0, sizeof(*scan));
}
