/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: their form, hostile bytes, readers that do not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"

/* 2026-03-04T05:06:07.000089Z */
#define NOW (1772600767LL * USEC_PER_SEC + 89)

struct fixture {
	struct manual_clock manual;
	struct log *log;
	int reader;
	char text[2 * LIMIT_LOG_RING];
	size_t len;
};

static int writer_fd;

static void start(struct fixture *fixture, enum log_format format)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	manual_clock_init(&fixture->manual, 0, NOW);
	fixture->log = log_new(ends[1], format, LOG_INFO, &fixture->manual.clock);
	fixture->reader = ends[0];
	fixture->len = 0;
	writer_fd = ends[1];
}

static void stop(struct fixture *fixture)
{
	log_free(fixture->log);
	close(writer_fd);
	if (fixture->reader >= 0)
		close(fixture->reader);
}

/* What the pipe holds, added to the text. */
static const char *read_some(struct fixture *fixture)
{
	ssize_t n;

	do {
		n = read(fixture->reader, fixture->text + fixture->len,
			 sizeof(fixture->text) - 1 - fixture->len);
		fixture->len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	fixture->text[fixture->len] = '\0';
	return fixture->text;
}

/* Reads and flushes until nothing waits. */
static const char *read_all(struct fixture *fixture)
{
	while (!log_flush(fixture->log))
		read_some(fixture);
	return read_some(fixture);
}

static struct fixture fixture;

static void text_lines_quote_what_needs_it(void **state UNUSED)
{
	start(&fixture, LOG_TEXT);
	log_info(fixture.log, "pod \"refused\"", LOG_CSTR("pod", "a/b"), LOG_CSTR("why", "too big"),
		 LOG_INT("bytes", -5), LOG_CSTR("empty", ""), LOG_CSTR("quote", "a\"b"));
	log_error(fixture.log, "first\nsecond\x1b[31m");
	assert_string_equal(read_all(&fixture),
			    "2026-03-04T05:06:07.000089Z info    pod \"refused\" pod=a/b "
			    "why=\"too big\" bytes=-5 empty=\"\" quote=\"a\\\"b\"\n"
			    "2026-03-04T05:06:07.000089Z error   first\\nsecond\\u001b[31m\n");
	stop(&fixture);
}

static void json_lines_are_objects(void **state UNUSED)
{
	start(&fixture, LOG_JSON);
	log_warning(fixture.log, "lost", LOG_CSTR("pod", "a/b"), LOG_INT("n", INT64_MIN));
	assert_string_equal(read_all(&fixture),
			    "{\"time\":\"2026-03-04T05:06:07.000089Z\",\"level\":\"warning\","
			    "\"message\":\"lost\",\"pod\":\"a/b\",\"n\":-9223372036854775808}\n");
	stop(&fixture);
}

static void lines_above_the_level_are_left_out(void **state UNUSED)
{
	start(&fixture, LOG_TEXT);
	log_debug(fixture.log, "not said", LOG_INT("n", 1));
	log_info(NULL, "nobody listens");
	assert_string_equal(read_all(&fixture), "");
	assert_int_equal(log_dropped(fixture.log), 0);
	stop(&fixture);
}

/* Runs python3 on the text: each line must be an object. False where there is no python3. */
static bool python_accepts(struct fixture *with, int *ret_status)
{
	static const char script[] = "import json,sys\n"
				     "lines=sys.stdin.buffer.read().split(b'\\n')\n"
				     "assert lines.pop()==b''\n"
				     "for l in lines:\n"
				     "  d=json.loads(l.decode('utf-8','strict'))\n"
				     "  assert d['level']=='info' and 'message' in d, d\n";
	const char *argv[] = {"python3", "-c", script, NULL};
	FILE *file = tmpfile();
	pid_t child;

	assert_non_null(file);
	assert_int_equal(fwrite(with->text, 1, with->len, file), with->len);
	assert_int_equal(fflush(file), 0);
	rewind(file);
	child = fork();
	if (child == 0) {
		dup2(fileno(file), STDIN_FILENO);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	assert_int_equal(waitpid(child, ret_status, 0), child);
	fclose(file);
	return WEXITSTATUS(*ret_status) != 127;
}

static void hostile_bytes_leave_json_valid(void **state UNUSED)
{
	char pairs[256 * 2], four[4 * 64];
	int status = 0;

	start(&fixture, LOG_JSON);
	for (int first = 0; first < 256; first += 3) {
		for (int i = 0; i < 256; i++) {
			pairs[2 * i] = (char)first;
			pairs[2 * i + 1] = (char)i;
		}
		log_info(fixture.log, "x", LOG_STR("v", ((struct str){pairs, sizeof(pairs)})));
		read_all(&fixture);
	}
	for (size_t i = 0; i < sizeof(four); i++)
		four[i] = "\xf0\x9f\xed\xa0"[(i * 7 + i / 5) % 4];
	log_info(fixture.log, "\xff\xfe", LOG_STR("v", ((struct str){four, sizeof(four)})));
	read_all(&fixture);
	assert_true(fixture.len < sizeof(fixture.text) - 1);
	assert_true(utf8_valid((struct str){fixture.text, fixture.len}));
	if (!python_accepts(&fixture, &status))
		skip();
	assert_int_equal(status, 0);
	stop(&fixture);
}

static void long_lines_are_cut_and_say_so(void **state UNUSED)
{
	static char text[3 * LIMIT_LOG_LINE];
	static const char *const fillers[] = {"x", "\"", "\x01", "\xe2\x82\xac", "\xff"};
	int status = 0;

	start(&fixture, LOG_JSON);
	for (size_t i = 0; i < ARRAY_SIZE(fillers); i++) {
		size_t width = strlen(fillers[i]), before = fixture.len;
		const char *end;

		for (size_t at = 0; at + width < sizeof(text); at += width)
			memcpy(text + at, fillers[i], width);
		log_info(fixture.log, "m", LOG_CSTR("v", text), LOG_INT("never", 1));
		read_all(&fixture);
		assert_in_range(fixture.len - before, LIMIT_LOG_LINE - 40, LIMIT_LOG_LINE);
		end = fixture.text + fixture.len - strlen("\",\"cut\":true}\n");
		assert_string_equal(end, "\",\"cut\":true}\n");
		log_info(fixture.log, text, LOG_INT("never", 1));
		read_all(&fixture);
	}
	for (size_t keys = 0; keys < 40; keys++) { /* a cut at each place of a field */
		struct log_field fields[2] = {
			LOG_STR("v", ((struct str){text, LIMIT_LOG_LINE / 3 - 40 + keys})),
			LOG_INT("number", INT64_MIN)};

		memset(text, '\\', sizeof(text));
		log_write(fixture.log, LOG_INFO, "m", fields, 2);
		read_all(&fixture);
	}
	if (!python_accepts(&fixture, &status))
		skip();
	assert_int_equal(status, 0);
	stop(&fixture);
}

static void nobody_reading_does_not_block_and_is_told_later(void **state UNUSED)
{
	int64_t lost;

	start(&fixture, LOG_TEXT);
	for (int i = 0; i < 10000; i++)
		log_info(fixture.log, "a line of some length to fill the ring", LOG_INT("i", i));
	lost = log_dropped(fixture.log);
	assert_true(lost > 0);
	assert_false(log_flush(fixture.log));
	read_some(&fixture);
	log_flush(fixture.log);
	log_info(fixture.log, "after");
	log_info(fixture.log, "later");
	read_all(&fixture);
	{
		char expected[100];
		int64_t lines = 0;

		snprintf(expected, sizeof(expected), "after lost=%lld\n", (long long)lost);
		assert_non_null(strstr(fixture.text, expected));
		assert_non_null(strstr(fixture.text, "later\n"));
		for (size_t i = 0; i < fixture.len; i++)
			lines += fixture.text[i] == '\n';
		assert_int_equal(lines + lost, 10002);
	}
	stop(&fixture);
}

static void a_reader_that_went_away_is_not_fatal(void **state UNUSED)
{
	start(&fixture, LOG_TEXT);
	close(fixture.reader);
	fixture.reader = -1;
	log_info(fixture.log, "nobody");
	log_info(fixture.log, "nobody");
	assert_true(log_flush(fixture.log));
	assert_int_equal(log_dropped(fixture.log), 2);
	stop(&fixture);
}

static void the_time_may_lie_before_1970(void **state UNUSED)
{
	start(&fixture, LOG_TEXT);
	fixture.manual.real_us = -1;
	log_info(fixture.log, "m");
	assert_string_equal(read_all(&fixture), "1969-12-31T23:59:59.999999Z info    m\n");
	stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_lines_quote_what_needs_it),
		cmocka_unit_test(json_lines_are_objects),
		cmocka_unit_test(lines_above_the_level_are_left_out),
		cmocka_unit_test(hostile_bytes_leave_json_valid),
		cmocka_unit_test(long_lines_are_cut_and_say_so),
		cmocka_unit_test(nobody_reading_does_not_block_and_is_told_later),
		cmocka_unit_test(a_reader_that_went_away_is_not_fatal),
		cmocka_unit_test(the_time_may_lie_before_1970),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
