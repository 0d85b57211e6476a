/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_KUBELET_H
#define GPUQOS_AGENT_KUBELET_H

#include <stdbool.h>

#include "base/error.h"
#include "kube/config.h"
#include "loop/loop.h"
#include "model/layout.h"

/*
 * What the node's kubelet says of itself at https://ADDRESS/configz: its topology and CPU manager.
 * It is asked with the credentials by which the agent is known to the API server, from which
 * kubelet finds out whether that one may get nodes/configz (Kubernetes 1.33 or newer: fine-grained
 * authorization, so that the right goes no further than this page). Over TLS, and never to a server
 * that cannot prove that it is the node's kubelet: the token would be its to use.
 *
 * While it does not answer, what it said last stands for five minutes: it starts no pods either.
 */
struct kubelet;

struct kubelet_options {
	const struct kube_config *config; /* of the API server: whose credentials; borrowed */
	const char *ca_file;     /* who signed kubelet's certificate; NULL: as the API server's */
	const char *server_name; /* that the certificate must have */
	int64_t every_us;
	uint64_t seed;
	/* What it says is another, or it was not asked successfully (@err), each time. */
	void (*on_answer)(void *context, const struct error *err);
	void *context;
};

struct kubelet *kubelet_new(struct loop *loop, const struct kubelet_options *options);
void kubelet_free(struct kubelet *kubelet);

/* "10.0.0.7:10250", copied. Asked from now on; the same again changes nothing. */
void kubelet_ask(struct kubelet *kubelet, const char *address);

/* As it stands; unknown policy, scope container, no static CPUs where nothing does. */
struct layout_kubelet kubelet_facts(const struct kubelet *kubelet);
/* Whether that is what kubelet said. */
bool kubelet_known(const struct kubelet *kubelet);

DEFINE_CLEANUP(struct kubelet *, kubelet_free)

#endif
