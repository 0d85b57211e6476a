/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and order of model/topology.h. */
#include "model/topology.h"

const char *topology_policy_text(enum topology_policy policy)
{
	static const char *const texts[] = {
#define X(name, text) [TOPOLOGY_##name] = text,
		TOPOLOGY_POLICIES(X)
#undef X
	};

	return texts[policy];
}

const char *topology_mismatch_text(enum topology_mismatch mismatch)
{
	static const char *const texts[] = {
#define X(name, text) [MISMATCH_##name] = text,
		TOPOLOGY_MISMATCHES(X)
#undef X
	};

	return texts[mismatch];
}

static bool is_narrower(enum layout_scope scope, enum layout_scope than)
{
	return scope == LAYOUT_PCIE_SWITCH && than == LAYOUT_NUMA;
}

struct topology_spec topology_of_pod(struct topology_spec tenant, enum topology_policy policy,
				     const enum layout_scope *scope)
{
	struct topology_spec spec = tenant;
	enum layout_scope within = scope ? *scope : tenant.scope;

	if (policy > tenant.policy ||
	    (policy == tenant.policy && is_narrower(within, tenant.scope))) {
		spec.policy = policy;
		spec.scope = within;
	}
	return spec;
}

void topology_counts_add(struct topology_counts *sum, const struct topology_counts *counts)
{
	for (size_t i = 0; i < TOPOLOGY_POLICY_COUNT; i++) {
		struct topology_count *to = &sum->of[i];
		const struct topology_count *from = &counts->of[i];

		to->pods += from->pods;
		to->other += from->other;
		to->unknown += from->unknown;
		to->apart += from->apart;
		for (size_t k = 0; k < LAYOUT_SCOPE_COUNT; k++)
			to->spans[k] += from->spans[k];
	}
}

uint32_t topology_count_spans(const struct topology_count *count)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < LAYOUT_SCOPE_COUNT; i++)
		sum += count->spans[i];
	return sum;
}

uint32_t topology_count_mismatches(const struct topology_count *count)
{
	return topology_count_spans(count) + count->apart;
}
