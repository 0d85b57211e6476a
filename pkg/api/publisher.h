/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PUBLISHER_H
#define GPUQOS_API_PUBLISHER_H

#include "api/pack_common.h"
#include "base/limits.h"
#include "model/layout.h"

/*
 * Who else tells of a node's cards, where no gpuqos-agent does. Each publisher is an adapter that
 * lists the cards that it knows of; what becomes of the list is the same for all: a layout without
 * bridges, links, kubelet's settings or whose CPUs are whose (docs/topology.md, "Other
 * publishers"). The memory of cards is none of a publisher's: sources tell it (api/source.h).
 * publisher.c lists them in order; the first that knows anything counts. Inside api only.
 */

/* Strings borrowed from what was read. */
struct published_card {
	struct str uuid; /* each once */
	struct str pci;  /* empty: not told, of any card */
	int64_t index;   /* -1: not told */
	/* The kernel's. 0 stands for "not known" too: HAMi and koordlet both write it where there
	 * is no number, and nobody can tell that from node 0. */
	int64_t numa;
	bool healthy;
};

struct published_cards {
	const struct pack *pack;
	struct published_card cards[LIMIT_LAYOUT_GPUS];
	size_t n;
};

/* False: there are too many. */
bool published_add(struct published_cards *cards, const struct published_card *card);

/* What of a node publishers read; NULL: not that. */
struct publisher_input {
	const struct wire_list *annotations; /* of the Node */
	const struct wire_list *koordinator; /* struct wire_koordinator_card */
};

struct publisher {
	const char *name;
	/* Untouched list, or any that is then passed over, with false: nothing is told, or it
	 * cannot be read. */
	bool (*read)(const struct publisher_input *input, struct published_cards *cards);
};

extern const struct publisher publisher_hami, publisher_koordinator;

/*
 * In the arena, and @ret_layout NULL where nobody tells anything that can be made use of. LIMIT,
 * -1: the arena is full.
 */
int publishers_read(const struct publisher_input *input, const struct pack *pack,
		    const struct layout **ret_layout);

#endif
