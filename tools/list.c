/* SPDX-License-Identifier: BSD-3-Clause */
/* `ergon list`: what can be measured on this machine, or why not and what to do. */
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "crosscheck.h"
#include "list_sensors.h"
#include "machine.h"
#include "meter.h"
#include "scope.h"

#define LIST_VERSION 1

struct options {
	const char *mechanisms;   /* NULL: the configuration's */
	const char *config;
	bool json, cross_check;
};

static void usage(FILE *out)
{
	fprintf(out,
		"usage: ergon list [OPTION...]\n"
		"\n"
		"Shows which energy counters this machine offers and which would be used.\n"
		"\n"
		"  -m, --mechanism LIST  ask for these, in order of preference:\n"
		"                        ");
	machine_print_mechanisms(out);
	fprintf(out, ";\n"
		"                        A+B: both, and neither if one is missing\n"
		"  -j, --json            print JSON\n"
		"      --cross-check     measure a second by two mechanisms and compare\n"
		"      --config FILE     read FILE instead of %s\n"
		"  -h, --help            print this\n"
		"\n"
		"Exit status: 0 something can be measured, 1 nothing, 2 wrong usage,\n"
		"3 mechanisms disagree.\n",
		ergon_conf_default_path());
}

/* 0; an exit code + 1 to stop with. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "mechanism", required_argument, NULL, 'm' },
		{ "json", no_argument, NULL, 'j' },
		{ "cross-check", no_argument, NULL, 'x' },
		{ "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "m:jh", longs, NULL)) != -1) {
		switch (c) {
		case 'm':
			o->mechanisms = optarg;
			break;
		case 'j':
			o->json = true;
			break;
		case 'x':
			o->cross_check = true;
			break;
		case 'c':
			o->config = optarg;
			break;
		case 'h':
			usage(stdout);
			return ERGON_EXIT_OK + 1;
		default: /* getopt_long has said what */
			fprintf(stderr, "`ergon list --help` explains the options\n");
			return ERGON_EXIT_USAGE + 1;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "ergon list: unexpected argument '%s'\n", argv[optind]);
		return ERGON_EXIT_USAGE + 1;
	}
	if (o->mechanisms && !machine_knows_mechanisms("list", o->mechanisms))
		return ERGON_EXIT_USAGE + 1;
	return 0;
}

/* --- what was found; printed as text or JSON --- */

#define MAX_BACKENDS 16
/* How exactly the second of a cross-check is met. */
#define CHECK_PAUSE_US 20000
#define EXIT_DISAGREE 3
/* How long a source on a thread of its own may take to show that it answers. */
#define SETTLE_MS 3000

struct findings {
	const struct ergon_meter *meter; /* NULL: nothing can be measured */
	size_t nchannels;
	const struct ergon_channel *channels;
	size_t ndropped;
	const struct ergon_dropped *dropped;
	size_t nbackends;
	struct ergon_probe probes[MAX_BACKENDS];
	struct list_sensors sensors;
	bool checked;             /* cross-check was asked for */
	size_t nchecks;
	struct ergon_crosscheck *checks[MAX_BACKENDS];
};

static void gather(struct findings *f, const struct ergon_machine *m, const struct ergon_meter *meter)
{
	for (size_t i = 0; ergon_backends[i] && i < MAX_BACKENDS; i++, f->nbackends++)
		ergon_backends[i]->probe(m, &f->probes[i]);
	f->meter = meter;
	if (meter) {
		f->nchannels = ergon_meter_channels(meter, &f->channels);
		f->ndropped = ergon_meter_dropped(meter, &f->dropped);
	}
	list_sensors_gather(&f->sensors, m->sysroot);
}

/* Every usable mechanism of the same counters beside the one in use, all in the same second. */
static void cross_check(struct findings *f, const struct ergon_machine *m, struct ergon_meter *meter)
{
	struct ergon_reading reading;
	bool more = true;

	f->checked = true;
	for (size_t i = 0; i < f->nbackends; i++) {
		struct ergon_error err;

		if (ergon_backends[i]->group && f->probes[i].state == ERGON_PROBE_OK)
			f->checks[f->nchecks] = ergon_crosscheck_open(m, meter,
								      ergon_backends[i]->name, &err);
		f->nchecks += f->checks[f->nchecks] != NULL;
	}
	while (more && f->nchecks > 0) {
		more = false;
		ergon_meter_read(meter, &reading);
		for (size_t i = 0; i < f->nchecks; i++)
			more |= ergon_crosscheck_feed(f->checks[i], &reading);
		if (more)
			usleep(CHECK_PAUSE_US);
	}
}

static bool disagree(const struct findings *f)
{
	char verdict[256];

	for (size_t i = 0; i < f->nchecks; i++)
		if (*ergon_crosscheck_verdict(f->checks[i], verdict, sizeof(verdict)))
			return true;
	return false;
}

static void print_id(int id, int width)
{
	if (id < 0)
		printf("%-*s", width, "-");
	else
		printf("%-*d", width, id);
}

static void print_checks(const struct findings *f)
{
	if (f->nchecks == 0)
		printf("\nCross-check: no second mechanism for the same counters.\n");
	for (size_t i = 0; i < f->nchecks; i++) {
		const struct ergon_crosscheck_pair *pairs;
		size_t n;
		double s = (double)ergon_crosscheck_pairs(f->checks[i], &pairs, &n) * 1e-9;

		printf("\nCross-check with %s%s\n", ergon_crosscheck_other(f->checks[i]),
		       s > 0 ? "" : ": no undisturbed second");
		for (size_t k = 0; s > 0 && k < n; k++)
			printf("  %-16s %10.3f W %10.3f W  +- %.3f W  %s\n", pairs[k].name,
			       pairs[k].joules[0] / s, pairs[k].joules[1] / s,
			       pairs[k].allowed_j / s, pairs[k].agree ? "agree" : "DISAGREE");
	}
}

static void print_mechanisms(const struct findings *f)
{
	printf("%-10s %-12s %s\n", "MECHANISM", "STATE", "WHAT");
	for (size_t i = 0; i < f->nbackends; i++) {
		const struct ergon_probe *probe = &f->probes[i];

		printf("%-10s %-12s %s\n", ergon_backends[i]->name, ergon_probe_word(probe->state),
		       *probe->reason ? probe->reason : ergon_backends[i]->help);
		if (*probe->remedy)
			printf("%-23s -> %s\n", "", probe->remedy);
	}
}

static void print_channels(const struct findings *f)
{
	char reason[96];
	const char *why;

	printf("\nIn use: %s. The total covers %s.\n\n", ergon_meter_mechanism(f->meter),
	       ergon_meter_scope(f->meter));
	printf("%-16s %-9s %-8s %-4s %-6s %s\n", "CHANNEL", "DOMAIN", "PACKAGE", "DIE", "TOTAL",
	       "READ FROM");
	for (size_t i = 0; i < f->nchannels; i++) {
		const struct ergon_channel *ch = &f->channels[i];

		printf("%-16s %-9s ", ch->name, ergon_domain_name(ch->domain));
		print_id(ch->package, 9);
		print_id(ch->die, 5);
		printf("%-6s %s", ch->in_total ? "yes" : "no", ch->detail);
		why = ergon_scope_reason(f->channels, f->nchannels, i, reason, sizeof(reason));
		printf("%s%s%s\n", *why ? "; " : "", why,
		       ergon_meter_answered(f->meter, i) ? "" : "; gives no value");
	}
}

static void print_dropped(const struct ergon_dropped *dropped, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("  %s: %s\n", dropped[i].what, dropped[i].why);
}

static void print_text(const struct findings *f)
{
	print_mechanisms(f);
	if (f->meter)
		print_channels(f);
	list_sensors_print(&f->sensors);
	if (f->ndropped > 0 || f->sensors.drops.n > 0)
		printf("\nLeft out:\n");
	print_dropped(f->dropped, f->ndropped);
	print_dropped(f->sensors.drops.items, f->sensors.drops.n);
	if (f->checked)
		print_checks(f);
}

static json_t *json_checks(const struct findings *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->nchecks; i++) {
		const struct ergon_crosscheck_pair *pairs;
		size_t n;
		double s = (double)ergon_crosscheck_pairs(f->checks[i], &pairs, &n) * 1e-9;

		for (size_t k = 0; s > 0 && k < n; k++)
			json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:b}",
				"channel", pairs[k].name,
				"other", ergon_crosscheck_other(f->checks[i]), "elapsed_s", s,
				"w", pairs[k].joules[0] / s, "other_w", pairs[k].joules[1] / s,
				"allowed_w", pairs[k].allowed_j / s, "agree", pairs[k].agree));
	}
	return list;
}

static json_t *json_id(int id)
{
	return id < 0 ? json_null() : json_integer(id);
}

static json_t *json_channels(const struct findings *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->nchannels; i++) {
		const struct ergon_channel *ch = &f->channels[i];
		char reason[96];
		json_t *entry = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:s, s:b}",
			"name", ch->name, "domain", ergon_domain_name(ch->domain),
			"package", json_id(ch->package), "die", json_id(ch->die),
			"kind", "energy", "unit", "J", "source", ch->source,
			"detail", ch->detail, "in_total", ch->in_total);
		const char *why = ergon_scope_reason(f->channels, f->nchannels, i, reason,
						     sizeof(reason));

		if (*why)
			json_object_set_new(entry, "why", json_string(why));
		if (ch->id[0])
			json_object_set_new(entry, "id", json_string(ch->id));
		if (ch->integrated)
			json_object_set_new(entry, "integrated", json_true());
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *json_mechanisms(const struct findings *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->nbackends; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}",
			"name", ergon_backends[i]->name,
			"state", ergon_probe_word(f->probes[i].state),
			"reason", f->probes[i].reason, "remedy", f->probes[i].remedy));
	return list;
}

static void append_dropped(json_t *list, const struct ergon_dropped *dropped, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "what", dropped[i].what,
						      "why", dropped[i].why));
}

static json_t *json_dropped(const struct findings *f)
{
	json_t *list = json_array();

	append_dropped(list, f->dropped, f->ndropped);
	append_dropped(list, f->sensors.drops.items, f->sensors.drops.n);
	return list;
}

static int print_json(const struct findings *f)
{
	json_t *root = json_pack("{s:i, s:s?, s:s?, s:o, s:o, s:o, s:o}", "v", LIST_VERSION,
		"mechanism", f->meter ? ergon_meter_mechanism(f->meter) : NULL,
		"scope", f->meter ? ergon_meter_scope(f->meter) : NULL,
		"channels", json_channels(f), "sensors", list_sensors_json(&f->sensors),
		"mechanisms", json_mechanisms(f), "dropped", json_dropped(f));
	int rc;

	if (f->checked)
		json_object_set_new(root, "cross_check", json_checks(f));
	rc = root ? json_dumpf(root, stdout, JSON_INDENT(2)) : -1;

	json_decref(root);
	putchar('\n');
	return rc;
}

int ergon_cmd_list(int argc, char **argv)
{
	struct options o = { NULL, NULL, false, false };
	struct ergon_error err = { "" };
	struct findings f = { 0 };
	struct machine machine;
	struct ergon_meter *meter = NULL;
	int stop = parse_options(argc, argv, &o);
	int rc = ERGON_EXIT_FAILURE;

	if (stop)
		return stop - 1;
	if (machine_open(&machine, o.config, &err) == 0) {
		meter = ergon_meter_open(&machine.view,
					 o.mechanisms ? o.mechanisms : machine.conf.mechanism,
					 machine.conf.allow_model, &err);
		if (meter)
			ergon_meter_settle(meter, SETTLE_MS);
		gather(&f, &machine.view, meter);
		if (o.cross_check && meter)
			cross_check(&f, &machine.view, meter);
		if (!o.json)
			print_text(&f);
		else if (print_json(&f) < 0)
			ergon_error_set(&err, "out of memory");
		rc = !meter ? ERGON_EXIT_FAILURE : disagree(&f) ? EXIT_DISAGREE : ERGON_EXIT_OK;
	}
	if (rc == ERGON_EXIT_FAILURE) {
		fflush(stdout);
		fprintf(stderr, "ergon list: %s%s%s\n",
			f.nbackends ? "nothing to measure with: " : "", err.text,
			f.nbackends && !o.mechanisms && !machine.conf.allow_model ?
				"; AllowModel = yes in ergon.conf permits estimates" : "");
	}
	for (size_t i = 0; i < f.nchecks; i++)
		ergon_crosscheck_close(f.checks[i]);
	list_sensors_release(&f.sensors);
	ergon_meter_close(meter);
	machine_close(&machine);
	return rc;
}
