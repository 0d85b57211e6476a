/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index is an open-addressed array of 32-bit words: a handle in the low bits and six bits of
 * the hash above, so that a probe rarely has to look at a string that is not the one. Hashes are
 * not kept: growing, and shifting back after a removal, compute them again, which is rare and cheap
 * beside four bytes for every string.
 *
 * The index is at most 7/8 full and grows by half. A string's home is its hash scaled to the
 * capacity, hence any capacity will do.
 */
#include "base/intern.h"

#include <assert.h>

#include "base/intern_pool.h"
#include "base/limits.h"
#include "base/mem.h"

#define HANDLE_MASK    ((1u << POOL_HANDLE_BITS) - 1)
#define CAPACITY_FIRST 64u

struct intern {
	struct hash_key key;
	struct pool pool;
	uint32_t *words; /* owned; 0: free */
	uint32_t capacity, count;
};

/* Where a string belongs in the index and what its word starts with. */
struct spot {
	uint32_t home, tag;
};

static struct spot spot_of(const struct intern *intern, struct str s)
{
	uint64_t hash = hash_bytes(&intern->key, s.data, s.len);

	return (struct spot){
		.home = (uint32_t)((hash >> 32) * intern->capacity >> 32),
		.tag = (uint32_t)hash & ~HANDLE_MASK,
	};
}

static uint32_t after(const struct intern *intern, uint32_t at)
{
	return at + 1 < intern->capacity ? at + 1 : 0;
}

struct intern *intern_new(const struct hash_key *key)
{
	struct intern *intern = mem_alloc(sizeof(*intern));

	intern->key = *key;
	return intern;
}

void intern_free(struct intern *intern)
{
	if (!intern)
		return;
	pool_clear(&intern->pool);
	mem_free(intern->words);
	mem_free(intern);
}

static void place(struct intern *intern, struct spot spot, uint32_t handle)
{
	uint32_t at = spot.home;

	while (intern->words[at])
		at = after(intern, at);
	intern->words[at] = spot.tag | handle;
}

static void resize(struct intern *intern, uint32_t capacity)
{
	uint32_t *old = intern->words;
	uint32_t old_capacity = intern->capacity;

	intern->words = mem_alloc_array(capacity, sizeof(*intern->words));
	intern->capacity = capacity;
	for (uint32_t i = 0; i < old_capacity; i++) {
		uint32_t handle = old[i] & HANDLE_MASK;

		if (handle)
			place(intern, spot_of(intern, pool_str(&intern->pool, handle)), handle);
	}
	mem_free(old);
}

/* The index position of @s, or of the free word where its run ends. */
static uint32_t probe(const struct intern *intern, struct str s, struct spot spot)
{
	uint32_t at = spot.home;

	for (; intern->words[at]; at = after(intern, at)) {
		uint32_t word = intern->words[at];

		if ((word & ~HANDLE_MASK) == spot.tag &&
		    str_equal(pool_str(&intern->pool, word & HANDLE_MASK), s))
			break;
	}
	return at;
}

uint32_t intern_find(const struct intern *intern, struct str s)
{
	uint32_t handle;

	if (s.len == 0)
		return INTERN_EMPTY;
	if (intern->count == 0 || s.len > LIMIT_INTERNED_STRING)
		return INTERN_NONE;
	handle = intern->words[probe(intern, s, spot_of(intern, s))] & HANDLE_MASK;
	return handle ? handle : INTERN_NONE;
}

uint32_t intern_ref_handle(struct intern *intern, uint32_t handle)
{
	uint32_t refs;

	if (handle == INTERN_EMPTY)
		return handle;
	refs = pool_refs(&intern->pool, handle);
	if (refs < INTERN_MAX_REFS)
		pool_set_refs(&intern->pool, handle, refs + 1);
	return handle;
}

uint32_t intern_ref(struct intern *intern, struct str s)
{
	uint32_t handle = intern_find(intern, s);

	if (handle != INTERN_NONE)
		return intern_ref_handle(intern, handle);
	if (intern->count >= intern->capacity - intern->capacity / 8)
		resize(intern, MAX(intern->capacity + intern->capacity / 2, CAPACITY_FIRST));
	handle = pool_add(&intern->pool, s);
	place(intern, spot_of(intern, s), handle);
	intern->count++;
	return handle;
}

/* Fills the hole from later in its run: with words whose home is not after the hole. */
static void close_hole(struct intern *intern, uint32_t hole)
{
	for (uint32_t at = after(intern, hole); intern->words[at]; at = after(intern, at)) {
		struct str s = pool_str(&intern->pool, intern->words[at] & HANDLE_MASK);
		uint32_t home = spot_of(intern, s).home;
		bool between = hole <= at ? hole < home && home <= at : hole < home || home <= at;

		if (between)
			continue;
		intern->words[hole] = intern->words[at];
		hole = at;
	}
	intern->words[hole] = 0;
}

void intern_unref(struct intern *intern, uint32_t handle)
{
	uint32_t refs, at, spare;
	struct str s;

	if (handle == INTERN_EMPTY)
		return;
	refs = pool_refs(&intern->pool, handle);
	assert(refs > 0);
	if (refs == INTERN_MAX_REFS)
		return;
	if (refs > 1) {
		pool_set_refs(&intern->pool, handle, refs - 1);
		return;
	}
	s = pool_str(&intern->pool, handle);
	at = probe(intern, s, spot_of(intern, s));
	assert((intern->words[at] & HANDLE_MASK) == handle);
	close_hole(intern, at);
	pool_remove(&intern->pool, handle);
	intern->count--;
	spare = intern->capacity / 4;
	if (intern->count < spare && spare >= CAPACITY_FIRST)
		resize(intern, intern->capacity / 2);
}

struct str intern_str(const struct intern *intern, uint32_t handle)
{
	return handle == INTERN_EMPTY ? STR("") : pool_str(&intern->pool, handle);
}

uint32_t intern_count(const struct intern *intern)
{
	return intern->count;
}

size_t intern_bytes(const struct intern *intern)
{
	return sizeof(*intern) + intern->capacity * sizeof(*intern->words) +
	       pool_bytes(&intern->pool);
}
