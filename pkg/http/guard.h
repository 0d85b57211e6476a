/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_HTTP_GUARD_H
#define GPUQOS_HTTP_GUARD_H

#include "base/str.h"
#include "http/server.h"

/* The strict reading of a request head (RFC 9112), for the server. Pure. */
struct guard_head {
	enum http_server_method method;
	struct str path, query; /* not decoded; without "?" it is path alone. Borrowed */
	size_t body_length;     /* 0 but for a POST */
	bool close;             /* the client wants no other answer on this connection */
};

/*
 * @bytes are a request line and header lines with the empty line that ends them. The answer is 0,
 * or the HTTP status to refuse it with: 400 malformed, 405 neither GET nor HEAD nor, with @max_body
 * > 0, POST; 411 a POST without a length, 413 a body of more than @max_body or with another method,
 * 417 an expectation, 501 a transfer encoding, 505 neither HTTP/1.0 nor 1.1.
 */
int guard_read_head(struct str bytes, size_t max_body, struct guard_head *ret_head);

/* Where a head ends in @bytes: its length with the empty line, or 0 when that is not there yet. */
size_t guard_head_length(struct str bytes);

#endif
