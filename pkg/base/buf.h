/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_BUF_H
#define GPUQOS_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "base/str.h"

/*
 * A growing byte buffer with a named maximum. `data` is always terminated by a zero byte that `len`
 * does not count (data may be NULL while nothing was added). Once an addition would pass the
 * maximum the buffer becomes `overflowed`: it keeps what it had, every later addition is refused,
 * and the caller checks once at the end. A zeroed buffer has no room: init it first.
 */
struct buf {
	char *data;
	size_t len;
	size_t capacity;
	size_t max; /* most bytes of content */
	bool overflowed;
};

void buf_init(struct buf *buf, size_t max);
void buf_clear(struct buf *buf); /* releases; the maximum stays, so the buffer can be used again */
void buf_reset(struct buf *buf); /* empties, keeps the memory, forgets the overflow */

/* All return false, and mark the buffer, when the maximum would be passed. */
bool buf_add(struct buf *buf, const void *data, size_t len);
bool buf_add_str(struct buf *buf, struct str s);
bool buf_add_cstr(struct buf *buf, const char *s);
bool buf_add_char(struct buf *buf, char c);
bool buf_printf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
bool buf_vprintf(struct buf *buf, const char *format, va_list args) PRINTF_LIKE(2, 0);

/*
 * Room for @len more bytes at data+len, to be followed by buf_commit() with what was written. NULL
 * as above.
 */
char *buf_reserve(struct buf *buf, size_t len);
void buf_commit(struct buf *buf, size_t len);

/* Drops the first @len bytes (at most all). Linear in what remains: drop in big steps. */
void buf_consume(struct buf *buf, size_t len);

static inline struct str buf_str(const struct buf *buf)
{
	return (struct str){buf->data, buf->len};
}

/*
 * Hands the terminated bytes to the caller, who releases them with mem_free(); never NULL; the
 * buffer is empty afterwards.
 */
char *buf_take(struct buf *buf) MUST_CHECK;

DEFINE_CLEAR(struct buf, buf_clear)

#endif
