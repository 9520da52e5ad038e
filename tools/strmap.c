/* SPDX-License-Identifier: BSD-3-Clause */
#include "strmap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct strmap_slot {
	char *key;
	size_t len;
	uint64_t hash;
	void *value;
};

static uint64_t hash_of(const char *key, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u;   /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)key[i]) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

/* The slot of the key, or the free one where it belongs. */
static struct strmap_slot *find(struct strmap_slot *slots, size_t capacity, const char *key,
				size_t len, uint64_t hash)
{
	for (size_t i = hash & (capacity - 1);; i = (i + 1) & (capacity - 1)) {
		struct strmap_slot *slot = &slots[i];

		if (!slot->key || (slot->hash == hash && slot->len == len &&
				   memcmp(slot->key, key, len) == 0))
			return slot;
	}
}

void *strmap_get(const struct strmap *map, const char *key, size_t len)
{
	if (map->n == 0)
		return NULL;
	return find(map->slots, map->capacity, key, len, hash_of(key, len))->value;
}

static int grow(struct strmap *map)
{
	size_t capacity = map->capacity ? 2 * map->capacity : 64;
	struct strmap_slot *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < map->capacity; i++) {
		struct strmap_slot *slot = &map->slots[i];

		if (slot->key)
			*find(slots, capacity, slot->key, slot->len, slot->hash) = *slot;
	}
	free(map->slots);
	map->slots = slots;
	map->capacity = capacity;
	return 0;
}

int strmap_put(struct strmap *map, const char *key, size_t len, void *value)
{
	struct strmap_slot *slot;
	uint64_t hash = hash_of(key, len);
	char *copy;

	if (4 * (map->n + 1) > 3 * map->capacity && grow(map) < 0)
		return -1;
	copy = malloc(len + 1);
	if (!copy)
		return -1;
	memcpy(copy, key, len);
	copy[len] = '\0';
	slot = find(map->slots, map->capacity, key, len, hash);
	*slot = (struct strmap_slot){ copy, len, hash, value };
	map->n++;
	return 0;
}

void strmap_free(struct strmap *map)
{
	for (size_t i = 0; i < map->capacity; i++)
		free(map->slots[i].key);
	free(map->slots);
	memset(map, 0, sizeof(*map));
}
