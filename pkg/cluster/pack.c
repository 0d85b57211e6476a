/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integers in eight bytes, texts as length, bytes and a zero byte, lists as length and elements.
 * The order of fields is that of the functions below; writer and reader of each stand together.
 */
#include "cluster/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/mem.h"

static void put_int(struct buf *buf, int64_t value)
{
	buf_add(buf, &value, sizeof(value));
}

static void put_str(struct buf *buf, struct str s)
{
	put_int(buf, (int64_t)s.len);
	buf_add(buf, s.data, s.len);
	buf_add_char(buf, '\0');
}

static void put_amounts(struct buf *buf, const struct resource_amount *amounts, size_t n)
{
	CLEANUP(mem_free) struct resource_amount *sorted = mem_alloc_array(n, sizeof(*sorted));

	if (n > 0)
		memcpy(sorted, amounts, n * sizeof(*sorted));
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), resource_amount_compare);
	put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		put_int(buf, sorted[i].count);
		put_str(buf, sorted[i].resource);
	}
}

struct reader {
	struct str rest;
	struct arena *arena; /* borrowed */
	bool full;           /* the arena is */
};

static int64_t get_int(struct reader *reader)
{
	int64_t value;

	assert(reader->rest.len >= sizeof(value));
	memcpy(&value, reader->rest.data, sizeof(value));
	reader->rest = str_skip(reader->rest, sizeof(value));
	return value;
}

static struct str get_str(struct reader *reader)
{
	size_t len = (size_t)get_int(reader);
	struct str s = {reader->rest.data, len};

	assert(reader->rest.len > len);
	reader->rest = str_skip(reader->rest, len + 1);
	return s;
}

/* NULL, and the reader marked, when the arena is full. */
static void *get_memory(struct reader *reader, size_t n, size_t size)
{
	void *memory = reader->full ? NULL : arena_alloc(reader->arena, n * size);

	reader->full = !memory;
	return memory;
}

static const struct resource_amount *get_amounts(struct reader *reader, size_t *ret_len)
{
	size_t n = (size_t)get_int(reader);
	struct resource_amount *amounts = get_memory(reader, n, sizeof(*amounts));

	for (size_t i = 0; i < n; i++) {
		struct resource_amount amount = {.count = get_int(reader)};

		amount.resource = get_str(reader);
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

/* --- GpuMemoryQuota */

static void put_spec(struct buf *buf, const struct quota_spec *spec)
{
	put_int(buf, spec->gpu_memory);
	put_int(buf, spec->gpus);
	put_int(buf, spec->pod_gpu_memory);
	put_int(buf, spec->pod_gpus);
	put_amounts(buf, spec->caps, spec->n_caps);
	put_amounts(buf, spec->defaults, spec->n_defaults);
}

static void get_spec(struct reader *reader, struct quota_spec *spec)
{
	spec->gpu_memory = get_int(reader);
	spec->gpus = get_int(reader);
	spec->pod_gpu_memory = get_int(reader);
	spec->pod_gpus = get_int(reader);
	spec->caps = get_amounts(reader, &spec->n_caps);
	spec->defaults = get_amounts(reader, &spec->n_defaults);
}

static void put_rows(struct buf *buf, const struct quota_row *rows, size_t n)
{
	put_int(buf, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		put_str(buf, rows[i].resource);
		put_str(buf, rows[i].product);
		put_int(buf, rows[i].unit_memory);
		put_int(buf, rows[i].used);
		put_int(buf, rows[i].hard);
		put_int(buf, (int64_t)rows[i].sharing);
	}
}

static const struct quota_row *get_rows(struct reader *reader, size_t *ret_len)
{
	size_t n = (size_t)get_int(reader);
	struct quota_row *rows = get_memory(reader, n, sizeof(*rows));

	for (size_t i = 0; i < n; i++) {
		struct quota_row row = {.resource = get_str(reader)};

		row.product = get_str(reader);
		row.unit_memory = get_int(reader);
		row.used = get_int(reader);
		row.hard = get_int(reader);
		row.sharing = (enum device_sharing)get_int(reader);
		if (rows)
			rows[i] = row;
	}
	*ret_len = n;
	return rows;
}

static void put_condition(struct buf *buf, const struct condition *condition)
{
	put_int(buf, (int64_t)condition->status);
	put_int(buf, (int64_t)condition->reason);
	put_int(buf, condition->since_us);
	put_str(buf, (struct str){condition->message,
				  strnlen(condition->message, sizeof(condition->message) - 1)});
}

static void get_condition(struct reader *reader, struct condition *condition)
{
	struct str message;

	condition->status = (enum condition_status)get_int(reader);
	condition->reason = (enum quota_reason)get_int(reader);
	condition->since_us = get_int(reader);
	message = get_str(reader);
	memcpy(condition->message, message.data, message.len + 1);
}

/* The integers of a status, in order. */
static size_t status_integers(struct quota_status *status, int64_t **ret_integers)
{
	size_t n = 0;

	ret_integers[n++] = &status->observed_generation;
	ret_integers[n++] = &status->effective;
	ret_integers[n++] = &status->used;
	ret_integers[n++] = &status->lent;
	ret_integers[n++] = &status->borrowed;
	ret_integers[n++] = &status->live;
	ret_integers[n++] = &status->gpus_used;
	ret_integers[n++] = &status->used_percent;
	ret_integers[n++] = &status->pods;
	return n;
}

#define STATUS_INTEGERS 9

static void put_status(struct buf *buf, const struct quota_status *facts)
{
	struct quota_status status = *facts;
	int64_t *integers[STATUS_INTEGERS];
	size_t n = status_integers(&status, integers);

	for (size_t i = 0; i < n; i++)
		put_int(buf, *integers[i]);
	put_rows(buf, status.rows, status.n_rows);
	for (int i = 0; i < QUOTA_CONDITION_COUNT; i++)
		put_condition(buf, &status.conditions[i]);
}

static void get_status(struct reader *reader, struct quota_status *status)
{
	int64_t *integers[STATUS_INTEGERS];
	size_t n = status_integers(status, integers);

	for (size_t i = 0; i < n; i++)
		*integers[i] = get_int(reader);
	status->rows = get_rows(reader, &status->n_rows);
	for (int i = 0; i < QUOTA_CONDITION_COUNT; i++)
		get_condition(reader, &status->conditions[i]);
}

void pack_quota(const struct quota_facts *facts, struct buf *ret_bytes)
{
	put_str(ret_bytes, facts->uid);
	put_int(ret_bytes, facts->created_us);
	put_int(ret_bytes, facts->generation);
	put_int(ret_bytes, facts->terminating);
	put_spec(ret_bytes, &facts->spec);
	put_int(ret_bytes, facts->invalid != NULL);
	put_str(ret_bytes, str_from(facts->invalid));
	put_int(ret_bytes, facts->has_status);
	if (facts->has_status)
		put_status(ret_bytes, &facts->status);
}

bool unpack_quota(struct str bytes, struct arena *arena, struct quota_facts *ret_facts)
{
	struct reader reader = {bytes, arena, false};
	struct str invalid;
	bool is_invalid;

	*ret_facts = (struct quota_facts){.uid = get_str(&reader)};
	ret_facts->created_us = get_int(&reader);
	ret_facts->generation = get_int(&reader);
	ret_facts->terminating = get_int(&reader) != 0;
	get_spec(&reader, &ret_facts->spec);
	is_invalid = get_int(&reader) != 0;
	invalid = get_str(&reader);
	ret_facts->invalid = is_invalid ? invalid.data : NULL;
	ret_facts->has_status = get_int(&reader) != 0;
	if (ret_facts->has_status)
		get_status(&reader, &ret_facts->status);
	return !reader.full;
}

struct str unpack_uid(struct str bytes)
{
	struct reader reader = {bytes, NULL, false};

	return get_str(&reader);
}

/* --- ResourceQuota, LimitRange */

void pack_resource_quota(const struct resource_quota_facts *facts, struct buf *ret_bytes)
{
	put_str(ret_bytes, facts->uid);
	put_str(ret_bytes, facts->owner_uid);
	put_amounts(ret_bytes, facts->hard, facts->n_hard);
	put_amounts(ret_bytes, facts->status_hard, facts->n_status_hard);
	put_int(ret_bytes, facts->other_keys);
	put_int(ret_bytes, facts->scoped);
	put_str(ret_bytes, facts->foreign_manager);
}

bool unpack_resource_quota(struct str bytes, struct arena *arena,
			   struct resource_quota_facts *ret_facts)
{
	struct reader reader = {bytes, arena, false};

	*ret_facts = (struct resource_quota_facts){.uid = get_str(&reader)};
	ret_facts->owner_uid = get_str(&reader);
	ret_facts->hard = get_amounts(&reader, &ret_facts->n_hard);
	ret_facts->status_hard = get_amounts(&reader, &ret_facts->n_status_hard);
	ret_facts->other_keys = get_int(&reader) != 0;
	ret_facts->scoped = get_int(&reader) != 0;
	ret_facts->foreign_manager = get_str(&reader);
	return !reader.full;
}

void pack_limit_range(const struct limit_range_facts *facts, struct buf *ret_bytes)
{
	put_str(ret_bytes, facts->uid);
	put_str(ret_bytes, facts->owner_uid);
	put_amounts(ret_bytes, facts->defaults, facts->n_defaults);
	put_int(ret_bytes, facts->other_limits);
	put_str(ret_bytes, facts->foreign_manager);
}

bool unpack_limit_range(struct str bytes, struct arena *arena, struct limit_range_facts *ret_facts)
{
	struct reader reader = {bytes, arena, false};

	*ret_facts = (struct limit_range_facts){.uid = get_str(&reader)};
	ret_facts->owner_uid = get_str(&reader);
	ret_facts->defaults = get_amounts(&reader, &ret_facts->n_defaults);
	ret_facts->other_limits = get_int(&reader) != 0;
	ret_facts->foreign_manager = get_str(&reader);
	return !reader.full;
}
