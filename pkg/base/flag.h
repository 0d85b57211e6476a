/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_FLAG_H
#define GPUQOS_BASE_FLAG_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/*
 * The command line as a table of flags: what getopt knows, what --help prints and what is set come
 * from its rows. A name of one letter is a short flag.
 */
struct flag {
	const char *name, *value; /* value: as --help names it, NULL for none */
	int has_argument;         /* as in getopt's struct option */
	int (*set)(void *field, const char *text, struct error *err);
	size_t field; /* offset of what is set */
	bool first;   /* applied before all others, which then win over it */
	const char *help;
};

/* Rows of flags that have a value, and of those that have none; @field is one of @type's. */
#define FLAG_VALUE(name, value, set, type, field, help)                                 \
	{                                                                               \
		name, value, required_argument, set, offsetof(type, field), false, help \
	}
#define FLAG_SWITCH(name, set, type, field, help)                                \
	{                                                                        \
		name, NULL, no_argument, set, offsetof(type, field), false, help \
	}

/* Most rows of a table; asserted. */
#define FLAG_MAX 64

struct flag_table {
	const struct flag *flags;
	size_t n;
};

/*
 * Applies the flags of @argv to @target, in their order. INVALID: an unknown or incomplete flag, a
 * value that its row's `set` refuses, an argument that is no flag. @target is then half set.
 */
int flag_parse(const struct flag_table *table, int argc, char **argv, void *target,
	       struct error *err);

/* One line for each row. */
void flag_print(const struct flag_table *table, FILE *file);

/* What a field can be; for `set`. */
int flag_set_text(void *field, const char *text, struct error *err); /* const char *, borrowed */
int flag_set_bool(void *field, const char *text, struct error *err); /* bool; NULL is true */
/* int64_t µs: a number with ms, s or m, from 1 to 86400 of them. */
int flag_set_time(void *field, const char *text, struct error *err);
int flag_set_log_level(void *field, const char *text, struct error *err);  /* enum log_level */
int flag_set_log_format(void *field, const char *text, struct error *err); /* enum log_format */

/* What a command line comes to, beside a run. */
enum flag_outcome { FLAG_RUN, FLAG_SHOW_VERSION, FLAG_SHOW_HELP };

int flag_set_version(void *field, const char *text, struct error *err); /* enum flag_outcome */
int flag_set_help(void *field, const char *text, struct error *err);    /* likewise */

#endif
