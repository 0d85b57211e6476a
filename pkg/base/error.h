/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_ERROR_H
#define GPUQOS_BASE_ERROR_H

#include <stdint.h>

#include "base/limits.h"
#include "base/macros.h"

/*
 * What went wrong, to which object, and what to do about it.
 *
 * A function that can fail returns 0, or -1 with its last parameter, a `struct error *`, set. The
 * caller owns the struct (usually on its stack); it holds no memory, so it needs no clearing and
 * may be copied. Each level on the way up may put its own context before the message with
 * error_wrap(); nothing logs but the outermost edge, once. NULL is accepted where the caller does
 * not care. An outcome that is expected (not found in a cache, nothing to do) is an enum, never an
 * error.
 */

/*
 * kind, name. Which of them are worth another try is decided where it is made.
 *
 * INVALID is malformed input, or a request that the server refuses for good. LIMIT: a named limit
 * of base/limits.h was met. CONFLICT: a precondition failed or a concurrent write won; read again,
 * decide again. EXPIRED: a resourceVersion or continue token is too old; list again. THROTTLED is
 * 429: the server has too much to do; retry_after_us may be set. BUDGET: a PodDisruptionBudget, or
 * more than one, keeps a pod from being evicted. UNAUTHORIZED: credentials were refused; reload
 * them. UNAVAILABLE: a connection was refused or cut, or 5xx. CANCELLED: taken back by its owner.
 * FENCED: this replica does not lead, the write was not sent. SYSTEM: a system call failed.
 */
#define ERROR_KINDS(X)                           \
	X(INVALID, "invalid")                    \
	X(LIMIT, "limit")                        \
	X(NOT_FOUND, "not found")                \
	X(CONFLICT, "conflict")                  \
	X(EXISTS, "already exists")              \
	X(EXPIRED, "expired")                    \
	X(THROTTLED, "throttled")                \
	X(BUDGET, "kept by a disruption budget") \
	X(UNAUTHORIZED, "unauthorized")          \
	X(FORBIDDEN, "forbidden")                \
	X(UNAVAILABLE, "unavailable")            \
	X(TIMEOUT, "timed out")                  \
	X(CANCELLED, "cancelled")                \
	X(FENCED, "fenced")                      \
	X(SYSTEM, "system error")

enum error_kind {
	ERROR_NONE = 0,
#define X(kind, name) ERROR_##kind,
	ERROR_KINDS(X)
#undef X
};

struct error {
	enum error_kind kind;
	int http_status;        /* 100 to 599 where an HTTP answer is the cause, else 0 */
	int64_t retry_after_us; /* the server's wish, 0 where it has none */
	char message[LIMIT_ERROR_MESSAGE];
};

/*
 * Sets @err and returns -1, so that `return error_set(err, ...)` reads as one step. Longer messages
 * are cut at the end, never within a UTF-8 sequence. Arguments may point into @err.
 */
int error_set(struct error *err, enum error_kind kind, const char *format, ...) PRINTF_LIKE(3, 4);

/* As error_set() with kind SYSTEM; appends the text of errno value @errnum. */
int error_set_errno(struct error *err, int errnum, const char *format, ...) PRINTF_LIKE(3, 4);

/*
 * Puts context before the message ("context: message"); keeps kind and numbers; the tail is cut
 * when it grows too long. Returns -1.
 */
int error_wrap(struct error *err, const char *format, ...) PRINTF_LIKE(2, 3);

void error_clear(struct error *err);

/* Borrowed, static: "invalid", "limit", ... */
const char *error_kind_name(enum error_kind kind);

#endif
