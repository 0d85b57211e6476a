/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_EXTENDER_SERVED_H
#define GPUQOS_TESTS_EXTENDER_SERVED_H

#include "http/server.h"

/*
 * Stands in for http/server.h at link time: requests come from the test, without a network, and
 * what became of them is looked at.
 */
struct served {
	enum { SERVED_WAITS, SERVED_ANSWERED, SERVED_CLOSED } state;
	struct http_server_reply reply;
	bool left; /* set by the test: who asked has gone */
};

/* One POST, or a GET where @body is NULL. Freed by served_free(), which a later answer survives no
 * more: it has to be there or given up by then. */
struct served *served_call(struct http_server *server, const char *path, const char *body);
/* What was answered, with a zero byte behind it. Borrowed; fails the test while it waits. */
const char *served_text(struct served *served);
void served_free(struct served *served);

#endif
