/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

void file_read(const char *path, struct buf *text)
{
	FILE *file = fopen(path, "rb");
	char chunk[4096];
	size_t len;

	if (!file)
		fail_msg("cannot open %s", path);
	while ((len = fread(chunk, 1, sizeof(chunk), file)) > 0)
		assert_true(buf_add(text, chunk, len));
	fclose(file);
}
