/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bump allocator over chunks that double in size. Only the newest chunk is filled; what is left
 * in an older one is given up, which wastes little because a block that needs a chunk of its own is
 * rare.
 */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#define CHUNK_FIRST ((size_t)4 * 1024)
/* Chunks stop doubling here; larger ones hold one block, and no reset keeps them. */
#define CHUNK_MOST ((size_t)256 * 1024)
#define ALIGNMENT  _Alignof(max_align_t)

struct arena_chunk {
	struct arena_chunk *next; /* older */
	size_t size, used;        /* of data */
	max_align_t data[];
};

void arena_init(struct arena *arena, size_t limit)
{
	*arena = (struct arena){.limit = limit};
}

void arena_clear(struct arena *arena)
{
	struct arena_chunk *chunk, *next;

	if (!arena)
		return;
	for (chunk = arena->chunks; chunk; chunk = next) {
		next = chunk->next;
		mem_free(chunk);
	}
	arena->chunks = NULL;
	arena->used = 0;
}

void arena_reset(struct arena *arena)
{
	struct arena_chunk *chunk, *next, *kept = NULL;

	for (chunk = arena->chunks; chunk; chunk = next) {
		struct arena_chunk *loser = chunk;

		next = chunk->next;
		if (chunk->size <= CHUNK_MOST && (!kept || chunk->size > kept->size)) {
			loser = kept;
			kept = chunk;
		}
		mem_free(loser);
	}
	if (kept) {
		kept->next = NULL;
		kept->used = 0;
	}
	arena->chunks = kept;
	arena->used = 0;
}

static struct arena_chunk *add_chunk(struct arena *arena, size_t want)
{
	size_t size = arena->chunks ? MIN(arena->chunks->size * 2, CHUNK_MOST) : CHUNK_FIRST;
	struct arena_chunk *chunk;

	size = MAX(size, want);
	chunk = mem_realloc_array(NULL, sizeof(*chunk) + size, 1);
	chunk->next = arena->chunks;
	chunk->size = size;
	chunk->used = 0;
	arena->chunks = chunk;
	return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk = arena->chunks;
	void *block;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (MAX(size, 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (arena->limit > 0 && size > arena->limit - MIN(arena->used, arena->limit))
		return NULL;
	if (!chunk || chunk->size - chunk->used < size)
		chunk = add_chunk(arena, size);
	block = (char *)chunk->data + chunk->used;
	chunk->used += size;
	arena->used += size;
	return memset(block, 0, size);
}

char *arena_strndup(struct arena *arena, const char *s, size_t len)
{
	char *copy = len < SIZE_MAX ? arena_alloc(arena, len + 1) : NULL;

	if (copy && len > 0)
		memcpy(copy, s, len);
	return copy;
}
