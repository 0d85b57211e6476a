/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_BIND_H
#define GPUQOS_QUOTA_BIND_H

#include "model/quota.h"

/*
 * The third gate: may this pod be bound to this node now? Pure. Asked for one pod at a time, it is
 * exact where the other two are not: devices are known, so nothing is priced at the dearest it
 * could be, and what counts is what is bound or assumed to be, never what is pending.
 * Nodes on which a pod is charged the same get the same answer, so messages name none.
 */

/* verdict, text for Events and metrics. In the order in which they are looked for. */
#define BIND_VERDICTS(X)                       \
	X(ALLOWED, "Allowed")                  \
	X(RECONFIGURING, "NodeReconfiguring")  \
	X(UNPRICED, "UnknownDeviceMemory")     \
	X(NO_QUOTA, "NoQuota")                 \
	X(HELD_UNPRICED, "UnknownMemoryHeld")  \
	X(POD_MEMORY, "PodMemory")             \
	X(POD_GPUS, "PodGPUs")                 \
	X(RESOURCE, "ResourceCap")             \
	X(PRODUCT_MEMORY, "ProductMemory")     \
	X(PRODUCT_GPUS, "ProductGPUs")         \
	X(NAMESPACE_MEMORY, "NamespaceMemory") \
	X(NAMESPACE_GPUS, "NamespaceGPUs")     \
	X(TENANT_MEMORY, "TenantMemory")       \
	X(TENANT_GPUS, "TenantGPUs")

enum bind_verdict {
#define X(name, text) BIND_##name,
	BIND_VERDICTS(X)
#undef X
};

/* Borrowed, static. */
const char *bind_verdict_text(enum bind_verdict verdict);

/* Units of one resource on one product. */
struct bind_row {
	struct str resource;
	struct str product; /* of the node that has them; empty: it does not say */
	int64_t units;
	int64_t bytes; /* or AMOUNT_UNKNOWN: nothing prices them */
	int64_t gpus;  /* whole cards among them */
};

/* What is bound or assumed to be, without this pod. */
struct bind_held {
	int64_t bytes, gpus;
};

struct bind_tenant {
	struct str name;               /* of the TenantQoS */
	int64_t ceiling, ceiling_gpus; /* bytes, whole cards; AMOUNT_NONE: unbounded */
	struct bind_held held;         /* in all of its namespaces */
};

/* All borrowed. */
struct bind_view {
	/* What the pod is charged on this node: rows of the same name and product may repeat. */
	const struct bind_row *asks;
	size_t n_asks;
	bool reconfiguring; /* the node's cards are being cut anew (model/node.h) */

	const struct quota_spec *spec; /* of the quota that governs; NULL: there is none */
	int64_t effective;             /* bytes that are allowed now */
	int64_t effective_gpus;        /* whole cards, or AMOUNT_NONE */
	const struct bind_row *held;   /* by its namespace, as above, in any order; while one is
					  without a price, nothing more is let in */
	size_t n_held;
	const struct bind_tenant *tenant; /* NULL: the namespace belongs to none */
};

struct bind_decision {
	enum bind_verdict verdict;
	/* False: the quota is in DryRun, so that the verdict is what would be, and the pod may be
	 * bound. A node that is no place for it now refuses all the same. */
	bool enforced;
	char message[QUOTA_MESSAGE_SIZE]; /* why not, a sentence with both numbers; else empty */
};

/*
 * A pod that asks for nothing is allowed, and so is one whose namespace has neither quota nor
 * tenant, where the node can take it. A namespace of a tenant without a quota is allowed nothing.
 */
void bind_decide(const struct bind_view *view, struct bind_decision *ret_decision);

#endif
