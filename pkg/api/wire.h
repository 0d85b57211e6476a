/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_H
#define GPUQOS_API_WIRE_H

#include "api/wire_pod.h"

/*
 * Transient structs that the readers of codec fill: exactly the fields in use, nested and named as
 * in the API. Tags are those of the generated.proto files of k8s.io/api and k8s.io/apimachinery.
 * All memory belongs to the arena of the decode. Numbers that may be absent have the index of their
 * field, for wire_has(), beside their struct.
 */

struct wire_node_condition {
	uint64_t present;
	struct str type, status;
};

struct wire_node_status {
	uint64_t present;
	struct wire_list capacity, allocatable; /* struct wire_pair */
	struct wire_list conditions;            /* struct wire_node_condition */
};

struct wire_node_spec {
	uint64_t present;
	bool unschedulable;
	struct wire_list taints; /* struct wire_taint */
};

struct wire_taint {
	uint64_t present;
	struct str key, value, effect;
};

struct wire_node {
	uint64_t present;
	struct wire_meta meta; /* with labels and annotations */
	struct wire_node_spec spec;
	struct wire_node_status status;
};

struct wire_namespace {
	uint64_t present;
	struct wire_meta meta; /* with labels */
	struct wire_phase status;
};

struct wire_resource_quota_spec {
	uint64_t present;
	struct wire_list hard;   /* struct wire_pair */
	struct wire_list scopes; /* struct str */
	struct wire_scope_selector {
		uint64_t present;
		struct wire_list terms; /* struct wire_scope_term */
	} scope_selector;
};

struct wire_scope_term {
	uint64_t present;
	struct str scope;
};

#define WIRE_RESOURCE_QUOTA_SCOPE_SELECTOR 2

struct wire_resource_quota_status {
	uint64_t present;
	struct wire_list hard; /* struct wire_pair */
};

struct wire_resource_quota {
	uint64_t present;
	struct wire_meta meta; /* with owners and managed fields */
	struct wire_resource_quota_spec spec;
	struct wire_resource_quota_status status;
};

struct wire_limit_item {
	uint64_t present;
	struct str type;
	struct wire_list max, min, defaults, default_requests, ratio; /* struct wire_pair */
};

struct wire_limit_range_spec {
	uint64_t present;
	struct wire_list limits; /* struct wire_limit_item */
};

struct wire_limit_range {
	uint64_t present;
	struct wire_meta meta; /* with owners and managed fields */
	struct wire_limit_range_spec spec;
};

struct wire_lease_spec {
	uint64_t present;
	struct str holder;
	int32_t duration_s, transitions;
	int64_t acquire_us, renew_us;
};

struct wire_lease {
	uint64_t present;
	struct wire_meta meta; /* with annotations */
	struct wire_lease_spec spec;
};

extern const struct schema wire_pod_schema, wire_node_schema, wire_namespace_schema,
	wire_resource_quota_schema, wire_limit_range_schema, wire_lease_schema;
/* See api/type.h. */
extern const struct schema wire_pod_outline_schema, wire_namespace_outline_schema;
extern const struct schema wire_gpu_memory_quota_schema; /* api/wire_quota.h */

#endif
