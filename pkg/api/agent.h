/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_AGENT_H
#define GPUQOS_API_AGENT_H

#include "api/decode.h"
#include "api/wire.h"
#include "base/buf.h"
#include "model/layout.h"

/* What a node's agent reads and writes in Kubernetes. */
#define API_AGENT_MANAGER "gpuqos-agent" /* field manager, and the start of its Leases' names */
#define API_AGENT_NAME    "gpuqos-agent" /* label app.kubernetes.io/name of what is an agent's */
#define API_AGENT_LEASE   AGENT_LEASE_PREFIX

/* The agent's own Node; strings borrowed from the bytes or the arena. */
struct agent_node {
	struct str uid;
	struct str annotation; /* gpuqos.io/topology; empty: none */
	struct str address;    /* its InternalIP, the first one; empty: none */
	uint16_t kubelet_port; /* 0: not said */
};

/* Errors as api_decode(). Untouched on failure. */
int api_read_agent_node(struct api_bytes bytes, struct arena *arena, struct agent_node *ret_node,
			struct error *err);

/*
 * What kubelet answers at /configz: its KubeletConfiguration (kubelet.config.k8s.io/v1beta1) under
 * "kubeletconfig". A policy that we do not know is UNKNOWN. INVALID: no JSON, or no such
 * configuration in it.
 */
int api_read_configz(struct str text, struct arena *arena, struct layout_kubelet *ret_kubelet,
		     struct error *err);

/* For an apply: the annotation of the Node @name, which must still be the one of @uid. */
void api_body_annotation(struct buf *body, struct str name, struct str uid, struct str value);

struct body_agent_lease {
	struct str namespace, node, node_uid;
	int32_t duration_s;
	int64_t renew_us; /* real */
	int64_t seen_us;  /* real; 0: none; see struct agent_facts */
};

/*
 * The Lease by which an agent shows that it lives (coordination.k8s.io/v1), whole: for a create,
 * and for a merge patch that renews it and puts right what others changed. Its Node owns it.
 */
void api_body_agent_lease(struct buf *body, const struct body_agent_lease *lease);

/* An agent's Lease, read. Borrowed from @wire. A duration that cannot be one is the agent's own. */
void api_pack_agent(const struct wire_lease *wire, struct agent_facts *ret_facts);

#endif
