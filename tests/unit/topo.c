/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "topo.h"
#include "tree.h"

/* A machine of tests/sysroots. */
static struct ergon_topo *load_machine(const char *name)
{
	const char *top = getenv("top_srcdir");
	char path[PATH_MAX];
	struct ergon_error err = { "" };
	struct ergon_sysroot *sr;
	struct ergon_topo *topo;

	snprintf(path, sizeof(path), "%s/tests/sysroots/%s", top ? top : ".", name);
	sr = ergon_sysroot_open(path, &err);
	assert_non_null(sr);
	topo = ergon_topo_load(sr, &err);
	assert_string_equal(err.text, "");
	assert_non_null(topo);
	ergon_sysroot_close(sr);
	return topo;
}

static void lists_of_cpus_are_read_strictly(void **state)
{
	static const struct {
		const char *text;
		int n;
		int cpus[6];
	} cases[] = {
		{ "0", 1, { 0 } },
		{ "0\n", 1, { 0 } },
		{ "0,18", 2, { 0, 18 } },
		{ "0-3,8", 5, { 0, 1, 2, 3, 8 } },
		{ "8,0-2,1", 4, { 0, 1, 2, 8 } },
		{ "", 0, { 0 } },
		{ "\n", 0, { 0 } },
		{ "x", -1, { 0 } },
		{ "0,", -1, { 0 } },
		{ ",0", -1, { 0 } },
		{ "3-1", -1, { 0 } },
		{ "1-", -1, { 0 } },
		{ "-1", -1, { 0 } },
		{ "1 2", -1, { 0 } },
		{ "0-999999999", -1, { 0 } },
		{ "99999999999999999999", -1, { 0 } },
		{ "1;2", -1, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int *cpus = NULL;

		errno = 0;
		assert_int_equal(ergon_cpulist_parse(cases[i].text, &cpus), cases[i].n);
		if (cases[i].n < 0) {
			assert_int_equal(errno, EINVAL);
			assert_null(cpus);
		}
		for (int k = 0; k < cases[i].n; k++)
			assert_int_equal(cpus[k], cases[i].cpus[k]);
		free(cpus);
	}
}

/* X15 */
static void package_ids_may_have_gaps(void **state)
{
	struct ergon_topo *topo = load_machine("package-gap");

	(void)state;
	assert_int_equal(topo->npackages, 2);
	assert_int_equal(topo->packages[0], 0);
	assert_int_equal(topo->packages[1], 3);
	assert_int_equal(ergon_topo_package_index(topo, 3), 1);
	assert_int_equal(ergon_topo_package_index(topo, 1), -1);
	assert_int_equal(topo->ncpus, 4);
	assert_int_equal(topo->ncores, 4);
	assert_int_equal(ergon_topo_first_cpu(topo, 3, -1), 2);
	assert_int_equal(ergon_topo_first_cpu(topo, 1, -1), -1);
	assert_int_equal(ergon_topo_cpu(topo, 3)->package, 3);
	assert_string_equal(topo->vendor, "GenuineIntel");
	assert_int_equal(topo->family, 6);
	assert_int_equal(topo->model, 106);
	ergon_topo_free(topo);
	ergon_topo_free(NULL);
}

/* X14 */
static void offline_cpus_are_not_there(void **state)
{
	struct ergon_topo *topo = load_machine("cpu0-offline");

	(void)state;
	assert_int_equal(topo->ncpus, 3);
	assert_null(ergon_topo_cpu(topo, 0));
	assert_non_null(ergon_topo_cpu(topo, 3));
	assert_null(ergon_topo_cpu(topo, 4));
	assert_null(ergon_topo_cpu(topo, -1));
	assert_int_equal(ergon_topo_first_cpu(topo, 0, -1), 1);
	ergon_topo_free(topo);
}

static void dies_are_told_apart(void **state)
{
	struct ergon_topo *amd = load_machine("threadripper-1950x");
	struct ergon_topo *intel = load_machine("cascade-lake-ap");
	struct ergon_topo *plain = load_machine("skylake-server");

	(void)state;
	assert_true(ergon_topo_has_dies(amd));
	assert_true(ergon_topo_counts_per_package(amd));
	assert_int_equal(amd->ncpus, 8);
	assert_int_equal(amd->ncores, 4);
	assert_int_equal(amd->cpus[0].core, amd->cpus[1].core);
	assert_true(ergon_topo_has_dies(intel));
	assert_false(ergon_topo_counts_per_package(intel));
	assert_int_equal(ergon_topo_first_cpu(intel, 0, 1), 2);
	assert_false(ergon_topo_has_dies(plain));
	assert_int_equal(plain->cpus[7].die, 0);
	ergon_topo_free(amd);
	ergon_topo_free(intel);
	ergon_topo_free(plain);
}

static void bad_xml_is_named(void **state)
{
	struct tree tree;
	struct ergon_error err = { "" };
	struct ergon_sysroot *sr;
	static const char *const texts[] = { "", "nonsense", "<topology" };

	(void)state;
	tree_create(&tree);
	sr = tree_open(&tree);
	for (size_t i = 0; i < 3; i++) {
		tree_write(&tree, "/topo.xml", texts[i]);
		err.text[0] = '\0';
		assert_null(ergon_topo_load(sr, &err));
		assert_non_null(strstr(err.text, "/topo.xml: "));
	}
	ergon_sysroot_close(sr);
	tree_destroy(&tree);
}

static void this_machine_is_read(void **state)
{
	struct ergon_sysroot *sr = ergon_sysroot_open("/", NULL);
	struct ergon_topo *topo = ergon_topo_load(sr, NULL);

	(void)state;
	assert_non_null(topo);
	assert_int_equal(topo->ncpus, sysconf(_SC_NPROCESSORS_ONLN));
	assert_in_range(topo->npackages, 1, topo->ncores);
	assert_in_range(topo->ncores, 1, topo->ncpus);
	for (size_t i = 1; i < topo->ncpus; i++)
		assert_true(topo->cpus[i - 1].os < topo->cpus[i].os);
	ergon_topo_free(topo);
	ergon_sysroot_close(sr);
}

/* --- the cache --- */

static void assert_same(const struct ergon_topo *a, const struct ergon_topo *b)
{
	assert_int_equal(a->ncpus, b->ncpus);
	assert_memory_equal(a->cpus, b->cpus, a->ncpus * sizeof(*a->cpus));
	assert_int_equal(a->npackages, b->npackages);
	assert_memory_equal(a->packages, b->packages, a->npackages * sizeof(*a->packages));
	assert_int_equal(a->ncores, b->ncores);
	assert_string_equal(a->vendor, b->vendor);
	assert_int_equal(a->family, b->family);
	assert_int_equal(a->model, b->model);
}

static size_t slurp(const char *path, char *buf, size_t size)
{
	FILE *in = fopen(path, "r");
	size_t n;

	assert_non_null(in);
	n = fread(buf, 1, size - 1, in);
	buf[n] = '\0';
	fclose(in);
	return n;
}

/* Load through a cache that holds `text`; true when the text was believed. */
static bool believed(const struct tree *tree, const char *cache, const char *text)
{
	struct ergon_sysroot *sr = ergon_sysroot_open("/", NULL);
	struct ergon_topo *topo;
	static char now[1 << 20];
	bool same;

	unlink(cache);
	tree_write(tree, "/cache", text);
	chmod(cache, 0444);
	topo = ergon_topo_load_cached(sr, cache, NULL);
	assert_non_null(topo);
	slurp(cache, now, sizeof(now));
	same = strcmp(now, text) == 0;
	if (!same)
		assert_int_equal(topo->ncpus, sysconf(_SC_NPROCESSORS_ONLN));
	ergon_topo_free(topo);
	ergon_sysroot_close(sr);
	return same;
}

static void edit(char *text, const char *from, const char *to)
{
	char *at = strstr(text, from);

	assert_non_null(at);
	assert_int_equal(strlen(from), strlen(to));
	memcpy(at, to, strlen(to));
}

static void the_cache_gives_the_same_and_is_for_one_boot(void **state)
{
	static char good[1 << 20], bad[1 << 20];
	struct ergon_sysroot *sr = ergon_sysroot_open("/", NULL);
	struct ergon_topo *live, *first, *second;
	struct tree tree;
	char cache[PATH_MAX];
	struct stat st;

	(void)state;
	tree_create(&tree);
	snprintf(cache, sizeof(cache), "%s/cache", tree.path);
	live = ergon_topo_load(sr, NULL);
	first = ergon_topo_load_cached(sr, cache, NULL);
	assert_int_equal(stat(cache, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
	second = ergon_topo_load_cached(sr, cache, NULL);
	assert_same(live, first);
	assert_same(live, second);
	slurp(cache, good, sizeof(good));
	assert_true(believed(&tree, cache, good));

	strcpy(bad, good);
	edit(bad, "boot ", "coot ");
	assert_false(believed(&tree, cache, bad));
	strcpy(bad, good);
	strstr(bad, "boot ")[5] ^= 1;
	assert_false(believed(&tree, cache, bad));
	strcpy(bad, good);
	strstr(bad, "online ")[7] ^= 1;
	assert_false(believed(&tree, cache, bad));
	strcpy(bad, good);
	edit(bad, "topology 1", "topology 9");
	assert_false(believed(&tree, cache, bad));
	strcpy(bad, good);
	strstr(bad, "vendor")[0] = '\0';
	assert_false(believed(&tree, cache, bad));
	strcpy(bad, good);
	bad[strlen(bad) - 2] = 'x';
	assert_false(believed(&tree, cache, bad));
	assert_false(believed(&tree, cache, ""));

	ergon_topo_free(live);
	ergon_topo_free(first);
	ergon_topo_free(second);
	ergon_sysroot_close(sr);
	tree_destroy(&tree);
}

/* A directory one cannot write, a file others may write, a link: no error, not believed. */
static void unfit_cache_files_are_no_error(void **state)
{
	static char text[1 << 20];
	struct ergon_sysroot *sr = ergon_sysroot_open("/", NULL);
	struct ergon_topo *topo;
	struct tree tree;
	struct stat st;
	char cache[PATH_MAX], target[PATH_MAX];

	(void)state;
	topo = ergon_topo_load_cached(sr, "/does/not/exist/cache", NULL);
	assert_non_null(topo);
	ergon_topo_free(topo);

	tree_create(&tree);
	snprintf(cache, sizeof(cache), "%s/cache", tree.path);
	snprintf(target, sizeof(target), "%s/target", tree.path);
	ergon_topo_free(ergon_topo_load_cached(sr, cache, NULL));
	slurp(cache, text, sizeof(text));
	chmod(cache, 0666);
	ergon_topo_free(ergon_topo_load_cached(sr, cache, NULL));
	assert_int_equal(stat(cache, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0444);

	assert_int_equal(rename(cache, target), 0);
	assert_int_equal(symlink(target, cache), 0);
	ergon_topo_free(ergon_topo_load_cached(sr, cache, NULL));
	assert_int_equal(lstat(cache, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	ergon_sysroot_close(sr);
	tree_destroy(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_cpus_are_read_strictly),
		cmocka_unit_test(package_ids_may_have_gaps),
		cmocka_unit_test(offline_cpus_are_not_there),
		cmocka_unit_test(dies_are_told_apart),
		cmocka_unit_test(bad_xml_is_named),
		cmocka_unit_test(this_machine_is_read),
		cmocka_unit_test(the_cache_gives_the_same_and_is_for_one_boot),
		cmocka_unit_test(unfit_cache_files_are_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
