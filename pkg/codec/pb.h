/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_PB_H
#define GPUQOS_CODEC_PB_H

#include "codec/schema.h"

/*
 * Reads protobuf (protobuf.dev/programming-guides/encoding) as Kubernetes writes it. Unknown
 * fields, groups included, are skipped. A later value of a singular field replaces an earlier one;
 * embedded messages merge; list elements add up. Strings and bytes point into @bytes.
 *
 * Errors: INVALID for malformed or truncated bytes, a bad wire type, text that is not UTF-8, a
 * number or time out of range; LIMIT for depth, string or list length or arena. Both name the type
 * and the field's path. @ret_object (schema->size bytes) is zeroed first; its content after an
 * error is undefined.
 */
int pb_decode(const struct schema *schema, struct str bytes, struct arena *arena, void *ret_object,
	      struct error *err);

/*
 * Kubernetes' envelope: the magic, then runtime.Unknown { typeMeta = 1 { apiVersion = 1, kind = 2
 * }, raw = 2, contentEncoding = 3, contentType = 4 }. Raw is the message; an encoding other than
 * none is refused. All outputs are borrowed from @bytes.
 *
 * Objects and lists come in an envelope. A watch event does not: it is a bare message { type = 1,
 * object = 2 { raw = 1 } }, whose raw is an envelope.
 */
#define PB_MAGIC STR("k8s\0")

struct pb_envelope {
	struct str api_version, kind, raw;
};

int pb_open_envelope(struct str bytes, struct pb_envelope *ret_envelope, struct error *err);

/*
 * One field at a time, for readers that have no struct: 1 with a field, 0 at the end, -1 on
 * malformed bytes (INVALID) or groups nested too deep (LIMIT).
 */
struct pb_cursor {
	struct str rest;
};

struct pb_value {
	uint32_t tag;
	uint32_t wire_type; /* 0 varint, 1 fixed64, 2 bytes, 5 fixed32; groups are skipped */
	uint64_t number;    /* of types 0, 1, 5; negative ones as two's complement */
	struct str bytes;   /* of type 2 */
};

int pb_next(struct pb_cursor *cursor, struct pb_value *ret_value, struct error *err);

#endif
