/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that specs of our types have in common. */
#include "api/pack_spec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "api/quantity.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "model/quota.h"

/* Texts of tenants are shown up to this length. */
#define SHOWN 64

int spec_complain(struct spec_check *check, const char *format, ...)
{
	char text[QUOTA_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	check->invalid = arena_strndup(check->pack.arena, text, strlen(text));
	return check->invalid ? 0 : pack_no_memory(&check->pack);
}

struct str spec_shown(struct str text)
{
	return utf8_prefix(text, SHOWN);
}

static int read_memory(struct spec_check *check, const char *field, struct str text,
		       int64_t *ret_bytes)
{
	if (quantity_parse(text, ret_bytes))
		return 0;
	return spec_complain(check, "spec.%s \"%.*s\" is no amount of memory; write it like 320Gi",
			     field, STR_ARGS(spec_shown(text)));
}

int spec_memory(struct spec_check *check, const char *field, struct str text, int64_t *ret_bytes)
{
	if (read_memory(check, field, text, ret_bytes) < 0)
		return -1;
	if (check->invalid || *ret_bytes > 0)
		return 0;
	return spec_complain(check, "spec.%s %.*s must be more than 0", field,
			     STR_ARGS(spec_shown(text)));
}

int spec_large_memory(struct spec_check *check, const char *field, struct str text,
		      int64_t *ret_bytes)
{
	int64_t bare;

	if (spec_memory(check, field, text, ret_bytes) < 0)
		return -1;
	if (check->invalid || *ret_bytes >= GIB)
		return 0;
	if (str_to_int64(text, 1, GIB, &bare))
		return spec_complain(check,
				     "spec.%s %" PRId64 " means %" PRId64
				     " bytes; did you mean %" PRId64 "Gi?",
				     field, bare, bare, bare);
	return spec_complain(check, "spec.%s %.*s is less than 1Gi, the least there is", field,
			     STR_ARGS(spec_shown(text)));
}

int spec_large_memory_or_none(struct spec_check *check, const char *field, struct str text,
			      int64_t *ret_bytes)
{
	int64_t bytes;

	if (!quantity_parse(text, &bytes) || bytes != 0)
		return spec_large_memory(check, field, text, ret_bytes);
	*ret_bytes = 0;
	return 0;
}

int spec_number(struct spec_check *check, const struct spec_range *range, int64_t value)
{
	if (value < 0 && range->most == INT64_MAX)
		return spec_complain(check, "spec.%s %" PRId64 " must be 0 or more", range->field,
				     value);
	if (value < 0 || value > range->most)
		return spec_complain(check, "spec.%s %" PRId64 " must be between 0 and %" PRId64,
				     range->field, value, range->most);
	return 0;
}

int spec_options(struct spec_check *check, const struct spec_option *options, size_t n)
{
	for (size_t i = 0; i < n && !check->invalid; i++) {
		const struct spec_option *option = &options[i];

		if (!option->given)
			continue;
		if (option->value < option->least || option->value > option->most)
			return spec_complain(
				check,
				"spec.%s %" PRId64 " must be between %" PRId64 " and %" PRId64,
				option->field, option->value, option->least, option->most);
		*option->ret_value = option->value * option->unit;
	}
	return 0;
}

/* "Freeze", "Freeze or Drain", "Freeze, Drain or Evict" */
static void list_choices(struct buf *text, const char *const *choices)
{
	size_t i;

	for (i = 0; choices[i]; i++)
		buf_printf(text, "%s%s", i == 0 ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
}

static int complain_choice(struct spec_check *check, const char *field, struct str text,
			   const char *const *choices)
{
	struct buf list CLEANUP(buf_clear);

	buf_init(&list, QUOTA_MESSAGE_SIZE);
	list_choices(&list, choices);
	return spec_complain(check, "spec.%s %.*s is not known to this version; it may be %.*s",
			     field, STR_ARGS(spec_shown(text)), STR_ARGS(buf_str(&list)));
}

int spec_choice(struct spec_check *check, const char *field, struct str text,
		const char *const *choices, size_t *ret_choice)
{
	size_t i;

	for (i = 0; choices[i]; i++) {
		if (str_equal(text, str_from(choices[i])) || str_empty(text)) {
			*ret_choice = i;
			return 0;
		}
	}
	return complain_choice(check, field, text, choices);
}
