/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact arithmetic on the digits of the text: no floating point, and no assumption about how many
 * digits there are. A text is cut into sign, digits before and after the point, and a scale that is
 * a power of two or of ten; the magnitude is computed in 64 bits with a check at every step.
 */
#include "api/quantity.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/macros.h"
#include "model/amount.h"

struct number {
	bool negative;
	struct str whole, fraction; /* digits */
};

struct scale {
	bool binary;
	int64_t exponent; /* of 2 or of 10 */
};

static const struct {
	const char *text;
	struct scale scale;
} suffixes[] = {
	{"", {false, 0}},   {"n", {false, -9}}, {"u", {false, -6}}, {"m", {false, -3}},
	{"k", {false, 3}},  {"M", {false, 6}},  {"G", {false, 9}},  {"T", {false, 12}},
	{"P", {false, 15}}, {"E", {false, 18}}, {"Ki", {true, 10}}, {"Mi", {true, 20}},
	{"Gi", {true, 30}}, {"Ti", {true, 40}}, {"Pi", {true, 50}}, {"Ei", {true, 60}},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct str take_digits(struct str *rest)
{
	size_t len = 0;
	struct str digits;

	while (len < rest->len && is_digit(rest->data[len]))
		len++;
	digits = (struct str){rest->data, len};
	*rest = str_skip(*rest, len);
	return digits;
}

static bool take_number(struct str *rest, struct number *number)
{
	if (rest->len > 0 && (*rest->data == '-' || *rest->data == '+')) {
		number->negative = *rest->data == '-';
		*rest = str_skip(*rest, 1);
	}
	number->whole = take_digits(rest);
	if (rest->len > 0 && *rest->data == '.') {
		*rest = str_skip(*rest, 1);
		number->fraction = take_digits(rest);
	}
	return number->whole.len + number->fraction.len > 0;
}

/* An exponent beyond this makes any number of QUANTITY_TEXT_MAX digits 0 or too large. */
#define EXPONENT_MAX 1000

/* What follows "e" or "E": a sign, then at least one digit. */
static bool read_exponent(struct str text, int64_t *ret_exponent)
{
	bool negative = text.len > 0 && *text.data == '-';
	int64_t exponent = 0;
	size_t i;

	if (text.len > 0 && (*text.data == '-' || *text.data == '+'))
		text = str_skip(text, 1);
	if (text.len == 0)
		return false;
	for (i = 0; i < text.len; i++) {
		if (!is_digit(text.data[i]))
			return false;
		exponent = MIN(exponent * 10 + (text.data[i] - '0'), EXPONENT_MAX);
	}
	*ret_exponent = negative ? -exponent : exponent;
	return true;
}

static bool read_scale(struct str suffix, struct scale *ret_scale)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (str_equal(suffix, str_from(suffixes[i].text))) {
			*ret_scale = suffixes[i].scale;
			return true;
		}
	}
	ret_scale->binary = false;
	return suffix.len > 1 && (*suffix.data == 'e' || *suffix.data == 'E') &&
	       read_exponent(str_skip(suffix, 1), &ret_scale->exponent);
}

static bool push_digit(uint64_t *magnitude, unsigned int digit)
{
	return !__builtin_mul_overflow(*magnitude, 10, magnitude) &&
	       !__builtin_add_overflow(*magnitude, digit, magnitude);
}

/* The digits of both parts as one row; @place counts from its left. */
static unsigned int digit_at(const struct number *number, size_t place)
{
	size_t whole = number->whole.len;
	char c = place < whole ? number->whole.data[place] : number->fraction.data[place - whole];

	return (unsigned int)(c - '0');
}

/* Moves the point by @exponent places; what is then left behind it counts as one more if not zero.
 */
static bool scale_by_ten(const struct number *number, int64_t exponent, uint64_t *ret_magnitude)
{
	int64_t digits = (int64_t)(number->whole.len + number->fraction.len);
	int64_t point = (int64_t)number->whole.len + exponent;
	uint64_t magnitude = 0;
	bool more = false;
	int64_t i;

	for (i = 0; i < MAX(point, digits); i++) {
		unsigned int digit = i < digits ? digit_at(number, (size_t)i) : 0;

		if (i >= point)
			more = more || digit != 0;
		else if (!push_digit(&magnitude, digit))
			return false;
	}
	return !__builtin_add_overflow(magnitude, more, ret_magnitude);
}

/* Doubles the number @bits times; a carry out of the fraction's digits goes into the whole. */
static bool scale_by_two(const struct number *number, int64_t bits, uint64_t *ret_magnitude)
{
	unsigned char fraction[QUANTITY_TEXT_MAX] = {0};
	size_t len = number->fraction.len;
	uint64_t magnitude = 0;
	bool more = false;
	size_t i;

	for (i = 0; i < number->whole.len; i++)
		if (!push_digit(&magnitude, digit_at(number, i)))
			return false;
	for (i = 0; i < len; i++)
		fraction[i] = (unsigned char)(number->fraction.data[i] - '0');
	for (; bits > 0; bits--) {
		unsigned int carry = 0;

		for (i = len; i > 0; i--) {
			unsigned int doubled = fraction[i - 1] * 2u + carry;

			fraction[i - 1] = (unsigned char)(doubled % 10);
			carry = doubled / 10;
		}
		if (__builtin_mul_overflow(magnitude, 2, &magnitude))
			return false;
		magnitude |= carry;
	}
	for (i = 0; i < len; i++)
		more = more || fraction[i] != 0;
	return !__builtin_add_overflow(magnitude, more, ret_magnitude);
}

/* Of binary scales none is told in millionths. */
static bool parse(struct str text, int64_t exponent, int64_t *ret_value)
{
	struct number number = {0};
	struct scale scale = {0};
	uint64_t magnitude = 0;

	if (str_empty(text) || text.len > QUANTITY_TEXT_MAX)
		return false;
	if (!take_number(&text, &number) || !read_scale(text, &scale))
		return false;
	if (scale.binary && exponent != 0)
		return false;
	scale.exponent += exponent;
	if (!(scale.binary ? scale_by_two : scale_by_ten)(&number, scale.exponent, &magnitude))
		return false;
	if (number.negative && magnitude == (uint64_t)INT64_MAX + 1) {
		*ret_value = INT64_MIN;
		return true;
	}
	if (magnitude > INT64_MAX)
		return false;
	*ret_value = number.negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return true;
}

bool quantity_parse(struct str text, int64_t *ret_value)
{
	return parse(text, 0, ret_value);
}

bool quantity_parse_millionths(struct str text, int64_t *ret_value)
{
	return parse(text, 6, ret_value);
}

size_t quantity_format_bytes(int64_t bytes, char ret_text[QUANTITY_TEXT_SIZE])
{
	static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	size_t unit = 0;

	while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < ARRAY_SIZE(units)) {
		bytes /= 1024;
		unit++;
	}
	return (size_t)snprintf(ret_text, QUANTITY_TEXT_SIZE, "%" PRId64 "%s", bytes, units[unit]);
}

size_t quantity_format_shown(int64_t bytes, bool up, char ret_text[QUANTITY_TEXT_SIZE])
{
	int64_t rest = bytes % MIB;

	bytes -= rest;
	if (up && rest > 0 && bytes <= INT64_MAX - MIB)
		bytes += MIB;
	return quantity_format_bytes(bytes, ret_text);
}

size_t quantity_format_count(int64_t count, char ret_text[QUANTITY_TEXT_SIZE])
{
	return (size_t)snprintf(ret_text, QUANTITY_TEXT_SIZE, "%" PRId64, count);
}
