/* SPDX-License-Identifier: BSD-3-Clause */
/* RAPL through the kernel's `power` PMU: one system call reads all events of a package. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "power_pmu.h"

/* Counts of a unit over all the times its events were opened: each begins at 0. */
struct carry {
	uint64_t base[ERGON_POWER_EVENTS];
	uint64_t last[ERGON_POWER_EVENTS];
};

struct perf {
	struct ergon_power_pmu *pmu;
	struct carry *carries;    /* one per unit */
};

static void perf_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	ergon_power_pmu_close(ergon_power_pmu_open(m, "perf", out));
}

static void perf_close(void *inst)
{
	struct perf *perf = inst;
	int saved = errno;

	if (!perf)
		return;
	ergon_power_pmu_close(perf->pmu);
	free(perf->carries);
	free(perf);
	errno = saved;
}

/* An instance that owns pmu; NULL when pmu is, or without memory. */
static struct perf *wrap(struct ergon_power_pmu *pmu)
{
	struct perf *perf = calloc(1, sizeof(*perf));

	if (pmu && perf) {
		perf->pmu = pmu;
		perf->carries = calloc(pmu->nunits, sizeof(*perf->carries));
		if (perf->carries)
			return perf;
	}
	ergon_power_pmu_close(pmu);
	free(perf);
	return NULL;
}

static void *perf_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct ergon_power_pmu *pmu = ergon_power_pmu_open(m, "perf", &probe);
	struct perf *perf = wrap(pmu);

	if (pmu && !perf)
		ergon_error_set(err, "perf: out of memory");
	else if (!pmu)
		ergon_probe_error("perf", &probe, err);
	return perf;
}

static size_t perf_channels(const void *inst, const struct ergon_channel **out)
{
	const struct perf *perf = inst;

	*out = perf->pmu->channels;
	return perf->pmu->nchannels;
}

static size_t perf_dropped(const void *inst, const struct ergon_dropped **out)
{
	const struct perf *perf = inst;

	*out = perf->pmu->drops.items;
	return perf->pmu->drops.n;
}

static size_t perf_read(void *inst, uint64_t *raw, bool *ok)
{
	const struct perf *perf = inst;
	size_t good = 0;

	for (size_t u = 0; u < perf->pmu->nunits; u++) {
		const struct ergon_power_unit *unit = &perf->pmu->units[u];
		struct carry *carry = &perf->carries[u];
		uint64_t values[ERGON_POWER_EVENTS];
		bool answered = ergon_power_unit_read(unit, values);

		for (size_t i = 0; i < unit->nfds; i++) {
			if (answered)
				carry->last[i] = carry->base[i] + values[i];
			if (unit->channel[i] < 0)
				continue;
			ok[unit->channel[i]] = answered;
			if (answered)
				raw[unit->channel[i]] = carry->last[i];
			good += answered;
		}
	}
	return good;
}

/* What was consumed while nothing counted is lost; the count goes on where it stopped. */
static void perf_rescan(void *inst)
{
	const struct perf *perf = inst;

	for (size_t u = 0; u < perf->pmu->nunits; u++)
		if (ergon_power_unit_revive(perf->pmu, &perf->pmu->units[u]))
			memcpy(perf->carries[u].base, perf->carries[u].last,
			       sizeof(perf->carries[u].base));
}

static void *perf_open_single(const void *inst, size_t channel)
{
	const struct perf *perf = inst;

	return wrap(ergon_power_pmu_open_single(perf->pmu, channel));
}

const struct ergon_backend ergon_backend_perf = {
	.name = "perf",
	.help = "RAPL counters through the kernel's power PMU",
	.automatic = true,
	.group = "rapl",
	.probe = perf_probe,
	.open = perf_open,
	.channels = perf_channels,
	.dropped = perf_dropped,
	.read = perf_read,
	.rescan = perf_rescan,
	.open_single = perf_open_single,
	.close = perf_close,
};
