/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: which of them are ours to govern, and the labels that tenants are told apart by. */
#include "api/pack.h"
#include "api/pack_common.h"
#include "api/type.h"

static int pack_label(const struct wire_pair *pair, const struct pack *pack,
		      struct label *ret_label)
{
	if (pair->key.len > LIMIT_INTERNED_STRING || pair->value.len > LIMIT_INTERNED_STRING)
		return error_set(pack->err, ERROR_LIMIT, "a label has more than %d bytes",
				 LIMIT_INTERNED_STRING);
	*ret_label = (struct label){pair->key, pair->value};
	return 0;
}

static int pack_labels(const struct wire_list *pairs, const struct pack *pack,
		       struct namespace_facts *facts)
{
	struct label *labels, *next;

	if (pairs->len > LIMIT_LABELS_PER_OBJECT)
		return error_set(pack->err, ERROR_LIMIT, "has more than %d labels",
				 LIMIT_LABELS_PER_OBJECT);
	if (pairs->len == 0)
		return 0;
	labels = next = arena_alloc(pack->arena, pairs->len * sizeof(*labels));
	if (!labels)
		return pack_no_memory(pack);
	wire_for_each(const struct wire_pair, pair, *pairs) {
		if (pack_label(pair, pack, next++) < 0)
			return -1;
	}
	facts->labels = labels;
	facts->n_labels = pairs->len;
	return 0;
}

int api_pack_namespace(const struct wire_namespace *wire, struct arena *arena,
		       struct namespace_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	const struct pack pack = {arena, err};
	struct str managed = STR_NONE, quota = STR_NONE;
	struct namespace_facts facts = {
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.terminating = wire_has(meta, WIRE_META_DELETION) ||
			       str_equal(wire->status.phase, STR("Terminating")),
	};

	if (pack_check_meta(meta, err) < 0 || pack_labels(&meta->labels, &pack, &facts) < 0)
		return pack_locate(err, "Namespace", meta);
	wire_map_get(&meta->labels, STR(API_LABEL_MANAGED), &managed);
	wire_map_get(&meta->labels, STR(API_LABEL_TENANT), &facts.tenant);
	wire_map_get(&meta->labels, STR(API_LABEL_QUOTA), &quota);
	facts.managed = str_equal(managed, STR("true"));
	facts.quotaless = str_equal(quota, STR("none"));
	*ret_facts = facts;
	return 0;
}
