/* SPDX-License-Identifier: Apache-2.0 */
/* Borrowed text. Lengths rule: a zero byte is a byte like any other. */
#include "base/str.h"

#include "base/macros.h"

int str_compare(struct str a, struct str b)
{
	size_t common = MIN(a.len, b.len);
	int order = common > 0 ? memcmp(a.data, b.data, common) : 0;

	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

bool str_starts_with(struct str s, struct str prefix)
{
	return prefix.len == 0 ||
	       (s.len >= prefix.len && memcmp(s.data, prefix.data, prefix.len) == 0);
}

bool str_ends_with(struct str s, struct str suffix)
{
	if (suffix.len == 0)
		return true;
	return s.len >= suffix.len &&
	       memcmp(s.data + (s.len - suffix.len), suffix.data, suffix.len) == 0;
}

bool str_split(struct str s, char separator, struct str *ret_head, struct str *ret_tail)
{
	const char *at = s.len > 0 ? memchr(s.data, separator, s.len) : NULL;
	size_t head = at ? (size_t)(at - s.data) : s.len;

	*ret_head = (struct str){s.data, head};
	*ret_tail = at ? (struct str){at + 1, s.len - head - 1} : STR_NONE;
	return at != NULL;
}

/* Counts down from zero, because the negative side has one number more. */
bool str_to_int64(struct str s, int64_t min, int64_t max, int64_t *ret_value)
{
	bool negative = s.len > 0 && s.data[0] == '-';
	size_t i = negative ? 1 : 0;
	int64_t value = 0;

	if (i == s.len)
		return false;
	for (; i < s.len; i++) {
		if (s.data[i] < '0' || s.data[i] > '9')
			return false;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, s.data[i] - '0', &value))
			return false;
	}
	if (!negative && __builtin_sub_overflow(0, value, &value))
		return false;
	if (value < min || value > max)
		return false;
	*ret_value = value;
	return true;
}
