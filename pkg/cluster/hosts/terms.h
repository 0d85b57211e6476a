/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_TERMS_H
#define GPUQOS_CLUSTER_TERMS_H

#include "base/arena.h"
#include "base/limits.h"
#include "cluster/cluster.h"
#include "model/port.h"
#include "model/terms.h"
#include "model/volume.h"

/*
 * Whether kube-scheduler would let a pod on a node by what both say: node selector and affinity,
 * taints, the required anti-affinity of pods that are on nodes, and volumes by their claims. Ports
 * are in cluster/hosts/ports.h. Reading is as in cluster/read.h.
 *
 * A pod whose anti-affinity keeps the other away does so as long as it is there, also where it is
 * one that would go for it. The pod's own anti-affinity is taken to mean all pods of the namespaces
 * that it names, since labels of those are not kept.
 */

#define TERMS_MEMO 32

/* The label of a node that the pod may not go to: others keep it away, or it others. */
struct terms_shunned {
	uint32_t key, value;
};

/* What a volume of the pod says of nodes. */
struct terms_volume {
	struct pod_terms terms;    /* chooses and terms, of a node without a name */
	const uint32_t *keys;      /* of all labels of these, one by one */
	const struct label *zones; /* of VolumeZone */
	const uint32_t *zone_keys; /* of zones: two each, as it is and as it is called today */
	size_t n_zones;
	bool one;      /* only on one node: */
	uint32_t node; /* by name */
};

/* A volume of the pod that is attached where it runs: its CSI driver by name, and who it is. */
struct terms_attach {
	uint32_t driver;
	uint64_t id;
	bool must_be_there; /* the driver, on its node */
};

/* Why nobody knows where kube-scheduler lets a pod, or that it lets it nowhere. */
struct terms_doubt {
	unsigned int beyond; /* enum terms_beyond, each a bit */
	enum volume_doubt volume;
	char claim[LIMIT_NAME + 1]; /* of that; terminated */
};

/* Of one pod, made once for many nodes. Keys and values are handles, which may be stale once the
 * cluster changed: what is found by them then is to be found again. */
struct cluster_terms {
	struct pod_terms terms;
	const uint32_t *selector_keys;       /* of terms.selector, one by one */
	const uint32_t *requirement_keys;    /* of all labels of terms.terms, one by one */
	const struct terms_shunned *shunned; /* by key, then value */
	size_t n_shunned;
	bool passes_cordons;           /* it tolerates that a node is cordoned */
	const struct host_port *ports; /* that it asks for */
	size_t n_ports;
	const struct terms_volume *volumes;
	size_t n_volumes;
	const struct terms_attach *attach; /* each once */
	size_t n_attach;
	/* Keys of labels of nodes: with none of these all zones are theirs. */
	uint32_t zone_labels[VOLUME_ZONE_LABELS];
	struct terms_doubt doubt;
	struct arena *arena;
	/* Of lists of taints that were met, which are alike on most nodes. */
	struct {
		uint32_t taints; /* handle, and 1 more; 0: nothing is remembered */
		bool tolerated;
	} memo[TERMS_MEMO];
};

enum terms_verdict {
	TERMS_ADMIT,
	TERMS_TAINTED,
	TERMS_UNSELECTED,
	TERMS_SHUNNED,
	TERMS_VOLUMES_ELSEWHERE, /* its volumes are not for that node */
	TERMS_VOLUMES_FULL       /* which can attach no more of them */
};

/* Copied to @arena, which is borrowed as long as @ret_terms is used. False where that is full.
 * @ret_terms is to be asked of nodes only where cluster_terms_known() says so. */
bool cluster_terms_of(const struct cluster *cluster, uint32_t pod, struct arena *arena,
		      struct cluster_terms *ret_terms);
static inline bool cluster_terms_known(const struct cluster_terms *terms)
{
	return terms->doubt.beyond == 0 && terms->doubt.volume == VOLUME_DOUBT_NONE;
}

/* Of a node that says nothing of itself nothing is known against it. */
enum terms_verdict cluster_terms_on(const struct cluster *cluster, struct cluster_terms *terms,
				    uint32_t node);

#endif
