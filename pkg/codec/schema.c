/* SPDX-License-Identifier: Apache-2.0 */
/* The check of field tables, and what users of decoded structs need beside plain C. */
#include "codec/schema.h"

#include "base/limits.h"

#define MOST_FIELDS 64
#define LARGEST_TAG ((1u << 29) - 1)

bool wire_map_get(const struct wire_list *map, struct str key, struct str *ret_value)
{
	const struct wire_pair *pairs = map->items;
	size_t i;

	for (i = map->len; i > 0; i--) {
		if (str_equal(pairs[i - 1].key, key)) {
			*ret_value = pairs[i - 1].value;
			return true;
		}
	}
	return false;
}

struct place {
	size_t size, alignment;
};

static struct place place_of(const struct field *field)
{
	switch (field->kind) {
	case FIELD_BOOL:
		return (struct place){sizeof(bool), _Alignof(bool)};
	case FIELD_INT32:
		return (struct place){sizeof(int32_t), _Alignof(int32_t)};
	case FIELD_INT64:
	case FIELD_TIME:
		return (struct place){sizeof(int64_t), _Alignof(int64_t)};
	case FIELD_MESSAGE:
	case FIELD_INLINE:
		return (struct place){field->schema->size, _Alignof(uint64_t)};
	case FIELD_STRINGS:
	case FIELD_MESSAGES:
	case FIELD_MAP:
	case FIELD_QUANTITIES:
	case FIELD_ENTRIES:
		return (struct place){sizeof(struct wire_list), _Alignof(struct wire_list)};
	case FIELD_STRING:
	case FIELD_BYTES:
	case FIELD_QUANTITY:
	case FIELD_RAW:
		break;
	}
	return (struct place){sizeof(struct str), _Alignof(struct str)};
}

static bool is_entry(const struct schema *schema)
{
	const struct field *fields = schema->fields;

	return schema->n_fields == 2 && fields[0].kind == FIELD_STRING && fields[0].tag == 1 &&
	       fields[1].tag == 2;
}

/* What is wrong with a field by itself, or NULL. */
static const char *field_problem(const struct schema *schema, const struct field *field)
{
	bool entries = field->kind == FIELD_ENTRIES;
	bool wants_schema = entries || field->kind == FIELD_MESSAGE ||
			    field->kind == FIELD_INLINE || field->kind == FIELD_MESSAGES;
	struct place place;

	if (field->tag > LARGEST_TAG)
		return "has no valid tag";
	if (wants_schema != (field->schema != NULL))
		return wants_schema ? "has no sub-schema" : "has a sub-schema";
	if (field->keys && field->kind != FIELD_MAP)
		return "has keys and is no map of strings";
	if (entries && !is_entry(field->schema))
		return "is a map of what is no key and value";
	place = place_of(field);
	if (field->offset < sizeof(uint64_t))
		return "overlaps `present`";
	if (field->offset > schema->size || place.size > schema->size - field->offset)
		return "reaches beyond the struct";
	if (field->offset % place.alignment != 0)
		return "is not aligned";
	return NULL;
}

/* What is wrong between two fields, or NULL. */
static const char *pair_problem(const struct field *a, const struct field *b)
{
	if (strcmp(a->name, b->name) == 0)
		return "has a name that occurs twice";
	if (a->tag != 0 && a->tag == b->tag)
		return "has a tag that occurs twice";
	if (a->offset < b->offset + place_of(b).size && b->offset < a->offset + place_of(a).size)
		return "overlaps another field";
	return NULL;
}

static int check(const struct schema *schema, unsigned int depth, struct error *err)
{
	size_t i, k;

	if (depth == LIMIT_DECODE_DEPTH)
		return error_set(err, ERROR_INVALID, "%s: nested too deep", schema->name);
	if (schema->n_fields > MOST_FIELDS || schema->size < sizeof(uint64_t))
		return error_set(err, ERROR_INVALID, "%s: too many fields, or no struct",
				 schema->name);
	for (i = 0; i < schema->n_fields; i++) {
		const struct field *field = &schema->fields[i];
		const char *problem = field->name ? field_problem(schema, field) : "has no name";

		for (k = 0; !problem && k < i; k++)
			problem = pair_problem(&schema->fields[k], field);
		if (problem)
			return error_set(err, ERROR_INVALID, "%s: field %zu (%s) %s", schema->name,
					 i, field->name ? field->name : "", problem);
		if (field->schema && check(field->schema, depth + 1, err) < 0)
			return error_wrap(err, "%s", schema->name);
	}
	return 0;
}

int schema_check(const struct schema *schema, struct error *err)
{
	return check(schema, 0, err);
}
