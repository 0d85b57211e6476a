/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to facts, for every type: the first byte picks the type and the encoding, the rest is the
 * object. What packs is then within the limits that the cache relies on.
 */
#include <stdlib.h>

#include "api/pack.h"
#include "api/pack_budget.h"
#include "api/pack_dra.h"
#include "api/pack_job.h"
#include "api/pack_storage.h"
#include "base/limits.h"
#include "codec/json.h"
#include "codec/pb.h"
#include "model/layout.h"

union any_object {
	uint64_t present;
	struct wire_pod pod;
	struct wire_node node;
	struct wire_namespace namespace;
	struct wire_resource_quota resource_quota;
	struct wire_limit_range limit_range;
	struct wire_gpu_memory_quota quota;
	struct wire_claim claim;
	struct wire_slice slice;
	struct wire_class class;
	struct wire_tenant tenant;
	struct wire_binding binding;
	struct wire_budget budget;
	struct wire_job job;
	struct wire_persistent_volume_claim volume_claim;
	struct wire_persistent_volume volume;
	struct wire_storage_class storage_class;
	struct wire_csi_node csi_node;
	struct wire_csi_driver csi_driver;
	struct wire_gpu_node gpu_node;
	struct wire_koordinator_device koordinator;
	struct wire_node_topology topology;
};

static void check(bool good)
{
	if (!good)
		abort();
}

static void check_amounts(const struct resource_amount *amounts, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		check(amounts[i].count >= 0 && amounts[i].resource.len <= LIMIT_INTERNED_STRING);
		check(i == 0 || str_compare(amounts[i - 1].resource, amounts[i].resource) < 0);
	}
}

static void check_asks(const struct device_ask *asks, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		check(asks[i].count > 0 && asks[i].devices >= 0);
		check(asks[i].resource.len <= LIMIT_INTERNED_STRING);
		check(str_empty(asks[i].device) == (asks[i].devices == 0));
		check(i == 0 || device_ask_compare(&asks[i - 1], &asks[i]) < 0);
	}
}

static void pack_pod(const union any_object *object, struct arena *arena, struct error *err)
{
	struct pod_facts facts;
	size_t i;

	if (api_pack_pod_outline(&object->pod, &facts, err) == 0)
		check(facts.unreadable && facts.n_own == 1 && facts.node.len <= LIMIT_NAME);
	if (api_pack_pod(&object->pod, NULL, arena, &facts, err) < 0)
		return;
	check(!facts.unreadable && facts.product.len <= LIMIT_NAME);
	check(facts.exit.grace_us >= 0 && facts.exit.checkpoint_us >= 0);
	check(facts.exit.gang_name.len <= LIMIT_NAME);
	check((facts.exit.gang == GANG_NONE) == str_empty(facts.exit.gang_name));
	check_asks(facts.own, facts.n_own);
	for (i = 0; i < facts.n_containers; i++)
		check_asks(facts.containers[i].asks, facts.containers[i].n_asks);
}

static void pack_node(const union any_object *object, struct arena *arena, struct error *err)
{
	struct node_facts facts;
	size_t i;

	if (api_pack_node(&object->node, NULL, arena, &facts, err) < 0)
		return;
	check(facts.n_offers <= LIMIT_OFFERS_PER_NODE);
	for (i = 0; i < facts.n_offers; i++) {
		const struct device_offer *offer = &facts.offers[i];

		check(offer->count > 0 && offer->product.len <= LIMIT_NAME);
		check(offer->unit_memory > 0 || offer->unit_memory == AMOUNT_UNKNOWN);
	}
}

static void pack_namespace(const union any_object *object, struct arena *arena, struct error *err)
{
	struct namespace_facts facts;
	size_t i;

	if (api_pack_namespace(&object->namespace, arena, &facts, err) < 0)
		return;
	check(!str_empty(facts.name) && !str_empty(facts.uid));
	for (i = 0; i < facts.n_labels; i++)
		check(facts.labels[i].key.len <= LIMIT_LABEL_KEY &&
		      facts.labels[i].value.len <= LIMIT_LABEL_VALUE);
}

static void pack_resource_quota(const union any_object *object, struct arena *arena,
				struct error *err)
{
	struct resource_quota_facts facts;

	if (api_pack_resource_quota(&object->resource_quota, arena, &facts, err) < 0)
		return;
	check_amounts(facts.hard, facts.n_hard);
	check_amounts(facts.status_hard, facts.n_status_hard);
}

static void pack_limit_range(const union any_object *object, struct arena *arena, struct error *err)
{
	struct limit_range_facts facts;

	if (api_pack_limit_range(&object->limit_range, arena, &facts, err) == 0)
		check_amounts(facts.defaults, facts.n_defaults);
}

static void check_terms(const struct quota_spec *spec)
{
	size_t i;

	check(spec->borrow_limit == 0 || spec->borrow_limit >= GIB);
	check(spec->shrink_deadline_us >= 0 && spec->terminal_timeout_us >= 0);
	check(spec->n_products <= LIMIT_PRODUCTS);
	for (i = 0; i < spec->n_products; i++) {
		const struct product_cap *cap = &spec->products[i];

		check(cap->gpus != AMOUNT_NONE || cap->gpu_memory != AMOUNT_NONE);
		check(i == 0 || str_compare(cap[-1].product, cap->product) < 0);
	}
}

static void pack_quota(const union any_object *object, struct arena *arena, struct error *err)
{
	struct quota_facts facts;

	if (api_pack_quota(&object->quota, arena, &facts, err) < 0)
		return;
	check(facts.status.n_rows <= LIMIT_STATUS_RESOURCES);
	check(facts.status.dry_run.n_rows <= LIMIT_DRY_RUN_ROWS);
	check(!facts.has_status || (facts.status.used >= 0 && facts.status.effective >= 0));
	if (facts.invalid)
		return;
	check(facts.spec.gpu_memory >= GIB && facts.spec.pod_gpu_memory <= facts.spec.gpu_memory);
	check(facts.spec.gpus >= 0 || facts.spec.gpus == AMOUNT_NONE);
	check_amounts(facts.spec.caps, facts.spec.n_caps);
	check_amounts(facts.spec.defaults, facts.spec.n_defaults);
	check_terms(&facts.spec);
}

static void check_selector(const struct label_selector *selector)
{
	size_t i, size = selector->n_requirements;

	for (i = 0; i < selector->n_requirements; i++)
		size += selector->requirements[i].n_values;
	/* The value of an entry of matchLabels comes on top. */
	check(size <= 2 * LIMIT_SELECTOR_VALUES);
}

static void pack_tenant(const union any_object *object, struct arena *arena, struct error *err)
{
	struct tenant_facts facts;

	if (api_pack_tenant(&object->tenant, arena, &facts, err) < 0)
		return;
	check(facts.status.n_namespaces_listed <= LIMIT_STATUS_NAMESPACES);
	check(!facts.has_status || (facts.status.used >= 0 && facts.status.granted >= 0));
	if (facts.invalid)
		return;
	check(facts.name.len <= LIMIT_LABEL_VALUE && facts.spec.namespaces.n_requirements > 0);
	check(facts.spec.ceiling >= GIB || facts.spec.ceiling == AMOUNT_NONE);
	check(facts.spec.ceiling_gpus >= 0 || facts.spec.ceiling_gpus == AMOUNT_NONE);
	check(facts.spec.n_priority_classes <= LIMIT_PRIORITY_CLASSES);
	check_selector(&facts.spec.namespaces);
}

static void pack_binding(const union any_object *object, struct arena *arena, struct error *err)
{
	struct binding_facts facts;

	if (api_pack_binding(&object->binding, arena, &facts, err) < 0)
		return;
	check(!str_empty(facts.name) && !str_empty(facts.uid));
	check_selector(&facts.spec.namespaces);
	check_selector(&facts.spec.objects);
}

static void pack_budget(const union any_object *object, struct arena *arena, struct error *err)
{
	struct budget_facts facts;

	if (api_pack_budget(&object->budget, arena, &facts, err) < 0)
		return;
	check(facts.allowed >= 0 && !str_empty(facts.name));
	check((facts.reach == BUDGET_SELECTS_SOME) == (facts.selector.n_requirements > 0));
	check_selector(&facts.selector);
}

static void pack_job(const union any_object *object, struct arena *arena, struct error *err)
{
	struct job_facts facts;

	(void)arena;
	if (api_pack_job(&object->job, &facts, err) == 0)
		check(!str_empty(facts.name) && facts.name.len <= LIMIT_NAME);
}

static void pack_volume_claim(const union any_object *object, struct arena *arena,
			      struct error *err)
{
	struct volume_claim_facts facts;

	(void)arena;
	if (api_pack_volume_claim(&object->volume_claim, &facts, err) == 0)
		check(!str_empty(facts.name) && facts.name.len <= LIMIT_NAME);
}

static void check_node_terms(const struct node_term *terms, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(terms[i].n_labels + terms[i].n_names > 0);
}

static void pack_volume(const union any_object *object, struct arena *arena, struct error *err)
{
	struct volume_facts facts;
	struct str today;

	if (api_pack_volume(&object->volume, arena, &facts, err) < 0)
		return;
	check(facts.chooses || facts.n_terms == 0);
	check_node_terms(facts.terms, facts.n_terms);
	for (size_t i = 0; i < facts.n_zones; i++) {
		check(volume_zone_label(facts.zones[i].key, &today));
		volume_zones_have(facts.zones[i].value, STR("a"));
	}
}

static void pack_storage_class(const union any_object *object, struct arena *arena,
			       struct error *err)
{
	struct storage_class_facts facts;

	if (api_pack_storage_class(&object->storage_class, arena, &facts, err) < 0)
		return;
	check(facts.chooses || facts.n_terms == 0);
	check_node_terms(facts.terms, facts.n_terms);
}

static void pack_csi_node(const union any_object *object, struct arena *arena, struct error *err)
{
	struct csi_node_facts facts;

	if (api_pack_csi_node(&object->csi_node, arena, &facts, err) < 0)
		return;
	for (size_t i = 0; i < facts.n_drivers; i++)
		check(facts.drivers[i].most >= -1);
}

static void pack_csi_driver(const union any_object *object, struct arena *arena, struct error *err)
{
	struct csi_driver_facts facts;

	(void)arena;
	if (api_pack_csi_driver(&object->csi_driver, &facts, err) == 0)
		check(!str_empty(facts.name));
}

static void pack_claim(const union any_object *object, struct arena *arena, struct error *err)
{
	struct claim_facts facts;

	if (api_pack_claim(&object->claim, arena, &facts, err) < 0)
		return;
	check(facts.n_requests <= LIMIT_REQUESTS_PER_CLAIM && facts.n_pods <= LIMIT_CLAIM_PODS);
	check(facts.n_devices <= LIMIT_CLAIM_DEVICES && facts.owner_uid.len <= LIMIT_NAME);
	for (size_t i = 0; i < facts.n_requests; i++) {
		const struct claim_request *request = &facts.requests[i];

		check(request->n_choices > 0);
		for (size_t k = 0; k < request->n_choices; k++)
			check(request->choices[k].count > 0 &&
			      request->choices[k].class.len <= LIMIT_NAME);
	}
	for (size_t i = 0; i < facts.n_devices; i++) {
		int64_t consumed = facts.devices[i].consumed_memory;

		check(consumed > 0 || consumed == AMOUNT_NONE);
		check(facts.devices[i].pool.len <= LIMIT_NAME);
	}
}

static void pack_slice(const union any_object *object, struct arena *arena, struct error *err)
{
	struct slice_facts facts;

	if (api_pack_slice(&object->slice, arena, &facts, err) < 0)
		return;
	check(facts.n_devices <= LIMIT_DEVICES_PER_SLICE && facts.slice_count > 0);
	for (size_t i = 0; i < facts.n_devices; i++) {
		const struct slice_device *device = &facts.devices[i];

		check(device->memory > 0 || device->memory == AMOUNT_UNKNOWN ||
		      device->memory == AMOUNT_NONE);
		check(device->type.len <= LIMIT_NAME && device->product.len <= LIMIT_NAME);
	}
}

static void pack_class(const union any_object *object, struct arena *arena, struct error *err)
{
	struct class_facts facts;

	(void)arena;
	if (api_pack_class(&object->class, &facts, err) < 0)
		return;
	check(facts.driver.len <= LIMIT_NAME && facts.type.len <= LIMIT_NAME);
	check(facts.extended_resource.len <= LIMIT_INTERNED_STRING);
}

static void check_cpus(const struct cpu_range *cpus, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check(cpus[i].first <= cpus[i].last && cpus[i].last < LIMIT_LAYOUT_CPUS);
		check(i == 0 || cpus[i - 1].last + 1 < cpus[i].first);
	}
}

static void pack_koordinator(const union any_object *object, struct arena *arena, struct error *err)
{
	struct published_facts facts;

	if (api_pack_koordinator_device(&object->koordinator, arena, &facts, err) < 0)
		return;
	check(!str_empty(facts.node));
	check(!facts.layout ||
	      (facts.layout->n_gpus > 0 && facts.layout->n_gpus <= LIMIT_LAYOUT_GPUS));
}

static void check_counted(const struct layout *layout)
{
	check(layout->counted && layout->n_gpus > 0 && layout->n_gpus <= LIMIT_LAYOUT_GPUS);
	check(layout->n_numas > 0 && layout->n_numas <= LIMIT_LAYOUT_NUMAS);
	for (size_t i = 0; i < layout->n_numas; i++) {
		check(i == 0 || layout->numas[i - 1].id < layout->numas[i].id);
		check(layout->numas[i].n_cpus <= LIMIT_LAYOUT_CPUS);
	}
	for (size_t i = 0; i < layout->n_gpus; i++)
		check(layout->gpus[i].numa < layout->n_numas);
	for (size_t i = 0; layout->distances && i < layout->n_numas * layout->n_numas; i++)
		check(layout->distances[i] >= 10 && layout->distances[i] <= 255);
	check(layout->kubelet.static_cpu == (layout->kubelet.policy != LAYOUT_POLICY_UNKNOWN));
}

static void pack_topology(const union any_object *object, struct arena *arena, struct error *err)
{
	struct published_facts facts;

	if (api_pack_node_topology(&object->topology, arena, &facts, err) < 0)
		return;
	check(!str_empty(facts.node));
	if (facts.layout)
		check_counted(facts.layout);
}

static void pack_gpu_node(const union any_object *object, struct arena *arena, struct error *err)
{
	struct gpu_node_facts facts;

	if (api_pack_gpu_node(&object->gpu_node, arena, &facts, err) < 0)
		return;
	check(facts.n_pods <= LIMIT_HELD_CONTAINERS && facts.n_uses <= LIMIT_GPUNODE_USERS);
	check_cpus(facts.cpus, facts.n_cpus);
	for (size_t i = 0; i < facts.n_pods; i++) {
		check(!str_empty(facts.pods[i].name) && facts.pods[i].n_cards <= LIMIT_LAYOUT_GPUS);
		check_cpus(facts.pods[i].cpus, facts.pods[i].n_cpus);
	}
	for (size_t i = 0; i < facts.n_uses; i++)
		check(facts.uses[i].sm_percent <= 100 && !str_empty(facts.uses[i].card));
}

static const struct {
	const struct schema *schema;
	void (*pack)(const union any_object *object, struct arena *arena, struct error *err);
} types[] = {
	{&wire_pod_schema, pack_pod},
	{&wire_node_schema, pack_node},
	{&wire_namespace_schema, pack_namespace},
	{&wire_resource_quota_schema, pack_resource_quota},
	{&wire_limit_range_schema, pack_limit_range},
	{&wire_gpu_memory_quota_schema, pack_quota},
	{&wire_claim_schema, pack_claim},
	{&wire_slice_schema, pack_slice},
	{&wire_class_schema, pack_class},
	{&wire_tenant_schema, pack_tenant},
	{&wire_binding_schema, pack_binding},
	{&wire_gpu_node_schema, pack_gpu_node},
	{&wire_koordinator_device_schema, pack_koordinator},
	{&wire_budget_schema, pack_budget},
	{&wire_job_schema, pack_job},
	{&wire_persistent_volume_claim_schema, pack_volume_claim},
	{&wire_persistent_volume_schema, pack_volume},
	{&wire_storage_class_schema, pack_storage_class},
	{&wire_csi_node_schema, pack_csi_node},
	{&wire_csi_driver_schema, pack_csi_driver},
	{&wire_node_topology_schema, pack_topology},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena CLEANUP(arena_clear);
	union any_object object;
	struct error err = {0};
	struct str bytes;
	size_t type;
	int rc;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	if (size == 0)
		return 0;
	bytes = (struct str){(const char *)data + 1, size - 1};
	type = (data[0] & 0x3f) % ARRAY_SIZE(types);
	if (data[0] & 0x40)
		rc = json_decode(types[type].schema, bytes, &arena, &object, &err);
	else
		rc = pb_decode(types[type].schema, bytes, &arena, &object, &err);
	if (rc == 0)
		types[type].pack(&object, &arena, &err);
	return 0;
}
