/* SPDX-License-Identifier: Apache-2.0 */
/* Uids as numbers. */
#include "cluster/uid.h"

#define HEX_DIGITS 32

static bool parse(struct str text, struct uid *ret_uid)
{
	struct uid uid = {0, 0};

	if (text.len != HEX_DIGITS && text.len != HEX_DIGITS + 4)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		int digit = str_hex_digit(text.data[i]);

		if (text.len > HEX_DIGITS && (i == 8 || i == 13 || i == 18 || i == 23)) {
			if (text.data[i] != '-')
				return false;
			continue;
		}
		if (digit < 0)
			return false;
		uid.high = uid.high << 4 | uid.low >> 60;
		uid.low = uid.low << 4 | (uint64_t)digit;
	}
	*ret_uid = uid;
	return true;
}

struct uid uid_from(const struct hash_key *key, struct str text)
{
	struct hash_key other = {~key->k0, key->k1};
	struct uid uid;

	if (parse(text, &uid))
		return uid;
	uid.high = hash_bytes(key, text.data, text.len);
	uid.low = hash_bytes(&other, text.data, text.len);
	return uid;
}

void uid_text(struct uid uid, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";
	char *at = ret_text;

	for (unsigned int i = 0; i < HEX_DIGITS; i++) {
		uint64_t half = i < HEX_DIGITS / 2 ? uid.high : uid.low;

		if (i == 8 || i == 12 || i == 16 || i == 20)
			*at++ = '-';
		*at++ = digits[half >> (60 - 4 * (i % 16)) & 15];
	}
	*at = '\0';
}
