/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_merge [ITERATIONS [SEED]]: spoils a good result at random and merges
 * it. Whatever the files hold, merging must end, JSON must be JSON and
 * text must be safe for a terminal. A failure prints the seed of its
 * iteration: `fuzz_merge 1 SEED` repeats it.
 */
#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "example_ledger.h"
#include "merge.h"

#define MAX_BYTES 65536
#define FILES 6

struct file {
	char path[128];
	size_t len;
	unsigned char bytes[MAX_BYTES];
};

static uint64_t random_state;

static unsigned random_below(unsigned n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return n ? (unsigned)(random_state >> 33) % n : 0;
}

static int write_file(const struct file *file)
{
	FILE *out = fopen(file->path, "w");
	int rc;

	if (!out)
		return -1;
	rc = fwrite(file->bytes, 1, file->len, out) == file->len ? 0 : -1;
	return fclose(out) == 0 ? rc : -1;
}

static int read_file(struct file *file, const char *path)
{
	FILE *in = fopen(path, "r");

	if (!in)
		return -1;
	file->len = fread(file->bytes, 1, sizeof(file->bytes), in);
	fclose(in);
	return file->len > 0 ? 0 : -1;
}

static void replace(struct file *file, size_t at, size_t cut, const void *with, size_t len)
{
	if (at > file->len)
		at = file->len;
	if (cut > file->len - at)
		cut = file->len - at;
	if (file->len - cut + len > MAX_BYTES)
		return;
	memmove(file->bytes + at + len, file->bytes + at + cut, file->len - at - cut);
	memcpy(file->bytes + at, with, len);
	file->len = file->len - cut + len;
}

static void spoil(struct file *file)
{
	static const char *const words[] = {
		",", "\"", "\n", "\r\n", "nan", "-inf", "-1", "1e308", "9223372036854775807",
		"18446744073709551615", "1,5", "\xff\xfe", "\xe2\x82", "\x1b[2J", "# end rows=", "# ergon-rank 1\n",
		"rank=", "size=", "rank=1048576 size=67108864", "size=67108864", "state=", "job=", "main", "short|", " ", "=", ";",
	};
	static const uint64_t values[] = {
		0, 1, UINT64_MAX, INT64_MAX, 0x7ff0000000000000, 0x7ff8000000000001,
		0xfff0000000000000, 0x7fefffffffffffff, 0x8000000000000000, 64, 65, 1024, 0x100000001,
	};
	size_t at = random_below((unsigned)file->len + 1);
	unsigned char copy[512];
	size_t len = random_below(sizeof(copy));
	const char *word = words[random_below(sizeof(words) / sizeof(words[0]))];

	switch (random_below(8)) {
	case 0:
		if (at < file->len)
			file->bytes[at] ^= (unsigned char)(1u << random_below(8));
		break;
	case 1:
		replace(file, at, random_below(64), "", 0);
		break;
	case 2:
		replace(file, at, 0, word, strlen(word));
		break;
	case 3:
		replace(file, at, strlen(word), word, strlen(word));
		break;
	case 4:
		file->len = at;
		break;
	case 5: /* a block of the file again, elsewhere */
		if (at + len <= file->len) {
			memcpy(copy, file->bytes + at, len);
			replace(file, random_below((unsigned)file->len), 0, copy, len);
		}
		break;
	case 6:
		memset(copy, 0, sizeof(copy));
		replace(file, at, random_below(2) ? len : 0, copy, len);
		break;
	default: /* an aligned number of a ledger */
		replace(file, at / 8 * 8, 8,
			&values[random_below(sizeof(values) / sizeof(values[0]))],
			random_below(2) ? 8 : 4);
	}
}

static int check_json(const struct merge *m)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	json_error_t error;
	json_t *root;
	int rc = merge_write_json(m, out);

	fclose(out);
	root = rc == 0 ? json_loadb(text, len, 0, &error) : NULL;
	if (!root)
		fprintf(stderr, "the JSON is none\n");
	rc = root ? 0 : -1;
	json_decref(root);
	free(text);
	return rc;
}

static int check_text(const struct merge *m, const char *what,
		      void (*write)(const struct merge *m, FILE *out))
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int rc = 0;

	write(m, out);
	fclose(out);
	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)text[i]) && text[i] != '\n')
			rc = -1;
	if (rc < 0)
		fprintf(stderr, "the %s has control characters\n", what);
	free(text);
	return rc;
}

static void write_text(const struct merge *m, FILE *out)
{
	merge_write_text(m, 0, out);
}

static void write_top(const struct merge *m, FILE *out)
{
	merge_write_text(m, 3, out);
}

static void write_problems(const struct merge *m, FILE *out)
{
	problems_print(&m->problems, out);
}

/* Sums of what the readers let through are numbers. */
static int check_figures(const struct merge *m)
{
	bool good = isfinite(m->wall_s) && isfinite(m->all.time.total) && isfinite(m->all.cpu_s);

	for (int c = 0; c < ERGON_COLUMN_COUNT; c++)
		good = good && isfinite(m->all.joules[c].total) && isfinite(m->node_j[c]) &&
		       isfinite(m->conservation[c].relative);
	if (!good)
		fprintf(stderr, "a total is not a number\n");
	return good ? 0 : -1;
}

static int check(const char *dir)
{
	struct merge m = { 0 };
	struct ergon_error err;
	char *dirs[] = { (char *)dir };
	int rc = merge_run(&m, dirs, 1, NULL, &err);
	int bad = rc < 0;

	if (rc == 0)
		bad = check_figures(&m) < 0 || check_json(&m) < 0 ||
		      check_text(&m, "table", write_text) < 0 ||
		      check_text(&m, "table", write_top) < 0 ||
		      check_text(&m, "CSV", merge_write_csv) < 0;
	if (!bad)
		bad = check_text(&m, "list of problems", write_problems) < 0;
	merge_free(&m);
	return bad ? -1 : 0;
}

/* A result of two ranks with CSVs or with ledgers; which one is seen first changes. */
static int load(struct file *files, const char *dir)
{
	static const char *const csvs[] = { "rank.w.0.csv", "rank.w.1.csv", "node.n2.csv" };
	const char *source = getenv("top_srcdir");
	struct ergon_node_head node;
	struct ergon_node_slot slots[2];

	for (int i = 0; i < 3; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/tests/golden/merge/two/%s", source ? source : ".", csvs[i]);
		snprintf(files[i].path, sizeof(files[i].path), "%s/%s", dir, csvs[i]);
		if (read_file(&files[i], path) < 0)
			return -1;
	}
	for (int rank = 0; rank < 2; rank++) {
		struct file *file = &files[3 + rank];
		struct ergon_rank_head head;
		struct ergon_row rows[2];

		snprintf(file->path, sizeof(file->path), "%s/rank.w.%d.ledger", dir, rank);
		example_rank_ledger(&head, rows, rank);
		if (example_write(file->path, &head, sizeof(head), rows, sizeof(rows)) < 0 ||
		    read_file(file, file->path) < 0 || unlink(file->path) < 0)
			return -1;
	}
	snprintf(files[5].path, sizeof(files[5].path), "%s/node.n0.ledger", dir);
	example_node_ledger(&node, slots);
	if (example_write(files[5].path, &node, sizeof(node), slots, sizeof(slots)) < 0 ||
	    read_file(&files[5], files[5].path) < 0)
		return -1;
	return unlink(files[5].path);
}

static void clear(const struct file *files)
{
	for (int i = 0; i < FILES; i++)
		unlink(files[i].path);
}

static int iterate(const struct file *files, struct file *scratch, const char *dir, uint64_t seed)
{
	/* CSVs, ledgers, or both */
	static const int ranges[][2] = { { 0, 3 }, { 3, 6 }, { 0, 6 } };
	const int *range;

	random_state = seed * 0x9e3779b97f4a7c15u + 1;
	range = ranges[random_below(3)];
	for (int i = range[0]; i < range[1]; i++) {
		memcpy(scratch, &files[i], sizeof(*scratch));
		if (random_below(2))
			for (unsigned n = 1 + random_below(4); n > 0; n--)
				spoil(scratch);
		if (write_file(scratch) < 0)
			return -1;
	}
	if (check(dir) < 0) {
		fprintf(stderr, "seed %" PRIu64 "\n", seed);
		return -1;
	}
	clear(files);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long iterations = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	struct file *files = calloc(FILES + 1, sizeof(*files));
	char dir[] = "/tmp/ergon-fuzz-XXXXXX";
	int rc = 0;

	if (!files || !mkdtemp(dir))
		return 99;
	if (load(files, dir) < 0) {
		perror(dir);
		rc = 99;
	}
	for (unsigned long i = 0; rc == 0 && i < iterations; i++)
		rc = iterate(files, &files[FILES], dir, seed + i) < 0;
	clear(files);
	rmdir(dir);
	free(files);
	return rc;
}
