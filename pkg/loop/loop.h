/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_LOOP_LOOP_H
#define GPUQOS_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/macros.h"

/*
 * The one event loop (libevent). Everything that waits in this program waits here; nothing blocks.
 * A callback is a turn: turns aim at 300 µs and none should exceed 1 ms; each source has a static
 * name under which its turns are measured. Callbacks may arm, disarm and free any source, their own
 * included, but not the loop. One thread uses a loop; only loop_job()'s work runs elsewhere.
 *
 * libevent's headers are for this package and for pkg/http, which takes the base for evhttp through
 * loop_event_base().
 */
struct loop;
struct event_base;

/*
 * @clock is borrowed; where it is moved by hand, timers follow it. Ends the program when libevent
 * cannot start. SIGPIPE is ignored from here on, and libevent's memory comes from the aborting
 * allocator.
 */
struct loop *loop_new(const struct clock *clock);
/* After the owners have cleared their timers and freed their descriptors. Not from a callback. */
void loop_free(struct loop *loop);

/* Runs until loop_stop(), which may have come before. */
void loop_run(struct loop *loop);
/* Handles what is ready now and, with @wait_us > 0, first waits at most that long for it: for
 * tests. */
void loop_run_once(struct loop *loop, int64_t wait_us);
void loop_stop(struct loop *loop);

/* Monotonic µs, read once at the start of the turn. loop_clock() reads anew. */
int64_t loop_now(const struct loop *loop);
const struct clock *loop_clock(const struct loop *loop); /* borrowed */
struct event_base *loop_event_base(struct loop *loop);   /* borrowed */

/* Around a callback that libevent calls past this package: makes it a turn under @name (static). */
void loop_turn_begin(struct loop *loop);
void loop_turn_end(struct loop *loop, const char *name);

typedef void (*loop_fn)(void *context);

/*
 * A timer, fired once per arming, in order of deadline, equal ones in order of arming. Embedded by
 * its owner, who clears it. A zeroed one may be cleared and asked, but not armed. Arming is O(log
 * n) without a system call.
 */
struct loop_timer {
	struct loop *loop;
	const char *name;
	loop_fn fn;
	void *context;
	struct heap_entry entry;
};

void loop_timer_init(struct loop_timer *timer, struct loop *loop, const char *name, loop_fn fn,
		     void *context);
/* Monotonic µs; in the past means next turn; TIME_NEVER disarms. Armed already: moved. */
void loop_timer_set(struct loop_timer *timer, int64_t due_us);
void loop_timer_clear(struct loop_timer *timer); /* disarms; it may be armed again */

static inline bool loop_timer_armed(const struct loop_timer *timer)
{
	return heap_contains(&timer->entry);
}

/* A turn of its own, once, as soon as the current one is over. Arming twice is once. */
void loop_defer(struct loop_timer *timer);

/* Interest in a descriptor that the caller keeps owning. Errors and hang-up wake both kinds. */
#define LOOP_READ  1u
#define LOOP_WRITE 2u
typedef void (*loop_fd_fn)(void *context, int fd, unsigned int events);

struct loop_fd; /* opaque */
struct loop_fd *loop_fd_new(struct loop *loop, const char *name, int fd, loop_fd_fn fn,
			    void *context);                      /* no interest yet */
void loop_fd_update(struct loop_fd *watch, unsigned int events); /* 0 for none */
void loop_fd_free(struct loop_fd *watch); /* before the descriptor is closed */

/*
 * Calls @fn in a turn of its own for each delivery of @signum, until the loop is freed. One loop of
 * the process at a time may do so.
 */
void loop_on_signal(struct loop *loop, int signum, loop_fn fn, void *context);

/*
 * Work that cannot be cut runs in the one job thread: @work sees only @data (a clone), @done runs
 * in the loop afterwards, in a turn called @name (static). Jobs run one at a time, in order.
 * loop_free() waits for the running one; what has not begun gets only its @done, with cancelled =
 * true.
 */
typedef void (*loop_work_fn)(void *data);
typedef void (*loop_done_fn)(void *data, bool cancelled);
void loop_job(struct loop *loop, const char *name, loop_work_fn work, loop_done_fn done,
	      void *data);

/* Told of every turn: its source and how long it took. One observer; NULL for none. */
typedef void (*loop_turn_fn)(void *context, const char *name, int64_t took_us);
void loop_observe_turns(struct loop *loop, loop_turn_fn fn, void *context);

DEFINE_CLEAR(struct loop_timer, loop_timer_clear)
DEFINE_CLEANUP(struct loop *, loop_free)
DEFINE_CLEANUP(struct loop_fd *, loop_fd_free)

#endif
