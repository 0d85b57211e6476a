/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_JSON_TEXT_H
#define GPUQOS_CODEC_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/*
 * What stands between the quotes of a JSON string. Inside of codec/json_pull.h.
 *
 * Goes from @at to the closing quote and returns its address; or that of the first byte which may
 * not stand there: a control character, no UTF-8, a malformed escape, half a surrogate pair,
 * U+0000; or @end.
 */
const char *json_text_scan(const char *at, const char *end, bool *ret_escaped);

/*
 * The text that @raw, which was scanned, stands for. Each escape is longer than its character, so
 * that raw.len bytes are room enough. Returns the length.
 */
size_t json_text_unescape(struct str raw, char *ret_text);

#endif
