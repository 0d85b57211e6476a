/* SPDX-License-Identifier: Apache-2.0 */
/* Reads samples and recordings. */
#include "recorded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "codec/json.h"
#include "lib/files.h"

#define FOLDER "tests/data/wire/objects/"

void recorded_read(const char *name, const char *suffix, struct buf *text)
{
	char path[256];

	snprintf(path, sizeof(path), FOLDER "%s%s", name, suffix);
	file_read(path, text);
}

void recorded_decode(const struct schema *schema, const char *name, struct buf *text,
		     struct arena *arena, void *ret_object)
{
	struct error err = {0};

	recorded_read(name, ".json", text);
	if (json_decode(schema, buf_str(text), arena, ret_object, &err) < 0)
		fail_msg("%s: %s", name, err.message);
}

void sample_decode(const struct schema *schema, const char *json, struct arena *arena,
		   void *ret_object)
{
	size_t len = strlen(json);
	char *copy = arena_strndup(arena, json, len);
	struct error err = {0};
	size_t i;

	assert_non_null(copy);
	for (i = 0; i < len; i++)
		if (copy[i] == '\'')
			copy[i] = '"';
	if (json_decode(schema, (struct str){copy, len}, arena, ret_object, &err) < 0)
		fail_msg("%s: %s", json, err.message);
}

void fixture_init(struct fixture *f)
{
	*f = (struct fixture){0};
	arena_init(&f->arena, LIMIT_DECODE_ARENA);
	buf_init(&f->text, LIMIT_WATCH_FRAME);
	buf_init(&f->out, LIMIT_WATCH_FRAME);
}

void fixture_clear(struct fixture *f)
{
	arena_clear(&f->arena);
	buf_clear(&f->text);
	buf_clear(&f->out);
}
