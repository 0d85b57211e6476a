/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_DEVICES_H
#define GPUQOS_AGENT_DEVICES_H

#include "agent/sources.h"
#include "base/log.h"
#include "base/metrics.h"
#include "kube/client.h"

/*
 * Keeps the node's GpuNode as kubelet's PodResources API tells: asks on the socket
 * (agent/podresources.h), makes the object (agent/gpunode.h), and applies it where it is another
 * than was applied last, at most every 10 s, and now and then all the same, since others may have
 * changed it. While kubelet does not answer what it told last stands.
 */
struct devices;

struct devices_options {
	struct str node;
	const char *writer;
	const char *socket;
	int64_t every_us;  /* between questions */
	int64_t spread_us; /* see agent/publish.h: before the first write */
	struct log *log;
	struct metrics *metrics;
	uint64_t seed;
};

/* All that @options point to is borrowed for life. */
struct devices *devices_new(struct kube_client *client, const struct devices_options *options);
void devices_free(struct devices *devices);
void devices_start(struct devices *devices);

/* The machine as it was just seen; borrowed until the next call. */
void devices_see(struct devices *devices, const struct sources_view *view);
/* The Node whose it is; empty: there is none, and nothing is written. */
void devices_own(struct devices *devices, struct str node_uid);

/* Real: the last look that found all as it had been applied; 0: there was none since the start. */
int64_t devices_seen_us(const struct devices *devices);

DEFINE_CLEANUP(struct devices *, devices_free)

#endif
