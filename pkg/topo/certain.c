/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kubelet may choose falls into groups of cards: any choice from one group, none across
 * groups. All cards are one group, or those of each NUMA node are. Two or more of a group lie in
 * one domain whatever they are, exactly where the group does, since any two of its cards can be
 * among them.
 */
#include "topo/certain.h"

#include "base/limits.h"
#include "base/macros.h"

/* --- words */

const char *topo_verdict_reason(enum topo_verdict verdict)
{
	static const char *const reasons[] = {
#define X(name, reason, text) [TOPO_CERTAIN_##name] = reason,
		TOPO_VERDICTS(X)
#undef X
	};

	return reasons[verdict];
}

static const char *scope_noun(enum layout_scope scope)
{
	static const char *const nouns[] = {
		[LAYOUT_NUMA] = "NUMA node",
		[LAYOUT_PCIE_SWITCH] = "PCIe switch",
		[LAYOUT_NVLINK] = "NVLink domain",
	};

	return nouns[scope];
}

void topo_verdict_describe(enum topo_verdict verdict, enum layout_scope scope, struct buf *buf)
{
	static const char *const texts[] = {
#define X(name, reason, text) [TOPO_CERTAIN_##name] = text,
		TOPO_VERDICTS(X)
#undef X
	};
	struct str text = str_from(texts[verdict]);
	const char *noun = strstr(text.data, "%s");

	if (noun) {
		buf_add(buf, text.data, (size_t)(noun - text.data));
		buf_add_cstr(buf, scope_noun(scope));
		text = str_skip(text, (size_t)(noun - text.data) + 2);
	}
	buf_add_str(buf, text);
}

/* --- pods on their way out */

/* Every one of them is there still. What kubelet has enough of then it has when they are gone. */
static struct topo_request with_all_there(const struct topo_request *request)
{
	struct topo_request least = *request;

	least.free &= ~request->leaving;
	return least;
}

/* --- kubelet */

/* Cards of each NUMA node in @set, the most first; the length of it. */
static uint32_t count_by_numa(const struct topo *topo, uint64_t set,
			      uint32_t counts[LIMIT_LAYOUT_GPUS])
{
	uint32_t n = 0;

	while (set != 0) {
		uint32_t first = topo_set_first(set), count, at;
		uint64_t node =
			set & (topo->cards[first].together[LAYOUT_NUMA] | topo_set_of(first));

		set &= ~node;
		if (topo_domain(topo, LAYOUT_NUMA, first) == LAYOUT_NONE)
			continue;
		count = topo_set_count(node);
		for (at = n++; at > 0 && counts[at - 1] < count; at--)
			counts[at] = counts[at - 1];
		counts[at] = count;
	}
	return n;
}

/* How many NUMA nodes, taken from the one with the most cards on, have @count; 0: not all. */
static uint32_t nodes_needed(const uint32_t *counts, uint32_t n, uint32_t count)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		sum += counts[i];
		if (sum >= count)
			return i + 1;
	}
	return 0;
}

/*
 * Whether @wanted NUMA nodes have @count cards, whichever @pending of the free ones others take. Of
 * one node exactly so: others would have to leave less than @count on each. Of more it is enough
 * that so many stay even if others take from those with the most alone.
 */
static bool nodes_suffice(const uint32_t *counts, uint32_t n, uint32_t wanted, uint32_t count,
			  uint32_t pending)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (wanted == 1)
			sum += counts[i] >= count ? counts[i] - (count - 1) : 0;
		else if (i < wanted)
			sum += counts[i];
	}
	return wanted == 1 ? sum > pending : sum >= (uint64_t)count + pending;
}

/* Whether hints for @count cards that are aligned together leave kubelet a place. */
static bool hints_admit(const struct topo *topo, uint64_t free, uint32_t count, uint32_t pending)
{
	uint32_t all[LIMIT_LAYOUT_GPUS], left[LIMIT_LAYOUT_GPUS];
	uint32_t n_all = count_by_numa(topo, topo_set_below(topo->n_cards), all);
	uint32_t n_left = count_by_numa(topo, free, left), wanted = 1;

	if (count == 0 || n_all == 0)
		return true;
	if (topo->kubelet.policy == LAYOUT_POLICY_RESTRICTED)
		wanted = nodes_needed(all, n_all, count);
	return wanted > 0 && nodes_suffice(left, n_left, wanted, count, pending);
}

/*
 * The same of containers that are aligned one after the other: whatever was given to the first
 * ones, a NUMA node that has enough for all has enough for the next. What an init container got has
 * to be of the node that later ones need.
 */
static bool hints_admit_each(const struct topo *topo, const struct topo_request *request)
{
	uint32_t all[LIMIT_LAYOUT_GPUS], left[LIMIT_LAYOUT_GPUS];
	uint32_t n_all = count_by_numa(topo, topo_set_below(topo->n_cards), all);
	uint32_t n_left = count_by_numa(topo, request->free | request->leaving, left);

	if (n_all == 0)
		return true;
	if (request->most == 0 && n_left > 1)
		return false;
	n_left = count_by_numa(topo, request->free, left);
	return nodes_suffice(left, n_left, 1, request->count, request->pending);
}

static bool any_without_numa(const struct topo *topo, uint64_t set)
{
	topo_set_for_each(card, set)
		if (topo->cards[card].domain[LAYOUT_NUMA] == LAYOUT_NONE)
			return true;
	return false;
}

/* --- CPUs beside cards */

/* A NUMA node that has enough of both: of how much others must take more, to spoil it. */
struct place_left {
	uint32_t cards, cpus;
};

/* Whether others may spoil all of them, with so many cards and CPUs to take. */
static bool may_spoil(const struct place_left *left, size_t n, uint32_t cards, uint32_t cpus)
{
	if (n == 0)
		return true;
	return (left->cards < cards && may_spoil(left + 1, n - 1, cards - left->cards - 1, cpus)) ||
	       (left->cpus < cpus && may_spoil(left + 1, n - 1, cards, cpus - left->cpus - 1));
}

static uint32_t cards_on(const struct topo *topo, uint64_t set, uint32_t numa)
{
	uint32_t n = 0;

	topo_set_for_each(card, set)
		n += topo->cards[card].domain[LAYOUT_NUMA] == numa;
	return n;
}

static bool aligns_cpus(const struct topo *topo, const struct topo_request *request)
{
	return topo->kubelet.static_cpu && request->cpus > 0 &&
	       (topo->kubelet.policy == LAYOUT_POLICY_SINGLE_NUMA ||
		topo->kubelet.policy == LAYOUT_POLICY_RESTRICTED);
}

/* @reserved: and wherever kubelet has its own. */
static uint32_t cpus_left(const struct topo *topo, const struct topo_request *request,
			  uint32_t numa, bool reserved)
{
	uint64_t taken =
		request->cpus_taken[numa] + (reserved ? (uint64_t)request->cpus_reserved : 0);

	return topo->cpus[numa] - (uint32_t)MIN(taken, (uint64_t)topo->cpus[numa]);
}

/* Whether each NUMA node has @cards, and the CPUs, wherever others and kubelet have theirs. */
static bool each_node_has(const struct topo *topo, const struct topo_request *request,
			  uint32_t cards)
{
	for (uint32_t numa = 0; numa < LIMIT_POLICY_NUMAS; numa++) {
		if (topo->cpus[numa] == 0)
			continue;
		if (cpus_left(topo, request, numa, true) <
		    (uint64_t)request->cpus + request->cpus_pending)
			return false;
		if (cards > 0 && cards_on(topo, request->free, numa) < cards + request->pending)
			return false;
	}
	return topo->n_cpu_nodes > 0;
}

bool topo_kubelet_has_cpus_anywhere(const struct topo *topo, const struct topo_request *request)
{
	return !aligns_cpus(topo, request) || each_node_has(topo, request, 0);
}

/*
 * Whether some NUMA node has the cards and the CPUs that are aligned together. @pending: for
 * certain, wherever others and kubelet itself have theirs; else it may.
 */
static bool one_node_has(const struct topo *topo, const struct topo_request *request, bool pending)
{
	struct place_left left[LIMIT_POLICY_NUMAS];
	size_t n = 0;

	for (uint32_t numa = 0; numa < LIMIT_POLICY_NUMAS; numa++) {
		uint32_t cards = cards_on(topo, request->free, numa);
		uint32_t cpus = cpus_left(topo, request, numa, pending);

		if (cards >= request->count && cpus >= request->cpus)
			left[n++] =
				(struct place_left){cards - request->count, cpus - request->cpus};
	}
	if (!pending)
		return n > 0;
	return !may_spoil(left, n, request->pending, request->cpus_pending);
}

/*
 * For certain, of a pod for whose cards there is a place. Containers are aligned one after the
 * other: a NUMA node that has enough for all has enough for the next, unless an earlier one may
 * bind it to another. Under restricted CPUs may be of any one NUMA node among those of the cards,
 * and where there is one NUMA node, kube-scheduler has seen to it that there are enough.
 */
static bool cpus_admit(const struct topo *topo, const struct topo_request *request)
{
	if (!aligns_cpus(topo, request) || request->count == 0)
		return true;
	if (request->takes_over && !topo->kubelet.pod_scope)
		return each_node_has(topo, request, request->count);
	if (topo->kubelet.policy == LAYOUT_POLICY_RESTRICTED &&
	    (topo->n_cpu_nodes == 1 || each_node_has(topo, request, 0)))
		return true;
	return one_node_has(topo, request, true);
}

static bool cpus_may_admit(const struct topo *topo, const struct topo_request *request)
{
	return !aligns_cpus(topo, request) || request->count == 0 ||
	       topo->kubelet.policy == LAYOUT_POLICY_RESTRICTED ||
	       one_node_has(topo, request, false);
}

/* Whether kubelet looks at all of the pod's cards at once. */
static bool aligns_together(const struct topo *topo, const struct topo_request *request)
{
	return topo->kubelet.pod_scope || request->most == request->count;
}

/* Whether there is a place as long as others do not get into the way. */
static bool may_admit(const struct topo *topo, const struct topo_request *request)
{
	bool together = aligns_together(topo, request);
	/* Else containers without cards may have their CPUs on other NUMA nodes. */
	bool cpus_together = together && (topo->kubelet.pod_scope || request->cpus_together);

	return hints_admit(topo, request->free, together ? request->count : request->most, 0) &&
	       (!cpus_together || cpus_may_admit(topo, request));
}

enum topo_answer topo_kubelet_admits(const struct topo *topo, const struct topo_request *request)
{
	enum layout_policy policy = topo->kubelet.policy;
	struct topo_request least;

	if (policy == LAYOUT_POLICY_UNKNOWN)
		return TOPO_UNKNOWN;
	if (policy != LAYOUT_POLICY_SINGLE_NUMA && policy != LAYOUT_POLICY_RESTRICTED)
		return TOPO_YES;
	least = with_all_there(request);
	if (!aligns_together(topo, request)) {
		if (hints_admit_each(topo, &least) && cpus_admit(topo, &least))
			return TOPO_YES;
	} else if (hints_admit(topo, least.free, request->count, request->pending) &&
		   cpus_admit(topo, &least)) {
		return TOPO_YES;
	}
	/* How many NUMA nodes a pod needs at least follows from cards that are not cut. */
	if (any_without_numa(topo, request->free) ||
	    (request->others && policy == LAYOUT_POLICY_RESTRICTED) || may_admit(topo, request))
		return TOPO_UNKNOWN;
	return TOPO_NO;
}

bool topo_kubelet_aligns(const struct topo *topo, const struct topo_request *request)
{
	return topo->kubelet.policy == LAYOUT_POLICY_SINGLE_NUMA && topo->kubelet.static_cpu &&
	       request->guaranteed && request->whole_cpus &&
	       (topo->kubelet.pod_scope || request->most == request->count) &&
	       !any_without_numa(topo, request->free);
}

bool topo_kubelet_pins_apart(const struct topo *topo, const struct topo_request *request)
{
	bool pins = topo->kubelet.static_cpu || topo->kubelet.policy == LAYOUT_POLICY_UNKNOWN;

	return topo->n_cpu_nodes > 1 && pins && request->guaranteed && request->whole_cpus &&
	       !topo_kubelet_aligns(topo, request);
}

/* --- the verdict */

static enum topo_verdict judge_named(const struct topo *topo, enum layout_scope scope,
				     uint64_t named)
{
	if (named & ~topo->usable)
		return TOPO_CERTAIN_FAILED;
	switch (topo_in_one_domain(topo, scope, named)) {
	case TOPO_YES:
		return TOPO_CERTAIN_NAMED;
	case TOPO_NO:
		return TOPO_CERTAIN_APART;
	case TOPO_UNKNOWN:
		break;
	}
	return TOPO_CERTAIN_UNKNOWN;
}

/* Whether, in each NUMA node with enough of them, the free cards lie in one domain; there is one.
 */
static bool any_node_will_do(const struct topo *topo, enum layout_scope scope,
			     const struct topo_request *request)
{
	uint64_t left = request->free;
	bool any = false;

	while (left != 0) {
		uint32_t first = topo_set_first(left);
		uint64_t node =
			left & (topo->cards[first].together[LAYOUT_NUMA] | topo_set_of(first));

		left &= ~node;
		if (topo_set_count(node) < request->count)
			continue;
		if (topo_in_one_domain(topo, scope, node) != TOPO_YES)
			return false;
		any = true;
	}
	return any;
}

/* The first thing that keeps kubelet from aligning the pod. */
static enum topo_verdict what_is_missing(const struct topo *topo,
					 const struct topo_request *request)
{
	if (topo->kubelet.policy != LAYOUT_POLICY_SINGLE_NUMA)
		return TOPO_CERTAIN_NO_POLICY;
	if (!topo->kubelet.static_cpu)
		return TOPO_CERTAIN_NO_STATIC;
	if (!request->guaranteed)
		return TOPO_CERTAIN_NOT_GUARANTEED;
	if (!request->whole_cpus)
		return TOPO_CERTAIN_NO_WHOLE_CPUS;
	if (!topo->kubelet.pod_scope && request->most < request->count)
		return TOPO_CERTAIN_CONTAINERS;
	return TOPO_CERTAIN_UNKNOWN;
}

static enum topo_verdict why_not(const struct topo *topo, enum layout_scope scope,
				 const struct topo_request *request)
{
	if (topo_largest_in_one(topo, scope, request->free, true) < request->count)
		return TOPO_CERTAIN_SPANS;
	if (topo_largest_in_one(topo, scope, request->free, false) < request->count)
		return TOPO_CERTAIN_UNKNOWN;
	return scope == LAYOUT_NUMA ? what_is_missing(topo, request) : TOPO_CERTAIN_CHOICE;
}

enum topo_verdict topo_certain(const struct topo *topo, enum layout_scope scope,
			       const struct topo_request *request)
{
	struct topo_request least = with_all_there(request);
	bool one = request->count <= 1;

	if (request->named != 0)
		return judge_named(topo, scope, request->named);
	if (topo_set_count(least.free) < (uint64_t)request->count + request->pending)
		return TOPO_CERTAIN_TOO_FEW;
	if (request->count > 0 && request->free & ~topo->usable)
		return TOPO_CERTAIN_FAILED;
	if (topo_kubelet_admits(topo, &least) == TOPO_NO)
		return TOPO_CERTAIN_REFUSES;
	if (one || topo_in_one_domain(topo, scope, request->free) == TOPO_YES)
		return TOPO_CERTAIN_ALL;
	if (topo_kubelet_aligns(topo, request) && any_node_will_do(topo, scope, request))
		return TOPO_CERTAIN_ALIGNED;
	return why_not(topo, scope, request);
}
