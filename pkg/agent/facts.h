/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_FACTS_H
#define GPUQOS_AGENT_FACTS_H

#include "base/arena.h"
#include "base/error.h"
#include "model/layout.h"

/*
 * What a driver's library knows of its cards, beyond what hwloc shows, and how the two become one
 * layout. Pure; agent/nvml.h is where such facts come from. Everything is borrowed from the arena
 * that the facts were read into.
 */

/* A part of a card with a device of its own: a MIG device. */
struct partition_facts {
	struct str uuid;    /* "MIG-..."; empty: not known */
	struct str profile; /* "1g.10gb", "1g.10gb+me", "1c.3g.40gb" */
	uint32_t instance;  /* the driver's number of its GPU instance; LAYOUT_NONE: not known */
	int64_t memory;     /* bytes, or AMOUNT_UNKNOWN */
};

/* A process on a card. */
struct process_facts {
	uint32_t pid;   /* in the driver's eyes: that of the node's own PID namespace */
	int64_t memory; /* bytes, or AMOUNT_UNKNOWN */
	int sm_percent; /* of its multiprocessors' time, lately; -1: not known */
};

struct card_facts {
	struct str pci;           /* "0000:1b:00.0"; empty: the driver does not tell where it is */
	struct str uuid, product; /* empty: not known */
	uint32_t index;           /* the driver's */
	uint32_t numa;            /* the kernel's number of a NUMA node, or LAYOUT_NONE */
	int64_t memory;           /* bytes, or AMOUNT_UNKNOWN */
	enum layout_health health;
	bool partitioned; /* it is in MIG mode, with or without partitions */
	bool links_known; /* all links of the card are among the links */
	const struct partition_facts *partitions;
	size_t n_partitions;
	const struct process_facts *processes;
	size_t n_processes;
};

/* One NVLink of a card that is up. */
struct link_facts {
	uint32_t card; /* index among cards */
	bool switched; /* the other end is an NVSwitch, else the card at `to` */
	struct str to; /* PCI address */
	int64_t speed; /* bytes per second in one direction, > 0 */
};

struct machine_facts {
	const struct card_facts *cards;
	size_t n_cards; /* at most LIMIT_LAYOUT_GPUS */
	const struct link_facts *links;
	size_t n_links;
	uint64_t theirs; /* cards of the layout, by index, that the driver is for; of merging only
			  */
};

/*
 * Lays @facts over what hwloc showed, by PCI address. What the facts leave open stays as it was in
 * @layout; a card that only the facts have is left out, since how it is wired is not known. Never
 * makes a layout that api_read_layout() refuses where @layout is none: of a uuid that two cards
 * claim neither gets it, and partitions with more memory than their card have an unknown one.
 *
 * A card without an address that is Failed has fallen off the bus. Where as many of these are there
 * as cards of @facts->theirs that no facts speak of, those are they; else which of them failed is
 * not known.
 *
 * NVLinks: of two cards whose links are known, the sum of those that join them, plus what the
 * lesser of them has to all NVSwitches; as each of both tells, the lesser. @ret_layout borrows from
 * @layout, @facts and @arena. LIMIT: no room in @arena.
 */
int machine_merge(const struct layout *layout, const struct machine_facts *facts,
		  struct arena *arena, struct layout *ret_layout, struct error *err);

#endif
