/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pod fits a node: devices, then what its namespace may hold, then its layout. */
#include <inttypes.h>

#include "base/macros.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "place/internal.h"

#define NO_ROOM "The pod takes more memory to look at than there is."

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
	enum layout_scope scope = alignment->scope;

	place->tools = *tools;
	place->ask = *ask;
	place->ask.trial = tools->trial;
	place->topology = cluster_topology_of(tools->cluster, ask->namespace);
	place->first_decision = NULL;
	memset(place->by_price, 0, sizeof(place->by_price));
	place->look.node = place->loose_node = TABLE_NONE;
	place->own_node =
		ask->pod == TABLE_NONE ? TABLE_NONE : cluster_pod_node(tools->cluster, ask->pod);
	if (alignment->wished)
		place->topology = topology_of_pod(place->topology, alignment->policy,
						  alignment->scoped ? &scope : NULL);
	place_usual_refresh(&tools->memory->usual, tools->cluster);
	place_sheet_open(place);
}

static void place_forget_look(struct place *place)
{
	place->look.node = place->loose_node = TABLE_NONE;
}

void place_try(struct place *place, const struct cluster_trial *trial)
{
	const struct cluster *cluster = place->tools.cluster;
	bool freed = cluster_trial_frees_quota(cluster, &place->ask);

	place->ask.trial = trial;
	place->sheet = NULL;
	place_forget_look(place);
	if (!freed && !cluster_trial_frees_quota(cluster, &place->ask))
		return;
	place->first_decision = NULL;
	memset(place->by_price, 0, sizeof(place->by_price));
}

static struct place_answer answer(enum place_verdict verdict, uint32_t detail)
{
	return (struct place_answer){verdict, detail};
}

/* --- devices */

static struct place_answer fit_devices(const struct place *place, const struct cluster_units *units)
{
	for (uint32_t i = 0; i < place->ask.n; i++) {
		if (!units[i].offered)
			return answer(PLACE_NO_DEVICE, i);
		/* DRA's devices are kube-scheduler's to count */
		if (units[i].kind != TABLE_NONE && units[i].free < units[i].count)
			return answer(PLACE_TOO_FEW, i);
	}
	return answer(PLACE_FITS, 0);
}

/* --- the third gate */

static void decide(struct place *place, uint32_t node, struct bind_decision *ret_decision)
{
	struct bind_view view;

	if (cluster_bind_view(place->tools.cluster, &place->ask, node, place->tools.arena, &view)) {
		bind_decide(&view, ret_decision);
		return;
	}
	*ret_decision = (struct bind_decision){
		.verdict = BIND_UNPRICED,
		.enforced = true,
		.message = NO_ROOM,
	};
}

static bool is_of(const struct place *place, const struct place_decision *decision,
		  const struct cluster_units *units, bool reconfiguring)
{
	bool same = decision->reconfiguring == reconfiguring;

	for (size_t i = 0; same && i < place->ask.n; i++)
		same = decision->prices[i] == units[i].price;
	return same;
}

static struct place_decision *add_decision(struct place *place, const struct place_look *look,
					   bool reconfiguring, uint32_t number)
{
	struct place_decision *decision = arena_alloc(
		place->tools.arena, sizeof(*decision) + place->ask.n * sizeof(uint64_t));

	if (!decision)
		return NULL;
	decision->next = NULL;
	decision->number = number;
	decision->reconfiguring = reconfiguring;
	for (size_t i = 0; i < place->ask.n; i++)
		decision->prices[i] = look->units[i].price;
	decide(place, look->node, &decision->bind);
	return decision;
}

/* NULL: there is no memory left for it. */
static struct place_decision *find_decision(struct place *place, const struct place_look *look)
{
	bool reconfiguring = cluster_node_reconfiguring(place->tools.cluster, look->node);
	struct place_decision **link = &place->first_decision;
	uint32_t number = 0;

	for (; *link && !is_of(place, *link, look->units, reconfiguring); number++)
		link = &(*link)->next;
	if (!*link)
		*link = add_decision(place, look, reconfiguring, number);
	return *link;
}

static struct place_answer fit_quota(struct place *place, uint32_t node, uint8_t price)
{
	struct place_decision *decision = price < PLACE_PRICES ? place->by_price[price] : NULL;

	if (!decision)
		decision = find_decision(place, place_look_at(place, node));
	if (price < PLACE_PRICES)
		place->by_price[price] = decision;
	if (!decision)
		return answer(PLACE_QUOTA, UINT32_MAX);
	if (decision->bind.verdict == BIND_ALLOWED || !decision->bind.enforced)
		return answer(PLACE_FITS, 0);
	return answer(PLACE_QUOTA, decision->number);
}

static const char *quota_message(const struct place *place, uint32_t at)
{
	const struct place_decision *decision = place->first_decision;

	while (decision && at-- > 0)
		decision = decision->next;
	return decision ? decision->bind.message : NO_ROOM;
}

/* --- the layout */

static void request_cpus(const struct place *place, const struct cluster_room *room,
			 struct topo_request *request)
{
	request->cpus = place->ask.alignment.cpus;
	request->cpus_together = place->ask.alignment.cpus_together;
	request->takes_over = place->ask.alignment.takes_over;
	request->cpus_pending = room->pinned_somewhere;
	request->cpus_reserved = room->reserved_cpus;
	memcpy(request->cpus_taken, room->pinned, sizeof(request->cpus_taken));
}

struct topo_request place_request_of(const struct place *place, const struct place_cards_view *view)
{
	struct topo_request request = {
		.free = view->free,
		.leaving = view->leaving,
		.pending = view->pending,
		.count = view->count,
		.most = MIN(place->ask.most, view->count),
		.guaranteed = place->ask.alignment.guaranteed,
		.whole_cpus = place->ask.alignment.whole_cpus,
		.others = view->others,
	};

	request_cpus(place, &view->room, &request);
	return request;
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

struct place_answer place_fit_required(const struct place *place,
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
	if (view->parts > 0 && !topo_kubelet_has_cpus_anywhere(view->room.topo, request))
		return answer(PLACE_MAY_REJECT, 0);
	if (place->topology.scope == LAYOUT_NUMA && verdict != TOPO_CERTAIN_ALIGNED &&
	    topo_kubelet_pins_apart(view->room.topo, request))
		return answer(PLACE_PINNED, 0);
	return answer(PLACE_FITS, 0);
}

static struct place_answer fit_cards(const struct place *place, const struct place_cards_view *view)
{
	struct topo_request request = place_request_of(place, view);

	if (place->topology.policy == TOPOLOGY_REQUIRED)
		return place_fit_required(place, view, &request);
	if (view->count > 0 && topo_kubelet_admits(view->room.topo, &request) == TOPO_NO)
		return answer(PLACE_REJECTED, 0);
	return answer(PLACE_FITS, 0);
}

/* CPUs that are pinned nobody knows where are those of pods whose cards are not known. */
static bool might_be_certain(const struct place *place, const struct place_cards_view *view,
			     uint32_t untold)
{
	struct topo_request request = place_request_of(place, view);

	request.pending -= MIN(request.pending, untold);
	if (untold > 0)
		request.cpus_pending = 0;
	if (place_fit_required(place, view, &request).verdict == PLACE_FITS)
		return true;
	return topo_largest_in_one(view->room.topo, place->topology.scope, view->free, true) >=
	       request.count + request.pending;
}

static struct place_answer fit_layout(struct place *place, struct place_look *look)
{
	struct place_judgment *judgment;

	if (place->ask.n_claims > 0 && place->topology.policy == TOPOLOGY_REQUIRED) {
		struct place_answer found = place_fit_claims(place, look->node);

		if (found.verdict != PLACE_FITS)
			return found;
	}
	if (place->ask.n == 0)
		return answer(PLACE_FITS, 0);
	judgment = place_view_cards(place, look);
	if (!judgment)
		return place->topology.policy == TOPOLOGY_REQUIRED
			       ? answer(PLACE_UNKNOWN_LAYOUT, look->view.room.state)
			       : answer(PLACE_FITS, 0);
	if (!judgment->fitted) {
		struct place_answer found = fit_cards(place, &look->view);

		judgment->verdict = (uint8_t)found.verdict;
		judgment->detail = (uint8_t)found.detail;
		judgment->fitted = true;
	}
	return answer((enum place_verdict)judgment->verdict, judgment->detail);
}

/* --- all */

/* What is said of a node whoever asks, before the quota. */
static void meet(struct place *place, uint32_t node, struct place_line *line)
{
	const struct cluster *cluster = place->tools.cluster;
	struct place_answer found;
	const struct place_look *look;

	line->met = true;
	line->price = PLACE_PRICES;
	if (!cluster_node_exists(cluster, node)) {
		found = answer(PLACE_NO_NODE, 0);
	} else if (!str_empty(place->ask.stranger)) {
		found = answer(PLACE_STRANGER, 0);
	} else {
		look = place_look_at(place, node);
		found = fit_devices(place, look->units);
		line->price = place_price_of(place, look->units,
					     cluster_node_reconfiguring(cluster, node));
	}
	line->devices = (uint8_t)found.verdict;
	line->devices_detail = (uint8_t)found.detail;
}

/* And after it. */
static void lay(struct place *place, uint32_t node, struct place_line *line)
{
	struct place_answer found = fit_layout(place, place_look_at(place, node));

	line->laid = true;
	line->layout = (uint8_t)found.verdict;
	line->layout_detail = (uint8_t)found.detail;
}

static struct place_answer fit(struct place *place, uint32_t node, struct place_line *line)
{
	struct place_answer found;

	if (!line->met)
		meet(place, node, line);
	if (line->devices != PLACE_FITS)
		return answer((enum place_verdict)line->devices, line->devices_detail);
	found = fit_quota(place, node, line->price);
	if (found.verdict != PLACE_FITS)
		return found;
	if (!line->laid)
		lay(place, node, line);
	return answer((enum place_verdict)line->layout, line->layout_detail);
}

/* Where it does not: whether what is held for others is why. */
static struct place_answer fit_past_holds(struct place *place, uint32_t node,
					  struct place_answer found)
{
	uint32_t hold = cluster_hold_against(place->tools.cluster, &place->ask, node);
	bool fits;

	if (hold == TABLE_NONE)
		return found;
	place->ask.past_holds = true;
	place_forget_look(place);
	fits = fit(place, node, place_line_of(place, node)).verdict == PLACE_FITS;
	place->ask.past_holds = false;
	place_forget_look(place);
	return fits ? answer(PLACE_HELD, hold) : found;
}

/* Of a node where room is held nothing is remembered. */
struct place_answer place_fit(struct place *place, uint32_t node)
{
	struct place_line *line = place_line_of(place, node);
	struct place_answer found = fit(place, node, line);

	if (line != &place->loose || found.verdict == PLACE_NO_NODE ||
	    found.verdict == PLACE_STRANGER)
		return found;
	if (found.verdict == PLACE_FITS)
		return place_leave_held(place, node);
	return fit_past_holds(place, node, found);
}

bool place_might_fit(struct place *place, uint32_t node, uint32_t untold)
{
	struct place_answer found = fit(place, node, place_line_of(place, node));
	struct place_look *look;

	if (found.verdict == PLACE_FITS)
		return true;
	if (found.verdict != PLACE_UNCERTAIN && found.verdict != PLACE_MAY_REJECT)
		return false;
	look = place_look_at(place, node);
	return place_view_cards(place, look) && might_be_certain(place, &look->view, untold);
}

struct place_answer place_allows(struct place *place, uint32_t node)
{
	struct place_line *line = place_line_of(place, node);

	if (!line->met)
		meet(place, node, line);
	if (line->devices != PLACE_FITS && line->devices != PLACE_TOO_FEW)
		return answer((enum place_verdict)line->devices, line->devices_detail);
	return fit_quota(place, node, line->price);
}

/* Nobody's going makes a layout known, or cards lie together that are wired apart. */
bool place_is_resolvable(struct place_answer found)
{
	return found.verdict == PLACE_TOO_FEW || found.verdict == PLACE_QUOTA ||
	       found.verdict == PLACE_HELD || found.verdict == PLACE_REJECTED ||
	       found.verdict == PLACE_MAY_REJECT ||
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

static void describe_hold(const struct place *place, uint32_t hold, struct buf *buf)
{
	struct hold_view view = cluster_hold_view(place->tools.cluster, hold);

	buf_printf(buf, "room is held for %.*s/%.*s (receipt %.*s)", STR_ARGS(view.namespace),
		   STR_ARGS(view.name), STR_ARGS(view.id));
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
	case PLACE_STRANGER:
		buf_printf(buf, "no node offers %.*s", STR_ARGS(place->ask.stranger));
		return;
	case PLACE_NO_DEVICE:
		buf_printf(buf, "it does not offer %s",
			   cluster_name(place->tools.cluster,
					place->ask.cells[found.detail].resource));
		return;
	case PLACE_TOO_FEW:
		describe_units(place, found.detail, buf);
		return;
	case PLACE_QUOTA:
		buf_add_cstr(buf, quota_message(place, found.detail));
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
				  "which cards and CPUs the pods that came before it have, or "
				  "which NUMA node the cards lie in");
		return;
	case PLACE_UNCERTAIN:
		topo_verdict_describe((enum topo_verdict)found.detail, place->topology.scope, buf);
		return;
	case PLACE_HELD:
		describe_hold(place, found.detail, buf);
		return;
	case PLACE_CLAIMS:
		place_describe_claims(place, found.detail, buf);
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
