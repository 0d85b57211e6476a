/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_TEXTS_H
#define GPUQOS_CLUSTER_TEXTS_H

#include "base/hash.h"
#include "base/map.h"
#include "base/str.h"
#include "base/table.h"

/*
 * Packed bytes of any length, each distinct one once with a reference count, named by a handle:
 * what is alike in thousands of pods and too long to be interned.
 */
struct texts {
	struct table records;
	struct map by_value;
	struct hash_key key;
};

void texts_init(struct texts *texts, const struct hash_key *key);
void texts_clear(struct texts *texts);

/* With one more reference; TABLE_NONE for what is empty. */
uint32_t texts_ref(struct texts *texts, struct str bytes);
uint32_t texts_ref_handle(struct texts *texts, uint32_t text);
void texts_unref(struct texts *texts, uint32_t text); /* TABLE_NONE is ignored */
/* Borrowed as long as it has a reference; empty of TABLE_NONE. */
struct str texts_str(const struct texts *texts, uint32_t text);
size_t texts_bytes(const struct texts *texts);

#endif
