/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The value of --energy: MECH[,key[=value]]... The same text is checked
 * where the user typed it (one clear line) and again on the node, where it
 * may have come from anywhere.
 */
#ifndef ERGON_OPTIONS_H
#define ERGON_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "rate.h"

#define ERGON_SPEC_MAX 4096             /* bytes of the option's value */

struct ergon_spec {
	char mech[32];            /* "auto", "off", a backend's name, or several joined by '+' */
	bool mpi;                 /* preload the MPI library into the ranks */
	struct ergon_rate freq;   /* hz 0: not given */
	char share[8];            /* "cores", "equal"; "" not given */
	char out[PATH_MAX];       /* directory for the ranks' files; "" not given */
};

/* NULL, "" and "(null)" (which older Slurms make of no value) mean "auto". */
int ergon_spec_parse(const char *text, struct ergon_spec *spec, struct ergon_error *err);

/* Help text of the option with the mechanisms of this build. */
const char *ergon_spec_usage(char *buf, size_t size);

#endif
