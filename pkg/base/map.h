/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_MAP_H
#define GPUQOS_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/*
 * An index over records that live elsewhere: open addressing with linear probing and backward-shift
 * deletion, from a 32-bit hash to a 32-bit handle, 8 bytes a slot, at most 7/8 full. The map knows
 * no keys: the caller hashes, and says whether a handle's record has the key. A zeroed map is empty
 * and ready. Handles are at most MAP_NONE - 1.
 */
#define MAP_NONE UINT32_MAX

struct map_slot {
	uint32_t hash, handle; /* handle MAP_NONE: the slot is free */
};

struct map {
	struct map_slot *slots; /* owned; capacity is a power of two */
	uint32_t capacity, count;
};

/* Whether the record behind @handle has @key. */
typedef bool (*map_equal_fn)(const void *context, uint32_t handle, const void *key);

void map_clear(struct map *map);

/* The handle under @hash whose record equals @key, or MAP_NONE. */
uint32_t map_find(const struct map *map, uint32_t hash, map_equal_fn equal, const void *context,
		  const void *key);

/*
 * Adds a handle, at most 2^31 * 7/8 of them. The caller has made sure that its key is not in the
 * map yet.
 */
void map_insert(struct map *map, uint32_t hash, uint32_t handle);

/*
 * Removes exactly this handle; false when it was not there. Shrinks a map that became mostly empty.
 */
bool map_remove(struct map *map, uint32_t hash, uint32_t handle);

/* Makes @copy (zeroed or in use) an independent copy. */
void map_clone(const struct map *map, struct map *copy);

/* Bytes held. */
size_t map_bytes(const struct map *map);

DEFINE_CLEAR(struct map, map_clear)

#endif
