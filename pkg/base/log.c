/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is composed in one buffer, piece by piece, and each piece is checked against the line's
 * limit with room left for its end; so a line that is cut is still well-formed. It then goes to the
 * waiting bytes, whole or not at all.
 *
 * Writing asks poll() first and writes at most a pipe's worth of whole lines: a pipe that polls
 * writable takes that many bytes at once, hence a blocking descriptor does not block us, and lines
 * of several writers do not mix.
 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/utf8.h"

#define WRITE_MOST 4096 /* PIPE_BUF of Linux */
#define LINE_END   32   /* room for a closing quote, the cut mark, a brace and the newline */
#define KEY_EXTRA  32   /* room for quotes, separators and a number beside a key */

_Static_assert(LIMIT_LOG_LINE <= WRITE_MOST, "a line is one write");

struct log {
	int fd;
	enum log_format format;
	enum log_level level;
	const struct clock *clock;
	struct buf line;
	bool cut; /* the line being composed */
	struct buf waiting;
	size_t written; /* of waiting */
	int64_t dropped, reported;
};

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARNING] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

struct log *log_new(int fd, enum log_format format, enum log_level level, const struct clock *clock)
{
	struct log *log = mem_alloc(sizeof(*log));

	log->fd = fd;
	log->format = format;
	log->level = level;
	log->clock = clock;
	buf_init(&log->line, LIMIT_LOG_LINE);
	buf_init(&log->waiting, LIMIT_LOG_RING);
	return log;
}

void log_free(struct log *log)
{
	if (!log)
		return;
	log_flush(log);
	buf_clear(&log->line);
	buf_clear(&log->waiting);
	mem_free(log);
}

/* Whether @len more bytes fit before the line's end; where not, the line is cut from here on. */
static bool fits(struct log *log, size_t len)
{
	if (log->line.len + len > LIMIT_LOG_LINE - LINE_END)
		log->cut = true;
	return !log->cut;
}

/* How the character at the start of @s is written; @ret_taken bytes of @s are it. */
static struct str escape(struct str s, bool quoted, char (*scratch)[8], size_t *ret_taken)
{
	static const char hex[] = "0123456789abcdef";
	size_t len = utf8_length(s);
	unsigned char code = (unsigned char)s.data[0];
	const char unicode[8] = {'\\', 'u', '0', '0'};

	*ret_taken = MAX(len, 1);
	if (len == 0)
		return STR(UTF8_REPLACEMENT);
	if (code == '\n')
		return STR("\\n");
	if (code == '\t')
		return STR("\\t");
	if (code == '\\')
		return STR("\\\\");
	if (code == '"' && quoted)
		return STR("\\\"");
	if (code == 0xc2)
		code = (unsigned char)s.data[1]; /* U+0080 to U+00BF */
	else if (len > 1)
		code = 0xff;
	if (code >= 0x20 && (code < 0x7f || code > 0x9f))
		return (struct str){s.data, len};
	memcpy(*scratch, unicode, sizeof(unicode));
	(*scratch)[4] = hex[code >> 4];
	(*scratch)[5] = hex[code & 15];
	return (struct str){*scratch, 6};
}

static void add_text(struct log *log, struct str s, bool quoted)
{
	while (s.len > 0) {
		char scratch[8];
		size_t taken;
		struct str piece = escape(s, quoted, &scratch, &taken);

		if (!fits(log, piece.len))
			return;
		buf_add_str(&log->line, piece);
		s = str_skip(s, taken);
	}
}

static void add_quoted(struct log *log, struct str s)
{
	buf_add_char(&log->line, '"');
	add_text(log, s, true);
	buf_add_char(&log->line, '"');
}

/* As text, a value stands bare where nobody could take it for anything else. */
static bool is_bare(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.data[i];

		if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
			return false;
	}
	return s.len > 0;
}

static void add_field(struct log *log, const struct log_field *field)
{
	if (!fits(log, strlen(field->key) + KEY_EXTRA))
		return;
	buf_printf(&log->line, log->format == LOG_JSON ? ",\"%s\":" : " %s=", field->key);
	if (field->is_number)
		buf_printf(&log->line, "%lld", (long long)field->number);
	else if (log->format == LOG_TEXT && is_bare(field->text))
		add_text(log, field->text, false);
	else
		add_quoted(log, field->text);
}

static void add_time(struct log *log)
{
	char text[TIME_TEXT_SIZE];
	size_t len = time_format(clock_real(log->clock), true, text);

	buf_add_str(&log->line, (struct str){text, len});
}

static void add_start(struct log *log, enum log_level level, const char *message)
{
	struct log_field lost = LOG_INT("lost", log->dropped - log->reported);
	struct log_field text = LOG_CSTR("message", message);

	if (log->format == LOG_JSON) {
		buf_add_cstr(&log->line, "{\"time\":\"");
		add_time(log);
		buf_printf(&log->line, "\",\"level\":\"%s\"", level_names[level]);
		add_field(log, &text);
	} else {
		add_time(log);
		buf_printf(&log->line, " %-7s ", level_names[level]);
		add_text(log, text.text, false);
	}
	if (lost.number > 0)
		add_field(log, &lost);
}

static void compose(struct log *log, enum log_level level, const char *message,
		    const struct log_field *fields, size_t n_fields)
{
	buf_reset(&log->line);
	log->cut = false;
	add_start(log, level, message);
	for (size_t i = 0; i < n_fields && !log->cut; i++)
		add_field(log, &fields[i]);
	if (log->cut)
		buf_add_cstr(&log->line, log->format == LOG_JSON ? ",\"cut\":true" : " cut=true");
	buf_add_cstr(&log->line, log->format == LOG_JSON ? "}\n" : "\n");
}

void log_write(struct log *log, enum log_level level, const char *message,
	       const struct log_field *fields, size_t n_fields)
{
	if (!log || level > log->level)
		return;
	compose(log, level, message, fields, n_fields);
	if (log->waiting.len + log->line.len > LIMIT_LOG_RING) {
		buf_consume(&log->waiting, log->written);
		log->written = 0;
	}
	if (log->waiting.len + log->line.len > LIMIT_LOG_RING) {
		log->dropped++;
	} else {
		buf_add_str(&log->waiting, buf_str(&log->line));
		log->reported = log->dropped;
	}
	log_flush(log);
}

void log_fields(struct log *log, enum log_level level, const char *message, ...)
{
	struct log_field fields[LOG_MAX_FIELDS];
	size_t n_fields = 0;
	va_list args;

	va_start(args, message);
	while (n_fields < LOG_MAX_FIELDS) {
		fields[n_fields] = va_arg(args, struct log_field);
		if (!fields[n_fields].key)
			break;
		n_fields++;
	}
	va_end(args);
	log_write(log, level, message, fields, n_fields);
}

/* Nobody will read what waits. */
static void discard(struct log *log)
{
	for (size_t i = log->written; i < log->waiting.len; i++)
		if (log->waiting.data[i] == '\n')
			log->dropped++;
	log->written = 0;
	buf_reset(&log->waiting);
}

/* As many whole lines as one write may take. The first may be the rest of one. */
static size_t lines_to_write(const struct log *log)
{
	size_t len = log->waiting.len - log->written;

	if (len <= WRITE_MOST)
		return len;
	len = WRITE_MOST;
	while (log->waiting.data[log->written + len - 1] != '\n')
		len--;
	return len;
}

bool log_flush(struct log *log)
{
	if (!log)
		return true;
	while (log->written < log->waiting.len) {
		struct pollfd ready = {.fd = log->fd, .events = POLLOUT};
		int n = poll(&ready, 1, 0);
		ssize_t done;

		if (n == 0 || (n < 0 && errno == EINTR))
			return false;
		if (n < 0 || (ready.revents & (POLLERR | POLLHUP | POLLNVAL))) {
			discard(log);
			return true;
		}
		done = write(log->fd, log->waiting.data + log->written, lines_to_write(log));
		if (done == 0 || (done < 0 && (errno == EAGAIN || errno == EINTR)))
			return false;
		if (done < 0) {
			discard(log);
			return true;
		}
		log->written += (size_t)done;
	}
	log->written = 0;
	buf_reset(&log->waiting);
	return true;
}

int64_t log_dropped(const struct log *log)
{
	return log ? log->dropped : 0;
}
