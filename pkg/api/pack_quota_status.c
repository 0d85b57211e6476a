/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads back the status that we wrote. It is a record of what was said, not a source of truth: what
 * cannot be read makes it count as absent, and so be written anew.
 */
#include "api/pack_quota.h"

#include "api/quantity.h"
#include "base/macros.h"

/* Each finds the value whose text this is. */
static bool condition_of(struct str text, enum quota_condition *ret_condition)
{
	int i;

	for (i = 0; i < QUOTA_CONDITION_COUNT; i++) {
		if (str_equal(text, str_from(quota_condition_text((enum quota_condition)i)))) {
			*ret_condition = (enum quota_condition)i;
			return true;
		}
	}
	return false;
}

static bool reason_of(struct str text, enum quota_reason *ret_reason)
{
	static const enum quota_reason reasons[] = {
#define X(name, text) QUOTA_REASON_##name,
		QUOTA_REASONS(X)
#undef X
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (str_equal(text, str_from(quota_reason_text(reasons[i])))) {
			*ret_reason = reasons[i];
			return true;
		}
	}
	return false;
}

static enum condition_status status_of(struct str text)
{
	if (str_equal(text, str_from(condition_status_text(CONDITION_TRUE))))
		return CONDITION_TRUE;
	if (str_equal(text, str_from(condition_status_text(CONDITION_FALSE))))
		return CONDITION_FALSE;
	return CONDITION_UNKNOWN;
}

static enum device_sharing sharing_of(struct str text)
{
	static const enum device_sharing sharings[] = {
#define X(name, text) DEVICE_##name,
		DEVICE_SHARINGS(X)
#undef X
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sharings); i++)
		if (str_equal(text, str_from(device_sharing_text(sharings[i]))))
			return sharings[i];
	return DEVICE_OTHER;
}

static void read_condition(const struct wire_condition *wire, struct quota_status *status)
{
	enum quota_condition type;
	enum quota_reason reason;
	struct condition *condition;

	if (!condition_of(wire->type, &type) || !reason_of(wire->reason, &reason))
		return;
	condition = &status->conditions[type];
	*condition = (struct condition){
		.status = status_of(wire->status),
		.reason = reason,
		.since_us = wire->since_us,
	};
	if (!str_empty(wire->message))
		memcpy(condition->message, wire->message.data,
		       MIN(wire->message.len, sizeof(condition->message) - 1));
}

/* Amounts are never negative. */
static bool read_bytes(struct str text, int64_t *ret_bytes)
{
	int64_t bytes;

	if (!quantity_parse(text, &bytes) || bytes < 0)
		return false;
	*ret_bytes = bytes;
	return true;
}

static bool read_row(const struct wire_quota_resource *wire, struct quota_row *row)
{
	*row = (struct quota_row){
		.resource = wire->name,
		.product = wire->product,
		.unit_memory = AMOUNT_UNKNOWN,
		.used = wire->used,
		.hard = wire->hard,
		.sharing = sharing_of(wire->sharing),
	};
	if (str_empty(wire->name) || wire->name.len > LIMIT_INTERNED_STRING ||
	    wire->product.len > LIMIT_INTERNED_STRING || wire->used < 0 || wire->hard < 0)
		return false;
	return !wire_has(wire, WIRE_RESOURCE_UNIT_MEMORY) ||
	       read_bytes(wire->unit_memory, &row->unit_memory);
}

/* @ret_rows stays NULL where a row cannot be read. */
static int read_rows(const struct wire_list *resources, const struct pack *pack,
		     struct quota_row **ret_rows)
{
	struct quota_row *rows = arena_alloc(pack->arena, resources->len * sizeof(*rows));
	struct quota_row *next = rows;

	if (!rows)
		return pack_no_memory(pack);
	wire_for_each(const struct wire_quota_resource, resource, *resources) {
		if (!read_row(resource, next++))
			return 0;
	}
	*ret_rows = rows;
	return 0;
}

static bool read_amounts(const struct wire_quota_status *wire, struct quota_status *status)
{
	const struct {
		struct str text;
		int64_t *ret_bytes;
	} amounts[] = {
		{wire->effective, &status->effective}, {wire->used, &status->used},
		{wire->lent, &status->lent},           {wire->borrowed, &status->borrowed},
		{wire->live, &status->live},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(amounts); i++)
		if (!read_bytes(amounts[i].text, amounts[i].ret_bytes))
			return false;
	status->gpus_used = wire->gpus;
	status->used_percent = wire->used_percent;
	status->pods = wire->pods;
	return wire->gpus >= 0 && wire->used_percent >= 0 && wire->pods >= 0;
}

int pack_quota_status(const struct wire_gpu_memory_quota *wire, const struct pack *pack,
		      struct quota_facts *facts)
{
	struct quota_status status = {.observed_generation = wire->status.observed_generation};
	struct quota_row *rows = NULL;

	if (!wire_has(wire, WIRE_GPU_MEMORY_QUOTA_STATUS) ||
	    wire->status.resources.len > LIMIT_STATUS_RESOURCES ||
	    !read_amounts(&wire->status, &status))
		return 0;
	if (read_rows(&wire->status.resources, pack, &rows) < 0)
		return -1;
	if (!rows)
		return 0;
	status.rows = rows;
	status.n_rows = wire->status.resources.len;
	wire_for_each(const struct wire_condition, condition, wire->status.conditions)
		read_condition(condition, &status);
	facts->status = status;
	facts->has_status = true;
	return 0;
}
