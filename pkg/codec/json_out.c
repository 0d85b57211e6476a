/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer. Each open level remembers whether it has a value yet. */
#include "codec/json_out.h"

#include <assert.h>
#include <inttypes.h>

#include "base/macros.h"
#include "base/rfc3339.h"
#include "base/utf8.h"

void json_out_init(struct json_out *out, struct buf *buf)
{
	*out = (struct json_out){.buf = buf};
	out->first[0] = true;
	out->in_array[0] = true; /* the top takes one value without key, as an array does */
}

static void add_escaped(struct buf *buf, unsigned char c)
{
	static const char letters[0x20] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};

	if (c >= 0x20)
		buf_printf(buf, "\\%c", c);
	else if (letters[c])
		buf_printf(buf, "\\%c", letters[c]);
	else
		buf_printf(buf, "\\u%04x", c);
}

/* The length of what stands at the begin of @text and needs no change. */
static size_t plain_length(struct str text)
{
	size_t i = 0;

	while (i < text.len) {
		unsigned char c = (unsigned char)text.data[i];
		size_t len = c < 0x80 ? 1 : utf8_length(str_skip(text, i));

		if (c < 0x20 || c == '"' || c == '\\' || len == 0)
			break;
		i += len;
	}
	return i;
}

static void add_quoted(struct buf *buf, struct str text)
{
	buf_add_char(buf, '"');
	while (text.len > 0 && !buf->overflowed) {
		size_t len = plain_length(text);

		buf_add(buf, text.data, len);
		if (len < text.len) {
			unsigned char c = (unsigned char)text.data[len++];

			if (c >= 0x80)
				buf_add_str(buf, STR(UTF8_REPLACEMENT));
			else
				add_escaped(buf, c);
		}
		text = str_skip(text, len);
	}
	buf_add_char(buf, '"');
}

static void begin_entry(struct json_out *out)
{
	assert(out->depth > 0 || out->first[0]);
	if (!out->first[out->depth])
		buf_add_char(out->buf, ',');
	out->first[out->depth] = false;
}

void json_out_key(struct json_out *out, struct str key)
{
	assert(!out->in_array[out->depth] && !out->key_open);
	begin_entry(out);
	add_quoted(out->buf, key);
	buf_add_char(out->buf, ':');
	out->key_open = true;
}

static void begin_value(struct json_out *out, const char *key)
{
	if (key) {
		json_out_key(out, str_from(key));
	} else if (!out->key_open) {
		assert(out->in_array[out->depth]);
		begin_entry(out);
	}
	out->key_open = false;
}

static void open_level(struct json_out *out, const char *key, bool array)
{
	begin_value(out, key);
	assert(out->depth < JSON_OUT_DEPTH);
	out->depth++;
	out->first[out->depth] = true;
	out->in_array[out->depth] = array;
	buf_add_char(out->buf, array ? '[' : '{');
}

static void close_level(struct json_out *out, bool array)
{
	assert(out->depth > 0 && out->in_array[out->depth] == array && !out->key_open);
	out->depth--;
	buf_add_char(out->buf, array ? ']' : '}');
}

void json_out_object(struct json_out *out, const char *key)
{
	open_level(out, key, false);
}

void json_out_array(struct json_out *out, const char *key)
{
	open_level(out, key, true);
}

void json_out_end(struct json_out *out)
{
	close_level(out, false);
}

void json_out_end_array(struct json_out *out)
{
	close_level(out, true);
}

void json_out_string(struct json_out *out, const char *key, struct str value)
{
	begin_value(out, key);
	add_quoted(out->buf, value);
}

void json_out_cstring(struct json_out *out, const char *key, const char *value)
{
	if (value)
		json_out_string(out, key, str_from(value));
	else
		json_out_null(out, key);
}

void json_out_raw(struct json_out *out, const char *key, struct str text)
{
	begin_value(out, key);
	buf_add_str(out->buf, text);
}

void json_out_int(struct json_out *out, const char *key, int64_t value)
{
	begin_value(out, key);
	buf_printf(out->buf, "%" PRId64, value);
}

void json_out_bool(struct json_out *out, const char *key, bool value)
{
	json_out_raw(out, key, value ? STR("true") : STR("false"));
}

void json_out_null(struct json_out *out, const char *key)
{
	json_out_raw(out, key, STR("null"));
}

static void add_time(struct json_out *out, const char *key, int64_t real_us, bool micro)
{
	char text[TIME_TEXT_SIZE];
	size_t len = time_format(real_us, micro, text);

	json_out_string(out, key, (struct str){text, len});
}

void json_out_time(struct json_out *out, const char *key, int64_t real_us)
{
	add_time(out, key, real_us, false);
}

void json_out_micro_time(struct json_out *out, const char *key, int64_t real_us)
{
	add_time(out, key, real_us, true);
}

void json_out_pair(struct json_out *out, struct str key, struct str value)
{
	json_out_key(out, key);
	json_out_string(out, NULL, value);
}
