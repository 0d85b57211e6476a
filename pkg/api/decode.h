/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_DECODE_H
#define GPUQOS_API_DECODE_H

#include <stdbool.h>

#include "codec/schema.h"

/* An object as it came: a bare protobuf message (no envelope) or JSON text. Borrowed. */
struct api_bytes {
	struct str text;
	bool protobuf;
};

/* Through the one field table that serves both; errors as pb_decode() and json_decode(). */
int api_decode(const struct schema *schema, struct api_bytes bytes, struct arena *arena,
	       void *ret_object, struct error *err);

/* The object in a whole answer: takes a protobuf body out of its envelope. Borrowed from @body. */
int api_open_answer(struct str body, bool protobuf, struct api_bytes *ret_bytes, struct error *err);

#endif
