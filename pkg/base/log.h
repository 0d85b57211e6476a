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
 */
enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_field {
	const char *key;
	struct str text;
	int64_t number;
	bool is_number;
};

#define LOG_STR(k, s)  ((struct log_field){.key = (k), .text = (s)})
#define LOG_CSTR(k, s) ((struct log_field){.key = (k), .text = str_from(s)})
#define LOG_INT(k, n)  ((struct log_field){.key = (k), .number = (n), .is_number = true})

struct log;

/* Writes to @fd, which stays the caller's. @clock is borrowed for the life of the log. */
struct log *log_new(int fd, enum log_format format, enum log_level level,
		    const struct clock *clock);
void log_free(struct log *log); /* tries once more to flush */

/*
 * A NULL @log swallows the line. Control characters in texts are escaped. Lines over LIMIT_LOG_LINE
 * are cut and say so.
 */
void log_write(struct log *log, enum log_level level, const char *message,
	       const struct log_field *fields, size_t n_fields);

#define log_at(log, level, message, ...)                                        \
	log_write(log, level, message, (const struct log_field[]){__VA_ARGS__}, \
		  sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))
#define log_error(log, message, ...)   log_at(log, LOG_ERROR, message, __VA_ARGS__)
#define log_warning(log, message, ...) log_at(log, LOG_WARNING, message, __VA_ARGS__)
#define log_info(log, message, ...)    log_at(log, LOG_INFO, message, __VA_ARGS__)
#define log_debug(log, message, ...)   log_at(log, LOG_DEBUG, message, __VA_ARGS__)

/*
 * Writes what is waiting, as far as the descriptor takes it. True when nothing is left: else call
 * again when it is writable.
 */
bool log_flush(struct log *log);
int64_t log_dropped(const struct log *log); /* lines, since the start */

DEFINE_CLEANUP(struct log *, log_free)

#endif
