/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_TENANTS_TENANTS_H
#define GPUQOS_CLUSTER_TENANTS_TENANTS_H

#include "base/arena.h"
#include "cluster/cluster.h"
#include "cluster/tenants/objectives.h"
#include "quota/tenant.h"

/*
 * Tenants: reading them, as cluster/read.h reads namespaces and under the same rules, and keeping
 * what was decided for them. A handle stays as long as the TenantQoS, a namespace of it or a
 * binding named after it is known.
 */
uint32_t cluster_tenant_find(const struct cluster *cluster, struct str name); /* TABLE_NONE */
bool cluster_tenant_has(const struct cluster *cluster, uint32_t tenant);
struct str cluster_tenant_name(const struct cluster *cluster, uint32_t tenant);
uint32_t cluster_tenant_next(const struct cluster *cluster, uint32_t from); /* as table_next() */

/* The tenant that a namespace belongs to, or TABLE_NONE. Unknown namespaces belong to none. */
uint32_t cluster_tenant_of(const struct cluster *cluster, uint32_t namespace);

/* What the tenant of a namespace says of its pods' topology; TOPOLOGY_SPEC_DEFAULT without one. */
struct topology_spec cluster_topology_of(const struct cluster *cluster, uint32_t namespace);

/* In short, for those who show: takes a time that does not grow with the tenant. */
struct tenant_summary {
	struct str name, uid;
	bool exists; /* the TenantQoS was seen; false: only bindings named after it */
	enum tenant_tier tier;
	int64_t ceiling, ceiling_gpus; /* bytes, whole cards; AMOUNT_NONE */
	uint32_t n_namespaces;
	uint32_t n_elsewhere;    /* namespaces that it selects and an older one has */
	struct tenant_sums sums; /* as last decided; zeroed before */
	int64_t percent;         /* that is left of what its quotas allow; AMOUNT_NONE before */
	int64_t idle;            /* pods that are; 0 before */
};

void cluster_tenant_summary(const struct cluster *cluster, uint32_t tenant,
			    struct tenant_summary *ret_summary);

/* A namespace that stands for several in a message; empty names where there is none. */
struct tenant_example {
	size_t n;
	struct str namespace, tenant;
};

struct tenant_lookup {
	struct tenant_view view;    /* what tenant_decide() takes */
	const uint32_t *namespaces; /* handles, in the order of the members */
	bool exists;                /* as above; all else but the bindings is empty where not */
	struct tenant_facts facts;  /* the object as seen */
	struct tenant_example elsewhere; /* selected, and the older tenant that has it */
	/* Members, not in DryRun, whose ResourceQuota does not enforce yet what is to be: it is not
	 * there, its status does not show its spec, or the quota does not publish what was decided.
	 */
	struct tenant_example unenforced;
	/* Members that hold devices whose memory nothing tells: struct tenant_member says what
	 * they count as. */
	struct tenant_example unpriced;
	/* Cards that its pods were seen to have, against what is asked; a pod of one of its
	 * namespaces that does not lie as is required, empty for none. */
	struct topology_counts topology;
	struct str mismatch_namespace, mismatch_pod;
	/* In the order of the spec; none while that is not in force. */
	const struct cluster_objective *objectives;
	size_t n_objectives;
	struct str unmoved;                                         /* cluster_tell_unmoved() */
	struct str unhelped;                                        /* cluster_tell_unhelped() */
	struct str kept;                                            /* cluster_tell_kept() */
	const struct binding_facts *bindings[TENANT_BINDING_COUNT]; /* NULL: not there */
};

/* The object as seen, in @arena, with its receipts; texts are borrowed from the cluster. False
 * where it is not there, or the arena is full. */
bool cluster_tenant_facts(const struct cluster *cluster, uint32_t tenant, struct arena *arena,
			  struct tenant_facts *ret_facts);
/* Why a pod of it that does not lie as is required is not moved, a sentence, for its condition;
 * empty: none waits. True, and the tenant is marked, where that is news. */
bool cluster_tell_unmoved(struct cluster *cluster, uint32_t tenant, struct str why);
/* Likewise why nothing is done for one that waits too long, or whose objective is bad. */
bool cluster_tell_unhelped(struct cluster *cluster, uint32_t tenant, struct str why);
/* Likewise, why a pod that is proven to use too much is not evicted, a clause. */
bool cluster_tell_kept(struct cluster *cluster, uint32_t tenant, struct str why);

/* What its status.evictions says (model/receipt.h), in @arena; texts are borrowed from the cluster.
 * False when the arena is full. */
bool cluster_tenant_receipts(const struct cluster *cluster, uint32_t tenant, struct arena *arena,
			     const struct receipt **ret_receipts, size_t *ret_len);

/*
 * Brings the prices, and all sums that a tenant's view shows, up to date. Where prices did not
 * change, a look at each member and no more. Unknown tenants are ignored.
 */
void cluster_refresh_tenant(struct cluster *cluster, uint32_t tenant);

/*
 * -1 with LIMIT when the arena is full, with NOT_FOUND when there is no such tenant. A member
 * without a decision has what its quota's status says, where that names this tenant.
 */
int cluster_tenant_view(const struct cluster *cluster, uint32_t tenant, struct arena *arena,
			struct tenant_lookup *ret_lookup, struct error *err);

/* What was decided for a tenant (quota/tenant.h). Borrowed. */
struct tenant_decision {
	const uint32_t *namespaces;
	const struct tenant_grant *grants; /* in the same order */
	size_t n;
	const struct tenant_sums *sums;
	struct throttle throttle; /* what the grants' withheld is for */
};

/*
 * Keeps a decision, which the next one of the tenant builds on, and marks the namespaces whose
 * grant changed, or all of them where the throttle did. Namespaces that no longer belong to the
 * tenant are passed over.
 *
 * Who begins to lead forgets what it decided under an earlier lease: what another leader published
 * since then, the statuses, is newer. All tenants are then dirty.
 */
void cluster_grant(struct cluster *cluster, uint32_t tenant,
		   const struct tenant_decision *decision);
void cluster_forget_grants(struct cluster *cluster);

/*
 * Writes that raise what the namespace may hold: its ResourceQuota, and the status of its governing
 * quota, which says @effective bytes and cards. What they say counts as enforced from when they are
 * sent to when the watch shows them. After an answer that never came, or a write that was given up
 * before it was sent, what was noted counts on until a later one is answered; the view of the quota
 * says so, and it is written again.
 *
 * @kind, @name: of what was answered, CLUSTER_RESOURCE_QUOTAS or CLUSTER_QUOTAS; quotas that do not
 * govern say nothing that counts. @version: of the object that came of it, 0 when nothing was
 * written.
 */
void cluster_note_sent(struct cluster *cluster, uint32_t namespace,
		       const struct resource_amount *hard, size_t n_hard);
void cluster_note_publishing(struct cluster *cluster, uint32_t namespace, int64_t effective,
			     int64_t effective_gpus);
void cluster_note_answered(struct cluster *cluster, uint32_t namespace, enum cluster_kind kind,
			   struct str name, uint64_t version);

#endif
