/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>

#define FOLDER  "tests/data/wire/"
#define LARGEST (1024 * 1024)

struct str wire_load(struct buf *ret_file, const char *name)
{
	struct buf path CLEANUP(buf_clear);
	char chunk[4096];
	FILE *file;
	size_t n;

	buf_init(&path, 256);
	buf_init(ret_file, LARGEST);
	buf_printf(&path, FOLDER "%s", name);
	file = fopen(path.data, "rb");
	if (!file) {
		perror(path.data);
		exit(1);
	}
	while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
		buf_add(ret_file, chunk, n);
	fclose(file);
	return buf_str(ret_file);
}
