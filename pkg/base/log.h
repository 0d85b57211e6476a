/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_LOG_H
#define GPUQOS_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/str.h"

/*
 * Structured log lines in a bounded ring (LIMIT_LOG_RING), flushed to a descriptor that may refuse:
 * the program never waits for whoever reads its log. Lines that do not fit are dropped whole and
 * counted; the next line that fits says how many were lost. Only edges log (main, a reconcile that
 * ended, a connection that failed), once each, with the object's key.
 *
 * A line is "time level message key=value ..." as text, or one JSON object with the members time,
 * level, message and the fields; each is valid UTF-8 whatever went in. Both may have `lost`, the
 * number of lines dropped before this one, and `cut`, where the line was too long.
 */
enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_field {
	const char *key;
	struct str text;
	int64_t number;
	bool is_number;
};

static inline struct log_field log_field_text(const char *key, struct str text)
{
	return (struct log_field){.key = key, .text = text};
}

static inline struct log_field log_field_number(const char *key, int64_t number)
{
	return (struct log_field){.key = key, .number = number, .is_number = true};
}

#define LOG_STR(key, s)  log_field_text(key, s)
#define LOG_CSTR(key, s) log_field_text(key, str_from(s))
#define LOG_INT(key, n)  log_field_number(key, n)
#define LOG_END          log_field_text(NULL, STR_NONE) /* after the last argument */

struct log;

/*
 * Writes to @fd, which stays the caller's and need not be non-blocking (its flags, often shared
 * with other programs, are left alone). @clock is borrowed for the life of the log.
 */
struct log *log_new(int fd, enum log_format format, enum log_level level,
		    const struct clock *clock);
void log_free(struct log *log); /* tries once more to flush */

/*
 * Adds a line and flushes. A NULL @log swallows it, and so does a @level above the log's. Control
 * characters in texts are escaped. Lines over LIMIT_LOG_LINE are cut and say so. Keys are the
 * program's own: letters, digits and '_'.
 */
void log_write(struct log *log, enum log_level level, const char *message,
	       const struct log_field *fields, size_t n_fields);

/*
 * As log_write(), with fields as arguments up to LOG_END: at most LOG_MAX_FIELDS, the rest is left
 * out.
 */
#define LOG_MAX_FIELDS 16
void log_fields(struct log *log, enum log_level level, const char *message, ...);

/* For example: log_info(log, "refused", LOG_STR("namespace", ns), LOG_INT("bytes", n)) */
#define log_at(log, level, ...) log_fields(log, level, __VA_ARGS__, LOG_END)
#define log_error(log, ...)     log_at(log, LOG_ERROR, __VA_ARGS__)
#define log_warning(log, ...)   log_at(log, LOG_WARNING, __VA_ARGS__)
#define log_info(log, ...)      log_at(log, LOG_INFO, __VA_ARGS__)
#define log_debug(log, ...)     log_at(log, LOG_DEBUG, __VA_ARGS__)

/*
 * Writes what is waiting, as far as the descriptor takes it, whole lines at a time. True when
 * nothing is left: else call again when it is writable. Where nobody can read any more, what waits
 * is dropped.
 */
bool log_flush(struct log *log);
int64_t log_dropped(const struct log *log); /* lines, since the start */

DEFINE_CLEANUP(struct log *, log_free)

#endif
