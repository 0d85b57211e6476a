/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout in a NodeResourceTopology, of which zones of type "Node" are read: NUMA nodes, each
 * with what kubelet may give out of it. What is available there is not: it is up to a minute old,
 * and who holds what of the node is known from its pods.
 */
#include "api/zones.h"

#include <stdlib.h>

#include "api/quantity.h"
#include "base/limits.h"
#include "base/macros.h"
#include "model/resource.h"

#define ZONE_PREFIX    "node-"
#define DISTANCE_LOCAL 10
#define DISTANCE_MAX   255

/* A node's plugins call their cards by no more names. */
#define CARD_NAMES 4

struct zone {
	const struct wire_zone *wire;
	uint32_t id; /* the kernel's */
	uint32_t cards, cpus;
	bool cpus_told, gives_cpus;
};

struct zones {
	struct zone zones[LIMIT_LAYOUT_NUMAS];
	size_t n;
	uint32_t cards;
};

/* --- amounts */

/* Neither is more than a machine has. */
static bool read_amount(const struct wire_zone_amount *wire, int64_t *ret_capacity,
			int64_t *ret_allocatable)
{
	return quantity_parse(wire->capacity, ret_capacity) &&
	       quantity_parse(wire->allocatable, ret_allocatable) && *ret_allocatable >= 0 &&
	       *ret_allocatable <= *ret_capacity;
}

static bool read_cpus(const struct wire_zone_amount *wire, struct zone *zone)
{
	int64_t capacity, allocatable;

	if (zone->cpus_told || !read_amount(wire, &capacity, &allocatable) ||
	    capacity > LIMIT_LAYOUT_CPUS)
		return false;
	zone->cpus = (uint32_t)capacity;
	zone->gives_cpus = allocatable > 0;
	zone->cpus_told = true;
	return true;
}

/* Of cards that are cut no list tells which they are. */
static bool read_cards(const struct wire_zone_amount *wire, struct zone *zone)
{
	int64_t capacity, allocatable;

	if (!read_amount(wire, &capacity, &allocatable))
		return false;
	if (resource_family(wire->name) != RESOURCE_CARD)
		return capacity == 0;
	if (allocatable > LIMIT_LAYOUT_GPUS)
		return false;
	zone->cards += (uint32_t)allocatable;
	return true;
}

/* Each name once. */
static bool remember(struct str names[CARD_NAMES], size_t *n, struct str name)
{
	for (size_t i = 0; i < *n; i++)
		if (str_equal(names[i], name))
			return false;
	if (*n == CARD_NAMES)
		return false;
	names[(*n)++] = name;
	return true;
}

static bool read_amounts(struct zone *zone)
{
	struct str names[CARD_NAMES];
	size_t n = 0;

	wire_for_each(const struct wire_zone_amount, wire, zone->wire->amounts) {
		if (str_equal(wire->name, STR("cpu")) && !read_cpus(wire, zone))
			return false;
		if (resource_is_gpu(wire->name) &&
		    (!remember(names, &n, wire->name) || !read_cards(wire, zone)))
			return false;
	}
	return true;
}

/* --- zones */

static bool read_id(struct str name, uint32_t *ret_id)
{
	int64_t id;

	if (!str_starts_with(name, STR(ZONE_PREFIX)) ||
	    !str_to_int64(str_skip(name, sizeof(ZONE_PREFIX) - 1), 0, INT32_MAX, &id))
		return false;
	*ret_id = (uint32_t)id;
	return true;
}

static bool add_zone(struct zones *zones, const struct wire_zone *wire)
{
	struct zone *zone = &zones->zones[zones->n];

	if (zones->n == ARRAY_SIZE(zones->zones))
		return false;
	*zone = (struct zone){.wire = wire};
	if (!read_id(wire->name, &zone->id) || !read_amounts(zone))
		return false;
	zones->cards += zone->cards;
	zones->n++;
	return zones->cards <= LIMIT_LAYOUT_GPUS;
}

static int compare_zones(const void *a, const void *b)
{
	const struct zone *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

/* By the kernel's numbers, each once. */
static bool list_zones(const struct wire_node_topology *wire, struct zones *zones)
{
	zones->n = 0;
	zones->cards = 0;
	wire_for_each(const struct wire_zone, zone, wire->zones)
		if (str_equal(zone->type, STR("Node")) && !add_zone(zones, zone))
			return false;
	qsort(zones->zones, zones->n, sizeof(zones->zones[0]), compare_zones);
	for (size_t i = 1; i < zones->n; i++)
		if (zones->zones[i].id == zones->zones[i - 1].id)
			return false;
	return zones->cards > 0;
}

/* --- distances */

static size_t find_zone(const struct zones *zones, struct str name)
{
	uint32_t id;
	size_t i = 0;

	if (!read_id(name, &id))
		return zones->n;
	while (i < zones->n && zones->zones[i].id != id)
		i++;
	return i;
}

static bool read_costs(const struct zones *zones, size_t from, uint32_t *row)
{
	const struct wire_list *costs = &zones->zones[from].wire->costs;

	if (costs->len != zones->n)
		return false;
	wire_for_each(const struct wire_zone_cost, cost, *costs) {
		size_t to = find_zone(zones, cost->name);

		if (to == zones->n || row[to] != 0 || cost->value < DISTANCE_LOCAL ||
		    cost->value > DISTANCE_MAX || (to == from && cost->value != DISTANCE_LOCAL))
			return false;
		row[to] = (uint32_t)cost->value;
	}
	return true;
}

/* All, or none: a closeness that only some have would be no order. */
static int read_distances(const struct zones *zones, const struct pack *pack,
			  const uint32_t **ret_distances)
{
	uint32_t *distances = arena_alloc(pack->arena, zones->n * zones->n * sizeof(*distances));

	if (!distances)
		return pack_no_memory(pack);
	memset(distances, 0, zones->n * zones->n * sizeof(*distances));
	for (size_t i = 0; i < zones->n; i++)
		if (!read_costs(zones, i, &distances[i * zones->n]))
			return 0;
	*ret_distances = distances;
	return 0;
}

/* --- the layout */

static void fill_numas(const struct zones *zones, struct layout_numa *numas)
{
	for (size_t i = 0; i < zones->n; i++)
		numas[i] = (struct layout_numa){
			.id = zones->zones[i].id,
			.n_cpus = zones->zones[i].cpus,
			.memory = AMOUNT_UNKNOWN,
		};
}

static void fill_gpus(const struct zones *zones, struct layout_gpu *gpus)
{
	for (uint32_t zone = 0; zone < zones->n; zone++)
		for (uint32_t i = 0; i < zones->zones[zone].cards; i++)
			*gpus++ = (struct layout_gpu){
				.index = LAYOUT_NONE,
				.numa = zone,
				.bridge = LAYOUT_NONE,
				.speed = AMOUNT_UNKNOWN,
				.memory = AMOUNT_UNKNOWN,
				.sharing = DEVICE_OTHER,
				.health = LAYOUT_HEALTH_UNKNOWN,
			};
}

static void fill_kubelet(const struct wire_node_topology *wire, const struct zones *zones,
			 struct layout *layout)
{
	bool gives_cpus = false;

	for (size_t i = 0; i < zones->n; i++) {
		gives_cpus = gives_cpus || zones->zones[i].gives_cpus;
		layout->cpus_unknown = layout->cpus_unknown || !zones->zones[i].cpus_told;
	}
	if (gives_cpus)
		layout->kubelet = zones_kubelet(wire);
	layout->kubelet.static_cpu = layout->kubelet.policy != LAYOUT_POLICY_UNKNOWN;
}

static int make_layout(const struct wire_node_topology *wire, const struct zones *zones,
		       const struct pack *pack, const struct layout **ret_layout)
{
	struct layout *layout = arena_alloc(pack->arena, sizeof(*layout));
	struct layout_numa *numas = arena_alloc(pack->arena, zones->n * sizeof(*numas));
	struct layout_gpu *gpus = arena_alloc(pack->arena, zones->cards * sizeof(*gpus));

	if (!layout || !numas || !gpus)
		return pack_no_memory(pack);
	*layout = (struct layout){
		.writer = STR("NodeResourceTopology"),
		.counted = true,
		.numas = numas,
		.n_numas = zones->n,
		.gpus = gpus,
		.n_gpus = zones->cards,
	};
	fill_numas(zones, numas);
	fill_gpus(zones, gpus);
	fill_kubelet(wire, zones, layout);
	if (read_distances(zones, pack, &layout->distances) < 0)
		return -1;
	*ret_layout = layout;
	return 0;
}

int zones_read(const struct wire_node_topology *wire, const struct pack *pack,
	       const struct layout **ret_layout)
{
	struct zones zones;

	*ret_layout = NULL;
	return list_zones(wire, &zones) ? make_layout(wire, &zones, pack, ret_layout) : 0;
}
