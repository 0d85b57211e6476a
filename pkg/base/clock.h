/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_CLOCK_H
#define GPUQOS_BASE_CLOCK_H

#include <stdint.h>

/*
 * Time by parameter. All times and durations are microseconds in int64_t.
 *
 * Monotonic time is CLOCK_BOOTTIME: it goes on while the machine sleeps, so that a lease cannot
 * look fresh after a suspend. Its zero is arbitrary; it is for durations and deadlines. Real time
 * is microseconds since 1970 UTC; it is for what people and other machines read, and never for a
 * decision about leases or time-outs.
 */
#define USEC_PER_MSEC 1000LL
#define USEC_PER_SEC  1000000LL
#define USEC_PER_MIN  (60 * USEC_PER_SEC)
#define TIME_NEVER    INT64_MAX

struct clock {
	int64_t (*monotonic)(void *context);
	int64_t (*real)(void *context);
	void *context;
};

/* The system's clocks. Borrowed, static. */
const struct clock *clock_system(void);

static inline int64_t clock_monotonic(const struct clock *clock)
{
	return clock->monotonic(clock->context);
}

static inline int64_t clock_real(const struct clock *clock)
{
	return clock->real(clock->context);
}

/*
 * A clock that moves only when told to, for tests and simulation. `clock.context` is the struct
 * itself.
 */
struct manual_clock {
	struct clock clock;
	int64_t monotonic_us, real_us;
};

void manual_clock_init(struct manual_clock *manual, int64_t monotonic_us, int64_t real_us);
void manual_clock_advance(struct manual_clock *manual, int64_t us);

#endif
