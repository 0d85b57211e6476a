/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_UTF8_H
#define GPUQOS_BASE_UTF8_H

#include <stddef.h>

#include "base/str.h"

/*
 * UTF-8 by the Unicode Standard, table 3-7: no overlong forms, no surrogates, nothing above
 * U+10FFFF. What leaves the program as JSON or as a metric must be valid; what comes in need not
 * be.
 */
#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, for each byte that belongs to no character */

/* The length, 1 to 4, of the character that @s starts with; 0 when it is none or @s is empty. */
size_t utf8_length(struct str s);

/* Whether all of @s is UTF-8. Fast where it is ASCII. */
bool utf8_valid(struct str s);

/*
 * For texts that are cut: @s without a character that its end left incomplete, and the longest
 * start of @s of at most @max bytes that ends between two characters. Half a character would spoil
 * the whole document that it stands in.
 */
struct str utf8_whole(struct str s);
struct str utf8_prefix(struct str s, size_t max);

#endif
