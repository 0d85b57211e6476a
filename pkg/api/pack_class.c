/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device classes, and as much of the Common Expression Language as tells what a class is for sure.
 * An expression is cut at its outermost "&&"; each term must hold, so that a term which is not
 * understood can be passed over. That is not so beside "||" or "?", nor where the cut may be wrong:
 * such an expression is passed over whole.
 */
#include "api/pack.h"
#include "api/pack_common.h"
#include "api/pack_dra.h"
#include "base/limits.h"
#include "base/macros.h"

#define MOST_PARENTHESES 8 /* around each other */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static struct str trim(struct str s)
{
	while (s.len > 0 && is_blank(s.data[0]))
		s = str_skip(s, 1);
	while (s.len > 0 && is_blank(s.data[s.len - 1]))
		s.len--;
	return s;
}

/* --- cutting */

/* The length of the string literal at the start of @s; 0 where it is not a plain one. */
static size_t literal_length(struct str s)
{
	const char *end = memchr(s.data + 1, s.data[0], s.len - 1);
	size_t len = end ? (size_t)(end - s.data) + 1 : 0;

	/* three quotes in a row begin another kind of string */
	if (len == 2 && s.len > 2 && s.data[2] == s.data[0])
		return 0;
	return end && !memchr(s.data, '\\', len) ? len : 0;
}

enum cut { CUT_END, CUT_AND, CUT_NOT_READ };

static int depth_change(char c)
{
	if (c == '(' || c == '[' || c == '{')
		return 1;
	return c == ')' || c == ']' || c == '}' ? -1 : 0;
}

/* The first term of @s, and behind its "&&" the rest. */
static enum cut cut_term(struct str s, struct str *ret_term, struct str *ret_rest)
{
	size_t i = 0;
	int depth = 0;

	while (i < s.len) {
		struct str rest = str_skip(s, i);
		char c = rest.data[0];
		size_t step = 1;

		if (c == '"' || c == '\'') {
			step = literal_length(rest);
		} else if (c == '\\' || str_starts_with(rest, STR("//"))) {
			step = 0;
		} else if (depth == 0 && (c == '?' || str_starts_with(rest, STR("||")))) {
			step = 0;
		} else if (depth == 0 && str_starts_with(rest, STR("&&"))) {
			*ret_term = (struct str){s.data, i};
			*ret_rest = str_skip(rest, 2);
			return CUT_AND;
		}
		depth += depth_change(c);
		if (step == 0 || depth < 0)
			return CUT_NOT_READ;
		i += step;
	}
	*ret_term = s;
	*ret_rest = STR_NONE;
	return depth == 0 ? CUT_END : CUT_NOT_READ;
}

static bool can_be_read(struct str expression)
{
	struct str term;
	enum cut cut;

	do
		cut = cut_term(expression, &term, &expression);
	while (cut == CUT_AND);
	return cut == CUT_END;
}

/* --- terms */

static bool take(struct str *s, struct str token)
{
	*s = trim(*s);
	if (!str_starts_with(*s, token))
		return false;
	*s = str_skip(*s, token.len);
	return true;
}

static bool take_literal(struct str *s, struct str *ret_text)
{
	size_t len;

	*s = trim(*s);
	if (str_empty(*s) || (s->data[0] != '"' && s->data[0] != '\''))
		return false;
	len = literal_length(*s);
	if (len == 0)
		return false;
	*ret_text = (struct str){s->data + 1, len - 2};
	*s = str_skip(*s, len);
	return true;
}

/* == "text", and nothing behind it. */
static bool take_value(struct str *s, struct str *ret_text)
{
	struct str text;

	if (!take(s, STR("==")) || !take_literal(s, &text) || !str_empty(trim(*s)) ||
	    str_empty(text) || text.len > LIMIT_NAME)
		return false;
	*ret_text = text;
	return true;
}

static void read_term(struct str term, struct class_facts *facts)
{
	struct str domain, type;

	if (!take(&term, STR("device")) || !take(&term, STR(".")))
		return;
	if (take(&term, STR("driver"))) {
		take_value(&term, &facts->driver);
		return;
	}
	if (!take(&term, STR("attributes")) || !take(&term, STR("[")) ||
	    !take_literal(&term, &domain) || !take(&term, STR("]")) || !take(&term, STR(".")) ||
	    !take(&term, STR("type")) || domain.len > LIMIT_NAME || !take_value(&term, &type))
		return;
	facts->type_domain = domain;
	facts->type = type;
}

/* Whether the last bracket of a term closes its first one: its inside then. */
static bool is_wrapped(struct str term, struct str *ret_inside)
{
	struct str inside, rest;
	int depth = 0;

	if (term.len < 2 || term.data[0] != '(' || term.data[term.len - 1] != ')')
		return false;
	inside = rest = (struct str){term.data + 1, term.len - 2};
	while (rest.len > 0) {
		bool quote = rest.data[0] == '"' || rest.data[0] == '\'';
		size_t step = quote ? literal_length(rest) : 1;

		depth += depth_change(rest.data[0]);
		if (step == 0 || depth < 0)
			return false; /* "(a) && (b)" is not one whole */
		rest = str_skip(rest, step);
	}
	*ret_inside = inside;
	return true;
}

static void read_expression(struct str expression, int parentheses, struct class_facts *facts)
{
	enum cut cut;

	if (parentheses > MOST_PARENTHESES || !can_be_read(expression))
		return;
	do {
		struct str term, inside;

		cut = cut_term(expression, &term, &expression);
		if (cut == CUT_NOT_READ)
			return;
		term = trim(term);
		if (is_wrapped(term, &inside))
			read_expression(inside, parentheses + 1, facts);
		else
			read_term(term, facts);
	} while (cut == CUT_AND);
}

int api_pack_class(const struct wire_class *wire, struct class_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct class_facts facts = {
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.created_us = meta->creation_us,
		.extended_resource = wire->spec.extended_resource,
	};

	if (pack_check_meta(meta, err) < 0)
		return pack_locate(err, "DeviceClass", meta);
	if (facts.extended_resource.len > LIMIT_INTERNED_STRING) {
		error_set(err, ERROR_LIMIT, "extendedResourceName has more than %d bytes",
			  LIMIT_INTERNED_STRING);
		return pack_locate(err, "DeviceClass", meta);
	}
	wire_for_each(const struct wire_device_selector, selector, wire->spec.selectors)
		read_expression(selector->cel.expression, 0, &facts);
	*ret_facts = facts;
	return 0;
}
