/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Journals and checkpoints. Files are opened relative to the spool
 * directory and never through a symbolic link; both must be the caller's
 * and writable by nobody else, so that no user can make root write
 * elsewhere or slip records in.
 */
#include "journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "privdir.h"

#define CRC_DIGITS 8
#define TRAILER (1 + CRC_DIGITS)        /* tab and CRC */
#define SEQUENCE_DIGITS 20
#define SLOT_SIZE (ERGON_JOURNAL_LINE_MAX + 4096)

#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 2000000

struct ergon_journal {
	int fd;
	char path[512];           /* for messages */
};

struct ergon_checkpoint {
	int dirfd;
	int fd;
	uint64_t sequence;        /* of the last slot written */
	char name[256];
};

static const uint32_t crc32c_table[256] = {
	0x00000000, 0xf26b8303, 0xe13b70f7, 0x1350f3f4, 0xc79a971f, 0x35f1141c,
	0x26a1e7e8, 0xd4ca64eb, 0x8ad958cf, 0x78b2dbcc, 0x6be22838, 0x9989ab3b,
	0x4d43cfd0, 0xbf284cd3, 0xac78bf27, 0x5e133c24, 0x105ec76f, 0xe235446c,
	0xf165b798, 0x030e349b, 0xd7c45070, 0x25afd373, 0x36ff2087, 0xc494a384,
	0x9a879fa0, 0x68ec1ca3, 0x7bbcef57, 0x89d76c54, 0x5d1d08bf, 0xaf768bbc,
	0xbc267848, 0x4e4dfb4b, 0x20bd8ede, 0xd2d60ddd, 0xc186fe29, 0x33ed7d2a,
	0xe72719c1, 0x154c9ac2, 0x061c6936, 0xf477ea35, 0xaa64d611, 0x580f5512,
	0x4b5fa6e6, 0xb93425e5, 0x6dfe410e, 0x9f95c20d, 0x8cc531f9, 0x7eaeb2fa,
	0x30e349b1, 0xc288cab2, 0xd1d83946, 0x23b3ba45, 0xf779deae, 0x05125dad,
	0x1642ae59, 0xe4292d5a, 0xba3a117e, 0x4851927d, 0x5b016189, 0xa96ae28a,
	0x7da08661, 0x8fcb0562, 0x9c9bf696, 0x6ef07595, 0x417b1dbc, 0xb3109ebf,
	0xa0406d4b, 0x522bee48, 0x86e18aa3, 0x748a09a0, 0x67dafa54, 0x95b17957,
	0xcba24573, 0x39c9c670, 0x2a993584, 0xd8f2b687, 0x0c38d26c, 0xfe53516f,
	0xed03a29b, 0x1f682198, 0x5125dad3, 0xa34e59d0, 0xb01eaa24, 0x42752927,
	0x96bf4dcc, 0x64d4cecf, 0x77843d3b, 0x85efbe38, 0xdbfc821c, 0x2997011f,
	0x3ac7f2eb, 0xc8ac71e8, 0x1c661503, 0xee0d9600, 0xfd5d65f4, 0x0f36e6f7,
	0x61c69362, 0x93ad1061, 0x80fde395, 0x72966096, 0xa65c047d, 0x5437877e,
	0x4767748a, 0xb50cf789, 0xeb1fcbad, 0x197448ae, 0x0a24bb5a, 0xf84f3859,
	0x2c855cb2, 0xdeeedfb1, 0xcdbe2c45, 0x3fd5af46, 0x7198540d, 0x83f3d70e,
	0x90a324fa, 0x62c8a7f9, 0xb602c312, 0x44694011, 0x5739b3e5, 0xa55230e6,
	0xfb410cc2, 0x092a8fc1, 0x1a7a7c35, 0xe811ff36, 0x3cdb9bdd, 0xceb018de,
	0xdde0eb2a, 0x2f8b6829, 0x82f63b78, 0x709db87b, 0x63cd4b8f, 0x91a6c88c,
	0x456cac67, 0xb7072f64, 0xa457dc90, 0x563c5f93, 0x082f63b7, 0xfa44e0b4,
	0xe9141340, 0x1b7f9043, 0xcfb5f4a8, 0x3dde77ab, 0x2e8e845f, 0xdce5075c,
	0x92a8fc17, 0x60c37f14, 0x73938ce0, 0x81f80fe3, 0x55326b08, 0xa759e80b,
	0xb4091bff, 0x466298fc, 0x1871a4d8, 0xea1a27db, 0xf94ad42f, 0x0b21572c,
	0xdfeb33c7, 0x2d80b0c4, 0x3ed04330, 0xccbbc033, 0xa24bb5a6, 0x502036a5,
	0x4370c551, 0xb11b4652, 0x65d122b9, 0x97baa1ba, 0x84ea524e, 0x7681d14d,
	0x2892ed69, 0xdaf96e6a, 0xc9a99d9e, 0x3bc21e9d, 0xef087a76, 0x1d63f975,
	0x0e330a81, 0xfc588982, 0xb21572c9, 0x407ef1ca, 0x532e023e, 0xa145813d,
	0x758fe5d6, 0x87e466d5, 0x94b49521, 0x66df1622, 0x38cc2a06, 0xcaa7a905,
	0xd9f75af1, 0x2b9cd9f2, 0xff56bd19, 0x0d3d3e1a, 0x1e6dcdee, 0xec064eed,
	0xc38d26c4, 0x31e6a5c7, 0x22b65633, 0xd0ddd530, 0x0417b1db, 0xf67c32d8,
	0xe52cc12c, 0x1747422f, 0x49547e0b, 0xbb3ffd08, 0xa86f0efc, 0x5a048dff,
	0x8ecee914, 0x7ca56a17, 0x6ff599e3, 0x9d9e1ae0, 0xd3d3e1ab, 0x21b862a8,
	0x32e8915c, 0xc083125f, 0x144976b4, 0xe622f5b7, 0xf5720643, 0x07198540,
	0x590ab964, 0xab613a67, 0xb831c993, 0x4a5a4a90, 0x9e902e7b, 0x6cfbad78,
	0x7fab5e8c, 0x8dc0dd8f, 0xe330a81a, 0x115b2b19, 0x020bd8ed, 0xf0605bee,
	0x24aa3f05, 0xd6c1bc06, 0xc5914ff2, 0x37faccf1, 0x69e9f0d5, 0x9b8273d6,
	0x88d28022, 0x7ab90321, 0xae7367ca, 0x5c18e4c9, 0x4f48173d, 0xbd23943e,
	0xf36e6f75, 0x0105ec76, 0x12551f82, 0xe03e9c81, 0x34f4f86a, 0xc69f7b69,
	0xd5cf889d, 0x27a40b9e, 0x79b737ba, 0x8bdcb4b9, 0x988c474d, 0x6ae7c44e,
	0xbe2da0a5, 0x4c4623a6, 0x5f16d052, 0xad7d5351,
};

static uint32_t crc32c_by_table(uint32_t crc, const unsigned char *p, size_t len)
{
	while (len--)
		crc = crc32c_table[(crc ^ *p++) & 0xff] ^ (crc >> 8);
	return crc;
}

#if defined(__x86_64__)
/* The processor's own instruction: ten times as fast, and ingest checks every line. */
__attribute__((target("sse4.2")))
static uint32_t crc32c_by_cpu(uint32_t crc, const unsigned char *p, size_t len)
{
	uint64_t wide = crc;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	while (len--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#endif

static uint32_t crc32c_more(uint32_t crc, const void *data, size_t len)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_by_cpu(crc, data, len);
#endif
	return crc32c_by_table(crc, data, len);
}

uint32_t ergon_crc32c(const void *data, size_t len)
{
	return ~crc32c_more(~0u, data, len);
}

ssize_t ergon_journal_check(const char *line, size_t len, const char **why)
{
	const char *crc = line + len - CRC_DIGITS;
	char expected[CRC_DIGITS + 1];
	size_t json = len - TRAILER;

	if (len > ERGON_JOURNAL_LINE_MAX - 1) {
		*why = "longer than a journal line can be";
		return -1;
	}
	if (len <= TRAILER || crc[-1] != '\t') {
		*why = "no checksum: the line is torn";
		return -1;
	}
	snprintf(expected, sizeof(expected), "%08" PRIx32, ergon_crc32c(line, json));
	if (memcmp(crc, expected, CRC_DIGITS) != 0) {
		*why = "checksum does not match";
		return -1;
	}
	return (ssize_t)json;
}

static bool is_plain_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

/* Open a file of ours in the spool directory; what else sits there is refused. */
static int open_private(int dirfd, const char *dir, const char *name, int flags,
			struct ergon_error *err)
{
	struct stat st;
	int fd = openat(dirfd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0)
		return ergon_error_set(err, "%s/%s: %s", dir, name, errno == ELOOP ?
				       "a symbolic link; remove it" : strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_nlink <= 1 && !(st.st_mode & 022))
		return fd;
	close(fd);
	errno = EPERM;
	return ergon_error_set(err, "%s/%s: not a plain file of uid %d alone; move it away",
			       dir, name, (int)geteuid());
}

/* Bounded: whoever holds the lock for long is broken, and we are guests. */
static bool lock_file(int fd, int tries)
{
	const struct timespec pause = { 0, LOCK_PAUSE_NS };

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK || --tries <= 0)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

struct ergon_journal *ergon_journal_open(const char *spool_dir, const char *node,
					 struct ergon_error *err)
{
	char name[256];
	struct ergon_journal *j;
	int dirfd, fd;

	if (!is_plain_name(node) ||
	    snprintf(name, sizeof(name), "%s.journal", node) >= (int)sizeof(name)) {
		errno = EINVAL;
		ergon_error_set(err, "'%s' is not a node's name", node);
		return NULL;
	}
	dirfd = ergon_privdir_open(spool_dir, err);
	if (dirfd < 0)
		return NULL;
	fd = open_private(dirfd, spool_dir, name, O_RDWR | O_APPEND | O_CREAT, err);
	close(dirfd);
	if (fd < 0)
		return NULL;
	j = malloc(sizeof(*j));
	if (!j) {
		close(fd);
		ergon_error_set(err, "%s/%s: out of memory", spool_dir, name);
		return NULL;
	}
	j->fd = fd;
	snprintf(j->path, sizeof(j->path), "%s/%s", spool_dir, name);
	return j;
}

void ergon_journal_close(struct ergon_journal *j)
{
	int saved = errno;

	if (!j)
		return;
	close(j->fd);
	free(j);
	errno = saved;
}

static bool ends_in_lf(int fd)
{
	struct stat st;
	char last = '\n';

	if (fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1)
		return false;
	return last == '\n';
}

int ergon_journal_append(struct ergon_journal *j, const char *json, size_t len,
			 struct ergon_error *err)
{
	char trailer[TRAILER + 2];
	struct iovec iov[3];
	size_t total, lf;
	bool locked;
	ssize_t n;

	if (len == 0 || len + TRAILER + 2 > ERGON_JOURNAL_LINE_MAX ||
	    memchr(json, '\n', len) || memchr(json, '\0', len)) {
		errno = EINVAL;
		return ergon_error_set(err, "%s: a record of %zu bytes is not one line of at most %d",
				       j->path, len, ERGON_JOURNAL_LINE_MAX);
	}
	snprintf(trailer, sizeof(trailer), "\t%08" PRIx32 "\n", ergon_crc32c(json, len));

	/* The lock only keeps a torn end from being overlooked; without it we write all the same. */
	locked = lock_file(j->fd, LOCK_TRIES);
	lf = ends_in_lf(j->fd) ? 0 : 1;
	iov[0] = (struct iovec){ "\n", lf };
	iov[1] = (struct iovec){ (char *)json, len };
	iov[2] = (struct iovec){ trailer, TRAILER + 1 };
	total = lf + len + TRAILER + 1;
	do
		n = writev(j->fd, iov, 3);
	while (n < 0 && errno == EINTR);
	if (locked)
		flock(j->fd, LOCK_UN);
	if (n < 0)
		return ergon_error_set(err, "%s: %s", j->path, strerror(errno));
	if ((size_t)n < total) {
		errno = ENOSPC;
		return ergon_error_set(err, "%s: only %zd of %zu bytes written: disk full?",
				       j->path, n, total);
	}
	if (fdatasync(j->fd) < 0 && errno != EINVAL && errno != EROFS)
		return ergon_error_set(err, "%s: fdatasync: %s", j->path, strerror(errno));
	return 0;
}

/* --- checkpoints --- */

/*
 * Check one slot: its sequence number (0: not valid) and the bounds of the
 * JSON in it.
 */
static uint64_t read_slot(const char *slot, size_t size, const char **json, size_t *len)
{
	const char *lf = memchr(slot, '\n', size), *why;
	char *end;
	uint64_t sequence;
	ssize_t n;

	if (!lf || lf - slot < SEQUENCE_DIGITS + 2 || slot[SEQUENCE_DIGITS] != ' ')
		return 0;
	n = ergon_journal_check(slot, (size_t)(lf - slot), &why);
	if (n <= SEQUENCE_DIGITS + 1)
		return 0;
	sequence = strtoull(slot, &end, 10);
	if (end != slot + SEQUENCE_DIGITS)
		return 0;
	*json = slot + SEQUENCE_DIGITS + 1;
	*len = (size_t)n - SEQUENCE_DIGITS - 1;
	return sequence;
}

/* The newer valid slot as a malloc'ed string, NULL when there is none (errno 0) or no memory. */
static char *read_newest(int fd, uint64_t *sequence)
{
	char *buf = malloc(2 * SLOT_SIZE), *result = NULL;
	uint64_t newest = 0;
	const char *best = NULL;
	size_t best_len = 0;

	if (!buf)
		return NULL;
	for (int i = 0; i < 2; i++) {
		char *slot = buf + i * SLOT_SIZE;
		ssize_t n = pread(fd, slot, SLOT_SIZE, (off_t)i * SLOT_SIZE);
		const char *json;
		size_t len;
		uint64_t seq = n > 0 ? read_slot(slot, (size_t)n, &json, &len) : 0;

		if (seq > newest) {
			newest = seq;
			best = json;
			best_len = len;
		}
	}
	errno = 0;
	if (best)
		result = strndup(best, best_len);
	if (sequence)
		*sequence = newest;
	free(buf);
	return result;
}

static struct ergon_checkpoint *lock_checkpoint(int dirfd, const char *dir, const char *name,
						struct ergon_error *err)
{
	/* A sweeper may unlink the file between our open and our lock. */
	for (int tries = 0; tries < 3; tries++) {
		struct ergon_checkpoint *c;
		struct stat st;
		int fd = open_private(dirfd, dir, name, O_RDWR | O_CREAT, err);

		if (fd < 0)
			return NULL;
		if (!lock_file(fd, 10)) {
			ergon_error_set(err, "%s/%s: locked by another process", dir, name);
			close(fd);
			errno = EBUSY;
			return NULL;
		}
		if (fstat(fd, &st) < 0 || st.st_nlink != 1) {
			close(fd);
			continue;
		}
		c = calloc(1, sizeof(*c));
		if (!c) {
			close(fd);
			break;
		}
		c->dirfd = dirfd;
		c->fd = fd;
		strcpy(c->name, name);
		return c;
	}
	ergon_error_set(err, "%s/%s: cannot be locked", dir, name);
	return NULL;
}

struct ergon_checkpoint *ergon_checkpoint_open(const char *spool_dir, const char *name,
					       struct ergon_error *err)
{
	struct ergon_checkpoint *c;
	int dirfd;

	if (!is_plain_name(name) || strlen(name) >= sizeof(c->name)) {
		errno = EINVAL;
		ergon_error_set(err, "'%s' is not a checkpoint's name", name);
		return NULL;
	}
	dirfd = ergon_privdir_open(spool_dir, err);
	if (dirfd < 0)
		return NULL;
	c = lock_checkpoint(dirfd, spool_dir, name, err);
	if (!c) {
		int saved = errno;

		close(dirfd);
		errno = saved;
		return NULL;
	}
	free(read_newest(c->fd, &c->sequence));
	return c;
}

int ergon_checkpoint_write(struct ergon_checkpoint *c, const char *json, size_t len)
{
	char head[SEQUENCE_DIGITS + 2], trailer[TRAILER + 2];
	struct iovec iov[3];
	uint32_t crc;
	ssize_t n;

	if (len == 0 || len + SEQUENCE_DIGITS + 1 + TRAILER + 1 > ERGON_JOURNAL_LINE_MAX ||
	    memchr(json, '\n', len)) {
		errno = EINVAL;
		return -1;
	}
	snprintf(head, sizeof(head), "%0*" PRIu64 " ", SEQUENCE_DIGITS, c->sequence + 1);
	crc = ~crc32c_more(crc32c_more(~0u, head, SEQUENCE_DIGITS + 1), json, len);
	snprintf(trailer, sizeof(trailer), "\t%08" PRIx32 "\n", crc);
	iov[0] = (struct iovec){ head, SEQUENCE_DIGITS + 1 };
	iov[1] = (struct iovec){ (char *)json, len };
	iov[2] = (struct iovec){ trailer, TRAILER + 1 };
	do
		n = pwritev(c->fd, iov, 3, (off_t)((c->sequence + 1) % 2) * SLOT_SIZE);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)(SEQUENCE_DIGITS + 1 + len + TRAILER + 1)) {
		/* The slot may be torn now; the next attempt must not spoil the other one. */
		if (n >= 0)
			errno = ENOSPC;
		return -1;
	}
	c->sequence++;
	return fdatasync(c->fd);
}

void ergon_checkpoint_close(struct ergon_checkpoint *c, int remove)
{
	int saved = errno;

	if (!c)
		return;
	if (remove)
		unlinkat(c->dirfd, c->name, 0);
	close(c->fd);
	close(c->dirfd);
	free(c);
	errno = saved;
}

char *ergon_checkpoint_read(int dirfd, const char *name, struct ergon_error *err)
{
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *json;

	if (fd < 0) {
		ergon_error_set(err, "%s: %s", name, strerror(errno));
		return NULL;
	}
	json = read_newest(fd, NULL);
	if (!json)
		ergon_error_set(err, "%s: %s", name,
				errno == ENOMEM ? "out of memory" : "no complete checkpoint in it");
	close(fd);
	return json;
}

/*
 * The node a record names. Quotes inside names are escaped, so the text
 * below is the member and nothing else. host stands in when it is not plain.
 */
static void node_of(const char *json, const char *host, char *node, size_t size)
{
	static const char key[] = "\"node\":\"";
	const char *p = strstr(json, key);
	size_t len;

	snprintf(node, size, "%s", host);
	if (!p)
		return;
	p += sizeof(key) - 1;
	len = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	if (p[len] == '"' && len > 0 && len < size && *p != '.') {
		memcpy(node, p, len);
		node[len] = '\0';
	}
}

/* Finish one checkpoint: 1 appended, 0 not ours or empty, -1 + err. */
static int sweep_one(int dirfd, const char *spool_dir, const char *name, struct ergon_error *err)
{
	int fd = open_private(dirfd, spool_dir, name, O_RDWR, err), result = -1;
	struct ergon_journal *j = NULL;
	char node[64], host[64];
	struct stat st;
	char *json;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (!lock_file(fd, 1) || fstat(fd, &st) < 0 || st.st_nlink != 1) {
		close(fd);
		return 0;
	}
	json = read_newest(fd, NULL);
	if (!json && errno == ENOMEM) {
		ergon_error_set(err, "%s/%s: out of memory", spool_dir, name);
	} else if (!json) {
		unlinkat(dirfd, name, 0);
		result = 0;
	} else {
		snprintf(host, sizeof(host), "%.*s", (int)strcspn(name, "."), name);
		node_of(json, host, node, sizeof(node));
		j = ergon_journal_open(spool_dir, node, err);
		if (j && ergon_journal_append(j, json, strlen(json), err) == 0) {
			unlinkat(dirfd, name, 0);
			result = 1;
		}
	}
	ergon_journal_close(j);
	free(json);
	close(fd);
	return result;
}

static bool is_checkpoint_of(const char *name, const char *host)
{
	size_t len = strlen(name), host_len = host ? strlen(host) : 0;

	if (*name == '.' || len < 5 || strcmp(name + len - 5, ".ckpt") != 0)
		return false;
	return !host || (strncmp(name, host, host_len) == 0 && name[host_len] == '.');
}

int ergon_checkpoint_sweep(const char *spool_dir, const char *host, struct ergon_error *err)
{
	int dirfd = ergon_privdir_open(spool_dir, err), appended = 0, failed = 0;
	const struct dirent *entry;
	DIR *dir;

	if (dirfd < 0)
		return -1;
	dir = fdopendir(dirfd);
	if (!dir) {
		close(dirfd);
		return ergon_error_set(err, "%s: %s", spool_dir, strerror(errno));
	}
	while ((entry = readdir(dir))) {
		int n;

		if (!is_checkpoint_of(entry->d_name, host))
			continue;
		n = sweep_one(dirfd, spool_dir, entry->d_name, err);
		if (n < 0)
			failed++;
		else
			appended += n;
	}
	closedir(dir);
	return failed ? -1 : appended;
}
