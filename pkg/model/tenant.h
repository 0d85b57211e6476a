/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_TENANT_H
#define GPUQOS_MODEL_TENANT_H

/* size: all that a TenantQoS says and is said of it, in one place. */

#include "base/arena.h"
#include "model/feedback.h"
#include "model/labels.h"
#include "model/objective.h"
#include "model/protection.h"
#include "model/quota.h"
#include "model/receipt.h"
#include "model/topology.h"

/* A TenantQoS in our units: several namespaces under one ceiling. All borrowed from its holder. */

/* name, text in spec.tier. In rising order: only lower tiers give way to higher ones. */
#define TENANT_TIERS(X)              \
	X(BEST_EFFORT, "BestEffort") \
	X(TRAINING, "Training")      \
	X(INFERENCE, "Inference")

enum tenant_tier {
#define X(name, text) TIER_##name,
	TENANT_TIERS(X)
#undef X
};

/* Kubernetes' own classes for a pod; BESTEFFORT cannot be asked for. */
enum pod_qos { POD_QOS_ANY, POD_QOS_GUARANTEED, POD_QOS_BURSTABLE };

struct tenant_spec {
	struct label_selector namespaces;
	enum tenant_tier tier;
	int64_t ceiling;      /* bytes, at least 1 GiB, or AMOUNT_NONE */
	int64_t ceiling_gpus; /* whole GPUs, or AMOUNT_NONE */
	enum pod_qos qos;
	bool qos_denies; /* else a pod of another class is admitted with a warning */
	const struct str *priority_classes; /* that its pods may name; none given: any */
	size_t n_priority_classes;
	struct topology_spec topology;
	struct protection_spec protection;
	struct preemptible_spec preemptible;
	const struct objective_spec *objectives; /* at most LIMIT_OBJECTIVES; each name once */
	size_t n_objectives;
	int64_t pending_us; /* a pod should be scheduled within, > 0, or AMOUNT_NONE */
	struct isolation_spec isolation;
	struct feedback_spec feedback;
};

/* Whether pods may be evicted so that one of this tenant's has room. */
bool tenant_makes_room(const struct tenant_spec *spec);

/* type, status.conditions[].type of a TenantQoS */
#define TENANT_CONDITIONS(X)            \
	X(READY, "Ready")               \
	X(ACCEPTED, "Accepted")         \
	X(EXCEEDED, "Exceeded")         \
	X(ABNORMAL, "Abnormal")         \
	X(THROTTLED, "Throttled")       \
	X(TOPOLOGY, "TopologyMismatch") \
	X(OBJECTIVES, "Objectives")     \
	X(UNPROTECTED, "Unprotected")   \
	X(IDLE, "IdleGPUs")

enum tenant_condition {
#define X(name, text) TENANT_##name,
	TENANT_CONDITIONS(X)
#undef X
		TENANT_CONDITION_COUNT
};

/* Borrowed, static. */
const char *tenant_tier_text(enum tenant_tier tier);
const char *tenant_condition_text(enum tenant_condition condition);

/*
 * A TenantQoS's status. `granted`, `used` and `lent` are sums over its namespaces; lent is what is
 * lent at this moment between them, so it is also what is borrowed. Conditions use the reasons of
 * model/quota.h.
 */
struct tenant_status {
	int64_t observed_generation;
	int64_t ceiling;                 /* bytes, or AMOUNT_NONE: absent */
	int64_t ceiling_gpus;            /* whole cards, or AMOUNT_NONE: absent */
	int64_t granted, used, lent;     /* bytes */
	int64_t granted_gpus, used_gpus; /* whole cards */
	int64_t n_namespaces;            /* all of them */
	const struct str *namespaces;    /* sorted; at most LIMIT_STATUS_NAMESPACES */
	size_t n_namespaces_listed;
	const struct objective_status *objectives; /* as in the spec */
	size_t n_objectives;
	struct condition conditions[TENANT_CONDITION_COUNT];
	/* status.evictions, which is written and read on its own: there whether or not the rest can
	 * be read. The oldest first. */
	const struct receipt *receipts;
	size_t n_receipts;
	struct throttle throttle; /* zeroed before the first */
	bool unshown;             /* as in struct quota_status */
};

/*
 * A ValidatingAdmissionPolicyBinding that ties a policy to a TenantQoS as its parameter: with one
 * per tenant, a pod's admission looks at its own tenant alone.
 */
struct policy_binding {
	struct str policy, param;         /* names of the policy and of the TenantQoS */
	bool denies;                      /* else it warns */
	struct label_selector namespaces; /* that it looks at; none: all */
	struct label_selector objects;    /* likewise */
};

bool policy_binding_equal(const struct policy_binding *a, const struct policy_binding *b);

/*
 * Those that we write, each named after its TenantQoS: name, what the binding's name begins with,
 * policy. The two longer beginnings come first where one is the other's.
 */
#define TENANT_BINDINGS(X)                                         \
	X(QOS, "gpuqos-tenant-qos-", "gpuqos-tenant-qos")          \
	X(LABELS, "gpuqos-tenant-labels-", "gpuqos-tenant-labels") \
	X(PODS, "gpuqos-tenant-", "gpuqos-tenant-pods")

enum tenant_binding {
#define X(name, prefix, policy) TENANT_BINDING_##name,
	TENANT_BINDINGS(X)
#undef X
		TENANT_BINDING_COUNT
};

/* Borrowed, static. */
const char *tenant_binding_prefix(enum tenant_binding binding);
const char *tenant_binding_policy(enum tenant_binding binding);
/* That of a tenant, in @arena; false when that is full. */
bool tenant_binding_name(enum tenant_binding binding, struct str tenant, struct arena *arena,
			 struct str *ret_name);

/* Which one a binding's name says, of which TenantQoS (a part of @name). False: none of ours. */
bool tenant_binding_of(struct str name, enum tenant_binding *ret_binding, struct str *ret_tenant);

struct binding_facts {
	struct str name, uid;
	uint64_t resource_version;
	struct str owner_uid; /* of the controlling owner reference */
	struct policy_binding spec;
	bool other; /* it is not as one of ours is written, apart from what spec says */
};

/* A TenantQoS as observed: transient, everything borrowed. */
struct tenant_facts {
	struct str name, uid;
	uint64_t resource_version; /* 0 when it is no number */
	int64_t created_us;        /* real; of two that select a namespace the oldest has it */
	int64_t generation;
	bool terminating;
	struct tenant_spec spec;
	const char *invalid; /* why the spec cannot be used, or NULL */
	bool has_status;     /* but for the receipts, which are there in any case */
	struct tenant_status status;
};

#endif
