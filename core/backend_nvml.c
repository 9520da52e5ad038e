/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVIDIA GPUs through NVML, opened at run time. The GPUs are those that the
 * driver lists below /proc, physical ones: MIG instances have no energy of
 * their own. On Grace Hopper NVML's figure covers the module (zeus #172);
 * scope.h keeps it out of a total that has the module's own meter.
 *
 * Types and values below are NVML's public ABI (NVIDIA, NVML API reference);
 * no header of NVIDIA's is needed. Limits: a GPU whose device file is denied
 * (a job's cgroup) is left out when the backend is opened.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "clock.h"
#include "dynlib.h"
#include "gpu.h"
#include "slow.h"

#define NVIDIA_GPUS "/proc/driver/nvidia/gpus"
#define NVIDIA_CONTROL "/dev/nvidiactl"

#define REMEDY_RIGHTS "let users open /dev/nvidia* (driver option NVreg_DeviceFileMode=0666), or run as root"
#define REMEDY_LIBRARY "install the driver's libraries (Debian: libnvidia-ml1), or set LD_LIBRARY_PATH"
#define REMEDY_JOB "ask for GPUs: a job may open only those it was given"

#define PROBE_MS 5000
#define LIST_MS 3000

/* --- NVML's ABI --- */

typedef void *nvml_device;

enum {
	NVML_SUCCESS = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4
};

struct nvml_pci_info {            /* nvmlPciInfo_t */
	char bus_id_legacy[16];
	unsigned domain, bus, device;
	unsigned device_id, subsystem_id;
	char bus_id[32];
};

struct nvml_functions {
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error_string)(int rc);
	int (*count)(unsigned *n);
	int (*by_index)(unsigned index, nvml_device *device);
	int (*by_pci)(const char *address, nvml_device *device);
	int (*pci_info)(nvml_device device, struct nvml_pci_info *info);
	int (*energy)(nvml_device device, unsigned long long *mj);
	int (*power)(nvml_device device, unsigned *mw);
};

static const struct ergon_dynsym nvml_symbols[] = {
	{ "nvmlInit_v2", offsetof(struct nvml_functions, init) },
	{ "nvmlShutdown", offsetof(struct nvml_functions, shutdown) },
	{ "nvmlErrorString", offsetof(struct nvml_functions, error_string) },
	{ "nvmlDeviceGetCount_v2", offsetof(struct nvml_functions, count) },
	{ "nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml_functions, by_index) },
	{ "nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct nvml_functions, by_pci) },
	{ "nvmlDeviceGetPciInfo_v3", offsetof(struct nvml_functions, pci_info) },
	{ "nvmlDeviceGetTotalEnergyConsumption", offsetof(struct nvml_functions, energy) },
	{ "nvmlDeviceGetPowerUsage", offsetof(struct nvml_functions, power) },
};

static const char *const nvml_libraries[] = { "libnvidia-ml.so.1", "libnvidia-ml.so", NULL };

struct nvml {
	struct nvml_functions call;
	bool started;
	struct ergon_pci addresses[ERGON_GPU_MAX];
	nvml_device devices[ERGON_GPU_MAX]; /* NULL: not found */
};

static enum ergon_gpu_answer answer(const struct nvml *nv, const char *what, int rc,
				    struct ergon_error *err)
{
	if (rc == NVML_SUCCESS)
		return ERGON_GPU_OK;
	ergon_error_set(err, "%s: %s", what, nv->call.error_string(rc));
	if (rc == NVML_NO_PERMISSION)
		return ERGON_GPU_DENIED;
	return rc == NVML_NOT_SUPPORTED ? ERGON_GPU_UNSUPPORTED : ERGON_GPU_FAILED;
}

/* --- for the slow thread --- */

static enum ergon_gpu_answer nvml_start(void *lib, struct ergon_error *err)
{
	struct nvml *nv = lib;
	enum ergon_gpu_answer rc = answer(nv, "nvmlInit", nv->call.init(), err);

	nv->started = rc == ERGON_GPU_OK;
	return rc;
}

static void nvml_stop(void *lib)
{
	struct nvml *nv = lib;

	/* NVML counts its users: others in this process keep it running. */
	if (nv->started)
		nv->call.shutdown();
	nv->started = false;
	memset(nv->devices, 0, sizeof(nv->devices));
}

static enum ergon_gpu_answer nvml_find(void *lib, size_t i, struct ergon_error *err)
{
	struct nvml *nv = lib;
	enum ergon_gpu_answer rc;
	char address[32];

	nv->devices[i] = NULL;
	if (!nv->started)
		return ERGON_GPU_FAILED;
	ergon_pci_format(&nv->addresses[i], address, sizeof(address));
	rc = answer(nv, address, nv->call.by_pci(address, &nv->devices[i]), err);
	if (rc != ERGON_GPU_OK)
		nv->devices[i] = NULL;
	return rc;
}

static enum ergon_gpu_answer nvml_energy(void *lib, size_t i, uint64_t *uj, struct ergon_error *err)
{
	struct nvml *nv = lib;
	unsigned long long mj = 0;
	enum ergon_gpu_answer rc = ERGON_GPU_FAILED;

	if (nv->devices[i])
		rc = answer(nv, "energy", nv->call.energy(nv->devices[i], &mj), err);
	*uj = mj * 1000;
	return rc;
}

static enum ergon_gpu_answer nvml_power(void *lib, size_t i, uint64_t *uw)
{
	struct nvml *nv = lib;
	unsigned mw;

	if (!nv->devices[i] || nv->call.power(nv->devices[i], &mw) != NVML_SUCCESS)
		return ERGON_GPU_FAILED;
	*uw = mw * UINT64_C(1000);
	return ERGON_GPU_OK;
}

static const struct ergon_gpu_vendor nvidia = {
	.name = "nvml",
	.start = nvml_start,
	.stop = nvml_stop,
	.find = nvml_find,
	.energy = nvml_energy,
	.power = nvml_power,
	.release = free,
};

/* --- what there is --- */

struct discovery {
	struct ergon_gpu gpus[ERGON_GPU_MAX];
	size_t n;
	size_t denied;
	struct ergon_drops drops;
	struct nvml *nvml;
	bool listed;              /* by the driver, below /proc */
};

/* The value of a line "KEY: \t VALUE" of the driver's description; cut to size, "" when absent. */
static void value_of(const char *text, const char *key, char *value, size_t size)
{
	size_t len = strlen(key);

	*value = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ':') {
			line += len + 1;
			line += strspn(line, " \t");
			snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
			return;
		}
	}
}

/* May this process open the GPU's device file? access(2) asks a job's device cgroup, too. */
static bool may_open(const struct ergon_machine *m, const char *description, const char *address,
		     struct discovery *d)
{
	char number[16], path[48];

	value_of(description, "Device Minor", number, sizeof(number));
	if (!*number)
		return true;
	snprintf(path, sizeof(path), "/dev/nvidia%s", number);
	if (ergon_sysroot_access(m->sysroot, path, R_OK | W_OK) == 0)
		return true;
	d->denied++;
	ergon_drop(&d->drops, address, "%s: %s", path, strerror(errno));
	return false;
}

static void add_listed(const struct ergon_machine *m, const char *entry, struct discovery *d)
{
	char path[128], text[2048], word[64], model[40], uuid[48];
	struct ergon_gpu gpu;

	snprintf(path, sizeof(path), NVIDIA_GPUS "/%s/information", entry);
	if (ergon_sysroot_read_text(m->sysroot, path, text, sizeof(text)) < 0) {
		ergon_drop(&d->drops, entry, "information: %s", strerror(errno));
		return;
	}
	value_of(text, "Bus Location", word, sizeof(word));
	if (!ergon_pci_parse(word, &gpu.pci) && !ergon_pci_parse(entry, &gpu.pci)) {
		ergon_drop(&d->drops, entry, "no PCI address");
		return;
	}
	value_of(text, "GPU Excluded", word, sizeof(word));
	if (strcmp(word, "Yes") == 0) {
		ergon_drop(&d->drops, entry, "the driver was told to leave this GPU alone");
		return;
	}
	if (!may_open(m, text, entry, d))
		return;
	value_of(text, "Model", model, sizeof(model));
	value_of(text, "GPU UUID", uuid, sizeof(uuid));
	/* Of a GPU that was never used the driver does not know it. */
	if (strchr(uuid, '?'))
		*uuid = '\0';
	snprintf(gpu.what, sizeof(gpu.what), "%s%s%s", model, *uuid ? " " : "", uuid);
	if (d->n < ERGON_GPU_MAX)
		d->gpus[d->n++] = gpu;
	else
		ergon_drop(&d->drops, entry, "more than %d GPUs", ERGON_GPU_MAX);
}

static void list_driver(const struct ergon_machine *m, struct discovery *d)
{
	char **names;
	ssize_t n = ergon_sysroot_list(m->sysroot, NVIDIA_GPUS, &names);

	d->listed = n > 0;
	for (ssize_t i = 0; i < n; i++)
		add_listed(m, names[i], d);
	if (n >= 0)
		ergon_sysroot_free_list(names);
}

/* What NVML lists, on a thread of its own: its start may hang, and who opens us must not. */
struct listing {
	struct nvml nvml;
	struct ergon_gpu gpus[ERGON_GPU_MAX];
	size_t n;
	struct ergon_error err;   /* why there are none; "" */
	atomic_bool done;         /* all of the above is there */
};

static void list_all(void *arg)
{
	struct listing *l = arg;
	struct nvml *nv = &l->nvml;
	unsigned n = 0;

	if (nvml_start(nv, &l->err) == ERGON_GPU_OK)
		nv->call.count(&n);
	for (unsigned i = 0; i < n && l->n < ERGON_GPU_MAX; i++) {
		struct nvml_pci_info info = { .bus_id = "" };
		nvml_device device;

		if (nv->call.by_index(i, &device) != NVML_SUCCESS ||
		    nv->call.pci_info(device, &info) != NVML_SUCCESS ||
		    !ergon_pci_parse(info.bus_id, &l->gpus[l->n].pci))
			continue;
		snprintf(l->gpus[l->n++].what, sizeof(l->gpus[0].what), "(listed by NVML alone)");
	}
	nvml_stop(nv);
	l->done = true;
}

static void list_no_more(void *arg, uint64_t *raw, bool *ok, uint64_t *t_ns)
{
	(void)arg;
	(void)raw;
	(void)ok;
	(void)t_ns;
}

static bool await_listing(const struct listing *l)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t until = ergon_clock_ns() + LIST_MS * UINT64_C(1000000);

	while (!l->done && ergon_clock_ns() < until)
		nanosleep(&nap, NULL);
	return l->done;
}

/* A container may hide /proc/driver: only here NVML is waited for when the backend is opened. */
static void list_nvml(struct discovery *d, struct ergon_probe *out)
{
	const enum ergon_slow_kind kind = ERGON_SLOW_COUNTER;
	struct listing *l = calloc(1, sizeof(*l));
	struct ergon_slow_config config = {
		.thread_name = "ergon-nvml", .calls_library = true, .n = 1, .kinds = &kind,
		.begin = list_all, .read = list_no_more, .release = free, .arg = l,
	};
	struct ergon_error err = { "out of memory" };
	struct ergon_slow *slow = NULL;

	if (l) {
		l->nvml.call = d->nvml->call;
		config.done = &l->done;
		slow = ergon_slow_start(&config, &err);
	}
	if (!slow) {
		free(l);
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "%s", err.text);
		return;
	}
	if (!await_listing(l)) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "NVML does not answer");
	} else if (*l->err.text) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "%s", l->err.text);
	} else {
		memcpy(d->gpus, l->gpus, sizeof(d->gpus));
		d->n = l->n;
	}
	ergon_slow_stop(slow);
}

/* Fill d; out tells whether there is something to measure. */
static void discover(const struct ergon_machine *m, struct discovery *d, struct ergon_probe *out)
{
	struct ergon_error err = { "" };

	if (ergon_sysroot_access(m->sysroot, NVIDIA_CONTROL, R_OK | W_OK) < 0) {
		if (errno == EACCES || errno == EPERM)
			ergon_probe_set(out, ERGON_PROBE_PERMISSION, REMEDY_RIGHTS,
					NVIDIA_CONTROL ": %s", strerror(errno));
		else
			ergon_probe_set(out, ERGON_PROBE_ABSENT, "",
					"no NVIDIA GPU (" NVIDIA_CONTROL ": %s)", strerror(errno));
		return;
	}
	ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
	list_driver(m, d);
	if (d->listed && d->n == 0) {
		if (d->denied > 0)
			ergon_probe_set(out, ERGON_PROBE_PERMISSION, REMEDY_JOB,
					"none of %zu NVIDIA GPUs may be opened", d->denied);
		else
			ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "",
					"none of the GPUs in " NVIDIA_GPUS " can be identified");
		return;
	}
	d->nvml = calloc(1, sizeof(*d->nvml));
	if (!d->nvml || ergon_dynlib_load(nvml_libraries, nvml_symbols,
					  sizeof(nvml_symbols) / sizeof(nvml_symbols[0]),
					  &d->nvml->call, &err) < 0) {
		ergon_probe_set(out, ERGON_PROBE_ABSENT, REMEDY_LIBRARY, "NVIDIA GPUs, but no NVML: %s",
				err.text);
		return;
	}
	if (!d->listed)
		list_nvml(d, out);
	if (out->state == ERGON_PROBE_OK && d->n == 0)
		ergon_probe_set(out, ERGON_PROBE_ABSENT, "", "NVML lists no GPU");
}

static struct ergon_gpus *open_gpus(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct discovery d = { .n = 0 };
	struct ergon_error err = { "" };
	struct ergon_gpus *gpus;

	discover(m, &d, out);
	if (out->state != ERGON_PROBE_OK) {
		free(d.nvml);
		ergon_drops_free(&d.drops);
		return NULL;
	}
	ergon_gpu_sort(d.gpus, d.n);
	for (size_t i = 0; i < d.n; i++)
		d.nvml->addresses[i] = d.gpus[i].pci;
	gpus = ergon_gpus_open(&nvidia, d.nvml, m, d.gpus, d.n, &d.drops, &err);
	if (!gpus)
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "%s", err.text);
	return gpus;
}

static void nvml_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct ergon_gpus *gpus = open_gpus(m, out);

	if (gpus)
		ergon_gpus_probe(gpus, PROBE_MS, REMEDY_RIGHTS, out);
	ergon_gpus_close(gpus);
}

static void *nvml_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct ergon_gpus *gpus = open_gpus(m, &probe);

	if (!gpus)
		ergon_probe_error("nvml", &probe, err);
	return gpus;
}

const struct ergon_backend ergon_backend_nvml = {
	.name = "nvml",
	.help = "energy counters of NVIDIA GPUs through NVML",
	.automatic = true,
	.probe = nvml_probe,
	.open = nvml_open,
	.channels = ergon_gpus_channels,
	.dropped = ergon_gpus_dropped,
	.read = ergon_gpus_read,
	.rescan = ergon_gpus_rescan,
	.close = ergon_gpus_close,
};
