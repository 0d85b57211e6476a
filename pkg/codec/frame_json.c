/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects in a JSON watch or list. Only brackets and quotes are looked at, and of a list the keys
 * of the outermost object; an object's syntax is checked by who reads it.
 */
#include <assert.h>

#include "codec/framer.h"

#define INVALID(...) error_set(err, ERROR_INVALID, __VA_ARGS__)

enum { KEY_OTHER, KEY_ITEMS, KEY_META }; /* in framer->tag */

typedef int (*step_fn)(struct framer *framer, struct framer_input *input, struct error *err);

static int go(struct framer *framer, struct framer_input *input, enum framer_state state)
{
	framer_skip(input, 1);
	framer->state = state;
	return 0;
}

static int unexpected(const struct framer_input *input, const char *instead, struct error *err)
{
	return INVALID("byte 0x%02x where %s must come", (unsigned char)input->rest.data[0],
		       instead);
}

/*
 * The length of the text that stands before the closing quote or the end of input; whether that is
 * inside an escape is kept.
 */
static size_t string_length(struct framer *framer, struct str text)
{
	size_t i;

	for (i = 0; i < text.len; i++) {
		if (framer->escaped)
			framer->escaped = false;
		else if (text.data[i] == '\\')
			framer->escaped = true;
		else if (text.data[i] == '"')
			break;
	}
	return i;
}

/*
 * The length of what belongs to an object or array: to its last bracket, after which depth is 0, or
 * to the end of input.
 */
static size_t value_length(struct framer *framer, struct str text)
{
	size_t i;

	for (i = 0; i < text.len; i++) {
		char c = text.data[i];

		if (framer->in_string) {
			i += string_length(framer, str_skip(text, i));
			framer->in_string = i == text.len;
		} else if (c == '"') {
			framer->in_string = true;
		} else if (c == '{' || c == '[') {
			framer->depth++;
		} else if ((c == '}' || c == ']') && --framer->depth == 0) {
			return i + 1;
		}
	}
	return text.len;
}

/* --- inside of values */

static int in_object(struct framer *framer, struct framer_input *input, struct error *err)
{
	size_t len = value_length(framer, input->rest);

	if (framer->depth > 0)
		return framer_keep(framer, input, len, err);
	if (framer->format == FRAME_JSON_WATCH)
		framer->state = FRAMER_BETWEEN;
	else
		framer->state =
			framer->part == FRAME_OBJECT ? FRAMER_AFTER_ITEM : FRAMER_AFTER_VALUE;
	return framer_complete(framer, input, len, err);
}

static int in_skipped(struct framer *framer, struct framer_input *input, struct error *err)
{
	(void)err;
	framer_skip(input, value_length(framer, input->rest));
	if (framer->depth == 0)
		framer->state = FRAMER_AFTER_VALUE;
	return 0;
}

static int in_string(struct framer *framer, struct framer_input *input, struct error *err)
{
	(void)err;
	framer_skip(input, string_length(framer, input->rest));
	return input->rest.len > 0 ? go(framer, input, FRAMER_AFTER_VALUE) : 0;
}

static int in_key(struct framer *framer, struct framer_input *input, struct error *err)
{
	size_t len = string_length(framer, input->rest);
	struct str key;

	if (len == input->rest.len)
		return framer_keep(framer, input, len, err);
	if (framer_take(framer, input, len, &key, err) < 0)
		return -1;
	framer->tag = str_equal(key, STR("items"))      ? KEY_ITEMS
		      : str_equal(key, STR("metadata")) ? KEY_META
							: KEY_OTHER;
	framer_forget(framer);
	return go(framer, input, FRAMER_COLON);
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+' ||
	       c == '.' || c == 'E';
}

static int in_word(struct framer *framer, struct framer_input *input, struct error *err)
{
	struct str word;
	size_t len = 0;

	while (len < input->rest.len && is_word(input->rest.data[len]))
		len++;
	if (len == input->rest.len)
		return framer_keep(framer, input, len, err);
	if (framer_take(framer, input, len, &word, err) < 0)
		return -1;
	if (framer->tag != KEY_OTHER && !str_equal(word, STR("null")))
		return INVALID("a word for the list's %s",
			       framer->tag == KEY_ITEMS ? "items" : "metadata");
	framer_forget(framer);
	framer->state = FRAMER_AFTER_VALUE;
	return 0;
}

/* --- between tokens */

static int begin_object(struct framer *framer, enum frame_part part)
{
	framer->part = part;
	framer->depth = 0;
	framer->state = FRAMER_OBJECT;
	return 0;
}

static int at_watch(struct framer *framer, struct framer_input *input, struct error *err)
{
	if (input->rest.data[0] != '{')
		return unexpected(input, "an object", err);
	return begin_object(framer, FRAME_OBJECT);
}

static int at_list(struct framer *framer, struct framer_input *input, struct error *err)
{
	if (input->rest.data[0] != '{')
		return unexpected(input, "a list", err);
	return go(framer, input, FRAMER_FIRST_KEY);
}

static int at_key(struct framer *framer, struct framer_input *input, struct error *err)
{
	if (input->rest.data[0] == '}' && framer->state == FRAMER_FIRST_KEY)
		return go(framer, input, FRAMER_DONE);
	if (input->rest.data[0] != '"')
		return unexpected(input, "a key", err);
	return go(framer, input, FRAMER_IN_KEY);
}

static int at_colon(struct framer *framer, struct framer_input *input, struct error *err)
{
	if (input->rest.data[0] != ':')
		return unexpected(input, "a colon", err);
	return go(framer, input, FRAMER_VALUE);
}

static int begin_known(struct framer *framer, struct framer_input *input, struct error *err)
{
	bool *seen = framer->tag == KEY_ITEMS ? &framer->seen_items : &framer->seen_meta;
	char c = input->rest.data[0];

	if (*seen)
		return INVALID("the list has %s twice",
			       framer->tag == KEY_ITEMS ? "items" : "metadata");
	*seen = true;
	if (c == '{' && framer->tag == KEY_META)
		return begin_object(framer, FRAME_LIST_META);
	if (c == '[' && framer->tag == KEY_ITEMS)
		return go(framer, input, FRAMER_FIRST_ITEM);
	if (!is_word(c))
		return unexpected(input, framer->tag == KEY_ITEMS ? "items" : "metadata", err);
	framer->state = FRAMER_WORD;
	return 0;
}

static int at_value(struct framer *framer, struct framer_input *input, struct error *err)
{
	char c = input->rest.data[0];

	if (framer->tag != KEY_OTHER)
		return begin_known(framer, input, err);
	if (c == '"')
		return go(framer, input, FRAMER_IN_STRING);
	if (c != '{' && c != '[' && !is_word(c))
		return unexpected(input, "a value", err);
	framer->depth = 0;
	framer->state = is_word(c) ? FRAMER_WORD : FRAMER_IN_SKIPPED;
	return 0;
}

static int after_value(struct framer *framer, struct framer_input *input, struct error *err)
{
	if (input->rest.data[0] == ',')
		return go(framer, input, FRAMER_NEXT_KEY);
	if (input->rest.data[0] == '}')
		return go(framer, input, FRAMER_DONE);
	return unexpected(input, "a comma or the list's end", err);
}

static int at_item(struct framer *framer, struct framer_input *input, struct error *err)
{
	if (input->rest.data[0] == ']' && framer->state == FRAMER_FIRST_ITEM)
		return go(framer, input, FRAMER_AFTER_VALUE);
	if (input->rest.data[0] != '{')
		return unexpected(input, "an item", err);
	return begin_object(framer, FRAME_OBJECT);
}

static int after_item(struct framer *framer, struct framer_input *input, struct error *err)
{
	if (input->rest.data[0] == ',')
		return go(framer, input, FRAMER_NEXT_ITEM);
	if (input->rest.data[0] == ']')
		return go(framer, input, FRAMER_AFTER_VALUE);
	return unexpected(input, "a comma or the items' end", err);
}

static int at_end(struct framer *framer, struct framer_input *input, struct error *err)
{
	(void)framer;
	return unexpected(input, "nothing more", err);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

int framer_step_json(struct framer *framer, struct framer_input *input, struct error *err)
{
	static const struct {
		step_fn step;
		bool inside; /* of a value, where white space counts */
	} steps[] = {
		[FRAMER_BETWEEN] = {at_watch, false},
		[FRAMER_LIST_BEGIN] = {at_list, false},
		[FRAMER_FIRST_KEY] = {at_key, false},
		[FRAMER_NEXT_KEY] = {at_key, false},
		[FRAMER_IN_KEY] = {in_key, true},
		[FRAMER_COLON] = {at_colon, false},
		[FRAMER_VALUE] = {at_value, false},
		[FRAMER_WORD] = {in_word, true},
		[FRAMER_IN_STRING] = {in_string, true},
		[FRAMER_IN_SKIPPED] = {in_skipped, true},
		[FRAMER_AFTER_VALUE] = {after_value, false},
		[FRAMER_FIRST_ITEM] = {at_item, false},
		[FRAMER_NEXT_ITEM] = {at_item, false},
		[FRAMER_AFTER_ITEM] = {after_item, false},
		[FRAMER_OBJECT] = {in_object, true},
		[FRAMER_DONE] = {at_end, false},
	};

	assert(steps[framer->state].step); /* no state of protobuf */
	if (!steps[framer->state].inside && is_space(input->rest.data[0])) {
		framer_skip(input, 1);
		return 0;
	}
	return steps[framer->state].step(framer, input, err);
}
