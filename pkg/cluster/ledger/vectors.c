/* SPDX-License-Identifier: Apache-2.0 */
/* A vector is looked up by its cells, written out as integers. */
#include "cluster/ledger/vectors.h"

#include <assert.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/macros.h"

struct record {
	uint32_t hash, refs, first, len;
};

struct part {
	int64_t count, told;
	uint32_t resource, device;
	int64_t devices;
};

/* Hashed as bytes. */
_Static_assert(sizeof(struct part) == 32, "no padding");

/* What is looked for. */
struct value {
	struct part parts[LIMIT_RESOURCES_PER_POD];
	uint32_t len;
};

void vectors_init(struct vectors *vectors, const struct hash_key *key, struct intern *intern)
{
	*vectors = (struct vectors){.key = *key, .intern = intern};
	table_init(&vectors->records, sizeof(struct record));
	table_init(&vectors->cells, sizeof(struct vector_cell));
}

void vectors_clear(struct vectors *vectors)
{
	table_clear(&vectors->records);
	table_clear(&vectors->cells);
	map_clear(&vectors->by_value);
}

static bool equals(const void *context, uint32_t handle, const void *key)
{
	const struct vectors *vectors = context;
	const struct record *record = table_at(&vectors->records, handle);
	const struct value *value = key;
	uint32_t cell = record->first;

	if (record->len != value->len)
		return false;
	for (uint32_t i = 0; i < value->len; i++) {
		const struct vector_cell *c = vectors_cell(vectors, cell);
		const struct part *part = &value->parts[i];

		if (c->resource != part->resource || c->count != part->count ||
		    c->told != part->told || c->device != part->device ||
		    c->devices != part->devices)
			return false;
		cell = c->next;
	}
	return true;
}

/* Takes over the references that @value holds. */
static uint32_t add(struct vectors *vectors, const struct value *value, uint32_t hash)
{
	uint32_t vector = table_add(&vectors->records), first = TABLE_NONE;
	struct record *record;

	for (uint32_t i = value->len; i-- > 0;) {
		uint32_t handle = table_add(&vectors->cells);
		struct vector_cell *cell = table_at(&vectors->cells, handle);

		*cell = (struct vector_cell){
			.count = value->parts[i].count,
			.told = value->parts[i].told,
			.resource = value->parts[i].resource,
			.device = value->parts[i].device,
			.devices = (uint32_t)value->parts[i].devices,
			.next = first,
		};
		first = handle;
	}
	record = table_at(&vectors->records, vector);
	*record = (struct record){hash, 1, first, value->len};
	map_insert(&vectors->by_value, hash, vector);
	return vector;
}

uint32_t vectors_ref(struct vectors *vectors, const struct device_ask *rows, size_t n)
{
	struct value value = {.len = (uint32_t)n};
	uint32_t hash, vector;
	struct record *record;

	assert(n > 0 && n <= LIMIT_RESOURCES_PER_POD);
	for (size_t i = 0; i < n; i++)
		value.parts[i] = (struct part){
			.count = rows[i].count,
			.told = rows[i].told,
			.resource = intern_ref(vectors->intern, rows[i].resource),
			.device = intern_ref(vectors->intern, rows[i].device),
			.devices = MAX(MIN(rows[i].devices, (int64_t)VECTOR_DEVICES_MOST), 0),
		};
	hash = (uint32_t)hash_bytes(&vectors->key, value.parts, n * sizeof(value.parts[0]));
	vector = map_find(&vectors->by_value, hash, equals, vectors, &value);
	if (vector == MAP_NONE)
		return add(vectors, &value, hash);
	for (size_t i = 0; i < n; i++) {
		intern_unref(vectors->intern, value.parts[i].resource);
		intern_unref(vectors->intern, value.parts[i].device);
	}
	record = table_at(&vectors->records, vector);
	record->refs++;
	return vector;
}

uint32_t vectors_ref_handle(struct vectors *vectors, uint32_t vector)
{
	struct record *record = table_at(&vectors->records, vector);

	record->refs++;
	return vector;
}

void vectors_unref(struct vectors *vectors, uint32_t vector)
{
	struct record *record = table_at(&vectors->records, vector);

	assert(table_has(&vectors->records, vector) && record->refs > 0);
	if (--record->refs > 0)
		return;
	for (uint32_t cell = record->first; cell != TABLE_NONE;) {
		uint32_t next = vectors_cell(vectors, cell)->next;

		intern_unref(vectors->intern, vectors_cell(vectors, cell)->resource);
		intern_unref(vectors->intern, vectors_cell(vectors, cell)->device);
		table_remove(&vectors->cells, cell);
		cell = next;
	}
	map_remove(&vectors->by_value, record->hash, vector);
	table_remove(&vectors->records, vector);
}

uint32_t vectors_first(const struct vectors *vectors, uint32_t vector)
{
	const struct record *record;

	if (vector == TABLE_NONE)
		return TABLE_NONE;
	record = table_at(&vectors->records, vector);
	return record->first;
}

/* The place of @ask among sorted rows: where it is, or where it would have to be. */
static size_t place_of(const struct device_ask *rows, size_t len, const struct device_ask *ask)
{
	size_t place = 0;

	while (place < len && device_ask_compare(&rows[place], ask) < 0)
		place++;
	return place;
}

static void raise_row(struct device_ask *row, const struct device_ask *ask)
{
	int64_t most =
		MAX(saturating_add(row->count, row->told), saturating_add(ask->count, ask->told));

	row->count = MAX(row->count, ask->count);
	row->told = most - row->count;
	row->devices = MAX(row->devices, ask->devices);
}

bool vectors_raise(const struct vectors *vectors, uint32_t vector, struct device_ask *rows,
		   size_t *len)
{
	uint32_t cell = vectors_first(vectors, vector);

	for (; cell != TABLE_NONE; cell = vectors_cell(vectors, cell)->next) {
		const struct vector_cell *c = vectors_cell(vectors, cell);
		const struct device_ask ask = {intern_str(vectors->intern, c->resource), c->count,
					       intern_str(vectors->intern, c->device), c->devices,
					       c->told};
		size_t place = place_of(rows, *len, &ask);

		if (place < *len && device_ask_compare(&rows[place], &ask) == 0) {
			raise_row(&rows[place], &ask);
			continue;
		}
		if (*len == LIMIT_RESOURCES_PER_POD)
			return false;
		memmove(&rows[place + 1], &rows[place], (*len - place) * sizeof(*rows));
		rows[place] = ask;
		(*len)++;
	}
	return true;
}

size_t vectors_bytes(const struct vectors *vectors)
{
	return table_bytes(&vectors->records) + table_bytes(&vectors->cells) +
	       map_bytes(&vectors->by_value);
}
