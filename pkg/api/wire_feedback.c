/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables, which a test holds against crds/tenantqos.yaml; about tables see wire.c. */
#include "api/wire_feedback.h"

#include "base/macros.h"

#define JSON(type, member, key, kind)          FIELD(type, member, key, 0, kind)
#define JSON_SUB(type, member, key, kind, sub) FIELD_SUB(type, member, key, 0, kind, sub)

static const struct field isolation_fields[] = {
	JSON(struct wire_isolation, pcie, "pcieBytesPerSecond", FIELD_QUANTITY),
	JSON(struct wire_isolation, utilisation, "gpuUtilizationPercent", FIELD_INT64),
	JSON(struct wire_isolation, memory_overshoot, "memoryOvershootPercent", FIELD_INT64),
};
const struct schema wire_isolation_schema =
	SCHEMA("Isolation", struct wire_isolation, isolation_fields);

static const struct field override_fields[] = {
	JSON(struct wire_override, percent, "percent", FIELD_INT64),
	JSON(struct wire_override, until_us, "until", FIELD_TIME),
};
static const struct schema override_schema =
	SCHEMA("Override", struct wire_override, override_fields);

static const struct field feedback_fields[] = {
	JSON(struct wire_feedback, mode, "mode", FIELD_STRING),
	JSON(struct wire_feedback, decrease, "decrease", FIELD_INT64),
	JSON(struct wire_feedback, recover, "recoverPerMinute", FIELD_INT64),
	JSON(struct wire_feedback, floor, "floorPercent", FIELD_INT64),
	JSON(struct wire_feedback, evict_offender, "evictOffender", FIELD_BOOL),
	JSON(struct wire_feedback, reclaim_idle, "reclaimIdle", FIELD_BOOL),
	JSON_SUB(struct wire_feedback, override, "override", FIELD_MESSAGE, &override_schema),
};
const struct schema wire_feedback_schema =
	SCHEMA("Feedback", struct wire_feedback, feedback_fields);

static const struct field throttle_fields[] = {
	JSON(struct wire_throttle, step, "step", FIELD_STRING),
	JSON(struct wire_throttle, percent, "percent", FIELD_INT64),
	JSON(struct wire_throttle, cause, "cause", FIELD_STRING),
	JSON(struct wire_throttle, signals, "signals", FIELD_STRINGS),
	JSON(struct wire_throttle, since_us, "since", FIELD_TIME),
	JSON(struct wire_throttle, until_us, "until", FIELD_TIME),
	JSON(struct wire_throttle, futile, "futileTries", FIELD_INT64),
};
const struct schema wire_throttle_schema =
	SCHEMA("Throttle", struct wire_throttle, throttle_fields);
