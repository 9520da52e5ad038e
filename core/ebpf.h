/* SPDX-License-Identifier: BSD-3-Clause */
/* What the eBPF backend knows of itself beyond the contract of backend.h. */
#ifndef ERGON_EBPF_H
#define ERGON_EBPF_H

#include <stdint.h>

/* Since the instance was opened. */
struct ergon_ebpf_stats {
	uint64_t ticks;           /* of the kernel's clock, all leader CPUs together */
	uint64_t records;         /* that reached us */
	uint64_t lost;            /* that found the ring buffer full */
	uint64_t direct;          /* readings of a package that asked the events themselves */
};

/* inst: of ergon_backend_ebpf. From the thread that reads. */
void ergon_ebpf_stats(const void *inst, struct ergon_ebpf_stats *out);

#endif
