/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of nodes as Slurm writes them: n[1-3,7],login. */
#ifndef ERGON_ACCT_NODES_H
#define ERGON_ACCT_NODES_H

#include <stddef.h>

/*
 * A malloc'ed list of the names, sorted, each once; numbers at the end of
 * names become ranges, leading zeros are kept. Reorders names. NULL when
 * memory is out.
 */
char *ergon_acct_nodes(const char **names, size_t n);

#endif
