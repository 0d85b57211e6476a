/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field tables of TenantQoS, which a test holds against crds/tenantqos.yaml, and of
 * ValidatingAdmissionPolicyBinding; about tables see wire.c.
 */
#include "api/wire_tenant.h"

#include "base/macros.h"

#define JSON(type, member, key, kind)          FIELD(type, member, key, 0, kind)
#define JSON_SUB(type, member, key, kind, sub) FIELD_SUB(type, member, key, 0, kind, sub)

/* --- TenantQoS */

static const struct field ceiling_fields[] = {
	JSON(struct wire_ceiling, gpu_memory, "gpuMemory", FIELD_QUANTITY),
	JSON(struct wire_ceiling, gpus, "gpus", FIELD_INT64),
};
static const struct schema ceiling_schema = SCHEMA("Ceiling", struct wire_ceiling, ceiling_fields);

static const struct field qos_class_fields[] = {
	JSON(struct wire_qos_class, class, "class", FIELD_STRING),
	JSON(struct wire_qos_class, action, "action", FIELD_STRING),
};
static const struct schema qos_class_schema =
	SCHEMA("QosClass", struct wire_qos_class, qos_class_fields);

static const struct field topology_fields[] = {
	JSON(struct wire_topology, policy, "policy", FIELD_STRING),
	JSON(struct wire_topology, scope, "scope", FIELD_STRING),
	JSON(struct wire_topology, on_mismatch, "onMismatch", FIELD_STRING),
};
static const struct schema topology_schema =
	SCHEMA("Topology", struct wire_topology, topology_fields);

static const struct field objective_fields[] = {
	JSON(struct wire_objective, name, "name", FIELD_STRING),
	JSON(struct wire_objective, preset, "preset", FIELD_STRING),
	JSON(struct wire_objective, percentile, "percentile", FIELD_INT64),
	JSON(struct wire_objective, query, "query", FIELD_STRING),
	JSON(struct wire_objective, threshold, "threshold", FIELD_QUANTITY),
	JSON(struct wire_objective, direction, "direction", FIELD_STRING),
	JSON(struct wire_objective, for_text, "for", FIELD_STRING),
};
static const struct schema objective_schema =
	SCHEMA("Objective", struct wire_objective, objective_fields);

static const struct field tenant_spec_fields[] = {
	JSON_SUB(struct wire_tenant_spec, namespaces, "namespaceSelector", FIELD_MESSAGE,
		 &wire_selector_schema),
	JSON(struct wire_tenant_spec, tier, "tier", FIELD_STRING),
	JSON_SUB(struct wire_tenant_spec, ceiling, "ceiling", FIELD_MESSAGE, &ceiling_schema),
	JSON_SUB(struct wire_tenant_spec, qos, "qosClass", FIELD_MESSAGE, &qos_class_schema),
	JSON(struct wire_tenant_spec, priority_classes, "priorityClasses", FIELD_STRINGS),
	JSON_SUB(struct wire_tenant_spec, topology, "topology", FIELD_MESSAGE, &topology_schema),
	JSON_SUB(struct wire_tenant_spec, protection, "protection", FIELD_MESSAGE,
		 &wire_protection_schema),
	JSON_SUB(struct wire_tenant_spec, preemptible, "preemptible", FIELD_MESSAGE,
		 &wire_preemptible_schema),
	JSON_SUB(struct wire_tenant_spec, objectives, "objectives", FIELD_MESSAGES,
		 &objective_schema),
	JSON(struct wire_tenant_spec, pending_seconds, "pendingSeconds", FIELD_INT64),
	JSON(struct wire_tenant_spec, delegated, "delegated", FIELD_STRINGS),
	JSON_SUB(struct wire_tenant_spec, isolation, "isolation", FIELD_MESSAGE,
		 &wire_isolation_schema),
	JSON_SUB(struct wire_tenant_spec, feedback, "feedback", FIELD_MESSAGE,
		 &wire_feedback_schema),
};
static const struct schema tenant_spec_schema =
	SCHEMA("TenantQoSSpec", struct wire_tenant_spec, tenant_spec_fields);

static const struct field objective_status_fields[] = {
	JSON(struct wire_objective_status, name, "name", FIELD_STRING),
	JSON(struct wire_objective_status, value, "value", FIELD_QUANTITY),
	JSON(struct wire_objective_status, state, "state", FIELD_STRING),
	JSON(struct wire_objective_status, reason, "reason", FIELD_STRING),
	JSON(struct wire_objective_status, since_us, "since", FIELD_TIME),
};
static const struct schema objective_status_schema =
	SCHEMA("ObjectiveStatus", struct wire_objective_status, objective_status_fields);

static const struct field shown_fields[] = {
	JSON(struct wire_tenant_shown, granted, "granted", FIELD_STRING),
	JSON(struct wire_tenant_shown, used, "used", FIELD_STRING),
	JSON(struct wire_tenant_shown, lent, "lent", FIELD_STRING),
};
static const struct schema shown_schema =
	SCHEMA("TenantShown", struct wire_tenant_shown, shown_fields);

static const struct field tenant_status_fields[] = {
	JSON(struct wire_tenant_status, observed_generation, "observedGeneration", FIELD_INT64),
	JSON(struct wire_tenant_status, namespaces, "namespaces", FIELD_STRINGS),
	JSON(struct wire_tenant_status, n_namespaces, "namespaceCount", FIELD_INT64),
	JSON_SUB(struct wire_tenant_status, ceiling, "ceiling", FIELD_MESSAGE, &ceiling_schema),
	JSON(struct wire_tenant_status, granted, "granted", FIELD_QUANTITY),
	JSON(struct wire_tenant_status, granted_gpus, "grantedGPUs", FIELD_INT64),
	JSON(struct wire_tenant_status, used, "used", FIELD_QUANTITY),
	JSON(struct wire_tenant_status, used_gpus, "usedGPUs", FIELD_INT64),
	JSON(struct wire_tenant_status, lent, "lent", FIELD_QUANTITY),
	JSON(struct wire_tenant_status, eviction_count, "evictionCount", FIELD_INT64),
	JSON_SUB(struct wire_tenant_status, evictions, "evictions", FIELD_MESSAGES,
		 &wire_eviction_schema),
	JSON_SUB(struct wire_tenant_status, objectives, "objectives", FIELD_MESSAGES,
		 &objective_status_schema),
	JSON(struct wire_tenant_status, objectives_text, "objectivesSummary", FIELD_STRING),
	JSON_SUB(struct wire_tenant_status, conditions, "conditions", FIELD_MESSAGES,
		 &wire_condition_schema),
	JSON_SUB(struct wire_tenant_status, throttle, "throttle", FIELD_MESSAGE,
		 &wire_throttle_schema),
	JSON_SUB(struct wire_tenant_status, shown, "shown", FIELD_MESSAGE, &shown_schema),
};
static const struct schema tenant_status_schema =
	SCHEMA("TenantQoSStatus", struct wire_tenant_status, tenant_status_fields);

static const struct field tenant_fields[] = {
	JSON_SUB(struct wire_tenant, meta, "metadata", FIELD_MESSAGE, &wire_meta_schema),
	JSON_SUB(struct wire_tenant, spec, "spec", FIELD_MESSAGE, &tenant_spec_schema),
	JSON_SUB(struct wire_tenant, status, "status", FIELD_MESSAGE, &tenant_status_schema),
};
const struct schema wire_tenant_schema = SCHEMA("TenantQoS", struct wire_tenant, tenant_fields);

/* --- ValidatingAdmissionPolicyBinding */

static const struct field param_ref_fields[] = {
	FIELD(struct wire_param_ref, name, "name", 1, FIELD_STRING),
	FIELD(struct wire_param_ref, namespace, "namespace", 2, FIELD_STRING),
	FIELD_SUB(struct wire_param_ref, selector, "selector", 3, FIELD_MESSAGE,
		  &wire_selector_schema),
	FIELD(struct wire_param_ref, not_found, "parameterNotFoundAction", 4, FIELD_STRING),
};
static const struct schema param_ref_schema =
	SCHEMA("ParamRef", struct wire_param_ref, param_ref_fields);

static const struct field rule_fields[] = {
	FIELD(struct wire_binding_rule, names, "resourceNames", 1, FIELD_STRINGS),
};
static const struct schema rule_schema =
	SCHEMA("NamedRuleWithOperations", struct wire_binding_rule, rule_fields);

static const struct field match_fields[] = {
	FIELD_SUB(struct wire_binding_match, namespaces, "namespaceSelector", 1, FIELD_MESSAGE,
		  &wire_selector_schema),
	FIELD_SUB(struct wire_binding_match, objects, "objectSelector", 2, FIELD_MESSAGE,
		  &wire_selector_schema),
	FIELD_SUB(struct wire_binding_match, rules, "resourceRules", 3, FIELD_MESSAGES,
		  &rule_schema),
	FIELD_SUB(struct wire_binding_match, excluded, "excludeResourceRules", 4, FIELD_MESSAGES,
		  &rule_schema),
	FIELD(struct wire_binding_match, policy, "matchPolicy", 7, FIELD_STRING),
};
static const struct schema match_schema =
	SCHEMA("MatchResources", struct wire_binding_match, match_fields);

static const struct field binding_spec_fields[] = {
	FIELD(struct wire_binding_spec, policy, "policyName", 1, FIELD_STRING),
	FIELD_SUB(struct wire_binding_spec, param, "paramRef", 2, FIELD_MESSAGE, &param_ref_schema),
	FIELD_SUB(struct wire_binding_spec, match, "matchResources", 3, FIELD_MESSAGE,
		  &match_schema),
	FIELD(struct wire_binding_spec, actions, "validationActions", 4, FIELD_STRINGS),
};
static const struct schema binding_spec_schema = SCHEMA(
	"ValidatingAdmissionPolicyBindingSpec", struct wire_binding_spec, binding_spec_fields);

static const struct field binding_fields[] = {
	FIELD_SUB(struct wire_binding, meta, "metadata", 1, FIELD_MESSAGE, &wire_bound_meta_schema),
	FIELD_SUB(struct wire_binding, spec, "spec", 2, FIELD_MESSAGE, &binding_spec_schema),
};
const struct schema wire_binding_schema =
	SCHEMA("ValidatingAdmissionPolicyBinding", struct wire_binding, binding_fields);
