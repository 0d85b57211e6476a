/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_MEM_H
#define GPUQOS_BASE_MEM_H

#include <stddef.h>
#include <string.h>

#include "base/macros.h"

/*
 * Memory policy: out of memory ends the program with one line on stderr. The program is
 * level-triggered, so a restart converges; and no length that comes from outside sizes an
 * allocation before a limit has bounded it. Hence no caller checks for NULL. A size of 0 gives a
 * block that may be released but not used. Products are checked for overflow. Blocks are released
 * with mem_free(), which accepts NULL.
 */
void *mem_alloc(size_t size) MUST_CHECK;                                    /* zeroed */
void *mem_alloc_array(size_t count, size_t size) MUST_CHECK;                /* zeroed */
void *mem_realloc_array(void *block, size_t count, size_t size) MUST_CHECK; /* growth is not zeroed
									     */
char *mem_strdup(const char *s) MUST_CHECK;
char *mem_strndup(const char *s, size_t len) MUST_CHECK; /* at most @len bytes, always terminated */
void mem_free(void *block);

/*
 * Overwrites @len bytes in a way that the compiler may not remove: secrets, before their memory is
 * released.
 */
void mem_wipe(void *block, size_t len);

/* Wipes a terminated text and releases it. Accepts NULL. */
void mem_free_secret(char *text);

/*
 * For CLEANUP(mem_free) on a pointer to anything; copied, since a char * may not be read as a void
 * *.
 */
UNUSED static inline void mem_free_cleanup(void *p)
{
	void *block;

	memcpy(&block, p, sizeof(block));
	mem_free(block);
}

/*
 * Makes room for at least @want elements in a growing array: doubles @*capacity (from 8) and moves
 * @*array. For arrays whose size is bounded elsewhere. @array is the address of a pointer of any
 * type, cast to void **. New elements are not zeroed.
 */
void mem_grow(void **array, size_t *capacity, size_t want, size_t size);

#endif
