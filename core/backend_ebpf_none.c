/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of backend_ebpf.c where configure left it out: says why. */
#include "backend.h"
#include "config.h"

static void none_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	(void)m;
	ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "use perf, which reads the same counters",
			"built without eBPF (%s)", ERGON_EBPF_MISSING);
}

static void *none_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;

	none_probe(m, &probe);
	ergon_probe_error("ebpf", &probe, err);
	return NULL;
}

/* Never opened: the rest is never called. */
const struct ergon_backend ergon_backend_ebpf = {
	.name = "ebpf",
	.help = "RAPL counters read in the kernel by an eBPF program; not in this build",
	.group = "rapl",
	.probe = none_probe,
	.open = none_open,
};
