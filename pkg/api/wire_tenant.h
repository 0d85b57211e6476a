/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_TENANT_H
#define GPUQOS_API_WIRE_TENANT_H

#include "api/wire_evictions.h"
#include "api/wire_feedback.h"
#include "api/wire_quota.h"

/*
 * TenantQoS as crds/tenantqos.yaml has it, only in JSON, and the policy bindings that we write for
 * each (k8s.io/api/admissionregistration/v1). See api/wire.h.
 */

struct wire_ceiling {
	uint64_t present;
	struct str gpu_memory; /* quantity */
	int64_t gpus;
};

#define WIRE_CEILING_GPU_MEMORY 0
#define WIRE_CEILING_GPUS       1

struct wire_qos_class {
	uint64_t present;
	struct str class, action;
};

struct wire_topology {
	uint64_t present;
	struct str policy, scope, on_mismatch;
};

struct wire_objective {
	uint64_t present;
	struct str name, preset;
	int64_t percentile;
	struct str query;
	struct str threshold; /* quantity */
	struct str direction, for_text;
};

#define WIRE_OBJECTIVE_PERCENTILE 2

struct wire_tenant_spec {
	uint64_t present;
	struct wire_selector namespaces;
	struct str tier;
	struct wire_ceiling ceiling;
	struct wire_qos_class qos;
	struct wire_list priority_classes; /* struct str */
	struct wire_topology topology;
	struct wire_protection protection;
	struct wire_preemptible preemptible;
	struct wire_list objectives; /* struct wire_objective */
	int64_t pending_seconds;
	struct wire_list delegated; /* struct str */
	struct wire_isolation isolation;
	struct wire_feedback feedback;
};

#define WIRE_TENANT_CEILING    2
#define WIRE_TENANT_QOS        3
#define WIRE_TENANT_TOPOLOGY   5
#define WIRE_TENANT_PROTECTION 6
#define WIRE_TENANT_PENDING    9

struct wire_objective_status {
	uint64_t present;
	struct str name;
	struct str value; /* quantity */
	struct str state, reason;
	int64_t since_us;
};

#define WIRE_OBJECTIVE_VALUE 1

/* As in wire_quota.h. */
struct wire_tenant_shown {
	uint64_t present;
	struct str granted, used, lent;
};

struct wire_tenant_status {
	uint64_t present;
	int64_t observed_generation;
	struct wire_list namespaces; /* struct str */
	int64_t n_namespaces;
	struct wire_ceiling ceiling;
	struct str granted, used, lent; /* quantities */
	int64_t granted_gpus, used_gpus;
	int64_t eviction_count;
	struct wire_list evictions;  /* struct wire_eviction */
	struct wire_list objectives; /* struct wire_objective_status */
	struct str objectives_text;
	struct wire_list conditions; /* struct wire_condition */
	struct wire_throttle throttle;
	struct wire_tenant_shown shown;
};

#define WIRE_TENANT_STATUS_SHOWN 15

struct wire_tenant {
	uint64_t present;
	struct wire_meta meta;
	struct wire_tenant_spec spec;
	struct wire_tenant_status status;
};

#define WIRE_TENANT_STATUS 2

struct wire_param_ref {
	uint64_t present;
	struct str name, namespace;
	struct wire_selector selector;
	struct str not_found;
};

#define WIRE_PARAM_SELECTOR 2

/* Only that there is one. */
struct wire_binding_rule {
	uint64_t present;
	struct wire_list names; /* struct str */
};

struct wire_binding_match {
	uint64_t present;
	struct wire_selector namespaces, objects;
	struct wire_list rules, excluded; /* struct wire_binding_rule */
	struct str policy;
};

struct wire_binding_spec {
	uint64_t present;
	struct str policy;
	struct wire_param_ref param;
	struct wire_binding_match match;
	struct wire_list actions; /* struct str */
};

struct wire_binding {
	uint64_t present;
	struct wire_meta meta; /* with labels and owners */
	struct wire_binding_spec spec;
};

extern const struct schema wire_tenant_schema, wire_binding_schema;

#endif
