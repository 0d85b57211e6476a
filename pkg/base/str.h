/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_STR_H
#define GPUQOS_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A borrowed piece of text: not terminated, never owned, valid as long as what it points into. A
 * zeroed one is empty. Print it with "%.*s" and STR_ARGS.
 */
struct str {
	const char *data;
	size_t len;
};

#define STR_ARGS(s)  (int)(s).len, (s).data
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_NONE     ((struct str){NULL, 0})

static inline struct str str_from(const char *s)
{
	return (struct str){s, s ? strlen(s) : 0};
}

static inline bool str_empty(struct str s)
{
	return s.len == 0;
}

static inline bool str_equal(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* What follows the first @n bytes, of which there are as many. */
static inline struct str str_skip(struct str s, size_t n)
{
	return (struct str){s.data + n, s.len - n};
}

/* Byte order, as strcmp. */
int str_compare(struct str a, struct str b);
bool str_starts_with(struct str s, struct str prefix);
bool str_ends_with(struct str s, struct str suffix);

/*
 * Cuts @s at the first @separator: true with both parts set, false with @ret_head = s and an empty
 * tail.
 */
bool str_split(struct str s, char separator, struct str *ret_head, struct str *ret_tail);

/* The value of a hexadecimal digit of either case, or -1. */
static inline int str_hex_digit(char c)
{
	char lower = (char)(c | 0x20);

	if (c >= '0' && c <= '9')
		return c - '0';
	return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/*
 * The whole of @s as a decimal integer in [min, max], no sign but '-', no blanks. False leaves
 * @ret_value untouched.
 */
bool str_to_int64(struct str s, int64_t min, int64_t max, int64_t *ret_value);

#endif
