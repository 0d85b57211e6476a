/* SPDX-License-Identifier: Apache-2.0 */
/* What kube-scheduler sends, as Go writes it, and what it should not send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/macros.h"
#include "extender/args.h"

/* json.Marshal() of a Pod that asks for two cards, as ExtenderArgs has it. */
#define POD                                                                                    \
	"{\"metadata\":{\"name\":\"train-0\",\"namespace\":\"ml\",\"uid\":"                    \
	"\"1b4e28ba-2fa1-41d2-883f-0016d3cca427\",\"resourceVersion\":\"812\","                \
	"\"creationTimestamp\":\"2026-11-30T10:00:00Z\",\"labels\":{\"app\":\"train\"}},"      \
	"\"spec\":{\"volumes\":[{\"name\":\"token\",\"projected\":{\"sources\":null,"          \
	"\"defaultMode\":420}}],\"containers\":[{\"name\":\"main\",\"image\":\"train:1\","     \
	"\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\"},\"requests\":{\"cpu\":\"16\","   \
	"\"nvidia.com/gpu\":\"2\"}},\"imagePullPolicy\":\"IfNotPresent\"}],\"nodeSelector\":{" \
	"\"nvidia.com/gpu.product\":\"H100\"},\"schedulerName\":\"gpuqos-scheduler\"},"        \
	"\"status\":{\"phase\":\"Pending\",\"qosClass\":\"Burstable\"}}"

struct world {
	struct arena arena;
	struct error err;
};

static int setup(void **state)
{
	static struct world world;

	arena_init(&world.arena, LIMIT_DECODE_ARENA);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	arena_clear(&w->arena);
	return 0;
}

static void assert_text(struct str text, const char *expected)
{
	if (!str_equal(text, str_from(expected)))
		fail_msg("\"%.*s\" instead of \"%s\"", STR_ARGS(text), expected);
}

static void what_filter_is_asked_is_read(void **state)
{
	static const char body[] = "{\"Pod\":" POD ",\"Nodes\":null,\"NodeNames\":[\"node-a\", "
				   "\"node-b\",\"n\\u006fde-c\"]}\n";
	struct world *w = *state;
	struct extender_args args;
	const struct wire_container *container;

	if (extender_read_args(str_from(body), &w->arena, &args, &w->err) < 0)
		fail_msg("%s", w->err.message);
	assert_text(args.pod.meta.name, "train-0");
	assert_text(args.pod.meta.uid, "1b4e28ba-2fa1-41d2-883f-0016d3cca427");
	assert_int_equal(args.pod.spec.containers.len, 1);
	container = args.pod.spec.containers.items;
	assert_int_equal(container->resources.requests.len, 2);
	assert_int_equal(args.n_names, 3);
	assert_text(args.names[0], "node-a");
	assert_text(args.names[1], "node-b");
	assert_text(args.names[2], "node-c");
	assert_text(args.names_text, "[\"node-a\", \"node-b\",\"n\\u006fde-c\"]");
}

static void names_and_their_text_are_borrowed_from_the_body(void **state)
{
	static const char body[] = "{\"NodeNames\":[\"a\",\"b\"],\"Pod\":{}}";
	const uintptr_t begin = (uintptr_t)body, end = begin + sizeof(body);
	struct world *w = *state;
	struct extender_args args;

	assert_int_equal(extender_read_args(str_from(body), &w->arena, &args, &w->err), 0);
	assert_in_range((uintptr_t)args.names_text.data, begin, end);
	for (size_t i = 0; i < args.n_names; i++)
		assert_in_range((uintptr_t)args.names[i].data, begin, end);
}

static void no_names_are_a_list_too(void **state)
{
	struct world *w = *state;
	struct extender_args args;

	assert_int_equal(extender_read_args(STR("{\"Pod\":{},\"NodeNames\":[ ]}"), &w->arena, &args,
					    &w->err),
			 0);
	assert_int_equal(args.n_names, 0);
	assert_text(args.names_text, "[ ]");
}

/* @n names, the first of which @filler characters long. */
static void make_body(struct buf *body, int n)
{
	buf_init(body, LIMIT_EXTENDER_BODY);
	buf_add_cstr(body, "{\"Pod\":{},\"NodeNames\":[");
	for (int i = 0; i < n; i++)
		buf_printf(body, "%s\"node-%d\"", i > 0 ? "," : "", i);
	buf_add_cstr(body, "]}");
	assert_false(body->overflowed);
}

static void as_many_names_as_there_may_be_are_read_in_order(void **state)
{
	struct world *w = *state;
	struct extender_args args;
	struct buf body;
	char name[32];

	make_body(&body, LIMIT_EXTENDER_NAMES);
	assert_int_equal(extender_read_args(buf_str(&body), &w->arena, &args, &w->err), 0);
	assert_int_equal(args.n_names, LIMIT_EXTENDER_NAMES);
	for (size_t i = 0; i < args.n_names; i++) {
		assert_true(snprintf(name, sizeof(name), "node-%zu", i) > 0);
		assert_text(args.names[i], name);
	}
	buf_clear(&body);
	make_body(&body, LIMIT_EXTENDER_NAMES + 1);
	assert_int_equal(extender_read_args(buf_str(&body), &w->arena, &args, &w->err), -1);
	assert_int_equal(w->err.kind, ERROR_LIMIT);
	assert_string_equal(w->err.message, "NodeNames: more than 16384 names");
	buf_clear(&body);
}

struct refused {
	const char *why, *body;
};

static const struct refused args_refused[] = {
	{"expected an object", "[]"},
	{"truncated: ", ""},
	{"Pod is missing", "{}"},
	{"Pod is missing", "{\"Pod\":null,\"NodeNames\":[]}"},
	{"Pod: truncated: ", "{\"Pod\":{\"metadata\":"},
	{"Pod: ", "{\"Pod\":[],\"NodeNames\":[]}"},
	{"Pod: metadata.name: ", "{\"Pod\":{\"metadata\":{\"name\":1}},\"NodeNames\":[]}"},
	{"Pod occurs twice", "{\"Pod\":{},\"NodeNames\":[],\"Pod\":{}}"},
	{"NodeNames occurs twice", "{\"NodeNames\":null,\"NodeNames\":[]}"},
	{"NodeNames is missing", "{\"Pod\":{}}"},
	{"NodeNames is missing", "{\"Pod\":{},\"NodeNames\":null}"},
	{"NodeNames is missing", "{\"pod\":{},\"Pod\":{},\"nodeNames\":[]}"},
	{"NodeNames is missing: set nodeCacheCapable", "{\"Pod\":{},\"Nodes\":{\"items\":[]}}"},
	{"NodeNames: expected an array", "{\"Pod\":{},\"NodeNames\":{}}"},
	{"NodeNames: expected a string", "{\"Pod\":{},\"NodeNames\":[\"a\",1]}"},
	{"NodeNames: expected a string", "{\"Pod\":{},\"NodeNames\":[null]}"},
	{"NodeNames: expected a comma", "{\"Pod\":{},\"NodeNames\":[\"a\" \"b\"]}"},
	{"NodeNames: expected a string", "{\"Pod\":{},\"NodeNames\":[\"a\",]}"},
	{"NodeNames: expected a string to go on", "{\"Pod\":{},\"NodeNames\":[\"\xff\"]}"},
	{"expected the end", "{\"Pod\":{},\"NodeNames\":[]}{}"},
};

static void other_arguments_are_refused_with_a_reason(void **state)
{
	struct world *w = *state;
	struct extender_args args;

	for (size_t i = 0; i < ARRAY_SIZE(args_refused); i++) {
		const struct refused *r = &args_refused[i];

		assert_int_equal(extender_read_args(str_from(r->body), &w->arena, &args, &w->err),
				 -1);
		assert_int_equal(w->err.kind, ERROR_INVALID);
		if (strncmp(w->err.message, r->why, strlen(r->why)) != 0)
			fail_msg("\"%s\" instead of \"%s\" for %s", w->err.message, r->why,
				 r->body);
	}
}

static void a_value_that_nests_for_ever_is_refused(void **state)
{
	struct world *w = *state;
	struct extender_args args;
	struct buf body;

	buf_init(&body, LIMIT_EXTENDER_BODY);
	buf_add_cstr(&body, "{\"Unknown\":");
	for (int i = 0; i < 100000; i++)
		buf_add_char(&body, '[');
	assert_int_equal(extender_read_args(buf_str(&body), &w->arena, &args, &w->err), -1);
	assert_int_equal(w->err.kind, ERROR_LIMIT);
	buf_clear(&body);
}

static void what_bind_is_asked_is_read(void **state)
{
	struct world *w = *state;
	struct extender_bind_args args;

	assert_int_equal(extender_read_bind(STR("{\"PodName\":\"train-0\",\"PodNamespace\":\"ml\","
						"\"PodUID\":\"1b4e\",\"Node\":\"node-a\"}"),
					    &w->arena, &args, &w->err),
			 0);
	assert_text(args.pod_name, "train-0");
	assert_text(args.pod_namespace, "ml");
	assert_text(args.pod_uid, "1b4e");
	assert_text(args.node, "node-a");
}

#define NAME_64   "0123456789012345678901234567890123456789012345678901234567890123"
#define NAME_LONG NAME_64 NAME_64 NAME_64 NAME_64

static const struct refused bind_refused[] = {
	{"PodName is missing", "{}"},
	{"PodUID is missing", "{\"PodName\":\"a\",\"PodNamespace\":\"b\",\"Node\":\"c\"}"},
	{"PodUID is missing",
	 "{\"PodName\":\"a\",\"PodNamespace\":\"b\",\"PodUID\":\"\",\"Node\":\"c\"}"},
	{"Node is missing",
	 "{\"PodName\":\"a\",\"PodNamespace\":\"b\",\"PodUID\":\"c\",\"Node\":null}"},
	{"PodName: expected a string", "{\"PodName\":7}"},
	{"PodName: longer than 253 bytes", "{\"PodName\":\"" NAME_LONG "\"}"},
	{"Node occurs twice", "{\"Node\":\"a\",\"Node\":\"b\"}"},
};

static void a_binding_of_nothing_or_to_nowhere_is_refused(void **state)
{
	struct world *w = *state;
	struct extender_bind_args args;

	for (size_t i = 0; i < ARRAY_SIZE(bind_refused); i++) {
		const struct refused *r = &bind_refused[i];

		assert_int_equal(extender_read_bind(str_from(r->body), &w->arena, &args, &w->err),
				 -1);
		if (strncmp(w->err.message, r->why, strlen(r->why)) != 0)
			fail_msg("\"%s\" instead of \"%s\" for %s", w->err.message, r->why,
				 r->body);
	}
}

static void what_preempt_is_asked_is_read(void **state)
{
	static const char body[] =
		"{\"Pod\":" POD ",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":{"
		"\"node-a\":{\"Pods\":[{\"UID\":\"9c1d\"}],\"NumPDBViolations\":0}}}";
	struct world *w = *state;
	struct extender_preempt_args args;

	assert_int_equal(extender_read_preempt(str_from(body), &w->arena, &args, &w->err), 0);
	assert_text(args.pod.meta.name, "train-0");
	assert_text(args.victims_text,
		    "{\"node-a\":{\"Pods\":[{\"UID\":\"9c1d\"}],\"NumPDBViolations\":0}}");
	assert_int_equal(extender_read_preempt(STR("{\"Pod\":{},\"NodeNameToMetaVictims\":null}"),
					       &w->arena, &args, &w->err),
			 0);
	assert_text(args.victims_text, "{}");
}

static void victims_as_whole_pods_are_refused(void **state)
{
	struct world *w = *state;
	struct extender_preempt_args args;

	assert_int_equal(extender_read_preempt(STR("{\"Pod\":{},\"NodeNameToVictims\":{}}"),
					       &w->arena, &args, &w->err),
			 -1);
	assert_string_equal(w->err.message,
			    "NodeNameToMetaVictims is missing: set nodeCacheCapable");
	assert_int_equal(extender_read_preempt(STR("{\"Pod\":{},\"NodeNameToMetaVictims\":[]}"),
					       &w->arena, &args, &w->err),
			 -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_filter_is_asked_is_read),
		TEST(names_and_their_text_are_borrowed_from_the_body),
		TEST(no_names_are_a_list_too),
		TEST(as_many_names_as_there_may_be_are_read_in_order),
		TEST(other_arguments_are_refused_with_a_reason),
		TEST(a_value_that_nests_for_ever_is_refused),
		TEST(what_bind_is_asked_is_read),
		TEST(a_binding_of_nothing_or_to_nowhere_is_refused),
		TEST(what_preempt_is_asked_is_read),
		TEST(victims_as_whole_pods_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
