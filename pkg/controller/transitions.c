/* SPDX-License-Identifier: Apache-2.0 */
/* Before, after, and whether the difference is news. */
#include "controller/transitions.h"

static bool is_news(const struct condition *before, const struct condition *after,
		    enum condition_status bad)
{
	if (after->reason == QUOTA_REASON_PENDING)
		return false;
	if (!before)
		return after->status == bad;
	return before->reason != after->reason && (after->status == bad || before->status == bad);
}

void transitions_record(struct recorder *recorder, const struct transitions *transitions)
{
	for (size_t i = 0; i < transitions->n; i++) {
		const struct condition *after = &transitions->after[i];
		const struct condition *before =
			transitions->before ? &transitions->before[i] : NULL;
		enum condition_status bad = transitions->bad[i];

		if (!is_news(before, after, bad))
			continue;
		recorder_event(recorder,
			       &(struct recorder_event){
				       .regarding = transitions->object,
				       .type = after->status == bad ? "Warning" : "Normal",
				       .reason = quota_reason_text(after->reason),
				       .action = "Reconcile",
				       .note = str_from(after->message),
			       });
	}
}
