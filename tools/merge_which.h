/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which run a merge is of. A directory may hold files that strayed in from
 * another run: the one that most of some evenly chosen files agree on
 * (majority vote) is it.
 */
#ifndef ERGON_MERGE_WHICH_H
#define ERGON_MERGE_WHICH_H

#include <stdbool.h>

#include "merge_scan.h"
#include "rankfile.h"

/* Empty texts: not known, every file may be of it. */
struct merge_which {
	char job[64], step[32], ns[64];
};

/* ns: only files of this namespace vote, NULL: all. f is for reading. */
void merge_which_choose(struct merge_which *chosen, const struct merge_scan *scan, const char *ns,
			struct rankfile *f);

bool merge_which_has_ns(const struct merge_file *file, const char *ns);

#endif
