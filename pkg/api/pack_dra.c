/* SPDX-License-Identifier: Apache-2.0 */
/* Claims and slices. */
#include "api/pack_dra.h"

#include "api/keys.h"
#include "api/pack.h"
#include "api/pack_common.h"
#include "api/quantity.h"
#include "base/limits.h"
#include "base/macros.h"

/* Whether @key is the name of an attribute or capacity, alone or in the domain of @driver. */
static bool is_named(struct str key, struct str driver, struct str name)
{
	struct str domain, rest;

	if (str_equal(key, name))
		return true;
	return str_split(key, '/', &domain, &rest) && str_equal(domain, driver) &&
	       str_equal(rest, name);
}

static int check_name(const char *what, struct str name, struct error *err)
{
	if (name.len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "the name of its %s has more than %d bytes",
				 what, LIMIT_NAME);
	return 0;
}

static int too_many(const char *what, int limit, struct error *err)
{
	return error_set(err, ERROR_LIMIT, "has more than %d %s", limit, what);
}

/* --- what a claim asks for */

/* 0 is what protobuf says of a count that was not given. */
static int read_count(const struct wire_device_request *wire, int64_t *ret_count, struct error *err)
{
	bool exact = str_empty(wire->mode) || str_equal(wire->mode, STR("ExactCount"));
	int64_t count = wire->count == 0 ? 1 : wire->count;

	if (count < 0)
		return error_set(err, ERROR_INVALID, "asks for %lld devices", (long long)count);
	*ret_count = exact ? count : MAX(count, LIMIT_CLAIM_DEVICES);
	return 0;
}

static int read_choice(const struct wire_device_request *wire, struct claim_choice *ret_choice,
		       struct error *err)
{
	if (check_name("device class", wire->class, err) < 0 ||
	    read_count(wire, &ret_choice->count, err) < 0)
		return -1;
	ret_choice->class = wire->class;
	return 0;
}

static int pack_request(const struct wire_claim_request *wire, const struct pack *pack,
			struct claim_request *request)
{
	bool exactly = wire_has(wire, WIRE_CLAIM_REQUEST_EXACTLY);
	size_t most = wire->first_available.len + 1;
	struct claim_choice *choices, *next;

	if (wire->first_available.len > LIMIT_CHOICES_PER_REQUEST)
		return too_many("choices in a request", LIMIT_CHOICES_PER_REQUEST, pack->err);
	choices = next = arena_alloc(pack->arena, most * sizeof(*choices));
	if (!choices)
		return pack_no_memory(pack);
	if (exactly && read_choice(&wire->exactly, next++, pack->err) < 0)
		return -1;
	wire_for_each(const struct wire_device_request, choice, wire->first_available) {
		if (read_choice(choice, next++, pack->err) < 0)
			return -1;
	}
	if (next == choices)
		*next++ = (struct claim_choice){STR_NONE, LIMIT_CLAIM_DEVICES};
	*request = (struct claim_request){
		.choices = choices,
		.n_choices = (size_t)(next - choices),
		.admin_access =
			exactly && wire->exactly.admin_access && wire->first_available.len == 0,
	};
	return 0;
}

static int pack_requests(const struct wire_list *wire, const struct pack *pack,
			 struct claim_facts *facts)
{
	struct claim_request *next;

	if (wire->len > LIMIT_REQUESTS_PER_CLAIM)
		return too_many("requests", LIMIT_REQUESTS_PER_CLAIM, pack->err);
	next = arena_alloc(pack->arena, wire->len * sizeof(*next));
	if (!next)
		return pack_no_memory(pack);
	facts->requests = next;
	facts->n_requests = wire->len;
	wire_for_each(const struct wire_claim_request, request, *wire) {
		if (pack_request(request, pack, next++) < 0)
			return error_wrap(pack->err, "request %.*s",
					  (int)MIN(request->name.len, (size_t)LIMIT_NAME),
					  request->name.data);
	}
	return 0;
}

/* Of all requests. A PCI root, and what hangs on it, is of one NUMA node. */
static bool keeps_to_one_numa(const struct wire_list *constraints)
{
	wire_for_each(const struct wire_claim_constraint, constraint, *constraints) {
		if (constraint->requests.len == 0 &&
		    (str_equal(constraint->attribute, STR("resource.kubernetes.io/pcieRoot")) ||
		     str_equal(constraint->attribute, STR("resource.kubernetes.io/numaNode"))))
			return true;
	}
	return false;
}

/* --- what it got */

/* The class of what answers "request", or "request/choice". */
static struct str class_of(const struct wire_list *requests, struct str answered)
{
	struct str name, choice_name;
	bool has_choice = str_split(answered, '/', &name, &choice_name);

	wire_for_each(const struct wire_claim_request, request, *requests) {
		if (!str_equal(request->name, name))
			continue;
		if (!has_choice)
			return request->exactly.class;
		wire_for_each(const struct wire_device_request, choice, request->first_available) {
			if (str_equal(choice->name, choice_name))
				return choice->class;
		}
	}
	return STR_NONE;
}

/* One that cannot be read, or is nothing, says nothing: the whole device counts then. */
static int64_t consumed_memory(const struct wire_claim_result *result)
{
	int64_t most = AMOUNT_NONE;

	wire_for_each(const struct wire_pair, pair, result->consumed) {
		int64_t bytes;

		if (!is_named(pair->key, result->driver, STR("memory")))
			continue;
		if (!quantity_parse(pair->value, &bytes) || bytes <= 0)
			return AMOUNT_NONE;
		most = MAX(most, bytes);
	}
	return most;
}

static int pack_result(const struct wire_claim_result *wire, const struct wire_list *requests,
		       struct claim_device *device, struct error *err)
{
	if (check_name("driver", wire->driver, err) < 0 ||
	    check_name("pool", wire->pool, err) < 0 || check_name("device", wire->device, err) < 0)
		return -1;
	*device = (struct claim_device){
		.driver = wire->driver,
		.pool = wire->pool,
		.device = wire->device,
		.class = class_of(requests, wire->request),
		.consumed_memory = consumed_memory(wire),
		.admin_access = wire->admin_access,
	};
	return 0;
}

static int pack_results(const struct wire_claim *wire, const struct pack *pack,
			struct claim_facts *facts)
{
	const struct wire_list *results = &wire->status.allocation.devices.results;
	const struct wire_list *requests = &wire->spec.devices.requests;
	struct claim_device *next;

	facts->allocated = wire_has(&wire->status, WIRE_CLAIM_STATUS_ALLOCATION) &&
			   (results->len > 0 || requests->len == 0);
	if (!facts->allocated)
		return 0;
	if (results->len > LIMIT_CLAIM_DEVICES)
		return too_many("allocated devices", LIMIT_CLAIM_DEVICES, pack->err);
	next = arena_alloc(pack->arena, results->len * sizeof(*next));
	if (!next)
		return pack_no_memory(pack);
	facts->devices = next;
	facts->n_devices = results->len;
	wire_for_each(const struct wire_claim_result, result, *results) {
		if (pack_result(result, requests, next++, pack->err) < 0)
			return error_wrap(pack->err, "allocation");
	}
	return 0;
}

/* --- whom it is for */

static int pack_pods(const struct wire_list *consumers, const struct pack *pack,
		     struct claim_facts *facts)
{
	struct claim_pod *pods;

	if (consumers->len > LIMIT_CLAIM_PODS)
		return too_many("users", LIMIT_CLAIM_PODS, pack->err);
	pods = arena_alloc(pack->arena, consumers->len * sizeof(*pods));
	if (!pods)
		return pack_no_memory(pack);
	facts->pods = pods;
	wire_for_each(const struct wire_claim_consumer, consumer, *consumers) {
		if (!str_empty(consumer->group) || !str_equal(consumer->resource, STR("pods")))
			continue;
		if (check_name("pod", consumer->name, pack->err) < 0 ||
		    check_name("pod", consumer->uid, pack->err) < 0)
			return error_wrap(pack->err, "reservedFor");
		pods[facts->n_pods++] = (struct claim_pod){consumer->name, consumer->uid};
	}
	return 0;
}

static int pack_owner(const struct wire_list *owners, struct claim_facts *facts, struct error *err)
{
	wire_for_each(const struct wire_owner, owner, *owners) {
		if (!owner->controller)
			continue;
		facts->owner_kind = owner->kind;
		facts->owner_name = owner->name;
		facts->owner_uid = owner->uid;
		break;
	}
	if (check_name("owner", facts->owner_kind, err) < 0 ||
	    check_name("owner", facts->owner_name, err) < 0)
		return -1;
	return check_name("owner", facts->owner_uid, err);
}

static struct claim_facts identity_of(const struct wire_meta *meta)
{
	return (struct claim_facts){
		.namespace = meta->namespace,
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.created_us = meta->creation_us,
		.terminating = wire_has(meta, WIRE_META_DELETION),
	};
}

int api_pack_claim(const struct wire_claim *wire, struct arena *arena,
		   struct claim_facts *ret_facts, struct error *err)
{
	const struct str extended = STR(KEY_EXTENDED_CLAIM);
	const struct wire_meta *meta = &wire->meta;
	struct pack pack = {arena, err};
	struct str says = STR_NONE;
	struct claim_facts facts = identity_of(meta);

	wire_map_get(&meta->annotations, extended, &says);
	facts.says_extended = str_equal(says, STR("true"));
	facts.numa_together = keeps_to_one_numa(&wire->spec.devices.constraints);
	if (pack_check_meta(meta, err) < 0 || pack_owner(&meta->owners, &facts, err) < 0 ||
	    pack_requests(&wire->spec.devices.requests, &pack, &facts) < 0 ||
	    pack_results(wire, &pack, &facts) < 0 ||
	    pack_pods(&wire->status.reserved_for, &pack, &facts) < 0)
		return pack_locate(err, "ResourceClaim", meta);
	*ret_facts = facts;
	return 0;
}

int api_pack_claim_outline(const struct wire_object *wire, struct claim_facts *ret_facts,
			   struct error *err)
{
	static const struct claim_choice unknown = {.count = LIMIT_CLAIM_DEVICES};
	static const struct claim_request request = {.choices = &unknown, .n_choices = 1};
	struct claim_facts facts = identity_of(&wire->meta);

	if (pack_check_meta(&wire->meta, err) < 0)
		return pack_locate(err, "ResourceClaim", &wire->meta);
	facts.requests = &request;
	facts.n_requests = 1;
	*ret_facts = facts;
	return 0;
}

/* --- slices */

/* From the end: where a key occurs twice the last one counts. */
static struct str attribute(const struct wire_device *device, struct str driver, struct str name)
{
	const struct wire_device_attribute *attributes = device->attributes.items;

	for (size_t i = device->attributes.len; i > 0; i--)
		if (is_named(attributes[i - 1].key, driver, name))
			return attributes[i - 1].value.string;
	return STR_NONE;
}

static int64_t memory_of(const struct wire_device *device, struct str driver)
{
	int64_t most = device_driver_is_gpu(driver) ? AMOUNT_UNKNOWN : AMOUNT_NONE;

	wire_for_each(const struct wire_device_capacity, capacity, device->capacity) {
		int64_t bytes;

		if (!is_named(capacity->key, driver, STR("memory")))
			continue;
		if (!quantity_parse(capacity->value.quantity, &bytes) || bytes <= 0)
			return AMOUNT_UNKNOWN;
		most = MAX(most, bytes);
	}
	return most;
}

static int product_of(const struct wire_device *device, struct str driver, const struct pack *pack,
		      struct str *ret_product)
{
	struct str name = attribute(device, driver, STR("productName"));
	char *copy;

	if (str_empty(name))
		name = attribute(device, driver, STR("model"));
	if (name.len > LIMIT_NAME)
		name = STR_NONE;
	*ret_product = name;
	if (str_empty(name) || !memchr(name.data, ' ', name.len))
		return 0;
	copy = arena_strndup(pack->arena, name.data, name.len);
	if (!copy)
		return pack_no_memory(pack);
	for (size_t i = 0; i < name.len; i++)
		if (copy[i] == ' ')
			copy[i] = '-';
	ret_product->data = copy;
	return 0;
}

/* Of a partition that of its card. One that is too long to be one says nothing. */
static void pack_card(const struct wire_device *wire, struct str driver,
		      struct slice_device *device)
{
	struct str card = attribute(wire, driver, STR("parentUUID"));
	struct str address = attribute(wire, STR("resource.kubernetes.io"), STR("pciBusID"));

	if (str_empty(card))
		card = attribute(wire, driver, STR("uuid"));
	if (str_empty(address))
		address = attribute(wire, driver, STR("pciAddr"));
	device->card = card.len <= LIMIT_LAYOUT_TEXT ? card : STR_NONE;
	device->address = address.len <= LIMIT_LAYOUT_TEXT ? address : STR_NONE;
}

static int pack_device(const struct wire_device *wire, const struct slice_facts *slice,
		       const struct pack *pack, struct slice_device *device)
{
	if (check_name("device", wire->name, pack->err) < 0 ||
	    check_name("node", wire->node_name, pack->err) < 0)
		return -1;
	*device = (struct slice_device){
		.name = wire->name,
		.type = attribute(wire, slice->driver, STR("type")),
		.node = str_empty(wire->node_name) ? slice->node : wire->node_name,
		.memory = memory_of(wire, slice->driver),
		.counted = wire->consumes.len > 0,
		.shared = wire->shared,
	};
	if (device->type.len > LIMIT_NAME)
		device->type = STR_NONE; /* then it may be of any class */
	pack_card(wire, slice->driver, device);
	return product_of(wire, slice->driver, pack, &device->product);
}

static int pack_devices(const struct wire_list *wire, const struct pack *pack,
			struct slice_facts *facts)
{
	struct slice_device *next;

	if (wire->len > LIMIT_DEVICES_PER_SLICE)
		return too_many("devices", LIMIT_DEVICES_PER_SLICE, pack->err);
	next = arena_alloc(pack->arena, wire->len * sizeof(*next));
	if (!next)
		return pack_no_memory(pack);
	facts->devices = next;
	facts->n_devices = wire->len;
	wire_for_each(const struct wire_device, device, *wire) {
		if (pack_device(device, facts, pack, next++) < 0)
			return -1;
	}
	return 0;
}

static int check_pool(const struct slice_facts *facts, struct error *err)
{
	if (str_empty(facts->driver) || str_empty(facts->pool))
		return error_set(err, ERROR_INVALID, "has no driver or no pool");
	if (facts->generation < 0 || facts->slice_count < 1)
		return error_set(err, ERROR_INVALID, "its pool has no generation or no slices");
	if (check_name("driver", facts->driver, err) < 0 ||
	    check_name("pool", facts->pool, err) < 0)
		return -1;
	return check_name("node", facts->node, err);
}

int api_pack_slice(const struct wire_slice *wire, struct arena *arena,
		   struct slice_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct pack pack = {arena, err};
	struct slice_facts facts = {
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.driver = wire->spec.driver,
		.pool = wire->spec.pool.name,
		.generation = wire->spec.pool.generation,
		.slice_count = wire->spec.pool.slice_count,
		.node = wire->spec.node_name,
	};

	if (pack_check_meta(meta, err) < 0 || check_pool(&facts, err) < 0 ||
	    pack_devices(&wire->spec.devices, &pack, &facts) < 0)
		return pack_locate(err, "ResourceSlice", meta);
	*ret_facts = facts;
	return 0;
}
