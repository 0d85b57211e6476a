/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors are values: a kind for the program, a message for people. Messages are composed in a
 * scratch buffer first, because the arguments may point into the message that is being replaced.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define X(kind, name) [ERROR_##kind] = name,
static const char *const kind_names[] = {[ERROR_NONE] = "none", ERROR_KINDS(X)};
#undef X

/* Puts @text into the message. @wanted: how long it would have been without a cut. */
static void store(struct error *err, const char *text, int wanted)
{
	size_t len = strlen(text);

	if (wanted >= 0 && (size_t)wanted > len)
		len = utf8_whole((struct str){text, len}).len;
	memcpy(err->message, text, len);
	err->message[len] = '\0';
}

/* Adds ": @more" at @used, which may be beyond the end. Returns what snprintf() does. */
static int append(char (*text)[LIMIT_ERROR_MESSAGE], int used, const char *more)
{
	if (used < 0 || (size_t)used >= sizeof(*text))
		return used;
	return used + snprintf(*text + used, sizeof(*text) - (size_t)used, ": %s", more);
}

static void start(struct error *err, enum error_kind kind)
{
	err->kind = kind;
	err->http_status = 0;
	err->retry_after_us = 0;
}

int error_set(struct error *err, enum error_kind kind, const char *format, ...)
{
	char text[LIMIT_ERROR_MESSAGE];
	va_list args;
	int wanted;

	if (!err)
		return -1;
	va_start(args, format);
	wanted = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	start(err, kind);
	store(err, text, wanted);
	return -1;
}

int error_set_errno(struct error *err, int errnum, const char *format, ...)
{
	char text[LIMIT_ERROR_MESSAGE];
	va_list args;
	int wanted;

	if (!err)
		return -1;
	va_start(args, format);
	wanted = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wanted = append(&text, wanted, strerror(errnum));
	start(err, ERROR_SYSTEM);
	store(err, text, wanted);
	return -1;
}

int error_wrap(struct error *err, const char *format, ...)
{
	char text[LIMIT_ERROR_MESSAGE];
	va_list args;
	int wanted;

	if (!err)
		return -1;
	va_start(args, format);
	wanted = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wanted = append(&text, wanted, err->message);
	store(err, text, wanted);
	return -1;
}

void error_clear(struct error *err)
{
	if (!err)
		return;
	start(err, ERROR_NONE);
	err->message[0] = '\0';
}

const char *error_kind_name(enum error_kind kind)
{
	return kind_names[kind];
}
