/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_TABLE_H
#define GPUQOS_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/*
 * A flat array of records of one size, addressed by 32-bit handles, with a free list: what
 * decisions read lives in these, so that a clone is one copy of memory. Freed handles are used
 * again, newest first. A pointer from table_at() is *borrowed* and dies at the next table_add();
 * what lives longer keeps the handle. Records hold no pointers to others, only handles.
 */
#define TABLE_NONE UINT32_MAX

struct table {
	void *records;       /* owned */
	uint32_t *next_free; /* owned; chains what is free, and marks what is in use */
	size_t record_size;
	uint32_t end; /* handles are below this */
	uint32_t capacity;
	uint32_t first_free; /* TABLE_NONE when there is none */
	uint32_t count;      /* records in use */
};

void table_init(struct table *table, size_t record_size);
void table_clear(struct table *table);

/* A zeroed record. */
uint32_t table_add(struct table *table);
void table_remove(struct table *table, uint32_t handle); /* asserts that it is in use */

/* Whether @handle is a record in use. */
bool table_has(const struct table *table, uint32_t handle);

/* The record of a handle in use. */
static inline void *table_at(const struct table *table, uint32_t handle)
{
	return (char *)table->records + (size_t)handle * table->record_size;
}

/*
 * The first handle in use at or after @from, or TABLE_NONE:
 *	for (h = table_next(t, 0); h != TABLE_NONE; h = table_next(t, h + 1))
 */
uint32_t table_next(const struct table *table, uint32_t from);

/*
 * Makes @copy (zeroed or initialised) an independent copy. Memory that @copy holds already is used
 * again where it is large enough.
 */
void table_clone(const struct table *table, struct table *copy);
size_t table_bytes(const struct table *table);

DEFINE_CLEAR(struct table, table_clear)

#endif
