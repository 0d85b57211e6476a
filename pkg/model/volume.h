/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_VOLUME_H
#define GPUQOS_MODEL_VOLUME_H

#include "model/terms.h"

/*
 * Volumes as far as they say to which nodes a pod may go: what kube-scheduler's plugins
 * VolumeBinding, VolumeZone, VolumeRestrictions and NodeVolumeLimits read. Facts are transient and
 * borrowed.
 */

/* CLAIM: by the name of a PersistentVolumeClaim; EPHEMERAL: of one that is made for the pod alone;
 * INLINE: a disk that is named in the pod; UNREAD: more of them than are read. */
enum pod_volume_sort { VOLUME_CLAIM, VOLUME_EPHEMERAL, VOLUME_INLINE, VOLUME_UNREAD };

/* Of a pod, where it may matter. */
struct pod_volume {
	enum pod_volume_sort sort;
	struct str claim; /* in the pod's namespace; empty of INLINE and UNREAD */
};

/* A PersistentVolumeClaim. */
struct volume_claim_facts {
	struct str namespace, name;
	struct str volume; /* the PersistentVolume; empty: none */
	struct str class;  /* StorageClass; empty: none */
	struct str node; /* that was chosen, for which it is to be made; there may be none of it */
	struct str owner_uid; /* of the controlling owner; empty: none */
	bool chosen;          /* a node was, also where its name is empty */
	bool bound;           /* for good */
	bool lost;            /* its volume is gone */
	bool terminating;
	bool once; /* for one pod at a time, on all nodes: ReadWriteOncePod */
};

/* A PersistentVolume. */
struct volume_facts {
	struct str name;
	struct str driver, handle; /* of CSI; empty: of another sort */
	bool translated; /* of a sort that kube-scheduler takes for a CSI driver's, and reads anew
			  */
	bool unread;     /* what it says of nodes is more than is read */
	bool chooses;    /* one of terms must match a node, where the name of that is empty */
	const struct node_term *terms;
	size_t n_terms;
	const struct label *zones; /* its labels that name zones and regions */
	size_t n_zones;
};

/* A StorageClass. */
struct storage_class_facts {
	struct str name;
	struct str provisioner;
	bool waits;   /* volumeBindingMode WaitForFirstConsumer */
	bool unread;  /* as in struct volume_facts */
	bool chooses; /* allowedTopologies: one of terms must match a node */
	const struct node_term *terms;
	size_t n_terms;
};

struct csi_node_driver {
	struct str name;
	int64_t most; /* volumes that can be attached at a time; -1: not told */
};

/* A CSINode. */
struct csi_node_facts {
	struct str name; /* of the node */
	const struct csi_node_driver *drivers;
	size_t n_drivers;
};

/* A CSIDriver. */
struct csi_driver_facts {
	struct str name;
	bool tells_capacity; /* spec.storageCapacity */
	bool must_be_there;  /* spec.preventPodSchedulingIfMissing */
};

/*
 * What is in the way of a pod because of one of its claims, whatever the node, or that nobody knows
 * what kube-scheduler would say. name, text: "its claim weights ...".
 */
#define VOLUME_DOUBTS(X)                                                                       \
	X(NONE, "")                                                                            \
	X(UNREAD, "is not looked up yet: volumes are being read")                              \
	X(MISSING, "is not there")                                                             \
	X(LOST, "has lost its volume")                                                         \
	X(GOING, "is being deleted")                                                           \
	X(ANOTHERS, "was not made for it")                                                     \
	X(ANEW, "is made anew for each pod")                                                   \
	X(UNBOUND, "is not bound yet")                                                         \
	X(VOLUMELESS, "is bound to a volume that is not there")                                \
	X(IN_USE, "is for one pod at a time, and another has it")                              \
	X(TRANSLATED, "is bound to a disk of a sort that CSI drivers took over")               \
	X(NOT_MADE, "is not bound, and nobody makes its volume")                               \
	X(CAPACITY, "is not bound, and of how much room its driver has left nothing is known") \
	X(SIZE, "is bound to a volume, or of a class, that says more of nodes than gpuqos reads")

enum volume_doubt {
#define X(name, text) VOLUME_DOUBT_##name,
	VOLUME_DOUBTS(X)
#undef X
};

/* Borrowed, static. */
const char *volume_doubt_text(enum volume_doubt doubt);

/* Labels of a PersistentVolume, and of nodes, that name zones and regions; more than one such name
 * are joined by "__". What they were called once comes before what they are called today, in the
 * same order. */
#define VOLUME_ZONE_LABELS 4
extern const struct str volume_zone_labels[VOLUME_ZONE_LABELS];
/* @ret_ga: what the label is called today. False: it is none. */
bool volume_zone_label(struct str key, struct str *ret_ga);
/* Whether a node is in one of the zones, as the label's value says them; of a value that is none
 * every node is. */
bool volume_zones_have(struct str zones, struct str zone);

#endif
