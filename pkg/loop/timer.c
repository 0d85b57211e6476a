/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers: a heap of deadlines on the loop's clock, and one timerfd that wakes the loop for the
 * first of them. The timerfd counts CLOCK_BOOTTIME, so that deadlines pass while the machine
 * sleeps.
 */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/mem.h"
#include "loop/internal.h"

struct alarm {
	int fd;
	struct event *event;
	int64_t due_us; /* what the timerfd is set to, by the loop's clock; TIME_NEVER when it is
			   not */
};

static void alarm_rang(evutil_socket_t fd, short what UNUSED, void *context)
{
	struct alarm *alarm = context;
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));

	(void)n; /* EAGAIN when it was set anew meanwhile */
	alarm->due_us = TIME_NEVER;
}

struct alarm *alarm_new(struct loop *loop)
{
	struct alarm *alarm = mem_alloc(sizeof(*alarm));

	alarm->fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (alarm->fd < 0)
		loop_die("no timerfd");
	alarm->event = loop_event_new(loop, alarm->fd, EV_READ | EV_PERSIST, alarm_rang, alarm);
	alarm->due_us = TIME_NEVER;
	return alarm;
}

void alarm_free(struct alarm *alarm)
{
	event_free(alarm->event);
	close(alarm->fd);
	mem_free(alarm);
}

/* An alarm that rings too early costs one empty iteration; setting it at each change costs more. */
void alarm_set(struct alarm *alarm, int64_t now_us, int64_t due_us)
{
	int64_t wait = due_us - now_us;
	struct itimerspec spec = {
		.it_value = {.tv_sec = wait / USEC_PER_SEC, .tv_nsec = wait % USEC_PER_SEC * 1000}};

	if (due_us == TIME_NEVER || (alarm->due_us <= due_us && alarm->due_us > now_us))
		return;
	if (timerfd_settime(alarm->fd, 0, &spec, NULL) < 0)
		loop_die("the timerfd cannot be set");
	alarm->due_us = due_us;
}

void loop_timer_init(struct loop_timer *timer, struct loop *loop, const char *name, loop_fn fn,
		     void *context)
{
	*timer = (struct loop_timer){.loop = loop, .name = name, .fn = fn, .context = context};
}

void loop_timer_clear(struct loop_timer *timer)
{
	if (timer && loop_timer_armed(timer))
		heap_remove(&timer->loop->timers, &timer->entry);
}

/*
 * A deadline in the past becomes now: else a timer that arms itself for the past would stay ahead
 * of all others.
 */
void loop_timer_set(struct loop_timer *timer, int64_t due_us)
{
	if (due_us == TIME_NEVER)
		loop_timer_clear(timer);
	else
		heap_set(&timer->loop->timers, &timer->entry, MAX(due_us, loop_now(timer->loop)));
}

void loop_defer(struct loop_timer *timer)
{
	int64_t now = loop_now(timer->loop);

	if (!loop_timer_armed(timer) || timer->entry.due_us > now)
		loop_timer_set(timer, now);
}

int64_t timers_due(const struct loop *loop)
{
	const struct heap_entry *first = heap_first(&loop->timers);

	return first ? first->due_us : TIME_NEVER;
}

static void timer_fire(struct loop *loop, struct loop_timer *timer)
{
	const char *name = timer->name; /* the callback may free the timer */

	heap_remove(&loop->timers, &timer->entry);
	loop_turn_begin(loop);
	timer->fn(timer->context);
	loop_turn_end(loop, name);
}

/* At most as many turns as there were timers: what they arm anew sorts behind and waits for the
 * descriptors. */
void timers_run(struct loop *loop)
{
	int64_t now = clock_monotonic(loop->clock);

	for (size_t left = loop->timers.len; left > 0 && timers_due(loop) <= now; left--) {
		struct heap_entry *first = heap_first(&loop->timers);

		timer_fire(loop, container_of(first, struct loop_timer, entry));
	}
}
