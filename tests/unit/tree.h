/* SPDX-License-Identifier: BSD-3-Clause */
/* A temporary directory that stands for a machine. Failures end the test. */
#ifndef ERGON_TEST_TREE_H
#define ERGON_TEST_TREE_H

#include <stddef.h>

#include "sysroot.h"

struct tree {
	char path[64];
};

void tree_create(struct tree *tree);
void tree_destroy(struct tree *tree);

/* Write bytes to a file ("/sys/..."); makes the directories on the way. */
void tree_write_bytes(const struct tree *tree, const char *file, const void *bytes, size_t size);
void tree_write(const struct tree *tree, const char *file, const char *text);

struct ergon_sysroot *tree_open(const struct tree *tree);

#endif
