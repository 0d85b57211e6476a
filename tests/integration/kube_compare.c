/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads all live objects of a built-in type as protobuf and as JSON and tells what differs, one
 * line each; then how many objects were equal. Driven by test_kube_client.py.
 *
 *   kube_compare TYPE
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/decode.h"
#include "api/wire.h"
#include "base/mem.h"
#include "kube/client.h"

#define OBJECTS_MOST 4096

struct copy {
	char *bytes;
	void *object;
};

struct reading {
	struct loop *loop;
	struct api_type type;
	struct arena arena;
	struct copy copies[OBJECTS_MOST];
	size_t n;
	bool as_protobuf;
};

static int different;

/* --- two objects, field by field */

static void differ(const char *path, const char *why)
{
	printf("%s: %s\n", path, why);
	different++;
}

static void compare(const struct schema *schema, const char *path, const void *a, const void *b);

static const void *member(const void *object, const struct field *field)
{
	return (const char *)object + field->offset;
}

static void compare_text(const char *path, const void *a, const void *b)
{
	if (!str_equal(*(const struct str *)a, *(const struct str *)b))
		differ(path, "texts differ");
}

static void compare_raw(const char *path, const void *a, const void *b)
{
	struct str left = wire_raw(*(const struct str *)a),
		   right = wire_raw(*(const struct str *)b);

	if (!str_equal(left, right))
		differ(path, "raw values differ");
}

/* Maps have no order. */
static void compare_map(const char *path, const struct wire_list *a, const struct wire_list *b)
{
	if (a->len != b->len)
		differ(path, "maps of different length");
	wire_for_each(const struct wire_pair, pair, *a) {
		struct str value;

		if (!wire_map_get(b, pair->key, &value) || !str_equal(value, pair->value))
			differ(path, "maps differ");
	}
}

static void compare_list(const struct field *field, const char *path, const struct wire_list *a,
			 const struct wire_list *b)
{
	size_t size = field->schema ? field->schema->size : sizeof(struct str);

	if (a->len != b->len) {
		differ(path, "lists of different length");
		return;
	}
	for (size_t i = 0; i < a->len; i++) {
		const char *left = (const char *)a->items + i * size;
		const char *right = (const char *)b->items + i * size;

		if (field->schema)
			compare(field->schema, path, left, right);
		else
			compare_text(path, left, right);
	}
}

static void compare_number(const struct field *field, const char *path, const void *a,
			   const void *b)
{
	size_t size = field->kind == FIELD_BOOL    ? sizeof(bool)
		      : field->kind == FIELD_INT32 ? sizeof(int32_t)
						   : sizeof(int64_t);

	if (memcmp(a, b, size) != 0)
		differ(path, "numbers differ");
}

static void compare_field(const struct field *field, const char *path, const void *a, const void *b)
{
	switch (field->kind) {
	case FIELD_STRING:
	case FIELD_BYTES:
	case FIELD_QUANTITY:
		compare_text(path, a, b);
		break;
	case FIELD_RAW:
		compare_raw(path, a, b);
		break;
	case FIELD_BOOL:
	case FIELD_INT32:
	case FIELD_INT64:
	case FIELD_TIME:
		compare_number(field, path, a, b);
		break;
	case FIELD_MESSAGE:
	case FIELD_INLINE:
		compare(field->schema, path, a, b);
		break;
	case FIELD_MAP:
	case FIELD_QUANTITIES:
		compare_map(path, a, b);
		break;
	case FIELD_STRINGS:
	case FIELD_MESSAGES:
	case FIELD_ENTRIES:
		compare_list(field, path, a, b);
		break;
	}
}

static void compare(const struct schema *schema, const char *path, const void *a, const void *b)
{
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct field *field = &schema->fields[i];
		char longer[512];

		snprintf(longer, sizeof(longer), "%s.%s", path, field->name);
		compare_field(field, longer, member(a, field), member(b, field));
	}
}

/* --- reading them */

static int on_part(void *context, enum frame_part part, struct str bytes, bool protobuf,
		   struct error *err)
{
	struct reading *reading = context;
	struct copy *copy = &reading->copies[reading->n];
	struct api_bytes own;

	reading->as_protobuf = protobuf;
	if (part != FRAME_OBJECT)
		return 0;
	if (reading->n == OBJECTS_MOST)
		return error_set(err, ERROR_LIMIT, "more than %d objects", OBJECTS_MOST);
	copy->bytes = mem_alloc(bytes.len + 1);
	memcpy(copy->bytes, bytes.data, bytes.len);
	copy->object = mem_alloc(reading->type.schema->size);
	reading->n++;
	own = (struct api_bytes){{copy->bytes, bytes.len}, protobuf};
	return api_decode(reading->type.schema, own, &reading->arena, copy->object, err);
}

static void on_done(void *context, const struct kube_answer *answer UNUSED, const struct error *err)
{
	struct reading *reading = context;

	if (err) {
		fprintf(stderr, "%s\n", err->message);
		exit(1);
	}
	loop_stop(reading->loop);
}

static struct reading *read_all(struct kube_client *client, const struct api_type *type,
				bool protobuf)
{
	struct reading *reading = mem_alloc(sizeof(*reading));
	struct kube_request request = {.verb = KUBE_LIST, .type = &reading->type};
	struct kube_handlers handlers = {
		.on_part = on_part, .on_done = on_done, .context = reading};

	reading->loop = kube_client_loop(client);
	reading->type = *type;
	reading->type.protobuf = protobuf;
	kube_send(client, KUBE_WATCH, &request, &handlers);
	loop_run(reading->loop);
	if (reading->as_protobuf != protobuf)
		differ(type->plural, "the server chose another format");
	return reading;
}

static void reading_free(struct reading *reading)
{
	for (size_t i = 0; i < reading->n; i++) {
		mem_free(reading->copies[i].bytes);
		mem_free(reading->copies[i].object);
	}
	arena_clear(&reading->arena);
	mem_free(reading);
}

static void compare_all(struct kube_client *client, const struct api_type *type)
{
	struct reading *a = read_all(client, type, true), *b = read_all(client, type, false);

	if (a->n != b->n)
		differ(type->plural, "lists of different length");
	for (size_t i = 0; i < MIN(a->n, b->n); i++)
		compare(type->schema, type->kind, a->copies[i].object, b->copies[i].object);
	printf("%zu objects, %d differences\n", a->n, different);
	reading_free(a);
	reading_free(b);
}

int main(int argc, char **argv)
{
	static const struct api_type *const types[] = {
		&api_pods,         &api_nodes,  &api_namespaces, &api_resource_quotas,
		&api_limit_ranges, &api_leases, &api_budgets,    &api_jobs,
	};
	struct kube_config_options from;
	struct kube_config *config;
	struct error err = {0};

	kube_config_options_from_env(&from);
	if (argc != 2 || kube_config_load(&from, &config, &err)) {
		fprintf(stderr, "usage: kube_compare TYPE; %s\n", err.message);
		return 2;
	}
	http_library_init();
	CLEANUP(loop_free) struct loop *loop = loop_new(clock_system());
	CLEANUP(kube_client_free)
	struct kube_client *client =
		kube_client_new(loop, config, &(struct kube_client_options){0});
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i]->plural, argv[1]) == 0)
			compare_all(client, types[i]);
	return different ? 1 : 0;
}
