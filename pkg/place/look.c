/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod sees of a node, and what was said of the like of it before. */
#include <string.h>

#include "base/macros.h"
#include "place/internal.h"

/* --- memory */

/* All that a judgment reads of a pod, and of a view beside its sets. */
static uint64_t asked_of(const struct place *place, const struct place_cards_view *view)
{
	const struct pod_alignment *alignment = &place->ask.alignment;
	uint64_t asked = 1;

	asked = asked << 7 | view->count;
	asked = asked << 7 | MIN(place->ask.most, view->count);
	asked = asked << 7 | view->pending;
	asked = asked << 2 | (uint64_t)MIN(view->parts, 2);
	asked = asked << 2 | (uint64_t)place->topology.policy;
	asked = asked << 2 | (uint64_t)place->topology.scope;
	asked = asked << 1 | alignment->guaranteed;
	asked = asked << 1 | alignment->whole_cpus;
	asked = asked << 1 | alignment->cpus_together;
	asked = asked << 1 | alignment->takes_over;
	return asked << 1 | view->others;
}

_Static_assert(LIMIT_LAYOUT_GPUS + 1 < 128, "a count of cards has seven bits");

static uint16_t clamp(uint32_t cpus)
{
	return (uint16_t)MIN(cpus, (uint32_t)UINT16_MAX);
}

/* As topo_kubelet_admits() looks at them: only where kubelet aligns CPUs with cards. */
static struct place_cpus cpus_of(const struct place *place, const struct cluster_room *room)
{
	const struct layout_kubelet *kubelet = &room->topo->kubelet;
	struct place_cpus cpus = {0};

	if (place->ask.alignment.cpus == 0 || !kubelet->static_cpu ||
	    (kubelet->policy != LAYOUT_POLICY_SINGLE_NUMA &&
	     kubelet->policy != LAYOUT_POLICY_RESTRICTED))
		return cpus;
	cpus.asked = clamp(place->ask.alignment.cpus);
	cpus.pending = clamp(room->pinned_somewhere);
	cpus.reserved = clamp(room->reserved_cpus);
	for (size_t i = 0; i < LIMIT_POLICY_NUMAS; i++)
		cpus.taken[i] = clamp(room->pinned[i]);
	return cpus;
}

static bool is_of(const struct place_judgment *a, const struct place_judgment *b)
{
	return a->asked == b->asked && a->layout == b->layout && a->free == b->free &&
	       a->best == b->best && a->leaving == b->leaving &&
	       memcmp(&a->cpus, &b->cpus, sizeof(a->cpus)) == 0;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct place_judgment *key)
{
	uint64_t hash = mix(mix(mix(mix(key->asked << 8, key->layout), key->free), key->best),
			    key->leaving);
	uint64_t words[(sizeof(key->cpus) + 7) / 8] = {0};

	if (key->cpus.asked == 0)
		return hash;
	memcpy(words, &key->cpus, sizeof(key->cpus));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		hash = mix(hash, words[i]);
	return hash;
}

/* What is remembered of a view that is known; nothing yet where it is new. */
static struct place_judgment *recall(const struct place *place, const struct place_cards_view *view)
{
	const struct place_judgment key = {
		.layout = view->room.layout,
		.free = view->free,
		.best = view->best,
		.leaving = view->leaving,
		.asked = asked_of(place, view),
		.cpus = cpus_of(place, &view->room),
	};
	struct place_judgment *judgment =
		&place->tools.memory->judgments[(hash_of(&key) >> 20) % PLACE_MEMORY_SIZE];

	if (!is_of(judgment, &key)) {
		*judgment = key;
		place->tools.memory->replaced++;
	}
	return judgment;
}

/* --- views */

/* Of all whole cards that are asked for. */
struct whole_units {
	int64_t all, free, withdrawn;
};

static void view_units(const struct place *place, struct place_look *look,
		       struct whole_units *ret_whole)
{
	const struct cluster_units *units = look->units;
	struct place_cards_view *view = &look->view;

	view->count = 0;
	view->parts = 0;
	*ret_whole = (struct whole_units){0};
	for (size_t i = 0; i < place->ask.n; i++) {
		if (!units[i].whole) {
			view->parts += units[i].count;
			continue;
		}
		view->count += (uint32_t)MIN(units[i].count, (int64_t)LIMIT_LAYOUT_GPUS + 1);
		ret_whole->free += MAX(units[i].free, 0);
		ret_whole->withdrawn += MAX(units[i].withdrawn, 0);
		ret_whole->all += units[i].total + units[i].withdrawn;
	}
	view->count = MIN(view->count, LIMIT_LAYOUT_GPUS + 1U); /* asked_of() has no more room */
}

/* A card that failed is given out no more where its plugin has withdrawn as many as failed. */
static uint64_t may_be_given(const struct cluster_room *room, int64_t withdrawn)
{
	uint64_t all = topo_set_below(room->topo->n_cards), usable = room->topo->usable;

	if (usable != all && topo_set_count(all & ~usable) <= (uint64_t)withdrawn)
		all = usable;
	return all & ~room->seen;
}

/* Cards that are chosen for others are left to them where there are others. */
static uint64_t better_free(const struct place_cards_view *view)
{
	uint64_t best = view->free & ~view->room.assumed;

	return best == view->free || topo_set_count(best) >= view->count ? best : view->free;
}

static void view_cards(const struct place *place, struct place_look *look)
{
	struct place_cards_view *view = &look->view;
	struct whole_units whole;
	uint32_t n_free;

	view->room = cluster_room_for(place->tools.cluster, &place->ask, look->node);
	view->known = false;
	view_units(place, look, &whole);
	if (!view->room.topo)
		return;
	view->free = may_be_given(&view->room, whole.withdrawn);
	view->others = view->room.topo->n_cards > whole.all;
	n_free = topo_set_count(view->free);
	view->known = n_free >= (uint64_t)whole.free;
	if (!view->known) {
		view->room.state = LAYOUT_IS_CONTRADICTS;
		return;
	}
	view->leaving = view->room.leaving & view->free;
	view->pending = n_free - (uint32_t)whole.free;
	view->pending -= MIN(view->pending, topo_set_count(view->leaving));
	view->best = better_free(view);
}

/* Another question may have come between, and what it was told taken the place in memory. */
struct place_judgment *place_view_cards(struct place *place, struct place_look *look)
{
	if (look->viewed && look->replaced == place->tools.memory->replaced)
		return look->judgment;
	if (!look->viewed)
		view_cards(place, look);
	look->viewed = true;
	look->judgment = look->view.known ? recall(place, &look->view) : NULL;
	look->replaced = place->tools.memory->replaced;
	return look->judgment;
}

struct place_look *place_look_at(struct place *place, uint32_t node)
{
	struct place_look *look = &place->look;

	if (look->node == node)
		return look;
	look->node = node;
	look->viewed = false;
	cluster_units_on(place->tools.cluster, &place->ask, node, look->units);
	return look;
}
