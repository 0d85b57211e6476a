/* SPDX-License-Identifier: Apache-2.0 */
/* An ordered list of questions: the first that has an answer gives it. */
#include "place/check.h"

#include "base/macros.h"
#include "topo/domain.h"
#include "topo/set.h"

static uint32_t devices(const struct cluster_held *held)
{
	return topo_set_count(held->cards) + held->others;
}

static bool not_asked(const struct cluster_held *held, enum topology_check *ret_check)
{
	*ret_check = CHECK_UNCHECKED;
	return held->topology.policy == TOPOLOGY_NONE ||
	       held->topology.on_mismatch == MISMATCH_IGNORE || held->finished ||
	       (devices(held) == 0 && (!held->running || held->asked == 0));
}

static bool not_told(const struct cluster_held *held, enum topology_check *ret_check)
{
	*ret_check = held->asked > 1 ? CHECK_UNKNOWN : CHECK_AS_ASKED;
	return devices(held) == 0;
}

static bool spans(const struct cluster_held *held, enum topology_check *ret_check)
{
	*ret_check = CHECK_SPANS;
	return held->topo &&
	       topo_in_one_domain(held->topo, held->topology.scope, held->cards) == TOPO_NO;
}

static bool not_known(const struct cluster_held *held, enum topology_check *ret_check)
{
	*ret_check = CHECK_UNKNOWN;
	if (devices(held) == 1)
		return false;
	return !held->topo || held->others > 0 ||
	       topo_in_one_domain(held->topo, held->topology.scope, held->cards) == TOPO_UNKNOWN;
}

/* A scope of other wires asks nothing of CPUs. */
static bool cpus_apart(const struct cluster_held *held, enum topology_check *ret_check)
{
	uint32_t numa;

	*ret_check = CHECK_CPUS_APART;
	if (!held->topo || held->topology.scope != LAYOUT_NUMA || held->cards == 0)
		return false;
	numa = topo_domain(held->topo, LAYOUT_NUMA, topo_set_first(held->cards));
	return numa < 64 && (held->numas & ~(UINT64_C(1) << numa)) != 0;
}

static bool other_cards(const struct cluster_held *held, enum topology_check *ret_check)
{
	*ret_check = CHECK_OTHER_CARDS;
	return held->topo && held->cards != 0 && held->assumed != 0 && held->cards != held->assumed;
}

enum topology_check place_check(const struct cluster_held *held)
{
	static bool (*const questions[])(const struct cluster_held *, enum topology_check *) = {
		not_asked, not_told, spans, cpus_apart, not_known, other_cards};
	enum topology_check check;

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		if (questions[i](held, &check))
			return check;
	return CHECK_AS_ASKED;
}
