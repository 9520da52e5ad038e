/* SPDX-License-Identifier: BSD-3-Clause */
/* What one reading of a mechanism costs on this machine. */
#ifndef ERGON_TOOLS_BENCH_READ_H
#define ERGON_TOOLS_BENCH_READ_H

#include <stddef.h>

#include "backend.h"
#include "error.h"
#include "spread.h"

/* Times are those between two readings of the clock, in ns, and contain one such reading. */
struct bench_read {
	size_t channels;
	struct spread all;        /* the backend reads all channels */
	struct spread single;     /* ... its first channel alone; n 0: it cannot */
	struct spread apart;      /* ... every channel alone, one after the other; n 0: as above */
	struct spread meter;      /* all channels through the meter, as the sampler does */
	struct spread clock;      /* nothing */
	double per_s;             /* readings of all channels in a row without looking at the clock, */
	double cpu_ns;            /* and the CPU time of one */
};

/* The kinds take turns, so that what disturbs one disturbs all. Some 3 s at most. 0; -1 + err. */
int bench_read(const struct ergon_machine *m, const struct ergon_backend *backend,
	       struct bench_read *out, struct ergon_error *err);

#endif
