/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and comparisons of model/tenant.h. */
#include "model/tenant.h"

#include <string.h>

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

/* --- bindings */

static const struct {
	const char *prefix, *policy;
} bindings[TENANT_BINDING_COUNT] = {
#define X(name, prefix, policy) [TENANT_BINDING_##name] = {prefix, policy},
	TENANT_BINDINGS(X)
#undef X
};

const char *tenant_binding_prefix(enum tenant_binding binding)
{
	return bindings[binding].prefix;
}

const char *tenant_binding_policy(enum tenant_binding binding)
{
	return bindings[binding].policy;
}

bool tenant_binding_name(enum tenant_binding binding, struct str tenant, struct arena *arena,
			 struct str *ret_name)
{
	struct str prefix = str_from(tenant_binding_prefix(binding));
	char *name = arena_alloc(arena, prefix.len + tenant.len + 1);

	if (!name)
		return false;
	memcpy(name, prefix.data, prefix.len);
	if (tenant.len > 0)
		memcpy(name + prefix.len, tenant.data, tenant.len);
	*ret_name = (struct str){name, prefix.len + tenant.len};
	return true;
}

bool tenant_binding_of(struct str name, enum tenant_binding *ret_binding, struct str *ret_tenant)
{
	for (int i = 0; i < TENANT_BINDING_COUNT; i++) {
		struct str prefix = str_from(bindings[i].prefix);

		if (name.len <= prefix.len || !str_starts_with(name, prefix))
			continue;
		*ret_binding = (enum tenant_binding)i;
		*ret_tenant = str_skip(name, prefix.len);
		return true;
	}
	return false;
}

bool tenant_makes_room(const struct tenant_spec *spec)
{
	return spec->protection.mode != PROTECTION_OFF ||
	       spec->topology.on_mismatch == MISMATCH_MIGRATE;
}
