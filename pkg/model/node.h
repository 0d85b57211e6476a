/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_NODE_H
#define GPUQOS_MODEL_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/amount.h"
#include "model/host.h"

/*
 * How a unit of an extended resource relates to a card: name, text in status.resources[].sharing.
 *
 * WHOLE: one unit is one card. MIG: one unit is one hardware partition. TIME_SLICED, MPS: one unit
 * is one replica of a card or partition, which is a price, not isolation. FRACTION: a unit measures
 * a part of a card that a scheduler cuts to size: a MiB, a byte, a hundredth. OTHER: a resource of
 * which we know only the name.
 */
#define DEVICE_SHARINGS(X)            \
	X(WHOLE, "None")              \
	X(MIG, "MIG")                 \
	X(TIME_SLICED, "TimeSlicing") \
	X(MPS, "MPS")                 \
	X(FRACTION, "Fraction")       \
	X(OTHER, "Unknown")

enum device_sharing {
#define X(name, text) DEVICE_##name,
	DEVICE_SHARINGS(X)
#undef X
};

/* Borrowed, static. */
const char *device_sharing_text(enum device_sharing sharing);

/*
 * Who tells how much memory a device has, from the one that counts first; the text ends the
 * sentence "it has so much by ...".
 */
#define MEMORY_SOURCES(X)                                               \
	X(DRA, "its ResourceSlice")                                     \
	X(TOPOLOGY, "its annotation gpuqos.io/topology")                \
	X(LABEL, "its node labels")                                     \
	X(HAMI, "its annotation hami.io/node-nvidia-register")          \
	X(VOLCANO, "its annotation volcano.sh/node-vgpu-register")      \
	X(KOORDINATOR, "its capacity of koordinator.sh/gpu-memory")     \
	X(TABLE, "the table of resources in the controller's --config") \
	X(NAME, "the name of the resource")

enum memory_source {
#define X(name, text) MEMORY_FROM_##name,
	MEMORY_SOURCES(X)
#undef X
		MEMORY_SOURCE_COUNT
};

/* Borrowed, static. */
const char *memory_source_text(enum memory_source source);

/*
 * What a node offers of one GPU resource. A unit's memory comes from the node's own labels; for a
 * replica of a shared card it is the card's memory divided by the replicas, rounded down.
 */
struct device_offer {
	struct str resource; /* "nvidia.com/mig-1g.10gb" */
	struct str product;  /* of the card, as the node's label says it; empty when unlabelled */
	int64_t unit_memory; /* bytes, > 0, or AMOUNT_UNKNOWN */
	int64_t count;       /* units in the node's capacity, > 0 */
	int64_t allocatable; /* units of those that kubelet gives out; less where some failed */
	enum device_sharing sharing;
	int64_t min_memory; /* bytes, the least that one unit may hold where a scheduler cuts units
			       to size; 0: every unit holds unit_memory */
	int64_t other_memory; /* bytes of a unit by `other`, where that disagrees; 0: nobody does */
	enum memory_source source, other; /* who tells unit_memory; who else tells otherwise */
};

/*
 * A node's condition Ready. NOT_READY also where its status is Unknown, which is what the node
 * controller writes when kubelet is silent; UNKNOWN where nobody has written the condition yet.
 */
enum node_ready { NODE_READY_UNKNOWN, NODE_READY, NODE_NOT_READY };

/* Why a node's layout is not known: name, CamelCase reason for metrics and Events. */
#define LAYOUT_STATES(X)              \
	X(KNOWN, "Known")             \
	X(ABSENT, "NotPublished")     \
	X(MALFORMED, "Malformed")     \
	X(FUTURE, "FutureVersion")    \
	X(CONTRADICTS, "Contradicts") \
	X(AGENT_GONE, "AgentGone")

enum layout_state {
#define X(name, reason) LAYOUT_IS_##name,
	LAYOUT_STATES(X)
#undef X
		LAYOUT_STATE_COUNT
};

/* Borrowed, static. */
const char *layout_state_reason(enum layout_state state);

struct layout; /* model/layout.h */

/* What layouts that an agent publishes begin their `writer` with, and its Lease its name. */
#define AGENT_WRITER       "gpuqos-agent/"
#define AGENT_LEASE_PREFIX "gpuqos-agent-"

/* The Lease of a node's agent as observed: transient, borrowed. */
struct agent_facts {
	struct str name;           /* of the Lease; whose it is follows from it */
	struct str holder;         /* the node's name, while there is an agent */
	uint64_t resource_version; /* 0 when it is no number */
	int64_t renew_us;    /* by the agent's clock, which is nobody else's: only that it changes
				matters */
	int64_t duration_us; /* above 0 */
	int64_t seen_us;     /* likewise: when it last looked at who uses the cards, and found its
				GpuNode true; 0: it does not say */
};

/* What an object of others tells of a node's cards: transient, borrowed. */
struct published_facts {
	struct str node;             /* and of the object */
	uint64_t resource_version;   /* 0 when it is no number */
	const struct layout *layout; /* NULL: nothing that can be made use of */
};

/* A node as observed: transient, everything borrowed. */
struct node_facts {
	struct str name, uid;
	uint64_t resource_version; /* 0 when it is no number */
	enum node_ready ready;
	const struct device_offer *offers;
	size_t n_offers;        /* at most LIMIT_OFFERS_PER_NODE, each resource once */
	bool reconfiguring;     /* its cards are being cut anew: nothing should be placed there */
	uint32_t reserved_cpus; /* capacity that is not allocatable, rounded up */
	const struct layout *layout; /* NULL: layout_state says why not */
	enum layout_state layout_state;
	struct str layout_problem;     /* a sentence that says more; may be empty */
	const struct host_facts *host; /* NULL: nobody tells, and nobody asks */
};

#endif
