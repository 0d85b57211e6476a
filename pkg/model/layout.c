/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layout.h"

const char *layout_scope_text(enum layout_scope scope)
{
	static const char *const texts[] = {
#define X(name, text) [LAYOUT_##name] = text,
		LAYOUT_SCOPES(X)
#undef X
	};

	return texts[scope];
}

const char *layout_policy_text(enum layout_policy policy)
{
	static const char *const texts[] = {
#define X(name, text) [LAYOUT_POLICY_##name] = text,
		LAYOUT_POLICIES(X)
#undef X
	};

	return texts[policy];
}

const char *layout_health_text(enum layout_health health)
{
	static const char *const texts[] = {
#define X(name, text) [LAYOUT_HEALTH_##name] = text,
		LAYOUT_HEALTHS(X)
#undef X
	};

	return texts[health];
}
