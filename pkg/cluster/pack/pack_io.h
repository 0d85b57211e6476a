/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_PACK_PACK_IO_H
#define GPUQOS_CLUSTER_PACK_PACK_IO_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/labels.h"
#include "model/quota.h"

/*
 * What cluster/pack/pack.h is made of: one writer and one reader for each sort of value. A reader
 * is only ever given what the writers wrote, and asserts that.
 */
void pack_put_int(struct buf *buf, int64_t value);
void pack_put_str(struct buf *buf, struct str s);
void pack_put_strs(struct buf *buf, const struct str *strs, size_t n);
void pack_put_labels(struct buf *buf, const struct label *labels, size_t n);
void pack_put_selector(struct buf *buf, const struct label_selector *selector);
/* Sorted by name. */
void pack_put_amounts(struct buf *buf, const struct resource_amount *amounts, size_t n);
void pack_put_condition(struct buf *buf, const struct condition *condition);

/* What objects of ours begin with; borrowed. */
struct pack_object {
	struct str uid;
	int64_t created_us, generation;
	bool terminating;
	const char *invalid; /* or NULL */
	bool has_status;
};

void pack_put_object(struct buf *buf, const struct pack_object *object);

struct pack_reader {
	struct str rest;
	struct arena *arena; /* borrowed */
	bool full;           /* the arena is */
};

int64_t pack_get_int(struct pack_reader *reader);
struct str pack_get_str(struct pack_reader *reader); /* terminated, borrowed from the bytes */
struct pack_object pack_get_object(struct pack_reader *reader);
/* NULL, and the reader marked, when the arena is full; the values are then to be read all the same.
 */
void *pack_get_memory(struct pack_reader *reader, size_t n, size_t size);
const struct str *pack_get_strs(struct pack_reader *reader, size_t *ret_n);
const struct label *pack_get_labels(struct pack_reader *reader, size_t *ret_n);
void pack_get_selector(struct pack_reader *reader, struct label_selector *selector);
const struct resource_amount *pack_get_amounts(struct pack_reader *reader, size_t *ret_len);
void pack_get_condition(struct pack_reader *reader, struct condition *condition);

#endif
