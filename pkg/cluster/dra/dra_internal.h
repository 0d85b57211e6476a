/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_DRA_DRA_INTERNAL_H
#define GPUQOS_CLUSTER_DRA_DRA_INTERNAL_H

#include "cluster/internal.h"
#include "cluster/read.h"

/* What the files about dynamic resource allocation share. Inside cluster only. */

/* --- dra.c: what the records of cluster_stats() and memory take */
void dra_stats(const struct dra *dra, struct cluster_stats *stats);

/* --- classes.c */
uint32_t class_find(const struct cluster *cluster, struct str name);
void class_remove(struct cluster *cluster, uint32_t class);

/*
 * Whether what the class gives is known to be no GPU: its driver, which is none by name, has
 * published devices, none of which may be a GPU of the class; it never gave one; and the extended
 * resource that it stands for, if any, is none. As of the last classes_refresh(): whatever changes
 * this outdates all sums.
 */
bool class_is_free(const struct class_record *class);
/* What a status told of classes before the start: without ResourceSlices nothing else does. */
void classes_told(struct cluster *cluster, const struct quota_classes *classes);
/* Anew, where the list of classes is to be made anew; after the prices. */
void classes_refresh(struct cluster *cluster);

/* Whether its row is priced whatever its devices tell: by name, by the table, or by plugins. */
bool class_row_is_gpu(const struct cluster *cluster, const struct class_record *class);

/* The resource that prices what a container asks for: that of the class which it names, else it. */
uint32_t class_row(const struct cluster *cluster, uint32_t resource);
/* Whether a container that asks for it asks for no GPU. */
bool class_resource_is_free(const struct cluster *cluster, uint32_t resource);

/*
 * Offers are to be made anew: classes changed, or which kinds of devices are offered. All sums are
 * out of date at once. The refresh is a part of prices_refresh().
 */
void class_offers_outdate(struct cluster *cluster);
/* Works out anew what is held of nodes, where a class changed that pods ask by. */
void class_rooms_refresh(struct cluster *cluster);
void class_offers_refresh(struct cluster *cluster);

/* --- device_kinds.c: of a GPU; each reference is a device's */
uint32_t device_kind_ref(struct cluster *cluster, struct str driver,
			 const struct slice_device *device);
void device_kind_unref(struct cluster *cluster, uint32_t kind);

/* --- devices.c */

/* The dearest offer of @resource among the devices of a node, or NULL. */
const struct offer_kind *devices_offer(const struct cluster *cluster, uint32_t node,
				       uint32_t resource);
/* The current device of a pool, or TABLE_NONE. */
uint32_t device_find(const struct cluster *cluster, uint32_t pool, uint32_t name);

uint32_t pool_get(struct cluster *cluster, struct str driver, struct str name);
void pool_release(struct cluster *cluster, uint32_t pool); /* when nothing is known of it */

uint32_t slice_find(const struct cluster *cluster, struct str name);
void slice_remove(struct cluster *cluster, uint32_t slice);

/* --- claims.c */
uint32_t claim_find(const struct cluster *cluster, struct str namespace, struct str name);
void claim_remove(struct cluster *cluster, uint32_t claim);

/*
 * The claim that the scheduler made for a pod's extended resources, as far as both are known: it is
 * charged with the pod while that lives. Taken out before the pod changes, put in afterwards.
 */
uint32_t claim_of_pod(const struct cluster *cluster, uint32_t namespace, uint32_t claim_name);

/* claim_part.c: devices of it that are GPUs: those it has, or before that the most that it may get;
 * 0: none. */
uint32_t claim_gpus(const struct cluster *cluster, uint32_t claim);

/* --- podclaims.c */

/* After a change of a claim or its devices: the rooms of nodes that pods are on which name it,
 * since which cards they have follows from it; not of nodes that are taken out of the sums. */
void claim_rooms_refresh(struct cluster *cluster, uint32_t namespace, uint32_t name);

/* What a pod names, by its record. */

bool pod_claims_are(const struct cluster *cluster, const struct pod_record *pod,
		    const struct pod_facts *facts);
void pod_claims_set(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts);
void pod_claims_drop(struct cluster *cluster, struct pod_record *pod);
/* Whether the claims count as in use: the pod is, or is assumed to be, on a node. */
bool pod_claims_count(const struct pod_record *pod);
/* They do from now on, wherever the pod goes. */
void pod_claims_hold(struct cluster *cluster, const struct pod_record *pod);
void pod_claims_let_go(struct cluster *cluster, const struct pod_record *pod); /* no more */
/* Whether a pod on a node names it. */
bool claim_is_held(const struct cluster *cluster, const struct device_claim_record *claim);

/* The cards of the pod's node that the devices of its claims are, or are parts of, and how many are
 * none that its layout lists. */
uint64_t pod_claim_cards(const struct cluster *cluster, const struct pod_record *pod,
			 uint32_t *ret_others);
/* GPUs of all of them, as claim_gpus(). */
uint32_t pod_claim_gpus(const struct cluster *cluster, const struct pod_record *pod);

/* --- ledger.c: as ledger_remove() and ledger_add(), of a claim; TABLE_NONE is ignored */
void ledger_remove_claim(struct cluster *cluster, uint32_t claim);
void ledger_add_claim(struct cluster *cluster, uint32_t claim);

#endif
