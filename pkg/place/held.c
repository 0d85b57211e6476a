/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room that is held for a pod which requires a topology. So many cards are kept for it, but which
 * ones another pod gets is kubelet's choice: one card is enough to part those that were freed. So
 * nobody comes before it who could, whichever cards and CPUs kubelet gives him.
 */
#include "cluster/placing/reserve.h"
#include "place/internal.h"
#include "topo/set.h"

/* What the pod would take of the node, wherever. */
struct taken {
	uint32_t cards, cpus;
};

static struct taken taken_by(struct place *place, uint32_t node)
{
	struct taken taken = {0, place->ask.alignment.cpus};
	struct place_look *look = place_look_at(place, node);

	if (place_view_cards(place, look))
		taken.cards = look->view.count;
	return taken;
}

/* Once all are gone that are on their way out, which it has to wait for. */
static bool fits_after(const struct place *place, uint32_t node, uint32_t pod, struct taken taken)
{
	struct place other;
	struct cluster_ask ask;
	struct place_look *look;
	struct topo_request request;

	cluster_ask_of_pod(place->tools.cluster, pod, &ask);
	place_begin(&other, &place->tools, &ask);
	place_try(&other, place->ask.trial);
	look = place_look_at(&other, node);
	if (other.topology.policy != TOPOLOGY_REQUIRED || !place_view_cards(&other, look))
		return true;
	request = place_request_of(&other, &look->view);
	request.leaving = 0;
	request.pending = MIN(request.pending + taken.cards, topo_set_count(request.free));
	request.cpus_pending += taken.cpus;
	return place_fit_required(&other, &look->view, &request).verdict == PLACE_FITS;
}

struct place_answer place_leave_held(struct place *place, uint32_t node)
{
	const struct cluster *cluster = place->tools.cluster;
	uint32_t hold = cluster_hold_against(cluster, &place->ask, node);
	struct taken taken = {0, 0};

	if (hold != TABLE_NONE)
		taken = taken_by(place, node);
	for (; hold != TABLE_NONE && (taken.cards > 0 || taken.cpus > 0);
	     hold = cluster_hold_against_next(cluster, &place->ask, hold)) {
		uint32_t pod = cluster_hold_pod(cluster, hold);

		if (pod != TABLE_NONE && !fits_after(place, node, pod, taken))
			return (struct place_answer){PLACE_HELD, hold};
	}
	return (struct place_answer){PLACE_FITS, 0};
}
