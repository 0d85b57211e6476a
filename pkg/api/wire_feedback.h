/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_FEEDBACK_H
#define GPUQOS_API_WIRE_FEEDBACK_H

#include "api/wire.h"

/* spec.isolation, spec.feedback and status.throttle of a TenantQoS. See api/wire.h. */

struct wire_isolation {
	uint64_t present;
	struct str pcie; /* quantity */
	int64_t utilisation, memory_overshoot;
};

#define WIRE_ISOLATION_PCIE             0
#define WIRE_ISOLATION_UTILISATION      1
#define WIRE_ISOLATION_MEMORY_OVERSHOOT 2

struct wire_override {
	uint64_t present;
	int64_t percent;
	int64_t until_us;
};

#define WIRE_OVERRIDE_PERCENT 0

struct wire_feedback {
	uint64_t present;
	struct str mode;
	int64_t decrease, recover, floor;
	bool evict_offender, reclaim_idle;
	struct wire_override override;
};

#define WIRE_FEEDBACK_DECREASE 1
#define WIRE_FEEDBACK_RECOVER  2
#define WIRE_FEEDBACK_FLOOR    3
#define WIRE_FEEDBACK_OVERRIDE 6

struct wire_throttle {
	uint64_t present;
	struct str step;
	int64_t percent;
	struct str cause;
	struct wire_list signals; /* struct str */
	int64_t since_us, until_us;
	int64_t futile;
};

#define WIRE_THROTTLE_STEP 0

extern const struct schema wire_isolation_schema, wire_feedback_schema, wire_throttle_schema;

#endif
