/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, by a table. */
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/flag.h"
#include "base/log.h"

struct settings {
	const char *name, *file;
	bool on;
	int64_t wait_us;
	enum log_level level;
	enum log_format format;
};

/* As a file that says nothing but the name would be. */
static int set_file(void *field, const char *text, struct error *err)
{
	struct settings *settings = field;

	(void)err;
	settings->file = text;
	settings->name = "of the file";
	return 0;
}

static const struct flag rows[] = {
	{"name", "TEXT", required_argument, flag_set_text, offsetof(struct settings, name), false,
	 "(default none)"},
	{"on", NULL, optional_argument, flag_set_bool, offsetof(struct settings, on), false, ""},
	{"wait", "TIME", required_argument, flag_set_time, offsetof(struct settings, wait_us),
	 false, ""},
	{"file", "FILE", required_argument, set_file, 0, true, ""},
	{"v", "LEVEL", required_argument, flag_set_log_level, offsetof(struct settings, level),
	 false, ""},
	{"log-format", "text|json", required_argument, flag_set_log_format,
	 offsetof(struct settings, format), false, ""},
};
static const struct flag_table table = {rows, ARRAY_SIZE(rows)};

#define ARGS_MAX 6

static int parse(const char *const *args, struct settings *ret_settings, struct error *err)
{
	char words[ARGS_MAX][64], *argv[ARGS_MAX + 2] = {words[0]};
	char program[] = "program";
	int argc = 1;

	argv[0] = program;
	for (; args[argc - 1]; argc++) {
		snprintf(words[argc - 1], sizeof(words[0]), "%s", args[argc - 1]);
		argv[argc] = words[argc - 1];
	}
	*ret_settings = (struct settings){.level = LOG_ERROR};
	int r = flag_parse(&table, argc, argv, ret_settings, err);

	/* What was borrowed from argv is gone when this returns. */
	if (ret_settings->name)
		ret_settings->name = strcmp(ret_settings->name, "given") == 0 ? "given" : "other";
	return r;
}

static void flags_are_set_in_their_order(void **state UNUSED)
{
	struct settings settings;
	struct error err = {0};

	assert_int_equal(parse((const char *const[]){"--on", "--wait=1500ms", "-v", "2",
						     "--log-format=json", NULL},
			       &settings, &err),
			 0);
	assert_true(settings.on);
	assert_int_equal(settings.wait_us, 1500 * USEC_PER_MSEC);
	assert_int_equal(settings.level, LOG_DEBUG);
	assert_int_equal(settings.format, LOG_JSON);
	assert_int_equal(parse((const char *const[]){"--on", "--on=false", NULL}, &settings, &err),
			 0);
	assert_false(settings.on);
}

static void what_comes_first_loses_wherever_it_stands(void **state UNUSED)
{
	struct settings settings;
	struct error err = {0};

	assert_int_equal(
		parse((const char *const[]){"--name=given", "--file=x", NULL}, &settings, &err), 0);
	assert_string_equal(settings.name, "given");
	assert_int_equal(parse((const char *const[]){"--file=x", NULL}, &settings, &err), 0);
	assert_string_equal(settings.name, "other");
}

static void what_is_wrong_is_named(void **state UNUSED)
{
	static const struct {
		const char *argument, *says;
	} cases[] = {
		{"--nothing", "--nothing: unknown or incomplete flag"},
		{"--name", "--name: unknown or incomplete flag"},
		{"--wait=1h", "--wait: \"1h\" is no time"},
		{"--wait=0s", "--wait: \"0s\" is no time"},
		{"--on=perhaps", "--on: \"perhaps\" is neither"},
		{"-v3", "-v: \"3\" is no level"},
		{"--log-format=xml", "--log-format: \"xml\" is neither"},
		{"word", "word: no argument is expected"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct settings settings;
		struct error err = {0};

		assert_int_equal(
			parse((const char *const[]){cases[i].argument, NULL}, &settings, &err), -1);
		assert_int_equal(err.kind, ERROR_INVALID);
		assert_non_null(strstr(err.message, cases[i].says));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_are_set_in_their_order),
		cmocka_unit_test(what_comes_first_loses_wherever_it_stands),
		cmocka_unit_test(what_is_wrong_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
