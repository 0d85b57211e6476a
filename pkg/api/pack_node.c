/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node offers. A resource's vendor says which labels describe it; each vendor's function
 * fills in product, memory and sharing of an offer that starts as unknown.
 */
#include "api/pack.h"
#include "api/pack_common.h"
#include "base/macros.h"
#include "model/resource.h"

#define NVIDIA_GPU "nvidia.com/gpu"

/* The value of label <base><suffix>: false when there is none. */
static bool label(const struct wire_list *labels, struct str base, const char *suffix,
		  struct str *ret_value)
{
	const struct wire_pair *pairs = labels->items;
	struct str tail = str_from(suffix);
	size_t i;

	for (i = labels->len; i > 0; i--) {
		struct str key = pairs[i - 1].key;

		if (key.len == base.len + tail.len && str_starts_with(key, base) &&
		    str_ends_with(key, tail)) {
			*ret_value = pairs[i - 1].value;
			return true;
		}
	}
	return false;
}

static struct str product_label(const struct wire_list *labels, struct str base, const char *suffix)
{
	struct str product = STR_NONE;

	label(labels, base, suffix, &product);
	return product.len <= LIMIT_NAME ? product : STR_NONE;
}

static bool contains(struct str s, struct str part)
{
	for (; s.len >= part.len; s.data++, s.len--)
		if (str_starts_with(s, part))
			return true;
	return false;
}

static bool cut_suffix(struct str *s, struct str suffix)
{
	if (!str_ends_with(*s, suffix))
		return false;
	s->len -= suffix.len;
	return true;
}

/* --- NVIDIA */

/* MiB, positive; everything else is unknown. */
static int64_t nvidia_memory(const struct wire_list *labels, struct str base)
{
	struct str text;
	int64_t mib;

	if (!label(labels, base, ".memory", &text) || !str_to_int64(text, 1, INT64_MAX / MIB, &mib))
		return AMOUNT_UNKNOWN;
	return mib * MIB;
}

/* Into how many units a card or slice is shared; 1 where it is not, 0 where nobody can tell. */
static int64_t nvidia_replicas(const struct wire_list *labels, struct str base, bool named_shared)
{
	int64_t replicas = 0;
	struct str text;

	if (!label(labels, base, ".replicas", &text))
		return named_shared ? 0 : 1;
	if (!str_to_int64(text, 0, INT64_MAX, &replicas))
		return 0;
	return MAX(replicas, 1);
}

static enum device_sharing nvidia_strategy(const struct wire_list *labels, struct str base)
{
	struct str text;

	if (label(labels, base, ".sharing-strategy", &text) && str_equal(text, STR("mps")))
		return DEVICE_MPS;
	return DEVICE_TIME_SLICED;
}

/* "nvidia.com/gpu" and "nvidia.com/mig-<profile>", with ".shared" where replicas are renamed. */
static void price_nvidia(const struct wire_list *labels, struct device_offer *offer)
{
	struct str base = offer->resource;
	bool named_shared = cut_suffix(&base, STR(".shared"));
	bool mixed = !str_equal(base, STR(NVIDIA_GPU));
	int64_t replicas;

	offer->product = product_label(labels, STR(NVIDIA_GPU), ".product");
	offer->sharing =
		mixed || contains(offer->product, STR("-MIG-")) ? DEVICE_MIG : DEVICE_WHOLE;
	/* The product's suffix tells of whole cards, or of slices under the single strategy. */
	if (!mixed && str_ends_with(offer->product, STR("-SHARED")))
		named_shared = true;
	/* Cards of one node that are cut in different ways: nothing in the labels holds then. */
	if (!mixed && contains(offer->product, STR("-MIG-INVALID")))
		return;
	replicas = nvidia_replicas(labels, base, named_shared);
	if (replicas == 0) {
		offer->sharing = DEVICE_OTHER;
		return;
	}
	offer->unit_memory = nvidia_memory(labels, base);
	if (replicas > 1) {
		offer->sharing = nvidia_strategy(labels, base);
		if (offer->unit_memory != AMOUNT_UNKNOWN)
			offer->unit_memory /= replicas;
		if (offer->unit_memory == 0)
			offer->unit_memory = AMOUNT_UNKNOWN;
	}
}

/* --- AMD, Intel, others */

/* "192G", which are GiB. */
static int64_t amd_memory(struct str text)
{
	int64_t gib;

	if (!cut_suffix(&text, STR("G")) || !str_to_int64(text, 1, INT64_MAX / GIB, &gib))
		return AMOUNT_UNKNOWN;
	return gib * GIB;
}

/* Older labellers used another prefix. */
static struct str amd_label(const struct wire_list *labels, const char *suffix)
{
	struct str value = STR_NONE;

	if (!label(labels, STR("amd.com/gpu"), suffix, &value))
		label(labels, STR("beta.amd.com/gpu"), suffix, &value);
	return value;
}

/* Under amd.com/gpu too a unit is a part of a card where the card is partitioned otherwise than
 * spx. */
static void price_amd(const struct wire_list *labels, struct device_offer *offer)
{
	struct str partition = STR("spx");

	offer->product = amd_label(labels, ".product-name");
	if (offer->product.len > LIMIT_NAME)
		offer->product = STR_NONE;
	label(labels, STR("amd.com/"), "compute-memory-partition", &partition);
	if (resource_family(offer->resource) != RESOURCE_CARD ||
	    !str_starts_with(partition, STR("spx")))
		return;
	offer->sharing = DEVICE_WHOLE;
	offer->unit_memory = amd_memory(amd_label(labels, ".vram"));
}

static void price(const struct wire_list *labels, struct device_offer *offer)
{
	offer->sharing = DEVICE_OTHER;
	offer->unit_memory = AMOUNT_UNKNOWN;
	if (resource_family(offer->resource) == RESOURCE_FRACTION)
		return;
	if (str_starts_with(offer->resource, STR("nvidia.com/")))
		price_nvidia(labels, offer);
	else if (str_starts_with(offer->resource, STR("amd.com/")))
		price_amd(labels, offer);
	else if (str_starts_with(offer->resource, STR("gpu.intel.com/")))
		offer->product = product_label(labels, STR("gpu.intel.com/"), "product");
}

/* --- the node */

static int pack_capacity(const struct wire_list *capacity, const struct pack *pack,
			 struct pack_amounts *ret_amounts)
{
	size_t most = 0;

	wire_for_each(const struct wire_pair, pair, *capacity)
		most += resource_is_gpu(pair->key);
	if (pack_amounts_init(ret_amounts, most, pack) < 0)
		return -1;
	wire_for_each(const struct wire_pair, entry, *capacity) {
		int64_t count;

		if (!resource_is_gpu(entry->key))
			continue;
		if (pack_count(entry->key, entry->value, &count, pack->err) < 0)
			return -1;
		pack_amounts_set(ret_amounts, entry->key, count);
	}
	pack_amounts_drop_zeros(ret_amounts);
	if (ret_amounts->len > LIMIT_OFFERS_PER_NODE)
		return error_set(pack->err, ERROR_LIMIT, "has more than %d GPU resources",
				 LIMIT_OFFERS_PER_NODE);
	return 0;
}

static int pack_offers(const struct wire_node *wire, const struct pack *pack,
		       struct node_facts *facts)
{
	struct pack_amounts amounts;
	struct device_offer *offers;
	size_t i;

	if (pack_capacity(&wire->status.capacity, pack, &amounts) < 0)
		return error_wrap(pack->err, "capacity");
	if (amounts.len == 0)
		return 0;
	offers = arena_alloc(pack->arena, amounts.len * sizeof(*offers));
	if (!offers)
		return pack_no_memory(pack);
	for (i = 0; i < amounts.len; i++) {
		offers[i].resource = amounts.rows[i].resource;
		offers[i].count = amounts.rows[i].count;
		price(&wire->meta.labels, &offers[i]);
	}
	facts->offers = offers;
	facts->n_offers = amounts.len;
	return 0;
}

static enum node_ready ready(const struct wire_list *conditions)
{
	wire_for_each(const struct wire_node_condition, condition, *conditions) {
		if (str_equal(condition->type, STR("Ready")))
			return str_equal(condition->status, STR("True")) ? NODE_READY
									 : NODE_NOT_READY;
	}
	return NODE_READY_UNKNOWN;
}

int api_pack_node(const struct wire_node *wire, struct arena *arena, struct node_facts *ret_facts,
		  struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct node_facts facts = {
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.ready = ready(&wire->status.conditions),
	};

	if (pack_check_meta(meta, err) < 0 ||
	    pack_offers(wire, &(struct pack){arena, err}, &facts) < 0)
		return pack_locate(err, "Node", meta);
	*ret_facts = facts;
	return 0;
}
