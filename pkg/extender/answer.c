/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing answers. Almost all of a large one is names that need no escaping, and reasons that were
 * written before: both are copied in one piece, everything else goes through the JSON writer.
 */
#include "extender/answer.h"

#include <assert.h>

#include "base/macros.h"
#include "base/mem.h"
#include "codec/json_out.h"

#define MAX_SCORE 10

#define ONES UINT64_C(0x0101010101010101)
#define HIGH UINT64_C(0x8080808080808080)

/* Whether one of eight bytes is no ASCII, a control character, a quote or a backslash. */
static bool has_special(const char *at)
{
	uint64_t word, quote, backslash;

	memcpy(&word, at, sizeof(word));
	quote = word ^ ONES * '"';
	backslash = word ^ ONES * '\\';
	/* A borrow comes out of a byte that is special itself. */
	return ((word | (word - ONES * 0x20) | (quote - ONES) | (backslash - ONES)) & HIGH) != 0;
}

/* Whether all of @s can stand between quotes as it is, as the name of every node can. */
static bool is_plain(struct str s)
{
	char padded[sizeof(uint64_t)] = {'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a'};
	size_t at = 0;

	for (; s.len - at >= sizeof(uint64_t); at += sizeof(uint64_t))
		if (has_special(s.data + at))
			return false;
	if (at == s.len)
		return true;
	memcpy(padded, s.data + at, s.len - at);
	return !has_special(padded);
}

static void add_quoted(struct buf *buf, struct str s)
{
	struct json_out out;

	json_out_init(&out, buf);
	json_out_string(&out, NULL, s);
}

static char *put(char *at, struct str s)
{
	if (s.len > 0)
		memcpy(at, s.data, s.len);
	return at + s.len;
}

/* @before, @name in quotes, @after. */
static void add_name(struct buf *buf, struct str before, struct str name, struct str after)
{
	size_t len = before.len + name.len + after.len + 2;
	char *at;

	if (!is_plain(name)) {
		buf_add_str(buf, before);
		add_quoted(buf, name);
		buf_add_str(buf, after);
		return;
	}
	at = buf_reserve(buf, len);
	if (!at)
		return;
	at = put(at, before);
	*at++ = '"';
	at = put(at, name);
	*at++ = '"';
	put(at, after);
	buf_commit(buf, len);
}

/* --- filter */

/* ":" and the reason in quotes, for each; and where each ends, of which there is one more. */
struct texts {
	struct buf buf;
	size_t *ends;
};

static void write_texts(struct texts *texts, const struct extender_filter *filter, size_t max)
{
	buf_init(&texts->buf, max);
	texts->ends = mem_alloc_array(filter->n_reasons + 1, sizeof(*texts->ends));
	for (size_t i = 0; i < filter->n_reasons; i++) {
		buf_add_char(&texts->buf, ':');
		add_quoted(&texts->buf, filter->reasons[i].text);
		texts->ends[i + 1] = texts->buf.len;
	}
}

static struct str text_of(const struct texts *texts, size_t reason)
{
	size_t begin = texts->ends[reason];

	return (struct str){texts->buf.data + begin, texts->ends[reason + 1] - begin};
}

static void add_passing(struct buf *buf, const struct extender_filter *filter)
{
	struct str before = STR("");

	buf_add_cstr(buf, "[");
	for (size_t i = 0; i < filter->n_names; i++) {
		if (filter->verdicts[i] != 0)
			continue;
		add_name(buf, before, filter->names[i], STR(""));
		before = STR(",");
	}
	buf_add_cstr(buf, "]");
}

/* Those that fail and of whose reasons unresolvable is @unresolvable. */
static void add_failing(struct buf *buf, const struct extender_filter *filter,
			const struct texts *texts, bool unresolvable)
{
	struct str before = STR("");

	buf_add_cstr(buf, "{");
	for (size_t i = 0; i < filter->n_names; i++) {
		size_t verdict = filter->verdicts[i];

		if (verdict == EXTENDER_LEFT_OUT)
			continue;
		assert(verdict <= filter->n_reasons);
		if (verdict == 0 || filter->reasons[verdict - 1].unresolvable != unresolvable)
			continue;
		add_name(buf, before, filter->names[i], text_of(texts, verdict - 1));
		before = STR(",");
	}
	buf_add_cstr(buf, "}");
}

void extender_write_filter(struct buf *buf, const struct extender_filter *filter)
{
	struct texts texts;

	write_texts(&texts, filter, buf->max);
	buf->overflowed |= texts.buf.overflowed;
	buf_add_cstr(buf, "{\"Nodes\":null,\"NodeNames\":");
	add_passing(buf, filter);
	buf_add_cstr(buf, ",\"FailedNodes\":");
	add_failing(buf, filter, &texts, false);
	buf_add_cstr(buf, ",\"FailedAndUnresolvableNodes\":");
	add_failing(buf, filter, &texts, true);
	buf_add_cstr(buf, ",\"Error\":\"\"}");
	buf_clear(&texts.buf);
	mem_free(texts.ends);
}

static void write_filter(struct buf *buf, struct str names_text, struct str error)
{
	struct json_out out;

	json_out_init(&out, buf);
	json_out_object(&out, NULL);
	json_out_null(&out, "Nodes");
	json_out_raw(&out, "NodeNames", names_text);
	json_out_object(&out, "FailedNodes");
	json_out_end(&out);
	json_out_object(&out, "FailedAndUnresolvableNodes");
	json_out_end(&out);
	json_out_string(&out, "Error", error);
	json_out_end(&out);
}

void extender_write_filter_text(struct buf *buf, struct str names_text)
{
	write_filter(buf, names_text, STR(""));
}

void extender_write_filter_error(struct buf *buf, struct str message)
{
	write_filter(buf, STR("null"), message);
}

/* --- the others */

void extender_write_scores(struct buf *buf, const struct str *names, const uint8_t *scores,
			   size_t n)
{
	static const struct str after[MAX_SCORE + 1] = {
#define AFTER(score) {",\"Score\":" score "}", sizeof(",\"Score\":" score "}") - 1}
		AFTER("0"), AFTER("1"), AFTER("2"), AFTER("3"), AFTER("4"),  AFTER("5"),
		AFTER("6"), AFTER("7"), AFTER("8"), AFTER("9"), AFTER("10"),
#undef AFTER
	};
	struct str before = STR("{\"Host\":");

	buf_add_cstr(buf, "[");
	for (size_t i = 0; i < n; i++) {
		assert(scores[i] <= MAX_SCORE);
		add_name(buf, before, names[i], after[scores[i]]);
		before = STR(",{\"Host\":");
	}
	buf_add_cstr(buf, "]");
}

void extender_write_bind(struct buf *buf, struct str error)
{
	struct json_out out;

	json_out_init(&out, buf);
	json_out_object(&out, NULL);
	json_out_string(&out, "Error", error);
	json_out_end(&out);
}

void extender_write_preempt(struct buf *buf, struct str victims_text)
{
	struct json_out out;

	json_out_init(&out, buf);
	json_out_object(&out, NULL);
	json_out_raw(&out, "NodeNameToMetaVictims", victims_text);
	json_out_end(&out);
}
