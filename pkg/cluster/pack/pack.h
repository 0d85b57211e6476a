/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_PACK_PACK_H
#define GPUQOS_CLUSTER_PACK_PACK_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/observed.h"
#include "model/tenant.h"

/*
 * The small objects as bytes: one block each, a few hundred bytes where the structs take thousands,
 * and equal objects are equal bytes. Not packed: namespace, name and resource_version, which the
 * record has. Amounts are sorted by name. The format is this program's own and never leaves it.
 */

/* Overflow of @ret_bytes is the caller's to check. */
void pack_quota(const struct quota_facts *facts, struct buf *ret_bytes);
void pack_resource_quota(const struct resource_quota_facts *facts, struct buf *ret_bytes);
void pack_limit_range(const struct limit_range_facts *facts, struct buf *ret_bytes);
/* But its selector and its receipts. */
void pack_tenant(const struct tenant_facts *facts, struct buf *ret_bytes);
void pack_receipts(const struct receipt *receipts, size_t n, struct buf *ret_bytes);
void pack_binding(const struct binding_facts *facts, struct buf *ret_bytes);
void pack_label_selector(const struct label_selector *selector, struct buf *ret_bytes);
void pack_labels(const struct label *labels, size_t n, struct buf *ret_bytes);

/*
 * The reverse. Texts are borrowed from @bytes, arrays from @arena. False when the arena is full.
 */
bool unpack_quota(struct str bytes, struct arena *arena, struct quota_facts *ret_facts);
bool unpack_resource_quota(struct str bytes, struct arena *arena,
			   struct resource_quota_facts *ret_facts);
bool unpack_limit_range(struct str bytes, struct arena *arena, struct limit_range_facts *ret_facts);
bool unpack_tenant(struct str bytes, struct arena *arena, struct tenant_facts *ret_facts);
bool unpack_receipts(struct str bytes, struct arena *arena, const struct receipt **ret_receipts,
		     size_t *ret_len);
bool unpack_binding(struct str bytes, struct arena *arena, struct binding_facts *ret_facts);
bool unpack_label_selector(struct str bytes, struct arena *arena,
			   struct label_selector *ret_selector);
bool unpack_labels(struct str bytes, struct arena *arena, const struct label **ret_labels,
		   size_t *ret_len);

/* A copy on the heap of what was packed; for mem_free(). */
char *pack_copy(struct str bytes) MUST_CHECK;

/* The uid alone: the first thing in all packed objects that have one. Borrowed. */
struct str unpack_uid(struct str bytes);

#endif
