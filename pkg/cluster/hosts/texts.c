/* SPDX-License-Identifier: Apache-2.0 */
/* A table of owned bytes, found by what they are. */
#include "cluster/hosts/texts.h"

#include <string.h>

#include "base/mem.h"

struct record {
	char *bytes; /* owned */
	uint32_t len, hash, refs;
};

void texts_init(struct texts *texts, const struct hash_key *key)
{
	*texts = (struct texts){.key = *key};
	table_init(&texts->records, sizeof(struct record));
}

static struct record *record_at(const struct texts *texts, uint32_t text)
{
	return (struct record *)table_at(&texts->records, text);
}

void texts_clear(struct texts *texts)
{
	for (uint32_t text = table_next(&texts->records, 0); text != TABLE_NONE;
	     text = table_next(&texts->records, text + 1))
		mem_free(record_at(texts, text)->bytes);
	table_clear(&texts->records);
	map_clear(&texts->by_value);
}

static bool equals(const void *context, uint32_t handle, const void *key)
{
	const struct record *record = record_at(context, handle);
	const struct str *bytes = key;

	return record->len == bytes->len && memcmp(record->bytes, bytes->data, bytes->len) == 0;
}

uint32_t texts_ref(struct texts *texts, struct str bytes)
{
	uint32_t hash, text;
	struct record *record;

	if (str_empty(bytes))
		return TABLE_NONE;
	hash = (uint32_t)hash_bytes(&texts->key, bytes.data, bytes.len);
	text = map_find(&texts->by_value, hash, equals, texts, &bytes);
	if (text == MAP_NONE) {
		text = table_add(&texts->records);
		record = record_at(texts, text);
		*record = (struct record){mem_alloc(bytes.len), (uint32_t)bytes.len, hash, 0};
		memcpy(record->bytes, bytes.data, bytes.len);
		map_insert(&texts->by_value, hash, text);
	}
	record_at(texts, text)->refs++;
	return text;
}

uint32_t texts_ref_handle(struct texts *texts, uint32_t text)
{
	if (text != TABLE_NONE)
		record_at(texts, text)->refs++;
	return text;
}

void texts_unref(struct texts *texts, uint32_t text)
{
	struct record *record;

	if (text == TABLE_NONE)
		return;
	record = record_at(texts, text);
	if (--record->refs > 0)
		return;
	map_remove(&texts->by_value, record->hash, text);
	mem_free(record->bytes);
	table_remove(&texts->records, text);
}

struct str texts_str(const struct texts *texts, uint32_t text)
{
	if (text == TABLE_NONE)
		return STR_NONE;
	return (struct str){record_at(texts, text)->bytes, record_at(texts, text)->len};
}

size_t texts_bytes(const struct texts *texts)
{
	size_t bytes = table_bytes(&texts->records) + map_bytes(&texts->by_value);

	for (uint32_t text = table_next(&texts->records, 0); text != TABLE_NONE;
	     text = table_next(&texts->records, text + 1))
		bytes += record_at(texts, text)->len;
	return bytes;
}
