/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of JSON: eight bytes at a time while nothing in them is special. */
#include "codec/json_text.h"

#include <endian.h>
#include <stdint.h>

#include "base/utf8.h"

#define ONES UINT64_C(0x0101010101010101)
#define HIGH UINT64_C(0x8080808080808080)

/* How many of eight bytes, from the first, are ASCII and stand for themselves in a string. */
static inline size_t plain_prefix(const char *at)
{
	uint64_t word, quote, backslash, special;

	memcpy(&word, at, sizeof(word));
	word = le64toh(word);
	quote = word ^ ONES * '"';
	backslash = word ^ ONES * '\\';
	/* A borrow reaches only bytes behind a special one, so that the first one found is right.
	 */
	special = (word | (word - ONES * 0x20) | (quote - ONES) | (backslash - ONES)) & HIGH;
	return special ? (size_t)__builtin_ctzll(special) / 8 : sizeof(word);
}

/* The number of four hexadecimal digits, or -1. */
static int32_t hex4(const char *at, const char *end)
{
	int32_t number = 0;
	size_t i;

	if (end - at < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		int digit = str_hex_digit(at[i]);

		if (digit < 0)
			return -1;
		number = number * 16 + digit;
	}
	return number;
}

/* The character of the escape at @at, and the escape's length: 0 when it is malformed. */
static size_t read_escape(const char *at, const char *end, int32_t *ret_character)
{
	static const char letters[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	int32_t low;

	if (end - at < 2)
		return 0;
	if (at[1] != 'u') {
		letter = at[1] ? strchr(letters, at[1]) : NULL;
		*ret_character = letter ? characters[letter - letters] : 0;
		return letter ? 2 : 0;
	}
	*ret_character = hex4(at + 2, end);
	if (*ret_character <= 0 || (*ret_character & 0xfc00) == 0xdc00)
		return 0;
	if ((*ret_character & 0xfc00) != 0xd800)
		return 6;
	low = end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? hex4(at + 8, end) : -1;
	if (low < 0 || (low & 0xfc00) != 0xdc00)
		return 0;
	*ret_character = 0x10000 + ((*ret_character & 0x3ff) << 10) + (low & 0x3ff);
	return 12;
}

/* The length of the character or escape at @at, or 0 when it may not stand in a string. */
static size_t special_length(const char *at, const char *end)
{
	unsigned char c = (unsigned char)*at;
	int32_t character;

	if (c == '\\')
		return read_escape(at, end, &character);
	if (c >= 0x80)
		return utf8_length((struct str){at, (size_t)(end - at)});
	return c >= 0x20;
}

const char *json_text_scan(const char *at, const char *end, bool *ret_escaped)
{
	size_t len;

	*ret_escaped = false;
	for (; at < end && *at != '"'; at += len) {
		len = end - at >= 8 ? plain_prefix(at) : 0;
		if (len > 0)
			continue;
		len = special_length(at, end);
		if (len == 0)
			break;
		*ret_escaped |= *at == '\\';
	}
	return at;
}

static size_t encode(int32_t character, char *at)
{
	if (character < 0x80) {
		at[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		at[0] = (char)(0xc0 | character >> 6);
		at[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		at[0] = (char)(0xe0 | character >> 12);
		at[1] = (char)(0x80 | (character >> 6 & 0x3f));
		at[2] = (char)(0x80 | (character & 0x3f));
		return 3;
	}
	at[0] = (char)(0xf0 | character >> 18);
	at[1] = (char)(0x80 | (character >> 12 & 0x3f));
	at[2] = (char)(0x80 | (character >> 6 & 0x3f));
	at[3] = (char)(0x80 | (character & 0x3f));
	return 4;
}

size_t json_text_unescape(struct str raw, char *ret_text)
{
	const char *at = raw.data, *end = raw.data + raw.len;
	int32_t character = 0;
	size_t len = 0;

	while (at < end) {
		const char *escape = memchr(at, '\\', (size_t)(end - at));
		size_t plain = (size_t)((escape ? escape : end) - at);

		memcpy(ret_text + len, at, plain);
		len += plain;
		at += plain;
		if (escape) {
			at += read_escape(at, end, &character);
			len += encode(character, ret_text + len);
		}
	}
	return len;
}
