/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_PODRESOURCES_H
#define GPUQOS_AGENT_PODRESOURCES_H

#include "agent/held.h"
#include "base/macros.h"
#include "loop/loop.h"

/*
 * Asks kubelet now and then which pod holds which device: List and GetAllocatableResources of
 * v1.PodResourcesLister, gRPC over HTTP/2 on a unix socket of the node. The socket is root's, and
 * has to be mounted into the agent's pod.
 */
#define PODRESOURCES_SOCKET "/var/lib/kubelet/pod-resources/kubelet.sock"

struct podresources;

struct podresources_options {
	const char *socket; /* borrowed for life */
	int64_t every_us;   /* after an answer; failures are repeated with backoff */
	uint64_t seed;
	/*
	 * What kubelet told, borrowed until the next such call; NULL with @err: it was not asked
	 * successfully, and what it told before still stands. NOT_FOUND and FORBIDDEN say what the
	 * agent's pod lacks.
	 */
	void (*on_answer)(void *context, const struct held *held, const struct error *err);
	void *context;
};

struct podresources *podresources_new(struct loop *loop,
				      const struct podresources_options *options);
void podresources_free(struct podresources *podresources);
void podresources_start(struct podresources *podresources); /* the first question, at once */

DEFINE_CLEANUP(struct podresources *, podresources_free)

#endif
