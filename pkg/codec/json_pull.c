/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pull reader. It holds no stack: who asks for keys and elements knows whether it is in an
 * object or an array. Strings are checked in full when they are passed, whether they are kept or
 * not.
 */
#include "codec/json_pull.h"

#include "base/limits.h"
#include "codec/json_text.h"

void json_pull_init(struct json_pull *pull, struct str text, struct arena *arena)
{
	const char *begin = text.data ? text.data : "";

	*pull = (struct json_pull){
		.begin = begin,
		.at = begin,
		.end = begin + text.len,
		.arena = arena,
		.deepest = LIMIT_DECODE_DEPTH,
	};
}

static int expected(const struct json_pull *pull, const char *what, struct error *err)
{
	return error_set(err, ERROR_INVALID, "%sexpected %s at byte %zu",
			 pull->at == pull->end ? "truncated: " : "", what, json_pull_offset(pull));
}

static inline void skip_space(struct json_pull *pull)
{
	while (pull->at < pull->end &&
	       (*pull->at == ' ' || *pull->at == '\n' || *pull->at == '\r' || *pull->at == '\t'))
		pull->at++;
}

/* Passes @c, perhaps behind white space. */
static inline bool take(struct json_pull *pull, char c)
{
	skip_space(pull);
	if (pull->at == pull->end || *pull->at != c)
		return false;
	pull->at++;
	return true;
}

/* --- strings */

/* Passes a string: what stands between its quotes, and whether that has escapes. */
static int scan_string(struct json_pull *pull, struct str *ret_raw, bool *ret_escaped,
		       struct error *err)
{
	const char *begin;

	if (!take(pull, '"'))
		return expected(pull, "a string", err);
	begin = pull->at;
	pull->at = json_text_scan(begin, pull->end, ret_escaped);
	if (pull->at == pull->end || *pull->at != '"')
		return expected(pull, "a string to go on or end", err);
	*ret_raw = (struct str){begin, (size_t)(pull->at - begin)};
	pull->at++;
	pull->opened = false;
	return 0;
}

static int unescape(struct json_pull *pull, struct str raw, struct str *ret_text, struct error *err)
{
	char *text = arena_alloc(pull->arena, raw.len);

	if (!text)
		return error_set(err, ERROR_LIMIT, "takes more than %zu bytes of memory",
				 pull->arena->limit);
	*ret_text = (struct str){text, json_text_unescape(raw, text)};
	return 0;
}

int json_pull_string(struct json_pull *pull, struct str *ret_text, struct error *err)
{
	bool escaped;
	struct str raw;

	if (scan_string(pull, &raw, &escaped, err) < 0)
		return -1;
	if (escaped)
		return unescape(pull, raw, ret_text, err);
	*ret_text = raw;
	return 0;
}

/* --- numbers and words */

static size_t take_digits(struct json_pull *pull)
{
	const char *begin = pull->at;

	while (pull->at < pull->end && *pull->at >= '0' && *pull->at <= '9')
		pull->at++;
	return (size_t)(pull->at - begin);
}

static bool is_next(const struct json_pull *pull, char a, char b)
{
	return pull->at < pull->end && (*pull->at == a || *pull->at == b);
}

int json_pull_number(struct json_pull *pull, struct str *ret_text, struct error *err)
{
	const char *begin;

	skip_space(pull);
	begin = pull->at;
	if (is_next(pull, '-', '-'))
		pull->at++;
	if (is_next(pull, '0', '0'))
		pull->at++;
	else if (take_digits(pull) == 0)
		return expected(pull, "a number", err);
	if (is_next(pull, '.', '.')) {
		pull->at++;
		if (take_digits(pull) == 0)
			return expected(pull, "a digit", err);
	}
	if (is_next(pull, 'e', 'E')) {
		pull->at++;
		if (is_next(pull, '+', '-'))
			pull->at++;
		if (take_digits(pull) == 0)
			return expected(pull, "a digit", err);
	}
	pull->opened = false;
	*ret_text = (struct str){begin, (size_t)(pull->at - begin)};
	return 0;
}

int json_pull_int(struct json_pull *pull, int64_t min, int64_t max, int64_t *ret_value,
		  struct error *err)
{
	size_t offset;
	struct str text;

	skip_space(pull);
	offset = json_pull_offset(pull);
	if (json_pull_number(pull, &text, err) < 0)
		return -1;
	if (!str_to_int64(text, min, max, ret_value))
		return error_set(err, ERROR_INVALID, "number out of range at byte %zu", offset);
	return 0;
}

static bool take_word(struct json_pull *pull, struct str word)
{
	skip_space(pull);
	if (!str_starts_with((struct str){pull->at, (size_t)(pull->end - pull->at)}, word))
		return false;
	pull->at += word.len;
	pull->opened = false;
	return true;
}

int json_pull_bool(struct json_pull *pull, bool *ret_value, struct error *err)
{
	bool is_true = take_word(pull, STR("true"));

	if (!is_true && !take_word(pull, STR("false")))
		return expected(pull, "true or false", err);
	*ret_value = is_true;
	return 0;
}

int json_pull_null(struct json_pull *pull, struct error *err)
{
	return take_word(pull, STR("null")) ? 0 : expected(pull, "null", err);
}

/* --- structure */

int json_pull_peek(struct json_pull *pull, enum json_pull_type *ret_type, struct error *err)
{
	char c;

	skip_space(pull);
	c = pull->at < pull->end ? *pull->at : '\0';
	if (c == '{')
		*ret_type = JSON_PULL_OBJECT;
	else if (c == '[')
		*ret_type = JSON_PULL_ARRAY;
	else if (c == '"')
		*ret_type = JSON_PULL_STRING;
	else if (c == '-' || (c >= '0' && c <= '9'))
		*ret_type = JSON_PULL_NUMBER;
	else if (c == 't' || c == 'f')
		*ret_type = JSON_PULL_BOOL;
	else if (c == 'n')
		*ret_type = JSON_PULL_NULL;
	else
		return expected(pull, "a value", err);
	return 0;
}

static int open_level(struct json_pull *pull, char bracket, const char *what, struct error *err)
{
	if (!take(pull, bracket))
		return expected(pull, what, err);
	if (++pull->depth > pull->deepest)
		return error_set(err, ERROR_LIMIT, "nested deeper than %u at byte %zu",
				 pull->deepest, json_pull_offset(pull));
	pull->opened = true;
	return 0;
}

/* Before the next entry of an object or array: 1, or 0 when @bracket closed it. */
static int next_entry(struct json_pull *pull, char bracket, const char *what, struct error *err)
{
	bool first = pull->opened;

	if (take(pull, bracket)) {
		pull->depth--;
		pull->opened = false;
		return 0;
	}
	if (!first && !take(pull, ','))
		return expected(pull, what, err);
	pull->opened = false;
	return 1;
}

static int next_key(struct json_pull *pull, struct str *ret_raw, bool *ret_escaped,
		    struct error *err)
{
	int more = next_entry(pull, '}', "a comma or the object's end", err);

	if (more <= 0)
		return more;
	if (scan_string(pull, ret_raw, ret_escaped, err) < 0)
		return -1;
	return take(pull, ':') ? 1 : expected(pull, "a colon", err);
}

int json_pull_object(struct json_pull *pull, struct error *err)
{
	return open_level(pull, '{', "an object", err);
}

int json_pull_array(struct json_pull *pull, struct error *err)
{
	return open_level(pull, '[', "an array", err);
}

int json_pull_element(struct json_pull *pull, struct error *err)
{
	return next_entry(pull, ']', "a comma or the array's end", err);
}

int json_pull_key(struct json_pull *pull, struct str *ret_key, struct error *err)
{
	bool escaped;
	struct str raw;
	int more = next_key(pull, &raw, &escaped, err);

	if (more <= 0)
		return more;
	if (escaped)
		return unescape(pull, raw, ret_key, err) < 0 ? -1 : 1;
	*ret_key = raw;
	return 1;
}

static int skip_value(struct json_pull *pull, struct error *err);

static int skip_object(struct json_pull *pull, struct error *err)
{
	struct str key;
	bool escaped;
	int more;

	if (json_pull_object(pull, err) < 0)
		return -1;
	while ((more = next_key(pull, &key, &escaped, err)) > 0)
		if (skip_value(pull, err) < 0)
			return -1;
	return more;
}

static int skip_array(struct json_pull *pull, struct error *err)
{
	int more;

	if (json_pull_array(pull, err) < 0)
		return -1;
	while ((more = json_pull_element(pull, err)) > 0)
		if (skip_value(pull, err) < 0)
			return -1;
	return more;
}

static int skip_value(struct json_pull *pull, struct error *err)
{
	enum json_pull_type type;
	struct str text;
	bool flag;

	if (json_pull_peek(pull, &type, err) < 0)
		return -1;
	switch (type) {
	case JSON_PULL_OBJECT:
		return skip_object(pull, err);
	case JSON_PULL_ARRAY:
		return skip_array(pull, err);
	case JSON_PULL_STRING:
		return scan_string(pull, &text, &flag, err);
	case JSON_PULL_NUMBER:
		return json_pull_number(pull, &text, err);
	case JSON_PULL_BOOL:
		return json_pull_bool(pull, &flag, err);
	case JSON_PULL_NULL:
		break;
	}
	return json_pull_null(pull, err);
}

int json_pull_skip(struct json_pull *pull, struct str *ret_text, struct error *err)
{
	unsigned int deepest = pull->deepest;
	const char *begin;

	skip_space(pull);
	begin = pull->at;
	pull->deepest = pull->depth + LIMIT_SKIP_DEPTH;
	if (skip_value(pull, err) < 0)
		return -1;
	pull->deepest = deepest;
	if (ret_text)
		*ret_text = (struct str){begin, (size_t)(pull->at - begin)};
	return 0;
}

int json_pull_end(struct json_pull *pull, struct error *err)
{
	skip_space(pull);
	return pull->at == pull->end ? 0 : expected(pull, "the end", err);
}
