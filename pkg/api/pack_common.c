/* SPDX-License-Identifier: Apache-2.0 */
/* What the packers share: identity, amounts, owners and field managers. */
#include "api/pack_common.h"

#include "api/pack.h"
#include "api/quantity.h"
#include "api/type.h"
#include "base/macros.h"
#include "codec/json.h"

static int check_name(const char *what, struct str name, struct error *err)
{
	if (name.len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "%s has more than %d bytes", what, LIMIT_NAME);
	return 0;
}

int pack_check_meta(const struct wire_meta *meta, struct error *err)
{
	if (str_empty(meta->name) || str_empty(meta->uid))
		return error_set(err, ERROR_INVALID, "has no %s",
				 str_empty(meta->name) ? "name" : "uid");
	if (check_name("name", meta->name, err) < 0 ||
	    check_name("namespace", meta->namespace, err) < 0)
		return -1;
	return check_name("uid", meta->uid, err);
}

int pack_locate(struct error *err, const char *kind, const struct wire_meta *meta)
{
	struct str namespace = meta->namespace, name = meta->name;

	namespace.len = MIN(namespace.len, LIMIT_NAME);
	name.len = MIN(name.len, LIMIT_NAME);
	return error_wrap(err, "%s %.*s%s%.*s", kind, STR_ARGS(namespace),
			  str_empty(namespace) ? "" : "/", STR_ARGS(name));
}

int pack_no_memory(const struct pack *pack)
{
	return error_set(pack->err, ERROR_LIMIT, "takes more than %zu bytes of memory",
			 pack->arena->limit);
}

int pack_amounts_init(struct pack_amounts *amounts, size_t capacity, const struct pack *pack)
{
	*amounts = (struct pack_amounts){.capacity = capacity};
	if (capacity == 0)
		return 0;
	if (capacity > LIMIT_RESOURCE_NAMES)
		return error_set(pack->err, ERROR_LIMIT, "names more than %d resources",
				 LIMIT_RESOURCE_NAMES);
	amounts->rows = arena_alloc(pack->arena, capacity * sizeof(*amounts->rows));
	return amounts->rows ? 0 : pack_no_memory(pack);
}

/* From the end, since the API server writes maps in the order of their keys. */
bool pack_amounts_set(struct pack_amounts *amounts, struct str resource, int64_t count)
{
	size_t place = amounts->len;

	while (place > 0 && str_compare(amounts->rows[place - 1].resource, resource) > 0)
		place--;
	if (place > 0 && str_equal(amounts->rows[place - 1].resource, resource)) {
		amounts->rows[place - 1].count = count;
		return true;
	}
	if (amounts->len == amounts->capacity)
		return false;
	if (amounts->len > place)
		memmove(&amounts->rows[place + 1], &amounts->rows[place],
			(amounts->len - place) * sizeof(*amounts->rows));
	amounts->rows[place] = (struct resource_amount){resource, count};
	amounts->len++;
	return true;
}

void pack_amounts_drop_zeros(struct pack_amounts *amounts)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < amounts->len; i++)
		if (amounts->rows[i].count != 0)
			amounts->rows[kept++] = amounts->rows[i];
	amounts->len = kept;
}

int pack_count(struct str resource, struct str text, int64_t *ret_count, struct error *err)
{
	int64_t count;

	if (resource.len > LIMIT_INTERNED_STRING)
		return error_set(err, ERROR_LIMIT, "resource name has more than %d bytes",
				 LIMIT_INTERNED_STRING);
	text.len = MIN(text.len, QUANTITY_TEXT_MAX + 1);
	if (!quantity_parse(text, &count) || count < 0)
		return error_set(err, ERROR_INVALID, "%.*s: \"%.*s\" is no amount",
				 STR_ARGS(resource), STR_ARGS(text));
	*ret_count = count;
	return 0;
}

struct str pack_owner_uid(const struct wire_list *owners)
{
	wire_for_each(const struct wire_owner, owner, *owners) {
		if (owner->controller)
			return owner->uid;
	}
	return STR_NONE;
}

/* --- field managers */

struct owned_fields {
	uint64_t present;
	struct str spec;
};

static const struct field owned_fields_table[] = {
	FIELD(struct owned_fields, spec, "f:spec", 0, FIELD_RAW),
};
static const struct schema owned_fields_schema =
	SCHEMA("FieldsV1", struct owned_fields, owned_fields_table);

static int owns_spec(const struct wire_managed_fields *entry, const struct pack *pack,
		     bool *ret_owns)
{
	struct str text = wire_raw(entry->fields);
	struct owned_fields fields;

	if (str_empty(text)) {
		*ret_owns = false;
		return 0;
	}
	if (json_decode(&owned_fields_schema, text, pack->arena, &fields, pack->err) < 0)
		return error_wrap(pack->err, "managedFields of %.*s", STR_ARGS(entry->manager));
	*ret_owns = wire_has(&fields, 0);
	return 0;
}

int pack_foreign_manager(const struct wire_list *managed_fields, const struct pack *pack,
			 struct str *ret_manager)
{
	wire_for_each(const struct wire_managed_fields, entry, *managed_fields) {
		bool owns = false;

		if (str_equal(entry->manager, STR(API_FIELD_MANAGER)) ||
		    !str_empty(entry->subresource))
			continue;
		if (owns_spec(entry, pack, &owns) < 0)
			return -1;
		if (owns) {
			*ret_manager = str_empty(entry->manager) ? STR("unknown") : entry->manager;
			return 0;
		}
	}
	*ret_manager = STR_NONE;
	return 0;
}

uint64_t api_version_number(struct str resource_version)
{
	int64_t number = 0;

	str_to_int64(resource_version, 0, INT64_MAX, &number);
	return (uint64_t)number;
}
