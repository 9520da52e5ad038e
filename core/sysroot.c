/* SPDX-License-Identifier: BSD-3-Clause */
/* The only opener of /sys, /proc and /dev. Paths are taken from one root fd. */
#include "sysroot.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The longest decimal u64 is 20 digits; a longer text is not a counter. */
#define U64_TEXT_MAX 40

struct ergon_sysroot {
	int fd;
	bool real;
	char *path;
};

struct ergon_sysroot *ergon_sysroot_open(const char *root, struct ergon_error *err)
{
	struct ergon_sysroot *sr = calloc(1, sizeof(*sr));
	struct stat given, slash;

	if (!root || !*root)
		root = "/";
	if (!sr) {
		ergon_error_set(err, "out of memory");
		return NULL;
	}
	sr->fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (sr->fd < 0) {
		ergon_error_set(err, "%s: %s; the system root must be a directory",
				root, strerror(errno));
		free(sr);
		return NULL;
	}
	sr->path = strdup(root);
	if (!sr->path) {
		ergon_error_set(err, "out of memory");
		ergon_sysroot_close(sr);
		return NULL;
	}
	sr->real = fstat(sr->fd, &given) == 0 && stat("/", &slash) == 0 &&
		   given.st_dev == slash.st_dev && given.st_ino == slash.st_ino;
	return sr;
}

void ergon_sysroot_close(struct ergon_sysroot *sr)
{
	int saved = errno;

	if (!sr)
		return;
	close(sr->fd);
	free(sr->path);
	free(sr);
	errno = saved;
}

const char *ergon_sysroot_path(const struct ergon_sysroot *sr)
{
	return sr->path;
}

bool ergon_sysroot_is_real(const struct ergon_sysroot *sr)
{
	return sr->real;
}

/* openat() would ignore the root for a path that begins with a slash. */
static const char *relative(const char *path)
{
	path += strspn(path, "/");
	return *path ? path : ".";
}

int ergon_sysroot_open_file(const struct ergon_sysroot *sr, const char *path, int flags)
{
	return openat(sr->fd, relative(path), flags | O_CLOEXEC);
}

int ergon_sysroot_access(const struct ergon_sysroot *sr, const char *path, int mode)
{
	return faccessat(sr->fd, relative(path), mode, AT_EACCESS);
}

/* Fill buf from the start of fd; sysfs gives a file in one read, FUSE may not. */
static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = read(fd, buf + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

ssize_t ergon_sysroot_read_text(const struct ergon_sysroot *sr, const char *path,
				char *buf, size_t size)
{
	int fd = ergon_sysroot_open_file(sr, path, O_RDONLY);
	ssize_t len;
	int saved;

	if (fd < 0)
		return -1;
	len = read_all(fd, buf, size);
	saved = errno;
	close(fd);
	errno = saved;
	if (len < 0)
		return -1;
	if ((size_t)len == size) {
		errno = EMSGSIZE;
		return -1;
	}
	if (memchr(buf, '\0', (size_t)len)) {
		errno = EINVAL;
		return -1;
	}
	while (len > 0 && isspace((unsigned char)buf[len - 1]))
		len--;
	buf[len] = '\0';
	return len;
}

ssize_t ergon_sysroot_read_link(const struct ergon_sysroot *sr, const char *path,
				char *buf, size_t size)
{
	ssize_t len = readlinkat(sr->fd, relative(path), buf, size);

	if (len < 0)
		return -1;
	if ((size_t)len == size) {
		errno = EMSGSIZE;
		return -1;
	}
	buf[len] = '\0';
	return len;
}

int ergon_parse_u64(const char *text, uint64_t *value)
{
	uint64_t result = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(result, 10, &result) ||
		    __builtin_add_overflow(result, (uint64_t)(*p - '0'), &result)) {
			errno = ERANGE;
			return -1;
		}
	}
	if (p == text || p[strspn(p, " \t\n\r\v\f")] != '\0') {
		errno = EINVAL;
		return -1;
	}
	*value = result;
	return 0;
}

int ergon_sysroot_read_u64(const struct ergon_sysroot *sr, const char *path, uint64_t *value)
{
	char text[U64_TEXT_MAX];

	if (ergon_sysroot_read_text(sr, path, text, sizeof(text)) < 0) {
		if (errno == EMSGSIZE)
			errno = ERANGE;
		return -1;
	}
	return ergon_parse_u64(text, value);
}

/* A short text at the start of an open file, NUL-terminated in text[U64_TEXT_MAX]. */
static int read_number_text(int fd, char *text)
{
	ssize_t len;

	do {
		len = pread(fd, text, U64_TEXT_MAX, 0);
	} while (len < 0 && errno == EINTR);
	if (len < 0)
		return -1;
	if (len == U64_TEXT_MAX) {
		errno = ERANGE;
		return -1;
	}
	if (memchr(text, '\0', (size_t)len)) {
		errno = EINVAL;
		return -1;
	}
	text[len] = '\0';
	return 0;
}

int ergon_fd_read_u64(int fd, uint64_t *value)
{
	char text[U64_TEXT_MAX];

	return read_number_text(fd, text) < 0 ? -1 : ergon_parse_u64(text, value);
}

int ergon_fd_read_i64(int fd, int64_t *value)
{
	char text[U64_TEXT_MAX];
	uint64_t size;
	bool minus;

	if (read_number_text(fd, text) < 0)
		return -1;
	minus = text[0] == '-';
	if (ergon_parse_u64(text + minus, &size) < 0)
		return -1;
	if (size > INT64_MAX) {
		errno = ERANGE;
		return -1;
	}
	*value = minus ? -(int64_t)size : (int64_t)size;
	return 0;
}

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int append(char ***names, size_t *n, const char *name)
{
	char **grown = realloc(*names, (*n + 2) * sizeof(*grown));

	if (!grown)
		return -1;
	*names = grown;
	grown[*n] = strdup(name);
	if (!grown[*n])
		return -1;
	grown[++*n] = NULL;
	return 0;
}

ssize_t ergon_sysroot_list(const struct ergon_sysroot *sr, const char *path, char ***names)
{
	int fd = ergon_sysroot_open_file(sr, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char **list = calloc(1, sizeof(*list));
	struct dirent *entry;
	size_t n = 0;
	int failed = 0;

	if (!dir || !list) {
		int saved = errno;

		if (dir)
			closedir(dir);
		else if (fd >= 0)
			close(fd);
		free(list);
		errno = saved;
		return -1;
	}
	while (!failed && (errno = 0, entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			failed = append(&list, &n, entry->d_name);
	if (errno != 0)
		failed = errno;
	closedir(dir);
	if (failed) {
		ergon_sysroot_free_list(list);
		errno = failed > 0 ? failed : ENOMEM;
		return -1;
	}
	qsort(list, n, sizeof(*list), by_version);
	*names = list;
	return (ssize_t)n;
}

void ergon_sysroot_free_list(char **names)
{
	if (!names)
		return;
	for (size_t i = 0; names[i]; i++)
		free(names[i]);
	free(names);
}
