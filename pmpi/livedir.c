/* SPDX-License-Identifier: BSD-3-Clause */
#include "livedir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attrib.h"
#include "clock.h"
#include "environ.h"
#include "keeper.h"
#include "livepath.h"
#include "locks.h"
#include "log.h"
#include "mapfile.h"
#include "sampling.h"

#define ATTEMPTS 50
#define HIGH_FD 200
#define PAUSE_NS 500000u
#define LEAVE_NS 100000000u
/* A keeper that has not looked for so long is asked for its lock. */
#define STALE_NS 1000000000u
/* A directory without locks may be one that is being made. */
#define STALE_DIR_S 60

struct ergon_live {
	int fd;                   /* the roster: the locks are on it */
	char dir[sizeof(ERGON_LIVE_PARENT) + ERGON_LIVE_NAME_MAX];
	char output_dir[512];
	struct ergon_roster *roster;
	unsigned slot;
	bool locked;              /* we hold byte 0 */
	struct ergon_identity id;
	struct ergon_keeper_config config;
	struct ergon_keeper *keeper;
};

static void pause_ns(long ns)
{
	struct timespec ts = { 0, ns };

	nanosleep(&ts, NULL);
}

/* The name all ranks of a step on a node agree on. */
static void set_dir(struct ergon_live *live)
{
	const char *board = ergon_env_get(ERGON_ENV_BOARD);
	const char *end = strrchr(board, '/');
	char board_dir[PATH_MAX], name[ERGON_LIVE_NAME_MAX];

	if (end && end > board) {
		snprintf(board_dir, sizeof(board_dir), "%.*s", (int)(end - board), board);
		ergon_live_name(name, geteuid(), board_dir);
	} else {
		snprintf(name, sizeof(name), "ergon.%u.%s.%s.%s", geteuid(), live->id.job,
			 live->id.step, live->id.node_key);
	}
	snprintf(live->dir, sizeof(live->dir), ERGON_LIVE_PARENT "/%s", name);
}

static void close_files(struct ergon_live *live)
{
	if (live->roster)
		munmap(live->roster, sizeof(*live->roster));
	if (live->fd >= 0)
		close(live->fd);
	live->roster = NULL;
	live->fd = -1;
}

static void remove_files(const char *dir)
{
	static const char *const names[] = { "roster", ERGON_SAMPLING_BOARD };
	char path[NAME_MAX + 64];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

/*
 * Out of the way of programs that expect to get low numbers, or that close
 * them. Before there are locks: closing would drop them.
 */
static int move_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* Directory, roster file, mapping. -1: no (err is set); 1: removed meanwhile, again. */
static int open_files(struct ergon_live *live, struct ergon_error *err)
{
	struct stat st;
	int dirfd, rc;

	if (mkdir(live->dir, 0700) < 0 && errno != EEXIST)
		return ergon_error_set(err, "cannot make %s: %s", live->dir, strerror(errno));
	dirfd = open(live->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dirfd < 0)
		return errno == ENOENT ? 1 : ergon_error_set(err, "cannot open %s: %s", live->dir,
							     strerror(errno));
	rc = fstat(dirfd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077);
	if (!rc)
		live->fd = openat(dirfd, "roster", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	close(dirfd);
	if (rc)
		return ergon_error_set(err, "%s is not ours alone: remove it", live->dir);
	if (live->fd < 0)
		return errno == ENOENT ? 1 : ergon_error_set(err, "cannot open %s/roster: %s",
							     live->dir, strerror(errno));
	live->fd = move_high(live->fd);
	live->roster = ergon_mapfile(live->fd, sizeof(*live->roster));
	if (!live->roster)
		return ergon_error_set(err, "cannot allocate %s/roster: %s", live->dir, strerror(errno));
	return 0;
}

static bool is_unlinked(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || st.st_nlink == 0;
}

/* What processes that are all gone left behind. True: removed, begin anew. */
static bool remove_leftover(struct ergon_live *live)
{
	bool used = atomic_load(&live->roster->head) > 0 ||
		    atomic_load(&live->roster->slots[0].state) != ERGON_SLOT_FREE;

	if (!used || ergon_lock_all(live->fd) < 0)
		return false;
	if (!is_unlinked(live->fd))
		remove_files(live->dir);
	return true;
}

/* A free slot and the lock on its byte; -1 when there is none. */
static int claim(struct ergon_live *live)
{
	struct ergon_slot *slots = live->roster->slots;

	for (unsigned i = 0; i < ERGON_LIVE_SLOTS; i++) {
		if (atomic_load(&slots[i].state) != ERGON_SLOT_FREE ||
		    ergon_lock_try(live->fd, 1 + i) < 0)
			continue;
		if (atomic_load(&slots[i].state) == ERGON_SLOT_FREE) {
			live->slot = i;
			return 0;
		}
		ergon_lock_drop(live->fd, 1 + i);
	}
	return -1;
}

static void fill_slot(struct ergon_live *live, uint64_t join_ns)
{
	struct ergon_slot *slot = &live->roster->slots[live->slot];
	int share = ergon_share_parse(ergon_env_get(ERGON_ENV_SHARE));
	cpu_set_t *set = CPU_ALLOC(ERGON_LIVE_CPUS);
	size_t size = CPU_ALLOC_SIZE(ERGON_LIVE_CPUS);

	slot->rank = live->id.rank;
	slot->pid = getpid();
	slot->share = share < 0 ? ERGON_SHARE_CORES : (uint32_t)share;
	slot->join_ns = join_ns;
	if (set && sched_getaffinity(0, size, set) == 0) {
		for (unsigned cpu = 0; cpu < ERGON_LIVE_CPUS; cpu++)
			if (CPU_ISSET_S(cpu, size, set))
				slot->cpus[cpu / 64] |= UINT64_C(1) << (cpu % 64);
	}
	if (set)
		CPU_FREE(set);
	atomic_store_explicit(&slot->state, ERGON_SLOT_JOINING, memory_order_release);
}

/* Directories of our own earlier jobs whose processes are all gone. */
static void sweep(const struct ergon_live *live)
{
	char prefix[32], path[NAME_MAX + 16];
	const char *own = strrchr(live->dir, '/') + 1;
	DIR *shm = opendir(ERGON_LIVE_PARENT);
	struct dirent *entry;
	struct stat st;

	snprintf(prefix, sizeof(prefix), "ergon.%u.", geteuid());
	while (shm && (entry = readdir(shm))) {
		int dirfd, fd;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    strcmp(entry->d_name, own) == 0)
			continue;
		snprintf(path, sizeof(path), ERGON_LIVE_PARENT "/%s", entry->d_name);
		dirfd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dirfd < 0)
			continue;
		fd = openat(dirfd, "roster", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (fstat(dirfd, &st) == 0 && st.st_uid == geteuid() &&
		    time(NULL) - st.st_mtime > STALE_DIR_S &&
		    (fd < 0 || ergon_lock_all(fd) == 0))
			remove_files(path);
		if (fd >= 0)
			close(fd);
		close(dirfd);
	}
	if (shm)
		closedir(shm);
}

static void try_keeper(struct ergon_live *live)
{
	if (live->locked || ergon_lock_try(live->fd, 0) < 0)
		return;
	live->locked = true;
	live->keeper = ergon_keeper_start(&live->config);
}

static int enter_directory(struct ergon_live *live, struct ergon_error *err)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		int rc = open_files(live, err);

		if (rc < 0)
			return -1;
		if (rc == 0 && !remove_leftover(live)) {
			if (claim(live) == 0 && !is_unlinked(live->fd))
				return 0;
			/* All locked: someone is about to remove it. */
			pause_ns(PAUSE_NS);
		}
		close_files(live);
	}
	return ergon_error_set(err, "no free slot in %s", live->dir);
}

struct ergon_live *ergon_live_join(const struct ergon_identity *id, const char *output_dir,
				   uint64_t join_ns, struct ergon_error *err)
{
	struct ergon_live *live = calloc(1, sizeof(*live));

	if (!live) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	live->id = *id;
	live->fd = -1;
	snprintf(live->output_dir, sizeof(live->output_dir), "%s", output_dir);
	set_dir(live);
	if (enter_directory(live, err) < 0) {
		close_files(live);
		free(live);
		return NULL;
	}
	fill_slot(live, join_ns);
	live->config = (struct ergon_keeper_config){
		.roster = live->roster, .lock_fd = live->fd,
		.dir = live->dir, .output_dir = live->output_dir, .id = &live->id,
		.own_slot = live->slot,
	};
	try_keeper(live);
	if (live->locked)
		sweep(live);
	return live;
}

const struct ergon_roster *ergon_live_roster(const struct ergon_live *live)
{
	return live->roster;
}

const struct ergon_slot *ergon_live_slot(const struct ergon_live *live)
{
	return &live->roster->slots[live->slot];
}

unsigned ergon_live_slot_index(const struct ergon_live *live)
{
	return live->slot;
}

void ergon_live_set_rank(struct ergon_live *live, int32_t rank)
{
	live->id.rank = rank;
	atomic_store(&live->roster->slots[live->slot].rank, rank);
}

void ergon_live_confirm(struct ergon_live *live)
{
	atomic_store(&live->roster->slots[live->slot].confirmed, 1);
}

void ergon_live_wait(struct ergon_live *live, uint64_t max_ns)
{
	const struct ergon_roster *roster = live->roster;
	uint64_t begin_ns = ergon_clock_ns();

	while (ergon_clock_ns() - begin_ns < max_ns) {
		if (atomic_load(&ergon_live_slot(live)->state) != ERGON_SLOT_JOINING)
			return;
		if (atomic_load_explicit(&roster->ready, memory_order_acquire) &&
		    (roster->info.nchannels == 0 || roster->info.hz * (double)max_ns < 5e9))
			return;
		pause_ns(PAUSE_NS);
	}
}

void ergon_live_tend(struct ergon_live *live, uint64_t now_ns)
{
	uint64_t beat_ns = atomic_load_explicit(&live->roster->heartbeat_ns, memory_order_relaxed);

	if (!live->locked && now_ns > beat_ns + STALE_NS)
		try_keeper(live);
}

uint64_t ergon_live_leave(struct ergon_live *live)
{
	struct ergon_slot *slot = &live->roster->slots[live->slot];
	uint64_t begin_ns = ergon_clock_ns();
	uint32_t state = atomic_load(&slot->state);

	while (state != ERGON_SLOT_LEFT && state != ERGON_SLOT_DEAD) {
		if (state != ERGON_SLOT_COUNTED || ergon_clock_ns() - begin_ns > LEAVE_NS) {
			/* A keeper that died or hangs while counting us is not waited for. */
			if (atomic_compare_exchange_strong(&slot->state, &state, ERGON_SLOT_LEFT))
				break;
			continue;
		}
		sched_yield();
		state = atomic_load(&slot->state);
	}
	ergon_lock_drop(live->fd, 1 + (long)live->slot);
	return atomic_load(&slot->upto);
}

/* Who has left may still be about to drop its lock. */
static int lock_all_soon(int fd)
{
	int rc = ergon_lock_all(fd);

	for (int i = 0; rc < 0 && i < ATTEMPTS; i++) {
		pause_ns(PAUSE_NS);
		rc = ergon_lock_all(fd);
	}
	return rc;
}

void ergon_live_close(struct ergon_live *live, uint64_t patience_ns)
{
	uint64_t begin_ns = ergon_clock_ns();
	unsigned others;

	/* The last to leave may find that the keeper went before. */
	if (!live->locked && ergon_lock_try(live->fd, 0) == 0)
		live->locked = true;
	if (!live->locked)
		return;
	while (ergon_keeper_others(&live->config) > 0 && ergon_clock_ns() - begin_ns < patience_ns)
		pause_ns(PAUSE_NS);
	/* Who leaves while we hold the lock leaves the end to us: look again after dropping it. */
	do {
		others = ergon_keeper_stop(live->keeper, &live->config);
		live->keeper = NULL;
		if (others == 0 && lock_all_soon(live->fd) == 0)
			remove_files(live->dir);
		ergon_lock_drop(live->fd, 0);
	} while (others > 0 && ergon_keeper_others(&live->config) == 0 &&
		 ergon_lock_try(live->fd, 0) == 0);
	live->locked = false;
}

void ergon_live_free(struct ergon_live *live)
{
	if (!live)
		return;
	close_files(live);
	free(live);
}

void ergon_live_abandon(struct ergon_live *live)
{
	if (!live)
		return;
	/* No free, no unmap: the parent's other threads may have been anywhere. */
	close(live->fd);
}
