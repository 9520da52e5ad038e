/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scope.h"

#define MAX 24

/*
 * A machine in words: "package0 package1 dram0 node~": the digit is the
 * package, "~" marks energy integrated from power.
 */
static size_t machine(const char *text, struct ergon_channel *channels)
{
	char copy[512], *rest = copy, *word;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, " "))) {
		struct ergon_channel *ch = &channels[n++];
		size_t len = strcspn(word, "0123456789~");
		char domain[32];

		assert_true(n <= MAX);
		snprintf(domain, sizeof(domain), "%.*s", (int)len, word);
		*ch = (struct ergon_channel){
			.domain = (enum ergon_domain)ergon_domain_parse(domain),
			.package = word[len] >= '0' && word[len] <= '9' ? atoi(word + len) : -1,
			.die = -1, .unit_j = 1e-6, .integrated = strchr(word, '~') != NULL,
		};
		assert_int_not_equal(ergon_domain_parse(domain), -1);
		snprintf(ch->name, sizeof(ch->name), "%s", word);
	}
	return n;
}

/* The names that are in the total. */
static const char *total(const struct ergon_channel *channels, size_t n)
{
	static char text[MAX * 34];
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < n; i++)
		if (channels[i].in_total)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? " " : "", channels[i].name);
	return text;
}

static void every_machine_has_one_total(void **state)
{
	static const struct {
		const char *has, *total, *words;
	} rows[] = {
		/* Nothing, and what is no total by itself. */
		{ "core0", "", "" },
		{ "core0 uncore0", "", "" },
		/* X5, rows 23 and 34: packages and dram, neither psys nor what is inside. */
		{ "package0 platform package1", "package0 package1", "cpu" },
		{ "package0 core0 uncore0 platform", "package0", "cpu" },
		{ "package0 package1 core0 core1 dram0 dram1 platform",
		  "package0 package1 dram0 dram1", "cpu+dram" },
		{ "dram0", "dram0", "dram" },
		{ "platform", "platform", "platform" },
		{ "platform core0", "platform", "platform" },
		/* GPUs are added, unless the meter holds them. */
		{ "package0 dram0 gpu gpu", "package0 dram0 gpu gpu", "cpu+dram+gpu" },
		{ "gpu", "gpu", "gpu" },
		{ "node package0 cpu dram gpu gpu", "node", "node" },
		{ "module0 module1 soc0 cpu0 io0 gpu", "module0 module1", "module" },
		{ "module0~ module1~ soc0~ soc1~ cpu0~ io0~ gpu", "module0~ module1~", "module" },
		{ "soc0~ soc1~ cpu0~ cpu1~ io0~ gpu", "soc0~ soc1~ gpu", "soc+gpu" },
		{ "cpu0~ io0~ cpu1~ io1~", "cpu0~ io0~ cpu1~ io1~", "cpu+io" },
		/* A node meter that tells only power does not replace counters, but psys and nothing. */
		{ "package0 dram0 node~", "package0 dram0", "cpu+dram" },
		{ "node~", "node~", "node" },
		{ "node~ gpu", "node~", "node" },
		{ "node~ platform", "node~", "node" },
		{ "platform gpu", "platform", "platform" },
		{ "gpu node", "node", "node" },
		{ "node node~", "node", "node" },
		{ "node node", "node", "node" },
		{ "node~ node~ gpu", "node~", "node" },
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct ergon_channel channels[MAX];
		char words[64];
		size_t n = machine(rows[r].has, channels);

		ergon_scope_choose(channels, n);
		assert_string_equal(total(channels, n), rows[r].total);
		assert_string_equal(ergon_scope_words(channels, n, NULL, words, sizeof(words)),
				    rows[r].words);
	}
}

/* Whatever a machine has: nothing of the total holds another part of it, and some reason for the rest. */
static void no_total_counts_twice(void **state)
{
	(void)state;
	for (unsigned mask = 1; mask < 1u << ERGON_DOMAIN_COUNT; mask++) {
		struct ergon_channel channels[ERGON_DOMAIN_COUNT];
		char buf[96];
		size_t n = 0;

		for (unsigned d = 0; d < ERGON_DOMAIN_COUNT; d++)
			if (mask & 1u << d)
				channels[n++] = (struct ergon_channel){
					.domain = (enum ergon_domain)d, .package = -1, .die = -1,
					.integrated = mask % 3 == 0,
				};
		ergon_scope_choose(channels, n);
		for (size_t i = 0; i < n; i++) {
			const char *why = ergon_scope_reason(channels, n, i, buf, sizeof(buf));

			assert_int_equal(*why == '\0', channels[i].in_total);
			for (size_t k = 0; k < n; k++)
				assert_false(channels[i].in_total && channels[k].in_total &&
					     ergon_domain_contains(channels[i].domain,
								   channels[k].domain));
		}
	}
}

static void reasons_name_what_is_counted(void **state)
{
	static const struct {
		const char *has;
		size_t i;
		const char *why;
	} rows[] = {
		{ "package0 core0", 1, "inside package" },
		{ "package0 dram0 platform", 2, "holds cpu+dram, which is counted" },
		{ "package0 node~", 1, "tells only power; cpu is counted" },
		{ "node gpu", 1, "inside node" },
		{ "node node~", 1, "tells only power; node is counted" },
		{ "node node", 1, "node is counted by another meter" },
		{ "core0", 0, "core alone is no total" },
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct ergon_channel channels[MAX];
		char buf[96], little[8];
		size_t n = machine(rows[r].has, channels);

		ergon_scope_choose(channels, n);
		assert_string_equal(ergon_scope_reason(channels, n, rows[r].i, buf, sizeof(buf)),
				    rows[r].why);
		ergon_scope_reason(channels, n, rows[r].i, little, sizeof(little));
		assert_int_equal(strlen(little), sizeof(little) - 1);
	}
}

static void selections_have_their_own_words(void **state)
{
	const bool dram_only[] = { false, false, true };
	const bool psys_only[] = { false, true, false };
	struct ergon_channel channels[MAX];
	char buf[64], little[5];
	size_t n = machine("package0 platform dram0", channels);

	(void)state;
	ergon_scope_choose(channels, n);
	assert_string_equal(ergon_scope_words(channels, n, dram_only, buf, sizeof(buf)), "dram");
	assert_string_equal(ergon_scope_words(channels, n, psys_only, buf, sizeof(buf)), "");
	assert_string_equal(ergon_scope_words(channels, n, NULL, little, sizeof(little)), "cpu+");
}

static void twins_are_told_by_identity(void **state)
{
	struct ergon_channel a = { .domain = ERGON_DOMAIN_GPU, .package = -1, .die = -1,
				   .id = "pci 0000:41:00.0" };
	struct ergon_channel b = a;

	(void)state;
	assert_true(ergon_scope_same(&a, &b));
	strcpy(b.id, "pci 0000:42:00.0");
	assert_false(ergon_scope_same(&a, &b));
	b = a;
	b.domain = ERGON_DOMAIN_NODE;
	assert_false(ergon_scope_same(&a, &b));
	/* Where one has no identity they cannot be told to be the same. */
	b = a;
	*b.id = '\0';
	assert_false(ergon_scope_same(&a, &b));
	a = (struct ergon_channel){ .domain = ERGON_DOMAIN_PACKAGE, .package = 1, .die = -1 };
	b = a;
	assert_true(ergon_scope_same(&a, &b));
	b.package = 0;
	assert_false(ergon_scope_same(&a, &b));
	b.package = 1;
	b.die = 0;
	assert_false(ergon_scope_same(&a, &b));
}

/* Cray's meters beside RAPL and NVML, where the node's own counter is missing. */
static void two_views_of_a_domain_are_not_added_up(void **state)
{
	struct ergon_channel channels[MAX];
	char buf[96];
	size_t n = machine("package0 dram0 dram1 dram gpu gpu gpu", channels);

	(void)state;
	for (size_t i = 0; i < n; i++)
		strcpy(channels[i].source, "perf");
	strcpy(channels[3].source, "cray");
	for (size_t i = 4; i < n; i++) {
		strcpy(channels[i].source, i == 4 ? "cray" : "nvml");
		snprintf(channels[i].id, sizeof(channels[i].id), i == 4 ? "accel%zu" : "pci 0000:4%zu:00.0", i);
	}
	ergon_scope_choose(channels, n);
	assert_string_equal(total(channels, n), "package0 dram0 dram1 gpu");
	assert_true(channels[4].in_total);
	assert_string_equal(ergon_scope_reason(channels, n, 3, buf, sizeof(buf)),
			    "dram is counted by another meter");
	assert_string_equal(ergon_scope_reason(channels, n, 5, buf, sizeof(buf)),
			    "gpu is counted by another meter");
	/* GPUs of two vendors are all there. */
	strcpy(channels[4].id, "pci 0000:01:00.0");
	strcpy(channels[4].source, "rocm");
	ergon_scope_choose(channels, n);
	assert_string_equal(total(channels, n), "package0 dram0 dram1 gpu gpu gpu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_machine_has_one_total),
		cmocka_unit_test(no_total_counts_twice),
		cmocka_unit_test(reasons_name_what_is_counted),
		cmocka_unit_test(selections_have_their_own_words),
		cmocka_unit_test(two_views_of_a_domain_are_not_added_up),
		cmocka_unit_test(twins_are_told_by_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
