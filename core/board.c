/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * File layout: header, CPU table, ring of slots. The magic is stored last,
 * so a reader sees a whole header or none. Every word of a slot is atomic:
 * a release store of data cannot move before the odd sequence number, an
 * acquire load of data cannot move after the check of it. On x86 both are
 * plain moves. Limits: same machine, same byte order.
 */
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapfile.h"

#define BOARD_MAGIC 0x6472616f62677265u /* "ergboard" */
#define BOARD_VERSION 2u
#define BOARD_MAX_RING (1u << 20)
#define BOARD_MAX_CPUS (1u << 16)
#define BOARD_ALIGN 64u

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a board needs lock-free 64-bit atomics");

struct board_header {
	_Atomic uint64_t magic;
	uint32_t version;
	uint32_t header_size;
	uint32_t ring;
	uint32_t slot_size;
	uint64_t cpus_offset;
	uint64_t slots_offset;
	struct ergon_board_info info;
	_Atomic uint32_t finished;
	_Alignas(BOARD_ALIGN) _Atomic uint64_t head;
};

/* seq: 2 * index + 1 while sample `index` is being written, + 2 when it is there. */
struct board_slot {
	_Atomic uint64_t seq;
	_Atomic uint64_t t_ns;
	_Atomic uint64_t flags;
	_Atomic uint64_t counts[];
};

struct ergon_board {
	struct board_header *header;
	unsigned char *slots;
	const struct ergon_board_cpu *cpus;
	size_t size;
	/* Copies: what was checked must not change under a reader. */
	uint32_t ring;
	uint32_t slot_size;
	uint32_t nchannels;
};

static uint64_t align_up(uint64_t n)
{
	return (n + BOARD_ALIGN - 1) / BOARD_ALIGN * BOARD_ALIGN;
}

static uint32_t slot_size(uint32_t nchannels)
{
	return (uint32_t)align_up(sizeof(struct board_slot) + nchannels * sizeof(uint64_t));
}

static uint64_t cpus_offset(void)
{
	return align_up(sizeof(struct board_header));
}

static uint64_t slots_offset(uint32_t ncpus)
{
	return align_up(cpus_offset() + (uint64_t)ncpus * sizeof(struct ergon_board_cpu));
}

static uint64_t file_size(uint32_t ncpus, uint32_t ring, uint32_t nchannels)
{
	return slots_offset(ncpus) + (uint64_t)ring * slot_size(nchannels);
}

static bool terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* What is wrong with the constant part; NULL when nothing is. */
static const char *check_info(const struct ergon_board_info *info)
{
	if (info->nchannels > ERGON_BOARD_MAX_CHANNELS)
		return "too many channels";
	if (info->npackages > ERGON_BOARD_MAX_PACKAGES)
		return "too many packages";
	if (info->ncpus > BOARD_MAX_CPUS)
		return "too many CPUs";
	if (!terminated(info->mechanism, sizeof(info->mechanism)) ||
	    !terminated(info->scope, sizeof(info->scope)) ||
	    !terminated(info->host, sizeof(info->host)) ||
	    !terminated(info->reason, sizeof(info->reason)))
		return "text without an end";
	if (!isfinite(info->hz) || info->hz <= 0)
		return "rate not positive";
	if (!isfinite(info->node_share) || info->node_share < 0 || info->node_share > 1)
		return "share of the node not within 0 and 1";
	for (uint32_t i = 0; i < info->nchannels; i++) {
		const struct ergon_board_channel *ch = &info->channels[i];

		if (!terminated(ch->name, sizeof(ch->name)))
			return "channel name without an end";
		if (!isfinite(ch->unit_j) || ch->unit_j <= 0)
			return "channel unit not positive";
		if (ch->domain < 0 || ch->domain >= ERGON_DOMAIN_COUNT)
			return "channel of an unknown domain";
		if (ch->package < -1 || ch->package >= (int32_t)info->npackages)
			return "channel of a package that is not there";
	}
	return NULL;
}

static const char *check_cpus(const struct ergon_board_info *info,
			      const struct ergon_board_cpu *cpus)
{
	for (uint32_t i = 0; i < info->ncpus; i++)
		if (cpus[i].os < 0 || cpus[i].core < 0 || cpus[i].package < 0 ||
		    cpus[i].package >= (int32_t)info->npackages)
			return "CPU of a package that is not there";
	return NULL;
}

static uint32_t round_up_ring(uint32_t ring)
{
	uint32_t n = 1;

	while (n < ring)
		n *= 2;
	return n;
}

static struct ergon_board *board_over(void *map, size_t size)
{
	struct ergon_board *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->header = map;
	b->size = size;
	return b;
}

/* Fill in the views once the header says how long things are. */
static void board_views(struct ergon_board *b)
{
	unsigned char *base = (unsigned char *)b->header;

	b->ring = b->header->ring;
	b->slot_size = b->header->slot_size;
	b->nchannels = b->header->info.nchannels;
	b->cpus = (const struct ergon_board_cpu *)(base + b->header->cpus_offset);
	b->slots = base + b->header->slots_offset;
}

static void fill_header(struct board_header *h, const struct ergon_board_info *info,
			const struct ergon_board_cpu *cpus, uint32_t ring)
{
	h->version = BOARD_VERSION;
	h->header_size = sizeof(*h);
	h->ring = ring;
	h->slot_size = slot_size(info->nchannels);
	h->cpus_offset = cpus_offset();
	h->slots_offset = slots_offset(info->ncpus);
	h->info = *info;
	if (info->ncpus)
		memcpy((unsigned char *)h + h->cpus_offset, cpus, info->ncpus * sizeof(*cpus));
	atomic_store_explicit(&h->magic, BOARD_MAGIC, memory_order_release);
}

struct ergon_board *ergon_board_create(int dirfd, const char *name,
				       const struct ergon_board_info *info,
				       const struct ergon_board_cpu *cpus,
				       uint32_t ring, struct ergon_error *err)
{
	struct ergon_board *b = NULL;
	const char *wrong = "no name or description";
	size_t size;
	void *map;
	int fd, saved;

	if (name && *name && info)
		wrong = check_info(info);
	if (!wrong && info->ncpus)
		wrong = cpus ? check_cpus(info, cpus) : "no CPU table";
	if (!wrong && (ring == 0 || ring > BOARD_MAX_RING))
		wrong = "ring size not within 1 and 1048576";
	if (wrong) {
		errno = EINVAL;
		ergon_error_set(err, "cannot make a board: %s", wrong);
		return NULL;
	}
	ring = round_up_ring(ring);
	size = file_size(info->ncpus, ring, info->nchannels);
	fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
	if (fd < 0) {
		ergon_error_set(err, "cannot create the board '%s': %s", name, strerror(errno));
		return NULL;
	}
	map = fchmod(fd, 0444) < 0 ? NULL : ergon_mapfile(fd, size);
	if (map)
		b = board_over(map, size);
	saved = errno;
	close(fd);
	if (!b) {
		if (map)
			munmap(map, size);
		unlinkat(dirfd, name, 0);
		errno = saved;
		ergon_error_set(err, "cannot allocate %zu bytes for the board '%s': %s",
				size, name, strerror(errno));
		return NULL;
	}
	fill_header(b->header, info, cpus, ring);
	board_views(b);
	return b;
}

static struct board_slot *slot_of(const struct ergon_board *b, uint64_t index)
{
	return (struct board_slot *)(b->slots + (index & (b->ring - 1)) * (size_t)b->slot_size);
}

void ergon_board_publish(struct ergon_board *b, uint64_t t_ns, uint32_t flags,
			 const uint64_t *counts)
{
	uint64_t index = atomic_load_explicit(&b->header->head, memory_order_relaxed);
	struct board_slot *slot = slot_of(b, index);

	atomic_store_explicit(&slot->seq, 2 * index + 1, memory_order_relaxed);
	atomic_store_explicit(&slot->t_ns, t_ns, memory_order_release);
	atomic_store_explicit(&slot->flags, flags, memory_order_release);
	for (uint32_t i = 0; i < b->nchannels; i++)
		atomic_store_explicit(&slot->counts[i], counts[i], memory_order_release);
	atomic_store_explicit(&slot->seq, 2 * index + 2, memory_order_release);
	atomic_store_explicit(&b->header->head, index + 1, memory_order_release);
}

void ergon_board_finish(struct ergon_board *b)
{
	atomic_store_explicit(&b->header->finished, 1, memory_order_release);
}

/* What is wrong with a mapped header; NULL when nothing is. */
static const char *check_header(const struct board_header *h, uint64_t size)
{
	const char *wrong;

	if (h->version != BOARD_VERSION)
		return "another version of ergon wrote it";
	if (h->header_size != sizeof(*h))
		return "another build of ergon wrote it";
	wrong = check_info(&h->info);
	if (wrong)
		return wrong;
	if (h->ring == 0 || h->ring > BOARD_MAX_RING || (h->ring & (h->ring - 1)))
		return "bad ring size";
	if (h->slot_size != slot_size(h->info.nchannels) || h->cpus_offset != cpus_offset() ||
	    h->slots_offset != slots_offset(h->info.ncpus))
		return "bad offsets";
	if (size < file_size(h->info.ncpus, h->ring, h->info.nchannels))
		return "it is truncated";
	return check_cpus(&h->info, (const struct ergon_board_cpu *)
			  ((const unsigned char *)h + h->cpus_offset));
}

static struct ergon_board *refuse(struct ergon_error *err, int code,
				  const char *path, const char *why)
{
	errno = code;
	ergon_error_set(err, "%s: %s", path, why);
	return NULL;
}

static struct ergon_board *map_fd(int fd, const char *path, struct ergon_error *err)
{
	struct ergon_board *b;
	struct stat st;
	const char *wrong;
	uint64_t magic;
	size_t size;
	void *map;

	if (fstat(fd, &st) < 0)
		return refuse(err, errno, path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse(err, EINVAL, path, "not a board: not a regular file");
	if (st.st_size == 0)
		return refuse(err, EAGAIN, path, "the board is still being made");
	if ((uint64_t)st.st_size < sizeof(struct board_header))
		return refuse(err, EINVAL, path, "not a board: too short");
	size = (size_t)st.st_size;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return refuse(err, errno, path, strerror(errno));
	b = board_over(map, size);
	if (!b) {
		munmap(map, size);
		return refuse(err, ENOMEM, path, strerror(ENOMEM));
	}
	magic = atomic_load_explicit(&b->header->magic, memory_order_acquire);
	if (magic != BOARD_MAGIC) {
		ergon_board_close(b);
		return magic ? refuse(err, EINVAL, path, "not a board: wrong magic number") :
			       refuse(err, EAGAIN, path, "the board is still being made");
	}
	wrong = check_header(b->header, size);
	if (wrong) {
		ergon_board_close(b);
		errno = EINVAL;
		ergon_error_set(err, "%s: not a board this program can read: %s", path, wrong);
		return NULL;
	}
	board_views(b);
	return b;
}

struct ergon_board *ergon_board_map(const char *path, struct ergon_error *err)
{
	struct ergon_board *b;
	int fd, saved;

	if (!path || !*path)
		return refuse(err, EINVAL, "board", "no path given");
	/* O_NONBLOCK: a FIFO put in its place must not hold us up. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return refuse(err, errno, path, strerror(errno));
	b = map_fd(fd, path, err);
	saved = errno;
	close(fd);
	errno = saved;
	return b;
}

const struct ergon_board_info *ergon_board_info(const struct ergon_board *b)
{
	return &b->header->info;
}

const struct ergon_board_cpu *ergon_board_cpus(const struct ergon_board *b)
{
	return b->cpus;
}

uint64_t ergon_board_head(const struct ergon_board *b)
{
	return atomic_load_explicit(&b->header->head, memory_order_relaxed);
}

bool ergon_board_finished(const struct ergon_board *b)
{
	return atomic_load_explicit(&b->header->finished, memory_order_acquire) != 0;
}

uint64_t ergon_board_tail(const struct ergon_board *b)
{
	uint64_t head = ergon_board_head(b);

	return head > b->ring ? head - b->ring : 0;
}

int ergon_board_read(const struct ergon_board *b, uint64_t index, struct ergon_board_sample *out)
{
	struct board_slot *slot = slot_of(b, index);
	uint64_t expected = 2 * index + 2;
	struct ergon_board_sample sample;

	if (atomic_load_explicit(&slot->seq, memory_order_acquire) != expected)
		return -1;
	sample.index = index;
	sample.t_ns = atomic_load_explicit(&slot->t_ns, memory_order_acquire);
	sample.flags = (uint32_t)atomic_load_explicit(&slot->flags, memory_order_acquire);
	for (uint32_t i = 0; i < b->nchannels; i++)
		sample.counts[i] = atomic_load_explicit(&slot->counts[i], memory_order_acquire);
	if (atomic_load_explicit(&slot->seq, memory_order_relaxed) != expected)
		return -1;
	out->index = sample.index;
	out->t_ns = sample.t_ns;
	out->flags = sample.flags;
	memcpy(out->counts, sample.counts, b->nchannels * sizeof(out->counts[0]));
	return 0;
}

void ergon_board_close(struct ergon_board *b)
{
	int saved = errno;

	if (!b)
		return;
	munmap(b->header, b->size);
	free(b);
	errno = saved;
}
