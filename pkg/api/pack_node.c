/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node offers. First every source tells what it knows of the node's cards, then each offers
 * what is its own, priced by who tells first.
 */
#include <stdlib.h>

#include "api/layout.h"
#include "api/pack.h"
#include "api/pack_common.h"
#include "api/pack_demand.h"
#include "api/pack_terms.h"
#include "api/publisher.h"
#include "api/quantity.h"
#include "api/source_common.h"

static int pack_capacity(const struct wire_list *capacity, struct source_node *node)
{
	size_t most = 0;

	wire_for_each(const struct wire_pair, pair, *capacity)
		most += source_is_gpu(node->table, pair->key);
	if (pack_amounts_init(&node->capacity, most, node->pack) < 0)
		return -1;
	wire_for_each(const struct wire_pair, entry, *capacity) {
		int64_t count;

		if (!source_is_gpu(node->table, entry->key))
			continue;
		if (pack_count(entry->key, entry->value, &count, node->pack->err) < 0)
			return -1;
		pack_amounts_set(&node->capacity, entry->key, count);
	}
	pack_amounts_drop_zeros(&node->capacity);
	return 0;
}

static bool is_spoken_of(struct str resource)
{
	for (size_t i = 0; i < n_sources; i++)
		if (sources[i]->speaks && sources[i]->speaks(resource))
			return true;
	return false;
}

/* What looks like a GPU and nobody describes. */
static void offer_the_rest(struct source_node *node)
{
	for (size_t i = 0; i < node->capacity.len; i++) {
		const struct resource_amount *amount = &node->capacity.rows[i];

		if (!source_offer_find(node, amount->resource) && !is_spoken_of(amount->resource))
			source_offer(node, amount->resource, amount->count);
	}
}

static int by_resource(const void *a, const void *b)
{
	return str_compare(((const struct device_offer *)a)->resource,
			   ((const struct device_offer *)b)->resource);
}

static int pack_offers(struct source_node *node)
{
	node->offers =
		arena_alloc(node->pack->arena, (LIMIT_OFFERS_PER_NODE + 1) * sizeof(*node->offers));
	if (!node->offers)
		return pack_no_memory(node->pack);
	for (size_t i = 0; i < n_sources; i++)
		if (sources[i]->measure)
			sources[i]->measure(node);
	for (size_t i = 0; i < n_sources; i++)
		if (sources[i]->offer)
			sources[i]->offer(node);
	offer_the_rest(node);
	if (node->full)
		return error_set(node->pack->err, ERROR_LIMIT,
				 "capacity: has more than %d GPU resources", LIMIT_OFFERS_PER_NODE);
	if (node->n_offers > 1)
		qsort(node->offers, node->n_offers, sizeof(*node->offers), by_resource);
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

/* The largest card counts where they differ. */
static void measure_layout(const struct layout *layout, struct source_card *card)
{
	for (size_t i = 0; i < layout->n_gpus; i++)
		card->by[MEMORY_FROM_TOPOLOGY] =
			MAX(card->by[MEMORY_FROM_TOPOLOGY], layout->gpus[i].memory);
}

/* By others than the agent. */
static int pack_published(const struct wire_list *annotations, const struct pack *pack,
			  struct node_facts *facts)
{
	const struct publisher_input input = {.annotations = annotations};

	if (publishers_read(&input, pack, &facts->layout) < 0)
		return -1;
	if (facts->layout)
		facts->layout_state = LAYOUT_IS_KNOWN;
	return 0;
}

/* What cannot be read says why, and is as unknown as what is not there. */
static int pack_layout(const struct wire_list *annotations, const struct pack *pack,
		       struct node_facts *facts)
{
	struct layout *layout = arena_alloc(pack->arena, sizeof(*layout));
	struct error why = {0};
	struct str text;
	char *message;

	if (!layout)
		return pack_no_memory(pack);
	facts->layout_state = LAYOUT_IS_ABSENT;
	if (!wire_map_get(annotations, STR(API_LAYOUT_ANNOTATION), &text))
		return pack_published(annotations, pack, facts);
	if (api_read_layout(text, pack->arena, layout, &why) == 0) {
		facts->layout = layout;
		facts->layout_state = LAYOUT_IS_KNOWN;
		return 0;
	}
	facts->layout_state =
		api_layout_is_newer(text, pack->arena) ? LAYOUT_IS_FUTURE : LAYOUT_IS_MALFORMED;
	message = arena_strndup(pack->arena, why.message, strlen(why.message));
	if (!message)
		return pack_no_memory(pack);
	facts->layout_problem = str_from(message);
	return 0;
}

/* What kubelet gives out of it: less than there is where cards failed. */
static void pack_allocatable(const struct wire_list *allocatable, struct source_node *node)
{
	for (size_t i = 0; i < node->n_offers; i++) {
		struct device_offer *offer = &node->offers[i];
		struct str text;
		int64_t count;

		offer->allocatable = offer->count;
		if (wire_map_get(allocatable, offer->resource, &text) &&
		    pack_count(offer->resource, text, &count, NULL) == 0)
			offer->allocatable = MIN(count, offer->count);
	}
}

/* Quantities of CPUs are rounded up. */
static uint32_t reserved_cpus(const struct wire_node_status *status)
{
	struct str capacity, allocatable;
	int64_t all, given;

	if (!wire_map_get(&status->capacity, STR("cpu"), &capacity) ||
	    !wire_map_get(&status->allocatable, STR("cpu"), &allocatable) ||
	    !quantity_parse(capacity, &all) || !quantity_parse(allocatable, &given))
		return 0;
	if (!str_ends_with(allocatable, STR("m")))
		return (uint32_t)MIN(MAX(all - given, 0), (int64_t)LIMIT_LAYOUT_CPUS);
	return (uint32_t)MIN(MAX(all - given + 1, 0), (int64_t)LIMIT_LAYOUT_CPUS);
}

static int pack_devices(struct source_node *node, const struct wire_node_status *status,
			struct node_facts *facts)
{
	if (pack_capacity(&status->capacity, node) < 0)
		return error_wrap(node->pack->err, "capacity");
	if (pack_layout(node->annotations, node->pack, facts) < 0)
		return -1;
	facts->reserved_cpus = reserved_cpus(status);
	if (node->capacity.len == 0) /* its cards may be DRA's */
		return 0;
	if (facts->layout)
		measure_layout(facts->layout, &node->card);
	if (pack_offers(node) < 0)
		return -1;
	pack_allocatable(&status->allocatable, node);
	facts->offers = node->offers;
	facts->n_offers = node->n_offers;
	facts->reconfiguring = node->reconfiguring;
	return 0;
}

static int pack_host_facts(const struct wire_node *wire, const struct pack *pack,
			   struct node_facts *facts)
{
	struct host_facts *host = arena_alloc(pack->arena, sizeof(*host));

	if (!host)
		return pack_no_memory(pack);
	*host = pack_host(wire);
	facts->host = host;
	return pack_host_terms(wire, pack, host);
}

int api_pack_node(const struct wire_node *wire, const struct source_table *table,
		  struct arena *arena, struct node_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	const struct pack pack = {arena, err};
	struct source_node node = {
		.pack = &pack,
		.labels = &meta->labels,
		.annotations = &meta->annotations,
		.table = table,
	};
	struct node_facts facts = {
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.ready = ready(&wire->status.conditions),
	};

	if (pack_check_meta(meta, err) < 0 || pack_devices(&node, &wire->status, &facts) < 0 ||
	    pack_host_facts(wire, &pack, &facts) < 0)
		return pack_locate(err, "Node", meta);
	*ret_facts = facts;
	return 0;
}
