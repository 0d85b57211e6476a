/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing buffer with a maximum. Capacity counts the terminating zero, so content may use
 * capacity - 1 bytes.
 */
#include "base/buf.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"

#define CAPACITY_FIRST 64

void buf_init(struct buf *buf, size_t max)
{
	assert(max < SIZE_MAX / 4);
	*buf = (struct buf){.max = max};
}

void buf_clear(struct buf *buf)
{
	if (!buf)
		return;
	mem_free(buf->data);
	buf_init(buf, buf->max);
}

void buf_reset(struct buf *buf)
{
	buf->len = 0;
	buf->overflowed = false;
	if (buf->data)
		buf->data[0] = '\0';
}

/* Doubles up to what the maximum needs, so that a buffer never holds more than max + 1 bytes. */
static void grow(struct buf *buf, size_t want)
{
	size_t capacity = MAX(buf->capacity * 2, CAPACITY_FIRST);
	bool first = !buf->data;

	capacity = MIN(MAX(capacity, want), buf->max + 1);
	buf->data = mem_realloc_array(buf->data, capacity, 1);
	buf->capacity = capacity;
	if (first)
		buf->data[0] = '\0';
}

char *buf_reserve(struct buf *buf, size_t len)
{
	if (buf->overflowed || len > buf->max - buf->len) {
		buf->overflowed = true;
		return NULL;
	}
	if (buf->capacity < buf->len + len + 1)
		grow(buf, buf->len + len + 1);
	return buf->data + buf->len;
}

void buf_commit(struct buf *buf, size_t len)
{
	if (len == 0)
		return;
	assert(buf->data && len < buf->capacity - buf->len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

bool buf_add(struct buf *buf, const void *data, size_t len)
{
	char *room = buf_reserve(buf, len);

	if (!room)
		return false;
	if (len > 0)
		memcpy(room, data, len);
	buf_commit(buf, len);
	return true;
}

bool buf_add_str(struct buf *buf, struct str s)
{
	return buf_add(buf, s.data, s.len);
}

bool buf_add_cstr(struct buf *buf, const char *s)
{
	return buf_add(buf, s, strlen(s));
}

bool buf_add_char(struct buf *buf, char c)
{
	return buf_add(buf, &c, 1);
}

bool buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	bool added;

	va_start(args, format);
	added = buf_vprintf(buf, format, args);
	va_end(args);
	return added;
}

/*
 * Prints into the room there is; when that was too small, the length is known: a second try fits.
 */
bool buf_vprintf(struct buf *buf, const char *format, va_list args)
{
	size_t room = buf->capacity - buf->len;
	va_list again;
	size_t len;
	int n;

	if (buf->overflowed)
		return false;
	va_copy(again, args);
	n = vsnprintf(buf->data ? buf->data + buf->len : NULL, room, format, args);
	assert(n >= 0); /* programmers' formats only */
	len = (size_t)n;
	if (len >= room) {
		char *end = buf_reserve(buf, len);

		if (end)
			vsnprintf(end, len + 1, format, again);
		else if (buf->data)
			buf->data[buf->len] = '\0';
	}
	va_end(again);
	if (!buf->overflowed)
		buf_commit(buf, len);
	return !buf->overflowed;
}

void buf_consume(struct buf *buf, size_t len)
{
	len = MIN(len, buf->len);
	if (len == 0)
		return;
	buf->len -= len;
	memmove(buf->data, buf->data + len, buf->len + 1);
}

char *buf_take(struct buf *buf)
{
	char *bytes = buf->data ? buf->data : mem_strdup("");

	buf->data = NULL;
	buf_clear(buf);
	return bytes;
}
