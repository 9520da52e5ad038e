/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `ergon gather`: a machine's energy sources as a directory, so that
 * ERGON_SYSROOT=DIR answers as the machine does: the way to report a bug.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend.h"
#include "commands.h"
#include "config.h"
#include "environ.h"
#include "msr.h"
#include "sysroot.h"
#include "topo.h"

/* No text of sysfs is longer; /proc/cpuinfo of a large node is. */
#define FILE_MAX (1 << 20)
#define GATHER_VERSION 1

static const char help[] =
"usage: ergon gather DIR\n"
"\n"
"Copies what Ergon reads of this machine into DIR, which must be new or empty:\n"
"names, ranges and values of energy counters and sensors, the CPU topology.\n"
"Host name, serial numbers and UUIDs of the machine are left out, those of its\n"
"GPUs are not. Pack DIR for a bug report with: tar -C DIR -czSf machine.tar.gz .\n"
"\n"
"ERGON_SYSROOT=DIR ergon list then answers as this machine does, except for\n"
"what only the machine itself can do: perf events, GPU libraries, BMCs, and the\n"
"registers of AMD CPUs, whose bytes overlap in a file.\n"
"DIR/gather.json says what could not be read and what the registers read,\n"
"DIR/list.json what the machine answered. Run it with the rights with which the\n"
"trouble shows.\n"
"\n"
"  -h, --help  print this\n"
"\n"
"Exit status: 0 done, 1 failed, 2 wrong usage.\n";

enum action {
	COPY,                     /* a file's text */
	LINK,                     /* a symbolic link, as one to a directory of the same last name */
	REGISTERS,                /* of an MSR device: the energy registers, at their places */
	TOUCH,                    /* an empty file: that it is there matters */
};

/* What backends look at; '*' and '[...]' as in a shell. Links come before what lies behind them. */
static const struct rule {
	enum action action;
	const char *pattern;
} rules[] = {
	{ COPY, "/proc/stat" },
	{ COPY, "/proc/cpuinfo" },
	{ COPY, "/proc/sys/kernel/perf_event_paranoid" },
	{ COPY, "/proc/sys/kernel/osrelease" },
	{ COPY, "/sys/kernel/security/lockdown" },
	{ COPY, "/sys/devices/system/cpu/online" },
	{ COPY, "/sys/devices/system/cpu/offline" },
	{ COPY, "/sys/devices/system/cpu/possible" },
	{ COPY, "/sys/devices/system/cpu/present" },
	{ COPY, "/sys/devices/system/node/node*/cpulist" },
	{ COPY, "/sys/devices/system/cpu/cpufreq/policy*/*" },
	{ COPY, "/sys/devices/system/cpu/cpu*/cpufreq/*" },
	{ COPY, "/sys/class/powercap/*/*" },
	{ COPY, "/sys/bus/event_source/devices/power*/*" },
	{ COPY, "/sys/bus/event_source/devices/power*/events/*" },
	{ COPY, "/sys/bus/event_source/devices/power*/format/*" },
	{ COPY, "/sys/bus/event_source/devices/msr/type" },
	{ LINK, "/sys/class/hwmon/*/device" },
	{ COPY, "/sys/class/hwmon/*/name" },
	{ COPY, "/sys/class/hwmon/*/*_*" },
	{ COPY, "/sys/class/hwmon/*/device/name" },
	{ COPY, "/sys/class/hwmon/*/device/*[0-9]_*" },
	{ COPY, "/sys/class/hwmon/*/device/numa_node" },
	{ COPY, "/sys/cray/pm_counters/*" },
	{ COPY, "/proc/driver/nvidia/gpus/*/information" },
	{ COPY, "/sys/bus/pci/drivers/amdgpu/*:*/vendor" },
	{ COPY, "/sys/bus/pci/drivers/amdgpu/*:*/device" },
	{ COPY, "/sys/bus/pci/drivers/amdgpu/*:*/hwmon/*/power1_*" },
	{ COPY, "/sys/bus/pci/drivers/amdgpu/*:*/hwmon/*/in1_label" },
	{ REGISTERS, "/dev/cpu/*/msr" },
	{ REGISTERS, "/dev/cpu/*/msr_safe" },
	{ TOUCH, "/dev/nvidiactl" },
	{ TOUCH, "/dev/nvidia[0-9]*" },
	{ TOUCH, "/dev/kfd" },
	{ TOUCH, "/dev/ipmi0" },
	{ TOUCH, "/dev/ipmi/0" },
	{ TOUCH, "/dev/ipmidev/0" },
};

struct gather {
	const struct ergon_sysroot *sysroot;
	const char *dir;
	const struct ergon_msr_cpu *cpu; /* NULL: its registers are not known */
	json_t *unread;           /* [{path, why}] */
	json_t *registers;        /* [{path, register, value}] */
	long files;
	bool failed;              /* DIR could not be written; said */
};

static void complain(struct gather *g, const char *path)
{
	fprintf(stderr, "ergon gather: %s%s: %s\n", g->dir, path, strerror(errno));
	g->failed = true;
}

static void note(struct gather *g, const char *path, int error)
{
	char printable[PATH_MAX];

	snprintf(printable, sizeof(printable), "%s", path);
	ergon_make_printable(printable);
	json_array_append_new(g->unread, json_pack("{s:s, s:s}", "path", printable,
						   "why", strerror(error)));
}

/* Where path goes in DIR, its directories made. */
static const char *place(struct gather *g, const char *path, char target[PATH_MAX])
{
	int n = snprintf(target, PATH_MAX, "%s%s", g->dir, path);

	if (n < 0 || n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		complain(g, path);
		return NULL;
	}
	for (char *p = target + strlen(g->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(target, 0755) < 0 && errno != EEXIST) {
			complain(g, path);
			return NULL;
		}
		*p = '/';
	}
	return target;
}

static void write_file(struct gather *g, const char *path, const char *text, size_t size,
		       mode_t mode)
{
	char target[PATH_MAX];
	int fd;

	if (!place(g, path, target))
		return;
	fd = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	errno = fd < 0 ? errno : ENOSPC; /* a write that is cut leaves it alone */
	if (fd < 0 || write(fd, text, size) != (ssize_t)size || fchmod(fd, mode) < 0)
		complain(g, path);
	else
		g->files++;
	if (fd >= 0)
		close(fd);
}

/* A file that may not be read becomes one that nobody may read. */
static int open_source(struct gather *g, const char *path)
{
	int fd = ergon_sysroot_open_file(g->sysroot, path, O_RDONLY | O_NONBLOCK);
	int error = errno;

	if (fd >= 0)
		return fd;
	note(g, path, error);
	if (error == EACCES || error == EPERM)
		write_file(g, path, "", 0, 0);
	return -1;
}

static void copy(struct gather *g, const char *path)
{
	int fd = open_source(g, path);
	struct stat st;
	char *text;
	size_t size = 0;
	ssize_t n = -1;

	if (fd < 0)
		return;
	text = malloc(FILE_MAX);
	if (text && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		while (size < FILE_MAX && (n = read(fd, text + size, FILE_MAX - size)) > 0)
			size += (size_t)n;
		if (n < 0)
			note(g, path, errno);
		else
			write_file(g, path, text, size, 0644);
	}
	free(text);
	close(fd);
}

static void tell_register(struct gather *g, const char *path, uint32_t address, uint64_t value)
{
	char where[16], what[24];

	snprintf(where, sizeof(where), "0x%x", address);
	snprintf(what, sizeof(what), "0x%llx", (unsigned long long)le64toh(value));
	json_array_append_new(g->registers, json_pack("{s:s, s:s, s:s}", "path", path,
						      "register", where, "value", what));
}

/*
 * The copy is as long as the highest register's address, and nearly all hole.
 * AMD's registers have consecutive addresses: in a file each 8 bytes lie
 * over 7 of the one before. What they really read is in gather.json.
 */
static void copy_registers(struct gather *g, const char *path)
{
	int from = open_source(g, path), to = -1;
	char target[PATH_MAX];

	if (from < 0)
		return;
	write_file(g, path, "", 0, 0644);
	if (g->cpu && place(g, path, target))
		to = open(target, O_WRONLY | O_CLOEXEC);
	for (int d = -1; to >= 0 && d < ERGON_DOMAIN_COUNT; d++) {
		uint32_t address = d < 0 ? g->cpu->registers->unit : g->cpu->registers->energy[d];
		uint64_t value;

		if (!address || pread(from, &value, sizeof(value), address) != sizeof(value))
			continue;
		tell_register(g, path, address, value);
		if (pwrite(to, &value, sizeof(value), address) != sizeof(value))
			complain(g, path);
	}
	if (to >= 0)
		close(to);
	close(from);
}

/* hwmon2/device -> ../../../0000:41:00.0: its last name is the sensor's identity. */
static void copy_link(struct gather *g, const char *path)
{
	char to[PATH_MAX], target[PATH_MAX], where[PATH_MAX];
	const char *last;

	if (ergon_sysroot_read_link(g->sysroot, path, to, sizeof(to)) < 0)
		return;
	last = strrchr(to, '/') ? strrchr(to, '/') + 1 : to;
	snprintf(where, sizeof(where), "/sys/devices/gathered/%.200s/", last);
	if (!place(g, where, target) || !place(g, path, target))
		return;
	snprintf(where, sizeof(where), "../../../devices/gathered/%.200s", last);
	if (symlink(where, target) < 0)
		complain(g, path);
}

static void act(struct gather *g, enum action action, const char *path)
{
	/* A link may point nowhere and still tell a name. */
	if (action == LINK)
		copy_link(g, path);
	else if (ergon_sysroot_access(g->sysroot, path, F_OK) < 0)
		return;
	else if (action == COPY)
		copy(g, path);
	else if (action == REGISTERS)
		copy_registers(g, path);
	else
		write_file(g, path, "", 0, 0644);
}

/* That a directory is there, though empty, may be all there is to see: a masked powercap zone. */
static void keep_directory(struct gather *g, const char *path)
{
	int fd = ergon_sysroot_open_file(g->sysroot, path, O_RDONLY | O_DIRECTORY);
	char where[PATH_MAX], target[PATH_MAX];

	if (fd < 0)
		return;
	close(fd);
	snprintf(where, sizeof(where), "%.4000s/", path);
	place(g, where, target);
}

/* path: what of the pattern stands fixed; rest: what is still to be matched. */
static void expand(struct gather *g, enum action action, const char *path, const char *rest)
{
	size_t len = strcspn(rest, "/");
	char part[NAME_MAX + 1], next[PATH_MAX];
	char **names;

	snprintf(part, sizeof(part), "%.*s", (int)len, rest);
	rest += len + (rest[len] == '/');
	if (!strpbrk(part, "*[")) {
		snprintf(next, sizeof(next), "%s/%s", path, part);
		if (*rest)
			expand(g, action, next, rest);
		else
			act(g, action, next);
		return;
	}
	if (ergon_sysroot_list(g->sysroot, *path ? path : "/", &names) < 0)
		return;
	for (size_t i = 0; names[i] && !g->failed; i++) {
		if (fnmatch(part, names[i], FNM_PERIOD) != 0)
			continue;
		snprintf(next, sizeof(next), "%s/%s", path, names[i]);
		if (!*rest) {
			act(g, action, next);
			continue;
		}
		keep_directory(g, next);
		expand(g, action, next, rest);
	}
	ergon_sysroot_free_list(names);
}

static void gather_topology(struct gather *g)
{
	struct ergon_error err;
	struct ergon_topo *topo = ergon_topo_load(g->sysroot, &err);
	char *xml = topo ? ergon_topo_export(g->sysroot, &err) : NULL;

	if (topo)
		g->cpu = ergon_msr_cpu_find(topo->vendor, topo->family, topo->model);
	ergon_topo_free(topo);
	if (!xml) {
		fprintf(stderr, "ergon gather: %s\n", err.text);
		g->failed = true;
		return;
	}
	write_file(g, "/topo.xml", xml, strlen(xml), 0644);
	free(xml);
}

/* What `ergon list --json` says there, into DIR/name. True when it could be asked. */
static bool ask_list(struct gather *g, const char *sysroot, const char *name)
{
	char target[PATH_MAX];
	int status;
	pid_t pid;

	if (!place(g, name, target))
		return false;
	pid = fork();
	if (pid == 0) {
		int fd = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		int null = open("/dev/null", O_WRONLY);

		if (fd < 0 || null < 0 || dup2(fd, 1) < 0 || dup2(null, 2) < 0 ||
		    setenv(ergon_env_name(ERGON_ENV_SYSROOT), sysroot, 1) < 0)
			_exit(127);
		execl("/proc/self/exe", "ergon", "list", "--json", (char *)NULL);
		_exit(127);
	}
	/* 1: nothing can be measured, which is an answer, too. */
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) <= 1;
}

/* True when the directory answers as the machine. */
static bool answers_alike(struct gather *g)
{
	char a[PATH_MAX], b[PATH_MAX];
	json_t *machine, *copied;
	bool same;

	if (!ask_list(g, ergon_sysroot_path(g->sysroot), "/list.json") ||
	    !ask_list(g, g->dir, "/list-copy.json") || !place(g, "/list.json", a) ||
	    !place(g, "/list-copy.json", b))
		return false;
	machine = json_load_file(a, 0, NULL);
	copied = json_load_file(b, 0, NULL);
	same = machine && copied && json_equal(machine, copied);
	json_decref(machine);
	json_decref(copied);
	if (same)
		unlink(b);
	return same;
}

static void write_report(struct gather *g, bool alike)
{
	json_t *root = json_pack("{s:i, s:s, s:b, s:O, s:O}", "v", GATHER_VERSION, "ergon",
				 PACKAGE_VERSION, "answers_alike", alike, "unread", g->unread,
				 "registers", g->registers);
	char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;

	if (text)
		write_file(g, "/gather.json", text, strlen(text), 0644);
	free(text);
	json_decref(root);
}

/* Whoever else may write there could lead root's writing elsewhere by a symbolic link. */
static bool is_ours_alone(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & S_IWOTH);
}

/* DIR is new, or empty and ours. */
static bool claim(const char *dir)
{
	struct ergon_error err;
	struct ergon_sysroot *sr;
	char **names;
	ssize_t n;

	if (mkdir(dir, 0755) == 0)
		return true;
	if (errno != EEXIST) {
		fprintf(stderr, "ergon gather: %s: %s\n", dir, strerror(errno));
		return false;
	}
	sr = ergon_sysroot_open(dir, &err);
	n = sr ? ergon_sysroot_list(sr, "/", &names) : -1;
	if (n >= 0)
		ergon_sysroot_free_list(names);
	ergon_sysroot_close(sr);
	if (n != 0)
		fprintf(stderr, "ergon gather: %s: exists and is not an empty directory; name a new one\n",
			dir);
	if (n != 0 || is_ours_alone(dir))
		return n == 0;
	fprintf(stderr, "ergon gather: %s: others may write to it; name a new directory\n", dir);
	return false;
}

static int gather(const char *dir)
{
	struct gather g = { .dir = dir, .unread = json_array(), .registers = json_array() };
	struct ergon_error err;
	struct ergon_sysroot *sr = ergon_sysroot_open(ergon_env_get(ERGON_ENV_SYSROOT), &err);
	bool alike;

	g.sysroot = sr;
	if (!sr || !g.unread || !g.registers || !claim(dir)) {
		if (!sr)
			fprintf(stderr, "ergon gather: %s\n", err.text);
		ergon_sysroot_close(sr);
		json_decref(g.unread);
		json_decref(g.registers);
		return ERGON_EXIT_FAILURE;
	}
	gather_topology(&g);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !g.failed; i++)
		expand(&g, rules[i].action, "", rules[i].pattern + 1);
	if (!g.failed) {
		alike = answers_alike(&g);
		write_report(&g, alike);
		fprintf(stderr, "ergon gather: %ld files in %s, %zu could not be read; it answers %s\n",
			g.files, dir, json_array_size(g.unread), alike ? "as this machine does" :
			"differently: compare list.json and list-copy.json there");
	}
	ergon_sysroot_close(sr);
	json_decref(g.unread);
	json_decref(g.registers);
	return g.failed ? ERGON_EXIT_FAILURE : ERGON_EXIT_OK;
}

int ergon_cmd_gather(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return ERGON_EXIT_OK;
		}
		fprintf(stderr, "`ergon gather --help` explains the options\n");
		return ERGON_EXIT_USAGE;
	}
	if (optind != argc - 1) {
		fprintf(stderr, "ergon gather: name one directory; see `ergon gather --help`\n");
		return ERGON_EXIT_USAGE;
	}
	return gather(argv[optind]);
}
