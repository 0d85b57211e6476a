/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_WORLD_API_H
#define GPUQOS_TESTS_WORLD_API_H

#include "lib/world.h"

/*
 * Objects and watches. Of each kind changes are seen in their order; between kinds there is none.
 */

/* The kinds that the world has, in an order in which they may be listed. */
#define WORLD_KINDS_X(X)                         \
	X(NODES, nodes, "node")                  \
	X(SLICES, slices, "ResourceSlice")       \
	X(CLASSES, classes, "DeviceClass")       \
	X(NAMESPACES, spaces, "namespace")       \
	X(TENANTS, tenants, "TenantQoS")         \
	X(QUOTAS, quotas, "quota")               \
	X(RESOURCE_QUOTAS, rqs, "ResourceQuota") \
	X(PODS, pods, "pod")                     \
	X(CLAIMS, claims, "ResourceClaim")

/* What the object begins with, in @state. */
struct world_object *world_object_of(struct world_state *state, enum cluster_kind kind, int index);
/* To be called for each change: gives the object a new version and tells the watch. */
void world_changed(struct world *w, enum cluster_kind kind, int index);
void world_gone(struct world *w, enum cluster_kind kind, int index);
/* Of an object that is to be: uid, creation. */
struct world_object world_meta(struct world *w);

/* The next event of a kind; false when there is none. */
bool world_deliver(struct world *w, enum cluster_kind kind);
void world_deliver_all(struct world *w);
/* A list in place of what the watch would have told. */
void world_relist(struct world *w, enum cluster_kind kind);
bool world_all_seen(const struct world *w);
/* The version of the last event delivered: all of that kind up to it were seen. */
bool world_seen_to(const struct world *w, uint64_t version);

/* Names. Borrowed, static. */
struct str world_space_name(int space);
struct str world_tenant_name(int tenant);
struct str world_quota_name(int quota);
struct str world_pod_name(int pod);
struct str world_node_name(int node);
struct str world_claim_name(int claim);
/* The static text of the same content; fails the test where there is none. */
struct str world_canon(struct str text);
/* Numbers of names: the digits that they end with. */
int world_number(struct str name);

struct world_uid {
	char text[40];
};
struct world_uid world_uid_text(uint64_t uid);
uint64_t world_uid_number(struct str text);

/* Copies, with texts that live. */
void world_status_set(struct world_status *to, const struct quota_status *from);
/* A copy's rows are in the copy. */
void world_status_fix(struct world_status *status);

/* world_tell.c: what the cache is told of an object that was seen. */
void world_tell(struct world *w, enum cluster_kind kind, int index);

#endif
