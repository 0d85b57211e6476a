/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims of dynamic resource allocation under Required. kube-scheduler chooses their devices,
 * before bind and after filter: certain is what they have already, a single device, devices that
 * the claim itself keeps together, and any choice where all free cards lie in one domain.
 */
#include "place/internal.h"

static struct place_answer refuse(enum place_claims why)
{
	return (struct place_answer){PLACE_CLAIMS, why};
}

/* kubelet's topology manager knows nothing of claims. */
static bool pins_apart(const struct place *place, const struct topo *topo)
{
	const struct pod_alignment *alignment = &place->ask.alignment;
	bool pins = topo->kubelet.static_cpu || topo->kubelet.policy == LAYOUT_POLICY_UNKNOWN;

	return place->topology.scope == LAYOUT_NUMA && topo->n_cpu_nodes > 1 && pins &&
	       alignment->guaranteed && alignment->cpus > 0;
}

/* Cards that the pod may come to have. */
static uint64_t possible(const struct cluster_room *room, const struct cluster_claims *claims,
			 bool more)
{
	uint64_t free = topo_set_below(room->topo->n_cards) & ~room->seen;

	return claims->allocated && !more ? claims->cards : claims->cards | free;
}

struct place_answer place_fit_claims(const struct place *place, uint32_t node)
{
	const struct cluster_room room = cluster_room_for(place->tools.cluster, &place->ask, node);
	struct cluster_claims claims;
	bool more = place->ask.n > 0; /* devices besides, by a plugin */

	if (!room.topo)
		return (struct place_answer){PLACE_UNKNOWN_LAYOUT, room.state};
	claims = cluster_claims_on(place->tools.cluster, &place->ask, node);
	if (pins_apart(place, room.topo))
		return refuse(PLACE_CLAIMS_PINNED);
	if (!more && (claims.devices <= 1 || (!claims.allocated && claims.numa_together &&
					      place->topology.scope == LAYOUT_NUMA)))
		return (struct place_answer){PLACE_FITS, 0};
	/* Its cards are those of a plugin, and none of DRA's. */
	if (claims.others > 0 || room.topo->counted)
		return refuse(PLACE_CLAIMS_UNKNOWN);
	switch (topo_in_one_domain(room.topo, place->topology.scope,
				   possible(&room, &claims, more))) {
	case TOPO_YES:
		return (struct place_answer){PLACE_FITS, 0};
	case TOPO_UNKNOWN:
		return refuse(PLACE_CLAIMS_UNKNOWN);
	case TOPO_NO:
		break;
	}
	return refuse(claims.allocated && !more ? PLACE_CLAIMS_APART : PLACE_CLAIMS_CHOICE);
}

void place_describe_claims(const struct place *place, uint32_t detail, struct buf *buf)
{
	const char *scope = layout_scope_text(place->topology.scope);

	switch ((enum place_claims)detail) {
	case PLACE_CLAIMS_CHOICE:
		buf_printf(buf,
			   "devices of its ResourceClaims may be given from several domains of "
			   "scope %s: for NUMA give the claim a constraint matchAttribute "
			   "resource.kubernetes.io/pcieRoot",
			   scope);
		return;
	case PLACE_CLAIMS_APART:
		buf_printf(buf,
			   "the devices that its ResourceClaims have do not lie in one domain of "
			   "scope %s",
			   scope);
		return;
	case PLACE_CLAIMS_UNKNOWN:
		buf_printf(buf,
			   "it is not known in which domains of scope %s the devices of its "
			   "ResourceClaims lie",
			   scope);
		return;
	case PLACE_CLAIMS_PINNED:
		buf_add_cstr(buf, "kubelet pins the pod to CPUs without a look at its "
				  "ResourceClaims, which may have cards of another NUMA node");
		return;
	}
}
