/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_ARENA_H
#define GPUQOS_BASE_ARENA_H

#include <stddef.h>

#include "base/macros.h"

/*
 * Memory for one decode or one plan: many small blocks, released all at once. Everything taken from
 * an arena is *borrowed* and dies at arena_reset() or arena_clear(). A reset keeps the largest
 * chunk of moderate size, so that decoding a stream of objects soon does not touch malloc. A zeroed
 * arena is ready for use with no limit.
 */
struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* newest first */
	size_t used;  /* bytes handed out since the last reset, blocks rounded up to align */
	size_t limit; /* most bytes to hand out, 0 for none */
};

void arena_init(struct arena *arena, size_t limit);
void arena_clear(struct arena *arena);
void arena_reset(struct arena *arena);

/*
 * Zeroed, aligned for any type. NULL when the limit would be exceeded: the caller turns that into
 * ERROR_LIMIT. @size 0 is allowed.
 */
void *arena_alloc(struct arena *arena, size_t size) MUST_CHECK;
/* A terminated copy of @len bytes. NULL as above. */
char *arena_strndup(struct arena *arena, const char *s, size_t len) MUST_CHECK;

DEFINE_CLEAR(struct arena, arena_clear)

#endif
