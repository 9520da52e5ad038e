/* SPDX-License-Identifier: BSD-3-Clause */
#include "acct_nodes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 18

struct name {
	const char *text;
	const char *digits;       /* at the end of text; "" when there are none */
	size_t prefix;            /* bytes before the digits */
	uint64_t number;
};

static struct name split(const char *text)
{
	const char *digits = text + strlen(text);

	for (int i = 0; i < DIGITS_MAX && digits > text && digits[-1] >= '0' && digits[-1] <= '9'; i++)
		digits--;
	return (struct name){ text, digits, (size_t)(digits - text), strtoull(digits, NULL, 10) };
}

static bool same_prefix(const struct name *a, const struct name *b)
{
	return a->prefix == b->prefix && memcmp(a->text, b->text, a->prefix) == 0 &&
	       *a->digits && *b->digits;
}

static int by_name(const void *a, const void *b)
{
	struct name x = split(*(const char *const *)a), y = split(*(const char *const *)b);
	int order = memcmp(x.text, y.text, x.prefix < y.prefix ? x.prefix : y.prefix);

	if (order != 0)
		return order;
	if (x.prefix != y.prefix)
		return x.prefix < y.prefix ? -1 : 1;
	if (x.number != y.number)
		return x.number < y.number ? -1 : 1;
	return strcmp(x.text, y.text);
}

/* Whether name is what a range from first has at its place: 08 09 10, 8 9 10, not 08 9. */
static bool continues(const struct name *first, size_t steps, const char *text)
{
	struct name name = split(text);
	char expected[32];

	snprintf(expected, sizeof(expected), "%0*" PRIu64, (int)strlen(first->digits),
		 first->number + steps);
	return same_prefix(first, &name) && strcmp(name.digits, expected) == 0;
}

/* Names of one prefix. */
static void put_series(FILE *out, const char **names, size_t n)
{
	struct name first = split(names[0]);
	size_t len;

	fprintf(out, "%.*s%s", (int)first.prefix, first.text, n > 1 ? "[" : "");
	for (size_t i = 0; i < n; i += len) {
		struct name start = split(names[i]);

		for (len = 1; i + len < n && continues(&start, len, names[i + len]);)
			len++;
		fprintf(out, "%s%s", i > 0 ? "," : "", start.digits);
		if (len > 1)
			fprintf(out, "-%s", split(names[i + len - 1]).digits);
	}
	if (n > 1)
		fputc(']', out);
}

static size_t drop_doubles(const char **names, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	return kept;
}

char *ergon_acct_nodes(const char **names, size_t n)
{
	char *text = NULL;
	size_t size, len;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	qsort(names, n, sizeof(*names), by_name);
	n = drop_doubles(names, n);
	for (size_t i = 0; i < n; i += len) {
		struct name first = split(names[i]);

		for (len = 1; i + len < n; len++) {
			struct name next = split(names[i + len]);

			if (!same_prefix(&first, &next))
				break;
		}
		if (i > 0)
			fputc(',', out);
		put_series(out, names + i, len);
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
