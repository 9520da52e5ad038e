/* SPDX-License-Identifier: BSD-3-Clause */
#include "rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "livepath.h"
#include "privdir.h"

/* A user can put anything into the directory; more than this is left for the admin. */
#define REMOVE_DEPTH 8
#define REMOVE_ENTRIES 4096

/* A directory is made under ".NAME"; one that was never finished is old. */
#define UNFINISHED_S 60

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct ergon_rundir {
	int parent;               /* RunDir */
	int fd;                   /* locked while we live */
	char name[128];           /* as it is called now */
	uid_t uid;                /* whose step it is */
	char run_dir[PATH_MAX];
	char board_path[PATH_MAX];
	struct ergon_board *board;
};

static void remove_tree(int parent, const char *name, int depth, int *budget);

static void empty_dir(int fd, int depth, int *budget)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		close(fd);
		return;
	}
	while (*budget > 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_tree(dirfd(dir), entry->d_name, depth, budget);
	closedir(dir);
}

static void remove_tree(int parent, const char *name, int depth, int *budget)
{
	int fd;

	(*budget)--;
	if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
		return;
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || depth == 0)
		return;
	fd = openat(parent, name, DIR_FLAGS);
	if (fd < 0)
		return;
	empty_dir(fd, depth - 1, budget);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_step(int parent, const char *name)
{
	int budget = REMOVE_ENTRIES;

	remove_tree(parent, name, REMOVE_DEPTH, &budget);
}

/*
 * What the ranks of a killed step left behind, in a directory that they made.
 * Anyone may make any name there, so only a directory of the step's user goes.
 */
static void remove_live(const char *run_dir, const char *step, uid_t uid)
{
	char board_dir[PATH_MAX], name[ERGON_LIVE_NAME_MAX];
	int parent = open(ERGON_LIVE_PARENT, DIR_FLAGS);
	struct stat st;

	if (parent < 0)
		return;
	snprintf(board_dir, sizeof(board_dir), "%s/%s", run_dir, step);
	ergon_live_name(name, uid, board_dir);
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	    st.st_uid == uid)
		remove_step(parent, name);
	close(parent);
}

/* Is there a directory of this name that somebody has locked? */
static bool in_use(int parent, const char *name)
{
	int fd = openat(parent, name, DIR_FLAGS);
	bool busy = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return busy;
}

/* The board first, while everything is still root's; then the directory changes hands. */
static int fill(struct ergon_rundir *rd, uid_t uid, gid_t gid, const struct ergon_board_info *info,
		const struct ergon_board_cpu *cpus, uint32_t ring, struct ergon_error *err)
{
	rd->board = ergon_board_create(rd->fd, "board", info, cpus, ring, err);
	if (!rd->board)
		return -1;
	if (fchmod(rd->fd, 0500) < 0 || fchown(rd->fd, uid, gid) < 0)
		return ergon_error_set(err, "%s: %s", rd->board_path, strerror(errno));
	return 0;
}

struct ergon_rundir *ergon_rundir_create(const char *run_dir, const char *name,
					 uid_t uid, gid_t gid,
					 const struct ergon_board_info *info,
					 const struct ergon_board_cpu *cpus, uint32_t ring,
					 struct ergon_error *err)
{
	struct ergon_rundir *rd = calloc(1, sizeof(*rd));

	if (!rd) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	rd->fd = -1;
	rd->parent = ergon_privdir_open(run_dir, err);
	if (rd->parent < 0)
		goto fail;
	rd->uid = uid;
	snprintf(rd->run_dir, sizeof(rd->run_dir), "%s", run_dir);
	snprintf(rd->name, sizeof(rd->name), ".%s", name);
	if (snprintf(rd->board_path, sizeof(rd->board_path), "%s/%s/board", run_dir, name) >=
	    (int)sizeof(rd->board_path)) {
		ergon_error_set(err, "%s: path too long", run_dir);
		goto fail;
	}
	if (in_use(rd->parent, name) || in_use(rd->parent, rd->name)) {
		errno = EBUSY;
		ergon_error_set(err, "%s/%s: in use by another slurmstepd", run_dir, name);
		goto fail;
	}
	remove_step(rd->parent, rd->name);
	remove_step(rd->parent, name);
	if (mkdirat(rd->parent, rd->name, 0700) < 0 ||
	    (rd->fd = openat(rd->parent, rd->name, DIR_FLAGS)) < 0) {
		ergon_error_set(err, "%s/%s: %s", run_dir, name, strerror(errno));
		goto fail;
	}
	flock(rd->fd, LOCK_EX | LOCK_NB);
	if (fill(rd, uid, gid, info, cpus, ring, err) < 0)
		goto fail;
	/* A sweeper sees it only now that it is locked. */
	if (renameat(rd->parent, rd->name, rd->parent, name) < 0) {
		ergon_error_set(err, "%s/%s: %s", run_dir, name, strerror(errno));
		goto fail;
	}
	snprintf(rd->name, sizeof(rd->name), "%s", name);
	return rd;
fail:
	ergon_rundir_remove(rd);
	return NULL;
}

const char *ergon_rundir_board_path(const struct ergon_rundir *rd)
{
	return rd->board_path;
}

struct ergon_board *ergon_rundir_board(const struct ergon_rundir *rd)
{
	return rd->board;
}

void ergon_rundir_remove(struct ergon_rundir *rd)
{
	int saved = errno;

	if (!rd)
		return;
	if (rd->board) {
		ergon_board_finish(rd->board);
		ergon_board_close(rd->board);
	}
	if (rd->fd >= 0) {
		remove_step(rd->parent, rd->name);
		remove_live(rd->run_dir, rd->name, rd->uid);
		close(rd->fd);
	}
	if (rd->parent >= 0)
		close(rd->parent);
	free(rd);
	errno = saved;
}

/* May the directory called name be a dead step's? Its owner may still hold the lock. */
static bool sweepable(int parent, const char *name)
{
	struct stat st;

	/* <job>.<step>.<nodeid>, or the same with a dot before it while it is made. */
	if (strspn(name, "0123456789.") != strlen(name) || !strpbrk(name, "0123456789"))
		return false;
	return *name != '.' ||
	       (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		time(NULL) - st.st_ctime > UNFINISHED_S);
}

void ergon_rundir_sweep(const char *run_dir)
{
	int parent = ergon_privdir_open(run_dir, NULL);
	DIR *dir = parent < 0 ? NULL : fdopendir(parent);
	const struct dirent *entry;

	if (!dir) {
		if (parent >= 0)
			close(parent);
		return;
	}
	while ((entry = readdir(dir))) {
		struct stat st;
		int fd;

		if (!sweepable(dirfd(dir), entry->d_name))
			continue;
		fd = openat(dirfd(dir), entry->d_name, DIR_FLAGS);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			remove_step(dirfd(dir), entry->d_name);
			if (fstat(fd, &st) == 0)
				remove_live(run_dir, entry->d_name, st.st_uid);
		}
		close(fd);
	}
	closedir(dir);
}
