/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/http/raw.h"

struct raw_client raw_open(const struct http_server *server)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(http_server_port(server)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct raw_client c = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	assert_true(c.fd >= 0);
	assert_int_equal(connect(c.fd, (struct sockaddr *)&to, sizeof(to)), 0);
	buf_init(&c.in, 8 * 1024 * 1024);
	return c;
}

void raw_close(struct raw_client *c)
{
	close(c->fd);
	buf_clear(&c->in);
}

void raw_say(const struct raw_client *c, const char *text)
{
	assert_int_equal(send(c->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

void raw_listen(struct raw_client *c)
{
	char *space = buf_reserve(&c->in, 65536);
	ssize_t n;

	assert_non_null(space);
	n = recv(c->fd, space, 65536, MSG_DONTWAIT);
	if (n > 0)
		buf_commit(&c->in, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		c->closed = true;
}

void raw_expect(struct loop *loop, struct raw_client *c, const char *text)
{
	int64_t end = clock_monotonic(clock_system()) + RAW_PATIENCE_US;

	while (clock_monotonic(clock_system()) < end) {
		loop_run_once(loop, 0);
		raw_listen(c);
		if (text ? (c->in.data && strstr(c->in.data, text)) : c->closed)
			return;
	}
	fail_msg("waited for \"%s\", got \"%s\"", text ? text : "the end",
		 c->in.data ? c->in.data : "");
}
