/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of the annotation gpuqos.io/topology. */
#include "api/wire_layout.h"

#include "api/layout.h"
#include "base/macros.h"

#define JSON(type, member, key, kind)          FIELD(type, member, key, 0, kind)
#define JSON_SUB(type, member, key, kind, sub) FIELD_SUB(type, member, key, 0, kind, sub)

static const struct field version_fields[] = {
	JSON(struct wire_layout_version, version, "version", FIELD_INT64),
};
const struct schema wire_layout_version_schema =
	SCHEMA(API_LAYOUT_ANNOTATION, struct wire_layout_version, version_fields);

static const struct field kubelet_fields[] = {
	JSON(struct wire_layout_kubelet, policy, "topologyPolicy", FIELD_STRING),
	JSON(struct wire_layout_kubelet, scope, "topologyScope", FIELD_STRING),
	JSON(struct wire_layout_kubelet, cpu_policy, "cpuPolicy", FIELD_STRING),
};
static const struct schema kubelet_schema =
	SCHEMA("kubelet", struct wire_layout_kubelet, kubelet_fields);

static const struct field numa_fields[] = {
	JSON(struct wire_layout_numa, id, "id", FIELD_INT64),
	JSON(struct wire_layout_numa, cpus, "cpus", FIELD_STRING),
	JSON(struct wire_layout_numa, memory, "memory", FIELD_QUANTITY),
	JSON(struct wire_layout_numa, distances, "distances", FIELD_RAW),
};
static const struct schema numa_schema = SCHEMA("numa", struct wire_layout_numa, numa_fields);

static const struct field bridge_fields[] = {
	JSON(struct wire_layout_bridge, parent, "parent", FIELD_INT64),
	JSON(struct wire_layout_bridge, pci, "pci", FIELD_STRING),
	JSON(struct wire_layout_bridge, speed, "speed", FIELD_QUANTITY),
};
static const struct schema bridge_schema =
	SCHEMA("bridge", struct wire_layout_bridge, bridge_fields);

static const struct field mig_fields[] = {
	JSON(struct wire_layout_mig, count, "count", FIELD_INT64),
	JSON(struct wire_layout_mig, profile, "profile", FIELD_STRING),
	JSON(struct wire_layout_mig, memory, "memory", FIELD_QUANTITY),
};
static const struct schema mig_schema = SCHEMA("mig", struct wire_layout_mig, mig_fields);

static const struct field gpu_fields[] = {
	JSON(struct wire_layout_gpu, index, "index", FIELD_INT64),
	JSON(struct wire_layout_gpu, numa, "numa", FIELD_INT64),
	JSON(struct wire_layout_gpu, bridge, "bridge", FIELD_INT64),
	JSON(struct wire_layout_gpu, uuid, "uuid", FIELD_STRING),
	JSON(struct wire_layout_gpu, pci, "pci", FIELD_STRING),
	JSON(struct wire_layout_gpu, product, "product", FIELD_STRING),
	JSON(struct wire_layout_gpu, speed, "speed", FIELD_QUANTITY),
	JSON(struct wire_layout_gpu, memory, "memory", FIELD_QUANTITY),
	JSON(struct wire_layout_gpu, sharing, "sharing", FIELD_STRING),
	JSON(struct wire_layout_gpu, health, "health", FIELD_STRING),
	JSON_SUB(struct wire_layout_gpu, migs, "mig", FIELD_MESSAGES, &mig_schema),
};
static const struct schema gpu_schema = SCHEMA("gpu", struct wire_layout_gpu, gpu_fields);

static const struct field link_fields[] = {
	JSON(struct wire_layout_link, a, "a", FIELD_INT64),
	JSON(struct wire_layout_link, b, "b", FIELD_INT64),
	JSON(struct wire_layout_link, bandwidth, "bandwidth", FIELD_QUANTITY),
};
static const struct schema link_schema = SCHEMA("nvlink", struct wire_layout_link, link_fields);

static const struct field layout_fields[] = {
	JSON(struct wire_layout, generation, "generation", FIELD_INT64),
	JSON(struct wire_layout, writer, "writer", FIELD_STRING),
	JSON_SUB(struct wire_layout, kubelet, "kubelet", FIELD_MESSAGE, &kubelet_schema),
	JSON_SUB(struct wire_layout, numas, "numa", FIELD_MESSAGES, &numa_schema),
	JSON_SUB(struct wire_layout, bridges, "bridges", FIELD_MESSAGES, &bridge_schema),
	JSON_SUB(struct wire_layout, gpus, "gpus", FIELD_MESSAGES, &gpu_schema),
	JSON_SUB(struct wire_layout, links, "nvlinks", FIELD_MESSAGES, &link_schema),
};
const struct schema wire_layout_schema =
	SCHEMA(API_LAYOUT_ANNOTATION, struct wire_layout, layout_fields);
