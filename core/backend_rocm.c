/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AMD GPUs: the energy counter through AMD SMI or, where that is missing,
 * ROCm SMI, opened at run time; power from the driver's hwmon files where
 * the counter is missing or stands still. The GPUs are the PCI devices of
 * the amdgpu driver.
 *
 * Prototypes below are the two libraries' public ABI (AMD, AMD SMI and ROCm
 * SMI API references); no header of AMD's is needed. The counter's own time
 * stamp is not used: its clock is the firmware's.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "dynlib.h"
#include "gpu.h"

#define AMDGPU "/sys/bus/pci/drivers/amdgpu"
#define KFD "/dev/kfd"

#define REMEDY_RIGHTS "add the user to the groups render and video, or run as root"
#define REMEDY_LIBRARY "install AMD SMI (amd-smi-lib) or ROCm SMI (rocm-smi-lib), or set LD_LIBRARY_PATH"

#define PROBE_MS 5000
#define SMI_SUCCESS 0
#define SMI_NOT_SUPPORTED 2       /* in both libraries */

/* --- the two libraries --- */

typedef void *amd_handle;

struct amd_functions {
	int (*init)(uint64_t flags);
	int (*shut_down)(void);
	int (*sockets)(uint32_t *n, amd_handle *sockets);
	int (*processors)(amd_handle socket, uint32_t *n, amd_handle *processors);
	int (*bdf)(amd_handle processor, uint64_t *bdf);
	int (*energy)(amd_handle processor, uint64_t *count, float *uj_per_count, uint64_t *t_ns);
};

static const struct ergon_dynsym amd_symbols[] = {
	{ "amdsmi_init", offsetof(struct amd_functions, init) },
	{ "amdsmi_shut_down", offsetof(struct amd_functions, shut_down) },
	{ "amdsmi_get_socket_handles", offsetof(struct amd_functions, sockets) },
	{ "amdsmi_get_processor_handles", offsetof(struct amd_functions, processors) },
	{ "amdsmi_get_gpu_bdf_id", offsetof(struct amd_functions, bdf) },
	{ "amdsmi_get_energy_count", offsetof(struct amd_functions, energy) },
};

static const char *const amd_libraries[] = {
	"libamd_smi.so", "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24",
	"/opt/rocm/lib/libamd_smi.so", NULL
};

#define AMD_INIT_GPUS 2u          /* AMDSMI_INIT_AMD_GPUS */
#define AMD_NO_PERMISSION 10

struct rsmi_functions {
	int (*init)(uint64_t flags);
	int (*shut_down)(void);
	int (*count)(uint32_t *n);
	int (*bdf)(uint32_t device, uint64_t *bdf);
	int (*energy)(uint32_t device, uint64_t *count, float *uj_per_count, uint64_t *t_ns);
};

static const struct ergon_dynsym rsmi_symbols[] = {
	{ "rsmi_init", offsetof(struct rsmi_functions, init) },
	{ "rsmi_shut_down", offsetof(struct rsmi_functions, shut_down) },
	{ "rsmi_num_monitor_devices", offsetof(struct rsmi_functions, count) },
	{ "rsmi_dev_pci_id_get", offsetof(struct rsmi_functions, bdf) },
	{ "rsmi_dev_energy_count_get", offsetof(struct rsmi_functions, energy) },
};

static const char *const rsmi_libraries[] = {
	"librocm_smi64.so", "librocm_smi64.so.1", "librocm_smi64.so.7", "librocm_smi64.so.6",
	"librocm_smi64.so.5", "/opt/rocm/lib/librocm_smi64.so", NULL
};

#define RSMI_NO_PERMISSION 4

struct rocm;

/* What differs between the libraries. A device is an amd_handle or an index. */
struct flavour {
	const char *name;
	const char *const *libraries;
	const struct ergon_dynsym *symbols;
	size_t nsymbols;
	int no_permission;
	int (*init)(struct rocm *r);
	int (*shut_down)(struct rocm *r);
	void (*list)(struct rocm *r); /* calls known() for each device */
	int (*energy)(struct rocm *r, uintptr_t device, uint64_t *count, float *uj_per_count);
};

struct rocm {
	const struct flavour *flavour;
	union {
		struct amd_functions amd;
		struct rsmi_functions rsmi;
	} call;
	bool started;
	size_t n;
	struct {
		struct ergon_pci pci;
		int power_fd;     /* hwmon's power1_average or power1_input; -1: none */
		uintptr_t device;
		bool known;       /* to the library */
	} gpus[ERGON_GPU_MAX];
};

/*
 * The library has a device at this address: domain << 32 | bus << 8 |
 * device << 3 | function, partitions in bits 28 to 31. Of the partitions of
 * a GPU the first is taken; each tells the whole GPU's energy.
 */
static void known(struct rocm *r, uint64_t bdf, uintptr_t device)
{
	const struct ergon_pci pci = {
		.domain = (unsigned)(bdf >> 32), .bus = (unsigned)(bdf >> 8 & 0xff),
		.device = (unsigned)(bdf >> 3 & 0x1f), .function = (unsigned)(bdf & 7),
	};

	for (size_t i = 0; i < r->n; i++) {
		if (r->gpus[i].known || ergon_pci_compare(&r->gpus[i].pci, &pci) != 0)
			continue;
		r->gpus[i].device = device;
		r->gpus[i].known = true;
	}
}

/*
 * AMD SMI (of ROCm 6 at least) does not count its users: each start and
 * each end deletes all handles there are. So ours are counted here.
 */
static struct {
	pthread_mutex_t lock;     /* held while it starts and ends, by slow threads alone */
	unsigned users;
} amd_smi = { PTHREAD_MUTEX_INITIALIZER, 0 };

static int amd_init(struct rocm *r)
{
	int rc = SMI_SUCCESS;

	pthread_mutex_lock(&amd_smi.lock);
	if (amd_smi.users == 0)
		rc = r->call.amd.init(AMD_INIT_GPUS);
	amd_smi.users += rc == SMI_SUCCESS;
	pthread_mutex_unlock(&amd_smi.lock);
	return rc;
}

static int amd_shut_down(struct rocm *r)
{
	int rc = SMI_SUCCESS;

	pthread_mutex_lock(&amd_smi.lock);
	if (--amd_smi.users == 0)
		rc = r->call.amd.shut_down();
	pthread_mutex_unlock(&amd_smi.lock);
	return rc;
}

static void amd_list(struct rocm *r)
{
	amd_handle sockets[ERGON_GPU_MAX], processors[ERGON_GPU_MAX];
	uint32_t nsockets = ERGON_GPU_MAX;

	if (r->call.amd.sockets(&nsockets, sockets) != SMI_SUCCESS)
		return;
	for (uint32_t s = 0; s < nsockets && s < ERGON_GPU_MAX; s++) {
		uint32_t n = ERGON_GPU_MAX;

		if (r->call.amd.processors(sockets[s], &n, processors) != SMI_SUCCESS)
			continue;
		for (uint32_t i = 0; i < n && i < ERGON_GPU_MAX; i++) {
			uint64_t bdf;

			if (r->call.amd.bdf(processors[i], &bdf) == SMI_SUCCESS)
				known(r, bdf, (uintptr_t)processors[i]);
		}
	}
}

static int amd_energy(struct rocm *r, uintptr_t device, uint64_t *count, float *uj_per_count)
{
	uint64_t t_ns;

	return r->call.amd.energy((amd_handle)device, count, uj_per_count, &t_ns);
}

static int rsmi_init(struct rocm *r)
{
	return r->call.rsmi.init(0);
}

static int rsmi_shut_down(struct rocm *r)
{
	return r->call.rsmi.shut_down();
}

static void rsmi_list(struct rocm *r)
{
	uint32_t n = 0;
	uint64_t bdf;

	if (r->call.rsmi.count(&n) != SMI_SUCCESS)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (r->call.rsmi.bdf(i, &bdf) == SMI_SUCCESS)
			known(r, bdf, i);
}

static int rsmi_energy(struct rocm *r, uintptr_t device, uint64_t *count, float *uj_per_count)
{
	uint64_t t_ns;

	return r->call.rsmi.energy((uint32_t)device, count, uj_per_count, &t_ns);
}

static const struct flavour flavours[] = {
	{
		.name = "AMD SMI",
		.libraries = amd_libraries,
		.symbols = amd_symbols,
		.nsymbols = sizeof(amd_symbols) / sizeof(amd_symbols[0]),
		.no_permission = AMD_NO_PERMISSION,
		.init = amd_init,
		.shut_down = amd_shut_down,
		.list = amd_list,
		.energy = amd_energy,
	},
	{
		.name = "ROCm SMI",
		.libraries = rsmi_libraries,
		.symbols = rsmi_symbols,
		.nsymbols = sizeof(rsmi_symbols) / sizeof(rsmi_symbols[0]),
		.no_permission = RSMI_NO_PERMISSION,
		.init = rsmi_init,
		.shut_down = rsmi_shut_down,
		.list = rsmi_list,
		.energy = rsmi_energy,
	},
};

/* --- for the slow thread --- */

static enum ergon_gpu_answer answer(const struct rocm *r, const char *what, int rc,
				    struct ergon_error *err)
{
	if (rc == SMI_SUCCESS)
		return ERGON_GPU_OK;
	ergon_error_set(err, "%s: %s: error %d%s", r->flavour->name, what, rc,
			rc == r->flavour->no_permission ? " (permission)" : "");
	if (rc == r->flavour->no_permission)
		return ERGON_GPU_DENIED;
	return rc == SMI_NOT_SUPPORTED ? ERGON_GPU_UNSUPPORTED : ERGON_GPU_FAILED;
}

static enum ergon_gpu_answer rocm_start(void *lib, struct ergon_error *err)
{
	struct rocm *r = lib;
	enum ergon_gpu_answer rc = answer(r, "init", r->flavour->init(r), err);

	r->started = rc == ERGON_GPU_OK;
	return rc;
}

static void rocm_stop(void *lib)
{
	struct rocm *r = lib;

	if (r->started)
		r->flavour->shut_down(r);
	r->started = false;
	for (size_t i = 0; i < r->n; i++)
		r->gpus[i].known = false;
}

static enum ergon_gpu_answer rocm_find(void *lib, size_t i, struct ergon_error *err)
{
	struct rocm *r = lib;
	char address[32];

	if (r->started && !r->gpus[i].known)
		r->flavour->list(r);
	if (r->gpus[i].known)
		return ERGON_GPU_OK;
	ergon_error_set(err, "%s does not know %s", r->flavour->name,
			ergon_pci_format(&r->gpus[i].pci, address, sizeof(address)));
	return ERGON_GPU_FAILED;
}

static enum ergon_gpu_answer rocm_energy(void *lib, size_t i, uint64_t *uj, struct ergon_error *err)
{
	struct rocm *r = lib;
	enum ergon_gpu_answer rc;
	uint64_t count = 0;
	float resolution = 0;

	if (!r->started || !r->gpus[i].known)
		return ERGON_GPU_FAILED;
	rc = answer(r, "energy", r->flavour->energy(r, r->gpus[i].device, &count, &resolution), err);
	if (rc != ERGON_GPU_OK)
		return rc;
	/* So GPUs without a counter, too, answer (rocm_smi_lib #160). */
	if (count == 0 || !(resolution > 0)) {
		ergon_error_set(err, "%s: the energy counter is 0", r->flavour->name);
		return ERGON_GPU_UNSUPPORTED;
	}
	*uj = (uint64_t)((long double)count * (long double)resolution);
	return rc;
}

static enum ergon_gpu_answer rocm_power(void *lib, size_t i, uint64_t *uw)
{
	struct rocm *r = lib;

	if (r->gpus[i].power_fd < 0 || ergon_fd_read_u64(r->gpus[i].power_fd, uw) < 0)
		return ERGON_GPU_FAILED;
	return ERGON_GPU_OK;
}

static void rocm_release(void *lib)
{
	struct rocm *r = lib;

	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		if (r->gpus[i].power_fd >= 0)
			close(r->gpus[i].power_fd);
	free(r);
}

static const struct ergon_gpu_vendor amd = {
	.name = "rocm",
	.start = rocm_start,
	.stop = rocm_stop,
	.find = rocm_find,
	.energy = rocm_energy,
	.power = rocm_power,
	.release = rocm_release,
};

/* --- what there is --- */

/* PCI devices of cards with two dies; one of them tells the whole card's energy and power. */
static const unsigned two_dies[] = {
	0x7408,                   /* MI250X */
	0x740c,                   /* MI250X, MI250 */
};

struct found {
	struct ergon_gpu gpu;
	int power_fd;
	bool draws;               /* its power reads more than 0 */
	bool two_dies;
	bool second;              /* left out: its twin tells for both */
};

struct discovery {
	struct found gpus[ERGON_GPU_MAX];
	size_t n;
	struct ergon_drops drops;
	struct rocm *rocm;
};

/* The first hwmon directory of a device; "" when it has none. */
static void find_hwmon(const struct ergon_machine *m, const char *address, char *dir, size_t size)
{
	char path[128], **names;
	ssize_t n;

	*dir = '\0';
	snprintf(path, sizeof(path), AMDGPU "/%s/hwmon", address);
	n = ergon_sysroot_list(m->sysroot, path, &names);
	if (n > 0)
		snprintf(dir, size, "%s/%.64s", path, names[0]);
	if (n >= 0)
		ergon_sysroot_free_list(names);
}

/* Its power file: average, else of the moment; -1. */
static int open_power(const struct ergon_machine *m, const char *hwmon)
{
	static const char *const files[] = { "power1_average", "power1_input" };
	char path[256];
	int fd = -1;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", hwmon, files[i]);
		fd = ergon_sysroot_open_file(m->sysroot, path, O_RDONLY);
	}
	return fd;
}

/* Graphics of a processor: it has the north bridge's voltage, and its power is the package's. */
static bool is_processor(const struct ergon_machine *m, const char *hwmon)
{
	char path[256], label[32];

	snprintf(path, sizeof(path), "%s/in1_label", hwmon);
	return ergon_sysroot_read_text(m->sysroot, path, label, sizeof(label)) > 0 &&
	       strcmp(label, "vddnb") == 0;
}

static unsigned long device_id(const struct ergon_machine *m, const char *address)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), AMDGPU "/%s/device", address);
	if (ergon_sysroot_read_text(m->sysroot, path, text, sizeof(text)) <= 0)
		return 0;
	return strtoul(text, NULL, 16);
}

static void add_device(const struct ergon_machine *m, const char *address, struct discovery *d)
{
	struct found f = { .power_fd = -1 };
	char hwmon[200];
	unsigned long id;
	uint64_t uw;

	if (!ergon_pci_parse(address, &f.gpu.pci))
		return; /* "bind", "module", ... */
	find_hwmon(m, address, hwmon, sizeof(hwmon));
	if (is_processor(m, hwmon)) {
		ergon_drop(&d->drops, address, "the processor's own graphics");
		return;
	}
	if (d->n == ERGON_GPU_MAX) {
		ergon_drop(&d->drops, address, "more than %d GPUs", ERGON_GPU_MAX);
		return;
	}
	id = device_id(m, address);
	for (size_t i = 0; i < sizeof(two_dies) / sizeof(two_dies[0]); i++)
		f.two_dies |= id == two_dies[i];
	snprintf(f.gpu.what, sizeof(f.gpu.what), "AMD 0x%04lx", id);
	f.power_fd = open_power(m, hwmon);
	/* Other cards need not be asked here: some would be woken up, or hold us up. */
	f.draws = f.two_dies && f.power_fd >= 0 && ergon_fd_read_u64(f.power_fd, &uw) == 0 && uw > 0;
	d->gpus[d->n++] = f;
}

static int compare(const void *a, const void *b)
{
	return ergon_pci_compare(&((const struct found *)a)->gpu.pci,
				 &((const struct found *)b)->gpu.pci);
}

/*
 * The second die of a card reads 0 or nothing (rocm_smi_lib #160): neither
 * an error nor zero consumption. The dies of a card are neighbours on the
 * bus; where no power tells which is which, the second one is the latter.
 */
static void drop_second_dies(struct discovery *d)
{
	struct found *first = NULL; /* of a card whose other die is still to come */
	size_t kept = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct found *f = &d->gpus[i];

		if (!f->two_dies)
			continue;
		if (first && !(first->draws && f->draws))
			(f->draws ? first : f)->second = true;
		first = first ? NULL : f;
	}
	for (size_t i = 0; i < d->n; i++) {
		struct found f = d->gpus[i];
		char address[32];

		if (!f.second) {
			d->gpus[kept++] = f;
			continue;
		}
		ergon_drop(&d->drops, ergon_pci_format(&f.gpu.pci, address, sizeof(address)),
			   "second die: the first one tells for the whole card");
		if (f.power_fd >= 0)
			close(f.power_fd);
	}
	d->n = kept;
}

static int load(struct rocm *r, struct ergon_error *err)
{
	for (size_t i = 0; i < sizeof(flavours) / sizeof(flavours[0]); i++) {
		struct ergon_error one = { "" };

		r->flavour = &flavours[i];
		if (ergon_dynlib_load(r->flavour->libraries, r->flavour->symbols,
				      r->flavour->nsymbols, &r->call, &one) == 0)
			return 0;
		/* What the preferred one lacks says more than that the other is not there. */
		if (i == 0)
			*err = one;
	}
	return -1;
}

static void list_devices(const struct ergon_machine *m, struct discovery *d)
{
	char **names;
	ssize_t n = ergon_sysroot_list(m->sysroot, AMDGPU, &names);

	for (ssize_t i = 0; i < n; i++)
		add_device(m, names[i], d);
	if (n >= 0)
		ergon_sysroot_free_list(names);
	qsort(d->gpus, d->n, sizeof(d->gpus[0]), compare);
	drop_second_dies(d);
}

/* Fill d; out tells whether there is something to measure. */
static void discover(const struct ergon_machine *m, struct discovery *d, struct ergon_probe *out)
{
	struct ergon_error err = { "" };

	if (ergon_sysroot_access(m->sysroot, AMDGPU, F_OK) < 0) {
		ergon_probe_set(out, ERGON_PROBE_ABSENT, "", "no AMD GPU (" AMDGPU ": %s)",
				strerror(errno));
		return;
	}
	if (ergon_sysroot_access(m->sysroot, KFD, R_OK | W_OK) < 0) {
		bool denied = errno == EACCES || errno == EPERM;

		ergon_probe_set(out, denied ? ERGON_PROBE_PERMISSION : ERGON_PROBE_ABSENT,
				denied ? REMEDY_RIGHTS : "", KFD ": %s", strerror(errno));
		return;
	}
	list_devices(m, d);
	if (d->n == 0) {
		ergon_probe_set(out, ERGON_PROBE_ABSENT, "", "no GPU in " AMDGPU);
		return;
	}
	d->rocm = calloc(1, sizeof(*d->rocm));
	if (!d->rocm || load(d->rocm, &err) < 0)
		ergon_probe_set(out, ERGON_PROBE_ABSENT, REMEDY_LIBRARY,
				"AMD GPUs, but no SMI library: %s", err.text);
	else
		ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
}

static struct ergon_gpus *open_gpus(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct discovery d = { .n = 0 };
	struct ergon_gpu gpus[ERGON_GPU_MAX];
	struct ergon_error err = { "" };
	struct ergon_gpus *opened;

	discover(m, &d, out);
	if (out->state != ERGON_PROBE_OK) {
		for (size_t i = 0; i < d.n; i++)
			if (d.gpus[i].power_fd >= 0)
				close(d.gpus[i].power_fd);
		free(d.rocm);
		ergon_drops_free(&d.drops);
		return NULL;
	}
	d.rocm->n = d.n;
	for (size_t i = 0; i < d.n; i++) {
		gpus[i] = d.gpus[i].gpu;
		d.rocm->gpus[i].pci = gpus[i].pci;
		d.rocm->gpus[i].power_fd = d.gpus[i].power_fd;
	}
	opened = ergon_gpus_open(&amd, d.rocm, m, gpus, d.n, &d.drops, &err);
	if (!opened)
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "%s", err.text);
	return opened;
}

static void rocm_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct ergon_gpus *gpus = open_gpus(m, out);

	if (gpus)
		ergon_gpus_probe(gpus, PROBE_MS, REMEDY_RIGHTS, out);
	ergon_gpus_close(gpus);
}

static void *rocm_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct ergon_gpus *gpus = open_gpus(m, &probe);

	if (!gpus)
		ergon_probe_error("rocm", &probe, err);
	return gpus;
}

const struct ergon_backend ergon_backend_rocm = {
	.name = "rocm",
	.help = "energy counters of AMD GPUs through AMD SMI or ROCm SMI",
	.automatic = true,
	.probe = rocm_probe,
	.open = rocm_open,
	.channels = ergon_gpus_channels,
	.dropped = ergon_gpus_dropped,
	.read = ergon_gpus_read,
	.rescan = ergon_gpus_rescan,
	.close = ergon_gpus_close,
};
