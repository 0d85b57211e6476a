/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_TERMS_H
#define GPUQOS_API_PACK_TERMS_H

#include "api/pack_common.h"
#include "api/source_table.h"
#include "api/wire.h"
#include "model/node.h"
#include "model/pod.h"

/*
 * What kube-scheduler compares of pods and nodes. All -1: the arena is full. Inside api only.
 */

/* Sets facts->repels. */
int pack_repels(const struct wire_pod_spec *spec, const struct pack *pack, struct pod_facts *facts);
/* Sets facts->terms. @beyond: enum terms_beyond, what the caller knows of. */
int pack_terms(const struct wire_pod_spec *spec, unsigned int beyond, const struct pack *pack,
	       struct pod_facts *facts);
/* Of a NodeSelector: those that match something. */
int pack_node_terms(const struct wire_list *wires, const struct pack *pack,
		    const struct node_term **ret_terms, size_t *ret_n);
/* How much they are, to be compared with LIMIT_TERMS. */
size_t pack_node_terms_size(const struct wire_list *wires);
/* Sets labels and taints. */
int pack_host_terms(const struct wire_node *wire, const struct pack *pack, struct host_facts *host);

#endif
