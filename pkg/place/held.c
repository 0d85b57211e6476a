/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room that is held for a pod whose cards have to lie somehow: by its topology policy, or since its
 * kubelet rejects it otherwise. So many cards are kept for it, but which ones another pod gets is
 * kubelet's choice: one card is enough to part those that were freed. So nobody comes before it who
 * could, whichever cards and CPUs kubelet gives that pod.
 */
#include "cluster/placing/reserve.h"
#include "place/internal.h"
#include "topo/set.h"

/* Also by kubelet's own will: one that is sure to be admitted. */
static bool is_satisfied(const struct place *place, const struct place_cards_view *view,
			 const struct topo_request *request)
{
	if (place->topology.policy == TOPOLOGY_REQUIRED)
		return place_fit_required(place, view, request).verdict == PLACE_FITS;
	return request->count == 0 || topo_kubelet_admits(view->room.topo, request) == TOPO_YES;
}

/* Whole cards of what @other asks for, too, that the pod would take. */
static uint32_t cards_taken(struct place *place, const struct place_look *other,
			    const struct place *whose)
{
	const struct place_look *look = place_look_at(place, other->node);
	int64_t sum = 0;

	for (size_t i = 0; i < place->ask.n; i++)
		for (size_t k = 0; look->units[i].whole && k < whose->ask.n; k++)
			if (other->units[k].offer == look->units[i].offer)
				sum += MIN(look->units[i].count, (int64_t)LIMIT_LAYOUT_GPUS);
	return (uint32_t)MIN(sum, (int64_t)LIMIT_LAYOUT_GPUS);
}

/* Whether the pod costs who is to come there its room. What was chosen for that one counts as free:
 * whoever is on the way out, or will be asked to go, is waited for. */
static bool is_in_the_way(struct place *place, uint32_t node, uint32_t hold)
{
	struct place_tools tools = place->tools;
	struct place_look *look;
	struct topo_request request;
	struct cluster_ask ask;
	struct place other;

	if (!cluster_ask_of_hold(tools.cluster, hold, &ask))
		return false;
	tools.trial = place->ask.trial;
	ask.beside = place->ask.pod;
	place_begin(&other, &tools, &ask);
	look = place_look_at(&other, node);
	if (!place_view_cards(&other, look))
		return false;
	request = place_request_of(&other, &look->view);
	request.free |= cluster_hold_view(tools.cluster, hold).cards &
			topo_set_below(look->view.room.topo->n_cards);
	request.leaving = 0;
	if (!is_satisfied(&other, &look->view, &request))
		return false;
	request.pending += cards_taken(place, look, &other);
	request.pending = MIN(request.pending, topo_set_count(request.free));
	request.cpus_pending += place->ask.alignment.cpus;
	return !is_satisfied(&other, &look->view, &request);
}

/* One that is assumed to be there is reckoned with already. */
static bool is_there(const struct place *place, uint32_t node)
{
	const struct cluster_trial *trial = place->ask.trial;
	bool there = node == place->own_node;

	for (size_t i = 0; there && trial && i < trial->n; i++)
		there = trial->gone[i] != place->ask.pod;
	return there;
}

struct place_answer place_leave_held(struct place *place, uint32_t node)
{
	const struct cluster *cluster = place->tools.cluster;
	uint32_t hold = TABLE_NONE;

	if (!is_there(place, node))
		hold = cluster_hold_against(cluster, &place->ask, node);
	while (hold != TABLE_NONE && !is_in_the_way(place, node, hold))
		hold = cluster_hold_against_next(cluster, &place->ask, hold);
	return hold == TABLE_NONE ? (struct place_answer){PLACE_FITS, 0}
				  : (struct place_answer){PLACE_HELD, hold};
}
