/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libamd_smi.so and, with ROCM, a librocm_smi64.so that tell a story
 * (story.h): energy in counts of 15.259 uJ. The power is in hwmon files.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "story.h"

static atomic_int users;

static uint64_t bdf_of(const struct story_gpu *gpu)
{
	unsigned domain = 0, bus = 0, device = 0, function = 0;

	sscanf(gpu->address, "%x:%x:%x.%x", &domain, &bus, &device, &function);
	return (uint64_t)domain << 32 | bus << 8 | device << 3 | function;
}

static int start(uint64_t flags, uint64_t expected)
{
	struct story story;

	story_read(&story);
	story_note("init");
	story_take_time(&story);
	if (flags != expected)
		abort();
	users += story.init_rc == 0;
	return story.init_rc;
}

static int stop(void)
{
	story_note("shutdown");
	users--;
	return 0;
}

/* Not called by the library that lacks the counter. */
__attribute__((unused))
static int energy_of(unsigned i, uint64_t *count, float *resolution, uint64_t *t_ns)
{
	struct story story;

	story_read(&story);
	if (users == 0)
		abort();
	if (i >= story.n)
		return 1; /* the story is over when a thread that was not waited for gets here */
	*count = story.gpus[i].energy;
	*resolution = 15.259f;
	*t_ns = 10;
	return story.gpus[i].energy_rc;
}

#ifdef ROCM

int rsmi_init(uint64_t flags);
int rsmi_shut_down(void);
int rsmi_num_monitor_devices(uint32_t *n);
int rsmi_dev_pci_id_get(uint32_t device, uint64_t *bdf);
int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *resolution, uint64_t *t_ns);

STUB_API int rsmi_init(uint64_t flags)
{
	return start(flags, 0);
}

STUB_API int rsmi_shut_down(void)
{
	return stop();
}

STUB_API int rsmi_num_monitor_devices(uint32_t *n)
{
	struct story story;

	story_read(&story);
	*n = story.n;
	return 0;
}

STUB_API int rsmi_dev_pci_id_get(uint32_t device, uint64_t *bdf)
{
	struct story story;

	story_read(&story);
	*bdf = bdf_of(&story.gpus[device]);
	return story.gpus[device].find_rc;
}

STUB_API int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *resolution,
				       uint64_t *t_ns)
{
	return energy_of(device, count, resolution, t_ns);
}

#else

int amdsmi_init(uint64_t flags);
int amdsmi_shut_down(void);
int amdsmi_get_socket_handles(uint32_t *n, void **sockets);
int amdsmi_get_processor_handles(void *socket, uint32_t *n, void **processors);
int amdsmi_get_gpu_bdf_id(void *processor, uint64_t *bdf);
int amdsmi_get_energy_count(void *processor, uint64_t *count, float *resolution, uint64_t *t_ns);

/* AMD SMI does not count its users: each of these two deletes all handles there are. */
STUB_API int amdsmi_init(uint64_t flags)
{
	if (users > 0)
		abort();
	return start(flags, 2);
}

STUB_API int amdsmi_shut_down(void)
{
	int rc = stop();

	users = 0;
	return rc;
}

/* One socket per GPU; a handle is its position plus 1, a processor's plus 1001. */
STUB_API int amdsmi_get_socket_handles(uint32_t *n, void **sockets)
{
	struct story story;

	story_read(&story);
	if (*n < story.n)
		abort();
	*n = story.n;
	for (uintptr_t i = 0; i < story.n; i++)
		sockets[i] = (void *)(i + 1);
	return 0;
}

STUB_API int amdsmi_get_processor_handles(void *socket, uint32_t *n, void **processors)
{
	if (*n < 1)
		abort();
	*n = 1;
	processors[0] = (void *)((uintptr_t)socket + 1000);
	return 0;
}

static unsigned index_of(void *processor)
{
	return (unsigned)((uintptr_t)processor - 1001);
}

STUB_API int amdsmi_get_gpu_bdf_id(void *processor, uint64_t *bdf)
{
	struct story story;

	story_read(&story);
	if (index_of(processor) >= story.n)
		return 1;
	*bdf = bdf_of(&story.gpus[index_of(processor)]);
	return story.gpus[index_of(processor)].find_rc;
}

#ifndef LACKS_ENERGY
STUB_API int amdsmi_get_energy_count(void *processor, uint64_t *count, float *resolution,
				     uint64_t *t_ns)
{
	return energy_of(index_of(processor), count, resolution, t_ns);
}
#endif

#endif
