/* SPDX-License-Identifier: Apache-2.0 */
/* The cutoff on real TCP connections, also of a process that was stopped meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/cutoff.h"

#define PATIENCE_US (20 * USEC_PER_SEC)

/* A connection to ourselves: [0] is what is cut off, [1] its peer. */
static void connect_pair(int ret_pair[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	ret_pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(ret_pair[0], (struct sockaddr *)&address, sizeof(address)), 0);
	ret_pair[1] = accept(listener, NULL, NULL);
	assert_true(ret_pair[1] >= 0);
	close(listener);
}

static void close_pair(const int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

static bool is_open(int fd)
{
	return send(fd, "x", 1, MSG_NOSIGNAL) == 1;
}

/* Until the peer is told, which is not before the moment has come. */
static void wait_cut(int peer)
{
	struct pollfd poll_peer = {.fd = peer, .events = POLLIN};
	int64_t end_us = clock_monotonic(clock_system()) + PATIENCE_US;
	ssize_t n = 1;
	char byte;

	while (n == 1 || (n < 0 && errno == EAGAIN)) {
		assert_true(clock_monotonic(clock_system()) < end_us);
		poll(&poll_peer, 1, 100); /* the signal may interrupt it */
		n = recv(peer, &byte, 1, MSG_DONTWAIT);
	}
}

static int64_t now_us(void)
{
	return clock_monotonic(clock_system());
}

static void at_its_moment_sockets_are_disconnected(void **state UNUSED)
{
	CLEANUP(cutoff_free) struct cutoff *cutoff = cutoff_new();
	int cut[2], other[2];

	connect_pair(cut);
	connect_pair(other);
	assert_true(cutoff_add(cutoff, cut[0]));
	assert_true(is_open(cut[0]));
	cutoff_set(cutoff, now_us() + 20 * USEC_PER_MSEC);
	wait_cut(cut[1]);
	assert_false(is_open(cut[0]));
	assert_true(is_open(other[0]));
	close_pair(cut);
	close_pair(other);
}

static void a_moment_in_the_past_is_now(void **state UNUSED)
{
	CLEANUP(cutoff_free) struct cutoff *cutoff = cutoff_new();
	int pair[2];

	connect_pair(pair);
	assert_true(cutoff_add(cutoff, pair[0]));
	cutoff_set(cutoff, 0);
	wait_cut(pair[1]);
	assert_false(is_open(pair[0]));
	close_pair(pair);
}

static void now_needs_no_signal(void **state UNUSED)
{
	CLEANUP(cutoff_free) struct cutoff *cutoff = cutoff_new();
	int pair[2];

	connect_pair(pair);
	assert_true(cutoff_add(cutoff, pair[0]));
	cutoff_now(cutoff);
	assert_false(is_open(pair[0]));
	close_pair(pair);
}

static void what_was_put_off_or_removed_is_left_alone(void **state UNUSED)
{
	CLEANUP(cutoff_free) struct cutoff *cutoff = cutoff_new();
	int late[2], removed[2], witness[2];

	connect_pair(late);
	connect_pair(removed);
	connect_pair(witness);
	assert_true(cutoff_add(cutoff, removed[0]));
	assert_true(cutoff_add(cutoff, witness[0]));
	cutoff_remove(cutoff, removed[0]);
	cutoff_set(cutoff, now_us() + 10 * USEC_PER_MSEC);
	wait_cut(witness[1]);
	assert_true(is_open(removed[0]));
	assert_true(cutoff_add(cutoff, late[0]));
	cutoff_set(cutoff, now_us() + 3600 * USEC_PER_SEC);
	cutoff_set(cutoff, TIME_NEVER);
	assert_true(is_open(late[0]));
	close_pair(late);
	close_pair(removed);
	close_pair(witness);
}

static void more_sockets_than_it_can_hold_are_refused(void **state UNUSED)
{
	CLEANUP(cutoff_free) struct cutoff *cutoff = cutoff_new();
	int fd = 0;

	while (fd < 100000 && cutoff_add(cutoff, fd))
		fd++;
	assert_in_range(fd, 1, 99999);
	cutoff_remove(cutoff, 0);
	assert_true(cutoff_add(cutoff, fd));
	for (int i = 1; i <= fd; i++)
		cutoff_remove(cutoff, i);
}

/* Looks at the clock, is stopped until long after, and sends: 0 when nothing left. */
static int stopped_between_look_and_send(int fd)
{
	struct cutoff *cutoff = cutoff_new();

	cutoff_add(cutoff, fd);
	cutoff_set(cutoff, now_us() + 50 * USEC_PER_MSEC);
	raise(SIGSTOP);
	return is_open(fd) ? 1 : 0;
}

static void who_is_stopped_meanwhile_sends_nothing_when_it_goes_on(void **state UNUSED)
{
	int pair[2], status;
	int64_t until;
	pid_t child;

#ifdef __SANITIZE_THREAD__
	skip(); /* it puts off signals until the program waits for something */
#endif
	connect_pair(pair);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(stopped_between_look_and_send(pair[0]));
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	for (until = now_us() + 100 * USEC_PER_MSEC; now_us() < until;)
		poll(NULL, 0, 10);
	kill(child, SIGCONT);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close_pair(pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_its_moment_sockets_are_disconnected),
		cmocka_unit_test(a_moment_in_the_past_is_now),
		cmocka_unit_test(now_needs_no_signal),
		cmocka_unit_test(what_was_put_off_or_removed_is_left_alone),
		cmocka_unit_test(more_sockets_than_it_can_hold_are_refused),
		cmocka_unit_test(who_is_stopped_meanwhile_sends_nothing_when_it_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
