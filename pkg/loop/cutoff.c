/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of descriptors that a signal handler may read at any instruction: an entry is one atomic
 * int. connect() to AF_UNSPEC is what disconnects a TCP socket, and may be called from a handler.
 */
#include "loop/cutoff.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "loop/internal.h"

#define SOCKETS_MOST 256
#define NO_SOCKET    (-1)

struct cutoff {
	timer_t timer;
	struct sigaction before;
	atomic_int sockets[SOCKETS_MOST];
};

static struct cutoff *_Atomic current;

static void disconnect_all(struct cutoff *cutoff)
{
	const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

	for (size_t i = 0; i < SOCKETS_MOST; i++) {
		int fd = atomic_load(&cutoff->sockets[i]);

		if (fd != NO_SOCKET)
			(void)connect(fd, &nobody, sizeof(nobody));
	}
}

static void on_time(int signum UNUSED)
{
	struct cutoff *cutoff = atomic_load(&current);
	int saved = errno;

	if (cutoff)
		disconnect_all(cutoff);
	errno = saved;
}

struct cutoff *cutoff_new(void)
{
	struct cutoff *cutoff = mem_alloc(sizeof(*cutoff));
	struct sigaction action = {.sa_handler = on_time, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};

	for (size_t i = 0; i < SOCKETS_MOST; i++)
		atomic_init(&cutoff->sockets[i], NO_SOCKET);
	if (atomic_load(&current))
		loop_die("a second cutoff");
	atomic_store(&current, cutoff);
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGRTMIN, &action, &cutoff->before) < 0 ||
	    timer_create(CLOCK_BOOTTIME, &event, &cutoff->timer) < 0)
		loop_die("no timer with a signal");
	return cutoff;
}

void cutoff_free(struct cutoff *cutoff)
{
	if (!cutoff)
		return;
	timer_delete(cutoff->timer);
	sigaction(SIGRTMIN, &cutoff->before, NULL);
	atomic_store(&current, NULL);
	mem_free(cutoff);
}

void cutoff_set(struct cutoff *cutoff, int64_t at_us)
{
	struct itimerspec spec = {0};

	if (at_us != TIME_NEVER) {
		int64_t us = MAX(at_us, 1); /* 0 would disarm */

		spec.it_value.tv_sec = us / USEC_PER_SEC;
		spec.it_value.tv_nsec = us % USEC_PER_SEC * 1000;
	}
	if (timer_settime(cutoff->timer, TIMER_ABSTIME, &spec, NULL) < 0)
		loop_die("the timer with a signal cannot be set");
}

void cutoff_now(struct cutoff *cutoff)
{
	cutoff_set(cutoff, TIME_NEVER);
	disconnect_all(cutoff);
}

static bool replace(struct cutoff *cutoff, int from, int to)
{
	for (size_t i = 0; i < SOCKETS_MOST; i++) {
		if (atomic_load(&cutoff->sockets[i]) != from)
			continue;
		atomic_store(&cutoff->sockets[i], to);
		return true;
	}
	return false;
}

bool cutoff_add(struct cutoff *cutoff, int fd)
{
	return replace(cutoff, NO_SOCKET, fd);
}

void cutoff_remove(struct cutoff *cutoff, int fd)
{
	replace(cutoff, fd, NO_SOCKET);
}
