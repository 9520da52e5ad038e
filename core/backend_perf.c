/* SPDX-License-Identifier: BSD-3-Clause */
/* RAPL through the kernel's `power` PMU: one system call reads all events of a package. */
#include "backend.h"
#include "power_pmu.h"

static void perf_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	ergon_power_pmu_close(ergon_power_pmu_open(m, "perf", out));
}

static void *perf_open(const struct ergon_machine *m, struct ergon_error *err)
{
	struct ergon_probe probe;
	struct ergon_power_pmu *pmu = ergon_power_pmu_open(m, "perf", &probe);

	if (!pmu)
		ergon_probe_error("perf", &probe, err);
	return pmu;
}

static void perf_close(void *inst)
{
	ergon_power_pmu_close(inst);
}

static size_t perf_channels(const void *inst, const struct ergon_channel **out)
{
	const struct ergon_power_pmu *pmu = inst;

	*out = pmu->channels;
	return pmu->nchannels;
}

static size_t perf_dropped(const void *inst, const struct ergon_dropped **out)
{
	const struct ergon_power_pmu *pmu = inst;

	*out = pmu->drops.items;
	return pmu->drops.n;
}

static size_t perf_read(void *inst, uint64_t *raw, bool *ok)
{
	const struct ergon_power_pmu *pmu = inst;
	size_t good = 0;

	for (size_t u = 0; u < pmu->nunits; u++) {
		const struct ergon_power_unit *unit = &pmu->units[u];
		uint64_t values[ERGON_POWER_EVENTS];
		bool answered = ergon_power_unit_read(unit, values);

		for (size_t i = 0; i < unit->nfds; i++) {
			if (unit->channel[i] < 0)
				continue;
			ok[unit->channel[i]] = answered;
			if (answered)
				raw[unit->channel[i]] = values[i];
			good += answered;
		}
	}
	return good;
}

static void *perf_open_single(const void *inst, size_t channel)
{
	return ergon_power_pmu_open_single(inst, channel);
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
	.open_single = perf_open_single,
	.close = perf_close,
};
