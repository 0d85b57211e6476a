/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_PACE_H
#define GPUQOS_MODEL_PACE_H

#include <stdint.h>

/* How fast abnormal use is answered, for all tenants: `feedback` in --config. */
struct feedback_pace {
	int64_t grace_us; /* a signal is bad where it was for so long; good again after half of it
			   */
	int64_t alert_us, step_us, floor_us, rest_us; /* see feedback/ladder.h */
	int64_t idle_us;    /* a pod whose cards do nothing for so long is idle */
	int64_t recover_us; /* the minute of recoverPerMinute: points are given back each so long */
};

#define FEEDBACK_GRACE_US   (60LL * 1000 * 1000)
#define FEEDBACK_ALERT_US   (60LL * 1000 * 1000)
#define FEEDBACK_STEP_US    (180LL * 1000 * 1000)
#define FEEDBACK_FLOOR_US   (600LL * 1000 * 1000)
#define FEEDBACK_REST_US    (900LL * 1000 * 1000)
#define FEEDBACK_REST_TIMES 16 /* as long as that, at most */
#define FEEDBACK_IDLE_US    (1800LL * 1000 * 1000)
#define FEEDBACK_RECOVER_US (60LL * 1000 * 1000)
/* An initializer. */
#define FEEDBACK_PACE_DEFAULT                                                              \
	{                                                                                  \
		FEEDBACK_GRACE_US, FEEDBACK_ALERT_US, FEEDBACK_STEP_US, FEEDBACK_FLOOR_US, \
			FEEDBACK_REST_US, FEEDBACK_IDLE_US, FEEDBACK_RECOVER_US            \
	}

#endif
