/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_DEMAND_H
#define GPUQOS_MODEL_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/terms.h"

/*
 * What kube-scheduler counts of a node beside its GPUs (its plugin NodeResourcesFit), and what a
 * pod takes of it: what its containers request, the most that it has at a time
 * (k8s.io/component-helpers/resource, PodRequests), without what a resize in place has under way.
 *
 * amount, noun
 */
#define DEMAND_AMOUNTS(X)                                        \
	X(CPU, "CPU")                   /* thousandths of one */ \
	X(MEMORY, "memory")             /* bytes */              \
	X(STORAGE, "ephemeral storage") /* bytes */

enum demand_amount {
#define X(name, noun) DEMAND_##name,
	DEMAND_AMOUNTS(X)
#undef X
		DEMAND_COUNT
};

/* Borrowed, static. */
const char *demand_noun(enum demand_amount amount);

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

/* What kube-scheduler itself reads of a node. */
struct host_facts {
	struct demand allocatable;
	int64_t pods;  /* that kubelet takes, in all */
	bool cordoned; /* spec.unschedulable */
	const struct label *labels;
	size_t n_labels;
	const struct taint *taints; /* those that keep pods away */
	size_t n_taints;
};

#endif
