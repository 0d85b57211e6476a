/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_UNIT_HTTP_RAW_H
#define GPUQOS_TESTS_UNIT_HTTP_RAW_H

#include <stdbool.h>

#include "base/buf.h"
#include "http/server.h"

/* A client of the server that runs in the same thread: a socket, and what has come from it. */
struct raw_client {
	int fd;
	struct buf in;
	bool closed; /* by the server */
};

#define RAW_PATIENCE_US (20 * USEC_PER_SEC) /* real time, until a test gives up */

struct raw_client raw_open(const struct http_server *server);
void raw_close(struct raw_client *c);
void raw_say(const struct raw_client *c, const char *text); /* what the socket takes at once */
/* Takes what has come by now. */
void raw_listen(struct raw_client *c);
/* Runs @loop until @text has come, or with NULL until the server has closed the connection. */
void raw_expect(struct loop *loop, struct raw_client *c, const char *text);

#endif
