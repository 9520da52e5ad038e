/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the backends of GPU vendors share: one energy channel per physical
 * GPU, numbered in the order of the bus and known by its PCI address; a
 * vendor's library that takes 10 ms to seconds to start and is therefore
 * called on the slow thread alone (slow.h); a counter where the GPU has
 * one, integrated power where not (gpu_count.h).
 */
#ifndef ERGON_GPU_H
#define ERGON_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "pci.h"

#define ERGON_GPU_MAX 64

/* A GPU that was found on the machine. */
struct ergon_gpu {
	struct ergon_pci pci;
	char what[80];            /* "NVIDIA A100-SXM4-40GB GPU-5a0d..."; "" unknown */
};

/* Sort by address. */
void ergon_gpu_sort(struct ergon_gpu *gpus, size_t n);

enum ergon_gpu_answer {
	ERGON_GPU_OK,
	ERGON_GPU_UNSUPPORTED,    /* and never will be */
	ERGON_GPU_DENIED,
	ERGON_GPU_FAILED
};

/*
 * A vendor's library. All functions but release() are called by the slow
 * thread alone; lib is the vendor's own, i the position of the GPU. Those
 * with err fill it unless they answer OK or the reason was given before.
 */
struct ergon_gpu_vendor {
	const char *name;         /* of the backend: "nvml" */

	/* Start the library. Called again after stop() when nothing answers. */
	enum ergon_gpu_answer (*start)(void *lib, struct ergon_error *err);
	void (*stop)(void *lib);  /* also when it was not started */

	/* Look a GPU up: after each start, and when it does not answer. */
	enum ergon_gpu_answer (*find)(void *lib, size_t i, struct ergon_error *err);

	/* The counter in microjoules; the power of the moment in microwatts. */
	enum ergon_gpu_answer (*energy)(void *lib, size_t i, uint64_t *uj,
					struct ergon_error *err);
	enum ergon_gpu_answer (*power)(void *lib, size_t i, uint64_t *uw);

	/* Free lib; from whichever thread is the last. */
	void (*release)(void *lib);
};

struct ergon_gpus;

/*
 * Start the thread for n GPUs, which sorts them in place; the library is
 * not called here. Takes over lib and the drops (which become empty), on
 * failure too: NULL + err.
 */
struct ergon_gpus *ergon_gpus_open(const struct ergon_gpu_vendor *vendor, void *lib,
				   const struct ergon_machine *m, struct ergon_gpu *gpus, size_t n,
				   struct ergon_drops *drops, struct ergon_error *err);

/*
 * For probes: wait at most ms milliseconds until a GPU has answered; out
 * tells ok, or what the library said last. remedy: when it denies access.
 */
void ergon_gpus_probe(struct ergon_gpus *gpus, unsigned ms, const char *remedy,
		      struct ergon_probe *out);

/* Operations of a backend (backend.h). */
size_t ergon_gpus_channels(const void *inst, const struct ergon_channel **out);
size_t ergon_gpus_dropped(const void *inst, const struct ergon_dropped **out);
size_t ergon_gpus_read(void *inst, uint64_t *raw, bool *ok);
void ergon_gpus_rescan(void *inst);
void ergon_gpus_close(void *inst);

#endif
