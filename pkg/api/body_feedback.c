/* SPDX-License-Identifier: Apache-2.0 */
/* status.throttle, as pack_feedback.c reads it back. */
#include "api/body_common.h"

/* Also where nothing is taken off: the printer column shows 100 then, not an empty field. */
void body_add_throttle(struct json_out *out, const struct throttle *throttle)
{
	char cause[THROTTLE_CAUSE_SIZE];

	json_out_object(out, "throttle");
	json_out_cstring(out, "step", throttle_step_text(throttle->step));
	json_out_int(out, "percent", throttle->percent);
	throttle_cause(throttle->signals, cause);
	if (throttle->signals != 0) {
		json_out_cstring(out, "cause", cause);
		json_out_array(out, "signals");
		for (unsigned i = 0; i < FEEDBACK_SIGNAL_COUNT; i++)
			if (throttle->signals & FEEDBACK_BIT(i))
				json_out_cstring(out, NULL,
						 feedback_signal_text((enum feedback_signal)i));
		json_out_end_array(out);
	}
	if (throttle->since_us > 0)
		json_out_time(out, "since", throttle->since_us);
	if (throttle->until_us > 0)
		json_out_time(out, "until", throttle->until_us);
	if (throttle->futile > 0)
		json_out_int(out, "futileTries", throttle->futile);
	json_out_end(out);
}
