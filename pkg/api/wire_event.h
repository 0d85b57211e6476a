/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_EVENT_H
#define GPUQOS_API_WIRE_EVENT_H

#include "api/wire_meta.h"

/* An Event (v1) as it comes, as api/wire.h says of all types. */

struct wire_event_source {
	uint64_t present;
	struct str component;
};

struct wire_event_series {
	uint64_t present;
	int32_t count;
	int64_t last_us;
};

struct wire_event {
	uint64_t present;
	struct wire_meta meta;
	struct str reason, message;
	struct wire_event_source source;
	int64_t last_us;
	int32_t count;
	int64_t event_us;
	struct wire_event_series series;
	struct str reporter; /* reportingComponent */
};

extern const struct schema wire_event_schema;

#endif
