/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one GPU has consumed, from a counter that may be missing, stand
 * still or step back, and from power readings where it does. Pure: no
 * clock, no library. Facts: NVML counts millijoules since the driver was
 * loaded and not at all before Volta; AMD's counter has been seen to stay
 * constant inside a process (rocm_smi_lib #180) and to step back
 * (amdsmi #115).
 */
#ifndef ERGON_GPU_COUNT_H
#define ERGON_GPU_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "integral.h"

struct ergon_gpu_count {
	uint64_t start_ns;        /* uj was 0 then; given */
	bool based;               /* uj tells */
	bool by_power;            /* from now on energy is integrated power */
	bool doubted;             /* the last reading was lower than the one before */
	uint64_t uj;              /* consumed since start_ns, or since a reset */
	uint64_t counter;         /* as last read */
	uint64_t moved_ns;        /* when it moved last, or power took over */
	uint64_t base_uj;         /* by power: uj is base_uj + since.uj */
	struct ergon_integral since; /* power since moved_ns */
};

/*
 * Before the first reading of the counter: from start_ns until now power
 * was uw microwatts. Without this call nothing is counted for that time.
 */
void ergon_gpu_count_before(struct ergon_gpu_count *c, uint64_t uw, uint64_t t_ns);

/*
 * Take a reading of the counter. Repeats are normal. One lower reading is
 * not believed; a second one in a row is (the driver was loaded again): uj
 * steps back to 0 and the delta engine calls it a reset.
 */
void ergon_gpu_count_energy(struct ergon_gpu_count *c, uint64_t uj, uint64_t t_ns);

/* There is no counter: power it is, from start_ns on. Only before the first reading. */
void ergon_gpu_count_no_energy(struct ergon_gpu_count *c);

/*
 * True when a power reading is of use: there is no counter, or it has not
 * moved for a second (drivers refresh theirs within 100 ms).
 */
bool ergon_gpu_count_wants_power(const struct ergon_gpu_count *c, uint64_t t_ns);

/*
 * Take a power reading. When power was drawn while the counter stood still
 * for 5 s, the counter is not believed any more: what was drawn since it
 * moved last is added, and power counts from then on.
 */
void ergon_gpu_count_power(struct ergon_gpu_count *c, uint64_t uw, uint64_t t_ns);

#endif
