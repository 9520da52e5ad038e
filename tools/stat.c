/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `ergon stat`: brackets one command with the sampler. The command is forked
 * first and waits; the baseline is read just before it is let go, the last
 * sample right after it has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"
#include "commands.h"
#include "machine.h"
#include "samples_csv.h"
#include "stat_output.h"
#include "watch.h"
#include "writer.h"

#define STAT_DEFAULT_HZ 10
/* GPU libraries take so long to start, at most but for the largest machines. */
#define STAT_SETTLE_MS 3000
/* How long the command waits for the first reading of the sensors at most. */
#define WATCH_NS 100000000u

struct options {
	const char *mechanisms;   /* "auto" when not given */
	const char *config;
	const char *samples;      /* file, NULL: none */
	const char *json;         /* file or "-", NULL: none */
	const char *label;
	struct ergon_rate rate;
	unsigned domains;         /* set of 1 << enum ergon_domain, 0: all */
	char **command;
};

/* One measurement and what it needs. */
struct run {
	struct machine machine;
	struct ergon_meter *meter;
	bool selected[ERGON_METER_MAX_CHANNELS];
	struct child child;
	bool forked;
	FILE *samples;            /* until the writer has it */
	FILE *json;
	struct ergon_writer *writer;
	struct ergon_sampler *sampler;
	struct ergon_watch *watch; /* NULL: no clock rate, no temperature */
	struct ergon_sample first, last;
	struct rusage self;       /* ours before the command ran */
};

static void usage(FILE *out)
{
	fprintf(out,
		"usage: ergon stat [OPTION...] [--] COMMAND [ARGUMENT...]\n"
		"\n"
		"Runs COMMAND and prints on stderr the energy the machine took meanwhile.\n"
		"\n"
		"  -m, --mechanism LIST  read counters through these, in order of preference:\n"
		"                        ");
	machine_print_mechanisms(out);
	fprintf(out, ";\n"
		"                        A+B: both, and neither if one is missing\n"
		"  -F, --freq RATE       samples per second, %g to %g [%d]; auto, auto:HZ: %g or\n"
		"                        HZ while something runs, 1 while the machine is idle\n"
		"  -d, --domains LIST    only these domains:", ERGON_HZ_MIN, ERGON_HZ_MAX, STAT_DEFAULT_HZ,
		ERGON_HZ_AUTO);
	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
		fprintf(out, "%s%s", d ? ", " : " ", ergon_domain_name(d));
	fprintf(out, "\n"
		"  -o, --output FILE     write every sample to FILE (CSV)\n"
		"      --json FILE       write the result to FILE as JSON; -: to stdout, instead of the table\n"
		"      --label TEXT      a name for this run, kept in the result\n"
		"      --config FILE     read FILE instead of %s\n"
		"  -h, --help            print this\n"
		"\n"
		"Without energy counters auto takes a model; its figures are marked estimated.\n"
		"Exit status: that of COMMAND (128 + signal when it was killed), 127 when it was not\n"
		"found, 126 when it could not be run, 1 when there is nothing to measure with (it is then\n"
		"not run), 2 on wrong usage. A file that cannot be written is told on stderr.\n", ergon_conf_default_path());
}

/* Parse a comma list of domains into a set; false and a line on stderr. */
static bool parse_domains(const char *list, unsigned *set)
{
	*set = 0;
	do {
		size_t len = strcspn(list, ",");
		char word[32];
		int domain;

		snprintf(word, sizeof(word), "%.*s", (int)(len < 31 ? len : 31), list);
		domain = ergon_domain_parse(word);
		if (domain < 0) {
			fprintf(stderr, "ergon stat: no domain '%s'; there are", word);
			for (int d = 0; d < ERGON_DOMAIN_COUNT; d++)
				fprintf(stderr, "%s %s", d ? "," : "", ergon_domain_name(d));
			fputc('\n', stderr);
			return false;
		}
		*set |= 1u << domain;
		list += len + (list[len] == ',');
	} while (*list);
	return true;
}

static bool parse_rate(const char *text, struct ergon_rate *rate)
{
	if (ergon_rate_parse(text, rate) == 0)
		return true;
	fprintf(stderr, "ergon stat: rate '%s': expected " ERGON_RATE_EXPECTS "\n", text);
	return false;
}

/* `--json -- true` would write a file named "--". */
static bool is_file(const char *value)
{
	if (value[0] != '-' || !value[1])
		return true;
	fprintf(stderr, "ergon stat: '%s' is an option, not a FILE; a file's name: './%s'\n",
		value, value);
	return false;
}

/* Take one option; false when its value is wrong (and said so). */
static bool take_option(struct options *o, int c, const char *value)
{
	switch (c) {
	case 'm':
		o->mechanisms = value;
		return machine_knows_mechanisms("stat", value);
	case 'F':
		return parse_rate(value, &o->rate);
	case 'd':
		return parse_domains(value, &o->domains);
	case 'o':
		o->samples = value;
		return is_file(value);
	case 'j':
		o->json = value;
		return is_file(value);
	case 'l':
		o->label = value;
		return true;
	case 'c':
		o->config = value;
		return true;
	default: /* getopt_long has said what */
		fprintf(stderr, "`ergon stat --help` explains the options\n");
		return false;
	}
}

/* 0; an exit code + 1 to stop with. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "mechanism", required_argument, NULL, 'm' },
		{ "freq", required_argument, NULL, 'F' },
		{ "domains", required_argument, NULL, 'd' },
		{ "output", required_argument, NULL, 'o' },
		{ "json", required_argument, NULL, 'j' },
		{ "label", required_argument, NULL, 'l' },
		{ "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	/* "+": the first word that is no option begins the command. */
	while ((c = getopt_long(argc, argv, "+m:F:d:o:h", longs, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return ERGON_EXIT_OK + 1;
		}
		if (!take_option(o, c, optarg))
			return ERGON_EXIT_USAGE + 1;
	}
	if (optind == argc) {
		fprintf(stderr, "ergon stat: no command given; `ergon stat --help` explains\n");
		return ERGON_EXIT_USAGE + 1;
	}
	/* Not so a device: /dev/null takes both. */
	if (o->samples && o->json && strcmp(o->samples, o->json) == 0 &&
	    strncmp(o->json, "/dev/", 5) != 0) {
		fprintf(stderr, "ergon stat: -o and --json both name %s; give each a file\n", o->json);
		return ERGON_EXIT_USAGE + 1;
	}
	if (o->samples && strcmp(o->samples, "-") == 0) {
		fprintf(stderr, "ergon stat: -o -: COMMAND's output is there; name a file\n");
		return ERGON_EXIT_USAGE + 1;
	}
	o->command = argv + optind;
	return 0;
}

/* --- a run, step by step; each returns 0 or -1 + err --- */

static int open_meter(struct run *run, const struct options *o, struct ergon_error *err)
{
	bool automatic = strcmp(o->mechanisms, "auto") == 0;

	if (machine_open(&run->machine, o->config, err) < 0)
		return -1;
	run->machine.view.hz = o->rate.hz;
	run->meter = ergon_meter_open(&run->machine.view,
				      automatic ? run->machine.conf.mechanism : o->mechanisms,
				      automatic, err);
	/* A site may have narrowed what auto stands for; here it never means nothing. */
	if (!run->meter && automatic)
		run->meter = ergon_meter_open(&run->machine.view, "model", true, err);
	if (!run->meter)
		return -1;
	/* What does not answer by then is flagged. */
	ergon_meter_settle(run->meter, STAT_SETTLE_MS);
	return 0;
}

static int select_channels(struct run *run, unsigned domains, struct ergon_error *err)
{
	const struct ergon_channel *channels;
	size_t n = ergon_meter_channels(run->meter, &channels);
	unsigned present = 0;

	for (size_t i = 0; i < n; i++) {
		present |= 1u << channels[i].domain;
		run->selected[i] = !domains || (domains & (1u << channels[i].domain));
	}
	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++) {
		char words[160] = "";

		if (!(domains & ~present & (1u << d)))
			continue;
		for (int have = 0; have < ERGON_DOMAIN_COUNT; have++)
			if (present & (1u << have))
				snprintf(words + strlen(words), sizeof(words) - strlen(words), " %s",
					 ergon_domain_name(have));
		return ergon_error_set(err, "%s has no domain %s on this machine; it has:%s",
				       ergon_meter_mechanism(run->meter), ergon_domain_name(d), words);
	}
	return 0;
}

static FILE *create_file(const char *path, struct ergon_error *err)
{
	FILE *out = fopen(path, "we");

	if (!out)
		ergon_error_set(err, "%s: %s", path, strerror(errno));
	return out;
}

/* May wait for the reader of a FIFO: before our signals are held back. */
static int open_outputs(struct run *run, const struct options *o, struct ergon_error *err)
{
	if (o->json && strcmp(o->json, "-") != 0) {
		run->json = create_file(o->json, err);
		if (!run->json)
			return -1;
	}
	if (o->samples) {
		run->samples = create_file(o->samples, err);
		if (!run->samples)
			return -1;
	}
	return 0;
}

static int start_writer(struct run *run, const struct options *o, struct ergon_error *err)
{
	const struct ergon_channel *channels;
	size_t n = ergon_meter_channels(run->meter, &channels);

	if (!run->samples)
		return 0;
	run->writer = ergon_writer_start(run->samples, o->samples, channels, run->selected, n, err);
	if (!run->writer)
		return -1;
	run->samples = NULL;
	return 0;
}

static void on_sample(void *arg, const struct ergon_sample *sample)
{
	struct run *run = arg;

	if (sample->index == 0)
		run->first = *sample;
	if (run->writer)
		ergon_writer_push(run->writer, sample);
}

/* What cannot be told is null in the result, and no reason not to run the command. */
static void start_watch(struct run *run)
{
	struct ergon_error err;

	if (run->machine.conf.sensor_hz <= 0)
		return;
	run->watch = ergon_watch_start(run->machine.sysroot, run->machine.conf.sensor_hz, &err);
	if (run->watch)
		ergon_watch_wait(run->watch, WATCH_NS);
	else
		fprintf(stderr, "ergon stat: no clock rate and temperature: %s\n", err.text);
}

static int start_sampler(struct run *run, const struct ergon_rate *rate, struct ergon_error *err)
{
	struct ergon_sampler_config config = {
		.hz = rate->hz,
		.adapt_to = rate->adapt ? run->machine.sysroot : NULL,
		.on_sample = on_sample,
		.arg = run,
	};

	run->sampler = ergon_sampler_create(run->meter, &config, err);
	if (!run->sampler)
		return -1;
	getrusage(RUSAGE_SELF, &run->self);
	return ergon_sampler_start(run->sampler, err);
}

static int prepare(struct run *run, const struct options *o, struct ergon_error *err)
{
	if (open_meter(run, o, err) < 0 || select_channels(run, o->domains, err) < 0 ||
	    open_outputs(run, o, err) < 0)
		return -1;
	/* Only threads of slow sources may exist now: all signals are blocked there. */
	if (child_fork(&run->child, o->command, err) < 0)
		return -1;
	run->forked = true;
	if (start_writer(run, o, err) < 0)
		return -1;
	start_watch(run);
	return start_sampler(run, &o->rate, err);
}

static uint64_t cpu_ns(const struct rusage *usage)
{
	return ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000u;
}

static void fill_result(struct run *run, const struct options *o, const struct child_end *end,
			struct stat_result *r)
{
	struct rusage self;

	memset(r, 0, sizeof(*r));
	getrusage(RUSAGE_SELF, &self);
	r->command = o->command;
	r->label = o->label;
	r->exit_code = end->exit_code;
	r->mechanism = ergon_meter_mechanism(run->meter);
	/* What never answered is absent, not 0 J. */
	for (size_t i = 0; i < ergon_meter_channels(run->meter, &r->channels); i++)
		run->selected[i] = run->selected[i] && ergon_meter_answered(run->meter, i);
	ergon_meter_scope_of(run->meter, run->selected, r->scope, sizeof(r->scope));
	r->rate = o->rate;
	r->nchannels = ergon_meter_channels(run->meter, &r->channels);
	r->selected = run->selected;
	for (size_t i = 0; i < r->nchannels; i++)
		r->uj[i] = ergon_uj_since(&r->channels[i], run->first.reading.counts[i],
					  run->last.reading.counts[i]);
	r->elapsed_ns = run->last.reading.t_ns - run->first.reading.t_ns;
	r->cpu_ns = cpu_ns(&end->usage);
	r->self_cpu_ns = cpu_ns(&self) - cpu_ns(&run->self);
	ergon_watch_summary(run->watch, &r->sensors);
	ergon_sampler_stats(run->sampler, &r->stats);
}

/* The command has run: nothing that fails from here on may hide its exit status. */
static void report(struct run *run, const struct options *o, const struct child_end *end)
{
	struct ergon_error err;
	struct stat_result result;
	bool failed;

	if (ergon_writer_finish(run->writer, &run->last, &err) < 0)
		fprintf(stderr, "ergon stat: %s\n", err.text);
	run->writer = NULL;
	fill_result(run, o, end, &result);
	if (!o->json || run->json)
		stat_print_text(&result, stderr);
	if (!o->json)
		return;
	failed = stat_print_json(&result, run->json ? run->json : stdout) < 0;
	if (run->json ? fclose(run->json) != 0 : fflush(stdout) != 0)
		failed = true;
	run->json = NULL;
	if (failed)
		fprintf(stderr, "ergon stat: %s: cannot write the result: %s\n", o->json, strerror(errno));
}

static int measure(struct run *run, const struct options *o)
{
	struct child_end end;
	int code = child_go(&run->child);

	if (code) {
		fprintf(stderr, "ergon stat: cannot run '%s': %s\n", o->command[0], strerror(code));
		return child_exec_exit_code(code);
	}
	child_wait(&run->child, &end);
	ergon_sampler_stop(run->sampler);
	ergon_sampler_latest(run->sampler, &run->last);
	/* Whoever reads our output may be slow: from here on we can be interrupted. */
	child_close(&run->child);
	run->forked = false;
	report(run, o, &end);
	return end.exit_code;
}

static void release(struct run *run)
{
	ergon_sampler_destroy(run->sampler);
	ergon_watch_stop(run->watch);
	ergon_writer_finish(run->writer, NULL, NULL);
	if (run->samples)
		fclose(run->samples);
	if (run->json)
		fclose(run->json);
	if (run->forked)
		child_close(&run->child);
	ergon_meter_close(run->meter);
	machine_close(&run->machine);
}

/* A file of ours must not become descriptor 0, 1 or 2: the command's, and where we print. */
static void occupy_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int ergon_cmd_stat(int argc, char **argv)
{
	struct options o = { .mechanisms = "auto", .rate = { .hz = STAT_DEFAULT_HZ } };
	struct ergon_error err = { "" };
	struct run run = { .forked = false };
	int rc = parse_options(argc, argv, &o);

	if (rc)
		return rc - 1;
	occupy_standard_fds();
	if (prepare(&run, &o, &err) == 0) {
		rc = measure(&run, &o);
	} else {
		fprintf(stderr, "ergon stat: %s\n", err.text);
		rc = ERGON_EXIT_FAILURE;
	}
	release(&run);
	return rc;
}
