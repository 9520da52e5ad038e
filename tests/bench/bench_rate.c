/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_rate HZ SECONDS: runs the sampler on the perf backend of
 * ERGON_SYSROOT and prints how many planned ticks were served in their own
 * period, and what the thread cost with and without the reads themselves.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "environ.h"
#include "sampler.h"

static int fail(const struct ergon_error *err)
{
	fprintf(stderr, "bench_rate: %s\n", err->text);
	return 1;
}

int main(int argc, char **argv)
{
	struct ergon_error err = { "" };
	struct ergon_sampler_config config = { .hz = argc == 3 ? atof(argv[1]) : 0 };
	struct timespec duration = { argc == 3 ? atoi(argv[2]) : 0, 0 };
	struct ergon_machine machine = { 0 };
	struct ergon_sampler_stats stats;
	struct ergon_sampler *sampler;
	struct ergon_meter *meter;
	double seconds, cpu, beyond;

	machine.sysroot = ergon_sysroot_open(ergon_env_get(ERGON_ENV_SYSROOT), &err);
	if (!machine.sysroot)
		return fail(&err);
	machine.topo = ergon_topo_load(machine.sysroot, &err);
	if (!machine.topo)
		return fail(&err);
	meter = ergon_meter_open(&machine, "perf", false, &err);
	if (!meter)
		return fail(&err);
	sampler = ergon_sampler_create(meter, &config, &err);
	if (!sampler || duration.tv_sec < 1) {
		fprintf(stderr, "usage: bench_rate HZ SECONDS\n");
		return 2;
	}
	if (ergon_sampler_start(sampler, &err) < 0)
		return fail(&err);
	nanosleep(&duration, NULL);
	ergon_sampler_stop(sampler);
	ergon_sampler_stats(sampler, &stats);
	seconds = (double)duration.tv_sec;
	cpu = (double)stats.cpu_ns * 1e-9;
	beyond = cpu - (double)stats.read_ns_sum * 1e-9;
	printf("rate_hz  planned  on_time_pct  missed  late_max_us  read_mean_ns  cpu_pct  cpu_beyond_reads_pct\n");
	printf("%7.0f  %7" PRIu64 "  %11.3f  %6" PRIu64 "  %11.0f  %12" PRIu64 "  %7.2f  %20.2f\n",
	       config.hz, stats.ticks + stats.missed,
	       100.0 * (double)stats.ticks / (double)(stats.ticks + stats.missed), stats.missed,
	       (double)stats.late_ns_max * 1e-3, stats.read_ns_sum / stats.reads,
	       100 * cpu / seconds, 100 * beyond / seconds);
	ergon_sampler_destroy(sampler);
	ergon_meter_close(meter);
	ergon_topo_free((struct ergon_topo *)machine.topo);
	ergon_sysroot_close((struct ergon_sysroot *)machine.sysroot);
	return 0;
}
