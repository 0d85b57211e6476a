/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML in two passes. The first turns libyaml's events into a flat list of nodes, in which what
 * belongs to a sequence or mapping follows it, and checks all that can be wrong with the document
 * by itself. The second writes the nodes, and those behind an alias again; it alone can meet a
 * limit.
 */
#include "codec/yaml.h"

#include <stdlib.h>

#include <yaml.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "codec/json_out.h"
#include "codec/scalar.h"

#define TAG "tag:yaml.org,2002:"

enum node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING, NODE_ALIAS };

struct node {
	enum node_kind kind;
	enum scalar_class class; /* of a scalar */
	struct str text;         /* of a scalar */
	bool plain;              /* a scalar without quotes or tag */
	uint32_t end;            /* the node behind all that belongs to it; 0 while it is open */
	uint32_t target;         /* of an alias */
	uint32_t line, column;   /* from 1 */
};

struct anchor {
	struct str name;
	uint32_t node;
};

struct document {
	yaml_parser_t parser;
	struct error *err;
	struct arena arena; /* text of scalars, names of anchors */
	struct node *nodes;
	size_t n_nodes, nodes_capacity;
	uint32_t open[JSON_OUT_DEPTH]; /* nodes that are not complete */
	unsigned int depth;
	bool complete; /* the first document is */
	struct anchor *anchors;
	size_t n_anchors, anchors_capacity;
	struct map by_name; /* of anchors, the newest of each name */
	struct hash_key key;
};

static int fail_at(struct document *d, const struct node *node, const char *what)
{
	return error_set(d->err, ERROR_INVALID, "line %u column %u: %s", node->line, node->column,
			 what);
}

/* --- anchors */

static bool is_called(const void *context, uint32_t handle, const void *key)
{
	const struct document *d = context;
	const struct str *name = key;

	return str_equal(d->anchors[handle].name, *name);
}

static uint32_t find_anchor(const struct document *d, struct str name, uint32_t hash)
{
	return map_find(&d->by_name, hash, is_called, d, &name);
}

static uint32_t hash_name(const struct document *d, struct str name)
{
	return (uint32_t)hash_bytes(&d->key, name.data, name.len);
}

/* Copies what libyaml owns. */
static int keep_text(struct document *d, struct str text, struct str *ret_copy)
{
	char *copy = arena_strndup(&d->arena, text.data, text.len);

	if (!copy)
		return error_set(d->err, ERROR_LIMIT, "takes too much memory");
	*ret_copy = (struct str){copy, text.len};
	return 0;
}

/* A name may be given again, and then means the newer node. */
static int add_anchor(struct document *d, const yaml_char_t *name, uint32_t node)
{
	uint32_t hash, old;
	struct anchor *anchor;
	struct str text;

	if (!name)
		return 0;
	if (keep_text(d, str_from((const char *)name), &text) < 0)
		return -1;
	hash = hash_name(d, text);
	old = find_anchor(d, text, hash);
	if (old != MAP_NONE)
		map_remove(&d->by_name, hash, old);
	mem_grow((void **)&d->anchors, &d->anchors_capacity, d->n_anchors + 1, sizeof(*anchor));
	anchor = &d->anchors[d->n_anchors];
	*anchor = (struct anchor){text, node};
	map_insert(&d->by_name, hash, (uint32_t)d->n_anchors++);
	return 0;
}

/* --- first pass: nodes from events */

static struct node *add_node(struct document *d, enum node_kind kind, const yaml_event_t *event)
{
	struct node *node;

	if (d->n_nodes == LIMIT_YAML_NODES) {
		error_set(d->err, ERROR_LIMIT, "more than %d nodes", LIMIT_YAML_NODES);
		return NULL;
	}
	mem_grow((void **)&d->nodes, &d->nodes_capacity, d->n_nodes + 1, sizeof(*node));
	node = &d->nodes[d->n_nodes++];
	*node = (struct node){
		.kind = kind,
		.end = (uint32_t)d->n_nodes,
		.line = (uint32_t)event->start_mark.line + 1,
		.column = (uint32_t)event->start_mark.column + 1,
	};
	return node;
}

/* What a tag asks for must be what the scalar is; without one, quotes make a string. */
static int resolve(struct document *d, struct node *node, const yaml_event_t *event)
{
	static const struct {
		const char *tag;
		enum scalar_class classes[3];
	} tags[] = {
		{TAG "null", {SCALAR_NULL, SCALAR_NULL, SCALAR_NULL}},
		{TAG "bool", {SCALAR_TRUE, SCALAR_FALSE, SCALAR_FALSE}},
		{TAG "int", {SCALAR_INT, SCALAR_INT, SCALAR_INT}},
		{TAG "float", {SCALAR_FLOAT, SCALAR_INT, SCALAR_NOT_FINITE}},
	};
	const char *tag = (const char *)event->data.scalar.tag;
	size_t i;

	node->plain = event->data.scalar.plain_implicit != 0;
	if (!tag) {
		node->class = node->plain ? scalar_resolve(node->text) : SCALAR_STRING;
		return 0;
	}
	node->class = SCALAR_STRING;
	if (strcmp(tag, "!") == 0 || strcmp(tag, TAG "str") == 0)
		return 0;
	node->class = scalar_resolve(node->text);
	for (i = 0; i < ARRAY_SIZE(tags); i++)
		if (strcmp(tag, tags[i].tag) == 0 &&
		    (node->class == tags[i].classes[0] || node->class == tags[i].classes[1] ||
		     node->class == tags[i].classes[2]))
			return 0;
	return fail_at(d, node, "a tag that does not fit or is not known");
}

static int on_scalar(struct document *d, const yaml_event_t *event)
{
	struct str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
	uint32_t index = (uint32_t)d->n_nodes;
	struct node *node = add_node(d, NODE_SCALAR, event);

	if (!node || keep_text(d, text, &node->text) < 0 || resolve(d, node, event) < 0)
		return -1;
	if (node->class == SCALAR_NOT_FINITE)
		return fail_at(d, node, "a number that is not finite");
	return add_anchor(d, event->data.scalar.anchor, index);
}

static int on_alias(struct document *d, const yaml_event_t *event)
{
	struct str name = str_from((const char *)event->data.alias.anchor);
	uint32_t anchor = find_anchor(d, name, hash_name(d, name));
	struct node *node = add_node(d, NODE_ALIAS, event);

	if (!node)
		return -1;
	if (anchor == MAP_NONE)
		return fail_at(d, node, "an alias without its anchor");
	node->target = d->anchors[anchor].node;
	if (d->nodes[node->target].end == 0)
		return fail_at(d, node, "an alias inside of what it stands for");
	return 0;
}

static int on_begin(struct document *d, const yaml_event_t *event, enum node_kind kind)
{
	bool mapping = kind == NODE_MAPPING;
	const yaml_char_t *tag =
		mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag;
	const yaml_char_t *anchor =
		mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
	uint32_t index = (uint32_t)d->n_nodes;
	struct node *node = add_node(d, kind, event);

	if (!node)
		return -1;
	if (tag && strcmp((const char *)tag, mapping ? TAG "map" : TAG "seq") != 0)
		return fail_at(d, node, "a tag that does not fit or is not known");
	if (d->depth == JSON_OUT_DEPTH)
		return error_set(d->err, ERROR_LIMIT, "nested deeper than %d", JSON_OUT_DEPTH);
	node->end = 0;
	d->open[d->depth++] = index;
	return add_anchor(d, anchor, index);
}

static int compare_keys(const void *a, const void *b)
{
	const struct node *const *left = a, *const *right = b;
	int order = str_compare((*left)->text, (*right)->text);

	if (order != 0)
		return order;
	return (*left > *right) - (*left < *right);
}

/* The node that a node is, or stands for. */
static const struct node *meant(const struct document *d, uint32_t index)
{
	const struct node *node = &d->nodes[index];

	return node->kind == NODE_ALIAS ? &d->nodes[node->target] : node;
}

static int check_key(struct document *d, uint32_t index)
{
	const struct node *key = meant(d, index);

	if (key->kind != NODE_SCALAR || key->class != SCALAR_STRING)
		return fail_at(d, &d->nodes[index], "a key that is not a string");
	if (key->plain && str_equal(key->text, STR("<<")))
		return fail_at(d, &d->nodes[index], "a merge key");
	return 0;
}

/* Keys must be strings, and none may be there twice. Nodes of keys are never moved meanwhile. */
static int check_mapping(struct document *d, uint32_t index)
{
	const struct node **keys CLEANUP(mem_free) = NULL;
	size_t n = 0, capacity = 0, i;
	uint32_t at;

	for (at = index + 1; at < d->nodes[index].end; at = d->nodes[d->nodes[at].end].end) {
		if (check_key(d, at) < 0)
			return -1;
		mem_grow((void **)&keys, &capacity, n + 1, sizeof(const struct node *));
		keys[n++] = meant(d, at);
	}
	if (n > 1)
		qsort(keys, n, sizeof(const struct node *), compare_keys);
	for (i = 1; i < n; i++)
		if (str_equal(keys[i - 1]->text, keys[i]->text))
			return fail_at(d, keys[i], "a key that is there already");
	return 0;
}

static int on_end(struct document *d)
{
	uint32_t index = d->open[--d->depth];

	d->nodes[index].end = (uint32_t)d->n_nodes;
	return d->nodes[index].kind == NODE_MAPPING ? check_mapping(d, index) : 0;
}

static int on_document(struct document *d, const yaml_event_t *event)
{
	if (d->complete)
		return error_set(d->err, ERROR_INVALID, "line %zu column %zu: a second document",
				 event->start_mark.line + 1, event->start_mark.column + 1);
	d->complete = true;
	return 0;
}

static int on_event(struct document *d, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return on_document(d, event);
	case YAML_SCALAR_EVENT:
		return on_scalar(d, event);
	case YAML_ALIAS_EVENT:
		return on_alias(d, event);
	case YAML_SEQUENCE_START_EVENT:
		return on_begin(d, event, NODE_SEQUENCE);
	case YAML_MAPPING_START_EVENT:
		return on_begin(d, event, NODE_MAPPING);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return on_end(d);
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return 0;
}

static int parser_failed(struct document *d)
{
	const yaml_parser_t *parser = &d->parser;

	if (parser->error == YAML_READER_ERROR)
		return error_set(d->err, ERROR_INVALID, "byte %zu: %s", parser->problem_offset,
				 parser->problem);
	return error_set(d->err, ERROR_INVALID, "line %zu column %zu: %s",
			 parser->problem_mark.line + 1, parser->problem_mark.column + 1,
			 parser->problem ? parser->problem : "not YAML");
}

static int read_nodes(struct document *d)
{
	yaml_event_type_t type = YAML_NO_EVENT;
	yaml_event_t event;

	while (type != YAML_STREAM_END_EVENT) {
		int rc;

		if (!yaml_parser_parse(&d->parser, &event))
			return parser_failed(d);
		type = event.type;
		rc = on_event(d, &event);
		yaml_event_delete(&event);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* --- second pass: JSON from nodes */

struct writer {
	const struct document *document;
	struct json_out out;
	size_t written; /* nodes */
};

static void write_scalar(struct json_out *out, const struct node *node)
{
	switch (node->class) {
	case SCALAR_STRING:
		json_out_string(out, NULL, node->text);
		return;
	case SCALAR_INT:
	case SCALAR_FLOAT:
		json_out_raw(out, NULL, STR(""));
		scalar_write_number(out->buf, node->text);
		return;
	case SCALAR_TRUE:
	case SCALAR_FALSE:
		json_out_bool(out, NULL, node->class == SCALAR_TRUE);
		return;
	case SCALAR_NULL:
	case SCALAR_NOT_FINITE:
		break;
	}
	json_out_null(out, NULL);
}

static int write_node(struct writer *w, uint32_t index);

static int write_children(struct writer *w, const struct node *node)
{
	const struct document *d = w->document;
	uint32_t at = (uint32_t)(node - d->nodes) + 1;

	for (; at < node->end; at = d->nodes[at].end) {
		if (node->kind == NODE_MAPPING) {
			w->written++;
			json_out_key(&w->out, meant(d, at)->text);
			at = d->nodes[at].end;
		}
		if (write_node(w, at) < 0)
			return -1;
	}
	return 0;
}

static int write_node(struct writer *w, uint32_t index)
{
	const struct document *d = w->document;
	const struct node *node = meant(d, index);

	if (++w->written > LIMIT_YAML_NODES)
		return error_set(d->err, ERROR_LIMIT, "more than %d nodes", LIMIT_YAML_NODES);
	if (node->kind == NODE_SCALAR) {
		write_scalar(&w->out, node);
		return 0;
	}
	if (w->out.depth == JSON_OUT_DEPTH)
		return error_set(d->err, ERROR_LIMIT, "nested deeper than %d", JSON_OUT_DEPTH);
	if (node->kind == NODE_MAPPING)
		json_out_object(&w->out, NULL);
	else
		json_out_array(&w->out, NULL);
	if (write_children(w, node) < 0)
		return -1;
	if (node->kind == NODE_MAPPING)
		json_out_end(&w->out);
	else
		json_out_end_array(&w->out);
	return 0;
}

static int write_json(const struct document *d, struct buf *ret_json)
{
	struct writer w = {.document = d};

	json_out_init(&w.out, ret_json);
	if (d->n_nodes == 0)
		json_out_null(&w.out, NULL);
	else if (write_node(&w, 0) < 0)
		return -1;
	if (ret_json->overflowed)
		return error_set(d->err, ERROR_LIMIT, "more than %zu bytes as JSON", ret_json->max);
	return 0;
}

static void document_clear(struct document *d)
{
	yaml_parser_delete(&d->parser);
	arena_clear(&d->arena);
	mem_free(d->nodes);
	mem_free(d->anchors);
	map_clear(&d->by_name);
}

DEFINE_CLEAR(struct document, document_clear)

int yaml_to_json(struct str yaml, struct buf *ret_json, struct error *err)
{
	struct document d CLEANUP(document_clear) = {.err = err};

	if (yaml.len > LIMIT_YAML_DOCUMENT)
		return error_set(err, ERROR_LIMIT, "longer than %d bytes", LIMIT_YAML_DOCUMENT);
	if (!yaml_parser_initialize(&d.parser))
		return error_set(err, ERROR_SYSTEM, "no memory for the YAML parser");
	hash_key_init(&d.key);
	arena_init(&d.arena, LIMIT_DECODE_ARENA);
	yaml_parser_set_encoding(&d.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&d.parser, (const unsigned char *)(yaml.data ? yaml.data : ""),
				     yaml.len);
	if (read_nodes(&d) < 0)
		return -1;
	return write_json(&d, ret_json);
}
