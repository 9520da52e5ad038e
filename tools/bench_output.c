/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_output.h"

#include <inttypes.h>
#include <jansson.h>

#define BENCH_VERSION 1

static bool is_ok(const struct bench_one *one)
{
	return one->probe.state == ERGON_PROBE_OK;
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* --- text --- */

static void print_spread(FILE *out, const char *what, const struct bench_one *one, const struct spread *s)
{
	fprintf(out, "  %-22s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "   x %.2f\n", what, s->median, s->p99,
		s->max, ratio(s->median, one->read.single.n ? one->read.single.median :
			      one->read.all.median));
}

static void print_read(FILE *out, const struct bench_one *one)
{
	const struct bench_read *r = &one->read;

	fprintf(out, "\n%s, %zu channel%s; %zu readings of each kind\n", one->backend->name, r->channels,
		r->channels == 1 ? "" : "s", r->all.n);
	fprintf(out, "  %-22s %10s %10s %10s   %s\n", "", "MEDIAN ns", "P99 ns", "MAX ns",
		r->single.n ? "TO ONE CHANNEL" : "TO ALL CHANNELS");
	print_spread(out, "all channels at once", one, &r->all);
	if (r->single.n) {
		print_spread(out, "one channel", one, &r->single);
		print_spread(out, "each channel alone", one, &r->apart);
	}
	print_spread(out, "all, through the meter", one, &r->meter);
	print_spread(out, "the clock itself", one, &r->clock);
	fprintf(out, "  in a row: %.0f readings of all channels a second, %.0f ns CPU each\n", r->per_s,
		r->cpu_ns);
}

static void print_rates(FILE *out, const struct bench_result *r, const struct bench_one *one)
{
	fprintf(out, "  %-30s %9s %7s %7s %10s %10s %10s %6s\n", "SAMPLING INTO A FILE", "HZ", "%", "MISSED",
		"JITTER us", "P99 us", "MAX us", "CPU %");
	for (size_t i = 0; i < one->nrates; i++) {
		const struct bench_rate *rate = &one->rates[i];

		fprintf(out, "  %-30s %9.2f %7.2f %7" PRIu64 " %10.1f %10.1f %10.1f %6.2f\n",
			bench_variants[i].name, rate->hz, 100 * rate->hz / r->hz, rate->missed,
			(double)rate->jitter.median * 1e-3, (double)rate->jitter.p99 * 1e-3,
			(double)rate->jitter.max * 1e-3, 100 * rate->cpu);
	}
}

void bench_print_text(const struct bench_result *r, FILE *out)
{
	unsigned missing = 0;

	fprintf(out, "%ld CPU%s, %s; sampling at %g Hz for %g s\n", r->cpus, r->cpus == 1 ? "" : "s",
		r->kernel, r->hz, r->seconds);
	for (size_t i = 0; i < r->n; i++) {
		const struct bench_one *one = &r->ones[i];

		if (is_ok(one)) {
			print_read(out, one);
			print_rates(out, r, one);
		}
	}
	for (size_t i = 0; i < r->n; i++) {
		const struct bench_one *one = &r->ones[i];

		if (is_ok(one))
			continue;
		fprintf(out, "%s%s not measured: %s: %s\n", missing++ ? "" : "\n", one->backend->name,
			ergon_probe_word(one->probe.state), one->probe.reason);
	}
}

/* --- JSON --- */

static json_t *json_spread(const struct spread *s)
{
	if (s->n == 0)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I}", "n", (json_int_t)s->n, "median", (json_int_t)s->median,
			 "p99", (json_int_t)s->p99, "max", (json_int_t)s->max);
}

static json_t *json_read(const struct bench_one *one)
{
	const struct bench_read *r = &one->read;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:f, s:f}", "all_ns", json_spread(&r->all),
			 "single_ns", json_spread(&r->single), "apart_ns", json_spread(&r->apart),
			 "meter_ns", json_spread(&r->meter), "clock_ns", json_spread(&r->clock),
			 "per_s", r->per_s, "cpu_ns", r->cpu_ns);
}

static json_t *json_rates(const struct bench_one *one)
{
	json_t *list = json_array();

	for (size_t i = 0; i < one->nrates; i++) {
		const struct bench_variant *variant = &bench_variants[i];
		const struct bench_rate *rate = &one->rates[i];

		json_array_append_new(list, json_pack(
			"{s:s, s:s, s:b, s:I, s:f, s:f, s:I, s:o, s:f}", "variant", variant->name,
			"timer", variant->timer, "writer_thread", variant->writer,
			"samples", (json_int_t)rate->samples, "seconds", rate->seconds, "hz", rate->hz,
			"missed", (json_int_t)rate->missed, "jitter_ns", json_spread(&rate->jitter),
			"cpu", rate->cpu));
	}
	return list;
}

static json_t *json_one(const struct bench_one *one)
{
	json_t *object = json_pack("{s:s, s:s, s:s}", "name", one->backend->name, "state",
				   ergon_probe_word(one->probe.state), "reason", one->probe.reason);

	if (!is_ok(one))
		return object;
	json_object_set_new(object, "channels", json_integer((json_int_t)one->read.channels));
	json_object_set_new(object, "read", json_read(one));
	json_object_set_new(object, "rate", json_rates(one));
	return object;
}

int bench_print_json(const struct bench_result *r, FILE *out)
{
	json_t *list = json_array(), *root;
	int rc = -1;

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(list, json_one(&r->ones[i]));
	root = json_pack("{s:i, s:I, s:s, s:f, s:f, s:o}", "v", BENCH_VERSION, "cpus", (json_int_t)r->cpus,
			 "kernel", r->kernel, "hz", r->hz, "seconds", r->seconds, "mechanisms", list);
	if (root)
		rc = json_dumpf(root, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
	json_decref(root);
	fputc('\n', out);
	return rc < 0 || fflush(out) != 0 || ferror(out) ? -1 : 0;
}
