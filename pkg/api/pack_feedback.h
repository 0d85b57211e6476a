/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_FEEDBACK_H
#define GPUQOS_API_PACK_FEEDBACK_H

#include "api/pack_spec.h"
#include "api/wire_feedback.h"
#include "model/feedback.h"

/* What a TenantQoS says of abnormal use. Inside api only; returns as in api/pack_spec.h. */
int pack_isolation(struct spec_check *check, const struct wire_isolation *wire,
		   struct isolation_spec *ret_spec);
int pack_feedback(struct spec_check *check, const struct wire_feedback *wire,
		  struct feedback_spec *ret_spec);

/* What cannot be read, or does not fit together, is THROTTLE_NOTHING. */
struct throttle pack_throttle(const struct wire_throttle *wire);

#endif
