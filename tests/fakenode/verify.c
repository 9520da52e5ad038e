/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify STAT.json LOG FLAGS ZONE...
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

struct span {
	size_t reads;             /* of the run */
	size_t good;
	uint64_t first, last;     /* raw counts */
};

static int failures;

static void complain(const char *what, double got, double expected)
{
	printf("FAIL: %s: %.9f, expected %.9f\n", what, got, expected);
	failures++;
}

/* The reads of a zone's newest open: raw counts, UINT64_MAX for a failed one. */
static size_t read_log(const char *path, const char *entry, uint64_t **raws)
{
	FILE *in = fopen(path, "r");
	char line[256], name[64], raw[32];
	uint64_t id, t_ns, newest = 0;
	size_t n = 0;

	*raws = NULL;
	while (in && fgets(line, sizeof(line), in)) {
		uint64_t *grown;

		if (sscanf(line, "%" SCNu64 " %63s %" SCNu64 " %31s", &id, name, &t_ns, raw) != 4 ||
		    strcmp(name, entry) != 0 || id < newest)
			continue;
		if (id > newest)
			n = 0;
		newest = id;
		grown = realloc(*raws, (n + 1) * sizeof(*grown));
		if (!grown)
			exit(2);
		*raws = grown;
		grown[n++] = strcmp(raw, "-") == 0 ? UINT64_MAX : strtoull(raw, NULL, 10);
	}
	if (in)
		fclose(in);
	return n;
}

static struct span run_of(const char *log, const char *entry, size_t samples)
{
	struct span span = { 0, 0, 0, 0 };
	uint64_t *raws;
	size_t n = read_log(log, entry, &raws);

	if (n < samples) {
		complain(entry, (double)n, (double)samples);
		samples = n;
	}
	for (size_t i = n - samples; i < n; i++) {
		span.reads++;
		if (raws[i] == UINT64_MAX)
			continue;
		if (span.good++ == 0)
			span.first = raws[i];
		span.last = raws[i];
	}
	free(raws);
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

static double check_zone(const json_t *root, const char *log, const struct zone *zone)
{
	size_t samples = (size_t)json_integer_value(json_object_get(root, "samples"));
	struct span span = run_of(log, zone->entry, samples);
	double truth = (double)(span.last - span.first) * (double)zone->unit_nj * 1e-9;
	double got = reported(root, zone);
	int wraps = (int)((span.last >> 32) - (span.first >> 32));

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
	json_t *root = argc < 5 ? NULL : json_load_file(argv[1], 0, NULL);
	double total = 0, slack = 0, got;

	if (!root) {
		fprintf(stderr, "usage: verify STAT.json LOG FLAGS ZONE...\n");
		return 2;
	}
	check_flags(root, argv[3]);
	for (int i = 4; i < argc; i++) {
		struct zone zone;
		double truth;

		if (sscanf(argv[i], "%63[^,],%31[^,],%7[^,],%" SCNu64 ",%d,%d", zone.entry, zone.domain,
			   zone.id, &zone.unit_nj, &zone.in_total, &zone.wraps) != 6) {
			fprintf(stderr, "verify: %s: not a zone\n", argv[i]);
			return 2;
		}
		truth = check_zone(root, argv[2], &zone);
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
