/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in one array, and beside it one number for each: the next free handle for a record that
 * is free, LIVE for one in use. Both arrays grow together.
 */
#include "base/table.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

#define LIVE           (UINT32_MAX - 1)
#define CAPACITY_FIRST 16u

void table_init(struct table *table, size_t record_size)
{
	assert(record_size > 0);
	*table = (struct table){.record_size = record_size, .first_free = TABLE_NONE};
}

void table_clear(struct table *table)
{
	if (!table)
		return;
	mem_free(table->records);
	mem_free(table->next_free);
	*table = (struct table){.record_size = table->record_size, .first_free = TABLE_NONE};
}

static void reserve(struct table *table, uint32_t capacity)
{
	table->records = mem_realloc_array(table->records, capacity, table->record_size);
	table->next_free = mem_realloc_array(table->next_free, capacity, sizeof(*table->next_free));
	table->capacity = capacity;
}

uint32_t table_add(struct table *table)
{
	uint32_t handle = table->first_free;

	assert(table->record_size > 0);
	if (handle != TABLE_NONE) {
		table->first_free = table->next_free[handle];
	} else {
		handle = table->end;
		assert(handle < LIVE / 2);
		if (handle == table->capacity)
			reserve(table, handle > 0 ? handle * 2 : CAPACITY_FIRST);
		table->end++;
	}
	table->next_free[handle] = LIVE;
	table->count++;
	memset(table_at(table, handle), 0, table->record_size);
	return handle;
}

void table_remove(struct table *table, uint32_t handle)
{
	assert(table_has(table, handle));
	table->next_free[handle] = table->first_free;
	table->first_free = handle;
	table->count--;
}

bool table_has(const struct table *table, uint32_t handle)
{
	return handle < table->end && table->next_free[handle] == LIVE;
}

uint32_t table_next(const struct table *table, uint32_t from)
{
	for (uint32_t handle = from; handle < table->end; handle++)
		if (table->next_free[handle] == LIVE)
			return handle;
	return TABLE_NONE;
}

void table_clone(const struct table *table, struct table *copy)
{
	if (copy->record_size != table->record_size || copy->capacity < table->end) {
		table_clear(copy);
		copy->record_size = table->record_size;
		if (table->end > 0)
			reserve(copy, table->end);
	}
	if (table->end > 0) {
		memcpy(copy->records, table->records, (size_t)table->end * table->record_size);
		memcpy(copy->next_free, table->next_free, table->end * sizeof(*table->next_free));
	}
	copy->end = table->end;
	copy->first_free = table->first_free;
	copy->count = table->count;
}

size_t table_bytes(const struct table *table)
{
	return (size_t)table->capacity * (table->record_size + sizeof(*table->next_free));
}
