/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop itself: libevent waits, timers follow. One iteration lets libevent handle what is ready,
 * then runs the timers that are due by the loop's own clock; libevent's timers are not used.
 */
#include "loop/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/mem.h"
#include "loop/internal.h"

struct loop_signal {
	struct list link;
	struct loop *loop;
	struct event *event;
	loop_fn fn;
	void *context;
};

void loop_die(const char *what)
{
	static const char prefix[] = "gpuqos: event loop: ";
	ssize_t n = write(STDERR_FILENO, prefix, sizeof(prefix) - 1);

	n += write(STDERR_FILENO, what, strlen(what));
	n += write(STDERR_FILENO, "\n", 1);
	(void)n;
	abort();
}

static void *event_realloc(void *block, size_t size)
{
	return mem_realloc_array(block, size, 1);
}

/* libevent prints warnings by default; what it warns of reaches us as errors of the calls
 * themselves. */
static void event_say_nothing(int severity UNUSED, const char *message UNUSED)
{
}

static struct event_base *base_new(void)
{
	struct event_config *config;
	struct event_base *base;

	event_set_mem_functions(mem_alloc, event_realloc, mem_free);
	event_set_log_callback(event_say_nothing);
	config = event_config_new();
	if (!config)
		loop_die("libevent cannot be configured");
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV);
	base = event_base_new_with_config(config);
	event_config_free(config);
	if (!base)
		loop_die("libevent cannot start");
	return base;
}

struct loop *loop_new(const struct clock *clock)
{
	struct loop *loop;

	signal(SIGPIPE, SIG_IGN);
	loop = mem_alloc(sizeof(*loop));
	loop->clock = clock;
	loop->base = base_new();
	loop->alarm = alarm_new(loop);
	loop->now_us = clock_monotonic(clock);
	list_init(&loop->signals);
	return loop;
}

static void signals_free(struct loop *loop)
{
	list_for_each_safe(it, &loop->signals) {
		struct loop_signal *watch = container_of(it, struct loop_signal, link);

		event_free(watch->event);
		mem_free(watch);
	}
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	jobs_free(loop->jobs);
	signals_free(loop);
	alarm_free(loop->alarm);
	heap_clear(&loop->timers);
	event_base_free(loop->base);
	mem_free(loop);
}

/* @wait_us: most time to wait; negative for any. */
static void iterate(struct loop *loop, int64_t wait_us)
{
	int64_t now = clock_monotonic(loop->clock);
	int64_t until = timers_due(loop);
	int flags = EVLOOP_ONCE;

	if (wait_us >= 0)
		until = MIN(until, now + wait_us);
	if (until <= now)
		flags |= EVLOOP_NONBLOCK;
	else
		alarm_set(loop->alarm, now, until);
	if (event_base_loop(loop->base, flags) < 0)
		loop_die("waiting failed");
	timers_run(loop);
}

void loop_run(struct loop *loop)
{
	while (!loop->stopped)
		iterate(loop, -1);
	loop->stopped = false;
}

void loop_run_once(struct loop *loop, int64_t wait_us)
{
	iterate(loop, MAX(wait_us, 0));
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}

int64_t loop_now(const struct loop *loop)
{
	return loop->in_turn ? loop->now_us : clock_monotonic(loop->clock);
}

const struct clock *loop_clock(const struct loop *loop)
{
	return loop->clock;
}

struct event_base *loop_event_base(struct loop *loop)
{
	return loop->base;
}

void loop_turn_begin(struct loop *loop)
{
	loop->now_us = clock_monotonic(loop->clock);
	loop->in_turn = true;
}

void loop_turn_end(struct loop *loop, const char *name)
{
	loop->in_turn = false;
	if (loop->observe)
		loop->observe(loop->observe_context, name,
			      clock_monotonic(loop->clock) - loop->now_us);
}

void loop_observe_turns(struct loop *loop, loop_turn_fn fn, void *context)
{
	loop->observe = fn;
	loop->observe_context = context;
}

struct event *loop_event_new(struct loop *loop, int fd, short what, event_callback_fn fn,
			     void *context)
{
	struct event *event = event_new(loop->base, fd, what, fn, context);

	if (!event || event_add(event, NULL) < 0)
		loop_die("an event cannot be added");
	return event;
}

static void signal_fired(evutil_socket_t signum UNUSED, short what UNUSED, void *context)
{
	struct loop_signal *watch = context;

	loop_turn_begin(watch->loop);
	watch->fn(watch->context);
	loop_turn_end(watch->loop, "signal");
}

void loop_on_signal(struct loop *loop, int signum, loop_fn fn, void *context)
{
	struct loop_signal *watch = mem_alloc(sizeof(*watch));

	*watch = (struct loop_signal){.loop = loop, .fn = fn, .context = context};
	watch->event = loop_event_new(loop, signum, EV_SIGNAL | EV_PERSIST, signal_fired, watch);
	list_append(&loop->signals, &watch->link);
}
