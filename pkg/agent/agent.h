/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_AGENT_H
#define GPUQOS_AGENT_AGENT_H

#include "agent/sources.h"
#include "base/log.h"
#include "base/metrics.h"
#include "kube/client.h"

/*
 * A node's agent: looks at the machine (agent/survey.h), asks kubelet (agent/kubelet.h), keeps the
 * annotation gpuqos.io/topology of its Node as these two say (agent/publish.h), and renews a Lease
 * (agent/lease.h) while what is published holds. Beside it agent/devices.h keeps its GpuNode. It
 * reads its own Node by name, from time to time, and lists and watches nothing.
 */
struct agent;

struct agent_options {
	struct str node;      /* the Node's name */
	struct str namespace; /* of the Lease */
	const char *writer;   /* "gpuqos-agent/0.2.0" */
	struct sources_options sources;
	const char *kubelet_address; /* "host:port"; NULL: as the Node says; "0": not asked */
	const char *kubelet_ca_file, *kubelet_server_name; /* NULL: see agent/kubelet.h; the node's
							      name */
	const char *pod_resources; /* kubelet's socket; NULL: as kubelet has it; "0": not asked */
	int64_t resync_us;         /* between looks at the machine, at the Node and at kubelet */
	int64_t spread_us;         /* see agent/publish.h */
	struct log *log;
	struct metrics *metrics;
	uint64_t seed;
};

/* @client, and all that @options point to, are borrowed for life. INVALID: no node can have that
 * name. */
int agent_new(struct kube_client *client, const struct agent_options *options,
	      struct agent **ret_agent, struct error *err);
void agent_free(struct agent *agent);
void agent_start(struct agent *agent);

/* Both fill the page of it: the agent is not stuck in reading the machine; its layout is published
 * and its Lease holds. */
bool agent_healthy(const struct agent *agent, struct buf *text);
bool agent_ready(const struct agent *agent, struct buf *text);

DEFINE_CLEANUP(struct agent *, agent_free)

#endif
