/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: which of them are ours to govern, and the labels that tenants are told apart by. */
#include "api/pack.h"
#include "api/pack_common.h"
#include "api/type.h"

/* A label that is longer than Kubernetes allows is none that a selector could name. */
static bool is_label(const struct wire_pair *pair)
{
	return pair->key.len <= LIMIT_LABEL_KEY && pair->value.len <= LIMIT_LABEL_VALUE;
}

static int pack_labels(const struct wire_list *pairs, const struct pack *pack,
		       struct namespace_facts *facts)
{
	struct label *labels, *next;

	if (pairs->len == 0)
		return 0;
	labels = next = arena_alloc(pack->arena, pairs->len * sizeof(*labels));
	if (!labels)
		return pack_no_memory(pack);
	wire_for_each(const struct wire_pair, pair, *pairs) {
		if (is_label(pair))
			*next++ = (struct label){pair->key, pair->value};
	}
	facts->labels = labels;
	facts->n_labels = (size_t)(next - labels);
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
