/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Runs in the kernel at each tick of a CPU clock (a software perf event) on
 * the leader CPU of each package: reads the energy events open on this CPU
 * and sends one record to user space. Everything is keyed by CPU number, so
 * leaders never share an entry whatever their numbers are.
 *
 * Needs Linux 5.8 (ring buffer). Uses no type of the kernel but those of its
 * user interface: one object fits all kernels, with or without BTF.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "energy_record.h"

/* Sizes of 1 are placeholders: user space sets them before loading. */

/* CPU * ERGON_ENERGY_VALUES + event -> open energy event. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ergon_energy_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1);
} records SEC(".maps");

SEC("perf_event")
int energy_tick(void *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct ergon_energy_slot *slot = bpf_map_lookup_elem(&slots, &cpu);
	struct ergon_energy_record *record;

	(void)ctx;
	if (!slot)
		return 0;
	slot->ticks++;
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		slot->lost++;
		return 0;
	}
	record->t_ns = bpf_ktime_get_ns();
	record->seq = slot->ticks;
	record->cpu = cpu;
	record->good = 0;
#pragma unroll
	for (__u32 e = 0; e < ERGON_ENERGY_VALUES; e++) {
		struct bpf_perf_event_value value = { 0 };

		if (bpf_perf_event_read_value(&events, cpu * ERGON_ENERGY_VALUES + e, &value,
					      sizeof(value)) == 0)
			record->good |= 1u << e;
		record->values[e] = value.counter;
	}
	/* Whoever reads comes at times of its own. */
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The kernel lends bpf_perf_event_read_value to GPL-compatible programs only. */
char energy_license[] SEC("license") = "Dual BSD/GPL";
