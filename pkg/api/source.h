/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_SOURCE_H
#define GPUQOS_API_SOURCE_H

#include "api/pack_common.h"
#include "api/source_table.h"
#include "base/limits.h"
#include "model/node.h"
#include "model/pod.h"

/*
 * Every way of sharing GPUs is a source: an adapter that turns what its project writes into asks
 * (model/pod.h) and offers (model/node.h). Inside api only; source.c lists them in order:
 *
 *   nvidia, amd, intel                devices: asked for and offered as they are called
 *   hami, volcano, koordinator, kai   parts of cards: they take what is theirs out of a request
 *   table                             what --config describes
 *
 * What no source takes out of a request is asked for as it is called, so that many units; where no
 * node offers it, nothing prices it. No request is too long to be charged: of too many names those
 * that come first count as they are, and the others as DEVICE_UNREADABLE. A capacity that looks
 * like a GPU and that no source offers is an offer of unknown memory.
 *
 * What anybody may write wrongly is charged at the most that it can mean: a fraction that cannot be
 * read is a whole card. Annotations that tell what was allocated can only raise what was asked, of
 * a pod that has a node, and by no more than its cards have (struct device_ask).
 */

/* Asks of one container, or of the pod itself, sorted; there is room for those of every source. */
struct source_asks {
	struct device_ask *asks; /* in the arena */
	size_t len, capacity;
};

/* What a container names of GPUs. */
struct source_request {
	struct pack_amounts amounts; /* that no source has taken yet; counts above 0 */
	int64_t beyond;              /* units that cannot be read, or have no room */
	struct source_asks asks;
};

/* What a pod asks for, with room to change it by annotations. */
struct source_pod {
	const struct pack *pack;
	const struct wire_list *annotations;
	struct source_asks own;         /* of the pod itself: overhead and annotations */
	struct source_asks *containers; /* init containers first */
	size_t n_containers;
	bool bound;     /* to a node: nothing is allocated to a pod before */
	bool annotated; /* an annotation added or raised something */
};

/* --- nodes */

/* What a whole card of the node holds, by everybody who tells: bytes, 0 where he does not. */
struct source_card {
	int64_t by[MEMORY_SOURCE_COUNT];
};

struct source_node {
	const struct pack *pack;
	const struct wire_list *labels, *annotations;
	const struct source_table *table; /* or NULL */
	struct pack_amounts capacity;     /* of GPUs, counts above 0 */
	struct source_card card;
	struct device_offer *offers; /* room for LIMIT_OFFERS_PER_NODE + 1 */
	size_t n_offers;
	bool full; /* there were more */
	bool reconfiguring;
};

/* --- the sources */

struct source {
	const char *name;
	/* Whether a container that names this resource, if only 0 times, asks in this source's way.
	 * NULL: it has no way of its own. */
	bool (*speaks)(struct str resource);
	/* Whether ask() reads this one, of those of which the source speaks: others cost nothing
	 * beside what the container asks for in this way, however many. */
	bool (*reads)(struct str resource);
	/* Takes what is its own out of a request of which it speaks, and asks for it. */
	void (*ask)(struct source_request *request);
	/* What the pod asks for by annotation: into pod->own, or raising what containers ask. */
	void (*annotations)(struct source_pod *pod);
	/* Tells what a card holds. */
	void (*measure)(struct source_node *node);
	/* Offers what the node has, by what is known of its cards. */
	void (*offer)(struct source_node *node);
};

extern const struct source source_nvidia, source_amd, source_intel, source_hami, source_volcano,
	source_koordinator, source_kai, source_of_table;

extern const struct source *const sources[];
extern const size_t n_sources;

#endif
