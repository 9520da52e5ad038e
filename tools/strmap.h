/* SPDX-License-Identifier: BSD-3-Clause */
/* A map from byte strings to pointers; open addressing, no removal. */
#ifndef ERGON_STRMAP_H
#define ERGON_STRMAP_H

#include <stddef.h>

struct strmap {
	struct strmap_slot *slots;
	size_t n, capacity;
};

/* The value kept under the key, NULL: none. */
void *strmap_get(const struct strmap *map, const char *key, size_t len);

/* Keep value (not NULL) under a new key, which is copied. -1: out of memory. */
int strmap_put(struct strmap *map, const char *key, size_t len, void *value);

/* Frees the map, not the values. */
void strmap_free(struct strmap *map);

#endif
