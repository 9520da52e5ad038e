/* SPDX-License-Identifier: BSD-3-Clause */
#include "stat_output.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flags.h"

#define STAT_VERSION 1
/* 15 digits show a decimal of up to 15 digits as it was: microjoules of a gigajoule. */
#define STAT_DIGITS 15

static bool counts(const struct stat_result *r, size_t i, enum ergon_domain domain)
{
	return r->selected[i] && r->channels[i].domain == domain;
}

static uint64_t domain_uj(const struct stat_result *r, enum ergon_domain domain, size_t *instances)
{
	uint64_t sum = 0;

	*instances = 0;
	for (size_t i = 0; i < r->nchannels; i++) {
		if (!counts(r, i, domain))
			continue;
		sum += r->uj[i];
		++*instances;
	}
	return sum;
}

uint64_t stat_total_uj(const struct stat_result *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->nchannels; i++)
		if (r->selected[i] && r->channels[i].in_total)
			sum += r->uj[i];
	return sum;
}

static double watts(const struct stat_result *r, uint64_t uj)
{
	return r->elapsed_ns ? (double)uj * 1e3 / (double)r->elapsed_ns : 0;
}

static uint64_t mean_read_ns(const struct stat_result *r)
{
	return r->stats.reads ? r->stats.read_ns_sum / r->stats.reads : 0;
}

static void print_energy(const struct stat_result *r, FILE *out, const char *name, const char *note,
			 uint64_t uj)
{
	fprintf(out, "  %12" PRIu64 ".%06" PRIu64 " J  %12.3f W   %s%s\n", uj / 1000000, uj % 1000000,
		watts(r, uj), name, note);
}

static void print_domains(const struct stat_result *r, FILE *out)
{
	size_t told = 0;

	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++) {
		size_t instances;
		uint64_t uj = domain_uj(r, d, &instances);

		if (instances == 0)
			continue;
		told += instances;
		print_energy(r, out, ergon_domain_name(d), "", uj);
		for (size_t i = 0; i < r->nchannels && instances > 1; i++)
			if (counts(r, i, d))
				print_energy(r, out, "  ", r->channels[i].name, r->uj[i]);
	}
	if (told == 0)
		fprintf(out, "  nothing measured: %s gave no value in this time\n", r->mechanism);
}

static void print_sensors(const struct stat_result *r, FILE *out)
{
	const struct ergon_watch_range *freq = &r->sensors.freq_mhz, *temp = &r->sensors.temp_c;

	if (freq->some)
		fprintf(out, "  %12.1f MHz, mean of the CPUs (%.1f to %.1f)\n", freq->mean, freq->min,
			freq->max);
	if (temp->some)
		fprintf(out, "  %12.1f degC, mean of the hottest package (at most %.1f)\n", temp->mean,
			temp->max);
}

static void print_flags(const struct stat_result *r, FILE *out)
{
	for (unsigned bit = 0; ergon_flag_word(bit); bit++)
		if (r->stats.flags & (1u << bit))
			fprintf(out, "  %s: %s\n", ergon_flag_word(bit), ergon_flag_meaning(bit));
}

void stat_print_text(const struct stat_result *r, FILE *out)
{
	fprintf(out, "\n  Energy of '");
	for (size_t i = 0; r->command[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", r->command[i]);
	fprintf(out, "'%s%s, by %s:\n\n", r->label ? ", " : "", r->label ? r->label : "", r->mechanism);
	print_domains(r, out);
	if (*r->scope)
		print_energy(r, out, "total, scope ", r->scope, stat_total_uj(r));
	fprintf(out, "\n  %12.6f s elapsed, %.6f s CPU, exit status %d\n", (double)r->elapsed_ns * 1e-9,
		(double)r->cpu_ns * 1e-9, r->exit_code);
	fprintf(out, "  %" PRIu64 " samples at %s%g Hz, %" PRIu64 " missed; own cost %.6f s CPU, "
		"a read takes %" PRIu64 " ns, at most %" PRIu64 " ns\n",
		r->stats.samples, r->rate.adapt ? "up to " : "", r->rate.hz, r->stats.missed, (double)r->self_cpu_ns * 1e-9,
		mean_read_ns(r), r->stats.read_ns_max);
	print_sensors(r, out);
	print_flags(r, out);
	fputc('\n', out);
}

/* A string that is not UTF-8 gets a replacement character for each byte that is not ASCII. */
static json_t *json_text(const char *text)
{
	json_t *string = json_string(text);
	char *copy, *p;

	if (string)
		return string;
	copy = malloc(3 * strlen(text) + 1);
	if (!copy)
		return NULL;
	p = copy;
	for (; *text; text++) {
		if ((unsigned char)*text < 0x80) {
			*p++ = *text;
		} else {
			memcpy(p, "\xef\xbf\xbd", 3);
			p += 3;
		}
	}
	*p = '\0';
	string = json_string(copy);
	free(copy);
	return string;
}

static json_t *json_joules(uint64_t uj)
{
	return json_real((double)uj / 1e6);
}

/* Rounded to 9 decimals: more would be noise. */
static json_t *json_seconds(uint64_t ns)
{
	return json_real((double)ns / 1e9);
}

static json_t *json_watts(double w)
{
	return json_real((double)(uint64_t)(w * 1e6 + 0.5) / 1e6);
}

/* To a thousandth, which is what sensors tell. */
static json_t *json_sensor(const struct ergon_watch_range *range, double value)
{
	return range->some ? json_real(round(value * 1000) / 1000) : json_null();
}

static json_t *json_command(const struct stat_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; r->command[i]; i++)
		json_array_append_new(list, json_text(r->command[i]));
	return list;
}

static json_t *json_instances(const struct stat_result *r, enum ergon_domain domain)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->nchannels; i++) {
		const struct ergon_channel *ch = &r->channels[i];
		json_t *one;

		if (!counts(r, i, domain))
			continue;
		one = json_pack("{s:o, s:o}", "id", ch->package < 0 ? json_null() : json_integer(ch->package),
				"j", json_joules(r->uj[i]));
		if (ch->die >= 0)
			json_object_set_new(one, "die", json_integer(ch->die));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *json_domains(const struct stat_result *r)
{
	json_t *object = json_object();

	for (int d = 0; d < ERGON_DOMAIN_COUNT; d++) {
		size_t instances;
		uint64_t uj = domain_uj(r, d, &instances);

		if (instances > 0)
			json_object_set_new(object, ergon_domain_name(d),
				json_pack("{s:o, s:o, s:o}", "j", json_joules(uj),
					  "w", json_watts(watts(r, uj)),
					  "instances", json_instances(r, d)));
	}
	return object;
}

static json_t *json_flags(unsigned flags)
{
	json_t *list = json_array();

	for (unsigned bit = 0; ergon_flag_word(bit); bit++)
		if (flags & (1u << bit))
			json_array_append_new(list, json_string(ergon_flag_word(bit)));
	return list;
}

int stat_print_json(const struct stat_result *r, FILE *out)
{
	const struct ergon_watch_range *freq = &r->sensors.freq_mhz, *temp = &r->sensors.temp_c;
	json_t *self = json_pack("{s:o, s:{s:I, s:I}}", "cpu_s", json_seconds(r->self_cpu_ns),
		"read_ns", "mean", (json_int_t)mean_read_ns(r),
		"max", (json_int_t)r->stats.read_ns_max);
	json_t *root = json_pack("{s:i, s:o, s:i, s:o, s:s, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, "
		"s:o, s:o, s:o}",
		"v", STAT_VERSION, "command", json_command(r), "exit", r->exit_code,
		"elapsed_s", json_seconds(r->elapsed_ns), "mechanism", r->mechanism,
		"scope", *r->scope ? json_string(r->scope) : json_null(),
		"total_j", *r->scope ? json_joules(stat_total_uj(r)) : json_null(),
		"domains", json_domains(r), "samples", (json_int_t)r->stats.samples,
		"missed", (json_int_t)r->stats.missed, "cpu_s", json_seconds(r->cpu_ns),
		"freq_mhz", json_sensor(freq, freq->mean), "freq_mhz_max", json_sensor(freq, freq->max),
		"temp_c", json_sensor(temp, temp->mean), "temp_c_max", json_sensor(temp, temp->max),
		"self", self, "flags", json_flags(r->stats.flags));
	int rc = -1;

	if (root && r->label)
		json_object_set_new(root, "label", json_text(r->label));
	if (root)
		rc = json_dumpf(root, out, JSON_COMPACT | JSON_REAL_PRECISION(STAT_DIGITS));
	json_decref(root);
	fputc('\n', out);
	return rc < 0 || ferror(out) ? -1 : 0;
}
