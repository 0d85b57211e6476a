/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of TenantQoS's field tables that are about evictions; about tables see wire.c. */
#include "api/wire_evictions.h"

#include "base/macros.h"

#define JSON(type, member, key, kind)          FIELD(type, member, key, 0, kind)
#define JSON_SUB(type, member, key, kind, sub) FIELD_SUB(type, member, key, 0, kind, sub)

static const struct field protection_fields[] = {
	JSON(struct wire_protection, mode, "mode", FIELD_STRING),
	JSON(struct wire_protection, victim_tiers, "victimTiers", FIELD_STRINGS),
	JSON(struct wire_protection, per_minute, "evictionsPerMinute", FIELD_INT64),
	JSON(struct wire_protection, cooldown, "cooldownSeconds", FIELD_INT64),
	JSON(struct wire_protection, observation, "observationSeconds", FIELD_INT64),
	JSON(struct wire_protection, min_run, "minVictimRunSeconds", FIELD_INT64),
};
const struct schema wire_protection_schema =
	SCHEMA("Protection", struct wire_protection, protection_fields);

static const struct field preemptible_fields[] = {
	JSON(struct wire_preemptible, grace, "gracePeriodSeconds", FIELD_INT64),
	JSON(struct wire_preemptible, min_run, "minRunSeconds", FIELD_INT64),
	JSON(struct wire_preemptible, credit, "checkpointCreditSeconds", FIELD_INT64),
};
const struct schema wire_preemptible_schema =
	SCHEMA("Preemptible", struct wire_preemptible, preemptible_fields);

static const struct field beneficiary_fields[] = {
	JSON(struct wire_eviction_pod, namespace, "namespace", FIELD_STRING),
	JSON(struct wire_eviction_pod, name, "name", FIELD_STRING),
	JSON(struct wire_eviction_pod, uid, "uid", FIELD_STRING),
	JSON(struct wire_eviction_pod, owner, "owner", FIELD_STRING),
	JSON(struct wire_eviction_pod, gpu_memory, "gpuMemory", FIELD_QUANTITY),
};
static const struct schema beneficiary_schema =
	SCHEMA("Beneficiary", struct wire_eviction_pod, beneficiary_fields);

static const struct field victim_fields[] = {
	JSON(struct wire_eviction_pod, namespace, "namespace", FIELD_STRING),
	JSON(struct wire_eviction_pod, name, "name", FIELD_STRING),
	JSON(struct wire_eviction_pod, uid, "uid", FIELD_STRING),
	JSON(struct wire_eviction_pod, owner, "owner", FIELD_STRING),
	JSON(struct wire_eviction_pod, tenant, "tenant", FIELD_STRING),
	JSON(struct wire_eviction_pod, gpu_memory, "gpuMemory", FIELD_QUANTITY),
	JSON(struct wire_eviction_pod, lost, "lostGPUSeconds", FIELD_INT64),
	JSON(struct wire_eviction_pod, note, "note", FIELD_STRING),
};
static const struct schema victim_schema =
	SCHEMA("Victim", struct wire_eviction_pod, victim_fields);

static const struct field spared_fields[] = {
	JSON(struct wire_eviction_pod, namespace, "namespace", FIELD_STRING),
	JSON(struct wire_eviction_pod, name, "name", FIELD_STRING),
	JSON(struct wire_eviction_pod, note, "reason", FIELD_STRING),
};
static const struct schema spared_schema =
	SCHEMA("Spared", struct wire_eviction_pod, spared_fields);

static const struct field eviction_fields[] = {
	JSON(struct wire_eviction, id, "id", FIELD_STRING),
	JSON(struct wire_eviction, cause, "cause", FIELD_STRING),
	JSON(struct wire_eviction, outcome, "outcome", FIELD_STRING),
	JSON(struct wire_eviction, at_us, "time", FIELD_TIME),
	JSON(struct wire_eviction, settled_us, "settledTime", FIELD_TIME),
	JSON_SUB(struct wire_eviction, beneficiary, "beneficiary", FIELD_MESSAGE,
		 &beneficiary_schema),
	JSON(struct wire_eviction, objective, "objective", FIELD_STRING),
	JSON(struct wire_eviction, value, "objectiveValue", FIELD_STRING),
	JSON(struct wire_eviction, node, "node", FIELD_STRING),
	JSON(struct wire_eviction, cards, "cards", FIELD_STRING),
	JSON(struct wire_eviction, held_until_us, "heldUntil", FIELD_TIME),
	JSON(struct wire_eviction, proof, "proof", FIELD_STRING),
	JSON(struct wire_eviction, limits, "limits", FIELD_STRING),
	JSON(struct wire_eviction, message, "message", FIELD_STRING),
	JSON_SUB(struct wire_eviction, victims, "victims", FIELD_MESSAGES, &victim_schema),
	JSON_SUB(struct wire_eviction, spared, "spared", FIELD_MESSAGES, &spared_schema),
	JSON(struct wire_eviction, n_spared, "sparedCount", FIELD_INT64),
};
const struct schema wire_eviction_schema =
	SCHEMA("Eviction", struct wire_eviction, eviction_fields);
