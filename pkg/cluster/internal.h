/* SPDX-License-Identifier: Apache-2.0 */
/* size: what the files of this package share is declared in one place, a section for each. */
#ifndef GPUQOS_CLUSTER_INTERNAL_H
#define GPUQOS_CLUSTER_INTERNAL_H

#include "base/clock.h"
#include "cluster/hosts/terms.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/records.h"
#include "quota/price.h"

/* What the files of this package share. Handles are of records in use unless said otherwise. */

/* Look-ups give MAP_NONE for TABLE_NONE. */
_Static_assert(TABLE_NONE == MAP_NONE, "no record is one number");

static inline struct pod_record *pod_at(const struct cluster *cluster, uint32_t pod)
{
	return (struct pod_record *)table_at(&cluster->pods, pod);
}

static inline struct node_record *node_at(const struct cluster *cluster, uint32_t node)
{
	return (struct node_record *)table_at(&cluster->nodes, node);
}

static inline struct namespace_record *namespace_at(const struct cluster *cluster,
						    uint32_t namespace)
{
	return (struct namespace_record *)table_at(&cluster->namespaces, namespace);
}

static inline struct quota_record *quota_at(const struct cluster *cluster, uint32_t quota)
{
	return (struct quota_record *)table_at(&cluster->quotas, quota);
}

static inline struct owned_record *owned_at(const struct cluster *cluster, int which,
					    uint32_t owned)
{
	return (struct owned_record *)table_at(&cluster->owned[which], owned);
}

static inline struct tenant_record *tenant_at(const struct cluster *cluster, uint32_t tenant)
{
	return (struct tenant_record *)table_at(&cluster->tenants, tenant);
}

static inline struct selection_cell *selection_at(const struct cluster *cluster, uint32_t selection)
{
	return (struct selection_cell *)table_at(&cluster->selections, selection);
}

static inline struct binding_record *binding_at(const struct cluster *cluster, uint32_t binding)
{
	return (struct binding_record *)table_at(&cluster->bindings, binding);
}

static inline struct eviction_record *eviction_at(const struct cluster *cluster, uint32_t eviction)
{
	return (struct eviction_record *)table_at(&cluster->evictions, eviction);
}

static inline struct exit_record *exit_at(const struct cluster *cluster, uint32_t exit)
{
	return (struct exit_record *)table_at(&cluster->exits, exit);
}

static inline struct exit_record *exit_of(const struct cluster *cluster, uint32_t pod)
{
	return exit_at(cluster, pod_at(cluster, pod)->exit);
}

static inline struct demand_record *demand_at(const struct cluster *cluster, uint32_t demand)
{
	return (struct demand_record *)table_at(&cluster->demands, demand);
}

static inline struct gang_record *gang_at(const struct cluster *cluster, uint32_t gang)
{
	return (struct gang_record *)table_at(&cluster->gangs, gang);
}

static inline struct job_record *job_at(const struct cluster *cluster, uint32_t job)
{
	return (struct job_record *)table_at(&cluster->jobs, job);
}

static inline struct budget_record *budget_at(const struct cluster *cluster, uint32_t budget)
{
	return (struct budget_record *)table_at(&cluster->budgets, budget);
}

static inline struct use_record *use_at(const struct cluster *cluster, uint32_t use)
{
	return (struct use_record *)table_at(&cluster->uses, use);
}

static inline struct offer_cell *offer_at(const struct cluster *cluster, uint32_t offer)
{
	return (struct offer_cell *)table_at(&cluster->offers, offer);
}

static inline struct offer_kind *kind_at(const struct cluster *cluster, uint32_t kind)
{
	return (struct offer_kind *)table_at(&cluster->kinds, kind);
}

static inline struct layout_record *layout_at(const struct cluster *cluster, uint32_t layout)
{
	return (struct layout_record *)table_at(&cluster->layouts, layout);
}

static inline struct agent_record *agent_at(const struct cluster *cluster, uint32_t agent)
{
	return (struct agent_record *)table_at(&cluster->agents, agent);
}

static inline struct gpu_node_record *gpu_node_at(const struct cluster *cluster, uint32_t gpu_node)
{
	return (struct gpu_node_record *)table_at(&cluster->gpu_nodes, gpu_node);
}

static inline struct assumption_record *assumption_at(const struct cluster *cluster,
						      uint32_t assumption)
{
	return (struct assumption_record *)table_at(&cluster->assumptions, assumption);
}

static inline struct hold_record *hold_at(const struct cluster *cluster, uint32_t hold)
{
	return (struct hold_record *)table_at(&cluster->holds, hold);
}

static inline int64_t sum_clamp(wide_sum sum)
{
	return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

/* --- cluster.c: what all kinds share */

/* Counts the object as unreadable. Returns -1. */
int refuse(struct cluster *cluster, enum cluster_kind kind, struct str namespace, struct str name,
	   struct error *err);
/* LIMIT when a name cannot be one. @namespace is not looked at where it has no data. */
int check_names(struct str namespace, struct str name, struct error *err);
/* Whether what is observed under @resource_version is older than @seen. */
bool is_older(uint64_t resource_version, uint64_t seen);

/* The namespace alone, not its tenant: what changed is nothing that the tenant's decision reads. */
void mark_namespace(struct cluster *cluster, uint32_t namespace);

/* --- names.c: of kinds that have an index of names */

uint32_t name_find(const struct cluster *cluster, enum cluster_kind kind, struct str name);
void name_insert(struct cluster *cluster, enum cluster_kind kind, uint32_t handle);
void name_remove(struct cluster *cluster, enum cluster_kind kind, uint32_t handle);

/* --- ledger/namespaces.c */

uint32_t namespace_get(struct cluster *cluster, struct str name); /* makes one where needed */
uint32_t namespace_find(const struct cluster *cluster, struct str name);
void namespace_release(struct cluster *cluster, uint32_t namespace); /* when nothing is in it */
void namespace_gone(struct cluster *cluster, uint32_t namespace);    /* the object is */

/* --- ledger/pods.c */

/* By the handles of its namespace and name. */
uint32_t pod_of(const struct cluster *cluster, uint32_t namespace, uint32_t name);
uint32_t pod_find(const struct cluster *cluster, struct str namespace, struct str name);
void pod_remove(struct cluster *cluster, uint32_t pod);
void pod_link_to_node(struct cluster *cluster, uint32_t pod, uint32_t node);
void pod_unlink_from_node(struct cluster *cluster, uint32_t pod);
uint32_t pod_most_devices(const struct pod_facts *facts);

/* --- leaving/exits.c */

/* Of a pod's record that is new, that was brought up to date by @facts, and that goes. */
uint32_t exit_add(struct cluster *cluster);
void exit_follow(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts, bool other);
void exit_remove(struct cluster *cluster, uint32_t pod);

/* --- hosts/demands.c */

void demands_init(struct cluster *cluster);
void demands_clear(struct cluster *cluster);
size_t demands_bytes(const struct cluster *cluster);
uint32_t demand_ref_handle(struct cluster *cluster, uint32_t demand);
void demand_unref(struct cluster *cluster, uint32_t demand); /* TABLE_NONE is ignored */
/* Of HOST_AMOUNTS; of TABLE_NONE it is one pod. */
int64_t demand_amount_of(const struct cluster *cluster, uint32_t demand, size_t amount);
/* Out of the sums of its node, where it is in them, and into them, where it counts there. */
void demand_take(struct cluster *cluster, uint32_t pod);
void demand_give(struct cluster *cluster, uint32_t pod);
/* Of a pod's record that was brought up to date by @facts. */
void demand_follow(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts,
		   bool other);
/* Of one that goes, and is in no sums. */
void demand_forget(struct cluster *cluster, struct exit_record *exit);

/* --- hosts/bystanders.c: pods without GPUs, as they are seen, and as they go */

void bystander_follow(struct cluster *cluster, const struct pod_facts *facts);
void bystander_remove(struct cluster *cluster, struct str namespace, struct str name);
void bystanders_end_replace(struct cluster *cluster);

/* --- hosts/hosts.c */

/* What a node says of itself; NULL: nothing any more. */
void host_follow(struct cluster *cluster, uint32_t node, const struct host_facts *facts);
void hosts_clear(struct cluster *cluster); /* all of cluster/hosts, before the nodes go */

/* --- hosts/occupants.c */

/* In texts; TABLE_NONE of TABLE_NONE. */
uint32_t occupant_ports(const struct cluster *cluster, uint32_t occupant);

/* --- hosts/terms.c */

/* Of host_follow(): labels and taints. */
void host_terms_follow(struct cluster *cluster, uint32_t node, const struct host_facts *facts);
/* What a pod asks for. */
void terms_follow(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts, bool other);
/* Whom it keeps away, in texts, with a reference. */
uint32_t repels_ref(struct cluster *cluster, const struct pod_facts *facts);

/* --- leaving/gangs.c */

/* Puts a pod that is not finished into the gang that it names, and takes it out of its last one. */
void gang_follow(struct cluster *cluster, uint32_t pod, enum gang_kind kind, struct str name);
void gang_leave(struct cluster *cluster, uint32_t pod);
/* Its times anew, after one of its pods changed; TABLE_NONE is ignored. */
void gang_settle(struct cluster *cluster, uint32_t gang);

/* --- leaving/jobs.c */

uint32_t job_find(const struct cluster *cluster, struct str namespace, struct str name);
void job_remove(struct cluster *cluster, uint32_t job);
bool job_is_final(const struct cluster *cluster, const struct pod_record *pod);

/* --- leaving/budgets.c */

uint32_t budget_find(const struct cluster *cluster, struct str namespace, struct str name);
void budget_remove(struct cluster *cluster, uint32_t budget);
/* Of a pod that was read: which select it; and of one that goes. */
void budget_follow(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts);
void budget_forget(struct cluster *cluster, struct exit_record *exit);
void budget_keys_forget(struct cluster *cluster, struct namespace_record *record);
/* Around a full state of all pods. */
void budgets_begin_reading(struct cluster *cluster);
void budgets_abort_reading(struct cluster *cluster);

/* --- volumes/storage.c */

void storage_init(struct cluster *cluster);
void storage_clear(struct cluster *cluster);
uint32_t volume_claim_find(const struct cluster *cluster, struct str namespace, struct str name);
void volume_claim_remove(struct cluster *cluster, uint32_t claim);
void volume_remove(struct cluster *cluster, uint32_t volume);
void storage_class_remove(struct cluster *cluster, uint32_t class);
void csi_node_remove(struct cluster *cluster, uint32_t csi_node);
void csi_driver_remove(struct cluster *cluster, uint32_t driver);
void storage_stats(const struct cluster *cluster, struct cluster_stats *stats);

/* --- volumes/judge.c */

/* Sets what the pod's volumes say of nodes; false: the arena is full. */
bool volumes_learn(const struct cluster *cluster, uint32_t pod, struct cluster_terms *terms);
enum terms_verdict volumes_on(const struct cluster *cluster, const struct cluster_terms *terms,
			      const struct node_record *node);

/* --- nodes/nodes.c */

uint32_t node_get(struct cluster *cluster, struct str name); /* makes a placeholder where needed */
uint32_t node_find(const struct cluster *cluster, struct str name);
void node_release(struct cluster *cluster, uint32_t node); /* when nothing is known of it */
void node_gone(struct cluster *cluster, uint32_t node);

/* --- nodes/published.c */

/* @kind: CLUSTER_PUBLISHED or CLUSTER_ZONES. */
uint32_t published_find(const struct cluster *cluster, enum cluster_kind kind, struct str name);
/* What counts of the node of this name; NULL: nothing. Good until one comes or goes. */
const struct node_layout *published_layout(const struct cluster *cluster, struct str name);
void published_remove(struct cluster *cluster, enum cluster_kind kind, uint32_t published);
size_t published_bytes(const struct cluster *cluster, enum cluster_kind kind);

/* --- nodes/layouts.c */

/* Follows what a node says of its layout. */
void layout_follow(struct cluster *cluster, uint32_t node, const struct node_facts *facts);
void layout_forget(struct cluster *cluster, uint32_t node);
/* Takes what counts of what the Node and published.c tell, after either changed. */
void layout_choose(struct cluster *cluster, uint32_t node);
/* Of nobody yet; NODE_LAYOUT_NONE of NULL. */
struct node_layout node_layout_of(struct cluster *cluster, const struct layout *layout);
void node_layout_unref(struct cluster *cluster, const struct node_layout *layout);
/* What is known of the layout, by all that tells, after any of it changed. */
void layout_settle(struct cluster *cluster, uint32_t node);
void layouts_clear(struct cluster *cluster);

/* The devices that a pod is seen to hold, interned, with a reference. */
uint32_t devices_ref(struct cluster *cluster, const struct str *ids, size_t n);
/* Ids and PCI addresses are kept by this. */
uint64_t device_id(const struct cluster *cluster, struct str id);

/* --- nodes/rooms.c */

/* Works out anew what is held of a node; TABLE_NONE is ignored. */
void room_refresh(struct cluster *cluster, uint32_t node);
/* Of a pod that has just come to its node. */
void room_add(struct cluster *cluster, uint32_t pod);

/* Whole cards that device plugins give a pod on that node, as its requests have them. */
int64_t pod_whole(const struct cluster *cluster, uint32_t node, const struct pod_record *pod);
/* Nothing is held, before the first pod; and what follows from all, after the last. */
void room_clear_cards(struct node_record *node);
void room_settle_cards(struct node_record *node);
/* Adds what a pod on it holds of the node's cards and CPUs. */
void room_hold_cards(const struct cluster *cluster, struct node_record *node,
		     const struct pod_record *pod);
/* The cards of its node that a pod's devices are, and how many are none of them. */
uint64_t pod_cards(const struct cluster *cluster, const struct node_record *node,
		   const struct pod_record *pod, uint32_t *ret_others);
/* Whole cards that a node offers, of all makers. */
int64_t room_cards(const struct cluster *cluster, const struct node_record *node);

/* --- ledger/wants.c */

void wants_init(struct cluster *cluster);
/* One more pod asks so, or one less. Before the references to both go. */
void want_add(struct cluster *cluster, uint32_t vector, uint32_t product);
void want_remove(struct cluster *cluster, uint32_t vector, uint32_t product);

/* --- placing/stamps.c: struct node_stamp and cluster_resources_changed() */

/* Something that placement reads of the node. */
void room_changed(struct cluster *cluster, uint32_t node);
/* The handle is a node's from now on, or no more. */
void room_born(struct cluster *cluster, uint32_t node);
void room_died(struct cluster *cluster, uint32_t node);
/* Kinds of offers, prices, classes or devices of slices. */
void resources_changed(struct cluster *cluster);

/* --- nodes/agents.c */

uint32_t agent_find(const struct cluster *cluster, struct str lease);
bool agent_lives_on(const struct cluster *cluster, struct str node);
/* Monotonic: when it said last that its GpuNode is still true; 0: never. */
int64_t agent_told_us(const struct cluster *cluster, struct str node);
void agent_remove(struct cluster *cluster, uint32_t agent);

/* --- nodes/gpunodes.c */

uint32_t gpu_node_find(const struct cluster *cluster, struct str name);
void gpu_node_remove(struct cluster *cluster, uint32_t gpu_node);
void gpu_nodes_clear(struct cluster *cluster);
size_t gpu_nodes_bytes(const struct cluster *cluster);

/* --- nodes/series.c */

void series_clear(struct cluster *cluster);
size_t series_bytes(const struct cluster *cluster);

/* --- placing/checks.c */

/* Of a pod that goes, is another by now, or is elsewhere. */
void check_forget(struct cluster *cluster, uint32_t pod);
/* What is asked of the namespace's pods changed. */
void checks_outdate(struct cluster *cluster, uint32_t namespace);

/* --- dirty.c: nodes to be looked at, as namespaces and tenants are */

void mark_node(struct cluster *cluster, uint32_t node);

/* --- placing/assume.c */

/* Of a pod that is seen where it is, or is over. */
void assumption_end(struct cluster *cluster, struct pod_record *pod);

/* --- placing/reserve.c */

/* Of a pod that is another, or elsewhere, or over: what is held for it counts, or ends. */
void holds_follow(struct cluster *cluster, uint32_t pod);
/* Of one that goes, or is another from now on. */
void holds_forget_pod(struct cluster *cluster, uint32_t pod);
/* What a tenant's receipts say; it has none any more where @facts is NULL. */
void holds_follow_tenant(struct cluster *cluster, uint32_t tenant,
			 const struct tenant_facts *facts);
/* What is held of a node against the pod of an ask: its offer's units, and cards. */
int64_t holds_units(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		    uint32_t offer);
uint64_t holds_cards(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node);
/* Likewise, of cluster/hosts/hosts.h. */
int64_t holds_amount(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		     size_t amount);
/* The first from @hold on, in the chain of its node, that is against the ask and not an
 * objective's; TABLE_NONE. */
uint32_t holds_next(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t hold);
/* Whole cards that one holds, of all makers. */
int64_t hold_whole(const struct cluster *cluster, uint32_t hold);

/* --- nodes/disagree.c */

/*
 * A sentence about devices that the namespace's pods hold and of which two sources tell different
 * memory, by the first such node; empty for none. In @arena, false when that is full.
 */
bool view_disagreement(const struct cluster *cluster, uint32_t namespace, struct arena *arena,
		       struct str *ret_sentence);

/* --- ledger/prices.c */

/* The kind of an offer, counted for one more node. LIMIT: too many resource names. */
int kind_ref(struct cluster *cluster, const struct device_offer *offer, uint32_t *ret_kind,
	     struct error *err);
void kind_unref(struct cluster *cluster, uint32_t kind);
/* Makes the price list anew where kinds changed; new prices mark namespaces dirty. */
void prices_refresh(struct cluster *cluster);
struct price_list prices_of(const struct cluster *cluster);
void prices_clear(struct cluster *cluster);
/* The same, unless more of what prices follow from is on its way. */
void prices_settle(struct cluster *cluster);
/* What entries cost is to be read anew, whether or not the list changes. */
void prices_outdate(struct cluster *cluster);
/* Marks the namespaces that have anything to do with GPUs. */
void mark_concerned(struct cluster *cluster);

/* --- ledger/ledger.c */

/* Takes an entry out of, and puts it into, the sums of its namespace, where these are current. */
void ledger_remove(struct cluster *cluster, uint32_t pod);
void ledger_add(struct cluster *cluster, uint32_t pod);
/* Adds a namespace up anew where prices have changed since. */
void ledger_refresh(struct cluster *cluster, uint32_t namespace);
void ledger_forget(struct cluster *cluster, struct namespace_record *namespace);

/* --- ledger/quotas.c, ledger/owned.c */

uint32_t quota_find(const struct cluster *cluster, struct str namespace, struct str name);
void quota_remove(struct cluster *cluster, uint32_t quota);
uint32_t owned_find(const struct cluster *cluster, int which, struct str namespace,
		    struct str name);
void owned_remove(struct cluster *cluster, int which, uint32_t owned);

/* The oldest that is not being deleted, or TABLE_NONE. */
uint32_t quota_governing(const struct cluster *cluster, uint32_t namespace);
/* Brings up to date what a ResourceQuota's amounts stand for. */
void owned_reprice(struct cluster *cluster, uint32_t namespace);

/* --- tenants/tenants.c */

uint32_t tenant_find(const struct cluster *cluster, struct str name);
void tenant_gone(struct cluster *cluster, uint32_t tenant);
void tenant_release(struct cluster *cluster, uint32_t tenant); /* when nothing is known of it */
uint32_t binding_find(const struct cluster *cluster, struct str name);
void binding_remove(struct cluster *cluster, uint32_t binding);
/* A grant is for one quota: another that governs has been granted nothing yet. */
void grant_follow(struct cluster *cluster, uint32_t namespace);

/* --- tenants/tenant_view.c */

/* What its tenant decided for a namespace; before that, what the status of its quota says. */
struct tenant_grant grant_of(const struct cluster *cluster, uint32_t namespace);

/* --- tenants/refusals.c */

size_t refusals_bytes(const struct cluster *cluster);

/* --- tenants/objectives.c */

/* Those of a spec that is in force; NULL for none, as before a tenant's end. */
void objectives_set(struct cluster *cluster, uint32_t tenant, const struct tenant_spec *spec);

/* --- tenants/membership.c */

/* Gives every namespace to its tenant, where selectors changed. */
void membership_refresh(struct cluster *cluster);
/* Gives one whose labels changed to its tenant. */
void membership_resolve(struct cluster *cluster, uint32_t namespace);
/* Takes all namespaces from a tenant. */
void membership_end(struct cluster *cluster, uint32_t tenant);

/* --- ledger/release.c, ledger/holders.c */

/* Marks a pod's namespace where the pod may come to be released, or be charged again. */
void release_concerns(struct cluster *cluster, const struct pod_record *pod);
/* Of a pod that is seen to go, or is another; sets it to TABLE_NONE. */
void eviction_forget(struct cluster *cluster, uint32_t *eviction);

/* What is kept of a moment in real time. */
static inline uint32_t real_seconds(int64_t us)
{
	int64_t s = us / USEC_PER_SEC;

	return s < 0 ? 0 : (uint32_t)MIN(s, (int64_t)UINT32_MAX);
}

static inline bool pod_finished(const struct pod_record *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

/* --- sent.c, ledger/owned.c */

/* Forgets of the namespace's writes what a watch has shown by now. */
void sent_settle(struct cluster *cluster, uint32_t namespace);
/* A quota of it is gone, and with it what was published there. */
void sent_quota_gone(struct cluster *cluster, uint32_t namespace);
/* Raises @enforced to what @amounts stand for by the price list, where that is more. */
void enforced_raise(const struct cluster *cluster, const struct resource_amount *amounts, size_t n,
		    struct enforced *enforced);
/* sent.c: the most that the API server may let a namespace have now: by its ResourceQuota, by what
 * the status of its governing quota says, and by what was written and is not seen yet. */
struct enforced enforced_of(const struct cluster *cluster, uint32_t namespace);

static inline void enforced_join(struct enforced *most, const struct enforced *other)
{
	most->bytes = MAX(most->bytes, other->bytes);
	most->gpus = MAX(most->gpus, other->gpus);
	most->unknown |= other->unknown;
}

#endif
