/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential back-off: one curve, with and without memory of the last failure. */
#include "ctl/backoff.h"

#include <assert.h>

#include "base/checked.h"
#include "base/macros.h"

void backoff_init(struct backoff *backoff, int64_t base_us, int64_t cap_us, double jitter,
		  int64_t reset_us)
{
	assert(base_us > 0 && base_us <= cap_us && jitter >= 0);
	*backoff = (struct backoff){
		.base_us = base_us,
		.cap_us = cap_us,
		.reset_us = reset_us,
		.jitter = jitter,
	};
}

int64_t backoff_fail(struct backoff *backoff, int64_t now_us, struct random *random)
{
	int64_t quiet_us = saturating_sub(now_us, backoff->last_failure_us);
	int64_t delay_us = backoff->next_us;

	if (delay_us == 0 || quiet_us > backoff->reset_us)
		delay_us = backoff->base_us;
	backoff->next_us = backoff_delay(delay_us, backoff->cap_us, 2);
	backoff->last_failure_us = now_us;
	return random_jitter(random, delay_us, backoff->jitter);
}

int64_t backoff_delay(int64_t base_us, int64_t cap_us, unsigned int failures)
{
	unsigned int doublings = failures > 0 ? failures - 1 : 0;

	/* Shifting the cap down instead of the base up cannot overflow. */
	if (doublings >= 63 || base_us > cap_us >> doublings)
		return cap_us;
	return base_us << doublings;
}
