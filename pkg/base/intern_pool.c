/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Size-classed chunks of string slots. A freed slot's first byte is the number of the next free
 * slot of its chunk. Heads are copied in and out, because slots are aligned to two bytes only.
 */
#include "base/intern_pool.h"

#include <assert.h>
#include <string.h>

#include "base/macros.h"
#include "base/mem.h"

#define HEAD        sizeof(uint32_t)
#define LENGTH_BITS 10
#define LENGTH_MASK ((1u << LENGTH_BITS) - 1)

_Static_assert(LIMIT_INTERNED_STRING <= LENGTH_MASK, "a length fits its bits");

/* Each row covers slot sizes above the row before, up to @largest. */
static const struct {
	uint16_t largest, step;
	uint8_t first_class;
} ladder[] = {
	{64, 2, 0},
	{128, 8, 32},
	{256, 16, 40},
	{HEAD + LIMIT_INTERNED_STRING + 1 + 31, 32, 48},
};

static uint8_t class_of(size_t need, uint16_t *ret_slot_size)
{
	size_t row = 0, floor = 0, steps;

	while (need > ladder[row].largest)
		floor = ladder[row++].largest;
	steps = (need - floor + ladder[row].step - 1) / ladder[row].step;
	*ret_slot_size = (uint16_t)(floor + steps * ladder[row].step);
	return (uint8_t)(ladder[row].first_class + steps - 1);
}

static struct pool_chunk *chunk_of(const struct pool *pool, uint32_t handle)
{
	return &pool->chunks[handle >> POOL_CHUNK_BITS];
}

static char *slot_of(const struct pool *pool, uint32_t handle)
{
	const struct pool_chunk *chunk = chunk_of(pool, handle);

	return chunk->slots + (size_t)(handle % POOL_CHUNK_SLOTS) * chunk->slot_size;
}

void pool_clear(struct pool *pool)
{
	for (size_t i = 1; i < pool->end; i++)
		mem_free(pool->chunks[i].slots);
	mem_free(pool->chunks);
	*pool = (struct pool){0};
}

/* Puts a chunk first among those of its class that have room. */
static void link_room(struct pool *pool, uint32_t number)
{
	struct pool_chunk *chunk = &pool->chunks[number];
	uint32_t *first = &pool->room[chunk->class_index];

	chunk->prev = 0;
	chunk->next = *first;
	if (*first)
		pool->chunks[*first].prev = number;
	*first = number;
}

static void unlink_room(struct pool *pool, uint32_t number)
{
	struct pool_chunk *chunk = &pool->chunks[number];

	if (chunk->prev)
		pool->chunks[chunk->prev].next = chunk->next;
	else
		pool->room[chunk->class_index] = chunk->next;
	if (chunk->next)
		pool->chunks[chunk->next].prev = chunk->prev;
}

static uint32_t new_number(struct pool *pool)
{
	uint32_t number = pool->free_number;

	if (number) {
		pool->free_number = pool->chunks[number].next;
		return number;
	}
	pool->end = MAX(pool->end, 1);
	assert(pool->end < 1u << (POOL_HANDLE_BITS - POOL_CHUNK_BITS));
	mem_grow((void **)&pool->chunks, &pool->capacity, pool->end + 1, sizeof(*pool->chunks));
	return (uint32_t)pool->end++;
}

static uint32_t add_chunk(struct pool *pool, uint8_t class_index, uint16_t slot_size)
{
	uint32_t number = new_number(pool);

	pool->chunks[number] = (struct pool_chunk){
		.slots = mem_realloc_array(NULL, POOL_CHUNK_SLOTS, slot_size),
		.slot_size = slot_size,
		.class_index = class_index,
		.first_free = POOL_CHUNK_SLOTS,
	};
	pool->bytes += (size_t)POOL_CHUNK_SLOTS * slot_size;
	link_room(pool, number);
	return number;
}

/* A slot of a chunk that has room: one freed before, else the next that was never used. */
static uint32_t take_slot(struct pool *pool, uint32_t number)
{
	struct pool_chunk *chunk = &pool->chunks[number];
	uint32_t slot = chunk->first_free;

	if (slot == POOL_CHUNK_SLOTS)
		slot = chunk->touched++;
	else
		chunk->first_free = (uint8_t)chunk->slots[(size_t)slot * chunk->slot_size];
	chunk->live++;
	if (chunk->live == POOL_CHUNK_SLOTS)
		unlink_room(pool, number);
	return number << POOL_CHUNK_BITS | slot;
}

uint32_t pool_add(struct pool *pool, struct str s)
{
	uint16_t slot_size;
	uint8_t class_index;
	uint32_t number, handle, head;
	char *slot;

	assert(s.len > 0 && s.len <= LIMIT_INTERNED_STRING);
	class_index = class_of(HEAD + s.len + 1, &slot_size);
	number = pool->room[class_index];
	if (!number)
		number = add_chunk(pool, class_index, slot_size);
	handle = take_slot(pool, number);
	slot = slot_of(pool, handle);
	head = 1u << LENGTH_BITS | (uint32_t)s.len;
	memcpy(slot, &head, HEAD);
	memcpy(slot + HEAD, s.data, s.len);
	slot[HEAD + s.len] = '\0';
	return handle;
}

static void release_chunk(struct pool *pool, uint32_t number)
{
	struct pool_chunk *chunk = &pool->chunks[number];

	unlink_room(pool, number);
	pool->bytes -= (size_t)POOL_CHUNK_SLOTS * chunk->slot_size;
	mem_free(chunk->slots);
	*chunk = (struct pool_chunk){.next = pool->free_number};
	pool->free_number = number;
}

void pool_remove(struct pool *pool, uint32_t handle)
{
	uint32_t number = handle >> POOL_CHUNK_BITS;
	struct pool_chunk *chunk = &pool->chunks[number];

	*slot_of(pool, handle) = (char)chunk->first_free;
	chunk->first_free = (uint8_t)(handle % POOL_CHUNK_SLOTS);
	if (chunk->live == POOL_CHUNK_SLOTS)
		link_room(pool, number);
	chunk->live--;
	if (chunk->live == 0 && (chunk->prev || chunk->next))
		release_chunk(pool, number);
}

static uint32_t head_of(const struct pool *pool, uint32_t handle)
{
	uint32_t head;

	memcpy(&head, slot_of(pool, handle), HEAD);
	return head;
}

struct str pool_str(const struct pool *pool, uint32_t handle)
{
	return (struct str){slot_of(pool, handle) + HEAD, head_of(pool, handle) & LENGTH_MASK};
}

uint32_t pool_refs(const struct pool *pool, uint32_t handle)
{
	return head_of(pool, handle) >> LENGTH_BITS;
}

void pool_set_refs(struct pool *pool, uint32_t handle, uint32_t refs)
{
	uint32_t head = (head_of(pool, handle) & LENGTH_MASK) | refs << LENGTH_BITS;

	memcpy(slot_of(pool, handle), &head, HEAD);
}

size_t pool_bytes(const struct pool *pool)
{
	return pool->bytes + pool->capacity * sizeof(*pool->chunks);
}
