/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_JSON_OUT_H
#define GPUQOS_CODEC_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Writes one JSON value into a bounded buffer. Commas, quotes and escapes are the writer's
 * business, so text from outside can never become structure; each byte that is not UTF-8 becomes
 * U+FFFD. Begin and end must match, keys are given inside an object and are NULL inside an array
 * and at the top, and nothing nests deeper than JSON_OUT_DEPTH: asserted, since the caller is code,
 * not input. What did not fit shows as buf->overflowed: check once at the end.
 */
#define JSON_OUT_DEPTH 32

struct json_out {
	struct buf *buf;    /* borrowed */
	unsigned int depth; /* of open objects and arrays */
	bool key_open;      /* a key was written by itself: its value comes next */
	bool first[JSON_OUT_DEPTH + 1], in_array[JSON_OUT_DEPTH + 1];
};

void json_out_init(struct json_out *out, struct buf *buf);

void json_out_object(struct json_out *out, const char *key); /* { ... json_out_end() */
void json_out_array(struct json_out *out, const char *key);  /* [ ... json_out_end_array() */
void json_out_end(struct json_out *out);
void json_out_end_array(struct json_out *out);

void json_out_string(struct json_out *out, const char *key, struct str value);
void json_out_cstring(struct json_out *out, const char *key, const char *value); /* NULL: null */
void json_out_int(struct json_out *out, const char *key, int64_t value);
void json_out_bool(struct json_out *out, const char *key, bool value);
void json_out_null(struct json_out *out, const char *key);

/* RFC 3339 in UTC: seconds (metav1.Time), or six digits of fraction (metav1.MicroTime). */
void json_out_time(struct json_out *out, const char *key, int64_t real_us);
void json_out_micro_time(struct json_out *out, const char *key, int64_t real_us);

/* With a key from outside, in an object: json_out_key(), then one value with NULL as key. */
void json_out_key(struct json_out *out, struct str key);
void json_out_pair(struct json_out *out, struct str key, struct str value);

/* A value that is JSON text already, such as a FIELD_RAW that a reader checked. */
void json_out_raw(struct json_out *out, const char *key, struct str text);

#endif
