/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model for machines without a meter: P = idle + (max - idle) * busy share,
 * per package, from the CPU times of /proc/stat. Energy is idle power times
 * measured time plus (max - idle) / CPUs times busy CPU seconds, so it is
 * the same at every sampling rate although the kernel counts in ticks of
 * 10 ms. Waiting for I/O and time stolen by a hypervisor are not busy.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "clock.h"

/*
 * Defaults by number of online CPUs (hardware threads), without claim to
 * accuracy: between a small server and a two-socket node of today.
 */
#define BASE_WATTS 20.0
#define IDLE_WATTS_PER_CPU 0.5
#define MAX_WATTS_PER_CPU 3.5

#define UNIT_J 1e-6
#define LINE_BYTES 224            /* "cpu1048575" and ten 20-digit numbers */

struct cpu_state {
	size_t package;           /* position in channels[] */
	bool seen;
	uint64_t busy;            /* ticks at the last reading */
};

struct package_state {
	double idle_watts;
	uint64_t busy_ticks;      /* of its CPUs, since open */
};

struct model {
	int stat_fd;
	uint64_t start_ns;
	double tick_s;
	double watts_per_busy_cpu;
	size_t nchannels;
	struct ergon_channel *channels;
	struct package_state *packages;
	size_t ncpus;             /* size of cpus[]: highest CPU number + 1 */
	struct cpu_state *cpus;
	size_t text_size;
	char *text;
};

static void model_close(void *inst)
{
	struct model *model = inst;
	int saved = errno;

	if (!model)
		return;
	if (model->stat_fd >= 0)
		close(model->stat_fd);
	free(model->channels);
	free(model->packages);
	free(model->cpus);
	free(model->text);
	free(model);
	errno = saved;
}

/* user nice system idle iowait irq softirq steal; guest time is within user. */
static int parse_line(const char *line, size_t *cpu, uint64_t *busy)
{
	uint64_t user, nice_, system_, irq, softirq;

	if (sscanf(line, "cpu%zu %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64,
		   cpu, &user, &nice_, &system_, &irq, &softirq) != 6)
		return -1;
	*busy = user + nice_ + system_ + irq + softirq;
	return 0;
}

static void count_cpu(struct model *model, size_t number, uint64_t busy)
{
	struct cpu_state *cpu;

	if (number >= model->ncpus || model->cpus[number].package >= model->nchannels)
		return;
	cpu = &model->cpus[number];
	/* The kernel lets a column fall back when a CPU returns from offline. */
	if (cpu->seen && busy > cpu->busy)
		model->packages[cpu->package].busy_ticks += busy - cpu->busy;
	cpu->busy = busy;
	cpu->seen = true;
}

/* Read the per-CPU lines at the head of /proc/stat; 0 when some were found. */
static int read_stat(struct model *model)
{
	ssize_t len = pread(model->stat_fd, model->text, model->text_size - 1, 0);
	char *line = model->text;
	size_t found = 0;

	if (len <= 0)
		return -1;
	model->text[len] = '\0';
	while (strncmp(line, "cpu", 3) == 0) {
		char *end = strchr(line, '\n');
		size_t number;
		uint64_t busy;

		if (!end)
			break;
		*end = '\0';
		if (line[3] != ' ' && parse_line(line, &number, &busy) == 0) {
			count_cpu(model, number, busy);
			found++;
		}
		line = end + 1;
	}
	return found ? 0 : -1;
}

static int fill_tables(struct model *model, const struct ergon_machine *m)
{
	const struct ergon_topo *topo = m->topo;
	double cpus = (double)topo->ncpus;
	double idle = m->model_idle_watts > 0 ? m->model_idle_watts :
		      BASE_WATTS + IDLE_WATTS_PER_CPU * cpus;
	double max = m->model_max_watts > 0 ? m->model_max_watts :
		     BASE_WATTS + MAX_WATTS_PER_CPU * cpus;

	model->ncpus = (size_t)topo->cpus[topo->ncpus - 1].os + 1;
	model->channels = calloc(topo->npackages, sizeof(*model->channels));
	model->packages = calloc(topo->npackages, sizeof(*model->packages));
	model->cpus = calloc(model->ncpus, sizeof(*model->cpus));
	model->text_size = (model->ncpus + 2) * LINE_BYTES;
	model->text = malloc(model->text_size);
	if (!model->channels || !model->packages || !model->cpus || !model->text)
		return -1;
	model->nchannels = topo->npackages;
	/* A max below a given idle leaves a constant. */
	model->watts_per_busy_cpu = max > idle ? (max - idle) / cpus : 0;
	for (size_t i = 0; i < model->ncpus; i++)
		model->cpus[i].package = SIZE_MAX;
	for (size_t i = 0; i < topo->ncpus; i++) {
		int package = ergon_topo_package_index(topo, topo->cpus[i].package);

		model->cpus[topo->cpus[i].os].package = (size_t)package;
		model->packages[package].idle_watts += idle / cpus;
	}
	for (size_t i = 0; i < model->nchannels; i++) {
		struct ergon_channel *ch = &model->channels[i];

		*ch = (struct ergon_channel){
			.domain = ERGON_DOMAIN_PACKAGE,
			.package = topo->packages[i],
			.die = -1,
			.unit_j = UNIT_J,
			.source = "model",
		};
		ergon_channel_set_name(ch);
		snprintf(ch->detail, sizeof(ch->detail), "/proc/stat, node %g W idle, %g W busy",
			 idle, max);
	}
	return 0;
}

static struct model *build(const struct ergon_machine *m, struct ergon_probe *out)
{
	struct model *model = calloc(1, sizeof(*model));

	if (!model || m->topo->ncpus == 0) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "",
				model ? "no CPU in the topology" : "out of memory");
		free(model);
		return NULL;
	}
	model->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
	model->stat_fd = ergon_sysroot_open_file(m->sysroot, "/proc/stat", O_RDONLY);
	if (model->stat_fd < 0) {
		ergon_probe_set(out, ERGON_PROBE_ABSENT, "mount /proc", "/proc/stat: %s",
				strerror(errno));
	} else if (fill_tables(model, m) < 0) {
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "out of memory");
	} else if (read_stat(model) < 0) {
		ergon_probe_set(out, ERGON_PROBE_ABSENT, "mount /proc",
				"/proc/stat has no line for any CPU");
	} else {
		ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
		model->start_ns = ergon_clock_ns();
		return model;
	}
	model_close(model);
	return NULL;
}

static void model_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	model_close(build(m, out));
}

static void *model_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct model *model = build(m, &probe);

	if (!model)
		ergon_probe_error("model", &probe, err);
	return model;
}

static size_t model_channels(const void *inst, const struct ergon_channel **out)
{
	const struct model *model = inst;

	*out = model->channels;
	return model->nchannels;
}

static size_t model_read(void *inst, uint64_t *raw, bool *ok)
{
	struct model *model = inst;
	double elapsed_s;

	if (read_stat(model) < 0)
		return 0;
	elapsed_s = (double)(ergon_clock_ns() - model->start_ns) * 1e-9;
	for (size_t i = 0; i < model->nchannels; i++) {
		const struct package_state *package = &model->packages[i];
		double busy_s = (double)package->busy_ticks * model->tick_s;
		double joules = package->idle_watts * elapsed_s + model->watts_per_busy_cpu * busy_s;

		raw[i] = (uint64_t)(joules / UNIT_J);
		ok[i] = true;
	}
	return model->nchannels;
}

const struct ergon_backend ergon_backend_model = {
	.name = "model",
	.help = "estimate from CPU time, for machines without a meter",
	.estimated = true,
	.probe = model_probe,
	.open = model_open,
	.channels = model_channels,
	.read = model_read,
	.close = model_close,
};
