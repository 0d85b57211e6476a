/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works a layout out: the tree of bridges becomes the way between every two cards, the list of
 * links a matrix, and from these come domains, closeness and twins.
 */
#include "topo/topo.h"

#include <assert.h>

#include "base/limits.h"
#include "base/mem.h"
#include "topo/domain.h"
#include "topo/score.h"

#define GB              1000000000LL
#define MAX_NVLINK      65535
#define MAX_PCIE        15
#define MAX_DISTANCE    255
#define DISTANCE_LOCAL  10
#define DISTANCE_REMOTE MAX_DISTANCE /* where nobody tells */

struct builder {
	const struct layout *layout;
	struct topo *topo;
	uint32_t top[LIMIT_LAYOUT_BRIDGES], depth[LIMIT_LAYOUT_BRIDGES]; /* of bridges */
	int64_t bandwidth[LIMIT_LAYOUT_GPUS][LIMIT_LAYOUT_GPUS];
};

/* --- PCIe */

static void walk_bridges(struct builder *b)
{
	for (uint32_t i = 0; i < b->layout->n_bridges; i++) {
		uint32_t parent = b->layout->bridges[i].parent;

		b->top[i] = parent == LAYOUT_NONE ? i : b->top[parent];
		b->depth[i] = parent == LAYOUT_NONE ? 0 : b->depth[parent] + 1;
	}
}

/* Bridges on the way between two cards under one topmost bridge that only one of them is under. */
static uint32_t bridges_between(const struct builder *b, uint32_t x, uint32_t y)
{
	uint32_t n = 0;

	while (x != y) {
		uint32_t *lower = b->depth[x] >= b->depth[y] ? &x : &y;

		*lower = b->layout->bridges[*lower].parent;
		n++;
	}
	return n;
}

static int64_t pcie_closeness(const struct builder *b, uint32_t x, uint32_t y)
{
	uint32_t between;

	x = b->layout->gpus[x].bridge;
	y = b->layout->gpus[y].bridge;
	if (x == LAYOUT_NONE || y == LAYOUT_NONE || b->top[x] != b->top[y])
		return 0;
	between = bridges_between(b, x, y);
	return between < MAX_PCIE ? MAX_PCIE - (int64_t)between : 1;
}

/* --- NUMA and NVLink */

static int64_t numa_closeness(const struct layout *layout, uint32_t x, uint32_t y)
{
	uint32_t distance;

	x = layout->gpus[x].numa;
	y = layout->gpus[y].numa;
	if (x == LAYOUT_NONE || y == LAYOUT_NONE)
		return 0;
	if (layout->distances)
		distance = layout->distances[x * layout->n_numas + y];
	else
		distance = x == y ? DISTANCE_LOCAL : DISTANCE_REMOTE;
	return distance < MAX_DISTANCE ? MAX_DISTANCE - (int64_t)distance : 0;
}

static void read_links(struct builder *b)
{
	for (size_t i = 0; i < b->layout->n_links; i++) {
		const struct layout_link *link = &b->layout->links[i];

		b->bandwidth[link->a][link->b] = b->bandwidth[link->b][link->a] = link->bandwidth;
	}
}

static int64_t nvlink_closeness(const struct builder *b, uint32_t x, uint32_t y)
{
	int64_t bandwidth = b->bandwidth[x][y];

	return bandwidth == 0 ? 0 : MIN(MAX(bandwidth / GB, 1), MAX_NVLINK);
}

static void measure_pairs(struct builder *b)
{
	uint32_t n = b->topo->n_cards;

	for (uint32_t x = 0; x < n; x++)
		for (uint32_t y = 0; y < n; y++)
			if (x != y)
				b->topo->pairs[x * n + y] =
					nvlink_closeness(b, x, y) << TOPO_SCORE_NVLINK_BIT |
					pcie_closeness(b, x, y) << TOPO_SCORE_PCIE_BIT |
					numa_closeness(b->layout, x, y);
}

/* --- domains */

static void find_numbered_domains(struct builder *b)
{
	for (uint32_t i = 0; i < b->topo->n_cards; i++) {
		const struct layout_gpu *gpu = &b->layout->gpus[i];
		uint32_t *domain = b->topo->cards[i].domain;

		domain[LAYOUT_NUMA] = gpu->numa;
		domain[LAYOUT_PCIE_SWITCH] =
			gpu->bridge == LAYOUT_NONE ? LAYOUT_NONE : b->top[gpu->bridge];
	}
}

/* The lowest card of each component sinks to all that are joined to it. */
static void find_linked_domains(struct builder *b)
{
	struct topo_card *cards = b->topo->cards;
	bool changed = b->layout->n_links > 0;

	for (uint32_t i = 0; i < b->topo->n_cards; i++)
		cards[i].domain[LAYOUT_NVLINK] = changed ? i : LAYOUT_NONE;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < b->layout->n_links; i++) {
			uint32_t *x = &cards[b->layout->links[i].a].domain[LAYOUT_NVLINK];
			uint32_t *y = &cards[b->layout->links[i].b].domain[LAYOUT_NVLINK];

			changed = changed || *x != *y;
			*x = *y = MIN(*x, *y);
		}
	}
}

static enum topo_answer relate(const struct builder *b, enum layout_scope scope, uint32_t x,
			       uint32_t y)
{
	uint32_t one = b->topo->cards[x].domain[scope], other = b->topo->cards[y].domain[scope];

	if (one == LAYOUT_NONE || other == LAYOUT_NONE)
		return TOPO_UNKNOWN;
	if (scope == LAYOUT_NVLINK)
		return b->bandwidth[x][y] > 0 ? TOPO_YES : TOPO_NO;
	return one == other ? TOPO_YES : TOPO_NO;
}

static void relate_cards(struct builder *b, enum layout_scope scope)
{
	for (uint32_t x = 0; x < b->topo->n_cards; x++) {
		struct topo_card *card = &b->topo->cards[x];

		for (uint32_t y = 0; y < b->topo->n_cards; y++) {
			enum topo_answer answer = relate(b, scope, x, y);

			if (x == y || answer == TOPO_UNKNOWN)
				continue;
			*(answer == TOPO_YES ? &card->together[scope] : &card->apart[scope]) |=
				topo_set_of(y);
		}
	}
}

/* --- twins */

static bool are_twins(const struct topo *topo, uint32_t x, uint32_t y)
{
	uint64_t others = ~(topo_set_of(x) | topo_set_of(y));

	for (size_t scope = 0; scope < TOPO_SCOPES; scope++)
		if ((topo->cards[x].together[scope] ^ topo->cards[y].together[scope]) & others)
			return false;
	for (uint32_t other = 0; other < topo->n_cards; other++)
		if (topo_set_has(others, other) &&
		    topo_pair(topo, x, other) != topo_pair(topo, y, other))
			return false;
	return true;
}

static void find_twins(struct topo *topo)
{
	for (uint32_t x = 0; x < topo->n_cards; x++)
		for (uint32_t y = 0; y < topo->n_cards; y++)
			if (x != y && are_twins(topo, x, y))
				topo->cards[x].twins |= topo_set_of(y);
}

static struct topo *allocate(const struct layout *layout)
{
	size_t n = layout->n_gpus;
	struct topo *topo;

	assert(n <= LIMIT_LAYOUT_GPUS && layout->n_bridges <= LIMIT_LAYOUT_BRIDGES);
	topo = mem_alloc(sizeof(*topo) + n * sizeof(topo->cards[0]));
	topo->kubelet = layout->kubelet;
	topo->counted = layout->counted;
	topo->n_cards = (uint32_t)n;
	topo->pairs = mem_alloc_array(n * n, sizeof(*topo->pairs));
	for (size_t i = 0; i < layout->n_numas; i++)
		topo->n_cpu_nodes += layout->numas[i].n_cpus > 0;
	if (layout->cpus_unknown)
		topo->n_cpu_nodes = TOPO_CPU_NODES_UNKNOWN;
	for (size_t i = 0; i < MIN(layout->n_numas, (size_t)LIMIT_POLICY_NUMAS); i++)
		topo->cpus[i] = layout->numas[i].n_cpus;
	for (uint32_t i = 0; i < n; i++)
		if (layout->gpus[i].health != LAYOUT_HEALTH_FAILED)
			topo->usable |= topo_set_of(i);
	return topo;
}

struct topo *topo_new(const struct layout *layout)
{
	struct builder *b CLEANUP(mem_free) = mem_alloc(sizeof(*b));

	b->layout = layout;
	b->topo = allocate(layout);
	walk_bridges(b);
	read_links(b);
	measure_pairs(b);
	find_numbered_domains(b);
	find_linked_domains(b);
	for (size_t scope = 0; scope < TOPO_SCOPES; scope++)
		relate_cards(b, (enum layout_scope)scope);
	find_twins(b->topo);
	return b->topo;
}

void topo_free(struct topo *topo)
{
	if (!topo)
		return;
	mem_free(topo->pairs);
	mem_free(topo);
}
