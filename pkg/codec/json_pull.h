/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_JSON_PULL_H
#define GPUQOS_CODEC_JSON_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/*
 * Reads JSON (RFC 8259) one value at a time, in one pass and without a tree, for documents that no
 * struct describes; codec/json.h is built on it. The caller asks for what it expects to come next:
 *
 *	json_pull_object(&pull, err)
 *	while ((more = json_pull_key(&pull, &key, err)) > 0)
 *		str_equal(key, STR("names")) ? read_names(&pull, err)
 *					     : json_pull_skip(&pull, NULL, err);
 *	json_pull_end(&pull, err)
 *
 * All return 0, or -1 with INVALID (other or malformed input, "... at byte 17") or LIMIT (nested
 * deeper than LIMIT_DECODE_DEPTH, in a skipped value LIMIT_SKIP_DEPTH more; no room in the arena).
 * After an error the reader is of no use any more.
 *
 * Strings without escapes point into the text, others into the arena. As in jansson, text must be
 * UTF-8, half a surrogate pair and the character U+0000 are refused, and there is no byte order
 * mark.
 */
enum json_pull_type {
	JSON_PULL_OBJECT,
	JSON_PULL_ARRAY,
	JSON_PULL_STRING,
	JSON_PULL_NUMBER,
	JSON_PULL_BOOL,
	JSON_PULL_NULL,
};

struct json_pull {
	const char *begin, *at, *end; /* borrowed */
	struct arena *arena;          /* borrowed */
	unsigned int depth, deepest;  /* open objects and arrays */
	bool opened;                  /* the last token was { or [ */
};

void json_pull_init(struct json_pull *pull, struct str text, struct arena *arena);

/* What comes next, judged by its first byte. */
int json_pull_peek(struct json_pull *pull, enum json_pull_type *ret_type, struct error *err);

/*
 * Enters an object, and goes to its next key: 1 with the key, whose value must be read next, or 0
 * behind the closing bracket.
 */
int json_pull_object(struct json_pull *pull, struct error *err);
int json_pull_key(struct json_pull *pull, struct str *ret_key, struct error *err);

/* Enters an array, and goes to its next element: 1, and the element must be read next, or 0. */
int json_pull_array(struct json_pull *pull, struct error *err);
int json_pull_element(struct json_pull *pull, struct error *err);

int json_pull_string(struct json_pull *pull, struct str *ret_text, struct error *err);
int json_pull_bool(struct json_pull *pull, bool *ret_value, struct error *err);
int json_pull_null(struct json_pull *pull, struct error *err);

/* A number as its text, of any size and precision, and an integer in [min, max] without fraction.
 */
int json_pull_number(struct json_pull *pull, struct str *ret_text, struct error *err);
int json_pull_int(struct json_pull *pull, int64_t min, int64_t max, int64_t *ret_value,
		  struct error *err);

/* Any value, checked for syntax. @ret_text (or NULL) is its text, without white space around it. */
int json_pull_skip(struct json_pull *pull, struct str *ret_text, struct error *err);

/* Nothing but white space may follow. */
int json_pull_end(struct json_pull *pull, struct error *err);

/* Where the reader is, in bytes from the begin. */
static inline size_t json_pull_offset(const struct json_pull *pull)
{
	return (size_t)(pull->at - pull->begin);
}

#endif
