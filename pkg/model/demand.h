/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_DEMAND_H
#define GPUQOS_MODEL_DEMAND_H

#include <stdint.h>

/*
 * What kube-scheduler counts of a node beside its GPUs (its plugin NodeResourcesFit), and what a
 * pod takes of it: what its containers request, the most that it has at a time
 * (k8s.io/component-helpers/resource, PodRequests), without what a resize in place has under way.
 */
enum demand_amount {
	DEMAND_CPU,     /* thousandths of one */
	DEMAND_MEMORY,  /* bytes */
	DEMAND_STORAGE, /* bytes of ephemeral storage */
	DEMAND_COUNT
};

/* More is kept as this much, so that the pods of a node can be added up. */
#define DEMAND_MOST (INT64_C(1) << 56)

struct demand {
	int64_t of[DEMAND_COUNT]; /* 0 to DEMAND_MOST */
};

/* DEMAND_MOST of each, more than there ever is: of a pod that cannot be read. */
struct demand demand_unknown(void);

/* Each amount by itself. */
void demand_add(struct demand *sum, const struct demand *more);
void demand_raise(struct demand *most, const struct demand *other);

#endif
