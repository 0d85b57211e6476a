/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_LEASE_H
#define GPUQOS_AGENT_LEASE_H

#include "base/log.h"
#include "kube/client.h"

/*
 * The Lease gpuqos-agent-NODE by which the agent shows that what it published holds: 40 s long,
 * renewed every 10 s, owned by the Node and so collected with it. Nobody competes for it. It is
 * left to run out when the agent ends, so that one that is replaced is not missed. It also says
 * since when the GpuNode is known to be still true.
 */
struct agent_lease;

#define AGENT_LEASE_SECONDS  40
#define AGENT_LEASE_RENEW_US (10 * USEC_PER_SEC)

struct agent_lease_options {
	struct str namespace, node; /* borrowed for life */
	/* Asked before each renewal: does what is published still hold? */
	bool (*may_renew)(void *context);
	/* And then: when was who uses the cards last found as it is published? Real; 0: unknown. */
	int64_t (*usage_seen)(void *context);
	void *context;
	struct log *log;
	uint64_t seed; /* spreads renewals */
};

/* @client is borrowed for life. */
struct agent_lease *agent_lease_new(struct kube_client *client,
				    const struct agent_lease_options *options);
void agent_lease_free(struct agent_lease *lease);

/* The Node that owns it is this one: written from now on. Empty: there is none, and nothing is. */
void agent_lease_own(struct agent_lease *lease, struct str node_uid);
/* A renewal was answered less than the Lease's duration ago. */
bool agent_lease_holds(const struct agent_lease *lease);

DEFINE_CLEANUP(struct agent_lease *, agent_lease_free)

#endif
