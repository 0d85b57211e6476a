/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_UID_H
#define GPUQOS_CLUSTER_UID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/str.h"

/*
 * A uid in 16 bytes: a UUID as such, with or without dashes; any other text (static pods once had
 * such) by a hash of 128 bits, which is enough to tell two apart.
 */
struct uid {
	uint64_t high, low;
};

/*
 * As the API server writes it, 8-4-4-4-12; of any other text than a UUID one that no object has.
 */
#define UID_TEXT_SIZE 37
void uid_text(struct uid uid, char *ret_text);

struct uid uid_from(const struct hash_key *key, struct str text);

static inline bool uid_equal(struct uid a, struct uid b)
{
	return a.high == b.high && a.low == b.low;
}

#endif
