/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded queue between one producing and one consuming thread. Items
 * are copied in and out; a full ring refuses the item and counts it, it
 * never blocks and never overwrites.
 */
#ifndef ERGON_RING_H
#define ERGON_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ergon_ring;

/* capacity is rounded up to a power of 2. NULL + errno (EINVAL: nothing, or over 1 GiB; ENOMEM). */
struct ergon_ring *ergon_ring_create(size_t capacity, size_t item_size);

/* NULL allowed; keeps errno. */
void ergon_ring_destroy(struct ergon_ring *ring);

/* Producer: false when the ring is full; the item is then lost and counted. */
bool ergon_ring_push(struct ergon_ring *ring, const void *item);

/* Consumer: false when the ring is empty (*item unchanged). */
bool ergon_ring_pop(struct ergon_ring *ring, void *item);

/* Items refused so far; any thread. */
uint64_t ergon_ring_lost(const struct ergon_ring *ring);

#endif
