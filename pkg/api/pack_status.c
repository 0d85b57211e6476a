/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions and amounts, as the bodies of statuses write them. */
#include "api/pack_status.h"

#include "api/quantity.h"
#include "base/macros.h"

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

bool pack_condition(const struct wire_condition *wire, struct condition *ret_condition)
{
	enum quota_reason reason;

	if (!reason_of(wire->reason, &reason))
		return false;
	*ret_condition = (struct condition){
		.status = status_of(wire->status),
		.reason = reason,
		.since_us = wire->since_us,
	};
	if (!str_empty(wire->message))
		memcpy(ret_condition->message, wire->message.data,
		       MIN(wire->message.len, sizeof(ret_condition->message) - 1));
	return true;
}

bool pack_bytes(struct str text, int64_t *ret_bytes)
{
	int64_t bytes;

	if (!quantity_parse(text, &bytes) || bytes < 0)
		return false;
	*ret_bytes = bytes;
	return true;
}

bool pack_bytes_fields(const struct pack_bytes_field *fields, size_t n_fields)
{
	size_t i;

	for (i = 0; i < n_fields; i++)
		if (!pack_bytes(fields[i].text, fields[i].ret_bytes))
			return false;
	return true;
}

bool pack_counts_sane(const int64_t *counts, size_t n_counts)
{
	size_t i;

	for (i = 0; i < n_counts; i++)
		if (counts[i] < 0)
			return false;
	return true;
}
