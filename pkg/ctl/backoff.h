/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CTL_BACKOFF_H
#define GPUQOS_CTL_BACKOFF_H

#include <stdint.h>

#include "base/random.h"

/*
 * How long to wait before the next try: doubles from @base_us to @cap_us, each with up to @jitter
 * (a share of it: 1.0 is 100 %) more, and starts over once @reset_us passed without a failure.
 * The reflector's numbers (800 ms, 30 s, 1.0, 2 min) are client-go's. A @reset_us of no more than
 * the longest delay would start over between any two failures, so keep it well above.
 */
struct backoff {
	int64_t base_us, cap_us, reset_us;
	double jitter;
	int64_t next_us, last_failure_us; /* state: zero at first */
};

/* 0 < @base_us <= @cap_us, @jitter >= 0. */
void backoff_init(struct backoff *backoff, int64_t base_us, int64_t cap_us, double jitter,
		  int64_t reset_us);
/* The delay for a failure at @now_us. */
int64_t backoff_fail(struct backoff *backoff, int64_t now_us, struct random *random);

/*
 * The same curve without state: the delay after the @failures-th failure in a row (at least 1),
 * before jitter: @base_us * 2^(@failures - 1), at most @cap_us.
 */
int64_t backoff_delay(int64_t base_us, int64_t cap_us, unsigned int failures);

#endif
