/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_HTTP_GUARD_H
#define GPUQOS_HTTP_GUARD_H

#include "base/str.h"

/*
 * The strict reading of a request head (RFC 9112), for the server's guard. Pure.
 *
 * @head is a request line and header lines with the empty line that ends them. The answer is 0 when
 * evhttp may have it, else the HTTP status to refuse it with: 400 malformed, 405 neither GET nor
 * HEAD, 413 a body, 501 a transfer encoding, 505 neither HTTP/1.0 nor 1.1.
 */
int guard_check_head(struct str head);

/* Where a head ends in @bytes: its length with the empty line, or 0 when that is not there yet. */
size_t guard_head_length(struct str bytes);

#endif
