/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_STATUS_H
#define GPUQOS_API_PACK_STATUS_H

#include "api/wire_quota.h"
#include "model/quota.h"

/*
 * What reading back the statuses of our types has in common. Inside api only. A status is a record
 * of what we said, not a source of truth: what cannot be read makes it count as absent, and so be
 * written anew.
 */

/* A condition but for its type; false where this version does not know the reason. */
bool pack_condition(const struct wire_condition *wire, struct condition *ret_condition);

/* A quantity that is not negative. */
bool pack_bytes(struct str text, int64_t *ret_bytes);

struct pack_bytes_field {
	struct str text;
	int64_t *ret_bytes;
};

/* All of them. */
bool pack_bytes_fields(const struct pack_bytes_field *fields, size_t n_fields);

/* Whether none is negative. */
bool pack_counts_sane(const int64_t *counts, size_t n_counts);

#endif
