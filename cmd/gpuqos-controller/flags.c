/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of flags: what getopt knows, what --help prints and what is set come from its rows.
 * --config is applied first, so that what stands on the command line wins.
 */
#include "flags.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/config.h"

/* What the command line comes to. */
struct parsed {
	struct flags flags;
	enum flags_outcome outcome;
};

static int set_time(void *field, const char *text, struct error *err)
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

static int set_text(void *field, const char *text, struct error *err)
{
	(void)err;
	*(const char **)field = text;
	return 0;
}

static int set_bool(void *field, const char *text, struct error *err)
{
	if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return error_set(err, ERROR_INVALID, "\"%s\" is neither true nor false", text);
	*(bool *)field = !text || strcmp(text, "true") == 0;
	return 0;
}

static int set_level(void *field, const char *text, struct error *err)
{
	static const enum log_level levels[] = {LOG_WARNING, LOG_INFO, LOG_DEBUG};
	int64_t level;

	if (!str_to_int64(str_from(text), 0, ARRAY_SIZE(levels) - 1, &level))
		return error_set(err, ERROR_INVALID, "\"%s\" is no level: 0, 1 or 2", text);
	*(enum log_level *)field = levels[level];
	return 0;
}

static int set_format(void *field, const char *text, struct error *err)
{
	if (strcmp(text, "json") != 0 && strcmp(text, "text") != 0)
		return error_set(err, ERROR_INVALID, "\"%s\" is neither text nor json", text);
	*(enum log_format *)field = strcmp(text, "json") == 0 ? LOG_JSON : LOG_TEXT;
	return 0;
}

static int set_config(void *field, const char *path, struct error *err)
{
	char *text = NULL;
	size_t len;

	if (kube_read_file(path, LIMIT_YAML_DOCUMENT, &text, &len, err) < 0)
		return -1;
	int r = controller_config_parse((struct str){text, len}, field, err);

	mem_free(text);
	return r < 0 ? error_wrap(err, "%s", path) : 0;
}

static int set_version(void *field, const char *text, struct error *err)
{
	(void)text;
	(void)err;
	*(enum flags_outcome *)field = FLAGS_SHOW_VERSION;
	return 0;
}

static int set_help(void *field, const char *text, struct error *err)
{
	(void)text;
	(void)err;
	*(enum flags_outcome *)field = FLAGS_SHOW_HELP;
	return 0;
}

/* One letter is a short flag. Rows that are `first` are applied before all others. */
static const struct flag {
	const char *name, *value; /* value: as --help names it, NULL for none */
	int has_argument;         /* as in struct option */
	int (*set)(void *field, const char *text, struct error *err);
	size_t field; /* in struct parsed */
	bool first;
	const char *help;
} table[] = {
#define FLAG(name, value, set, field, help)                                                      \
	{                                                                                        \
		name, value, required_argument, set, offsetof(struct parsed, field), false, help \
	}
#define SWITCH(name, has_argument, set, field, help)                                       \
	{                                                                                  \
		name, NULL, has_argument, set, offsetof(struct parsed, field), false, help \
	}
	FLAG("kubeconfig", "FILE", set_text, flags.kubeconfig,
	     "how to reach the cluster (default: $KUBECONFIG, ~/.kube/config, the pod's own account)"),
	FLAG("context", "NAME", set_text, flags.context,
	     "of the kubeconfig (default: its current-context)"),
	SWITCH("leader-elect", optional_argument, set_bool, flags.leader_elect,
	       "lead only while holding a Lease: for more than one replica"),
	FLAG("leader-elect-namespace", "NAME", set_text, flags.lease_namespace,
	     "where the Lease is (default: the pod's namespace, else the context's)"),
	FLAG("leader-elect-lease-duration", "TIME", set_time, flags.config.lease_duration_us,
	     "how long the Lease holds unrenewed (default 15s)"),
	FLAG("leader-elect-renew-deadline", "TIME", set_time, flags.config.renew_deadline_us,
	     "stop leading without a renewal for so long (default 10s)"),
	FLAG("leader-elect-retry-period", "TIME", set_time, flags.config.retry_period_us,
	     "between tries (default 2s)"),
	FLAG("metrics-bind-address", "ADDRESS", set_text, flags.metrics_address,
	     "of /metrics (default :8080; 0 turns it off)"),
	FLAG("health-probe-bind-address", "ADDRESS", set_text, flags.health_address,
	     "of /healthz and /readyz (default :8081; 0 turns it off)"),
	{"config", "FILE", required_argument, set_config, offsetof(struct parsed, flags.config),
	 true, "a ControllerConfig document; flags win over it"},
	FLAG("log-format", "text|json", set_format, flags.format, "(default text)"),
	FLAG("v", "LEVEL", set_level, flags.level, "0 warnings, 1 info (default), 2 debug"),
	SWITCH("version", no_argument, set_version, outcome, "say which this is"),
	SWITCH("help", no_argument, set_help, outcome, "say this"),
};

/* What getopt_long() returns for a row: its letter, or its place counted from here. */
#define FIRST_ID 256

struct getopt_table {
	struct option longs[ARRAY_SIZE(table) + 1];
	char letters[2 * ARRAY_SIZE(table) + 1];
};

static bool is_letter(const struct flag *flag)
{
	return flag->name[1] == '\0';
}

/* @getopts is zeroed. */
static void getopt_table_init(struct getopt_table *getopts)
{
	struct option *option = getopts->longs;
	char *letter = getopts->letters;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!is_letter(&table[i])) {
			*option++ = (struct option){table[i].name, table[i].has_argument, NULL,
						    FIRST_ID + (int)i};
			continue;
		}
		*letter++ = table[i].name[0];
		if (table[i].has_argument == required_argument)
			*letter++ = ':';
	}
}

/* NULL: getopt_long() knows none such. */
static const struct flag *flag_by_id(int id)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (id == (is_letter(&table[i]) ? table[i].name[0] : FIRST_ID + (int)i))
			return &table[i];
	return NULL;
}

static int apply(const struct flag *flag, struct parsed *parsed, struct error *err)
{
	if (flag->set((char *)parsed + flag->field, optarg, err) < 0)
		return error_wrap(err, "%s%s", is_letter(flag) ? "-" : "--", flag->name);
	return 0;
}

/* Of the flags given, those that are to be applied @first, or the others. */
static int apply_all(int argc, char **argv, bool first, struct parsed *parsed, struct error *err)
{
	struct getopt_table getopts = {0};
	int id;

	getopt_table_init(&getopts);
	optind = 0;
	while ((id = getopt_long(argc, argv, getopts.letters, getopts.longs, NULL)) != -1) {
		const struct flag *flag = flag_by_id(id);

		if (!flag && !first)
			return error_set(err, ERROR_INVALID,
					 "%s: unknown or incomplete flag; --help lists them",
					 argv[optind - 1]);
		if (flag && flag->first == first && apply(flag, parsed, err) < 0)
			return -1;
	}
	return 0;
}

static int no_arguments(int argc, char **argv, struct error *err)
{
	if (optind == argc)
		return 0;
	return error_set(err, ERROR_INVALID, "%s: no argument is expected", argv[optind]);
}

int flags_parse(int argc, char **argv, struct flags *ret_flags, enum flags_outcome *ret_outcome,
		struct error *err)
{
	struct parsed parsed = {.flags = {.metrics_address = ":8080",
					  .health_address = ":8081",
					  .level = LOG_INFO,
					  .format = LOG_TEXT},
				.outcome = FLAGS_RUN};

	opterr = 0;
	controller_config_init(&parsed.flags.config);
	if (apply_all(argc, argv, true, &parsed, err) < 0 ||
	    apply_all(argc, argv, false, &parsed, err) < 0 || no_arguments(argc, argv, err) < 0) {
		controller_config_clear(&parsed.flags.config);
		return -1;
	}
	*ret_flags = parsed.flags;
	*ret_outcome = parsed.outcome;
	return 0;
}

void flags_print_help(FILE *file)
{
	fputs("Usage: gpuqos-controller [FLAGS]\n"
	      "\n"
	      "Turns GpuMemoryQuota objects into what the API server enforces. Without flags it uses the service account of its pod.\n"
	      "\n",
	      file);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const struct flag *flag = &table[i];
		int len = fprintf(file, "  %s%s%s%s ", is_letter(flag) ? "-" : "--", flag->name,
				  flag->value ? " " : "", flag->value ? flag->value : "");

		fprintf(file, "%*s%s\n", MAX(38 - len, 0), "", flag->help);
	}
	fputs("\nTIME is a number with ms, s or m, such as 1500ms or 15s.\n", file);
}
