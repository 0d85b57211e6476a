/* SPDX-License-Identifier: Apache-2.0 */
/* The array says which status of which condition is the bad one. */
#include "controller/quota/events.h"

#include "api/type.h"

static const enum condition_status bad_status[QUOTA_CONDITION_COUNT] = {
	[QUOTA_READY] = CONDITION_FALSE,   [QUOTA_ACCEPTED] = CONDITION_FALSE,
	[QUOTA_EXCEEDED] = CONDITION_TRUE, [QUOTA_THROTTLED] = CONDITION_TRUE,
	[QUOTA_DRIFTED] = CONDITION_TRUE,  [QUOTA_PRICED] = CONDITION_FALSE,
};

/* Ready passes through Pending with every change of a spec: that is no news. */
static bool is_news(enum quota_condition type, const struct condition *before,
		    const struct condition *after, bool bad)
{
	if (type == QUOTA_READY && after->reason == QUOTA_REASON_PENDING)
		return false;
	if (!before)
		return bad;
	return before->reason != after->reason && (bad || before->status == bad_status[type]);
}

void quota_record_transitions(struct recorder *recorder, const struct quota_identity *identity,
			      const struct quota_status *before, const struct quota_status *after)
{
	for (size_t i = 0; i < QUOTA_CONDITION_COUNT; i++) {
		const struct condition *condition = &after->conditions[i];
		bool bad = condition->status == bad_status[i];

		if (!is_news((enum quota_condition)i, before ? &before->conditions[i] : NULL,
			     condition, bad))
			continue;
		recorder_event(recorder, &(struct recorder_event){
						 .regarding = {STR(API_GROUP_VERSION),
							       str_from(api_gpu_memory_quotas.kind),
							       identity->namespace, identity->name,
							       identity->uid},
						 .type = bad ? "Warning" : "Normal",
						 .reason = quota_reason_text(condition->reason),
						 .action = "Reconcile",
						 .note = str_from(condition->message),
					 });
	}
}
