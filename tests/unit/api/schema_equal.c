/* SPDX-License-Identifier: Apache-2.0 */
/* Compares decoded structs by their table. */
#include "schema_equal.h"

#include "api/wire_meta.h"
#include "base/macros.h"

static struct str text_at(const void *member)
{
	struct str text;

	memcpy(&text, member, sizeof(text));
	return text;
}

static struct wire_list list_at(const void *member)
{
	struct wire_list list;

	memcpy(&list, member, sizeof(list));
	return list;
}

static bool strings_equal(const struct wire_list *a, const struct wire_list *b)
{
	size_t i;

	for (i = 0; i < a->len; i++)
		if (!str_equal(((const struct str *)a->items)[i],
			       ((const struct str *)b->items)[i]))
			return false;
	return true;
}

static bool pairs_equal(const struct wire_list *a, const struct wire_list *b)
{
	const struct wire_pair *left = a->items, *right = b->items;
	size_t i;

	for (i = 0; i < a->len; i++)
		if (!str_equal(left[i].key, right[i].key) ||
		    !str_equal(left[i].value, right[i].value))
			return false;
	return true;
}

static bool messages_equal(const struct schema *schema, const struct wire_list *a,
			   const struct wire_list *b, struct buf *difference)
{
	size_t i;

	for (i = 0; i < a->len; i++) {
		const char *left = (const char *)a->items + i * schema->size;
		const char *right = (const char *)b->items + i * schema->size;

		if (!schema_equal(schema, left, right, difference)) {
			buf_printf(difference, " in element %zu", i);
			return false;
		}
	}
	return true;
}

static bool lists_equal(const struct field *field, const void *a, const void *b,
			struct buf *difference)
{
	struct wire_list left = list_at(a), right = list_at(b);

	if (left.len != right.len)
		return false;
	if (field->kind == FIELD_STRINGS)
		return strings_equal(&left, &right);
	if (field->kind == FIELD_MESSAGES || field->kind == FIELD_ENTRIES)
		return messages_equal(field->schema, &left, &right, difference);
	return pairs_equal(&left, &right);
}

static bool members_equal(const struct field *field, const void *a, const void *b,
			  struct buf *difference)
{
	switch (field->kind) {
	case FIELD_STRING:
	case FIELD_BYTES:
	case FIELD_QUANTITY:
		return str_equal(text_at(a), text_at(b));
	case FIELD_RAW:
		return str_equal(wire_raw(text_at(a)), wire_raw(text_at(b)));
	case FIELD_BOOL:
		return memcmp(a, b, sizeof(bool)) == 0;
	case FIELD_INT32:
		return memcmp(a, b, sizeof(int32_t)) == 0;
	case FIELD_INT64:
	case FIELD_TIME:
		return memcmp(a, b, sizeof(int64_t)) == 0;
	case FIELD_MESSAGE:
	case FIELD_INLINE:
		return schema_equal(field->schema, a, b, difference);
	case FIELD_STRINGS:
	case FIELD_MESSAGES:
	case FIELD_MAP:
	case FIELD_QUANTITIES:
	case FIELD_ENTRIES:
		break;
	}
	return lists_equal(field, a, b, difference);
}

bool schema_equal(const struct schema *schema, const void *a, const void *b, struct buf *difference)
{
	size_t i;

	for (i = 0; i < schema->n_fields; i++) {
		const struct field *field = &schema->fields[i];
		const void *left = (const char *)a + field->offset;
		const void *right = (const char *)b + field->offset;

		if (!members_equal(field, left, right, difference)) {
			buf_printf(difference, " in %s.%s", schema->name, field->name);
			return false;
		}
	}
	return true;
}
