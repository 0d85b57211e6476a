/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_JSON_H
#define GPUQOS_CODEC_JSON_H

#include "codec/schema.h"

/*
 * Reads one JSON object (RFC 8259) through a schema, without building a tree: keys that the schema
 * does not name are skipped, still checked for syntax. Strings without escapes point into @text,
 * others are unescaped in the arena.
 *
 *  - Null is absence, also as a value in a map; as an element of a list it is refused.
 *  - A key that occurs twice is refused where the schema names it; in a map the last one counts.
 *  - Numbers must be integers within the field's range, without fraction or exponent.
 *  - A quantity may be a number or a string, as the API server accepts both.
 *  - Base64 is the standard alphabet with padding; line breaks in it are passed over, as in Go.
 *
 * Errors: INVALID with type, path and byte offset; LIMIT for depth (LIMIT_DECODE_DEPTH kept,
 * LIMIT_SKIP_DEPTH skipped), list or string length, or arena. As far as the kept fields allow it
 * accepts exactly what jansson's json_loadb() accepts without flags, with two exceptions: a skipped
 * number may be larger than jansson can hold, and a zero byte behind a number, which jansson passes
 * over, is refused. @ret_object (schema->size bytes) is zeroed first; its content after an error is
 * undefined.
 */
int json_decode(const struct schema *schema, struct str text, struct arena *arena, void *ret_object,
		struct error *err);

/*
 * As json_decode(), and a key that the schema does not name is INVALID: for documents that people
 * write for us.
 */
int json_decode_strict(const struct schema *schema, struct str text, struct arena *arena,
		       void *ret_object, struct error *err);

/* The pull reader underneath, for documents that no struct describes, is codec/json_pull.h. */

#endif
