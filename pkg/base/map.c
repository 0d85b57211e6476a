/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing. An entry sits at its home slot (the low bits of its hash) or
 * in the unbroken run of taken slots after it. Removal keeps that true by shifting later entries of
 * the run back, so there are no tombstones and a map that lives long does not decay.
 */
#include "base/map.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

#define CAPACITY_FIRST 8u
#define CAPACITY_MOST  (1u << 31)

static uint32_t fullest(uint32_t capacity)
{
	return capacity - capacity / 8;
}

void map_clear(struct map *map)
{
	if (!map)
		return;
	mem_free(map->slots);
	*map = (struct map){0};
}

/* Into the first free slot of its run; there always is one. */
static void place(struct map *map, struct map_slot entry)
{
	uint32_t mask = map->capacity - 1;
	uint32_t at = entry.hash & mask;

	while (map->slots[at].handle != MAP_NONE)
		at = (at + 1) & mask;
	map->slots[at] = entry;
}

static void resize(struct map *map, uint32_t capacity)
{
	struct map_slot *old = map->slots;
	uint32_t old_capacity = map->capacity;

	map->slots = mem_realloc_array(NULL, capacity, sizeof(*map->slots));
	memset(map->slots, 0xff, (size_t)capacity * sizeof(*map->slots)); /* MAP_NONE */
	map->capacity = capacity;
	for (uint32_t i = 0; i < old_capacity; i++)
		if (old[i].handle != MAP_NONE)
			place(map, old[i]);
	mem_free(old);
}

uint32_t map_find(const struct map *map, uint32_t hash, map_equal_fn equal, const void *context,
		  const void *key)
{
	uint32_t mask = map->capacity - 1;
	const struct map_slot *slot;

	if (map->count == 0)
		return MAP_NONE;
	for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
		slot = &map->slots[at];
		if (slot->handle == MAP_NONE)
			return MAP_NONE;
		if (slot->hash == hash && equal(context, slot->handle, key))
			return slot->handle;
	}
}

void map_insert(struct map *map, uint32_t hash, uint32_t handle)
{
	assert(handle != MAP_NONE);
	if (map->count >= fullest(map->capacity)) {
		assert(map->capacity < CAPACITY_MOST);
		resize(map, map->capacity > 0 ? map->capacity * 2 : CAPACITY_FIRST);
	}
	place(map, (struct map_slot){hash, handle});
	map->count++;
}

/* Fills the hole at @hole from later in its run: with entries whose home is not after the hole. */
static void close_hole(struct map *map, uint32_t hole)
{
	uint32_t mask = map->capacity - 1;

	for (uint32_t at = (hole + 1) & mask; map->slots[at].handle != MAP_NONE;
	     at = (at + 1) & mask) {
		uint32_t from_home = (at - map->slots[at].hash) & mask;

		if (from_home < ((at - hole) & mask))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole].handle = MAP_NONE;
}

bool map_remove(struct map *map, uint32_t hash, uint32_t handle)
{
	uint32_t mask = map->capacity - 1;
	uint32_t at = hash & mask;

	if (map->count == 0 || handle == MAP_NONE)
		return false;
	while (map->slots[at].handle != handle) {
		if (map->slots[at].handle == MAP_NONE)
			return false;
		at = (at + 1) & mask;
	}
	close_hole(map, at);
	map->count--;
	if (map->capacity > CAPACITY_FIRST && map->count < map->capacity / 8)
		resize(map, map->capacity / 2);
	return true;
}

void map_clone(const struct map *map, struct map *copy)
{
	if (copy->capacity != map->capacity) {
		map_clear(copy);
		if (map->capacity > 0)
			copy->slots = mem_realloc_array(NULL, map->capacity, sizeof(*map->slots));
	}
	if (map->capacity > 0)
		memcpy(copy->slots, map->slots, (size_t)map->capacity * sizeof(*map->slots));
	copy->capacity = map->capacity;
	copy->count = map->count;
}

size_t map_bytes(const struct map *map)
{
	return (size_t)map->capacity * sizeof(*map->slots);
}
