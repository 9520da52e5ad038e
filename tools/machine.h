/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine a tool looks at: configuration, sysroot and topology together. */
#ifndef ERGON_TOOLS_MACHINE_H
#define ERGON_TOOLS_MACHINE_H

#include <stdbool.h>
#include <stdio.h>

#include "backend.h"
#include "conf.h"
#include "error.h"
#include "sysroot.h"
#include "topo.h"

struct machine {
	struct ergon_conf conf;
	struct ergon_sysroot *sysroot;
	struct ergon_topo *topo;
	struct ergon_machine view; /* what backends are given */
};

/*
 * config: a file; NULL: ERGON_CONF, else the default path, which may be
 * missing. The sysroot is ERGON_SYSROOT's. 0; -1 + err. Free with
 * machine_close in both cases.
 */
int machine_open(struct machine *machine, const char *config, struct ergon_error *err);
void machine_close(struct machine *machine);

/* "perf, powercap, ..., auto": what a list of mechanisms may name. */
void machine_print_mechanisms(FILE *out);

/* False, and one line on stderr in the name of the command, when a word of the comma list is no mechanism. */
bool machine_knows_mechanisms(const char *command, const char *list);

#endif
