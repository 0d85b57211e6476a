/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods. A container's amounts of GPUs are handed from source to source; what none of
 * them takes is asked for as it is called. Then annotations have their say on the whole pod.
 */
#include "api/keys.h"
#include "api/pack.h"
#include "api/pack_common.h"
#include "api/pack_crashes.h"
#include "api/pack_demand.h"
#include "api/pack_exit.h"
#include "api/pack_mounts.h"
#include "api/pack_terms.h"
#include "api/quantity.h"
#include "api/source_common.h"
#include "api/type.h"
#include "base/checked.h"
#include "base/macros.h"

struct pod_pack {
	struct pack pack;
	const struct source_table *table;
	struct source_pod sources;
};

/* What a container, or the pod's overhead, says: where both say something, @over counts. */
struct wishes {
	const struct wire_list *under, *over;
};

/* A name in some source's way of asking that this source does not read. */
static bool is_beside(struct str resource)
{
	for (size_t i = 0; i < n_sources; i++)
		if (sources[i]->speaks && sources[i]->speaks(resource))
			return !sources[i]->reads(resource);
	return false;
}

static bool is_counted(const struct pod_pack *pod, struct str resource)
{
	return source_is_gpu(pod->table, resource) && !is_beside(resource);
}

/* 0: none, or no GPU. AMOUNT_UNKNOWN: a number that is none, or too large for what we count in. */
static int64_t read_gpu(const struct pod_pack *pod, const struct wire_pair *pair)
{
	int64_t count;

	if (!is_counted(pod, pair->key))
		return 0;
	return pack_count(pair->key, pair->value, &count, NULL) < 0 ? AMOUNT_UNKNOWN : count;
}

/* What is asked for 0 times must not use up the room of what is: it may name anything. */
static size_t count_gpus(const struct pod_pack *pod, const struct wire_list *pairs)
{
	size_t n = 0;

	wire_for_each(const struct wire_pair, pair, *pairs)
		n += read_gpu(pod, pair) > 0;
	return n;
}

static void set_gpus(const struct pod_pack *pod, const struct wire_list *pairs,
		     struct source_request *request)
{
	wire_for_each(const struct wire_pair, pair, *pairs) {
		int64_t count = read_gpu(pod, pair);

		if (count == AMOUNT_UNKNOWN)
			count = 1;
		else if (count == 0 || pack_amounts_set(&request->amounts, pair->key, count))
			continue;
		request->beyond = saturating_add(request->beyond, count);
	}
}

static bool speaks_of(const struct source *source, const struct wire_list *pairs)
{
	wire_for_each(const struct wire_pair, pair, *pairs) {
		if (source->speaks(pair->key))
			return true;
	}
	return false;
}

static void ask_sources(const struct wishes *wishes, struct source_request *request)
{
	for (size_t i = 0; i < n_sources; i++)
		if (sources[i]->speaks &&
		    (speaks_of(sources[i], wishes->under) || speaks_of(sources[i], wishes->over)))
			sources[i]->ask(request);
	for (size_t i = 0; i < request->amounts.len; i++)
		source_ask(&request->asks, device_ask_units(request->amounts.rows[i].resource,
							    request->amounts.rows[i].count));
	source_ask(&request->asks, device_ask_units(STR(DEVICE_UNREADABLE), request->beyond));
}

/* No name without a domain is a GPU: most containers ask for cpu and memory alone. */
static bool has_domains(const struct wire_list *pairs)
{
	wire_for_each(const struct wire_pair, pair, *pairs) {
		if (!str_empty(pair->key) && memchr(pair->key.data, '/', pair->key.len))
			return true;
	}
	return false;
}

static int pack_asks(struct pod_pack *pod, const struct wishes *wishes,
		     struct source_asks *ret_asks)
{
	size_t most = count_gpus(pod, wishes->under) + count_gpus(pod, wishes->over);
	struct source_request request = {0};

	most = MIN(most, (size_t)LIMIT_RESOURCES_PER_POD);
	if (pack_amounts_init(&request.amounts, most, &pod->pack) < 0)
		return -1;
	set_gpus(pod, wishes->under, &request);
	set_gpus(pod, wishes->over, &request);
	if (source_asks_init(&request.asks, request.amounts.len + SOURCE_ASKS_MORE, &pod->pack) < 0)
		return -1;
	ask_sources(wishes, &request);
	*ret_asks = request.asks;
	return 0;
}

static int pack_container(struct pod_pack *pod, const struct wire_container *wire,
			  struct source_asks *ret_asks)
{
	const struct wishes wishes = {&wire->resources.limits, &wire->resources.requests};

	if (!has_domains(wishes.under) && !has_domains(wishes.over))
		return 0;
	if (pack_asks(pod, &wishes, ret_asks) < 0)
		return error_wrap(pod->pack.err, "container %.*s", STR_ARGS(wire->name));
	return 0;
}

/* One of all containers, init containers first. */
static const struct wire_container *nth_container(const struct wire_pod_spec *spec, size_t n)
{
	const struct wire_container *init = spec->init_containers.items;
	const struct wire_container *normal = spec->containers.items;

	return n < spec->init_containers.len ? &init[n] : &normal[n - spec->init_containers.len];
}

static int pack_containers(struct pod_pack *pod, const struct wire_pod_spec *spec)
{
	size_t count = spec->init_containers.len + spec->containers.len;
	struct source_asks *containers;

	containers = arena_alloc(pod->pack.arena, count * sizeof(*containers));
	if (!containers)
		return pack_no_memory(&pod->pack);
	for (size_t i = 0; i < count; i++)
		if (pack_container(pod, nth_container(spec, i), &containers[i]) < 0)
			return -1;
	pod->sources.containers = containers;
	pod->sources.n_containers = count;
	return 0;
}

static int pack_own(struct pod_pack *pod, const struct wire_pod_spec *spec)
{
	static const struct wire_list none;
	const struct wishes wishes = {&none, &spec->overhead};

	if (pack_asks(pod, &wishes, &pod->sources.own) < 0)
		return error_wrap(pod->pack.err, "overhead");
	for (size_t i = 0; i < n_sources; i++)
		if (sources[i]->annotations)
			sources[i]->annotations(&pod->sources);
	return 0;
}

static enum container_kind kind_of(const struct wire_pod_spec *spec, size_t n)
{
	if (n >= spec->init_containers.len)
		return CONTAINER_NORMAL;
	return str_equal(nth_container(spec, n)->restart_policy, STR("Always")) ? CONTAINER_SIDECAR
										: CONTAINER_INIT;
}

static int set_facts(const struct pod_pack *pod, const struct wire_pod_spec *spec,
		     struct pod_facts *facts)
{
	const struct source_pod *from = &pod->sources;
	struct container_facts *containers =
		arena_alloc(pod->pack.arena, from->n_containers * sizeof(*containers));

	if (!containers)
		return pack_no_memory(&pod->pack);
	for (size_t i = 0; i < from->n_containers; i++)
		containers[i] = (struct container_facts){kind_of(spec, i), from->containers[i].asks,
							 from->containers[i].len};
	facts->containers = containers;
	facts->n_containers = from->n_containers;
	facts->own = from->own.asks;
	facts->n_own = from->own.len;
	facts->annotated = from->annotated;
	return 0;
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

	if (!wire_map_get(selector, STR(KEY_NVIDIA_PRODUCT), &product))
		wire_map_get(selector, STR(KEY_AMD_PRODUCT), &product);
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
	wire_map_get(&meta->labels, STR(KEY_TEMPLATE_HASH), &facts->template_hash);
}

/* --- what kubelet's managers read, and what they did */

/* Quantities come in their canonical form: a fraction has a suffix, or a point. */
static bool is_whole(struct str quantity)
{
	int64_t value;

	for (size_t i = 0; i < quantity.len; i++)
		if (strchr(".numeE", quantity.data[i]))
			return false;
	return quantity_parse(quantity, &value) && value > 0;
}

/* The CPUs of a container that asks for whole ones; 0. */
static uint32_t whole_cpus_of(const struct wire_resources *resources)
{
	struct str cpus = STR_NONE;
	int64_t n;

	if (!wire_map_get(&resources->requests, STR("cpu"), &cpus))
		wire_map_get(&resources->limits, STR("cpu"), &cpus);
	return is_whole(cpus) && quantity_parse(cpus, &n)
		       ? (uint32_t)MIN(n, (int64_t)LIMIT_LAYOUT_CPUS)
		       : 0;
}

/* What a Guaranteed pod has for itself at a time: sidecars stay beside init containers, which come
 * before the others. */
static void pack_cpus(const struct pod_pack *pod, const struct wire_pod_spec *spec,
		      struct pod_alignment *alignment)
{
	uint32_t together = 0, before = 0, sidecars = 0;
	size_t n = 0;
	bool init = false;

	for (size_t i = 0; i < pod->sources.n_containers; i++) {
		uint32_t cpus = whole_cpus_of(&nth_container(spec, i)->resources);

		if (kind_of(spec, i) == CONTAINER_INIT) {
			before = MAX(before, cpus + sidecars);
			init |= cpus > 0 || pod->sources.containers[i].len > 0;
		} else {
			together += cpus;
		}
		if (kind_of(spec, i) == CONTAINER_SIDECAR)
			sidecars += cpus;
		n += cpus > 0;
	}
	alignment->cpus = MAX(together, before);
	alignment->cpus_together = n == 1;
	alignment->takes_over = init && n > 0 && pod->sources.n_containers > 1;
}

/* Of the containers that ask for devices. */
static bool asks_whole_cpus(const struct pod_pack *pod, const struct wire_pod_spec *spec)
{
	for (size_t i = 0; i < pod->sources.n_containers; i++) {
		if (pod->sources.containers[i].len == 0)
			continue;
		if (whole_cpus_of(&nth_container(spec, i)->resources) == 0)
			return false;
	}
	return true;
}

static bool read_policy(struct str text, enum topology_policy *ret_policy)
{
	for (int i = TOPOLOGY_NONE; i <= TOPOLOGY_REQUIRED; i++)
		if (str_equal(text, str_from(topology_policy_text((enum topology_policy)i)))) {
			*ret_policy = (enum topology_policy)i;
			return true;
		}
	return false;
}

static bool read_scope(struct str text, enum layout_scope *ret_scope)
{
	for (int i = LAYOUT_NUMA; i <= LAYOUT_NVLINK; i++)
		if (str_equal(text, str_from(layout_scope_text((enum layout_scope)i)))) {
			*ret_scope = (enum layout_scope)i;
			return true;
		}
	return false;
}

/* What an annotation says that has no such value is not asked for: admission refuses it. */
static void pack_wish(const struct wire_list *annotations, struct pod_alignment *alignment)
{
	enum topology_policy policy = alignment->policy;
	enum layout_scope scope = alignment->scope;
	struct str text;

	alignment->wished = wire_map_get(annotations, STR(KEY_TOPOLOGY_POLICY), &text) &&
			    read_policy(text, &policy);
	alignment->scoped = wire_map_get(annotations, STR(KEY_TOPOLOGY_SCOPE), &text) &&
			    read_scope(text, &scope);
	alignment->policy = policy;
	alignment->scope = scope;
}

/* What is no amount declares nothing. */
static int64_t declared_pcie(const struct wire_list *annotations)
{
	struct str text;
	int64_t bytes;

	if (!wire_map_get(annotations, STR(KEY_PCIE), &text) || !quantity_parse(text, &bytes))
		return 0;
	return MAX(bytes, (int64_t)0);
}

/* "GPU-7f2c::3" is a replica of GPU-7f2c. */
static struct str device_of(struct str id)
{
	for (size_t i = 0; i + 1 < id.len; i++)
		if (id.data[i] == ':' && id.data[i + 1] == ':')
			return (struct str){id.data, i};
	return id;
}

/* Of all resources: those that are no cards are in no layout. */
static size_t pack_device_ids(const struct pod_pack *pod, const struct wire_list *statuses,
			      struct str *ids, size_t n)
{
	wire_for_each(const struct wire_container_status, status, *statuses) {
		wire_for_each(const struct wire_resource_status, resource, status->allocated) {
			if (!source_is_gpu(pod->table, resource->name))
				continue;
			wire_for_each(const struct wire_resource_health, device,
				      resource->resources) {
				if (n == LIMIT_LAYOUT_GPUS)
					return n;
				ids[n++] = device_of(device->id);
			}
		}
	}
	return n;
}

static int pack_alignment(const struct pod_pack *pod, const struct wire_pod *wire,
			  struct pod_facts *facts)
{
	struct str *ids = arena_alloc(pod->pack.arena, LIMIT_LAYOUT_GPUS * sizeof(*ids));

	if (!ids)
		return pack_no_memory(&pod->pack);
	facts->alignment.guaranteed = str_equal(wire->status.qos_class, STR("Guaranteed"));
	facts->alignment.whole_cpus = asks_whole_cpus(pod, &wire->spec);
	if (facts->alignment.guaranteed)
		pack_cpus(pod, &wire->spec, &facts->alignment);
	pack_wish(&wire->meta.annotations, &facts->alignment);
	facts->pcie = declared_pcie(&wire->meta.annotations);
	facts->device_ids = ids;
	facts->n_device_ids = pack_device_ids(pod, &wire->status.init_containers, ids, 0);
	facts->n_device_ids =
		pack_device_ids(pod, &wire->status.containers, ids, facts->n_device_ids);
	return 0;
}

/* What a template became; false where nothing had to be made of it. */
static bool claim_made(const struct wire_pod *wire, struct str name, struct str *ret_claim)
{
	*ret_claim = STR_NONE;
	wire_for_each(const struct wire_pod_claim_status, status, wire->status.claims) {
		if (!str_equal(status->name, name))
			continue;
		*ret_claim = status->claim;
		return wire_has(status, WIRE_POD_CLAIM_STATUS_CLAIM);
	}
	return true;
}

static int pack_claims(const struct pod_pack *pod, const struct wire_pod *wire,
		       struct pod_facts *facts)
{
	struct str *claims;

	if (wire->spec.claims.len > LIMIT_CLAIMS_PER_POD)
		return error_set(pod->pack.err, ERROR_LIMIT, "names more than %d claims",
				 LIMIT_CLAIMS_PER_POD);
	claims = arena_alloc(pod->pack.arena, wire->spec.claims.len * sizeof(*claims));
	if (!claims)
		return pack_no_memory(&pod->pack);
	facts->claims = claims;
	wire_for_each(const struct wire_pod_claim, named, wire->spec.claims) {
		struct str claim = named->claim;

		if (str_empty(claim) && !claim_made(wire, named->name, &claim))
			continue;
		if (claim.len > LIMIT_NAME)
			return error_set(pod->pack.err, ERROR_LIMIT,
					 "the name of a claim has more than %d bytes", LIMIT_NAME);
		claims[facts->n_claims++] = claim;
	}
	return 0;
}

/* --- what kube-scheduler compares with nodes */

static bool asks_for_gpus(const struct pod_facts *facts)
{
	bool asks = facts->n_own > 0 || facts->n_claims > 0;

	for (size_t i = 0; i < facts->n_containers && !asks; i++)
		asks = facts->containers[i].n_asks > 0;
	return asks;
}

/* Neither a GPU nor what goes with one. */
static bool is_uncounted(const struct pod_pack *pod, const struct wire_pair *pair)
{
	int64_t count;

	if (str_empty(pair->key) || source_is_gpu(pod->table, pair->key) || is_beside(pair->key) ||
	    (quantity_parse(pair->value, &count) && count == 0))
		return false;
	return str_starts_with(pair->key, STR("hugepages-")) ||
	       memchr(pair->key.data, '/', pair->key.len) != NULL;
}

static unsigned int uncounted(const struct pod_pack *pod, const struct wire_pod_spec *spec)
{
	for (size_t i = 0; i < pod->sources.n_containers; i++) {
		const struct wire_resources *resources = &nth_container(spec, i)->resources;

		wire_for_each(const struct wire_pair, pair, resources->requests) {
			if (is_uncounted(pod, pair))
				return 1u << BEYOND_RESOURCE;
		}
	}
	return 0;
}

/* Of pods without GPUs only how they get in others' way matters. */
static int pack_terms_of(const struct pod_pack *pod, const struct wire_pod *wire,
			 struct pod_facts *facts)
{
	if (pack_repels(&wire->spec, &pod->pack, facts) < 0 ||
	    pack_ports(&wire->spec, &pod->pack, facts) < 0 ||
	    pack_volumes(&wire->spec, &pod->pack, facts) < 0)
		return -1;
	if (!asks_for_gpus(facts))
		return 0;
	return pack_terms(&wire->spec, uncounted(pod, &wire->spec), &pod->pack, facts);
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

static struct pod_facts outline_of(const struct wire_pod *wire)
{
	const struct wire_meta *meta = &wire->meta;

	return (struct pod_facts){
		.namespace = meta->namespace,
		.name = meta->name,
		.uid = meta->uid,
		.resource_version = api_version_number(meta->resource_version),
		.node = wire->spec.node_name,
		.phase = phase_of(wire->status.phase),
		.terminating = wire_has(meta, WIRE_META_DELETION),
		.gated = wire->spec.gates.len > 0,
		.created_us = meta->creation_us,
		.deletion_us = wire_has(meta, WIRE_META_DELETION) ? meta->deletion_us : 0,
		.extended_claim = wire->status.extended_claim.name,
	};
}

int api_pack_pod(const struct wire_pod *wire, const struct source_table *table, struct arena *arena,
		 struct pod_facts *ret_facts, struct error *err)
{
	const struct wire_meta *meta = &wire->meta;
	struct pod_pack pod = {.pack = {arena, err}, .table = table};
	struct pod_facts facts = outline_of(wire);

	facts.product = wanted_product(&wire->spec.node_selector);
	if (facts.product.len > LIMIT_NAME)
		facts.product = STR_NONE; /* no node has such a label */
	pod.sources.pack = &pod.pack;
	pod.sources.annotations = &meta->annotations;
	pod.sources.bound = !str_empty(wire->spec.node_name);
	if (check_pod(wire, err) < 0 || pack_containers(&pod, &wire->spec) < 0 ||
	    pack_own(&pod, &wire->spec) < 0 || set_facts(&pod, &wire->spec, &facts) < 0 ||
	    pack_alignment(&pod, wire, &facts) < 0 || pack_claims(&pod, wire, &facts) < 0)
		return pack_locate(err, "Pod", meta);
	facts.demand = pack_demand(&wire->spec);
	pack_owner(meta, &facts);
	facts.crashes = pack_crashes(&wire->status);
	if (pack_exit(wire, &pod.pack, &facts) < 0 || pack_terms_of(&pod, wire, &facts) < 0)
		return pack_locate(err, "Pod", meta);
	*ret_facts = facts;
	return 0;
}

int api_pack_pod_outline(const struct wire_pod *wire, struct pod_facts *ret_facts,
			 struct error *err)
{
	static const struct device_ask unreadable = {
		.resource = {DEVICE_UNREADABLE, sizeof(DEVICE_UNREADABLE) - 1}, .count = 1};
	struct pod_facts facts = outline_of(wire);

	if (check_pod(wire, err) < 0)
		return pack_locate(err, "Pod", &wire->meta);
	facts.own = &unreadable;
	facts.n_own = 1;
	facts.demand = demand_unknown();
	pack_mounts_unknown(&facts);
	facts.unreadable = true;
	*ret_facts = facts;
	return 0;
}
