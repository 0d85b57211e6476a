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

struct uid uid_from(const struct hash_key *key, struct str text);

static inline bool uid_equal(struct uid a, struct uid b)
{
	return a.high == b.high && a.low == b.low;
}

#endif
