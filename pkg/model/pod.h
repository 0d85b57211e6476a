/* SPDX-License-Identifier: Apache-2.0 */
/* size: one struct has all that is read of a pod. */
#ifndef GPUQOS_MODEL_POD_H
#define GPUQOS_MODEL_POD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/amount.h"
#include "model/crashes.h"
#include "model/demand.h"
#include "model/port.h"
#include "model/terms.h"
#include "model/topology.h"
#include "model/volume.h"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_PHASE_UNKNOWN };

enum container_kind {
	CONTAINER_NORMAL,
	CONTAINER_INIT,
	CONTAINER_SIDECAR /* an init container with restartPolicy Always */
};

/*
 * What is asked of GPUs, whichever way it was written: @count units of @resource, charged at what a
 * unit of that costs. Where it is a part of a card, @device names the resource whose cards it is
 * taken from and @devices how many of them: on a node that does not offer such parts it takes those
 * cards whole.
 */
struct device_ask {
	struct str resource; /* the name of a row: "nvidia.com/gpu", "nvidia.com/gpumem" */
	int64_t count;       /* above 0; of a resource whose unit is a byte these are bytes */
	struct str device;   /* "nvidia.com/gpu"; empty: @resource is a device */
	int64_t devices;     /* 0 without a device */
	int64_t told;        /* units that a scheduler says it gave beyond @count; the tenant may
				write that too: it counts as far as those cards reach */
};

/*
 * The resource of asks that cannot be told apart: of a pod that cannot be read, or that names more
 * than it may. No node offers it, so that nothing prices it.
 */
#define DEVICE_UNREADABLE "gpuqos.io/unreadable"

/* For qsort(): by resource, then by device. */
int device_ask_compare(const void *a, const void *b);

/* So many units of a resource that is a device. */
static inline struct device_ask device_ask_units(struct str resource, int64_t count)
{
	return (struct device_ask){.resource = resource, .count = count};
}

/* What one container asks for. In the order of the pod's spec. */
struct container_facts {
	enum container_kind kind;
	const struct device_ask *asks;
	size_t n_asks;
};

/* What kubelet's managers read of a pod, and what it asks of the places of its cards. */
struct pod_alignment {
	bool guaranteed : 1; /* QoS class */
	bool whole_cpus : 1; /* of every container that asks for a device: kubelet may pin them */
	bool cpus_together : 1; /* one container has all of cpus */
	/* An init container has CPUs or devices of its own, which those after it take over, if they
	 * are on NUMA nodes where the rest of them is. */
	bool takes_over : 1;
	bool wished : 1; /* a policy, by annotation */
	bool scoped : 1; /* a scope too */
	enum topology_policy policy : 4;
	enum layout_scope scope : 4;
	uint32_t cpus; /* that kubelet's static CPU manager gives to it alone */
};

/*
 * name, kind: who says which pods belong together, by a label or an annotation that holds a name.
 * Where several do the first counts: those that make pods come before those that schedule them.
 */
#define GANG_KINDS(X)                           \
	X(NONE, "")                             \
	X(LEADER_WORKER_SET, "LeaderWorkerSet") \
	X(JOB_SET, "JobSet")                    \
	X(TRAINING, "TrainingOperator")         \
	X(KUEUE, "Kueue")                       \
	X(VOLCANO, "Volcano")                   \
	X(KAI, "KAI")                           \
	X(KOORDINATOR, "Koordinator")           \
	X(COSCHEDULING, "Coscheduling")

enum gang_kind {
#define X(name, kind) GANG_##name,
	GANG_KINDS(X)
#undef X
};

/* What of a pod its eviction alone reads. */
struct pod_exit {
	int64_t started_us;    /* real: status.startTime; 0: kubelet has not seen it */
	int64_t checkpoint_us; /* real, as the annotation says; 0: none, or it is no time */
	int64_t grace_us;      /* spec.terminationGracePeriodSeconds */
	bool mirror;           /* kubelet made it of a file: nobody can evict that */
	enum gang_kind gang;
	struct str gang_name; /* in its namespace; empty with NONE */
	const struct label *labels;
	size_t n_labels;
};

/* A pod as observed: transient, everything borrowed. */
struct pod_facts {
	struct str namespace, name, uid;
	uint64_t resource_version; /* 0 when it is no number */
	struct str node;           /* spec.nodeName; empty: not bound */
	struct str product;        /* the card that its nodeSelector asks for; empty: any */
	enum pod_phase phase;
	bool terminating;   /* deletionTimestamp is set: it still holds its devices */
	bool gated;         /* a scheduling gate keeps it from being scheduled */
	int64_t created_us; /* real */
	/* The ResourceClaim that the scheduler made for its extended resources; empty: none. */
	struct str extended_claim;
	/* metadata.deletionTimestamp, real: when its grace is over; 0: it is not set. */
	int64_t deletion_us;
	struct str owner_kind, owner_name; /* of the controlling owner reference; empty: none */
	struct str template_hash;          /* label pod-template-hash; empty: none */
	const struct container_facts *containers; /* init containers and normal ones, in order */
	size_t n_containers;
	const struct device_ask *own; /* of the pod itself, beside its containers for as long as it
					 lives: by its RuntimeClass or by annotation */
	size_t n_own;
	/* ResourceClaims that it names, in order; empty: one is to be made of a template. */
	const struct str *claims;
	size_t n_claims; /* at most LIMIT_CLAIMS_PER_POD */
	struct pod_alignment alignment;
	int64_t pcie; /* bytes per second, both ways, that it declares to move over PCIe; 0: it
			 declares nothing */
	struct pod_exit exit;
	struct pod_crashes crashes;
	const struct pod_terms *terms;  /* NULL: it asks nothing of its node */
	const struct pod_repel *repels; /* its own required anti-affinity */
	size_t n_repels;
	const struct host_port *ports; /* of its node, for itself */
	size_t n_ports;                /* at most LIMIT_PORTS_PER_POD */
	const struct pod_volume *volumes;
	size_t n_volumes;     /* at most LIMIT_VOLUMES_PER_POD */
	struct demand demand; /* of one that cannot be read more than there ever is */
	/* Ids of the devices that kubelet gave it, as it calls them, without "::<replica>"; none
	 * where it does not say. */
	const struct str *device_ids;
	size_t n_device_ids; /* at most LIMIT_LAYOUT_GPUS */
	bool annotated;      /* some of what it asks for is in annotations, which may be edited */
	/* What it asks for could not be read: what it was seen to hold counts, else @own. */
	bool unreadable;
};

#endif
