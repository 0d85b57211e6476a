/* SPDX-License-Identifier: Apache-2.0 */
/* Reads exports; an edited one lies in a file of its own while it is read. */
#include "exports.h"
#include "lib/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define FOLDER   "tests/data/topology/"
#define FILE_MAX (1024 * 1024)

void export_text(const char *name, const char *suffix, struct buf *text)
{
	char path[256];

	snprintf(path, sizeof(path), FOLDER "%s%s", name, suffix);
	file_read(path, text);
}

void export_read(const char *name, struct arena *arena, struct layout *ret_layout)
{
	char path[256];
	struct error err = {0};

	snprintf(path, sizeof(path), FOLDER "%s.xml", name);
	if (machine_read(path, arena, ret_layout, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

int export_read_text(struct str text, struct arena *arena, struct layout *ret_layout,
		     struct error *err)
{
	char path[] = "/tmp/gpuqos-export-XXXXXX";
	int fd = mkstemp(path);
	int result;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text.data, text.len), text.len);
	close(fd);
	result = machine_read(path, arena, ret_layout, NULL, err);
	unlink(path);
	return result;
}

void export_edit(struct buf *text, const char *from, const char *to)
{
	char *place = strstr(text->data, from);
	struct buf edited;

	if (!place)
		fail_msg("no \"%s\" to edit", from);
	buf_init(&edited, FILE_MAX);
	buf_add(&edited, text->data, (size_t)(place - text->data));
	buf_add_cstr(&edited, to);
	buf_add_cstr(&edited, place + strlen(from));
	assert_false(edited.overflowed);
	buf_clear(text);
	*text = edited;
}

void export_read_edited(const char *name, const char *const *edits, struct arena *arena,
			struct layout *ret_layout)
{
	struct error err = {0};
	struct buf text;

	buf_init(&text, FILE_MAX);
	export_text(name, ".xml", &text);
	for (; *edits; edits += 2)
		export_edit(&text, edits[0], edits[1]);
	if (export_read_text(buf_str(&text), arena, ret_layout, &err) < 0)
		fail_msg("%s", err.message);
	buf_clear(&text);
}
