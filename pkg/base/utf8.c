/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation by ranges: the second byte's range depends on the first, further bytes are 80 to BF.
 */
#include "base/utf8.h"

#include "base/macros.h"

static const struct {
	unsigned char first_low, first_high, second_low, second_high, length;
} forms[] = {
	{0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
	{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
	{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

static bool tail_is_valid(const unsigned char *bytes, size_t form)
{
	if (forms[form].length == 1)
		return true;
	if (bytes[1] < forms[form].second_low || bytes[1] > forms[form].second_high)
		return false;
	for (size_t i = 2; i < forms[form].length; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return false;
	return true;
}

size_t utf8_length(struct str s)
{
	const unsigned char *bytes = (const unsigned char *)s.data;

	if (s.len == 0)
		return 0;
	for (size_t form = 0; form < ARRAY_SIZE(forms); form++) {
		if (bytes[0] < forms[form].first_low || bytes[0] > forms[form].first_high)
			continue;
		if (s.len < forms[form].length || !tail_is_valid(bytes, form))
			return 0;
		return forms[form].length;
	}
	return 0;
}

/* How many bytes at the start of @s, which is not empty, are ASCII: eight at once, or one. */
static size_t ascii_length(struct str s)
{
	uint64_t word;

	if (s.len < sizeof(word))
		return (unsigned char)*s.data < 0x80;
	memcpy(&word, s.data, sizeof(word));
	return word & UINT64_C(0x8080808080808080) ? 0 : sizeof(word);
}

bool utf8_valid(struct str s)
{
	while (s.len > 0) {
		size_t len = ascii_length(s);

		if (len == 0)
			len = utf8_length(s);
		if (len == 0)
			return false;
		s = str_skip(s, len);
	}
	return true;
}

struct str utf8_whole(struct str s)
{
	size_t start = s.len, width;
	unsigned char lead;

	while (start > 0 && s.len - start < 3 && ((unsigned char)s.data[start - 1] & 0xc0) == 0x80)
		start--;
	if (start == 0)
		return s;
	lead = (unsigned char)s.data[start - 1];
	width = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	if (s.len - (start - 1) < width)
		s.len = start - 1;
	return s;
}

struct str utf8_prefix(struct str s, size_t max)
{
	return s.len <= max ? s : utf8_whole((struct str){s.data, max});
}
