/* SPDX-License-Identifier: Apache-2.0 */
/* size: what placement reads and leaves, in one place. */
#ifndef GPUQOS_CLUSTER_PLACING_PLACEMENT_H
#define GPUQOS_CLUSTER_PLACING_PLACEMENT_H

#include "base/arena.h"
#include "cluster/cluster.h"
#include "cluster/ledger/vectors.h"
#include "quota/bind.h"
#include "topo/topo.h"

/*
 * What placement reads of the truth; what it leaves there is in cluster/placing/assume.h. Reading
 * is as in cluster/read.h: what is borrowed dies at the next change of the cluster.
 */

/* --- what a pod asks for */

struct cluster_trial;

/* By handles, which are good until the cluster changes. */
struct cluster_ask {
	uint32_t pod;       /* its record; TABLE_NONE where no watch has shown it yet */
	uint32_t namespace; /* TABLE_NONE: nothing is known of it */
	uint32_t product;   /* the card that its nodeSelector asks for; INTERN_EMPTY: any */
	uint32_t most;      /* as in struct topo_request, of devices; above all of them: all */
	struct pod_alignment alignment;
	struct str stranger; /* a resource that it asks for and nobody has; empty: none */
	struct vector_cell cells[LIMIT_RESOURCES_PER_POD];
	size_t n; /* 0: it asks for no GPU but by claims */
	/* ResourceClaims that it names and that ask for GPUs, or have some; and whether it names
	 * one that no watch has shown yet. */
	uint32_t claims[LIMIT_CLAIMS_PER_POD];
	size_t n_claims;
	bool claim_unseen;
	const struct cluster_trial *trial; /* cluster/placing/reserve.h; NULL: none */
	/* As whom that is held for; and a pod that is reckoned with beside it, and so nothing that
	 * is held for that one. TABLE_NONE: none. */
	uint32_t hold, beside;
	bool past_holds; /* as if no room were held for others */
};

void cluster_ask_of(const struct cluster *cluster, const struct pod_facts *facts,
		    struct cluster_ask *ret_ask);
/* The same of a pod that is kept. */
void cluster_ask_of_pod(const struct cluster *cluster, uint32_t pod, struct cluster_ask *ret_ask);

/* TABLE_NONE where none is seen, or one of another uid is. */
uint32_t cluster_pod_find(const struct cluster *cluster, struct str namespace, struct str name,
			  struct str uid);
/* Where it is bound, or assumed to be; TABLE_NONE. */
uint32_t cluster_pod_node(const struct cluster *cluster, uint32_t pod);
bool cluster_pod_finished(const struct cluster *cluster, uint32_t pod);

/* --- what a node has */

/*
 * Cards are those of its layout. kubelet says which it gave to whom, once it has; of the others it
 * may give any, also to pods that were bound before, which are then `pending` among them.
 */
#define CLUSTER_LINK_WHOLE   10
#define CLUSTER_LINK_UNKNOWN 255

struct cluster_room {
	const struct topo *topo; /* NULL: state says why nothing is known */
	uint64_t layout;         /* a number of its own for each shape, never used again */
	enum layout_state state;
	uint64_t seen; /* cards that pods are seen to hold, which are not being deleted */
	/* CPUs that pods have for themselves, of each NUMA node, those of which that is not known,
	 * and those that kubelet keeps, wherever that is. Pods without GPUs are not known. */
	uint32_t pinned[LIMIT_POLICY_NUMAS], pinned_somewhere, reserved_cpus;
	uint64_t assumed; /* that others of them are assumed to get, as placement chose */
	/* Of assumed those that pods on their way out were seen to have, all that these have: each
	 * pod has them still, or none of them any more. */
	uint64_t leaving;
	/* Of each card a byte: tenths that pods leave of its PCIe link, and of the one that its
	 * topmost bridge hangs on, or CLUSTER_LINK_UNKNOWN. Borrowed; empty: unknown of all. */
	struct str links;
};

/*
 * By handle, for who remembers what it was told of a node: as long as version is the same, all that
 * is said here of the node is too, but for what the pod of an ask holds itself, and as long as
 * cluster_resources_changed() is. As long as born is the same, and not 0, so is the node's name.
 */
struct node_stamp {
	uint64_t version, born; /* versions are never used again; 0: room is held there, so that it
				 depends on who asks */
};

/* Of all handles below @ret_n. */
const struct node_stamp *cluster_node_stamps(const struct cluster *cluster, uint32_t *ret_n);
uint64_t cluster_resources_changed(const struct cluster *cluster);

struct cluster_room cluster_room(const struct cluster *cluster, uint32_t node);
/* As the pod of an ask has it: what is held for others is assumed, what its trial has is gone. */
struct cluster_room cluster_room_for(const struct cluster *cluster, const struct cluster_ask *ask,
				     uint32_t node);
bool cluster_node_exists(const struct cluster *cluster, uint32_t node);
/* Have the processor fetch what is read of a node: its record, then what that names. */
void cluster_node_ahead(const struct cluster *cluster, uint32_t node);
void cluster_node_ahead_offer(const struct cluster *cluster, uint32_t node);
bool cluster_node_offers(const struct cluster *cluster, uint32_t node); /* any GPU */
/* Why its layout is not known, a sentence; empty where that is all there is to say. */
struct str cluster_layout_problem(const struct cluster *cluster, uint32_t node);

/* What the claims of an ask have, or may get. */
struct cluster_claims {
	uint32_t devices;   /* GPUs; of claims without an allocation the most that they may get */
	uint32_t others;    /* of those that they have, of whose cards nothing is known */
	uint64_t cards;     /* of the node, that they have, or have parts of */
	bool allocated;     /* all of them are */
	bool numa_together; /* what they get is of one NUMA node, whichever it is */
};

struct cluster_claims cluster_claims_on(const struct cluster *cluster,
					const struct cluster_ask *ask, uint32_t node);

/* What of an ask a node has, by what it offers. */
struct cluster_units {
	uint32_t resource;   /* for cluster_name() */
	uint32_t kind;       /* of what is offered, by a device plugin; TABLE_NONE: it is not */
	uint32_t offer;      /* likewise: the node's own */
	uint64_t price;      /* equal: it is charged the same on another node */
	int64_t count, free; /* asked for; not held by others, below 0 where they hold more than
				is given */
	int64_t total;       /* that kubelet gives out */
	int64_t withdrawn;   /* that it does not, of all that there are */
	uint32_t product;    /* of what is offered */
	int64_t cards;       /* that the units are parts of, above 0; 0: each is a device */
	bool offered;        /* by whatever source; kind tells of capacity alone */
	bool whole;          /* one is a card */
};

/* One for each of the ask's cells, in order. */
void cluster_units_on(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		      struct cluster_units *ret_units);

/*
 * What bind_decide() takes, in @arena where it is not held as such. The pod's own use does not
 * count against it. False where the arena is full.
 */
bool cluster_bind_view(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		       struct arena *arena, struct bind_view *ret_view) MUST_CHECK;

/* Nodes by what is known of their layout, those that offer a GPU alone; distinct layouts. */
struct cluster_layouts {
	uint32_t nodes[LAYOUT_STATE_COUNT];
	uint32_t distinct;
};

void cluster_layouts(const struct cluster *cluster, struct cluster_layouts *ret_layouts);

#endif
