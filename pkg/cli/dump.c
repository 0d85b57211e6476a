/* SPDX-License-Identifier: Apache-2.0 */
/* The list is cut into objects, each of which is decoded through a table of the few fields here. */
#include "cli/dump.h"

#include "api/quantity.h"
#include "base/buf.h"
#include "base/checked.h"
#include "codec/frame.h"
#include "codec/json.h"
#include "codec/yaml.h"

#define PRODUCT_LABEL "nvidia.com/gpu.product"

static const struct str card_names[] = {{"nvidia.com/gpu", 14}, {"amd.com/gpu", 11}};
static const struct str product_keys[] = {{PRODUCT_LABEL, sizeof(PRODUCT_LABEL) - 1}};
static const struct field_keys products = {product_keys, 1};

/* --- what is read */

struct wire_meta_part {
	uint64_t present;
	struct str name;
	struct wire_list labels; /* struct wire_pair */
};

struct wire_node_part {
	uint64_t present;
	struct wire_list allocatable; /* struct wire_pair */
};

struct wire_resources_part {
	uint64_t present;
	struct wire_list requests, limits; /* struct wire_pair */
};

struct wire_container_part {
	uint64_t present;
	struct wire_resources_part resources;
	struct str restart_policy;
};

struct wire_spec_part {
	uint64_t present;
	struct wire_list selector;         /* struct wire_pair */
	struct wire_list containers, init; /* struct wire_container_part */
};

struct wire_object {
	uint64_t present;
	struct str kind;
	struct wire_meta_part metadata;
	struct wire_spec_part spec;
	struct wire_node_part status;
};

static const struct field meta_fields[] = {
	FIELD(struct wire_meta_part, name, "name", 1, FIELD_STRING),
	FIELD_MAP_OF(struct wire_meta_part, labels, "labels", 11, &products),
};
static const struct schema meta = SCHEMA("ObjectMeta", struct wire_meta_part, meta_fields);

static const struct field status_fields[] = {
	FIELD(struct wire_node_part, allocatable, "allocatable", 2, FIELD_QUANTITIES),
};
static const struct schema node_status = SCHEMA("Status", struct wire_node_part, status_fields);

static const struct field resources_fields[] = {
	FIELD(struct wire_resources_part, limits, "limits", 1, FIELD_QUANTITIES),
	FIELD(struct wire_resources_part, requests, "requests", 2, FIELD_QUANTITIES),
};
static const struct schema resources =
	SCHEMA("Resources", struct wire_resources_part, resources_fields);

static const struct field container_fields[] = {
	FIELD_SUB(struct wire_container_part, resources, "resources", 8, FIELD_MESSAGE, &resources),
	FIELD(struct wire_container_part, restart_policy, "restartPolicy", 24, FIELD_STRING),
};
static const struct schema container =
	SCHEMA("Container", struct wire_container_part, container_fields);

static const struct field spec_fields[] = {
	FIELD_SUB(struct wire_spec_part, containers, "containers", 2, FIELD_MESSAGES, &container),
	FIELD_MAP_OF(struct wire_spec_part, selector, "nodeSelector", 7, &products),
	FIELD_SUB(struct wire_spec_part, init, "initContainers", 20, FIELD_MESSAGES, &container),
};
static const struct schema spec = SCHEMA("Spec", struct wire_spec_part, spec_fields);

static const struct field object_fields[] = {
	FIELD_SUB(struct wire_object, metadata, "metadata", 1, FIELD_MESSAGE, &meta),
	FIELD_SUB(struct wire_object, spec, "spec", 2, FIELD_MESSAGE, &spec),
	FIELD_SUB(struct wire_object, status, "status", 3, FIELD_MESSAGE, &node_status),
	FIELD(struct wire_object, kind, "kind", 4, FIELD_STRING),
};
static const struct schema object_schema = SCHEMA("object", struct wire_object, object_fields);

/* --- amounts */

/* What a list of resources has of CPU, memory and cards. */
struct amounts {
	int64_t cpu_milli, memory, cards;
};

/* Quantities are read as integers: of "0.5" the thousandfold is "0.5k", of "500m" 500. */
static bool read_milli(struct str text, int64_t *ret_milli)
{
	char scaled[QUANTITY_TEXT_MAX + 1];
	int64_t value;

	if (str_ends_with(text, STR("m")))
		return quantity_parse((struct str){text.data, text.len - 1}, ret_milli);
	if (!str_empty(text) && text.len < sizeof(scaled) && text.data[text.len - 1] >= '0' &&
	    text.data[text.len - 1] <= '9') {
		memcpy(scaled, text.data, text.len);
		scaled[text.len] = 'k';
		return quantity_parse((struct str){scaled, text.len + 1}, ret_milli);
	}
	return quantity_parse(text, &value) && !__builtin_mul_overflow(value, 1000, ret_milli);
}

static bool is_card(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(card_names); i++)
		if (str_equal(name, card_names[i]))
			return true;
	return false;
}

static int read_amount(const struct wire_pair *pair, struct amounts *amounts, struct error *err)
{
	int64_t *to = NULL;
	bool read = true;

	if (str_equal(pair->key, STR("cpu")))
		read = read_milli(pair->value, to = &amounts->cpu_milli);
	else if (str_equal(pair->key, STR("memory")))
		read = quantity_parse(pair->value, to = &amounts->memory);
	else if (is_card(pair->key))
		read = quantity_parse(pair->value, to = &amounts->cards);
	if (!read || (to && *to < 0))
		return error_set(err, ERROR_INVALID, "%.*s is \"%.*s\"", STR_ARGS(pair->key),
				 STR_ARGS(pair->value));
	if (to == &amounts->cards && *to > LIMIT_LAYOUT_GPUS)
		return error_set(err, ERROR_LIMIT, "more than %d of %.*s", LIMIT_LAYOUT_GPUS,
				 STR_ARGS(pair->key));
	return 0;
}

static int read_amounts(const struct wire_list *list, struct amounts *amounts, struct error *err)
{
	wire_for_each(struct wire_pair, pair, *list)
		if (read_amount(pair, amounts, err) < 0)
			return -1;
	return 0;
}

/* A limit stands for a request that is not there. */
static int read_container(const struct wire_container_part *part, struct amounts *ret_amounts,
			  struct error *err)
{
	*ret_amounts = (struct amounts){0};
	if (read_amounts(&part->resources.limits, ret_amounts, err) < 0)
		return -1;
	return read_amounts(&part->resources.requests, ret_amounts, err);
}

static struct amounts add(const struct amounts *a, const struct amounts *b)
{
	return (struct amounts){saturating_add(a->cpu_milli, b->cpu_milli),
				saturating_add(a->memory, b->memory),
				saturating_add(a->cards, b->cards)};
}

static void raise_to(struct amounts *amounts, const struct amounts *least)
{
	amounts->cpu_milli = MAX(amounts->cpu_milli, least->cpu_milli);
	amounts->memory = MAX(amounts->memory, least->memory);
	amounts->cards = MAX(amounts->cards, least->cards);
}

/* Kubernetes' formula, as quota/charge.h has it: sidecars run beside all that starts after them. */
static int read_pod(const struct wire_spec_part *pod, struct amounts *ret_amounts,
		    struct error *err)
{
	struct amounts sidecars = {0}, starting = {0}, one, sum;

	wire_for_each(struct wire_container_part, part, pod->init) {
		if (read_container(part, &one, err) < 0)
			return -1;
		sum = add(&sidecars, &one);
		if (str_equal(part->restart_policy, STR("Always")))
			sidecars = sum;
		raise_to(&starting, &sum);
	}
	sum = sidecars;
	wire_for_each(struct wire_container_part, part, pod->containers) {
		if (read_container(part, &one, err) < 0)
			return -1;
		sum = add(&sum, &one);
	}
	raise_to(&sum, &starting);
	*ret_amounts = sum;
	return 0;
}

/* --- objects */

static int read_product(struct sim_input *input, const struct wire_list *map, uint64_t *ret_bit,
			struct error *err)
{
	struct str name = STR("");

	(void)wire_map_get(map, STR(PRODUCT_LABEL), &name);
	return sim_input_product(input, name, ret_bit, err);
}

static int add_node(struct sim_input *input, const struct wire_object *object, struct error *err)
{
	struct frag_node gpu = {0};
	struct amounts amounts = {0};

	if (object->status.allocatable.len == 0)
		return error_set(err, ERROR_INVALID, "nothing is allocatable");
	if (read_amounts(&object->status.allocatable, &amounts, err) < 0 ||
	    read_product(input, &object->metadata.labels, &gpu.product, err) < 0)
		return -1;
	gpu.cpu_milli = amounts.cpu_milli;
	gpu.cards = (uint32_t)amounts.cards;
	for (uint32_t i = 0; i < gpu.cards; i++)
		gpu.left[i] = FRAG_WHOLE;
	return sim_input_add_node(input, object->metadata.name, &gpu, amounts.memory, err);
}

static int add_pod(struct sim_input *input, const struct wire_object *object, struct error *err)
{
	struct frag_ask ask = {0};
	struct amounts amounts;

	if (object->spec.containers.len == 0)
		return error_set(err, ERROR_INVALID, "it has no containers");
	if (read_pod(&object->spec, &amounts, err) < 0)
		return -1;
	if (amounts.cards > LIMIT_LAYOUT_GPUS)
		return error_set(err, ERROR_LIMIT, "more than %d GPUs", LIMIT_LAYOUT_GPUS);
	ask.cpu_milli = amounts.cpu_milli;
	if (amounts.cards > 0) {
		ask.gpus = (uint32_t)amounts.cards;
		ask.gpu_milli = FRAG_WHOLE;
		if (read_product(input, &object->spec.selector, &ask.products, err) < 0)
			return -1;
	}
	return sim_input_add_pod(input, &ask, amounts.memory, err);
}

typedef int add_fn(struct sim_input *, const struct wire_object *, struct error *);

struct reader {
	struct sim_input *input;
	struct str kind;
	add_fn *add;
	struct arena arena;
};

static int read_item(void *context, enum frame_part part, struct str bytes, struct error *err)
{
	struct reader *r = context;
	struct wire_object object;

	if (part != FRAME_OBJECT)
		return 0;
	arena_reset(&r->arena);
	if (json_decode(&object_schema, bytes, &r->arena, &object, err) < 0)
		return -1;
	if (!str_empty(object.kind) && !str_equal(object.kind, r->kind))
		return error_set(err, ERROR_INVALID, "a %.*s among what should be %.*ss",
				 STR_ARGS(object.kind), STR_ARGS(r->kind));
	if (r->add(r->input, &object, err) < 0)
		return error_wrap(err, "%.*s %.*s", STR_ARGS(r->kind),
				  STR_ARGS(object.metadata.name));
	return 0;
}

static int read_list(struct reader *r, struct str json, struct error *err)
{
	struct framer *framer CLEANUP(framer_free) = framer_new(FRAME_JSON_LIST);

	if (framer_feed(framer, json, read_item, r, err) < 0)
		return -1;
	return framer_end(framer, err);
}

static bool is_json(struct str text)
{
	size_t i = 0;

	while (i < text.len && strchr(" \t\r\n", text.data[i]))
		i++;
	return i < text.len && text.data[i] == '{';
}

static int add_list(struct reader *r, struct str text, const char *origin, struct error *err)
{
	CLEANUP(buf_clear) struct buf json;
	int status;

	buf_init(&json, DUMP_FILE);
	arena_init(&r->arena, LIMIT_DECODE_ARENA);
	if (is_json(text))
		status = read_list(r, text, err);
	else if ((status = yaml_to_json(text, &json, err)) == 0)
		status = read_list(r, buf_str(&json), err);
	arena_clear(&r->arena);
	return status < 0 ? error_wrap(err, "%s", origin) : 0;
}

int dump_add_nodes(struct sim_input *input, struct str text, const char *origin, struct error *err)
{
	struct reader r = {.input = input, .kind = STR("Node"), .add = add_node};

	return add_list(&r, text, origin, err);
}

int dump_add_pods(struct sim_input *input, struct str text, const char *origin, struct error *err)
{
	struct reader r = {.input = input, .kind = STR("Pod"), .add = add_pod};

	return add_list(&r, text, origin, err);
}
