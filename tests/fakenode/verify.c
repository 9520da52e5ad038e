/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify [-f] STAT.json LOG FLAGS ZONE...
 *
 * Compares what `ergon stat --json` says with what fakenode served. A zone:
 *
 *   ENTRY,DOMAIN,ID,UNIT_NJ,IN_TOTAL,WRAPS
 *
 * ID is the package, "-" for none. The run is the last `samples` reads of
 * the zone's newest open; the truth is the raw counts between the first and
 * the last good one of them. Every zone must agree to the microjoules that
 * the kernel's truncation costs (far below one raw count, so that a wrap at
 * the range instead of one unit more shows), the total to the sum of theirs,
 * each counter must have wrapped WRAPS times, and the flags must be exactly
 * FLAGS ("" or words with commas), "missed" aside.
 *
 * With -f, zones had faults: the log is of one run only, the run is all
 * reads from the sampler's baseline on, and the truth what was counted
 * between good reads of one life of the counter; a wrap is not looked for.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct zone {
	char entry[64], domain[32], id[8];
	uint64_t unit_nj;
	int in_total, wraps;
};

struct reading {
	uint64_t open;
	uint64_t raw;             /* UINT64_MAX: it failed */
	unsigned life;
};

struct span {
	size_t reads;             /* of the run */
	size_t good;
	uint64_t first, last;     /* raw counts */
	uint64_t counts;          /* between good reads of one life */
};

/* The meter's first reading. */
#define READS_BEFORE_BASELINE 1

static int failures;

static void complain(const char *what, double got, double expected)
{
	printf("FAIL: %s: %.9f, expected %.9f\n", what, got, expected);
	failures++;
}

/* The reads of a zone: all, or those of its newest open. */
static size_t read_log(const char *path, const char *entry, bool all, struct reading **list)
{
	FILE *in = fopen(path, "r");
	char line[256], name[64], raw[32];
	uint64_t id, t_ns, newest = 0;
	unsigned life;
	size_t n = 0;

	*list = NULL;
	while (in && fgets(line, sizeof(line), in)) {
		struct reading *grown;

		if (sscanf(line, "%" SCNu64 " %63s %" SCNu64 " %31s %u", &id, name, &t_ns, raw,
			   &life) != 5 || strcmp(name, entry) != 0 || (id < newest && !all))
			continue;
		if (id > newest && !all)
			n = 0;
		newest = id;
		grown = realloc(*list, (n + 1) * sizeof(*grown));
		if (!grown)
			exit(2);
		*list = grown;
		grown[n++] = (struct reading){
			id, strcmp(raw, "-") == 0 ? UINT64_MAX : strtoull(raw, NULL, 10), life };
	}
	if (in)
		fclose(in);
	return n;
}

/* The first read of an open is the backend's: does the zone answer? The meter does not see it. */
static size_t drop_checks(struct reading *list, size_t n)
{
	uint64_t newest = 0;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (list[i].open <= newest)
			list[kept++] = list[i];
		else
			newest = list[i].open;
	}
	return kept;
}

static struct span run_of(const char *log, const char *entry, size_t samples, bool faults)
{
	struct span span = { 0 };
	struct reading *list, last = { 0 };
	size_t n = read_log(log, entry, faults, &list);
	size_t first = n - samples;

	if (faults) {
		n = drop_checks(list, n);
		first = READS_BEFORE_BASELINE;
	}
	if (n < samples || n < first) {
		complain(entry, (double)n, (double)samples);
		first = 0;
	}
	for (size_t i = first; i < n; i++) {
		span.reads++;
		if (list[i].raw == UINT64_MAX)
			continue;
		if (span.good++ == 0)
			span.first = list[i].raw;
		else if (list[i].life == last.life)
			span.counts += list[i].raw - last.raw;
		last = list[i];
	}
	span.last = last.raw;
	free(list);
	return span;
}

/* Joules that the JSON gives for a zone; NAN when it gives none. */
static double reported(const json_t *root, const struct zone *zone)
{
	const json_t *domain = json_object_get(json_object_get(root, "domains"), zone->domain);
	const json_t *instances = json_object_get(domain, "instances");
	const json_t *one;
	size_t i;

	json_array_foreach(instances, i, one) {
		const json_t *id = json_object_get(one, "id");

		if (strcmp(zone->id, "-") == 0 ? json_is_null(id) :
		    json_is_integer(id) && json_integer_value(id) == atoi(zone->id))
			return json_number_value(json_object_get(one, "j"));
	}
	return NAN;
}

/* Both ends and every wrap are truncated or rounded to 1 uJ. */
static double tolerance_j(const struct zone *zone)
{
	return (2 + zone->wraps) * 1e-6;
}

static double check_zone(const json_t *root, const char *log, const struct zone *zone, bool faults)
{
	size_t samples = (size_t)json_integer_value(json_object_get(root, "samples"));
	struct span span = run_of(log, zone->entry, samples, faults);
	double truth = (double)span.counts * (double)zone->unit_nj * 1e-9;
	double got = reported(root, zone);
	int wraps = faults ? zone->wraps : (int)((span.last >> 32) - (span.first >> 32));

	printf("%s: %.6f J, truth %.6f J, %d wraps, %zu reads, %zu failed\n", zone->entry, got,
	       truth, wraps, span.reads, span.reads - span.good);
	if (!(fabs(got - truth) <= tolerance_j(zone)) || truth <= 0)
		complain(zone->entry, got, truth);
	if (wraps != zone->wraps)
		complain("wraps", wraps, zone->wraps);
	return truth;
}

static void check_flags(const json_t *root, const char *expected)
{
	char text[256] = "";
	const json_t *flag;
	size_t i;

	json_array_foreach(json_object_get(root, "flags"), i, flag) {
		/* A busy machine misses ticks; no joule is lost by that. */
		if (strcmp(json_string_value(flag), "missed") == 0)
			continue;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? "," : "",
			 json_string_value(flag));
	}
	if (strcmp(text, expected) != 0) {
		printf("FAIL: flags '%s', expected '%s'\n", text, expected);
		failures++;
	}
}

int main(int argc, char **argv)
{
	bool faults = argc > 1 && strcmp(argv[1], "-f") == 0;
	char **args = argv + faults;
	json_t *root = argc - faults < 5 ? NULL : json_load_file(args[1], 0, NULL);
	double total = 0, slack = 0, got;

	if (!root) {
		fprintf(stderr, "usage: verify [-f] STAT.json LOG FLAGS ZONE...\n");
		return 2;
	}
	check_flags(root, args[3]);
	for (int i = 4; args[i]; i++) {
		struct zone zone;
		double truth;

		if (sscanf(args[i], "%63[^,],%31[^,],%7[^,],%" SCNu64 ",%d,%d", zone.entry, zone.domain,
			   zone.id, &zone.unit_nj, &zone.in_total, &zone.wraps) != 6) {
			fprintf(stderr, "verify: %s: not a zone\n", args[i]);
			return 2;
		}
		truth = check_zone(root, args[2], &zone, faults);
		if (zone.in_total) {
			total += truth;
			slack += tolerance_j(&zone);
		}
	}
	got = json_number_value(json_object_get(root, "total_j"));
	if (!(fabs(got - total) <= slack))
		complain("total", got, total);
	json_decref(root);
	return failures ? 1 : 0;
}
