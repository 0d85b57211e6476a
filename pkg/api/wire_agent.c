/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables of what an agent reads; about tables see wire.c. */
#include "api/wire_agent.h"

#include "api/layout.h"
#include "base/macros.h"

static const struct str own_annotation[] = {
	{API_LAYOUT_ANNOTATION, sizeof(API_LAYOUT_ANNOTATION) - 1}};
static const struct field_keys own_annotations = {own_annotation, ARRAY_SIZE(own_annotation)};

static const struct field meta_fields[] = {
	FIELD(struct wire_meta, name, "name", 1, FIELD_STRING),
	FIELD(struct wire_meta, uid, "uid", 5, FIELD_STRING),
	FIELD_MAP_OF(struct wire_meta, annotations, "annotations", 12, &own_annotations),
};
static const struct schema meta_schema = SCHEMA("ObjectMeta", struct wire_meta, meta_fields);

static const struct field address_fields[] = {
	FIELD(struct wire_node_address, type, "type", 1, FIELD_STRING),
	FIELD(struct wire_node_address, address, "address", 2, FIELD_STRING),
};
static const struct schema address_schema =
	SCHEMA("NodeAddress", struct wire_node_address, address_fields);

static const struct field endpoint_fields[] = {
	FIELD(struct wire_daemon_endpoint, port, "Port", 1, FIELD_INT32),
};
static const struct schema endpoint_schema =
	SCHEMA("DaemonEndpoint", struct wire_daemon_endpoint, endpoint_fields);

static const struct field endpoints_fields[] = {
	FIELD_SUB(struct wire_daemon_endpoints, kubelet, "kubeletEndpoint", 1, FIELD_MESSAGE,
		  &endpoint_schema),
};
static const struct schema endpoints_schema =
	SCHEMA("NodeDaemonEndpoints", struct wire_daemon_endpoints, endpoints_fields);

static const struct field status_fields[] = {
	FIELD_SUB(struct wire_own_node_status, addresses, "addresses", 5, FIELD_MESSAGES,
		  &address_schema),
	FIELD_SUB(struct wire_own_node_status, endpoints, "daemonEndpoints", 6, FIELD_MESSAGE,
		  &endpoints_schema),
};
static const struct schema status_schema =
	SCHEMA("NodeStatus", struct wire_own_node_status, status_fields);

static const struct field node_fields[] = {
	FIELD_SUB(struct wire_own_node, meta, "metadata", 1, FIELD_MESSAGE, &meta_schema),
	FIELD_SUB(struct wire_own_node, status, "status", 3, FIELD_MESSAGE, &status_schema),
};
const struct schema wire_own_node_schema = SCHEMA("Node", struct wire_own_node, node_fields);

/* k8s.io/kubelet/config/v1beta1, of which there is JSON alone. */
static const struct field kubelet_fields[] = {
	FIELD(struct wire_kubelet_config, topology_policy, "topologyManagerPolicy", 0,
	      FIELD_STRING),
	FIELD(struct wire_kubelet_config, topology_scope, "topologyManagerScope", 0, FIELD_STRING),
	FIELD(struct wire_kubelet_config, cpu_policy, "cpuManagerPolicy", 0, FIELD_STRING),
};
static const struct schema kubelet_schema =
	SCHEMA("KubeletConfiguration", struct wire_kubelet_config, kubelet_fields);

static const struct field configz_fields[] = {
	FIELD_SUB(struct wire_configz, kubelet, "kubeletconfig", 0, FIELD_MESSAGE, &kubelet_schema),
};
const struct schema wire_configz_schema = SCHEMA("configz", struct wire_configz, configz_fields);
