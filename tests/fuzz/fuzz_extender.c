/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what kube-scheduler might ask. What our readers take, jansson has read too, with the
 * same values; what jansson reads and has the right shape, they take. What is written of it is JSON
 * that says what was meant, whatever the names.
 */
#include <stdlib.h>

#include <jansson.h>

#include "base/limits.h"
#include "extender/answer.h"
#include "extender/args.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static json_t *parse(struct str text)
{
	return json_loadb(text.data ? text.data : "", text.len, JSON_DECODE_ANY, NULL);
}

static bool same_text(const json_t *json, struct str text)
{
	return json_is_string(json) &&
	       str_equal((struct str){json_string_value(json), json_string_length(json)}, text);
}

/* Jansson cannot hold all numbers, and passes over a zero byte behind one, which is no JSON. */
static bool is_judged(struct str text)
{
	json_error_t error;
	json_t *json = json_loadb(text.data ? text.data : "", text.len, 0, &error);

	json_decref(json);
	return (json || json_error_code(&error) != json_error_numeric_overflow) &&
	       (text.len == 0 || !memchr(text.data, '\0', text.len));
}

/* --- what was read */

static void check_names(const json_t *list, const struct extender_args *args)
{
	json_t *again = parse(args->names_text);

	require(json_array_size(list) == args->n_names);
	for (size_t i = 0; i < args->n_names; i++)
		require(same_text(json_array_get(list, i), args->names[i]));
	require(again && json_equal(again, list));
	json_decref(again);
}

static bool is_list_of_names(const json_t *list)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry) if (!json_is_string(entry)) return false;
	return json_is_array(list);
}

/* No pod is as simple as an empty one. */
static bool has_empty_pod(const json_t *json)
{
	const json_t *pod = json_object_get(json, "Pod");

	return json_is_object(pod) && json_object_size(pod) == 0;
}

/* --- what is written */

static json_t *parse_answer(const struct buf *buf)
{
	json_t *json = parse(buf_str(buf));

	require(!buf->overflowed && json);
	return json;
}

/* The same name twice is one key. */
static void check_filter(const struct extender_filter *filter)
{
	struct buf buf CLEANUP(buf_clear);
	json_t *json;
	size_t passed = 0;

	buf_init(&buf, LIMIT_METRICS_PAGE);
	extender_write_filter(&buf, filter);
	json = parse_answer(&buf);
	for (size_t i = 0; i < filter->n_names; i++) {
		uint16_t verdict = filter->verdicts[i];
		const struct str name = filter->names[i];
		const json_t *map = json_object_get(
			json, verdict == 2 ? "FailedAndUnresolvableNodes" : "FailedNodes");

		if (verdict == 0)
			require(same_text(
				json_array_get(json_object_get(json, "NodeNames"), passed++),
				name));
		else
			require(same_text(
				json_object_getn(map, name.data ? name.data : "", name.len),
				filter->reasons[verdict - 1].text));
	}
	require(json_array_size(json_object_get(json, "NodeNames")) == passed);
	json_decref(json);
}

static void check_answers(const struct extender_args *args, const json_t *names)
{
	const struct extender_reason reasons[] = {
		{args->n_names > 0 ? args->names[0] : STR("why"), false},
		{STR("\"\\\n\x01"), true},
	};
	uint16_t *verdicts = calloc(args->n_names + 1, sizeof(*verdicts));
	struct buf buf CLEANUP(buf_clear);
	json_t *json;

	require(verdicts);
	for (size_t i = 0; i < args->n_names; i++)
		verdicts[i] = (uint16_t)(args->names[i].len % 3);
	check_filter(&(struct extender_filter){args->names, verdicts, args->n_names, reasons,
					       ARRAY_SIZE(reasons)});
	free(verdicts);
	buf_init(&buf, LIMIT_METRICS_PAGE);
	extender_write_filter_text(&buf, args->names_text);
	json = parse_answer(&buf);
	require(json_equal(json_object_get(json, "NodeNames"), names));
	json_decref(json);
}

/* --- each verb */

static void check_args(struct str body, const json_t *json, bool unique)
{
	const json_t *names = json_object_get(json, "NodeNames");
	struct arena arena CLEANUP(arena_clear);
	struct extender_args args;
	struct error err;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	if (extender_read_args(body, &arena, &args, &err) == 0) {
		if (!json) {
			require(!is_judged(body));
			return;
		}
		check_names(names, &args);
		check_answers(&args, names);
	} else {
		require(err.kind == ERROR_LIMIT || !unique || !has_empty_pod(json) ||
			!is_list_of_names(names) || !is_judged(body));
	}
}

static bool is_name(const json_t *json)
{
	return json_is_string(json) && json_string_length(json) > 0 &&
	       json_string_length(json) <= LIMIT_NAME;
}

static void check_bind(struct str body, const json_t *json, bool unique)
{
	const json_t *name = json_object_get(json, "PodName"),
		     *namespace = json_object_get(json, "PodNamespace"),
		     *uid = json_object_get(json, "PodUID"), *node = json_object_get(json, "Node");
	struct arena arena CLEANUP(arena_clear);
	struct extender_bind_args args;
	struct error err;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	if (extender_read_bind(body, &arena, &args, &err) == 0)
		require((!json && !is_judged(body)) ||
			(same_text(name, args.pod_name) &&
			 same_text(namespace, args.pod_namespace) && same_text(uid, args.pod_uid) &&
			 same_text(node, args.node)));
	else
		require(err.kind == ERROR_LIMIT || !unique || !is_judged(body) ||
			!(is_name(name) && is_name(namespace) && is_name(uid) && is_name(node)));
}

static void check_preempt(struct str body, const json_t *json, bool unique)
{
	const json_t *victims = json_object_get(json, "NodeNameToMetaVictims");
	struct arena arena CLEANUP(arena_clear);
	struct extender_preempt_args args;
	struct error err;
	json_t *again;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	if (extender_read_preempt(body, &arena, &args, &err) < 0) {
		require(err.kind == ERROR_LIMIT || !unique || !is_judged(body) ||
			!has_empty_pod(json) || !json_is_object(victims));
		return;
	}
	if (!json) {
		require(!is_judged(body));
		return;
	}
	again = parse(args.victims_text);
	require(json_is_object(again) &&
		(json_equal(again, victims) ||
		 ((!victims || json_is_null(victims)) && json_object_size(again) == 0)));
	json_decref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str body = {(const char *)data, size};
	json_t *json = json_loadb(body.data ? body.data : "", size, 0, NULL);
	json_t *strict = json_loadb(body.data ? body.data : "", size, JSON_REJECT_DUPLICATES, NULL);

	check_args(body, json, strict != NULL);
	check_bind(body, json, strict != NULL);
	check_preempt(body, json, strict != NULL);
	json_decref(strict);
	json_decref(json);
	return 0;
}
