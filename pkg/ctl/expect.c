/* SPDX-License-Identifier: Apache-2.0 */
/* A table of expectations with an index by object. */
#include "ctl/expect.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/table.h"

/* Records looked at on the side at each question, so that forgotten ones do not pile up. */
#define SWEPT_PER_QUESTION 2

struct expectation {
	uint64_t object, version;
	int64_t expires_us;
};

struct expectations {
	struct hash_key key;
	struct table records;
	struct map index;
	uint32_t swept; /* where the sweep goes on */
};

struct expectations *expectations_new(const struct hash_key *key)
{
	struct expectations *expectations = mem_alloc(sizeof(*expectations));

	expectations->key = *key;
	table_init(&expectations->records, sizeof(struct expectation));
	return expectations;
}

void expectations_free(struct expectations *expectations)
{
	if (!expectations)
		return;
	table_clear(&expectations->records);
	map_clear(&expectations->index);
	mem_free(expectations);
}

static uint32_t hash_of(const struct expectations *expectations, uint64_t object)
{
	return (uint32_t)hash_u64_pair(&expectations->key, object, 0);
}

static struct expectation *record_at(const struct expectations *expectations, uint32_t handle)
{
	return table_at(&expectations->records, handle);
}

static bool is_of_object(const void *context, uint32_t handle, const void *key)
{
	return record_at(context, handle)->object == *(const uint64_t *)key;
}

static uint32_t find(const struct expectations *expectations, uint64_t object)
{
	return map_find(&expectations->index, hash_of(expectations, object), is_of_object,
			expectations, &object);
}

static void forget(struct expectations *expectations, uint32_t handle)
{
	uint64_t object = record_at(expectations, handle)->object;

	map_remove(&expectations->index, hash_of(expectations, object), handle);
	table_remove(&expectations->records, handle);
}

void expectations_set(struct expectations *expectations, uint64_t object, uint64_t version,
		      int64_t expires_us)
{
	uint32_t handle = find(expectations, object);
	struct expectation *record;

	if (handle == MAP_NONE) {
		handle = table_add(&expectations->records);
		record = record_at(expectations, handle);
		*record = (struct expectation){object, version, expires_us};
		map_insert(&expectations->index, hash_of(expectations, object), handle);
		return;
	}
	record = record_at(expectations, handle);
	record->version = version > 0 ? MAX(version, record->version) : 0;
	record->expires_us = MAX(expires_us, record->expires_us);
}

void expectations_seen(struct expectations *expectations, uint64_t object, uint64_t version)
{
	uint32_t handle = find(expectations, object);

	if (handle == MAP_NONE)
		return;
	if (version == 0 || version >= record_at(expectations, handle)->version)
		forget(expectations, handle);
}

void expectations_seen_all(struct expectations *expectations)
{
	table_clear(&expectations->records);
	map_clear(&expectations->index);
}

static void sweep(struct expectations *expectations, int64_t now_us)
{
	for (int i = 0; i < SWEPT_PER_QUESTION; i++) {
		uint32_t handle = table_next(&expectations->records, expectations->swept);

		if (handle == TABLE_NONE) {
			expectations->swept = 0;
			return;
		}
		expectations->swept = handle + 1;
		if (now_us >= record_at(expectations, handle)->expires_us)
			forget(expectations, handle);
	}
}

bool expectations_pending(struct expectations *expectations, uint64_t object, int64_t now_us)
{
	uint32_t handle = find(expectations, object);

	if (handle != MAP_NONE && now_us >= record_at(expectations, handle)->expires_us) {
		forget(expectations, handle);
		handle = MAP_NONE;
	}
	sweep(expectations, now_us);
	return handle != MAP_NONE;
}

uint32_t expectations_count(const struct expectations *expectations)
{
	return expectations->records.count;
}
