/* SPDX-License-Identifier: Apache-2.0 */
/* The array says which status of which condition is the bad one. */
#include "controller/quota/events.h"

#include "api/type.h"
#include "controller/transitions.h"

static const enum condition_status bad_status[QUOTA_CONDITION_COUNT] = {
	[QUOTA_READY] = CONDITION_FALSE,   [QUOTA_ACCEPTED] = CONDITION_FALSE,
	[QUOTA_EXCEEDED] = CONDITION_TRUE, [QUOTA_THROTTLED] = CONDITION_TRUE,
	[QUOTA_DRIFTED] = CONDITION_TRUE,  [QUOTA_PRICED] = CONDITION_FALSE,
};

static void record_move(struct recorder *recorder, const struct body_reference *object,
			const char *reason, const char *what, const int64_t bytes[2])
{
	struct buf note;

	if (bytes[0] == bytes[1])
		return;
	buf_init(&note, LIMIT_EVENT_NOTE);
	buf_printf(&note, "%s: %s, before %s.", what, amount_text(bytes[1]).text,
		   amount_text(bytes[0]).text);
	recorder_event(recorder, &(struct recorder_event){*object, "Normal", reason, "Share",
							  buf_str(&note)});
	buf_clear(&note);
}

/* What a namespace without a tenant is granted is its own spec. */
static void record_moves(struct recorder *recorder, const struct body_reference *object,
			 const struct quota_status *before, const struct quota_status *after)
{
	if (str_empty(after->tenant) || !str_equal(before->tenant, after->tenant))
		return;
	record_move(recorder, object, after->granted > before->granted ? "Granted" : "Reduced",
		    "granted under the tenant's ceiling",
		    (const int64_t[]){before->granted, after->granted});
	record_move(recorder, object, after->borrowed > before->borrowed ? "Borrowed" : "Returned",
		    "borrowed from siblings", (const int64_t[]){before->borrowed, after->borrowed});
	record_move(recorder, object, after->lent > before->lent ? "Lent" : "Recalled",
		    "lent to siblings", (const int64_t[]){before->lent, after->lent});
}

void quota_record_changes(struct recorder *recorder, const struct quota_identity *identity,
			  const struct quota_status *before, const struct quota_status *after)
{
	const struct transitions transitions = {
		.object = {STR(API_GROUP_VERSION), str_from(api_gpu_memory_quotas.kind),
			   identity->namespace, identity->name, identity->uid},
		.before = before ? before->conditions : NULL,
		.after = after->conditions,
		.bad = bad_status,
		.n = QUOTA_CONDITION_COUNT,
	};

	transitions_record(recorder, &transitions);
	if (before)
		record_moves(recorder, &transitions.object, before, after);
}
