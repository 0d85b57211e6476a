/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of model/node.h. */
#include "model/node.h"

const char *device_sharing_text(enum device_sharing sharing)
{
	switch (sharing) {
#define X(name, text)       \
	case DEVICE_##name: \
		return text;
		DEVICE_SHARINGS(X)
#undef X
	}
	return "Unknown";
}

const char *layout_state_reason(enum layout_state state)
{
	static const char *const reasons[] = {
#define X(name, reason) [LAYOUT_IS_##name] = reason,
		LAYOUT_STATES(X)
#undef X
	};

	return reasons[state];
}

const char *memory_source_text(enum memory_source source)
{
	static const char *const texts[] = {
#define X(name, text) [MEMORY_FROM_##name] = text,
		MEMORY_SOURCES(X)
#undef X
	};

	return source < MEMORY_SOURCE_COUNT ? texts[source] : "nobody";
}
