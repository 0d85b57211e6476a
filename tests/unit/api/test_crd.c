/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field tables of our types against crds/: every property of the one is in the other, and each
 * has a description. The files are read by their indentation, which is enough for files of ours: a
 * key whose parent is "properties" is a property.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/wire_tenant.h"
#include "base/buf.h"
#include "base/macros.h"
#include "lib/files.h"

#define FILE_MAX  (256 * 1024)
#define DEPTH_MAX 32
#define PATHS_MAX 256
#define PATH_SIZE 128

struct paths {
	char text[PATHS_MAX][PATH_SIZE];
	size_t len;
};

/* An open key of the file. */
struct level {
	size_t indent;
	struct str key;
	int path; /* of the nearest property, or -1 */
};

struct crd {
	struct paths paths;
	size_t described; /* paths with a description */
	struct level levels[DEPTH_MAX];
	size_t depth;
};

static int add_path(struct paths *paths, const char *parent, struct str name)
{
	assert_true(paths->len < PATHS_MAX);
	snprintf(paths->text[paths->len], PATH_SIZE, "%s.%.*s", parent, STR_ARGS(name));
	return (int)paths->len++;
}

static bool has_path(const struct paths *paths, const char *path)
{
	size_t i;

	for (i = 0; i < paths->len; i++)
		if (strcmp(paths->text[i], path) == 0)
			return true;
	return false;
}

static void read_key(struct crd *crd, size_t indent, struct str key)
{
	struct level *parent = NULL;
	int path = -1;

	while (crd->depth > 0 && crd->levels[crd->depth - 1].indent >= indent)
		crd->depth--;
	if (crd->depth > 0) {
		parent = &crd->levels[crd->depth - 1];
		path = parent->path;
	}
	if (parent && str_equal(parent->key, STR("properties")))
		path = add_path(&crd->paths, path < 0 ? "" : crd->paths.text[path], key);
	else if (parent && path >= 0 && str_equal(key, STR("description")) &&
		 crd->levels[crd->depth - 1].path == path)
		crd->described++;
	assert_true(crd->depth < DEPTH_MAX);
	crd->levels[crd->depth++] = (struct level){indent, key, path};
}

/* A line that begins a key; of a text that goes over lines only the first one does. */
static void read_line(struct crd *crd, struct str line)
{
	size_t indent = 0;
	struct str key, rest;

	while (indent < line.len && line.data[indent] == ' ')
		indent++;
	line.data += indent;
	line.len -= indent;
	if (str_empty(line) || *line.data == '#' || *line.data == '-')
		return;
	if (!str_split(line, ':', &key, &rest) || (rest.len > 0 && *rest.data != ' '))
		return;
	for (size_t i = 0; i < key.len; i++)
		if (key.data[i] == ' ')
			return;
	read_key(crd, indent, key);
}

static void read_crd(const char *path, struct crd *crd)
{
	struct buf text CLEANUP(buf_clear);
	struct str line, rest;

	buf_init(&text, FILE_MAX);
	file_read(path, &text);
	rest = buf_str(&text);
	while (str_split(rest, '\n', &line, &rest))
		read_line(crd, line);
}

static void add_table(struct paths *paths, const struct schema *schema, const char *parent)
{
	size_t i;

	for (i = 0; i < schema->n_fields; i++) {
		const struct field *field = &schema->fields[i];
		int path = add_path(paths, parent, str_from(field->name));

		if (field->schema && field->schema != &wire_meta_schema)
			add_table(paths, field->schema, paths->text[path]);
	}
}

static void assert_same_fields(const char *file, const struct schema *schema)
{
	static struct crd crd;
	static struct paths table;
	size_t i;

	crd = (struct crd){0};
	table.len = 0;
	read_crd(file, &crd);
	add_table(&table, schema, "");
	for (i = 0; i < table.len; i++)
		if (!has_path(&crd.paths, table.text[i]))
			fail_msg("%s is in the table and not in %s", table.text[i], file);
	for (i = 0; i < crd.paths.len; i++) {
		const char *path = crd.paths.text[i];

		if (strcmp(path, ".apiVersion") != 0 && strcmp(path, ".kind") != 0 &&
		    !has_path(&table, path))
			fail_msg("%s is in %s and not in the table", path, file);
	}
	assert_true(table.len > 25);
	/* The server describes metadata itself. */
	assert_int_equal(crd.described, crd.paths.len - 1);
}

static void tables_and_crds_have_the_same_fields(void **state)
{
	(void)state;
	assert_same_fields("crds/gpumemoryquotas.yaml", &wire_gpu_memory_quota_schema);
	assert_same_fields("crds/tenantqos.yaml", &wire_tenant_schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_and_crds_have_the_same_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
