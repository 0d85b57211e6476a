/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_COMMON_H
#define GPUQOS_API_PACK_COMMON_H

#include "api/wire_meta.h"
#include "base/arena.h"
#include "base/error.h"
#include "model/amount.h"

/* What the packers share. Inside api only. */

/* Where a packer allocates and complains. */
struct pack {
	struct arena *arena;
	struct error *err;
};

/* Every object needs a name and a uid, and names that the cache would keep. */
int pack_check_meta(const struct wire_meta *meta, struct error *err);

/* Puts "Pod namespace/name" before the message. Returns -1. */
int pack_locate(struct error *err, const char *kind, const struct wire_meta *meta);

/* LIMIT: the arena is full. Returns -1. */
int pack_no_memory(const struct pack *pack);

/* Amounts sorted by resource, each resource once: the last that was set counts, as in a map. */
struct pack_amounts {
	struct resource_amount *rows;
	size_t len, capacity;
};

/* Room for @capacity rows; LIMIT beyond LIMIT_RESOURCE_NAMES. */
int pack_amounts_init(struct pack_amounts *amounts, size_t capacity, const struct pack *pack);
/* False where it would be one more than there is room for. */
bool pack_amounts_set(struct pack_amounts *amounts, struct str resource, int64_t count);
/* Takes out what is asked for 0 times. */
void pack_amounts_drop_zeros(struct pack_amounts *amounts);

/* A quantity that is not negative, of @resource. */
int pack_count(struct str resource, struct str text, int64_t *ret_count, struct error *err);

/* The uid of the controlling owner; empty for none. */
struct str pack_owner_uid(const struct wire_list *owners);

/* The first manager besides us that owns a field of the spec; empty for none. */
int pack_foreign_manager(const struct wire_list *managed_fields, const struct pack *pack,
			 struct str *ret_manager);

#endif
