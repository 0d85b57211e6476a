/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_LOOP_INTERNAL_H
#define GPUQOS_LOOP_INTERNAL_H

#include <event2/event.h>

#include "base/heap.h"
#include "base/list.h"
#include "loop/loop.h"

/* What the files of this package share. */
struct jobs;
struct alarm;

struct loop {
	const struct clock *clock;
	struct event_base *base;
	struct heap timers;
	struct alarm *alarm; /* wakes the loop for the first timer */
	struct jobs *jobs;   /* NULL until the first job */
	struct list signals;
	int64_t now_us; /* start of the turn */
	bool in_turn;
	bool stopped;
	loop_turn_fn observe;
	void *observe_context;
};

/* For what a program cannot run without: one line on stderr, then abort(). */
void loop_die(const char *what) __attribute__((noreturn));

/* A libevent event that is pending from here on. Never NULL. */
struct event *loop_event_new(struct loop *loop, int fd, short what, event_callback_fn fn,
			     void *context);

struct alarm *alarm_new(struct loop *loop);
void alarm_free(struct alarm *alarm);
/* Has the loop woken at @due_us, or earlier for nothing. */
void alarm_set(struct alarm *alarm, int64_t now_us, int64_t due_us);

/* The deadline of the first timer, TIME_NEVER without one; and a turn for each that is due. */
int64_t timers_due(const struct loop *loop);
void timers_run(struct loop *loop);

void jobs_free(struct jobs *jobs);

#endif
