/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_TERMS_IO_H
#define GPUQOS_CLUSTER_TERMS_IO_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/port.h"
#include "model/terms.h"
#include "model/volume.h"

/*
 * What pods ask of nodes, and nodes of pods, as bytes to be kept. Read is only what was written;
 * false: the arena is full. What is read is borrowed from the bytes and the arena. Inside cluster
 * only.
 */

/* @labels are the pod's own; NULL: not known. */
struct kept_terms {
	struct pod_terms terms;
	const struct label *labels;
	size_t n_labels;
};

void terms_put(struct buf *buf, const struct kept_terms *kept);
bool terms_get(struct str bytes, struct arena *arena, struct kept_terms *ret_kept);

struct kept_repels {
	struct str namespace; /* of the pod that has them */
	const struct pod_repel *repels;
	size_t n;
};

void repels_put(struct buf *buf, const struct kept_repels *kept);
bool repels_get(struct str bytes, struct arena *arena, struct kept_repels *ret_kept);

/* One after the other, taken off @rest; false: that was all. They are borrowed from the bytes. */
void ports_put(struct buf *buf, const struct host_port *ports, size_t n);
bool ports_next(struct str *rest, struct host_port *ret_port);

/* Likewise, after the namespace of their pod, which is read first. */
void volumes_put(struct buf *buf, struct str namespace, const struct pod_volume *volumes, size_t n);
struct str volumes_namespace(struct str *rest);
bool volumes_next(struct str *rest, struct pod_volume *ret_volume);

void taints_put(struct buf *buf, const struct taint *taints, size_t n);
bool taints_get(struct str bytes, struct arena *arena, const struct taint **ret_taints,
		size_t *ret_n);

#endif
