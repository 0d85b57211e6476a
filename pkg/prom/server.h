/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PROM_SERVER_H
#define GPUQOS_PROM_SERVER_H

#include "http/client.h"
#include "prom/access.h"

/* One path of a server, and how requests to it are made. Zeroed, it is cleared. Inside prom only.
 * Texts are owned. */
struct prom_server {
	struct http_pool *pool;
	char *url, *token_file, *username, *password_file;
};

struct prom_place {
	const char *name; /* of the pool of connections; static */
	const char *path; /* behind access->url, from / on */
	const struct prom_access *access;
};

/* INVALID for what does not go together; errors of the files. On failure @server is zeroed. */
int prom_server_init(struct prom_server *server, struct loop *loop, const struct prom_place *place,
		     struct error *err);
/* As http_pool_free(). */
void prom_server_clear(struct prom_server *server);

struct prom_post {
	const char *content_type;
	struct str body;
	int64_t timeout_us;
};

/* As http_send(), with credentials as their files have them now. */
int prom_server_post(struct prom_server *server, const struct prom_post *post,
		     const struct http_handlers *handlers, struct error *err);

#endif
