/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine with GPUs for tests: a temporary tree, stub libraries (the ones
 * a test lets the loader find), and the story they tell (tests/stub/story.h).
 */
#ifndef ERGON_TEST_GPU_STAGE_H
#define ERGON_TEST_GPU_STAGE_H

#include "meter.h"
#include "tree.h"

struct gpu_stage {
	struct tree tree;
	struct ergon_cpu cpu;
	int package;
	struct ergon_topo topo;
	struct ergon_machine m;
};

/* Libraries that the loader finds before the machine's own. */
struct gpu_libraries {
	const char *mode;
	const char *files[3];     /* below tests/stub: "libnvidia-ml.so.1", "lacking/libamd_smi.so" */
};

/*
 * First in main(): starts the program anew for each of the n modes, with
 * their libraries in LD_LIBRARY_PATH, and returns their common exit status.
 * In the new ones it returns -1; gpu_stage_mode() tells which it is.
 */
int gpu_stage_run(char **argv, const struct gpu_libraries *modes, size_t n);
const char *gpu_stage_mode(void);

void gpu_stage_open(struct gpu_stage *s);
void gpu_stage_close(struct gpu_stage *s);

/* The story from now on, printf-like. */
void gpu_stage_tell(const struct gpu_stage *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* How often the stub was called so. */
int gpu_stage_calls(const struct gpu_stage *s, const char *call);

/* A meter of one mechanism; must open. */
struct ergon_meter *gpu_stage_meter(const struct gpu_stage *s, const char *mechanism);

/* Read until every channel has answered, at most 5 s. */
void gpu_stage_settle(struct ergon_meter *meter);

/* Read until channel i has counted at least uj more than before, at most 5 s; what it has counted. */
uint64_t gpu_stage_until(struct ergon_meter *meter, size_t i, uint64_t uj, unsigned *flags);

#endif
