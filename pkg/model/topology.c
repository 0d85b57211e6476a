/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of model/topology.h. */
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
