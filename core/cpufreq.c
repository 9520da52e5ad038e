/* SPDX-License-Identifier: BSD-3-Clause */
#include "cpufreq.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "clock.h"

#define CPU_DIR "/sys/devices/system/cpu"
#define POLICY_DIR CPU_DIR "/cpufreq"

/* Descriptors kept open at most; the usual limit of a process is 1024. */
#define MAX_POLICIES 256

/* The allowance: ns per second, and what may be saved up. */
#define CPU_NS_PER_S 5000000
#define WALL_NS_PER_S 50000000

/* In order of preference. */
static const char *const files[] = { "cpuinfo_avg_freq", "cpuinfo_cur_freq", "scaling_cur_freq" };

#define NFILES (sizeof(files) / sizeof(files[0]))
#define NO_FILE NFILES

enum state { UNTRIED, READABLE, OFFLINE, DEAD };

struct policy {
	int number;               /* of the policy, or of the CPU where there are no policies */
	enum state state;
	size_t file;              /* position in files[] */
	int fd;                   /* -1: to be opened again */
	unsigned cpus;            /* online */
	int64_t khz;              /* newest; 0: none */
};

struct ergon_cpufreq {
	const struct ergon_sysroot *sr;
	uid_t owner;
	bool per_cpu;             /* CPU_DIR/cpuN/cpufreq instead of POLICY_DIR/policyN */
	size_t found;             /* policies of the machine */
	size_t n, next;           /* those read; where the next round goes on */
	int64_t cpu_ns, wall_ns;  /* allowance left; negative: debt */
	uint64_t round_ns;        /* start of the last round; 0: none yet */
	struct ergon_error why;   /* first failure */
	struct policy policies[];
};

static void path_of(const struct ergon_cpufreq *cf, const struct policy *p, const char *file,
		    char *path, size_t size)
{
	snprintf(path, size, cf->per_cpu ? CPU_DIR "/cpu%d/cpufreq/%s" : POLICY_DIR "/policy%d/%s",
		 p->number, file);
}

/* --- finding --- */

/* N of "PREFIXn"; -1 when it is something else. */
static int number_of(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);
	uint64_t value;

	return strncmp(name, prefix, len) == 0 && ergon_parse_u64(name + len, &value) == 0 &&
	       value <= INT_MAX ? (int)value : -1;
}

/* Numbers of the entries "PREFIXn" of a directory that have `below` in them; malloc'ed. */
static size_t list_numbers(const struct ergon_sysroot *sr, const char *dir, const char *prefix,
			   const char *below, int **numbers)
{
	char **names, path[PATH_MAX];
	ssize_t n = ergon_sysroot_list(sr, dir, &names);
	size_t found = 0;

	*numbers = n > 0 ? calloc((size_t)n, sizeof(**numbers)) : NULL;
	for (ssize_t i = 0; *numbers && i < n; i++) {
		int number = number_of(names[i], prefix);

		snprintf(path, sizeof(path), "%s/%s/%s", dir, names[i], below);
		if (number >= 0 && ergon_sysroot_access(sr, path, F_OK) == 0)
			(*numbers)[found++] = number;
	}
	if (n >= 0)
		ergon_sysroot_free_list(names);
	return found;
}

struct ergon_cpufreq *ergon_cpufreq_open(const struct ergon_sysroot *sr, uid_t owner,
					 struct ergon_error *err)
{
	bool per_cpu = false;
	int *numbers;
	size_t found = list_numbers(sr, POLICY_DIR, "policy", "", &numbers), n;
	struct ergon_cpufreq *cf;

	if (found == 0) {
		free(numbers);
		per_cpu = true;
		found = list_numbers(sr, CPU_DIR, "cpu", "cpufreq", &numbers);
	}
	n = found < MAX_POLICIES ? found : MAX_POLICIES;
	cf = found ? calloc(1, sizeof(*cf) + n * sizeof(cf->policies[0])) : NULL;
	if (!cf) {
		ergon_error_set(err, found ? "out of memory" : "no cpufreq policy: no driver, or a "
				"hypervisor or firmware sets the clock rate");
		free(numbers);
		return NULL;
	}
	*cf = (struct ergon_cpufreq){
		.sr = sr, .owner = owner, .per_cpu = per_cpu, .found = found, .n = n,
		.cpu_ns = CPU_NS_PER_S, .wall_ns = WALL_NS_PER_S,
	};
	for (size_t i = 0; i < n; i++)
		cf->policies[i] = (struct policy){
			.number = numbers[i * found / n], .file = NO_FILE, .fd = -1,
		};
	free(numbers);
	return cf;
}

void ergon_cpufreq_close(struct ergon_cpufreq *cf)
{
	int saved = errno;

	for (size_t i = 0; cf && i < cf->n; i++)
		if (cf->policies[i].fd >= 0)
			close(cf->policies[i].fd);
	free(cf);
	errno = saved;
}

/* --- one policy --- */

/* Keep the first reason. */
static void blame(struct ergon_cpufreq *cf, const struct policy *p, const char *file, const char *why)
{
	char path[PATH_MAX];

	if (*cf->why.text)
		return;
	path_of(cf, p, file, path, sizeof(path));
	ergon_error_set(&cf->why, "%s: %s", path, why);
}

/* How many CPUs the policy has online, and the lowest. False: they are not told. */
static bool online_cpus(const struct ergon_cpufreq *cf, const struct policy *p, unsigned *cpus,
			int *lowest)
{
	char path[PATH_MAX], text[8192], *rest = text, *word;

	path_of(cf, p, "affected_cpus", path, sizeof(path));
	if (ergon_sysroot_read_text(cf->sr, path, text, sizeof(text)) < 0)
		return false;
	*cpus = 0;
	while ((word = strsep(&rest, " "))) {
		int cpu = number_of(word, "");

		if (cpu >= 0 && (*cpus)++ == 0)
			*lowest = cpu;
	}
	return true;
}

/* With the owner's rights: a host may have lowered the process's uid beneath us. */
static int open_file(const struct ergon_cpufreq *cf, const struct policy *p, size_t file)
{
	char path[PATH_MAX];
	int fd;

	path_of(cf, p, files[file], path, sizeof(path));
	fd = ergon_sysroot_open_file(cf->sr, path, O_RDONLY);
	if (fd < 0 && errno == EACCES && cf->owner != geteuid()) {
		setfsuid(cf->owner); /* of this thread only */
		fd = ergon_sysroot_open_file(cf->sr, path, O_RDONLY);
		setfsuid(geteuid());
	}
	return fd;
}

/* 0 kHz and "<unknown>" are the kernel's ways of saying nothing. */
static int read_khz(int fd, int64_t *khz)
{
	uint64_t value;

	if (ergon_fd_read_u64(fd, &value) < 0)
		return -1;
	if (value == 0 || value > INT_MAX) {
		errno = ENODATA;
		return -1;
	}
	*khz = (int64_t)value;
	return 0;
}

/* The best file that answers; EAGAIN is the answer of an idle CPU. */
static void choose(struct ergon_cpufreq *cf, struct policy *p)
{
	int lowest = p->number;

	p->state = DEAD;
	if (!online_cpus(cf, p, &p->cpus, &lowest))
		p->cpus = 1;
	/* Without policies each CPU shows the whole group's: its lowest one speaks. */
	if (p->cpus == 0 || (cf->per_cpu && lowest != p->number)) {
		p->state = OFFLINE;
		return;
	}
	for (size_t f = 0; f < NFILES; f++) {
		int fd = open_file(cf, p, f);

		p->khz = 0;
		if (fd >= 0 && (read_khz(fd, &p->khz) == 0 || errno == EAGAIN)) {
			p->state = READABLE;
			p->file = f;
			p->fd = fd;
			return;
		}
		if (errno != ENOENT)
			blame(cf, p, files[f], strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	blame(cf, p, files[NFILES - 1], strerror(ENOENT));
}

static void read_policy(struct ergon_cpufreq *cf, struct policy *p)
{
	if (p->state == UNTRIED) {
		choose(cf, p);
		return;
	}
	if (p->state != READABLE)
		return;
	if (p->fd < 0)
		p->fd = open_file(cf, p, p->file);
	if (p->fd >= 0 && read_khz(p->fd, &p->khz) == 0)
		return;
	p->khz = 0;
	/* A descriptor of before a hotplug stays dead: a new one next time. */
	if (p->fd >= 0 && errno != EAGAIN) {
		close(p->fd);
		p->fd = -1;
	}
}

/* --- a round --- */

static int64_t earn(int64_t left, uint64_t passed_ns, int64_t per_s)
{
	left += (int64_t)((double)passed_ns * 1e-9 * (double)per_s);
	return left < per_s ? left : per_s;
}

bool ergon_cpufreq_read(struct ergon_cpufreq *cf, int64_t *khz)
{
	uint64_t now = ergon_clock_ns(), cpu = ergon_clock_thread_cpu_ns();
	int64_t sum = 0, weight = 0;

	if (cf->round_ns) {
		cf->cpu_ns = earn(cf->cpu_ns, now - cf->round_ns, CPU_NS_PER_S);
		cf->wall_ns = earn(cf->wall_ns, now - cf->round_ns, WALL_NS_PER_S);
	}
	cf->round_ns = now;
	for (size_t i = 0; i < cf->n && cf->cpu_ns > 0 && cf->wall_ns > 0; i++) {
		uint64_t wall_before = now, cpu_before = cpu;

		read_policy(cf, &cf->policies[cf->next]);
		cf->next = (cf->next + 1) % cf->n;
		now = ergon_clock_ns();
		cpu = ergon_clock_thread_cpu_ns();
		cf->wall_ns -= (int64_t)(now - wall_before);
		cf->cpu_ns -= (int64_t)(cpu - cpu_before);
	}
	for (size_t i = 0; i < cf->n; i++) {
		const struct policy *p = &cf->policies[i];

		if (p->khz <= 0)
			continue;
		sum += p->khz * p->cpus;
		weight += p->cpus;
	}
	if (weight == 0)
		return false;
	*khz = (sum + weight / 2) / weight;
	return true;
}

void ergon_cpufreq_describe(const struct ergon_cpufreq *cf, char *names, size_t names_size,
			    char *what, size_t what_size)
{
	char driver[32] = "", path[PATH_MAX];
	size_t used = 0;

	*names = '\0';
	for (size_t f = 0; f < NFILES; f++) {
		bool some = false;

		for (size_t i = 0; i < cf->n && !some; i++)
			some = cf->policies[i].file == f;
		if (some && used < names_size)
			used += (size_t)snprintf(names + used, names_size - used, "%s%s",
						 used ? ", " : "", files[f]);
	}
	path_of(cf, &cf->policies[0], "scaling_driver", path, sizeof(path));
	if (ergon_sysroot_read_text(cf->sr, path, driver, sizeof(driver)) < 0)
		*driver = '\0';
	snprintf(what, what_size, "%s of %zu %s%s%s%s", names, cf->found, cf->per_cpu ? "CPUs" : "policies",
		 *driver ? ", " : "", driver, cf->n < cf->found ? "; a part is read" : "");
}

void ergon_cpufreq_why(const struct ergon_cpufreq *cf, char *why, size_t size)
{
	bool offline = true;

	for (size_t i = 0; i < cf->n; i++)
		offline &= cf->policies[i].state == OFFLINE;
	snprintf(why, size, "%s", *cf->why.text ? cf->why.text : offline ?
		 "all policies are offline" : "idle CPUs tell nothing");
}
