/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree.h"

#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

void tree_create(struct tree *tree)
{
	strcpy(tree->path, "/tmp/ergon-test-XXXXXX");
	assert_non_null(mkdtemp(tree->path));
	assert_int_equal(chmod(tree->path, 0755), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void tree_destroy(struct tree *tree)
{
	assert_int_equal(nftw(tree->path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

void tree_write_bytes(const struct tree *tree, const char *file, const void *bytes, size_t size)
{
	char path[PATH_MAX];
	FILE *out;

	snprintf(path, sizeof(path), "%s%s", tree->path, file);
	for (char *p = path + strlen(tree->path) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, size, out), size);
	assert_int_equal(fclose(out), 0);
}

void tree_write(const struct tree *tree, const char *file, const char *text)
{
	tree_write_bytes(tree, file, text, strlen(text));
}

struct ergon_sysroot *tree_open(const struct tree *tree)
{
	struct ergon_error err;
	struct ergon_sysroot *sr = ergon_sysroot_open(tree->path, &err);

	assert_non_null(sr);
	return sr;
}
