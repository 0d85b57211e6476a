/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what kube-scheduler asks. Go writes the keys in the order of its structs, but any order
 * is read: a table says which keys there are, one pass notes the text of each value, and what is
 * more than text is read out of that. Only the names, which are most of the bytes, are read as the
 * pass comes to them.
 */
#include "extender/args.h"

#include "base/limits.h"
#include "base/macros.h"
#include "codec/json.h"
#include "codec/json_pull.h"

#define NAMES_FIRST 512 /* of which the list of names has room at first */

/* A key of a request. Its value is noted as it stands in the body; null is absence. */
struct key {
	struct str name;
	struct str *value;
	int (*read)(struct json_pull *pull, void *context, struct error *err); /* or NULL: skipped
										*/
	void *context;                                                         /* of read */
	bool seen;
};

static struct key *find_key(struct key *keys, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_equal(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static int read_value(struct json_pull *pull, const struct key *key, struct error *err)
{
	enum json_pull_type type;
	size_t begin;

	if (json_pull_peek(pull, &type, err) < 0)
		return -1;
	if (type == JSON_PULL_NULL)
		return json_pull_null(pull, err);
	begin = json_pull_offset(pull);
	if ((key->read ? key->read(pull, key->context, err) : json_pull_skip(pull, NULL, err)) < 0)
		return -1;
	*key->value = (struct str){pull->begin + begin, json_pull_offset(pull) - begin};
	return 0;
}

static int read_key(struct json_pull *pull, struct key *key, struct error *err)
{
	if (!key)
		return json_pull_skip(pull, NULL, err);
	if (key->seen)
		return error_set(err, ERROR_INVALID, "%.*s occurs twice", STR_ARGS(key->name));
	key->seen = true;
	if (read_value(pull, key, err) < 0)
		return error_wrap(err, "%.*s", STR_ARGS(key->name));
	return 0;
}

static int read_keys(struct str body, struct arena *arena, struct key *keys, size_t n,
		     struct error *err)
{
	struct json_pull pull;
	struct str name;
	int more;

	json_pull_init(&pull, body, arena);
	if (json_pull_object(&pull, err) < 0)
		return -1;
	while ((more = json_pull_key(&pull, &name, err)) > 0)
		if (read_key(&pull, find_key(keys, n, name), err) < 0)
			return -1;
	return more < 0 ? -1 : json_pull_end(&pull, err);
}

static int read_pod(struct str text, struct arena *arena, struct wire_pod *ret_pod,
		    struct error *err)
{
	if (str_empty(text))
		return error_set(err, ERROR_INVALID, "Pod is missing");
	return json_decode(&wire_pod_schema, text, arena, ret_pod, err);
}

static bool has_wishes(const struct wire_pod_spec *spec)
{
	const struct wire_affinity *affinity = &spec->affinity;

	return affinity->node.preferred.len > 0 || affinity->pod.preferred.len > 0 ||
	       affinity->anti.preferred.len > 0 || spec->spreads.len > 0;
}

/* --- filter and prioritize */

struct names {
	struct str *items; /* in the arena */
	size_t len, room;
};

static int grow_names(struct names *names, struct arena *arena, struct error *err)
{
	size_t room = MIN(MAX(names->room * 2, NAMES_FIRST), LIMIT_EXTENDER_NAMES);
	struct str *items;

	if (room == names->len)
		return error_set(err, ERROR_LIMIT, "more than %d names", LIMIT_EXTENDER_NAMES);
	items = arena_alloc(arena, room * sizeof(*items));
	if (!items)
		return error_set(err, ERROR_LIMIT, "takes more than %zu bytes of memory",
				 arena->limit);
	if (names->len > 0)
		memcpy(items, names->items, names->len * sizeof(*items));
	names->items = items;
	names->room = room;
	return 0;
}

static int read_names(struct json_pull *pull, void *context, struct error *err)
{
	struct names *names = context;
	int more;

	if (json_pull_array(pull, err) < 0)
		return -1;
	while ((more = json_pull_element(pull, err)) > 0) {
		if (names->len == names->room && grow_names(names, pull->arena, err) < 0)
			return -1;
		if (json_pull_string(pull, &names->items[names->len], err) < 0)
			return -1;
		names->len++;
	}
	return more;
}

int extender_read_args(struct str body, struct arena *arena, struct extender_args *ret_args,
		       struct error *err)
{
	struct str pod_text = STR_NONE, nodes_text = STR_NONE, names_text = STR_NONE;
	struct names names = {0};
	struct key keys[] = {
		{.name = STR("Pod"), .value = &pod_text},
		{.name = STR("Nodes"), .value = &nodes_text},
		{.name = STR("NodeNames"),
		 .value = &names_text,
		 .read = read_names,
		 .context = &names},
	};
	struct extender_args args;

	if (read_keys(body, arena, keys, ARRAY_SIZE(keys), err) < 0 ||
	    read_pod(pod_text, arena, &args.pod, err) < 0)
		return -1;
	if (str_empty(names_text))
		return error_set(err, ERROR_INVALID, "NodeNames is missing%s",
				 str_empty(nodes_text) ? "" : ": set nodeCacheCapable");
	args.has_wishes = has_wishes(&args.pod.spec);
	args.names = names.items;
	args.n_names = names.len;
	args.names_text = names_text;
	*ret_args = args;
	return 0;
}

/* --- bind */

static int read_text(struct json_pull *pull, void *context, struct error *err)
{
	struct str *text = context;

	if (json_pull_string(pull, text, err) < 0)
		return -1;
	if (text->len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "longer than %d bytes", LIMIT_NAME);
	return 0;
}

int extender_read_bind(struct str body, struct arena *arena, struct extender_bind_args *ret_args,
		       struct error *err)
{
	struct extender_bind_args args = {0};
	struct str ignored;
	struct key keys[] = {
		{STR("PodName"), &ignored, read_text, &args.pod_name, false},
		{STR("PodNamespace"), &ignored, read_text, &args.pod_namespace, false},
		{STR("PodUID"), &ignored, read_text, &args.pod_uid, false},
		{STR("Node"), &ignored, read_text, &args.node, false},
	};

	if (read_keys(body, arena, keys, ARRAY_SIZE(keys), err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (str_empty(*(const struct str *)keys[i].context))
			return error_set(err, ERROR_INVALID, "%.*s is missing",
					 STR_ARGS(keys[i].name));
	*ret_args = args;
	return 0;
}

/* --- preempt */

int extender_read_preempt(struct str body, struct arena *arena,
			  struct extender_preempt_args *ret_args, struct error *err)
{
	struct str pod_text = STR_NONE, victims = STR_NONE, meta_victims = STR_NONE;
	struct key keys[] = {
		{.name = STR("Pod"), .value = &pod_text},
		{.name = STR("NodeNameToVictims"), .value = &victims},
		{.name = STR("NodeNameToMetaVictims"), .value = &meta_victims},
	};
	struct extender_preempt_args args;

	if (read_keys(body, arena, keys, ARRAY_SIZE(keys), err) < 0 ||
	    read_pod(pod_text, arena, &args.pod, err) < 0)
		return -1;
	if (str_empty(meta_victims) && !str_empty(victims))
		return error_set(err, ERROR_INVALID,
				 "NodeNameToMetaVictims is missing: set nodeCacheCapable");
	if (!str_empty(meta_victims) && meta_victims.data[0] != '{')
		return error_set(err, ERROR_INVALID, "NodeNameToMetaVictims is no object");
	args.victims_text = str_empty(meta_victims) ? STR("{}") : meta_victims;
	*ret_args = args;
	return 0;
}
