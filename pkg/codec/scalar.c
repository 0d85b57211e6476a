/* SPDX-License-Identifier: Apache-2.0 */
/* Plain scalars: a table of words, and numbers of two kinds. Underscores in numbers do not count.
 */
#include "codec/scalar.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/macros.h"

#define LONGEST_WORD 5

static const struct {
	enum scalar_class class;
	const char *words; /* one behind the other, each with a blank before and after it */
} words[] = {
	{SCALAR_NULL, " ~ null Null NULL "},
	{SCALAR_TRUE, " y Y yes Yes YES true True TRUE on On ON "},
	{SCALAR_FALSE, " n N no No NO false False FALSE off Off OFF "},
	{SCALAR_NOT_FINITE, " .nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF "},
};

/* Reads a number over the underscores in it. */
struct digits {
	struct str rest;
};

/* The next character, or 0 at the end. */
static char peek(struct digits *digits)
{
	while (digits->rest.len > 0 && *digits->rest.data == '_')
		digits->rest = str_skip(digits->rest, 1);
	return digits->rest.len > 0 ? *digits->rest.data : '\0';
}

static char next(struct digits *digits)
{
	char c = peek(digits);

	if (c)
		digits->rest = str_skip(digits->rest, 1);
	return c;
}

static bool take_sign(struct digits *digits)
{
	bool negative = peek(digits) == '-';

	if (negative || peek(digits) == '+')
		next(digits);
	return negative;
}

/* Passes the prefix of an integer; a lone 0 stands for itself. */
static int take_base(struct digits *digits)
{
	struct digits ahead = *digits;
	char letter;

	if (next(&ahead) != '0' || !peek(&ahead))
		return 10;
	letter = (char)(peek(&ahead) | 0x20);
	*digits = ahead;
	if (letter != 'x' && letter != 'o' && letter != 'b')
		return 8;
	next(digits);
	return letter == 'x' ? 16 : letter == 'o' ? 8 : 2;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* An integer that 64 bits hold, signed or, where it has no sign, unsigned. */
static bool read_int(struct str plain, uint64_t *ret_magnitude, bool *ret_negative)
{
	struct digits digits = {plain};
	bool is_signed = plain.data[0] == '-' || plain.data[0] == '+';
	bool negative = take_sign(&digits);
	int base = take_base(&digits);
	uint64_t magnitude = 0, most = UINT64_MAX;

	if (is_signed)
		most = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
	if (!peek(&digits))
		return false;
	while (peek(&digits)) {
		int digit = str_hex_digit(next(&digits));

		if (digit < 0 || digit >= base ||
		    __builtin_mul_overflow(magnitude, base, &magnitude) ||
		    __builtin_add_overflow(magnitude, digit, &magnitude))
			return false;
	}
	*ret_magnitude = magnitude;
	*ret_negative = negative;
	return magnitude <= most;
}

/* Passes digits. Those that count, behind leading zeros, go to @out where it is not NULL. */
static size_t take_digits(struct digits *digits, struct buf *out, bool leading)
{
	size_t n = 0;

	for (; is_digit(peek(digits)); n++) {
		char c = next(digits);

		leading = leading && c == '0';
		if (out && !leading)
			buf_add_char(out, c);
	}
	return n;
}

static void add(struct buf *out, char c)
{
	if (out)
		buf_add_char(out, c);
}

/*
 * Passes [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? and writes it in JSON's form, where a
 * digit stands on both sides of the point and no zero leads.
 */
static bool pass_float(struct str plain, struct buf *out)
{
	struct digits digits = {plain};
	size_t whole, before = out ? out->len : 0, fraction = 0;

	if (take_sign(&digits)) {
		add(out, '-');
		before++;
	}
	whole = take_digits(&digits, out, true);
	if (out && out->len == before)
		buf_add_char(out, '0');
	if (peek(&digits) == '.') {
		next(&digits);
		if (is_digit(peek(&digits)))
			add(out, '.');
		fraction = take_digits(&digits, out, false);
	}
	if (whole + fraction == 0)
		return false;
	if ((peek(&digits) | 0x20) == 'e') {
		next(&digits);
		add(out, 'e');
		if (take_sign(&digits))
			add(out, '-');
		if (take_digits(&digits, out, false) == 0)
			return false;
	}
	return !peek(&digits);
}

/* Go takes a number that a double cannot hold for a string. */
static bool is_finite(struct str plain)
{
	struct buf text CLEANUP(buf_clear);
	double number;

	buf_init(&text, plain.len + 2);
	pass_float(plain, &text);
	number = strtod(text.data, NULL);
	return number - number == 0;
}

/* In what begins with a point, underscores may stand between two digits only. */
static bool separates_digits(struct str plain)
{
	size_t i;

	for (i = 1; i < plain.len; i++)
		if (plain.data[i] == '_' && (!is_digit(plain.data[i - 1]) || i + 1 == plain.len ||
					     !is_digit(plain.data[i + 1])))
			return false;
	return true;
}

enum scalar_class scalar_resolve(struct str plain)
{
	char word[LONGEST_WORD + 3] = " ";
	uint64_t magnitude;
	bool negative;
	size_t i;

	if (plain.len == 0)
		return SCALAR_NULL;
	if (plain.len <= LONGEST_WORD && !memchr(plain.data, ' ', plain.len)) {
		memcpy(word + 1, plain.data, plain.len);
		word[plain.len + 1] = ' ';
		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (strstr(words[i].words, word))
				return words[i].class;
	}
	if (plain.data[0] == '_' || (plain.data[0] == '.' && !separates_digits(plain)))
		return SCALAR_STRING;
	if (read_int(plain, &magnitude, &negative))
		return SCALAR_INT;
	return pass_float(plain, NULL) && is_finite(plain) ? SCALAR_FLOAT : SCALAR_STRING;
}

void scalar_write_number(struct buf *out, struct str plain)
{
	size_t before = out->len;
	uint64_t magnitude;
	bool negative;

	if (read_int(plain, &magnitude, &negative)) {
		buf_printf(out, "%s%" PRIu64, negative && magnitude > 0 ? "-" : "", magnitude);
		return;
	}
	pass_float(plain, out);
	if (out->len == before + 2 && memcmp(out->data + before, "-0", 2) == 0) {
		out->len = before; /* an integer has no sign at zero */
		buf_add_char(out, '0');
	}
}
