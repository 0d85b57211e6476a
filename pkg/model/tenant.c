/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of model/tenant.h. */
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
