/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of GpuNode; about tables see wire.c. */
#include "api/wire_gpunode.h"

#include "base/macros.h"

#define JSON(type, member, key, kind)          FIELD(type, member, key, 0, kind)
#define JSON_SUB(type, member, key, kind, sub) FIELD_SUB(type, member, key, 0, kind, sub)

static const struct field devices_fields[] = {
	JSON(struct wire_gpu_devices, ids, "ids", FIELD_STRINGS),
	JSON(struct wire_gpu_devices, cards, "cards", FIELD_STRINGS),
};
static const struct schema devices_schema =
	SCHEMA("devices", struct wire_gpu_devices, devices_fields);

static const struct field claim_fields[] = {
	JSON(struct wire_gpu_claim, driver, "driver", FIELD_STRING),
};
static const struct schema claim_schema = SCHEMA("claim", struct wire_gpu_claim, claim_fields);

static const struct field container_fields[] = {
	JSON(struct wire_gpu_container, cpus, "cpus", FIELD_STRING),
	JSON_SUB(struct wire_gpu_container, devices, "devices", FIELD_MESSAGES, &devices_schema),
	JSON_SUB(struct wire_gpu_container, claims, "claims", FIELD_MESSAGES, &claim_schema),
};
static const struct schema container_schema =
	SCHEMA("container", struct wire_gpu_container, container_fields);

static const struct field pod_fields[] = {
	JSON(struct wire_gpu_pod, namespace, "namespace", FIELD_STRING),
	JSON(struct wire_gpu_pod, name, "name", FIELD_STRING),
	JSON_SUB(struct wire_gpu_pod, containers, "containers", FIELD_MESSAGES, &container_schema),
};
static const struct schema pod_schema = SCHEMA("pod", struct wire_gpu_pod, pod_fields);

static const struct field user_fields[] = {
	JSON(struct wire_gpu_user, sm_percent, "smPercent", FIELD_INT64),
	JSON(struct wire_gpu_user, card, "card", FIELD_STRING),
	JSON(struct wire_gpu_user, uid, "podUID", FIELD_STRING),
	JSON(struct wire_gpu_user, memory, "memory", FIELD_QUANTITY),
	JSON(struct wire_gpu_user, pcie, "pcieBytesPerSecond", FIELD_QUANTITY),
	JSON(struct wire_gpu_user, estimated, "pcieEstimated", FIELD_BOOL),
	JSON(struct wire_gpu_user, shared, "shared", FIELD_BOOL),
};
static const struct schema user_schema = SCHEMA("user", struct wire_gpu_user, user_fields);

static const struct field status_fields[] = {
	JSON_SUB(struct wire_gpu_node_status, pods, "pods", FIELD_MESSAGES, &pod_schema),
	JSON_SUB(struct wire_gpu_node_status, users, "users", FIELD_MESSAGES, &user_schema),
	JSON(struct wire_gpu_node_status, other_cpus, "otherCpus", FIELD_STRING),
};
static const struct schema status_schema =
	SCHEMA("status", struct wire_gpu_node_status, status_fields);

static const struct field node_fields[] = {
	JSON_SUB(struct wire_gpu_node, meta, "metadata", FIELD_MESSAGE, &wire_meta_schema),
	JSON_SUB(struct wire_gpu_node, status, "status", FIELD_MESSAGE, &status_schema),
};
const struct schema wire_gpu_node_schema = SCHEMA("GpuNode", struct wire_gpu_node, node_fields);
