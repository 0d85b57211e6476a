/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_BODY_COMMON_H
#define GPUQOS_API_BODY_COMMON_H

#include "api/body.h"
#include "codec/json_out.h"

/* What the bodies of statuses share. Inside api only. */

/* A quantity of bytes, as the API server would write it. */
void body_add_bytes(struct json_out *out, const char *key, int64_t bytes);

/* The same as columns show it, rounded to Mi. */
void body_add_shown(struct json_out *out, const char *key, int64_t bytes, bool up);

void body_add_condition(struct json_out *out, const char *type, const struct condition *condition,
			int64_t generation);

/* "throttle" of a TenantQoS. */
void body_add_throttle(struct json_out *out, const struct throttle *throttle);

/* "ownerReferences": the one that controls. */
void body_add_owner(struct json_out *out, const struct body_owner *owner);

#endif
