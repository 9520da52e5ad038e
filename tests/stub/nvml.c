/* SPDX-License-Identifier: BSD-3-Clause */
/* A libnvidia-ml.so.1 that tells a story (story.h): energy in mJ, power in mW. */
#include <stdatomic.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "story.h"

#define NOT_FOUND 6
#define GPU_IS_LOST 15
#define UNINITIALIZED 1

static atomic_int users;

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int rc);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device);
int nvmlDeviceGetPciInfo_v3(void *device, void *info);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);

/* A handle is the position in the story plus 1. */
static const struct story_gpu *gpu_of(struct story *story, void *device)
{
	uintptr_t i = (uintptr_t)device;

	static const struct story_gpu gone = { .energy_rc = GPU_IS_LOST, .power_rc = GPU_IS_LOST };

	story_read(story);
	if (users == 0 || i == 0)
		abort(); /* a handle that was never given, or no longer holds */
	/* The story is over when a thread that was not waited for gets here. */
	return i <= story->n ? &story->gpus[i - 1] : &gone;
}

STUB_API int nvmlInit_v2(void)
{
	struct story story;

	story_read(&story);
	story_note("init");
	story_take_time(&story);
	users += story.init_rc == 0;
	return story.init_rc;
}

STUB_API int nvmlShutdown(void)
{
	story_note("shutdown");
	if (users == 0)
		return UNINITIALIZED;
	users--;
	return 0;
}

STUB_API const char *nvmlErrorString(int rc)
{
	static char text[32];

	if (rc == 18)
		return "Driver/library version mismatch";
	snprintf(text, sizeof(text), "stub error %d", rc);
	return text;
}

STUB_API int nvmlDeviceGetCount_v2(unsigned *n)
{
	struct story story;

	story_read(&story);
	*n = story.n;
	return users ? 0 : UNINITIALIZED;
}

STUB_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	*device = (void *)(uintptr_t)(index + 1);
	return users ? 0 : UNINITIALIZED;
}

STUB_API int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device)
{
	struct story story;

	story_read(&story);
	story_note("find");
	if (users == 0)
		return UNINITIALIZED;
	for (unsigned i = 0; i < story.n; i++) {
		if (strcmp(story.gpus[i].address, address) != 0)
			continue;
		*device = (void *)(uintptr_t)(i + 1);
		return story.gpus[i].find_rc;
	}
	return NOT_FOUND;
}

STUB_API int nvmlDeviceGetPciInfo_v3(void *device, void *info)
{
	struct story story;
	const struct story_gpu *gpu = gpu_of(&story, device);

	/* busId follows 16 characters and five 32-bit numbers; NVML writes 8 digits of domain. */
	snprintf((char *)info + 36, 32, "0000%.20s", gpu->address);
	return 0;
}

#ifndef LACKS_ENERGY
STUB_API int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
	struct story story;
	const struct story_gpu *gpu = gpu_of(&story, device);

	*mj = gpu->energy;
	return gpu->energy_rc;
}
#endif

STUB_API int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
	struct story story;
	const struct story_gpu *gpu = gpu_of(&story, device);

	*mw = gpu->power;
	return gpu->power_rc;
}
