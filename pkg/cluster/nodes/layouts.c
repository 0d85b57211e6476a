/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of nodes. What decisions read of one follows from its shape: the wires, kubelet's
 * settings and what has failed, but neither uuids nor addresses. Nodes of one shape share one
 * `struct topo`, and each keeps who its cards are, so that devices that kubelet names are found.
 */
#include <string.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cluster/internal.h"
#include "cluster/nodes/links.h"
#include "cluster/placing/placement.h"
#include "model/layout.h"
#include "model/resource.h"

#define ID_SIZE sizeof(uint64_t)

/* Hashes of all cards, or of all of a pod's devices, are kept as one string. */
_Static_assert(LIMIT_LAYOUT_GPUS *ID_SIZE <= LIMIT_INTERNED_STRING, "ids fit into one string");

/* --- shapes */

static void add_number(struct buf *shape, int64_t number)
{
	buf_add(shape, (const char *)&number, sizeof(number));
}

static void add_gpus(struct buf *shape, const struct layout *layout)
{
	for (size_t i = 0; i < layout->n_gpus; i++) {
		const struct layout_gpu *gpu = &layout->gpus[i];

		add_number(shape, gpu->numa);
		add_number(shape, gpu->bridge);
		add_number(shape, gpu->health);
	}
}

static void add_links(struct buf *shape, const struct layout *layout)
{
	for (size_t i = 0; i < layout->n_links; i++) {
		add_number(shape, layout->links[i].a);
		add_number(shape, layout->links[i].b);
		add_number(shape, layout->links[i].bandwidth);
	}
}

/* All that topo_new() reads, with the lengths that tell one list from the next. */
static struct str shape_of(struct cluster *cluster, const struct layout *layout)
{
	struct buf *shape = &cluster->scratch;
	const int64_t head[] = {
		layout->kubelet.policy,   layout->kubelet.pod_scope,  layout->kubelet.static_cpu,
		(int64_t)layout->n_gpus,  (int64_t)layout->n_bridges, (int64_t)layout->n_links,
		(int64_t)layout->n_numas, layout->distances != NULL,  layout->cpus_unknown,
		layout->counted,
	};

	buf_reset(shape);
	buf_add(shape, (const char *)head, sizeof(head));
	for (size_t i = 0; i < layout->n_numas; i++) {
		add_number(shape, layout->numas[i].n_cpus);
		add_number(shape, (int64_t)layout->numas[i].cpus.len);
		buf_add_str(shape, layout->numas[i].cpus);
	}
	for (size_t i = 0; layout->distances && i < layout->n_numas * layout->n_numas; i++)
		add_number(shape, layout->distances[i]);
	for (size_t i = 0; i < layout->n_bridges; i++)
		add_number(shape, layout->bridges[i].parent);
	add_gpus(shape, layout);
	add_links(shape, layout);
	return (struct str){shape->data, shape->len};
}

static bool shape_equals(const void *context, uint32_t handle, const void *key)
{
	const struct layout_record *layout = layout_at(context, handle);
	const struct str *shape = key;

	return layout->len == shape->len && memcmp(layout->shape, shape->data, shape->len) == 0;
}

/* Which NUMA node a CPU is of. */
static void learn_cpus(struct layout_record *record, const struct layout *layout)
{
	size_t capacity = 0;
	struct cpu_range range;

	for (uint32_t i = 0; i < layout->n_numas; i++) {
		struct str list = layout->numas[i].cpus;

		while (cpus_take(&list, &range) == CPUS_RANGE) {
			mem_grow((void **)&record->cpus, &capacity, record->n_cpus + 1,
				 sizeof(*record->cpus));
			record->cpus[record->n_cpus++] = (struct numa_cpus){range, i};
		}
	}
}

static uint32_t layout_ref(struct cluster *cluster, const struct layout *facts)
{
	struct str shape = shape_of(cluster, facts);
	uint32_t hash = (uint32_t)hash_bytes(&cluster->key, shape.data, shape.len);
	uint32_t layout = map_find(&cluster->layouts_by_shape, hash, shape_equals, cluster, &shape);
	struct layout_record *record;

	if (layout == MAP_NONE) {
		layout = table_add(&cluster->layouts);
		record = layout_at(cluster, layout);
		record->topo = topo_new(facts);
		learn_cpus(record, facts);
		record->shape = mem_alloc(shape.len);
		memcpy(record->shape, shape.data, shape.len);
		record->len = shape.len;
		record->hash = hash;
		record->number = ++cluster->layouts_made;
		map_insert(&cluster->layouts_by_shape, hash, layout);
	}
	layout_at(cluster, layout)->nodes++;
	return layout;
}

static void layout_unref(struct cluster *cluster, uint32_t layout)
{
	struct layout_record *record;

	if (layout == TABLE_NONE)
		return;
	record = layout_at(cluster, layout);
	if (--record->nodes > 0)
		return;
	map_remove(&cluster->layouts_by_shape, record->hash, layout);
	topo_free(record->topo);
	mem_free(record->shape);
	mem_free(record->cpus);
	table_remove(&cluster->layouts, layout);
}

void layouts_clear(struct cluster *cluster)
{
	for (uint32_t layout = table_next(&cluster->layouts, 0); layout != TABLE_NONE;
	     layout = table_next(&cluster->layouts, layout + 1)) {
		topo_free(layout_at(cluster, layout)->topo);
		mem_free(layout_at(cluster, layout)->shape);
		mem_free(layout_at(cluster, layout)->cpus);
	}
}

/* --- who cards and devices are */

uint64_t device_id(const struct cluster *cluster, struct str id)
{
	return hash_bytes(&cluster->key, id.data, id.len);
}

uint32_t devices_ref(struct cluster *cluster, const struct str *ids, size_t n)
{
	uint64_t hashes[LIMIT_LAYOUT_GPUS];

	if (n == 0)
		return INTERN_EMPTY;
	n = MIN(n, ARRAY_SIZE(hashes));
	for (size_t i = 0; i < n; i++)
		hashes[i] = device_id(cluster, ids[i]);
	return intern_ref(cluster->intern, (struct str){(const char *)hashes, n * ID_SIZE});
}

static uint32_t cards_ref(struct cluster *cluster, const struct layout *layout)
{
	struct str uuids[LIMIT_LAYOUT_GPUS];

	for (size_t i = 0; i < layout->n_gpus; i++)
		uuids[i] = layout->gpus[i].uuid;
	return devices_ref(cluster, uuids, layout->n_gpus);
}

static uint32_t addresses_ref(struct cluster *cluster, const struct layout *layout)
{
	struct str addresses[LIMIT_LAYOUT_GPUS];

	for (size_t i = 0; i < layout->n_gpus; i++) {
		addresses[i] = layout->gpus[i].pci;
		if (str_empty(addresses[i]))
			return INTERN_EMPTY;
	}
	return devices_ref(cluster, addresses, layout->n_gpus);
}

/* --- a node's */

struct node_layout node_layout_of(struct cluster *cluster, const struct layout *layout)
{
	if (!layout)
		return NODE_LAYOUT_NONE;
	return (struct node_layout){
		.layout = layout_ref(cluster, layout),
		.cards = cards_ref(cluster, layout),
		.addresses = addresses_ref(cluster, layout),
		.speeds = link_speeds_ref(cluster, layout),
	};
}

/* The same once more. */
static struct node_layout node_layout_ref(struct cluster *cluster, const struct node_layout *layout)
{
	if (layout->layout != TABLE_NONE)
		layout_at(cluster, layout->layout)->nodes++;
	return (struct node_layout){
		.layout = layout->layout,
		.cards = intern_ref_handle(cluster->intern, layout->cards),
		.addresses = intern_ref_handle(cluster->intern, layout->addresses),
		.speeds = intern_ref_handle(cluster->intern, layout->speeds),
	};
}

void node_layout_unref(struct cluster *cluster, const struct node_layout *layout)
{
	layout_unref(cluster, layout->layout);
	intern_unref(cluster->intern, layout->cards);
	intern_unref(cluster->intern, layout->addresses);
	intern_unref(cluster->intern, layout->speeds);
}

/* Cards that were chosen by a layout of other cards say nothing any more. */
static void forget_choices(struct cluster *cluster, const struct node_record *node)
{
	for (uint32_t pod = node->first_pod; pod != TABLE_NONE;
	     pod = pod_at(cluster, pod)->node_next)
		pod_at(cluster, pod)->cards = 0;
}

static bool is_same(const struct node_layout *a, const struct node_layout *b)
{
	return a->layout == b->layout && a->cards == b->cards && a->addresses == b->addresses &&
	       a->speeds == b->speeds;
}

void layout_choose(struct cluster *cluster, uint32_t node)
{
	struct node_record *record = node_at(cluster, node);
	const struct node_layout none = NODE_LAYOUT_NONE, *chosen = &record->own;
	struct node_layout before = record->wires;
	struct str name = intern_str(cluster->intern, record->name);

	if (record->own.layout == TABLE_NONE && record->published == LAYOUT_IS_ABSENT)
		chosen = published_layout(cluster, name);
	record->wires = node_layout_ref(cluster, chosen && record->exists ? chosen : &none);
	if (record->wires.cards != INTERN_EMPTY && before.cards != INTERN_EMPTY &&
	    record->wires.cards != before.cards)
		forget_choices(cluster, record);
	if (!is_same(&record->wires, &before))
		room_refresh(cluster, node);
	node_layout_unref(cluster, &before);
}

static void set_own(struct cluster *cluster, struct node_record *record,
		    const struct node_facts *facts)
{
	struct node_layout before = record->own;
	uint32_t problem = record->layout_problem;
	struct str text = facts->layout_problem;

	text.len = MIN(text.len, (size_t)LIMIT_INTERNED_STRING);
	record->own = node_layout_of(cluster, facts->layout);
	record->layout_problem = intern_ref(cluster->intern, text);
	record->published = (uint8_t)facts->layout_state;
	record->agent_asked =
		facts->layout && str_starts_with(facts->layout->writer, STR(AGENT_WRITER));
	node_layout_unref(cluster, &before);
	intern_unref(cluster->intern, problem);
}

void layout_forget(struct cluster *cluster, uint32_t node)
{
	static const struct node_facts nothing = {.layout_state = LAYOUT_IS_ABSENT};
	struct node_record *record = node_at(cluster, node);

	set_own(cluster, record, &nothing);
	node_layout_unref(cluster, &record->wires);
	record->wires = NODE_LAYOUT_NONE;
}

void layout_follow(struct cluster *cluster, uint32_t node, const struct node_facts *facts)
{
	set_own(cluster, node_at(cluster, node), facts);
	layout_choose(cluster, node);
}

/* --- whether it counts */

/* Asked for by annotation, KAI's: of cards that kubelet gave to a pod of KAI's own. */
static bool is_part_of_whole(const struct cluster *cluster, const struct offer_kind *kind)
{
	return kind->sharing == DEVICE_FRACTION &&
	       resource_quota_key_kind(intern_str(cluster->intern, kind->resource)) ==
		       RESOURCE_KEY_NONE;
}

/*
 * Cards that are only counted can be told from nothing else that the node has, so all that it
 * offers has to be them: of a card that failed, or is cut, or that a scheduler chooses, nobody
 * knows which one it is.
 */
static bool is_counted_whole(const struct cluster *cluster, const struct node_record *record,
			     uint32_t n_cards)
{
	int64_t sum = 0;

	for (uint32_t h = record->first_offer; h != TABLE_NONE; h = offer_at(cluster, h)->next) {
		const struct offer_cell *offer = offer_at(cluster, h);
		const struct offer_kind *kind = kind_at(cluster, offer->kind);

		if (is_part_of_whole(cluster, kind))
			continue;
		if (kind->sharing != DEVICE_WHOLE || offer->allocatable != offer->count)
			return false;
		sum = saturating_add(sum, offer->count);
	}
	return sum == n_cards;
}

static bool contradicts(const struct cluster *cluster, const struct node_record *record)
{
	const struct topo *topo = layout_at(cluster, record->wires.layout)->topo;

	if (topo->counted)
		return !is_counted_whole(cluster, record, topo->n_cards);
	return room_cards(cluster, record) > topo->n_cards;
}

static enum layout_state judge(const struct cluster *cluster, const struct node_record *record)
{
	/* Of a node that was not seen nothing is published. */
	if (record->wires.layout == TABLE_NONE)
		return record->published == LAYOUT_IS_KNOWN ? LAYOUT_IS_ABSENT
							    : (enum layout_state)record->published;
	if (contradicts(cluster, record))
		return LAYOUT_IS_CONTRADICTS;
	if (record->agent_asked && !record->agent_lives)
		return LAYOUT_IS_AGENT_GONE;
	return LAYOUT_IS_KNOWN;
}

void layout_settle(struct cluster *cluster, uint32_t node)
{
	struct node_record *record = node_at(cluster, node);
	enum layout_state state = judge(cluster, record);

	if (state == (enum layout_state)record->state)
		return;
	record->state = (uint8_t)state;
	room_changed(cluster, node);
	mark_node(cluster, node);
}

void cluster_layouts(const struct cluster *cluster, struct cluster_layouts *ret_layouts)
{
	*ret_layouts = (struct cluster_layouts){.distinct = cluster->layouts.count};
	for (uint32_t node = table_next(&cluster->nodes, 0); node != TABLE_NONE;
	     node = table_next(&cluster->nodes, node + 1))
		if (cluster_node_offers(cluster, node))
			ret_layouts->nodes[node_at(cluster, node)->state]++;
}
