/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and comparisons of model/tenant.h. */
#include "model/tenant.h"

const char *tenant_tier_text(enum tenant_tier tier)
{
	static const char *const texts[] = {
#define X(name, text) [TIER_##name] = text,
		TENANT_TIERS(X)
#undef X
	};

	return texts[tier];
}

const char *tenant_condition_text(enum tenant_condition condition)
{
	static const char *const texts[] = {
#define X(name, text) [TENANT_##name] = text,
		TENANT_CONDITIONS(X)
#undef X
	};

	return texts[condition];
}

bool policy_binding_equal(const struct policy_binding *a, const struct policy_binding *b)
{
	return str_equal(a->policy, b->policy) && str_equal(a->param, b->param) &&
	       a->denies == b->denies && label_selector_equal(&a->namespaces, &b->namespaces) &&
	       label_selector_equal(&a->objects, &b->objects);
}
