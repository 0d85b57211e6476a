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
 * node offers it, nothing prices it. A capacity that looks like a GPU and that no source offers is
 * an offer of unknown memory.
 *
 * What anybody may write wrongly is charged at the most that it can mean: a fraction that cannot be
 * read is a whole card. Annotations that tell what was allocated can only raise what was asked.
 */

/* Asks of one container, or of the pod itself, sorted; there is room for those of every source. */
struct source_asks {
	struct device_ask *asks; /* in the arena */
	size_t len, capacity;
};

/* Asks that the sources may make beyond one for each amount. */
#define SOURCE_ASKS_MORE 6

int source_asks_init(struct source_asks *asks, size_t capacity, const struct pack *pack);
/* So many more, if any. Equal (resource, device) are one ask. */
void source_ask(struct source_asks *asks, struct device_ask ask);
/* The ask for @resource, or NULL. */
struct device_ask *source_ask_find(struct source_asks *asks, struct str resource);

/* What a container names of GPUs. */
struct source_request {
	struct pack_amounts amounts; /* that no source has taken yet; counts above 0 */
	struct source_asks asks;
};

/* The amount of @resource, taken out; 0 where there is none. */
int64_t source_take(struct source_request *request, struct str resource);
/* All whose names start so. */
void source_drop(struct source_request *request, struct str prefix);

/*
 * How HAMi and Volcano ask: of each of @cards (0: one) @memory MiB, else @percent, else all of it.
 * A percentage that is none means all of it too.
 */
struct source_share {
	struct str memory_row, percent_row, card_row;
	int64_t cards, memory, percent;
};

void source_ask_share(struct source_asks *asks, const struct source_share *share);

/* What a pod asks for, with room to change it by annotations. */
struct source_pod {
	const struct pack *pack;
	const struct wire_list *annotations;
	struct source_asks own;         /* of the pod itself: overhead and annotations */
	struct source_asks *containers; /* init containers first */
	size_t n_containers;
	bool annotated; /* an annotation added or raised something */
};

/*
 * Raises to what annotation @key tells the asks for @row, in MiB, that are lower. Its form is
 * HAMi's: for each container "UUID,TYPE,MiB,cores:" of each device, then ";".
 */
void source_raise_allocated(struct source_pod *pod, struct str key, struct str row);

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

/* How many of @resource the node has; 0 for none. */
int64_t source_capacity(const struct source_node *node, struct str resource);

/*
 * Label <base><suffix>; false leaves @ret_value untouched. Of products, names that no label could
 * have are empty.
 */
bool source_label(const struct source_node *node, struct str base, const char *suffix,
		  struct str *ret_value);
struct str source_product(const struct source_node *node, struct str base, const char *suffix);

/* A new offer, or the one there is of this resource. */
struct device_offer *source_offer(struct source_node *node, struct str resource, int64_t count);
struct device_offer *source_offer_find(const struct source_node *node, struct str resource);

/*
 * Sets an offer's memory to 1/@parts of the card: by the first who tells, with the next who tells
 * otherwise beside it. Two differ where they are more than one part in SOURCE_TOLERANCE apart:
 * drivers count the memory that they keep for themselves or do not, and MiB are rounded.
 */
void source_price(struct device_offer *offer, const struct source_card *card, int64_t parts);
#define SOURCE_TOLERANCE 100

/* The parts that schedulers cut cards into: rows for MiB and for hundredths of @cards cards. */
void source_offer_parts(struct source_node *node, struct str memory_row, struct str percent_row,
			int64_t cards);

/*
 * Devices in the register annotations of HAMi (CSV to v2.7, JSON since v2.8) and Volcano (CSV).
 * False, with nothing told, where it cannot be read or has no device.
 */
struct source_register {
	int64_t cards;   /* devices */
	int64_t split;   /* units that they are handed out in, all together */
	int64_t largest; /* bytes of the largest card */
	int64_t memory;  /* bytes of all */
};

bool source_read_register(const struct source_node *node, struct str key,
			  struct source_register *ret_register);

/* --- the sources */

struct source {
	const char *name;
	/* Whether a container that names this resource, if only 0 times, asks in this source's way.
	 * NULL: it has no way of its own. */
	bool (*speaks)(struct str resource);
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
