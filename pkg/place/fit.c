/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pod fits a node: devices, then what its namespace may hold, then its layout. */
#include <inttypes.h>

#include "base/macros.h"
#include "cluster/read.h"
#include "cluster/tenants.h"
#include "place/internal.h"

const char *place_reason(enum place_verdict verdict)
{
	static const char *const reasons[] = {
#define X(name, reason) [PLACE_##name] = reason,
		PLACE_VERDICTS(X)
#undef X
	};

	return reasons[verdict];
}

void place_begin(struct place *place, const struct place_tools *tools,
		 const struct cluster_ask *ask)
{
	const struct pod_alignment *alignment = &ask->alignment;

	place->tools = *tools;
	place->ask = *ask;
	place->topology = cluster_topology_of(tools->cluster, ask->namespace);
	place->n_decisions = 0;
	if (alignment->wished)
		place->topology = topology_of_pod(place->topology, alignment->policy,
						  alignment->scoped ? &alignment->scope : NULL);
}

static struct place_answer answer(enum place_verdict verdict, uint32_t detail)
{
	return (struct place_answer){verdict, detail};
}

/* --- devices */

static struct place_answer fit_devices(const struct place *place, const struct cluster_units *units)
{
	for (uint32_t i = 0; i < place->ask.n; i++) {
		if (units[i].kind == TABLE_NONE)
			continue; /* by DRA, or by nobody: the price tells */
		if (units[i].free < units[i].count)
			return answer(PLACE_TOO_FEW, i);
	}
	return answer(PLACE_FITS, 0);
}

/* --- the third gate */

static uint32_t hash_kinds(const struct place *place, const struct cluster_units *units)
{
	uint32_t hash = 2166136261u; /* FNV-1a over handles: not for anybody to choose */

	for (size_t i = 0; i < place->ask.n; i++)
		hash = (hash ^ units[i].kind) * 16777619u;
	return hash;
}

static void decide(struct place *place, uint32_t node, struct bind_decision *ret_decision)
{
	struct bind_view view;

	if (!cluster_bind_view(place->tools.cluster, &place->ask, node, place->tools.arena,
			       &view)) {
		*ret_decision = (struct bind_decision){
			.verdict = BIND_UNPRICED,
			.enforced = true,
			.message = "The pod takes more memory to look at than there is.",
		};
		return;
	}
	bind_decide(&view, ret_decision);
}

/* Nodes that are being cut anew differ from others with the same offers: asked each by itself. */
static uint32_t decision_for(struct place *place, uint32_t node, const struct cluster_units *units)
{
	uint32_t kinds = hash_kinds(place, units) ^
			 (cluster_node_reconfiguring(place->tools.cluster, node) ? UINT32_MAX : 0);
	size_t at;

	for (size_t i = 0; i < place->n_decisions; i++)
		if (place->decisions[i].kinds == kinds)
			return (uint32_t)i;
	at = MIN(place->n_decisions, (size_t)PLACE_DECISIONS - 1);
	place->n_decisions = at + 1;
	place->decisions[at].kinds = kinds;
	decide(place, node, &place->decisions[at].bind);
	return (uint32_t)at;
}

static struct place_answer fit_quota(struct place *place, uint32_t node,
				     const struct cluster_units *units)
{
	uint32_t at = decision_for(place, node, units);
	const struct bind_decision *bind = &place->decisions[at].bind;

	if (bind->verdict == BIND_ALLOWED || !bind->enforced)
		return answer(PLACE_FITS, 0);
	return answer(PLACE_QUOTA, at);
}

/* --- the layout */

/* Of all whole cards that are asked for. */
struct whole_units {
	int64_t all, free, withdrawn;
};

static void view_units(const struct place *place, const struct cluster_units *units,
		       struct place_cards_view *view, struct whole_units *ret_whole)
{
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
}

/* A card that failed is given out no more where its plugin has withdrawn as many as failed. */
static uint64_t may_be_given(const struct cluster_room *room, int64_t withdrawn)
{
	uint64_t all = topo_set_below(room->topo->n_cards), usable = room->topo->usable;
	uint64_t failed = topo_set_count(all & ~usable);

	return all & ~room->seen & (failed <= (uint64_t)withdrawn ? usable : UINT64_MAX);
}

void place_view_cards(const struct place *place, uint32_t node, const struct cluster_units *units,
		      struct place_cards_view *ret_view)
{
	struct whole_units whole;

	*ret_view = (struct place_cards_view){.room = cluster_room(place->tools.cluster, node)};
	view_units(place, units, ret_view, &whole);
	if (!ret_view->room.topo)
		return;
	ret_view->free = may_be_given(&ret_view->room, whole.withdrawn);
	ret_view->others = ret_view->room.topo->n_cards > whole.all;
	ret_view->known = topo_set_count(ret_view->free) >= (uint64_t)whole.free;
	if (!ret_view->known) {
		ret_view->room.state = LAYOUT_IS_CONTRADICTS;
		return;
	}
	ret_view->pending = topo_set_count(ret_view->free) - (uint32_t)whole.free;
	ret_view->best = ret_view->free & ~ret_view->room.assumed;
	if (topo_set_count(ret_view->best) < ret_view->count)
		ret_view->best = ret_view->free;
}

static struct topo_request request_of(const struct place *place,
				      const struct place_cards_view *view)
{
	return (struct topo_request){
		.free = view->free,
		.pending = view->pending,
		.count = view->count,
		.most = MIN(place->ask.most, view->count),
		.guaranteed = place->ask.alignment.guaranteed,
		.whole_cpus = place->ask.alignment.whole_cpus,
		.others = view->others,
	};
}

/* Whichever cards they are parts of: one part lies on one card, more on any of the node's. */
static bool parts_lie_together(const struct place *place, const struct place_cards_view *view)
{
	return view->parts == 0 || (view->parts == 1 && view->count == 0) ||
	       topo_in_one_domain(view->room.topo, place->topology.scope,
				  topo_set_below(view->room.topo->n_cards)) == TOPO_YES;
}

/* kubelet aligns parts as it does cards, and nothing tells which of them are free. */
static bool parts_are_admitted(const struct place_cards_view *view)
{
	const struct topo *topo = view->room.topo;
	uint64_t all = topo_set_below(topo->n_cards);

	if (view->parts == 0 || (topo->kubelet.policy != LAYOUT_POLICY_SINGLE_NUMA &&
				 topo->kubelet.policy != LAYOUT_POLICY_RESTRICTED))
		return true;
	if (view->parts > 1 || view->count > 0)
		return topo_in_one_domain(topo, LAYOUT_NUMA, all) == TOPO_YES;
	topo_set_for_each(card, all)
		if (topo_domain(topo, LAYOUT_NUMA, (uint32_t)card) == LAYOUT_NONE)
			return false;
	return true;
}

static struct place_answer fit_required(const struct place *place,
					const struct place_cards_view *view,
					const struct topo_request *request)
{
	enum topo_verdict verdict = topo_certain(view->room.topo, place->topology.scope, request);

	if (!topo_is_certain(verdict))
		return answer(PLACE_UNCERTAIN, verdict);
	if (request->count > 0 && view->room.topo->kubelet.policy != LAYOUT_POLICY_UNKNOWN &&
	    topo_kubelet_admits(view->room.topo, request) != TOPO_YES)
		return answer(PLACE_MAY_REJECT, 0);
	if (!parts_lie_together(place, view) || !parts_are_admitted(view))
		return answer(PLACE_PARTS, 0);
	if (place->topology.scope == LAYOUT_NUMA && verdict != TOPO_CERTAIN_ALIGNED &&
	    topo_kubelet_pins_apart(view->room.topo, request))
		return answer(PLACE_PINNED, 0);
	return answer(PLACE_FITS, 0);
}

static struct place_answer fit_layout(const struct place *place, uint32_t node,
				      const struct cluster_units *units)
{
	bool required = place->topology.policy == TOPOLOGY_REQUIRED;
	struct place_cards_view view;
	struct topo_request request;

	place_view_cards(place, node, units, &view);
	if (!view.known)
		return required ? answer(PLACE_UNKNOWN_LAYOUT, view.room.state)
				: answer(PLACE_FITS, 0);
	request = request_of(place, &view);
	if (required)
		return fit_required(place, &view, &request);
	if (view.count > 0 && topo_kubelet_admits(view.room.topo, &request) == TOPO_NO)
		return answer(PLACE_REJECTED, 0);
	return answer(PLACE_FITS, 0);
}

/* --- all */

struct place_answer place_fit(struct place *place, uint32_t node)
{
	struct cluster_units units[LIMIT_RESOURCES_PER_POD];
	struct place_answer found;

	if (!cluster_node_exists(place->tools.cluster, node))
		return answer(PLACE_NO_NODE, 0);
	if (!str_empty(place->ask.stranger))
		return answer(PLACE_NO_DEVICE, 0);
	cluster_units_on(place->tools.cluster, &place->ask, node, units);
	found = fit_devices(place, units);
	if (found.verdict == PLACE_FITS)
		found = fit_quota(place, node, units);
	if (found.verdict == PLACE_FITS)
		found = fit_layout(place, node, units);
	return found;
}

/* Nobody's going makes a layout known, or cards lie together that are wired apart. */
bool place_is_resolvable(struct place_answer found)
{
	return found.verdict == PLACE_TOO_FEW || found.verdict == PLACE_QUOTA ||
	       found.verdict == PLACE_REJECTED || found.verdict == PLACE_MAY_REJECT ||
	       (found.verdict == PLACE_UNCERTAIN &&
		(found.detail == TOPO_CERTAIN_TOO_FEW || found.detail == TOPO_CERTAIN_SPANS ||
		 found.detail == TOPO_CERTAIN_REFUSES));
}

static void describe_units(const struct place *place, uint32_t cell, struct buf *buf)
{
	const struct vector_cell *asked = &place->ask.cells[cell];

	buf_printf(buf, "fewer than %" PRId64 " %s are free", asked->count,
		   cluster_name(place->tools.cluster, asked->resource));
}

void place_describe(const struct place *place, struct place_answer found, struct buf *buf)
{
	switch (found.verdict) {
	case PLACE_FITS:
	case PLACE_VERDICT_COUNT:
		return;
	case PLACE_NO_NODE:
		buf_add_cstr(buf, "gpuqos has not seen the node yet");
		return;
	case PLACE_NO_DEVICE:
		buf_printf(buf, "no node offers %.*s", STR_ARGS(place->ask.stranger));
		return;
	case PLACE_TOO_FEW:
		describe_units(place, found.detail, buf);
		return;
	case PLACE_QUOTA:
		buf_add_cstr(buf, place->decisions[found.detail].bind.message);
		return;
	case PLACE_UNKNOWN_LAYOUT:
		buf_printf(buf, "its topology is not known (%s)",
			   layout_state_reason((enum layout_state)found.detail));
		return;
	case PLACE_REJECTED:
		topo_verdict_describe(TOPO_CERTAIN_REFUSES, place->topology.scope, buf);
		return;
	case PLACE_MAY_REJECT:
		buf_add_cstr(buf, "kubelet's topology manager may reject the pod: it is not known "
				  "which cards the pods that came before it have");
		return;
	case PLACE_UNCERTAIN:
		topo_verdict_describe((enum topo_verdict)found.detail, place->topology.scope, buf);
		return;
	case PLACE_PARTS:
		buf_add_cstr(buf,
			     "parts of several cards are asked for, and nothing tells of which");
		return;
	case PLACE_PINNED:
		buf_add_cstr(buf,
			     "kubelet may pin the pod to CPUs of another NUMA node than its cards: "
			     "set its topologyManagerPolicy to single-numa-node");
		return;
	}
}
