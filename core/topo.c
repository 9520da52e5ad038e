/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only includer of hwloc.h. Loading takes tens of ms (hwloc walks all
 * of /sys), hence the cache: a small text file keyed by boot and online CPUs.
 */
#include "topo.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

#define CPU_MAX (1 << 20)
#define CACHE_HEADER "ergon-topology 1"

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static size_t unique_ints(int *values, size_t n)
{
	size_t kept = 0;

	qsort(values, n, sizeof(*values), compare_ints);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || values[i] != values[kept - 1])
			values[kept++] = values[i];
	return kept;
}

/* --- queries --- */

const struct ergon_cpu *ergon_topo_cpu(const struct ergon_topo *topo, int os)
{
	size_t low = 0, high = topo->ncpus;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (topo->cpus[mid].os == os)
			return &topo->cpus[mid];
		if (topo->cpus[mid].os < os)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

int ergon_topo_first_cpu(const struct ergon_topo *topo, int package, int die)
{
	for (size_t i = 0; i < topo->ncpus; i++)
		if (topo->cpus[i].package == package && (die < 0 || topo->cpus[i].die == die))
			return topo->cpus[i].os;
	return -1;
}

int ergon_topo_package_index(const struct ergon_topo *topo, int package)
{
	for (size_t i = 0; i < topo->npackages; i++)
		if (topo->packages[i] == package)
			return (int)i;
	return -1;
}

bool ergon_topo_has_dies(const struct ergon_topo *topo)
{
	for (size_t i = 0; i < topo->ncpus; i++) {
		const struct ergon_cpu *cpu = &topo->cpus[i];
		int first = ergon_topo_first_cpu(topo, cpu->package, -1);

		if (cpu->die != ergon_topo_cpu(topo, first)->die)
			return true;
	}
	return false;
}

bool ergon_topo_counts_per_package(const struct ergon_topo *topo)
{
	return strcmp(topo->vendor, "AuthenticAMD") == 0 ||
	       strcmp(topo->vendor, "HygonGenuine") == 0;
}

void ergon_topo_free(struct ergon_topo *topo)
{
	int saved = errno;

	if (topo) {
		free(topo->cpus);
		free(topo->packages);
		free(topo);
	}
	errno = saved;
}

/* --- lists of CPUs --- */

/* A CPU number at *p; moves *p behind it. */
static int cpu_number(const char **p)
{
	char *end;
	long value;

	if (!isdigit((unsigned char)**p))
		return -1;
	value = strtol(*p, &end, 10);
	*p = end;
	return value < CPU_MAX ? (int)value : -1;
}

ssize_t ergon_cpulist_parse(const char *text, int **cpus)
{
	int *list = malloc(sizeof(*list));
	size_t n = 0;
	const char *p = text + strspn(text, " \t\n");

	while (list && *p) {
		int first = cpu_number(&p), last = first;
		int *grown;

		if (first >= 0 && *p == '-') {
			p++;
			last = cpu_number(&p);
		}
		if (first < 0 || last < first || !strchr(", \t\n", *p) ||
		    (*p == ',' && !isdigit((unsigned char)p[1])) ||
		    (*p && *p != ',' && p[strspn(p, " \t\n")])) {
			free(list);
			errno = EINVAL;
			return -1;
		}
		grown = realloc(list, (n + (size_t)(last - first) + 2) * sizeof(*list));
		if (!grown)
			free(list);
		list = grown;
		for (int cpu = first; list && cpu <= last; cpu++)
			list[n++] = cpu;
		p += *p == ',' ? 1 : strspn(p, " \t\n");
	}
	if (!list)
		return -1;
	*cpus = list;
	return (ssize_t)unique_ints(list, n);
}

/* --- what both sources have in common --- */

static struct ergon_topo *topo_new(size_t ncpus)
{
	struct ergon_topo *topo = calloc(1, sizeof(*topo));

	if (!topo)
		return NULL;
	topo->cpus = calloc(ncpus ? ncpus : 1, sizeof(*topo->cpus));
	topo->packages = calloc(ncpus ? ncpus : 1, sizeof(*topo->packages));
	topo->family = topo->model = -1;
	if (!topo->cpus || !topo->packages) {
		ergon_topo_free(topo);
		return NULL;
	}
	return topo;
}

static int compare_cpus(const void *a, const void *b)
{
	return compare_ints(&((const struct ergon_cpu *)a)->os, &((const struct ergon_cpu *)b)->os);
}

/* Sort, and derive the lists from the CPUs. */
static void topo_finish(struct ergon_topo *topo)
{
	qsort(topo->cpus, topo->ncpus, sizeof(*topo->cpus), compare_cpus);
	topo->ncores = 0;
	for (size_t i = 0; i < topo->ncpus; i++) {
		topo->packages[i] = topo->cpus[i].package;
		if ((size_t)topo->cpus[i].core >= topo->ncores)
			topo->ncores = (size_t)topo->cpus[i].core + 1;
	}
	topo->npackages = unique_ints(topo->packages, topo->ncpus);
}

/* --- hwloc --- */

static int os_id(hwloc_obj_t obj)
{
	if (!obj)
		return 0;
	return (int)(obj->os_index == HWLOC_UNKNOWN_INDEX ? obj->logical_index : obj->os_index);
}

static const char *find_info(hwloc_topology_t hw, const char *key)
{
	static const hwloc_obj_type_t types[] = { HWLOC_OBJ_PACKAGE, HWLOC_OBJ_MACHINE };

	for (size_t i = 0; i < 2; i++) {
		hwloc_obj_t obj = hwloc_get_obj_by_type(hw, types[i], 0);
		const char *value = obj ? hwloc_obj_get_info_by_name(obj, key) : NULL;

		if (value)
			return value;
	}
	return NULL;
}

static int find_number(hwloc_topology_t hw, const char *key)
{
	const char *text = find_info(hw, key);
	uint64_t value;

	return text && ergon_parse_u64(text, &value) == 0 && value <= INT_MAX ? (int)value : -1;
}

static struct ergon_topo *convert(hwloc_topology_t hw)
{
	int npus = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_PU);
	bool cores = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_CORE) > 0;
	struct ergon_topo *topo = npus > 0 ? topo_new((size_t)npus) : NULL;
	const char *vendor = find_info(hw, "CPUVendor");

	if (!topo)
		return NULL;
	for (int i = 0; i < npus; i++) {
		hwloc_obj_t pu = hwloc_get_obj_by_type(hw, HWLOC_OBJ_PU, (unsigned)i);
		hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_CORE, pu);

		topo->cpus[topo->ncpus++] = (struct ergon_cpu){
			.os = os_id(pu),
			.package = os_id(hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_PACKAGE, pu)),
			.die = os_id(hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_DIE, pu)),
			.core = core && cores ? (int)core->logical_index : i,
		};
	}
	if (vendor)
		snprintf(topo->vendor, sizeof(topo->vendor), "%s", vendor);
	topo->family = find_number(hw, "CPUFamilyNumber");
	topo->model = find_number(hw, "CPUModelNumber");
	topo_finish(topo);
	return topo;
}

static void keep_cpu_objects(hwloc_topology_t hw)
{
	static const hwloc_obj_type_t types[] = {
		HWLOC_OBJ_PACKAGE, HWLOC_OBJ_DIE, HWLOC_OBJ_CORE,
	};

	hwloc_topology_set_all_types_filter(hw, HWLOC_TYPE_FILTER_KEEP_NONE);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		hwloc_topology_set_type_filter(hw, types[i], HWLOC_TYPE_FILTER_KEEP_ALL);
	/* A cpuset around this process hides no package from us. */
	hwloc_topology_set_flags(hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
}

/* The fixture's topo.xml as text in memory; NULL + ENOENT when there is none. */
static char *read_xml(const struct ergon_sysroot *sr, int *size)
{
	int fd = ergon_sysroot_open_file(sr, "/topo.xml", O_RDONLY);
	struct stat st;
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size < 1 << 26)
		text = calloc(1, (size_t)st.st_size + 1);
	else
		errno = EINVAL;
	if (text && read(fd, text, (size_t)st.st_size) != st.st_size) {
		free(text);
		text = NULL;
		errno = EIO;
	}
	close(fd);
	*size = text ? (int)st.st_size + 1 : 0;
	return text;
}

/* NULL + err. */
static hwloc_topology_t load(const struct ergon_sysroot *sr, struct ergon_error *err)
{
	hwloc_topology_t hw = NULL;
	int size = 0;
	char *xml = read_xml(sr, &size);

	if (!xml && errno != ENOENT) {
		ergon_error_set(err, "%s/topo.xml: %s", ergon_sysroot_path(sr), strerror(errno));
		return NULL;
	}
	if (hwloc_topology_init(&hw) < 0) {
		ergon_error_set(err, "hwloc: %s", strerror(errno));
		free(xml);
		return NULL;
	}
	keep_cpu_objects(hw);
	if ((xml && hwloc_topology_set_xmlbuffer(hw, xml, size) < 0) ||
	    hwloc_topology_load(hw) < 0 || hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_PU) <= 0) {
		ergon_error_set(err, xml ? "%s/topo.xml: not a topology hwloc can read; "
				"make one with `lstopo --of xml`" :
				"%s: hwloc cannot read this machine's topology",
				ergon_sysroot_path(sr));
		hwloc_topology_destroy(hw);
		hw = NULL;
	}
	free(xml);
	return hw;
}

struct ergon_topo *ergon_topo_load(const struct ergon_sysroot *sr, struct ergon_error *err)
{
	hwloc_topology_t hw = load(sr, err);
	struct ergon_topo *topo;

	if (!hw)
		return NULL;
	topo = convert(hw);
	if (!topo)
		ergon_error_set(err, "out of memory");
	hwloc_topology_destroy(hw);
	return topo;
}

/* Names and numbers of one machine and its owner, as hwloc notes them. */
static bool is_private(const char *line, size_t len)
{
	static const char *const words[] = {
		"\"HostName\"", "Serial\"", "UUID\"", "AssetTag\"", "\"ProcessName\"",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (memmem(line, len, words[i], strlen(words[i])))
			return true;
	return false;
}

char *ergon_topo_export(const struct ergon_sysroot *sr, struct ergon_error *err)
{
	hwloc_topology_t hw = load(sr, err);
	char *xml = NULL, *out = NULL;
	size_t used = 0;
	int size;

	if (!hw)
		return NULL;
	if (hwloc_topology_export_xmlbuffer(hw, &xml, &size, 0) == 0)
		out = malloc((size_t)size + 1);
	for (const char *line = xml, *next; out && *line; line = next) {
		size_t len = strcspn(line, "\n");

		next = line + len + (line[len] == '\n');
		if (is_private(line, len))
			continue;
		memcpy(out + used, line, (size_t)(next - line));
		used += (size_t)(next - line);
	}
	if (out)
		out[used] = '\0';
	else
		ergon_error_set(err, "%s: the topology cannot be exported", ergon_sysroot_path(sr));
	if (xml)
		hwloc_free_xmlbuffer(hw, xml);
	hwloc_topology_destroy(hw);
	return out;
}

/* --- the cache --- */

/* What makes a cache file ours: this root, this boot, these CPUs. */
static int cache_key(const struct ergon_sysroot *sr, char *key, size_t size)
{
	char boot[64], online[4096];
	int len;

	if (ergon_sysroot_access(sr, "/topo.xml", F_OK) == 0 ||
	    ergon_sysroot_read_text(sr, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) < 0 ||
	    ergon_sysroot_read_text(sr, "/sys/devices/system/cpu/online", online, sizeof(online)) < 0)
		return -1;
	len = snprintf(key, size, "%s\nroot %s\nboot %s\nonline %s\n", CACHE_HEADER,
		       ergon_sysroot_path(sr), boot, online);
	return len < 0 || (size_t)len >= size ? -1 : 0;
}

static struct ergon_topo *cache_parse(FILE *in, const char *key)
{
	struct ergon_topo *topo = NULL;
	char line[PATH_MAX + 8192];
	size_t ncpus = 0;
	int family, model;

	while (*key) {
		size_t len = strcspn(key, "\n") + 1;

		if (!fgets(line, sizeof(line), in) || strlen(line) != len ||
		    memcmp(line, key, len) != 0)
			return NULL;
		key += len;
	}
	if (fscanf(in, "cpus %zu family %d model %d vendor", &ncpus, &family, &model) != 3 ||
	    ncpus == 0 || ncpus > CPU_MAX || !fgets(line, sizeof(line), in))
		return NULL;
	topo = topo_new(ncpus);
	if (!topo)
		return NULL;
	topo->family = family;
	topo->model = model;
	line[strcspn(line, "\n")] = '\0';
	snprintf(topo->vendor, sizeof(topo->vendor), "%.31s", line[0] == ' ' ? line + 1 : line);
	for (; topo->ncpus < ncpus; topo->ncpus++) {
		struct ergon_cpu *cpu = &topo->cpus[topo->ncpus];

		if (fscanf(in, "%d %d %d %d\n", &cpu->os, &cpu->package, &cpu->die, &cpu->core) != 4 ||
		    cpu->os < 0 || cpu->core < 0 || cpu->core >= CPU_MAX) {
			ergon_topo_free(topo);
			return NULL;
		}
	}
	topo_finish(topo);
	return topo;
}

static struct ergon_topo *cache_read(const char *cache_file, const char *key)
{
	int fd = open(cache_file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct ergon_topo *topo = NULL;
	struct stat st;
	FILE *in;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) || !(in = fdopen(fd, "r"))) {
		close(fd);
		return NULL;
	}
	topo = cache_parse(in, key);
	fclose(in);
	return topo;
}

static void cache_write(const char *cache_file, const char *key, const struct ergon_topo *topo)
{
	char temp[PATH_MAX];
	bool good;
	FILE *out;
	int fd;

	if (snprintf(temp, sizeof(temp), "%s.XXXXXX", cache_file) >= (int)sizeof(temp))
		return;
	fd = mkostemp(temp, O_CLOEXEC);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		ergon_log(ERGON_LOG_DEBUG, ERGON_LOG_TOPO, "%s: %s; topology is not cached",
			  cache_file, strerror(errno));
		if (fd >= 0) {
			close(fd);
			unlink(temp);
		}
		return;
	}
	fprintf(out, "%scpus %zu family %d model %d vendor %s\n", key, topo->ncpus,
		topo->family, topo->model, topo->vendor);
	for (size_t i = 0; i < topo->ncpus; i++)
		fprintf(out, "%d %d %d %d\n", topo->cpus[i].os, topo->cpus[i].package,
			topo->cpus[i].die, topo->cpus[i].core);
	good = fchmod(fd, 0444) == 0 && !ferror(out);
	if (fclose(out) != 0 || !good || rename(temp, cache_file) < 0)
		unlink(temp);
}

struct ergon_topo *ergon_topo_load_cached(const struct ergon_sysroot *sr, const char *cache_file,
					  struct ergon_error *err)
{
	char key[PATH_MAX + 8192];
	struct ergon_topo *topo;

	if (cache_key(sr, key, sizeof(key)) < 0)
		return ergon_topo_load(sr, err);
	topo = cache_read(cache_file, key);
	if (topo)
		return topo;
	topo = ergon_topo_load(sr, err);
	if (topo)
		cache_write(cache_file, key, topo);
	return topo;
}
