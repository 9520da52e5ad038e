/* SPDX-License-Identifier: BSD-3-Clause */
/* `ergon bench`: what reading costs here, and what rate sampling reaches. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench_output.h"
#include "commands.h"
#include "machine.h"
#include "rate.h"

#define BENCH_DEFAULT_HZ 1000
#define BENCH_DEFAULT_S 3
#define BENCH_MAX_S 3600
#define MAX_BACKENDS 16

struct options {
	const char *mechanisms;   /* NULL: all that measure */
	const char *config;
	double hz, seconds;
	bool compare, json;
};

static void usage(FILE *out)
{
	fprintf(out,
		"usage: ergon bench [OPTION...]\n"
		"\n"
		"Measures, for each mechanism that works here, what a reading costs and what rate\n"
		"sampling into a file reaches.\n"
		"\n"
		"  -m, --mechanism LIST  only these: ");
	machine_print_mechanisms(out);
	fprintf(out, " [auto]\n"
		"  -F, --freq HZ         rate to sample at, %g to %g [%d]\n"
		"  -t, --time SECONDS    how long, for each rate to be measured [%d]\n"
		"      --compare         three more ways to sample: waiting by plain sleep, writing in\n"
		"                        the sampling thread, both\n"
		"      --json            print JSON\n"
		"      --config FILE     read FILE instead of %s\n"
		"  -h, --help            print this\n"
		"\n"
		"A counter of another package costs an interrupt there: `taskset -c CPU ergon bench`\n"
		"tells what CPU pays. JITTER: how far the distance of two samples is from the asked\n"
		"one. MISSED: samples that the asked rate would have had more. CPU: of this program;\n"
		"what a kernel does by itself for ebpf, or a thread for slow sources, is not part of\n"
		"a reading.\n"
		"\n"
		"Exit status: 0 something was measured, 1 nothing or failure, 2 wrong usage.\n",
		ERGON_HZ_MIN, ERGON_HZ_MAX, BENCH_DEFAULT_HZ, BENCH_DEFAULT_S,
		ergon_conf_default_path());
}

__attribute__((format(printf, 1, 2)))
static bool wrong(const char *fmt, ...)
{
	va_list ap;

	fputs("ergon bench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return false;
}

static bool parse_hz(const char *text, double *hz)
{
	struct ergon_rate rate;

	if (ergon_rate_parse(text, &rate) < 0 || rate.adapt)
		return wrong("rate '%s': expected a number from %g to %g", text, ERGON_HZ_MIN,
			     ERGON_HZ_MAX);
	*hz = rate.hz;
	return true;
}

static bool parse_seconds(const char *text, double *seconds)
{
	char *end;

	errno = 0;
	*seconds = strtod(text, &end);
	/* Negated so that NaN is refused too. */
	if (end == text || *end || errno || !(*seconds >= 0.1 && *seconds <= BENCH_MAX_S))
		return wrong("time '%s': expected seconds from 0.1 to %d", text, BENCH_MAX_S);
	return true;
}

/* Backends are measured one by one: none joined by '+', "auto" only alone. */
static bool check_mechanisms(const char *list)
{
	if (!machine_knows_mechanisms("bench", list))
		return false;
	if (strcmp(list, "auto") == 0)
		return true;
	while (*list) {
		size_t len = strcspn(list, ",");
		char word[32];

		snprintf(word, sizeof(word), "%.*s", (int)(len < 31 ? len : 31), list);
		if (!ergon_backend_by_name(word))
			return wrong("mechanism '%s': name single ones, parted by commas", word);
		list += len + (list[len] == ',');
	}
	return true;
}

static bool take_option(struct options *o, int c, const char *value)
{
	switch (c) {
	case 'm':
		o->mechanisms = strcmp(value, "auto") == 0 ? NULL : value;
		return check_mechanisms(value);
	case 'F':
		return parse_hz(value, &o->hz);
	case 't':
		return parse_seconds(value, &o->seconds);
	case 'C':
		o->compare = true;
		return true;
	case 'j':
		o->json = true;
		return true;
	case 'c':
		o->config = value;
		return true;
	default: /* getopt_long has said what */
		fprintf(stderr, "`ergon bench --help` explains the options\n");
		return false;
	}
}

/* 0; an exit code + 1 to stop with. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "mechanism", required_argument, NULL, 'm' },
		{ "freq", required_argument, NULL, 'F' },
		{ "time", required_argument, NULL, 't' },
		{ "compare", no_argument, NULL, 'C' },
		{ "json", no_argument, NULL, 'j' },
		{ "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "m:F:t:h", longs, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return ERGON_EXIT_OK + 1;
		}
		if (!take_option(o, c, optarg))
			return ERGON_EXIT_USAGE + 1;
	}
	if (optind < argc) {
		wrong("unexpected argument '%s'", argv[optind]);
		return ERGON_EXIT_USAGE + 1;
	}
	if (o->hz * o->seconds < 2) {
		wrong("%g s at %g Hz are not two samples", o->seconds, o->hz);
		return ERGON_EXIT_USAGE + 1;
	}
	return 0;
}

/* --- measuring --- */

/* The work is long: tell who watches. */
static void progress(const struct ergon_backend *backend, const char *what)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "ergon bench: %s: %s ...\n", backend->name, what);
}

static int measure_rates(struct bench_one *one, const struct ergon_machine *m, const struct options *o,
			 struct ergon_error *err)
{
	struct ergon_meter *meter = ergon_meter_open(m, one->backend->name, false, err);
	int rc = meter ? 0 : -1;

	for (size_t i = 0; rc == 0 && bench_variants[i].name && (i == 0 || o->compare); i++) {
		progress(one->backend, bench_variants[i].name);
		rc = bench_rate(meter, &bench_variants[i], o->hz, o->seconds, &one->rates[i], err);
		one->nrates = i + 1;
	}
	ergon_meter_close(meter);
	return rc;
}

static void measure(struct bench_one *one, const struct ergon_machine *m, const struct options *o)
{
	struct ergon_error err;

	one->backend->probe(m, &one->probe);
	if (one->probe.state != ERGON_PROBE_OK)
		return;
	progress(one->backend, "readings");
	if (bench_read(m, one->backend, &one->read, &err) < 0 || measure_rates(one, m, o, &err) < 0)
		ergon_probe_set(&one->probe, ERGON_PROBE_UNSUPPORTED, "", "%.250s", err.text);
}

/* Is the word in the comma list? */
static bool listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += len)
		if ((p == list || p[-1] == ',') && (p[len] == ',' || p[len] == '\0'))
			return true;
	return false;
}

static size_t measure_all(const struct ergon_machine *m, const struct options *o, struct bench_one *ones)
{
	size_t n = 0;

	for (size_t i = 0; ergon_backends[i] && n < MAX_BACKENDS; i++) {
		const struct ergon_backend *backend = ergon_backends[i];

		/* Who asks for nothing in particular asks for what is measured. */
		if (o->mechanisms ? !listed(o->mechanisms, backend->name) : backend->estimated)
			continue;
		ones[n].backend = backend;
		measure(&ones[n++], m, o);
	}
	return n;
}

static bool any_measured(const struct bench_result *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->ones[i].probe.state == ERGON_PROBE_OK)
			return true;
	return false;
}

int ergon_cmd_bench(int argc, char **argv)
{
	struct options o = { .hz = BENCH_DEFAULT_HZ, .seconds = BENCH_DEFAULT_S };
	static struct bench_one ones[MAX_BACKENDS];
	struct bench_result r = { .ones = ones, .cpus = sysconf(_SC_NPROCESSORS_ONLN) };
	struct machine machine;
	struct ergon_error err = { "" };
	struct utsname name;
	int rc = parse_options(argc, argv, &o);

	if (rc)
		return rc - 1;
	r.hz = o.hz;
	r.seconds = o.seconds;
	if (uname(&name) == 0)
		snprintf(r.kernel, sizeof(r.kernel), "%.20s %.50s", name.sysname, name.release);
	rc = ERGON_EXIT_FAILURE;
	if (machine_open(&machine, o.config, &err) < 0) {
		wrong("%s", err.text);
	} else {
		r.n = measure_all(&machine.view, &o, ones);
		if (!o.json)
			bench_print_text(&r, stdout);
		if (o.json && bench_print_json(&r, stdout) < 0)
			wrong("cannot write the result: %s", strerror(errno));
		else if (any_measured(&r))
			rc = ERGON_EXIT_OK;
		else
			wrong("nothing to measure with; `ergon list` tells what to do about it");
	}
	machine_close(&machine);
	return rc;
}
