/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fakenode MOUNTPOINT LOG TOPO.XML ZONE...
 *
 * A machine whose RAPL zones and sensors move: a FUSE file system with
 * topo.xml, proc (a link to /proc), /sys/class/powercap, /sys/class/hwmon
 * and /control. A zone is
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
 * An ENTRY "hwmon2" is a sensor of the driver NAME: its energy in 64 bits
 * (energy1_input), or for the driver amdgpu its power (power1_input).
 *
 * The counter is what the kernel computes: raw & 0xffffffff, times unit,
 * truncated to microjoules. The raw count at a time is exact integer
 * arithmetic on CLOCK_MONOTONIC, and every read is a line in LOG:
 *
 *   OPEN ENTRY T_NS RAW LIFE
 *
 * where ENTRY is what the zone was called first, OPEN numbers the open(),
 * T_NS counts from the start and RAW does not wrap; failed reads have RAW
 * "-". LIFE counts how often the counter was set. So the joules between any
 * two reads of one life are known: (RAW2 - RAW1) * UNIT_NJ.
 *
 * A line written to /control changes the machine at once. ENTRY is what the
 * zone was called first, or "all":
 *
 *   gone ENTRY       the zone is unregistered: open files answer ENODEV
 *   back ENTRY [AS]  registered again, as the entry AS
 *   unlink ENTRY     energy_uj cannot be found any more; open files go on
 *   deny ENTRY       energy_uj cannot be opened (EACCES); open files go on
 *   fail ENTRY       reads fail with EIO
 *   freeze ENTRY     the counter stands still
 *   heal ENTRY       ends unlink, deny, fail and freeze
 *   set ENTRY RAW    the counter jumps
 *   hide             no class directory; open files answer ENODEV
 *   show             there it is again
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
#define NODES_MAX 16
#define CONTROL "/control"

enum zone_file { ZONE_DIR, ZONE_NAME, ZONE_ENABLED, ZONE_RANGE, ZONE_ENERGY, ZONE_FILES };

/* NULL: has no such file. */
static const struct zone_class {
	const char *path;
	const char *files[ZONE_FILES];
} powercap = {
	"/sys/class/powercap", { "", "name", "enabled", "max_energy_range_uj", "energy_uj" }
}, hwmon_energy = {
	"/sys/class/hwmon", { "", "name", NULL, NULL, "energy1_input" }
}, hwmon_power = {
	"/sys/class/hwmon", { "", "name", NULL, NULL, "power1_input" }
};

struct zone {
	const struct zone_class *class;
	char entry[64];
	char name[64];
	uint64_t unit_nj;
	uint64_t start;
	uint64_t high_uw, low_uw; /* equal when constant */
	uint64_t period_ns;       /* of the wave, 0: constant */
	uint64_t fail_from_ns, fail_to_ns;
	/* What /control did to it. */
	char now[64];             /* its entry at present */
	bool gone, unlinked, denied, failing;
	uint64_t frozen_at_ns;    /* 0: it runs */
	uint64_t lost_ns;         /* time it stood still */
	int64_t shift;            /* raw counts that "set" added */
	unsigned life;
	uint64_t first_open;      /* older open files are of a zone that was unregistered */
};

enum kind { DIR_NODE, LINK_NODE, TEXT_NODE, CONTROL_NODE };

struct node {
	char path[128];
	enum kind kind;
	const char *text;         /* of a text or link */
};

/* FUSE calls us with paths only. */
static struct zone zones[ZONES_MAX];
static size_t nzones;
static struct node nodes[NODES_MAX];
static size_t nnodes;
static int log_fd = -1;
static uint64_t start_ns, opens;
static bool hidden;

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

static const struct node *find_node(const char *path)
{
	for (size_t i = 0; i < nnodes; i++)
		if (strcmp(nodes[i].path, path) == 0)
			return &nodes[i];
	return NULL;
}

/* The zone and its file that a path names at present; NULL. */
static struct zone *find_zone(const char *path, enum zone_file *file)
{
	for (size_t i = 0; i < nzones && !hidden; i++) {
		struct zone *zone = &zones[i];
		size_t len = strlen(zone->class->path);
		const char *entry = path + len + 1, *slash;

		if (strncmp(path, zone->class->path, len) != 0 || path[len] != '/')
			continue;
		slash = strchrnul(entry, '/');
		if (zone->gone || strlen(zone->now) != (size_t)(slash - entry) ||
		    strncmp(zone->now, entry, strlen(zone->now)) != 0)
			continue;
		for (*file = 0; *file < ZONE_FILES; (*file)++)
			if (zone->class->files[*file] &&
			    strcmp(zone->class->files[*file], *slash ? slash + 1 : "") == 0)
				return zone->unlinked && *file == ZONE_ENERGY ? NULL : zone;
	}
	return NULL;
}

/* --- control --- */

/* The raw count at present. */
static uint64_t zone_raw(const struct zone *zone, uint64_t t_ns)
{
	uint64_t stop = zone->frozen_at_ns ? zone->frozen_at_ns : t_ns;

	return raw_at(zone, stop - zone->lost_ns) + (uint64_t)zone->shift;
}

static void heal(struct zone *zone)
{
	if (zone->frozen_at_ns)
		zone->lost_ns += now_ns() - zone->frozen_at_ns;
	zone->frozen_at_ns = 0;
	zone->unlinked = zone->denied = zone->failing = false;
}

static bool change_zone(struct zone *zone, const char *verb, const char argument[64])
{
	if (strcmp(verb, "gone") == 0) {
		zone->gone = true;
		zone->first_open = opens + 1;
	} else if (strcmp(verb, "back") == 0) {
		zone->gone = false;
		memcpy(zone->now, *argument ? argument : zone->entry, sizeof(zone->now));
	} else if (strcmp(verb, "unlink") == 0) {
		zone->unlinked = true;
	} else if (strcmp(verb, "deny") == 0) {
		zone->denied = true;
	} else if (strcmp(verb, "fail") == 0) {
		zone->failing = true;
	} else if (strcmp(verb, "freeze") == 0) {
		zone->frozen_at_ns = now_ns();
	} else if (strcmp(verb, "heal") == 0) {
		heal(zone);
	} else if (strcmp(verb, "set") == 0 && *argument) {
		zone->shift += (int64_t)(strtoull(argument, NULL, 10) - zone_raw(zone, now_ns()));
		zone->life++;
	} else {
		return false;
	}
	return true;
}

static bool obey(const char *line)
{
	char verb[16] = "", entry[64] = "", argument[64] = "";
	bool known = false;

	sscanf(line, "%15s %63s %63s", verb, entry, argument);
	if (strcmp(verb, "hide") == 0 || strcmp(verb, "show") == 0) {
		hidden = *verb == 'h';
		for (size_t i = 0; i < nzones && hidden; i++)
			zones[i].first_open = opens + 1;
		return true;
	}
	for (size_t i = 0; i < nzones; i++)
		if (strcmp(entry, "all") == 0 || strcmp(entry, zones[i].entry) == 0)
			known = change_zone(&zones[i], verb, argument);
	return known;
}

/* --- FUSE --- */

static bool is_class(const char *path)
{
	return strcmp(path, powercap.path) == 0 || strcmp(path, hwmon_energy.path) == 0;
}

static int fake_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	const struct node *node = find_node(path);
	enum zone_file file;

	(void)fi;
	memset(st, 0, sizeof(*st));
	st->st_nlink = 1;
	if (!node) {
		if (!find_zone(path, &file))
			return -ENOENT;
		st->st_mode = file == ZONE_DIR ? S_IFDIR | 0555 : S_IFREG | 0444;
		if (file == ZONE_ENERGY)
			st->st_mode = S_IFREG | 0400;
		st->st_size = file == ZONE_DIR ? 0 : 4096;
		return 0;
	}
	if (hidden && is_class(path))
		return -ENOENT;
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
	case CONTROL_NODE:
		st->st_mode = S_IFREG | 0200;
		break;
	}
	return 0;
}

static int list_class(const char *path, void *buf, fuse_fill_dir_t fill)
{
	enum zone_file file;
	const struct zone *of = find_zone(path, &file);

	if (of && file == ZONE_DIR) {
		for (size_t f = ZONE_NAME; f < ZONE_FILES; f++)
			if (of->class->files[f] && (f != ZONE_ENERGY || !of->unlinked))
				fill(buf, of->class->files[f], NULL, 0, 0);
		return 0;
	}
	if (hidden || !is_class(path))
		return -ENOENT;
	for (size_t i = 0; i < nzones; i++)
		if (!zones[i].gone && strcmp(path, zones[i].class->path) == 0)
			fill(buf, zones[i].now, NULL, 0, 0);
	return 0;
}

static int fake_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
			struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	size_t len = strcmp(path, "/") == 0 ? 0 : strlen(path);

	(void)offset;
	(void)fi;
	(void)flags;
	if (strncmp(path, "/sys/class/", strlen("/sys/class/")) == 0)
		return list_class(path, buf, fill);
	for (size_t i = 0; i < nnodes; i++) {
		const char *child = nodes[i].path;

		if (strncmp(child, path, len) == 0 && child[len] == '/' && child[len + 1] &&
		    !strchr(child + len + 1, '/') && !(hidden && is_class(child)))
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

/* An open file: what it was opened as, whatever its path names later. */
struct handle {
	uint64_t id;
	const struct node *node;
	struct zone *zone;
	enum zone_file file;
};

static int fake_open(const char *path, struct fuse_file_info *fi)
{
	struct handle h = { 0, find_node(path), NULL, ZONE_DIR };
	struct handle *kept;

	if (!h.node)
		h.zone = find_zone(path, &h.file);
	if (!h.node && !h.zone)
		return -ENOENT;
	if ((fi->flags & O_ACCMODE) != O_RDONLY && !(h.node && h.node->kind == CONTROL_NODE))
		return -EACCES;
	if (h.zone && h.file == ZONE_ENERGY && h.zone->denied)
		return -EACCES;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	h.id = ++opens;
	*kept = h;
	/* Every pread must come to us: a cached counter does not move. */
	fi->direct_io = h.zone != NULL || h.node->kind == CONTROL_NODE;
	fi->fh = (uint64_t)(uintptr_t)kept;
	return 0;
}

static int fake_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	free((void *)(uintptr_t)fi->fh);
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

/* What the file says of a raw count. */
static uint64_t value_of(const struct zone *zone, uint64_t t_ns, uint64_t raw)
{
	if (zone->class == &hwmon_power)
		return zone->period_ns && t_ns % zone->period_ns >= zone->period_ns / 2 ?
		       zone->low_uw : zone->high_uw;
	if (zone->class == &powercap)
		raw &= UINT32_MAX;
	return raw * zone->unit_nj / 1000;
}

static int read_energy(const struct handle *h, char *buf, size_t size, off_t offset)
{
	const struct zone *zone = h->zone;
	uint64_t t_ns = now_ns(), raw = zone_raw(zone, t_ns);
	bool dead = h->id < zone->first_open;
	char text[32];

	if (dead || zone->failing || (t_ns >= zone->fail_from_ns && t_ns < zone->fail_to_ns)) {
		dprintf(log_fd, "%" PRIu64 " %s %" PRIu64 " - %u\n", h->id, zone->entry, t_ns, zone->life);
		return dead ? -ENODEV : -EIO;
	}
	if (offset == 0)
		dprintf(log_fd, "%" PRIu64 " %s %" PRIu64 " %" PRIu64 " %u\n", h->id, zone->entry,
			t_ns, raw, zone->life);
	snprintf(text, sizeof(text), "%" PRIu64 "\n", value_of(zone, t_ns, raw));
	return give(text, buf, size, offset);
}

static int fake_read(const char *path, char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
	const struct handle *h = (const struct handle *)(uintptr_t)fi->fh;
	char text[80];

	(void)path;
	if (h->node)
		return h->node->kind == TEXT_NODE ? give(h->node->text, buf, size, offset) : -EINVAL;
	switch (h->file) {
	case ZONE_NAME:
		snprintf(text, sizeof(text), "%s\n", h->zone->name);
		return give(text, buf, size, offset);
	case ZONE_ENABLED:
		return give("1\n", buf, size, offset);
	case ZONE_RANGE:
		snprintf(text, sizeof(text), "%" PRIu64 "\n", UINT32_MAX * h->zone->unit_nj / 1000);
		return give(text, buf, size, offset);
	default:
		return read_energy(h, buf, size, offset);
	}
}

static int fake_write(const char *path, const char *buf, size_t size, off_t offset,
		      struct fuse_file_info *fi)
{
	char text[1024], *rest = text, *line;

	(void)path;
	(void)offset;
	(void)fi;
	if (size >= sizeof(text))
		return -EFBIG;
	memcpy(text, buf, size);
	text[size] = '\0';
	while ((line = strsep(&rest, "\n")))
		if (*line && !obey(line))
			return -EINVAL;
	return (int)size;
}

static int fake_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	(void)fi;
	return size == 0 && strcmp(path, CONTROL) == 0 ? 0 : -EACCES;
}

/* What is removed is gone at once. */
static void *fake_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	config->entry_timeout = 0;
	config->attr_timeout = 0;
	config->negative_timeout = 0;
	return NULL;
}

static const struct fuse_operations operations = {
	.init = fake_init,
	.getattr = fake_getattr,
	.readdir = fake_readdir,
	.readlink = fake_readlink,
	.open = fake_open,
	.release = fake_release,
	.read = fake_read,
	.write = fake_write,
	.truncate = fake_truncate,
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

	strcpy(zone->now, zone->entry);
	zone->class = &powercap;
	if (strncmp(zone->entry, "hwmon", 5) == 0)
		zone->class = strcmp(zone->name, "amdgpu") == 0 ? &hwmon_power : &hwmon_energy;
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
	const char *const dirs[] = {
		"/", "/sys", "/sys/class", powercap.path, hwmon_energy.path,
	};

	if (argc < 5) {
		fprintf(stderr, "usage: fakenode MOUNTPOINT LOG TOPO.XML ZONE...\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		add_node(dirs[i], DIR_NODE);
	add_node(CONTROL, CONTROL_NODE);
	add_node("/proc", LINK_NODE)->text = "/proc";
	add_text("", "topo.xml", slurp(argv[3]));
	for (int i = 4; i < argc; i++) {
		if (nzones == ZONES_MAX || !parse_zone(argv[i], &zones[nzones])) {
			fprintf(stderr, "fakenode: %s: not a zone\n", argv[i]);
			return 2;
		}
		nzones++;
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
