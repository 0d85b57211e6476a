/* SPDX-License-Identifier: Apache-2.0 */
/* The two clocks of the system, and one that is moved by hand. */
#include "base/clock.h"

#include <assert.h>
#include <time.h>

#include "base/macros.h"

static int64_t read_us(clockid_t id)
{
	struct timespec now;
	int rc = clock_gettime(id, &now);

	assert(rc == 0);
	(void)rc;
	return (int64_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

static int64_t system_monotonic(void *context UNUSED)
{
	return read_us(CLOCK_BOOTTIME);
}

static int64_t system_real(void *context UNUSED)
{
	return read_us(CLOCK_REALTIME);
}

const struct clock *clock_system(void)
{
	static const struct clock clock = {system_monotonic, system_real, NULL};

	return &clock;
}

static int64_t manual_monotonic(void *context)
{
	return ((const struct manual_clock *)context)->monotonic_us;
}

static int64_t manual_real(void *context)
{
	return ((const struct manual_clock *)context)->real_us;
}

void manual_clock_init(struct manual_clock *manual, int64_t monotonic_us, int64_t real_us)
{
	manual->clock = (struct clock){manual_monotonic, manual_real, manual};
	manual->monotonic_us = monotonic_us;
	manual->real_us = real_us;
}

void manual_clock_advance(struct manual_clock *manual, int64_t us)
{
	manual->monotonic_us += us;
	manual->real_us += us;
}
