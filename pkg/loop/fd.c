/* SPDX-License-Identifier: Apache-2.0 */
/* Interest in descriptors. libevent allows that an event is freed in its own callback; so do we. */
#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/mem.h"
#include "loop/internal.h"

struct loop_fd {
	struct loop *loop;
	const char *name;
	loop_fd_fn fn;
	void *context;
	int fd;
	unsigned int events; /* in which there is interest; the event is pending when not 0 */
	struct event event;
};

static void fd_ready(evutil_socket_t fd, short what, void *context)
{
	struct loop_fd *watch = context;
	struct loop *loop = watch->loop;
	const char *name = watch->name;
	unsigned int events = (what & EV_READ ? LOOP_READ : 0) | (what & EV_WRITE ? LOOP_WRITE : 0);

	loop_turn_begin(loop);
	watch->fn(watch->context, fd, events);
	loop_turn_end(loop, name);
}

struct loop_fd *loop_fd_new(struct loop *loop, const char *name, int fd, loop_fd_fn fn,
			    void *context)
{
	struct loop_fd *watch = mem_alloc(sizeof(*watch));

	watch->loop = loop;
	watch->name = name;
	watch->fn = fn;
	watch->context = context;
	watch->fd = fd;
	return watch;
}

void loop_fd_update(struct loop_fd *watch, unsigned int events)
{
	int what = (events & LOOP_READ ? EV_READ : 0) | (events & LOOP_WRITE ? EV_WRITE : 0);

	if (events == watch->events)
		return;
	if (watch->events != 0)
		event_del(&watch->event);
	watch->events = events;
	if (events == 0)
		return;
	if (event_assign(&watch->event, watch->loop->base, watch->fd, (short)(what | EV_PERSIST),
			 fd_ready, watch) < 0 ||
	    event_add(&watch->event, NULL) < 0)
		loop_die("a descriptor cannot be watched");
}

void loop_fd_free(struct loop_fd *watch)
{
	if (!watch)
		return;
	loop_fd_update(watch, 0);
	mem_free(watch);
}
