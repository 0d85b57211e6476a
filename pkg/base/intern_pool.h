/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_INTERN_POOL_H
#define GPUQOS_BASE_INTERN_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/str.h"

/*
 * Where interned strings live; used by intern.c alone. A slot holds a four-byte head (length and
 * references), the bytes and a zero byte. Slots of about one size share a chunk of
 * POOL_CHUNK_SLOTS; a handle is the chunk's number and the slot's, so no table leads from handles
 * to bytes. Chunks never move; an empty one is released unless it is the last with room in its
 * class.
 */
#define POOL_CHUNK_BITS  7
#define POOL_CHUNK_SLOTS (1u << POOL_CHUNK_BITS)
#define POOL_HANDLE_BITS 26 /* what the index has room for */

/* Slot sizes go up in steps of 2 bytes to 64, of 8 to 128, of 16 to 256, of 32 beyond. */
#define POOL_CLASSES 58

struct pool_chunk {
	char *slots;         /* owned; NULL: this number is free */
	uint32_t next, prev; /* chunks of the class that have room; free numbers use next */
	uint16_t slot_size;
	uint8_t class_index;
	uint8_t live;       /* slots in use */
	uint8_t touched;    /* slots below were in use at some time */
	uint8_t first_free; /* chain through freed slots, POOL_CHUNK_SLOTS at its end */
};

struct pool {
	struct pool_chunk *chunks; /* owned; number 0 stays unused, so that no handle is 0 */
	size_t capacity, end;
	uint32_t free_number;        /* 0 when there is none */
	uint32_t room[POOL_CLASSES]; /* first chunk of each class with room, 0 when there is none */
	size_t bytes;                /* in chunks */
};

void pool_clear(struct pool *pool);

/* A slot holding @s (1 to LIMIT_INTERNED_STRING bytes) with one reference. */
uint32_t pool_add(struct pool *pool, struct str s);
void pool_remove(struct pool *pool, uint32_t handle);

struct str pool_str(const struct pool *pool, uint32_t handle);

/* The references of a string: read, and set within what 22 bits hold. */
uint32_t pool_refs(const struct pool *pool, uint32_t handle);
void pool_set_refs(struct pool *pool, uint32_t handle, uint32_t refs);

size_t pool_bytes(const struct pool *pool);

#endif
