/* SPDX-License-Identifier: Apache-2.0 */
/* Pods and namespaces. */
#include "api/pack.h"
#include "api/pack_common.h"
#include "api/type.h"
#include "base/macros.h"
#include "model/resource.h"

struct pod_pack {
	struct pack pack;
	struct str seen[LIMIT_RESOURCES_PER_POD]; /* GPU resources that the pod names */
	size_t n_seen;
};

/* The pod's resource names are bounded, since the ledger keeps a charge for each. */
static int note_resource(struct pod_pack *pod, struct str resource)
{
	size_t i;

	for (i = 0; i < pod->n_seen; i++)
		if (str_equal(pod->seen[i], resource))
			return 0;
	if (pod->n_seen == ARRAY_SIZE(pod->seen))
		return error_set(pod->pack.err, ERROR_LIMIT, "names more than %d GPU resources",
				 LIMIT_RESOURCES_PER_POD);
	pod->seen[pod->n_seen++] = resource;
	return 0;
}

/* What is asked for 0 times, if at all, must not use up the room of what is: it may name anything.
 */
static int read_gpu(const struct wire_pair *pair, int64_t *ret_count, struct error *err)
{
	*ret_count = 0;
	return resource_is_gpu(pair->key) ? pack_count(pair->key, pair->value, ret_count, err) : 0;
}

static size_t count_gpus(const struct wire_list *pairs)
{
	size_t n = 0;
	int64_t count;

	wire_for_each(const struct wire_pair, pair, *pairs) {
		if (read_gpu(pair, &count, NULL) == 0 && count > 0)
			n++;
	}
	return n;
}

static int set_gpus(struct pod_pack *pod, const struct wire_list *pairs,
		    struct pack_amounts *amounts)
{
	wire_for_each(const struct wire_pair, pair, *pairs) {
		int64_t count;

		if (read_gpu(pair, &count, pod->pack.err) < 0)
			return -1;
		if (count == 0)
			continue;
		if (note_resource(pod, pair->key) < 0)
			return -1;
		pack_amounts_set(amounts, pair->key, count);
	}
	return 0;
}

/* What @over says, where it says something, else what @under says. */
static int pack_gpus(struct pod_pack *pod, const struct wire_list *under,
		     const struct wire_list *over, struct pack_amounts *ret_amounts)
{
	if (pack_amounts_init(ret_amounts, count_gpus(under) + count_gpus(over), &pod->pack) < 0 ||
	    set_gpus(pod, under, ret_amounts) < 0)
		return -1;
	return set_gpus(pod, over, ret_amounts);
}

static int pack_asks(struct pod_pack *pod, const struct pack_amounts *amounts,
		     const struct device_ask **ret_asks)
{
	struct device_ask *asks = arena_alloc(pod->pack.arena, amounts->len * sizeof(*asks));

	if (!asks)
		return pack_no_memory(&pod->pack);
	for (size_t i = 0; i < amounts->len; i++)
		asks[i] = device_ask_units(amounts->rows[i].resource, amounts->rows[i].count);
	*ret_asks = asks;
	return 0;
}

static int pack_container(struct pod_pack *pod, const struct wire_container *wire,
			  enum container_kind kind, struct container_facts *facts)
{
	struct pack_amounts amounts;

	if (pack_gpus(pod, &wire->resources.limits, &wire->resources.requests, &amounts) < 0)
		return error_wrap(pod->pack.err, "container %.*s", STR_ARGS(wire->name));
	*facts = (struct container_facts){.kind = kind, .n_asks = amounts.len};
	return pack_asks(pod, &amounts, &facts->asks);
}

static int pack_containers(struct pod_pack *pod, const struct wire_pod_spec *spec,
			   struct pod_facts *facts)
{
	size_t count = spec->init_containers.len + spec->containers.len;
	struct container_facts *next;

	if (count > LIMIT_CONTAINERS_PER_POD)
		return error_set(pod->pack.err, ERROR_LIMIT, "has more than %d containers",
				 LIMIT_CONTAINERS_PER_POD);
	next = arena_alloc(pod->pack.arena, count * sizeof(*next));
	if (!next)
		return pack_no_memory(&pod->pack);
	facts->containers = next;
	facts->n_containers = count;
	wire_for_each(const struct wire_container, init, spec->init_containers) {
		bool stays = str_equal(init->restart_policy, STR("Always"));

		if (pack_container(pod, init, stays ? CONTAINER_SIDECAR : CONTAINER_INIT, next++) <
		    0)
			return -1;
	}
	wire_for_each(const struct wire_container, container, spec->containers) {
		if (pack_container(pod, container, CONTAINER_NORMAL, next++) < 0)
			return -1;
	}
	return 0;
}

static int pack_overhead(struct pod_pack *pod, const struct wire_pod_spec *spec,
			 struct pod_facts *facts)
{
	static const struct wire_list none;
	struct pack_amounts amounts;

	if (pack_gpus(pod, &none, &spec->overhead, &amounts) < 0)
		return error_wrap(pod->pack.err, "overhead");
	facts->n_overhead = amounts.len;
	return pack_asks(pod, &amounts, &facts->overhead);
}

static enum pod_phase phase_of(struct str text)
{
	static const struct {
		const char *text;
		enum pod_phase phase;
	} phases[] = {
		{"Pending", POD_PENDING},
		{"Running", POD_RUNNING},
		{"Succeeded", POD_SUCCEEDED},
		{"Failed", POD_FAILED},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(phases); i++)
		if (str_equal(text, str_from(phases[i].text)))
			return phases[i].phase;
	return POD_PHASE_UNKNOWN;
}

/* The labels with which nodes say their product, as selectors of pods use them. */
static struct str wanted_product(const struct wire_list *selector)
{
	struct str product = STR_NONE;

	if (!wire_map_get(selector, STR("nvidia.com/gpu.product"), &product))
		wire_map_get(selector, STR("amd.com/gpu.product-name"), &product);
	return product;
}

/* Who controls it, and what tells a Deployment's ReplicaSet from another. */
static void pack_owner(const struct wire_meta *meta, struct pod_facts *facts)
{
	wire_for_each(const struct wire_owner, owner, meta->owners) {
		if (!owner->controller)
			continue;
		facts->owner_kind = owner->kind;
		facts->owner_name = owner->name;
	}
	wire_map_get(&meta->labels, STR("pod-template-hash"), &facts->template_hash);
}

static int check_pod(const struct wire_pod *wire, struct error *err)
{
	if (pack_check_meta(&wire->meta, err) < 0)
		return -1;
	if (wire->spec.node_name.len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "nodeName has more than %d bytes", LIMIT_NAME);
	if (wire->status.extended_claim.name.len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "resourceClaimName has more than %d bytes",
				 LIMIT_NAME);
	return 0;
}

int api_pack_pod(const struct wire_pod *wire, struct arena *arena, struct pod_facts *ret_facts,
		 struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct pod_pack pod = {.pack = {arena, err}};
	struct pod_facts facts = {
		.namespace = meta->namespace,
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.node = wire->spec.node_name,
		.product = wanted_product(&wire->spec.node_selector),
		.phase = phase_of(wire->status.phase),
		.terminating = wire_has(meta, WIRE_META_DELETION),
		.created_us = meta->creation_us,
		.deletion_us = wire_has(meta, WIRE_META_DELETION) ? meta->deletion_us : 0,
		.extended_claim = wire->status.extended_claim.name,
	};

	if (facts.product.len > LIMIT_NAME)
		facts.product = STR_NONE; /* no node has such a label */
	if (check_pod(wire, err) < 0 || pack_containers(&pod, &wire->spec, &facts) < 0 ||
	    pack_overhead(&pod, &wire->spec, &facts) < 0)
		return pack_locate(err, "Pod", meta);
	pack_owner(meta, &facts);
	*ret_facts = facts;
	return 0;
}
