/* SPDX-License-Identifier: BSD-3-Clause */
/* head and tail only grow; each is written by one side, on its own cache line. */
#include "ring.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64
#define RING_MAX_BYTES ((size_t)1 << 30)

struct ergon_ring {
	size_t mask;
	size_t item_size;
	unsigned char *items;
	_Alignas(CACHE_LINE) _Atomic uint64_t head;     /* items pushed */
	_Atomic uint64_t lost;
	_Alignas(CACHE_LINE) _Atomic uint64_t tail;     /* items popped */
};

struct ergon_ring *ergon_ring_create(size_t capacity, size_t item_size)
{
	struct ergon_ring *ring;
	size_t n = 1;

	if (capacity == 0 || item_size == 0 || capacity > RING_MAX_BYTES / item_size) {
		errno = EINVAL;
		return NULL;
	}
	while (n < capacity)
		n *= 2;
	ring = aligned_alloc(CACHE_LINE, sizeof(*ring));
	if (!ring)
		return NULL;
	memset(ring, 0, sizeof(*ring));
	ring->mask = n - 1;
	ring->item_size = item_size;
	ring->items = calloc(n, item_size);
	if (!ring->items) {
		ergon_ring_destroy(ring);
		return NULL;
	}
	return ring;
}

void ergon_ring_destroy(struct ergon_ring *ring)
{
	int saved = errno;

	if (!ring)
		return;
	free(ring->items);
	free(ring);
	errno = saved;
}

static unsigned char *item_at(const struct ergon_ring *ring, uint64_t position)
{
	return ring->items + (position & ring->mask) * ring->item_size;
}

bool ergon_ring_push(struct ergon_ring *ring, const void *item)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);

	if (head - tail > ring->mask) {
		atomic_fetch_add_explicit(&ring->lost, 1, memory_order_relaxed);
		return false;
	}
	memcpy(item_at(ring, head), item, ring->item_size);
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	return true;
}

bool ergon_ring_pop(struct ergon_ring *ring, void *item)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

	if (head == tail)
		return false;
	memcpy(item, item_at(ring, tail), ring->item_size);
	atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
	return true;
}

uint64_t ergon_ring_lost(const struct ergon_ring *ring)
{
	return atomic_load_explicit(&((struct ergon_ring *)ring)->lost, memory_order_relaxed);
}
