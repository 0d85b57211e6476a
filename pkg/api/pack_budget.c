/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PodDisruptionBudgets. What is not understood selects everything and allows nothing: the API
 * server, which understands it, may refuse.
 */
#include "api/pack_budget.h"

#include "api/pack_selector.h"
#include "base/macros.h"

static struct budget_facts outline_of(const struct wire_meta *meta)
{
	return (struct budget_facts){
		.namespace = meta->namespace,
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.reach = BUDGET_REACH_UNKNOWN,
	};
}

static int pack_reach(const struct wire_budget_spec *spec, const struct pack *pack,
		      struct budget_facts *facts)
{
	enum pack_selector_verdict verdict;

	if (!wire_has(spec, WIRE_BUDGET_SELECTOR)) {
		facts->reach = BUDGET_SELECTS_NONE;
		return 0;
	}
	if (pack_selector(&spec->selector, pack, &facts->selector, &verdict) < 0)
		return -1;
	if (verdict == SELECTOR_GOOD)
		facts->reach = facts->selector.n_requirements > 0 ? BUDGET_SELECTS_SOME
								  : BUDGET_SELECTS_ALL;
	return 0;
}

int api_pack_budget(const struct wire_budget *wire, struct arena *arena,
		    struct budget_facts *ret_facts, struct error *err)
{
	const struct pack pack = {arena, err};
	struct budget_facts facts = outline_of(&wire->meta);

	if (pack_check_meta(&wire->meta, err) < 0 || pack_reach(&wire->spec, &pack, &facts) < 0)
		return pack_locate(err, "PodDisruptionBudget", &wire->meta);
	facts.settled = wire->status.observed_generation >= wire->meta.generation;
	facts.allowed = MAX(wire->status.allowed, 0);
	*ret_facts = facts;
	return 0;
}

int api_pack_budget_outline(const struct wire_object *wire, struct budget_facts *ret_facts,
			    struct error *err)
{
	if (pack_check_meta(&wire->meta, err) < 0)
		return pack_locate(err, "PodDisruptionBudget", &wire->meta);
	*ret_facts = outline_of(&wire->meta);
	return 0;
}
