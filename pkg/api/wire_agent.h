/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_AGENT_H
#define GPUQOS_API_WIRE_AGENT_H

#include "api/wire_meta.h"

/* A Node as its own agent reads it, and kubelet's /configz. Transient; inside api only. */

struct wire_node_address {
	uint64_t present;
	struct str type, address;
};

struct wire_own_node {
	uint64_t present;
	struct wire_meta meta; /* with the annotation that is ours */
	struct wire_own_node_status {
		uint64_t present;
		struct wire_list addresses; /* struct wire_node_address */
		struct wire_daemon_endpoints {
			uint64_t present;
			struct wire_daemon_endpoint {
				uint64_t present;
				int32_t port;
			} kubelet;
		} endpoints;
	} status;
};

struct wire_configz {
	uint64_t present;
	struct wire_kubelet_config {
		uint64_t present;
		struct str topology_policy, topology_scope, cpu_policy;
	} kubelet;
};

#define WIRE_CONFIGZ_KUBELET 0

extern const struct schema wire_own_node_schema, wire_configz_schema;

#endif
