/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fakenode MOUNTPOINT LOG TOPO.XML ZONE...
 *
 * A machine whose RAPL zones move: a FUSE file system with topo.xml, proc
 * (a link to /proc) and /sys/class/powercap. A zone is
 *
 *   ENTRY,NAME,UNIT_NJ,START,POWER[,FAIL]
 *
 *   ENTRY    intel-rapl:0:1
 *   NAME     package-0
 *   UNIT_NJ  nanojoules per raw count (61035 is 2^-14 J as the kernel has it)
 *   START    raw counts at the start; the raw counter is 32 bits wide
 *   POWER    microwatts, or HIGH/LOW/PERIOD_MS: a square wave, high first
 *   FAIL     FROM-TO: reads fail with EIO between these ms after the start
 *
 * The counter is what the kernel computes: raw & 0xffffffff, times unit,
 * truncated to microjoules. The raw count at a time is exact integer
 * arithmetic on CLOCK_MONOTONIC, and every read is a line in LOG:
 *
 *   OPEN ENTRY T_NS RAW
 *
 * where OPEN numbers the open(), T_NS counts from the start and RAW does
 * not wrap; failed reads have RAW "-". So the joules between any two reads
 * are known: (RAW2 - RAW1) * UNIT_NJ.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ZONES_MAX 32
#define NODES_MAX (ZONES_MAX * 5 + 16)
#define CLASS "/sys/class/powercap"

struct zone {
	char entry[64];
	char name[64];
	uint64_t unit_nj;
	uint64_t start;
	uint64_t high_uw, low_uw; /* equal when constant */
	uint64_t period_ns;       /* of the wave, 0: constant */
	uint64_t fail_from_ns, fail_to_ns;
};

enum kind { DIR_NODE, LINK_NODE, TEXT_NODE, ENERGY_NODE };

struct node {
	char path[128];
	enum kind kind;
	const char *text;         /* of a text or link */
	const struct zone *zone;
};

/* FUSE calls us with paths only. */
static struct zone zones[ZONES_MAX];
static size_t nzones;
static struct node nodes[NODES_MAX];
static size_t nnodes;
static int log_fd = -1;
static uint64_t start_ns, opens;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - start_ns;
}

/* Raw counts since time 0, without wrap. Power times time is in femtojoules. */
static uint64_t raw_at(const struct zone *zone, uint64_t t_ns)
{
	unsigned __int128 fj;

	if (zone->period_ns == 0) {
		fj = (unsigned __int128)zone->high_uw * t_ns;
	} else {
		uint64_t half = zone->period_ns / 2;
		uint64_t periods = t_ns / zone->period_ns, rest = t_ns % zone->period_ns;
		uint64_t high = periods * half + (rest < half ? rest : half);

		fj = (unsigned __int128)zone->high_uw * high +
		     (unsigned __int128)zone->low_uw * (t_ns - high);
	}
	return zone->start + (uint64_t)(fj / ((unsigned __int128)zone->unit_nj * 1000000u));
}

/* --- the tree --- */

static struct node *add_node(const char *path, enum kind kind)
{
	struct node *node = &nodes[nnodes++];

	if (nnodes == NODES_MAX || strlen(path) >= sizeof(node->path)) {
		fprintf(stderr, "fakenode: too many or too long paths\n");
		exit(2);
	}
	strcpy(node->path, path);
	node->kind = kind;
	return node;
}

static void add_text(const char *dir, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	add_node(path, TEXT_NODE)->text = text;
}

static char *numbered_line(uint64_t value)
{
	char *text = malloc(32);

	if (!text)
		exit(2);
	snprintf(text, 32, "%" PRIu64 "\n", value);
	return text;
}

static void add_zone_nodes(const struct zone *zone)
{
	char dir[128], path[256], *name = malloc(sizeof(zone->name) + 1);

	if (!name)
		exit(2);
	sprintf(name, "%s\n", zone->name);
	snprintf(dir, sizeof(dir), CLASS "/%s", zone->entry);
	add_node(dir, DIR_NODE);
	add_text(dir, "name", name);
	add_text(dir, "enabled", "1\n");
	add_text(dir, "max_energy_range_uj", numbered_line(UINT32_MAX * zone->unit_nj / 1000));
	snprintf(path, sizeof(path), "%s/energy_uj", dir);
	add_node(path, ENERGY_NODE)->zone = zone;
}

static const struct node *find_node(const char *path)
{
	for (size_t i = 0; i < nnodes; i++)
		if (strcmp(nodes[i].path, path) == 0)
			return &nodes[i];
	return NULL;
}

/* --- FUSE --- */

static int fake_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	const struct node *node = find_node(path);

	(void)fi;
	memset(st, 0, sizeof(*st));
	if (!node)
		return -ENOENT;
	st->st_nlink = 1;
	switch (node->kind) {
	case DIR_NODE:
		st->st_mode = S_IFDIR | 0555;
		break;
	case LINK_NODE:
		st->st_mode = S_IFLNK | 0777;
		break;
	case TEXT_NODE:
		st->st_mode = S_IFREG | 0444;
		st->st_size = (off_t)strlen(node->text);
		break;
	case ENERGY_NODE:
		st->st_mode = S_IFREG | 0400;
		st->st_size = 4096;
		break;
	}
	return 0;
}

static int fake_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
			struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	size_t len = strcmp(path, "/") == 0 ? 0 : strlen(path);

	(void)offset;
	(void)fi;
	(void)flags;
	for (size_t i = 0; i < nnodes; i++) {
		const char *child = nodes[i].path;

		if (strncmp(child, path, len) == 0 && child[len] == '/' && child[len + 1] &&
		    !strchr(child + len + 1, '/'))
			fill(buf, child + len + 1, NULL, 0, 0);
	}
	return 0;
}

static int fake_readlink(const char *path, char *buf, size_t size)
{
	const struct node *node = find_node(path);

	if (!node || node->kind != LINK_NODE)
		return -EINVAL;
	snprintf(buf, size, "%s", node->text);
	return 0;
}

static int fake_open(const char *path, struct fuse_file_info *fi)
{
	const struct node *node = find_node(path);

	if (!node)
		return -ENOENT;
	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		return -EACCES;
	/* Every pread must come to us: a cached counter does not move. */
	fi->direct_io = node->kind == ENERGY_NODE;
	fi->fh = ++opens;
	return 0;
}

static int give(const char *text, char *buf, size_t size, off_t offset)
{
	size_t len = strlen(text), from = (size_t)offset < len ? (size_t)offset : len;

	if (size > len - from)
		size = len - from;
	memcpy(buf, text + from, size);
	return (int)size;
}

static int read_energy(const struct zone *zone, uint64_t open_id, char *buf, size_t size, off_t offset)
{
	uint64_t t_ns = now_ns(), raw = raw_at(zone, t_ns);
	char text[32];

	if (t_ns >= zone->fail_from_ns && t_ns < zone->fail_to_ns) {
		dprintf(log_fd, "%" PRIu64 " %s %" PRIu64 " -\n", open_id, zone->entry, t_ns);
		return -EIO;
	}
	if (offset == 0)
		dprintf(log_fd, "%" PRIu64 " %s %" PRIu64 " %" PRIu64 "\n", open_id, zone->entry,
			t_ns, raw);
	snprintf(text, sizeof(text), "%" PRIu64 "\n", (raw & UINT32_MAX) * zone->unit_nj / 1000);
	return give(text, buf, size, offset);
}

static int fake_read(const char *path, char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
	const struct node *node = find_node(path);

	if (!node)
		return -ENOENT;
	if (node->kind == ENERGY_NODE)
		return read_energy(node->zone, fi->fh, buf, size, offset);
	return give(node->text, buf, size, offset);
}

static const struct fuse_operations operations = {
	.getattr = fake_getattr,
	.readdir = fake_readdir,
	.readlink = fake_readlink,
	.open = fake_open,
	.read = fake_read,
};

/* --- arguments --- */

static bool parse_power(const char *text, struct zone *zone)
{
	uint64_t period_ms;
	int end = 0;

	if (sscanf(text, "%" SCNu64 "/%" SCNu64 "/%" SCNu64 "%n", &zone->high_uw, &zone->low_uw,
		   &period_ms, &end) == 3) {
		zone->period_ns = period_ms * 1000000u;
	} else if (sscanf(text, "%" SCNu64 "%n", &zone->high_uw, &end) == 1) {
		zone->low_uw = zone->high_uw;
	}
	return end > 0 && text[end] == '\0';
}

static bool parse_fail(const char *text, struct zone *zone)
{
	uint64_t from_ms, to_ms;
	int end = 0;

	if (sscanf(text, "%" SCNu64 "-%" SCNu64 "%n", &from_ms, &to_ms, &end) != 2 || text[end])
		return false;
	zone->fail_from_ns = from_ms * 1000000u;
	zone->fail_to_ns = to_ms * 1000000u;
	return true;
}

static bool parse_zone(const char *text, struct zone *zone)
{
	char power[64] = "", failure[64] = "";
	int n = sscanf(text, "%63[^,],%63[^,],%" SCNu64 ",%" SCNu64 ",%63[^,],%63[^,]", zone->entry,
		       zone->name, &zone->unit_nj, &zone->start, power, failure);

	return n >= 5 && zone->unit_nj > 0 && zone->unit_nj <= 4000000000u &&
	       parse_power(power, zone) && (n == 5 || parse_fail(failure, zone));
}

static char *slurp(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	if (!in || !text || fread(text, 1, (1 << 20) - 1, in) == 0) {
		fprintf(stderr, "fakenode: %s: cannot be read\n", path);
		exit(2);
	}
	fclose(in);
	return text;
}

int main(int argc, char **argv)
{
	/* Foreground, one thread: reads are answered, and logged, in order. */
	char *fuse_argv[] = { argv[0], (char *)"-f", (char *)"-s", NULL, NULL };
	static const char *const dirs[] = { "/", "/sys", "/sys/class", CLASS };

	if (argc < 5) {
		fprintf(stderr, "usage: fakenode MOUNTPOINT LOG TOPO.XML ZONE...\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		add_node(dirs[i], DIR_NODE);
	add_node("/proc", LINK_NODE)->text = "/proc";
	add_text("", "topo.xml", slurp(argv[3]));
	for (int i = 4; i < argc; i++) {
		if (nzones == ZONES_MAX || !parse_zone(argv[i], &zones[nzones])) {
			fprintf(stderr, "fakenode: %s: not a zone\n", argv[i]);
			return 2;
		}
		add_zone_nodes(&zones[nzones++]);
	}
	log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (log_fd < 0) {
		perror(argv[2]);
		return 2;
	}
	start_ns = now_ns();
	fuse_argv[3] = argv[1];
	return fuse_main(4, fuse_argv, &operations, NULL);
}
