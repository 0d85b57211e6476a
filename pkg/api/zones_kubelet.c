/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubelet's topology manager in a NodeResourceTopology: two attributes, or in objects that older
 * writers made one word for both.
 */
#include "api/zones.h"

#include "base/macros.h"

/* The attribute's one value; empty where there is none. False: it has two. */
static bool find_attribute(const struct wire_list *attributes, struct str name,
			   struct str *ret_value)
{
	struct str value = STR_NONE;

	wire_for_each(const struct wire_zone_attribute, attribute, *attributes) {
		if (!str_equal(attribute->name, name))
			continue;
		if (!str_empty(value) && !str_equal(value, attribute->value))
			return false;
		value = attribute->value;
	}
	*ret_value = value;
	return true;
}

static enum layout_policy policy_of(struct str text)
{
	for (int policy = LAYOUT_POLICY_NONE; policy <= LAYOUT_POLICY_SINGLE_NUMA; policy++)
		if (str_equal(text, str_from(layout_policy_text((enum layout_policy)policy))))
			return (enum layout_policy)policy;
	return LAYOUT_POLICY_UNKNOWN;
}

static struct layout_kubelet by_attributes(struct str policy, struct str scope)
{
	bool pod = str_equal(scope, STR("pod"));

	if (!pod && !str_equal(scope, STR("container")))
		return (struct layout_kubelet){.policy = LAYOUT_POLICY_UNKNOWN};
	return (struct layout_kubelet){.policy = policy_of(policy), .pod_scope = pod};
}

/* "Restricted" and "BestEffort" alone do not tell the scope. */
static struct layout_kubelet by_word(const struct wire_list *words)
{
	static const struct {
		const char *word;
		struct layout_kubelet kubelet;
	} known[] = {
		{"SingleNUMANodeContainerLevel", {.policy = LAYOUT_POLICY_SINGLE_NUMA}},
		{"SingleNUMANodePodLevel",
		 {.policy = LAYOUT_POLICY_SINGLE_NUMA, .pod_scope = true}},
		{"RestrictedContainerLevel", {.policy = LAYOUT_POLICY_RESTRICTED}},
		{"RestrictedPodLevel", {.policy = LAYOUT_POLICY_RESTRICTED, .pod_scope = true}},
		{"BestEffortContainerLevel", {.policy = LAYOUT_POLICY_BEST_EFFORT}},
		{"BestEffortPodLevel", {.policy = LAYOUT_POLICY_BEST_EFFORT, .pod_scope = true}},
		{"None", {.policy = LAYOUT_POLICY_NONE}},
	};

	if (words->len == 1)
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			if (str_equal(*(const struct str *)words->items, str_from(known[i].word)))
				return known[i].kubelet;
	return (struct layout_kubelet){.policy = LAYOUT_POLICY_UNKNOWN};
}

struct layout_kubelet zones_kubelet(const struct wire_node_topology *wire)
{
	struct str policy, scope;

	if (!find_attribute(&wire->attributes, STR("topologyManagerPolicy"), &policy) ||
	    !find_attribute(&wire->attributes, STR("topologyManagerScope"), &scope))
		return (struct layout_kubelet){.policy = LAYOUT_POLICY_UNKNOWN};
	if (str_empty(policy) && str_empty(scope))
		return by_word(&wire->policies);
	return by_attributes(policy, scope);
}
