/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_SOURCE_COMMON_H
#define GPUQOS_API_SOURCE_COMMON_H

#include "api/source.h"

/* What sources have in common. Inside api only. */

/* --- asks */

/* Asks that the sources may make beyond one for each amount. */
#define SOURCE_ASKS_MORE 8

int source_asks_init(struct source_asks *asks, size_t capacity, const struct pack *pack);
/* So many more, if any. Equal (resource, device) are one ask. */
void source_ask(struct source_asks *asks, struct device_ask ask);
/* The ask for @resource, or NULL. */
struct device_ask *source_ask_find(struct source_asks *asks, struct str resource);

/* The amount of @resource, taken out; 0 where there is none. */
int64_t source_take(struct source_request *request, struct str resource);

/*
 * How HAMi and Volcano ask: of each of @cards (0: one) @memory MiB, else @percent, else all of it.
 * A percentage that is none means all of it too.
 */
struct source_share {
	struct str memory_row, percent_row, card_row;
	int64_t cards, memory, percent;
};

void source_ask_share(struct source_asks *asks, const struct source_share *share);

/*
 * Raises to what annotation @key of a bound pod tells the asks for @row, in MiB, that are lower.
 * Its form is HAMi's: for each container "UUID,TYPE,MiB,cores:" of each device, then ";".
 */
void source_raise_allocated(struct source_pod *pod, struct str key, struct str row);

/* --- offers */

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

#endif
