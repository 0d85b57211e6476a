/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field tables of the built-in types. A row is the member, its JSON key, its protobuf tag and
 * how it is read; its place in the table is its bit in `present`. The order is that of the tags,
 * since that is the order of the bytes.
 */
#include "api/wire.h"

#include "api/keys.h"
#include "base/macros.h"

static const struct field phase_fields[] = {
	FIELD(struct wire_phase, phase, "phase", 1, FIELD_STRING),
};
static const struct schema phase_schema = SCHEMA("Status", struct wire_phase, phase_fields);

/* --- Pod */

static const struct field resources_fields[] = {
	FIELD(struct wire_resources, limits, "limits", 1, FIELD_QUANTITIES),
	FIELD(struct wire_resources, requests, "requests", 2, FIELD_QUANTITIES),
};
static const struct schema resources_schema =
	SCHEMA("ResourceRequirements", struct wire_resources, resources_fields);

static const struct field port_fields[] = {
	FIELD(struct wire_port, host, "hostPort", 2, FIELD_INT32),
	FIELD(struct wire_port, protocol, "protocol", 4, FIELD_STRING),
	FIELD(struct wire_port, host_ip, "hostIP", 5, FIELD_STRING),
};
static const struct schema port_schema = SCHEMA("ContainerPort", struct wire_port, port_fields);

static const struct field container_fields[] = {
	FIELD(struct wire_container, name, "name", 1, FIELD_STRING),
	FIELD_SUB(struct wire_container, ports, "ports", 6, FIELD_MESSAGES, &port_schema),
	FIELD_SUB(struct wire_container, resources, "resources", 8, FIELD_MESSAGE,
		  &resources_schema),
	FIELD(struct wire_container, restart_policy, "restartPolicy", 24, FIELD_STRING),
};
static const struct schema container_schema =
	SCHEMA("Container", struct wire_container, container_fields);

static const struct field pod_claim_fields[] = {
	FIELD(struct wire_pod_claim, name, "name", 1, FIELD_STRING),
	FIELD(struct wire_pod_claim, claim, "resourceClaimName", 3, FIELD_STRING),
};
static const struct schema pod_claim_schema =
	SCHEMA("PodResourceClaim", struct wire_pod_claim, pod_claim_fields);

static const struct field pod_claim_status_fields[] = {
	FIELD(struct wire_pod_claim_status, name, "name", 1, FIELD_STRING),
	FIELD(struct wire_pod_claim_status, claim, "resourceClaimName", 2, FIELD_STRING),
};
static const struct schema pod_claim_status_schema =
	SCHEMA("PodResourceClaimStatus", struct wire_pod_claim_status, pod_claim_status_fields);

static const struct field pod_gate_fields[] = {
	FIELD(struct wire_pod_gate, name, "name", 1, FIELD_STRING),
};
static const struct schema pod_gate_schema =
	SCHEMA("PodSchedulingGate", struct wire_pod_gate, pod_gate_fields);

static const struct field pod_spec_fields[] = {
	FIELD_SUB(struct wire_pod_spec, volumes, "volumes", 1, FIELD_MESSAGES, &wire_volume_schema),
	FIELD_SUB(struct wire_pod_spec, containers, "containers", 2, FIELD_MESSAGES,
		  &container_schema),
	[WIRE_POD_GRACE] = FIELD(struct wire_pod_spec, grace_s, "terminationGracePeriodSeconds", 4,
				 FIELD_INT64),
	FIELD(struct wire_pod_spec, node_selector, "nodeSelector", 7, FIELD_MAP),
	FIELD(struct wire_pod_spec, node_name, "nodeName", 10, FIELD_STRING),
	FIELD_SUB(struct wire_pod_spec, affinity, "affinity", 18, FIELD_MESSAGE,
		  &wire_affinity_schema),
	FIELD_SUB(struct wire_pod_spec, init_containers, "initContainers", 20, FIELD_MESSAGES,
		  &container_schema),
	FIELD_SUB(struct wire_pod_spec, tolerations, "tolerations", 22, FIELD_MESSAGES,
		  &wire_toleration_schema),
	FIELD(struct wire_pod_spec, overhead, "overhead", 32, FIELD_QUANTITIES),
	FIELD_SUB(struct wire_pod_spec, spreads, "topologySpreadConstraints", 33, FIELD_MESSAGES,
		  &wire_spread_schema),
	FIELD_SUB(struct wire_pod_spec, gates, "schedulingGates", 38, FIELD_MESSAGES,
		  &pod_gate_schema),
	FIELD_SUB(struct wire_pod_spec, claims, "resourceClaims", 39, FIELD_MESSAGES,
		  &pod_claim_schema),
	FIELD_SUB(struct wire_pod_spec, resources, "resources", 40, FIELD_MESSAGE,
		  &resources_schema),
};
static const struct schema pod_spec_schema =
	SCHEMA("PodSpec", struct wire_pod_spec, pod_spec_fields);

static const struct field extended_claim_fields[] = {
	FIELD(struct wire_extended_claim, name, "resourceClaimName", 2, FIELD_STRING),
};
static const struct schema extended_claim_schema =
	SCHEMA("PodExtendedResourceClaimStatus", struct wire_extended_claim, extended_claim_fields);

/* Which devices kubelet gave: KEP-4680. */
static const struct field resource_health_fields[] = {
	FIELD(struct wire_resource_health, id, "resourceID", 1, FIELD_STRING),
};
static const struct schema resource_health_schema =
	SCHEMA("ResourceHealth", struct wire_resource_health, resource_health_fields);

static const struct field resource_status_fields[] = {
	FIELD(struct wire_resource_status, name, "name", 1, FIELD_STRING),
	FIELD_SUB(struct wire_resource_status, resources, "resources", 2, FIELD_MESSAGES,
		  &resource_health_schema),
};
static const struct schema resource_status_schema =
	SCHEMA("ResourceStatus", struct wire_resource_status, resource_status_fields);

static const struct field waiting_fields[] = {
	FIELD(struct wire_waiting, reason, "reason", 1, FIELD_STRING),
};
static const struct schema waiting_schema =
	SCHEMA("ContainerStateWaiting", struct wire_waiting, waiting_fields);

static const struct field terminated_fields[] = {
	FIELD(struct wire_terminated, exit_code, "exitCode", 1, FIELD_INT32),
	FIELD(struct wire_terminated, finished_us, "finishedAt", 6, FIELD_TIME),
};
static const struct schema terminated_schema =
	SCHEMA("ContainerStateTerminated", struct wire_terminated, terminated_fields);

static const struct field container_state_fields[] = {
	FIELD_SUB(struct wire_container_state, waiting, "waiting", 1, FIELD_MESSAGE,
		  &waiting_schema),
	[WIRE_STATE_TERMINATED] = FIELD_SUB(struct wire_container_state, terminated, "terminated",
					    3, FIELD_MESSAGE, &terminated_schema),
};
static const struct schema container_state_schema =
	SCHEMA("ContainerState", struct wire_container_state, container_state_fields);

static const struct field container_status_fields[] = {
	FIELD_SUB(struct wire_container_status, state, "state", 2, FIELD_MESSAGE,
		  &container_state_schema),
	FIELD_SUB(struct wire_container_status, last_state, "lastState", 3, FIELD_MESSAGE,
		  &container_state_schema),
	FIELD(struct wire_container_status, restarts, "restartCount", 5, FIELD_INT32),
	FIELD_SUB(struct wire_container_status, allocated, "allocatedResourcesStatus", 14,
		  FIELD_MESSAGES, &resource_status_schema),
};
static const struct schema container_status_schema =
	SCHEMA("ContainerStatus", struct wire_container_status, container_status_fields);

static const struct field pod_status_outline[] = {
	FIELD(struct wire_pod_status, phase, "phase", 1, FIELD_STRING),
	FIELD_SUB(struct wire_pod_status, extended_claim, "extendedResourceClaimStatus", 18,
		  FIELD_MESSAGE, &extended_claim_schema),
};
static const struct schema pod_status_outline_schema =
	SCHEMA("PodStatus", struct wire_pod_status, pod_status_outline);

static const struct field pod_status_fields[] = {
	FIELD(struct wire_pod_status, phase, "phase", 1, FIELD_STRING),
	FIELD(struct wire_pod_status, start_us, "startTime", 7, FIELD_TIME),
	FIELD_SUB(struct wire_pod_status, containers, "containerStatuses", 8, FIELD_MESSAGES,
		  &container_status_schema),
	FIELD(struct wire_pod_status, qos_class, "qosClass", 9, FIELD_STRING),
	FIELD_SUB(struct wire_pod_status, init_containers, "initContainerStatuses", 10,
		  FIELD_MESSAGES, &container_status_schema),
	FIELD_SUB(struct wire_pod_status, claims, "resourceClaimStatuses", 15, FIELD_MESSAGES,
		  &pod_claim_status_schema),
	FIELD_SUB(struct wire_pod_status, extended_claim, "extendedResourceClaimStatus", 18,
		  FIELD_MESSAGE, &extended_claim_schema),
};
static const struct schema pod_status_schema =
	SCHEMA("PodStatus", struct wire_pod_status, pod_status_fields);

static const struct field pod_fields[] = {
	FIELD_SUB(struct wire_pod, meta, "metadata", 1, FIELD_MESSAGE, &wire_pod_meta_schema),
	FIELD_SUB(struct wire_pod, spec, "spec", 2, FIELD_MESSAGE, &pod_spec_schema),
	FIELD_SUB(struct wire_pod, status, "status", 3, FIELD_MESSAGE, &pod_status_schema),
};
const struct schema wire_pod_schema = SCHEMA("Pod", struct wire_pod, pod_fields);

/* Whose it is, where it runs and whether it is over: no size of the rest stands in the way. */
static const struct field pod_spec_outline[] = {
	FIELD(struct wire_pod_spec, node_name, "nodeName", 10, FIELD_STRING),
};
static const struct schema pod_spec_outline_schema =
	SCHEMA("PodSpec", struct wire_pod_spec, pod_spec_outline);

static const struct field pod_outline[] = {
	FIELD_SUB(struct wire_pod, meta, "metadata", 1, FIELD_MESSAGE, &wire_meta_schema),
	FIELD_SUB(struct wire_pod, spec, "spec", 2, FIELD_MESSAGE, &pod_spec_outline_schema),
	FIELD_SUB(struct wire_pod, status, "status", 3, FIELD_MESSAGE, &pod_status_outline_schema),
};
const struct schema wire_pod_outline_schema = SCHEMA("Pod", struct wire_pod, pod_outline);

/* --- Node, Namespace */

static const struct field node_condition_fields[] = {
	FIELD(struct wire_node_condition, type, "type", 1, FIELD_STRING),
	FIELD(struct wire_node_condition, status, "status", 2, FIELD_STRING),
};
static const struct schema node_condition_schema =
	SCHEMA("NodeCondition", struct wire_node_condition, node_condition_fields);

static const struct field node_status_fields[] = {
	FIELD(struct wire_node_status, capacity, "capacity", 1, FIELD_QUANTITIES),
	FIELD(struct wire_node_status, allocatable, "allocatable", 2, FIELD_QUANTITIES),
	FIELD_SUB(struct wire_node_status, conditions, "conditions", 4, FIELD_MESSAGES,
		  &node_condition_schema),
};
static const struct schema node_status_schema =
	SCHEMA("NodeStatus", struct wire_node_status, node_status_fields);

static const struct field taint_fields[] = {
	FIELD(struct wire_taint, key, "key", 1, FIELD_STRING),
	FIELD(struct wire_taint, value, "value", 2, FIELD_STRING),
	FIELD(struct wire_taint, effect, "effect", 3, FIELD_STRING),
};
static const struct schema taint_schema = SCHEMA("Taint", struct wire_taint, taint_fields);

static const struct field node_spec_fields[] = {
	FIELD(struct wire_node_spec, unschedulable, "unschedulable", 4, FIELD_BOOL),
	FIELD_SUB(struct wire_node_spec, taints, "taints", 5, FIELD_MESSAGES, &taint_schema),
};
static const struct schema node_spec_schema =
	SCHEMA("NodeSpec", struct wire_node_spec, node_spec_fields);

static const struct field node_fields[] = {
	FIELD_SUB(struct wire_node, meta, "metadata", 1, FIELD_MESSAGE,
		  &wire_described_meta_schema),
	FIELD_SUB(struct wire_node, spec, "spec", 2, FIELD_MESSAGE, &node_spec_schema),
	FIELD_SUB(struct wire_node, status, "status", 3, FIELD_MESSAGE, &node_status_schema),
};
const struct schema wire_node_schema = SCHEMA("Node", struct wire_node, node_fields);

static const struct field namespace_fields[] = {
	FIELD_SUB(struct wire_namespace, meta, "metadata", 1, FIELD_MESSAGE,
		  &wire_labelled_meta_schema),
	FIELD_SUB(struct wire_namespace, status, "status", 3, FIELD_MESSAGE, &phase_schema),
};
const struct schema wire_namespace_schema =
	SCHEMA("Namespace", struct wire_namespace, namespace_fields);

static const struct field namespace_outline[] = {
	FIELD_SUB(struct wire_namespace, meta, "metadata", 1, FIELD_MESSAGE,
		  &wire_marked_meta_schema),
	FIELD_SUB(struct wire_namespace, status, "status", 3, FIELD_MESSAGE, &phase_schema),
};
const struct schema wire_namespace_outline_schema =
	SCHEMA("Namespace", struct wire_namespace, namespace_outline);

/* --- ResourceQuota, LimitRange */

static const struct field scope_term_fields[] = {
	FIELD(struct wire_scope_term, scope, "scopeName", 1, FIELD_STRING),
};
static const struct schema scope_term_schema =
	SCHEMA("ScopedResourceSelectorRequirement", struct wire_scope_term, scope_term_fields);

static const struct field scope_selector_fields[] = {
	FIELD_SUB(struct wire_scope_selector, terms, "matchExpressions", 1, FIELD_MESSAGES,
		  &scope_term_schema),
};
static const struct schema scope_selector_schema =
	SCHEMA("ScopeSelector", struct wire_scope_selector, scope_selector_fields);

static const struct field resource_quota_spec_fields[] = {
	FIELD(struct wire_resource_quota_spec, hard, "hard", 1, FIELD_QUANTITIES),
	FIELD(struct wire_resource_quota_spec, scopes, "scopes", 2, FIELD_STRINGS),
	FIELD_SUB(struct wire_resource_quota_spec, scope_selector, "scopeSelector", 3,
		  FIELD_MESSAGE, &scope_selector_schema),
};
static const struct schema resource_quota_spec_schema =
	SCHEMA("ResourceQuotaSpec", struct wire_resource_quota_spec, resource_quota_spec_fields);

static const struct field resource_quota_status_fields[] = {
	FIELD(struct wire_resource_quota_status, hard, "hard", 1, FIELD_QUANTITIES),
};
static const struct schema resource_quota_status_schema = SCHEMA(
	"ResourceQuotaStatus", struct wire_resource_quota_status, resource_quota_status_fields);

static const struct field resource_quota_fields[] = {
	FIELD_SUB(struct wire_resource_quota, meta, "metadata", 1, FIELD_MESSAGE,
		  &wire_owned_meta_schema),
	FIELD_SUB(struct wire_resource_quota, spec, "spec", 2, FIELD_MESSAGE,
		  &resource_quota_spec_schema),
	FIELD_SUB(struct wire_resource_quota, status, "status", 3, FIELD_MESSAGE,
		  &resource_quota_status_schema),
};
const struct schema wire_resource_quota_schema =
	SCHEMA("ResourceQuota", struct wire_resource_quota, resource_quota_fields);

static const struct field limit_item_fields[] = {
	FIELD(struct wire_limit_item, type, "type", 1, FIELD_STRING),
	FIELD(struct wire_limit_item, max, "max", 2, FIELD_QUANTITIES),
	FIELD(struct wire_limit_item, min, "min", 3, FIELD_QUANTITIES),
	FIELD(struct wire_limit_item, defaults, "default", 4, FIELD_QUANTITIES),
	FIELD(struct wire_limit_item, default_requests, "defaultRequest", 5, FIELD_QUANTITIES),
	FIELD(struct wire_limit_item, ratio, "maxLimitRequestRatio", 6, FIELD_QUANTITIES),
};
static const struct schema limit_item_schema =
	SCHEMA("LimitRangeItem", struct wire_limit_item, limit_item_fields);

static const struct field limit_range_spec_fields[] = {
	FIELD_SUB(struct wire_limit_range_spec, limits, "limits", 1, FIELD_MESSAGES,
		  &limit_item_schema),
};
static const struct schema limit_range_spec_schema =
	SCHEMA("LimitRangeSpec", struct wire_limit_range_spec, limit_range_spec_fields);

static const struct field limit_range_fields[] = {
	FIELD_SUB(struct wire_limit_range, meta, "metadata", 1, FIELD_MESSAGE,
		  &wire_owned_meta_schema),
	FIELD_SUB(struct wire_limit_range, spec, "spec", 2, FIELD_MESSAGE,
		  &limit_range_spec_schema),
};
const struct schema wire_limit_range_schema =
	SCHEMA("LimitRange", struct wire_limit_range, limit_range_fields);

/* --- Lease */

static const struct field lease_spec_fields[] = {
	FIELD(struct wire_lease_spec, holder, "holderIdentity", 1, FIELD_STRING),
	FIELD(struct wire_lease_spec, duration_s, "leaseDurationSeconds", 2, FIELD_INT32),
	FIELD(struct wire_lease_spec, acquire_us, "acquireTime", 3, FIELD_TIME),
	FIELD(struct wire_lease_spec, renew_us, "renewTime", 4, FIELD_TIME),
	FIELD(struct wire_lease_spec, transitions, "leaseTransitions", 5, FIELD_INT32),
};
static const struct schema lease_spec_schema =
	SCHEMA("LeaseSpec", struct wire_lease_spec, lease_spec_fields);

static const struct field lease_fields[] = {
	FIELD_SUB(struct wire_lease, meta, "metadata", 1, FIELD_MESSAGE, &wire_lease_meta_schema),
	FIELD_SUB(struct wire_lease, spec, "spec", 2, FIELD_MESSAGE, &lease_spec_schema),
};
const struct schema wire_lease_schema = SCHEMA("Lease", struct wire_lease, lease_fields);
