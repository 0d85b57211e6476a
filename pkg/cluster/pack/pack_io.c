/* SPDX-License-Identifier: Apache-2.0 */
/* Integers in eight bytes, texts as length, bytes and a zero byte, lists as length and elements. */
#include "cluster/pack/pack_io.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/mem.h"
#include "cluster/pack/pack.h"

void pack_put_int(struct buf *buf, int64_t value)
{
	buf_add(buf, &value, sizeof(value));
}

void pack_put_str(struct buf *buf, struct str s)
{
	pack_put_int(buf, (int64_t)s.len);
	buf_add(buf, s.data, s.len);
	buf_add_char(buf, '\0');
}

void pack_put_amounts(struct buf *buf, const struct resource_amount *amounts, size_t n)
{
	CLEANUP(mem_free) struct resource_amount *sorted = mem_alloc_array(n, sizeof(*sorted));

	if (n > 0)
		memcpy(sorted, amounts, n * sizeof(*sorted));
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), resource_amount_compare);
	pack_put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		pack_put_int(buf, sorted[i].count);
		pack_put_str(buf, sorted[i].resource);
	}
}

void pack_put_object(struct buf *buf, const struct pack_object *object)
{
	pack_put_str(buf, object->uid);
	pack_put_int(buf, object->created_us);
	pack_put_int(buf, object->generation);
	pack_put_int(buf, object->terminating);
	pack_put_int(buf, object->invalid != NULL);
	pack_put_str(buf, str_from(object->invalid));
	pack_put_int(buf, object->has_status);
}

int64_t pack_get_int(struct pack_reader *reader)
{
	int64_t value;

	assert(reader->rest.len >= sizeof(value));
	memcpy(&value, reader->rest.data, sizeof(value));
	reader->rest = str_skip(reader->rest, sizeof(value));
	return value;
}

struct str pack_get_str(struct pack_reader *reader)
{
	size_t len = (size_t)pack_get_int(reader);
	struct str s = {reader->rest.data, len};

	assert(reader->rest.len > len);
	reader->rest = str_skip(reader->rest, len + 1);
	return s;
}

struct pack_object pack_get_object(struct pack_reader *reader)
{
	struct pack_object object = {.uid = pack_get_str(reader)};
	bool is_invalid;
	struct str why;

	object.created_us = pack_get_int(reader);
	object.generation = pack_get_int(reader);
	object.terminating = pack_get_int(reader) != 0;
	is_invalid = pack_get_int(reader) != 0;
	why = pack_get_str(reader);
	object.invalid = is_invalid ? why.data : NULL;
	object.has_status = pack_get_int(reader) != 0;
	return object;
}

/* NULL, and the reader marked, when the arena is full. */
void *pack_get_memory(struct pack_reader *reader, size_t n, size_t size)
{
	void *memory = reader->full ? NULL : arena_alloc(reader->arena, n * size);

	reader->full = !memory;
	return memory;
}

const struct resource_amount *pack_get_amounts(struct pack_reader *reader, size_t *ret_len)
{
	size_t n = (size_t)pack_get_int(reader);
	struct resource_amount *amounts = pack_get_memory(reader, n, sizeof(*amounts));

	for (size_t i = 0; i < n; i++) {
		struct resource_amount amount = {.count = pack_get_int(reader)};

		amount.resource = pack_get_str(reader);
		if (amounts)
			amounts[i] = amount;
	}
	*ret_len = n;
	return amounts;
}

char *pack_copy(struct str bytes)
{
	char *copy = mem_realloc_array(NULL, bytes.len, 1);

	memcpy(copy, bytes.data, bytes.len);
	return copy;
}

void pack_put_condition(struct buf *buf, const struct condition *condition)
{
	pack_put_int(buf, (int64_t)condition->status);
	pack_put_int(buf, (int64_t)condition->reason);
	pack_put_int(buf, condition->since_us);
	pack_put_str(buf,
		     (struct str){condition->message,
				  strnlen(condition->message, sizeof(condition->message) - 1)});
}

void pack_get_condition(struct pack_reader *reader, struct condition *condition)
{
	struct str message;

	condition->status = (enum condition_status)pack_get_int(reader);
	condition->reason = (enum quota_reason)pack_get_int(reader);
	condition->since_us = pack_get_int(reader);
	message = pack_get_str(reader);
	memcpy(condition->message, message.data, message.len + 1);
}

/* --- lists of what is text */

void pack_put_strs(struct buf *buf, const struct str *strs, size_t n)
{
	pack_put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++)
		pack_put_str(buf, strs[i]);
}

const struct str *pack_get_strs(struct pack_reader *reader, size_t *ret_n)
{
	size_t n = (size_t)pack_get_int(reader);
	struct str *strs = pack_get_memory(reader, n, sizeof(*strs));

	for (size_t i = 0; i < n; i++) {
		struct str s = pack_get_str(reader);

		if (strs)
			strs[i] = s;
	}
	*ret_n = n;
	return strs;
}

void pack_put_labels(struct buf *buf, const struct label *labels, size_t n)
{
	pack_put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		pack_put_str(buf, labels[i].key);
		pack_put_str(buf, labels[i].value);
	}
}

const struct label *pack_get_labels(struct pack_reader *reader, size_t *ret_n)
{
	size_t n = (size_t)pack_get_int(reader);
	struct label *labels = pack_get_memory(reader, n, sizeof(*labels));

	for (size_t i = 0; i < n; i++) {
		struct label label = {.key = pack_get_str(reader)};

		label.value = pack_get_str(reader);
		if (labels)
			labels[i] = label;
	}
	*ret_n = n;
	return labels;
}

void pack_put_selector(struct buf *buf, const struct label_selector *selector)
{
	pack_put_int(buf, (int64_t)selector->n_requirements);
	for (size_t i = 0; i < selector->n_requirements; i++) {
		const struct label_requirement *one = &selector->requirements[i];

		pack_put_str(buf, one->key);
		pack_put_int(buf, (int64_t)one->op);
		pack_put_strs(buf, one->values, one->n_values);
	}
}

void pack_get_selector(struct pack_reader *reader, struct label_selector *selector)
{
	size_t n = (size_t)pack_get_int(reader);
	struct label_requirement *list = pack_get_memory(reader, n, sizeof(*list));

	for (size_t i = 0; i < n; i++) {
		struct label_requirement one = {.key = pack_get_str(reader)};

		one.op = (enum label_operator)pack_get_int(reader);
		one.values = pack_get_strs(reader, &one.n_values);
		if (list)
			list[i] = one;
	}
	*selector = (struct label_selector){list, n};
}
