/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_POD_H
#define GPUQOS_API_WIRE_POD_H

#include "api/wire_terms.h"

/* A pod as it comes, as api/wire.h says of all types; its tables are in wire.c. */

struct wire_resources {
	uint64_t present;
	struct wire_list limits, requests; /* struct wire_pair */
};

struct wire_port {
	uint64_t present;
	int32_t host; /* 0: none */
	struct str protocol, host_ip;
};

struct wire_container {
	uint64_t present;
	struct str name, restart_policy;
	struct wire_list ports; /* struct wire_port */
	struct wire_resources resources;
};

/* Of a claim by name, or by a template. */
struct wire_pod_claim {
	uint64_t present;
	struct str name, claim;
};

/* The claim that a template became; a claim that is absent was not needed. */
#define WIRE_POD_CLAIM_STATUS_CLAIM 1

struct wire_pod_claim_status {
	uint64_t present;
	struct str name, claim;
};

/* What keeps it from being scheduled. */
struct wire_pod_gate {
	uint64_t present;
	struct str name;
};

struct wire_pod_spec {
	uint64_t present;
	int64_t grace_s;
	struct str node_name;
	struct wire_list node_selector;               /* struct wire_pair */
	struct wire_list init_containers, containers; /* struct wire_container */
	struct wire_list overhead;                    /* struct wire_pair */
	struct wire_resources resources;              /* of the pod as a whole */
	struct wire_list claims;                      /* struct wire_pod_claim */
	struct wire_list volumes;                     /* struct wire_volume */
	struct wire_affinity affinity;
	struct wire_list tolerations; /* struct wire_toleration */
	struct wire_list spreads;     /* struct wire_spread */
	struct wire_list gates;       /* struct wire_pod_gate */
};

#define WIRE_POD_GRACE 2

struct wire_phase {
	uint64_t present;
	struct str phase;
};

struct wire_resource_health {
	uint64_t present;
	struct str id;
};

struct wire_resource_status {
	uint64_t present;
	struct str name;
	struct wire_list resources; /* struct wire_resource_health */
};

struct wire_waiting {
	uint64_t present;
	struct str reason;
};

struct wire_terminated {
	uint64_t present;
	int32_t exit_code;
	int64_t finished_us;
};

struct wire_container_state {
	uint64_t present;
	struct wire_waiting waiting;
	struct wire_terminated terminated;
};

#define WIRE_STATE_TERMINATED 1

struct wire_container_status {
	uint64_t present;
	struct wire_container_state state, last_state;
	int32_t restarts;
	struct wire_list allocated; /* struct wire_resource_status */
};

struct wire_pod_status {
	uint64_t present;
	struct str phase, qos_class;
	int64_t start_us;
	struct wire_list containers, init_containers; /* struct wire_container_status */
	struct wire_list claims;                      /* struct wire_pod_claim_status */
	struct wire_extended_claim {
		uint64_t present;
		struct str name;
	} extended_claim;
};

#define WIRE_POD_START 1

struct wire_pod {
	uint64_t present;
	struct wire_meta meta; /* with labels, annotations and owners */
	struct wire_pod_spec spec;
	struct wire_pod_status status;
};

#endif
