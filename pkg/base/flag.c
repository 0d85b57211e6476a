/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes of getopt over the same arguments: the rows that come first, then the others. Only the
 * second one complains, so that one message is all there is.
 */
#include "base/flag.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

int flag_set_text(void *field, const char *text, struct error *err)
{
	(void)err;
	*(const char **)field = text;
	return 0;
}

int flag_set_bool(void *field, const char *text, struct error *err)
{
	if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return error_set(err, ERROR_INVALID, "\"%s\" is neither true nor false", text);
	*(bool *)field = !text || strcmp(text, "true") == 0;
	return 0;
}

int flag_set_time(void *field, const char *text, struct error *err)
{
	static const struct {
		const char *suffix;
		int64_t us;
	} units[] = {{"ms", USEC_PER_MSEC}, {"s", USEC_PER_SEC}, {"m", USEC_PER_MIN}};
	struct str whole = str_from(text);
	int64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		struct str suffix = str_from(units[i].suffix);

		if (str_ends_with(whole, suffix) &&
		    str_to_int64((struct str){text, whole.len - suffix.len}, 1, 86400, &number)) {
			*(int64_t *)field = number * units[i].us;
			return 0;
		}
	}
	return error_set(err, ERROR_INVALID, "\"%s\" is no time such as 1500ms, 15s or 2m", text);
}

int flag_set_log_level(void *field, const char *text, struct error *err)
{
	static const enum log_level levels[] = {LOG_WARNING, LOG_INFO, LOG_DEBUG};
	int64_t level;

	if (!str_to_int64(str_from(text), 0, ARRAY_SIZE(levels) - 1, &level))
		return error_set(err, ERROR_INVALID, "\"%s\" is no level: 0, 1 or 2", text);
	*(enum log_level *)field = levels[level];
	return 0;
}

int flag_set_log_format(void *field, const char *text, struct error *err)
{
	if (strcmp(text, "json") != 0 && strcmp(text, "text") != 0)
		return error_set(err, ERROR_INVALID, "\"%s\" is neither text nor json", text);
	*(enum log_format *)field = strcmp(text, "json") == 0 ? LOG_JSON : LOG_TEXT;
	return 0;
}

int flag_set_version(void *field, const char *text, struct error *err)
{
	(void)text;
	(void)err;
	*(enum flag_outcome *)field = FLAG_SHOW_VERSION;
	return 0;
}

int flag_set_help(void *field, const char *text, struct error *err)
{
	(void)text;
	(void)err;
	*(enum flag_outcome *)field = FLAG_SHOW_HELP;
	return 0;
}

/* What getopt_long() returns for a row: its letter, or its place counted from here. */
#define FIRST_ID 256

struct getopt_table {
	struct option longs[FLAG_MAX + 1];
	char letters[2 * FLAG_MAX + 1];
};

static bool is_letter(const struct flag *flag)
{
	return flag->name[1] == '\0';
}

/* @getopts is zeroed. */
static void getopt_table_init(struct getopt_table *getopts, const struct flag_table *table)
{
	struct option *option = getopts->longs;
	char *letter = getopts->letters;

	for (size_t i = 0; i < table->n; i++) {
		const struct flag *flag = &table->flags[i];

		if (!is_letter(flag)) {
			*option++ = (struct option){flag->name, flag->has_argument, NULL,
						    FIRST_ID + (int)i};
			continue;
		}
		*letter++ = flag->name[0];
		if (flag->has_argument == required_argument)
			*letter++ = ':';
	}
}

/* NULL: getopt_long() knows none such. */
static const struct flag *flag_by_id(const struct flag_table *table, int id)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct flag *flag = &table->flags[i];

		if (id == (is_letter(flag) ? flag->name[0] : FIRST_ID + (int)i))
			return flag;
	}
	return NULL;
}

struct parse {
	const struct flag_table *table;
	int argc;
	char **argv;
	void *target;
};

static int apply(const struct parse *parse, const struct flag *flag, struct error *err)
{
	if (flag->set((char *)parse->target + flag->field, optarg, err) < 0)
		return error_wrap(err, "%s%s", is_letter(flag) ? "-" : "--", flag->name);
	return 0;
}

/* Of the flags given, those that are to be applied @first, or the others. */
static int apply_all(const struct parse *parse, bool first, struct error *err)
{
	struct getopt_table getopts = {0};
	int id;

	getopt_table_init(&getopts, parse->table);
	optind = 0;
	while ((id = getopt_long(parse->argc, parse->argv, getopts.letters, getopts.longs, NULL)) !=
	       -1) {
		const struct flag *flag = flag_by_id(parse->table, id);

		if (!flag && !first)
			return error_set(err, ERROR_INVALID,
					 "%s: unknown or incomplete flag; --help lists them",
					 parse->argv[optind - 1]);
		if (flag && flag->first == first && apply(parse, flag, err) < 0)
			return -1;
	}
	return 0;
}

int flag_parse(const struct flag_table *table, int argc, char **argv, void *target,
	       struct error *err)
{
	struct parse parse = {table, argc, argv, target};

	assert(table->n <= FLAG_MAX);
	opterr = 0;
	if (apply_all(&parse, true, err) < 0 || apply_all(&parse, false, err) < 0)
		return -1;
	if (optind < argc)
		return error_set(err, ERROR_INVALID, "%s: no argument is expected", argv[optind]);
	return 0;
}

void flag_print(const struct flag_table *table, FILE *file)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct flag *flag = &table->flags[i];
		int len = fprintf(file, "  %s%s%s%s ", is_letter(flag) ? "-" : "--", flag->name,
				  flag->value ? " " : "", flag->value ? flag->value : "");

		fprintf(file, "%*s%s\n", MAX(38 - len, 0), "", flag->help);
	}
}
