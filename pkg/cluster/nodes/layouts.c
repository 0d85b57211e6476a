/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of nodes. What decisions read of one follows from its shape: the wires, kubelet's
 * settings and what has failed, but neither uuids nor addresses. Nodes of one shape share one
 * `struct topo`, and each keeps who its cards are, so that devices that kubelet names are found.
 */
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cluster/internal.h"
#include "cluster/nodes/links.h"
#include "cluster/placing/placement.h"
#include "model/layout.h"

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

void layout_forget(struct cluster *cluster, uint32_t node)
{
	struct node_record *record = node_at(cluster, node);

	layout_unref(cluster, record->layout);
	intern_unref(cluster->intern, record->cards);
	intern_unref(cluster->intern, record->addresses);
	intern_unref(cluster->intern, record->layout_problem);
	intern_unref(cluster->intern, record->link_speeds);
	record->layout = TABLE_NONE;
	record->cards = record->addresses = record->layout_problem = INTERN_EMPTY;
	record->link_speeds = INTERN_EMPTY;
	record->published = LAYOUT_IS_ABSENT;
	record->agent_asked = false;
}

/* Cards that were chosen by a layout of other cards say nothing any more. */
static void forget_choices(struct cluster *cluster, const struct node_record *node)
{
	for (uint32_t pod = node->first_pod; pod != TABLE_NONE;
	     pod = pod_at(cluster, pod)->node_next)
		pod_at(cluster, pod)->cards = 0;
}

void layout_follow(struct cluster *cluster, uint32_t node, const struct node_facts *facts)
{
	struct node_record *record = node_at(cluster, node);
	uint32_t layout = TABLE_NONE, cards = INTERN_EMPTY, addresses = INTERN_EMPTY, problem;
	uint32_t speeds = INTERN_EMPTY;
	struct str text = facts->layout_problem;
	bool same;

	if (facts->layout) {
		layout = layout_ref(cluster, facts->layout);
		cards = cards_ref(cluster, facts->layout);
		addresses = addresses_ref(cluster, facts->layout);
		speeds = link_speeds_ref(cluster, facts->layout);
	}
	text.len = MIN(text.len, (size_t)LIMIT_INTERNED_STRING);
	problem = intern_ref(cluster->intern, text);
	same = layout == record->layout && cards == record->cards &&
	       addresses == record->addresses && speeds == record->link_speeds;
	if (cards != INTERN_EMPTY && record->cards != INTERN_EMPTY && cards != record->cards)
		forget_choices(cluster, record);
	layout_forget(cluster, node);
	record->layout = layout;
	record->cards = cards;
	record->addresses = addresses;
	record->link_speeds = speeds;
	record->layout_problem = problem;
	record->published = (uint8_t)facts->layout_state;
	record->agent_asked =
		facts->layout && str_starts_with(facts->layout->writer, STR(AGENT_WRITER));
	if (!same)
		room_refresh(cluster, node);
}

/* --- whether it counts */

static enum layout_state judge(const struct cluster *cluster, const struct node_record *record)
{
	/* Of a node that was not seen nothing is published. */
	if (record->layout == TABLE_NONE)
		return record->published == LAYOUT_IS_KNOWN ? LAYOUT_IS_ABSENT
							    : (enum layout_state)record->published;
	if (room_cards(cluster, record) > layout_at(cluster, record->layout)->topo->n_cards)
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
