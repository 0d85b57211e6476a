/* SPDX-License-Identifier: Apache-2.0 */
/* GpuNode as JSON, by pods. What is not known is left out. */
#include "agent/gpunode.h"
#include "api/quantity.h"
#include "api/type.h"
#include "codec/json_out.h"

#define MEMORY_STEP  (64 * MIB)
#define PERCENT_STEP 10

static struct str without_replica(struct str id)
{
	for (size_t i = 0; i + 1 < id.len; i++)
		if (id.data[i] == ':' && id.data[i + 1] == ':')
			return (struct str){id.data, i};
	return id;
}

/* "MIG-GPU-5f5c.../7/0" is of GPU-5f5c... */
static struct str legacy_card(struct str id)
{
	struct str head, tail;

	if (!str_starts_with(id, STR("MIG-GPU-")))
		return STR_NONE;
	str_split(str_skip(id, 4), '/', &head, &tail);
	return head;
}

static uint32_t card_at(const struct layout *layout, struct str pci)
{
	for (size_t i = 0; i < layout->n_gpus && !str_empty(pci); i++)
		if (str_equal(layout->gpus[i].pci, pci))
			return (uint32_t)i;
	return LAYOUT_NONE;
}

static uint32_t card_of_partition(const struct layout *layout, const struct machine_facts *facts,
				  struct str uuid)
{
	for (size_t i = 0; i < facts->n_cards; i++)
		for (size_t j = 0; j < facts->cards[i].n_partitions; j++)
			if (str_equal(facts->cards[i].partitions[j].uuid, uuid))
				return card_at(layout, facts->cards[i].pci);
	return LAYOUT_NONE;
}

uint32_t gpunode_card(const struct layout *layout, const struct machine_facts *facts, struct str id)
{
	struct str device = without_replica(id), legacy = legacy_card(device);
	struct str uuid = str_empty(legacy) ? device : legacy;

	if (str_empty(uuid))
		return LAYOUT_NONE;
	for (size_t i = 0; i < layout->n_gpus; i++)
		if (str_equal(layout->gpus[i].uuid, uuid) || str_equal(layout->gpus[i].pci, uuid))
			return (uint32_t)i;
	return card_of_partition(layout, facts, uuid);
}

static void add_cards(struct json_out *out, const struct gpunode_view *view,
		      const struct held_devices *devices)
{
	uint64_t cards = 0;

	for (size_t i = 0; i < devices->n_ids; i++) {
		uint32_t card = gpunode_card(view->layout, view->facts, devices->ids[i]);

		if (card != LAYOUT_NONE)
			cards |= UINT64_C(1) << card;
	}
	if (cards == 0)
		return;
	json_out_array(out, "cards");
	for (size_t i = 0; i < view->layout->n_gpus; i++)
		if (cards >> i & 1)
			json_out_string(out, NULL, view->layout->gpus[i].pci);
	json_out_end_array(out);
}

static void add_devices(struct json_out *out, const struct gpunode_view *view,
			const struct held_devices *devices)
{
	json_out_object(out, NULL);
	json_out_string(out, "resource", devices->resource);
	json_out_array(out, "ids");
	for (size_t i = 0; i < devices->n_ids; i++)
		json_out_string(out, NULL, devices->ids[i]);
	json_out_end_array(out);
	add_cards(out, view, devices);
	if (devices->n_numas > 0) {
		json_out_array(out, "numa");
		for (size_t i = 0; i < devices->n_numas; i++)
			json_out_int(out, NULL, devices->numas[i]);
		json_out_end_array(out);
	}
	json_out_end(out);
}

static void add_claim(struct json_out *out, const struct held_claim *claim)
{
	json_out_object(out, NULL);
	if (!str_empty(claim->namespace))
		json_out_string(out, "namespace", claim->namespace);
	json_out_string(out, "name", claim->name);
	json_out_string(out, "driver", claim->driver);
	json_out_string(out, "pool", claim->pool);
	json_out_string(out, "device", claim->device);
	json_out_end(out);
}

static void add_container(struct json_out *out, const struct gpunode_view *view,
			  const struct held_container *container)
{
	json_out_object(out, NULL);
	json_out_string(out, "name", container->name);
	if (!str_empty(container->cpus))
		json_out_string(out, "cpus", container->cpus);
	if (container->n_devices > 0) {
		json_out_array(out, "devices");
		for (size_t i = 0; i < container->n_devices; i++)
			add_devices(out, view, &container->devices[i]);
		json_out_end_array(out);
	}
	if (container->n_claims > 0) {
		json_out_array(out, "claims");
		for (size_t i = 0; i < container->n_claims; i++)
			add_claim(out, &container->claims[i]);
		json_out_end_array(out);
	}
	json_out_end(out);
}

static bool same_pod(const struct held_container *a, const struct held_container *b)
{
	return str_equal(a->namespace, b->namespace) && str_equal(a->pod, b->pod);
}

/* The pods, each of whose containers follow one another. Returns how many. */
static int64_t add_pods(struct json_out *out, const struct gpunode_view *view)
{
	const struct held *held = view->held;
	int64_t n = 0;

	json_out_array(out, "pods");
	for (size_t i = 0, end; i < held->n_containers; i = end) {
		const struct held_container *first = &held->containers[i];

		json_out_object(out, NULL);
		json_out_string(out, "namespace", first->namespace);
		json_out_string(out, "name", first->pod);
		json_out_array(out, "containers");
		for (end = i; end < held->n_containers && same_pod(first, &held->containers[end]);
		     end++)
			add_container(out, view, &held->containers[end]);
		json_out_end_array(out);
		json_out_end(out);
		n++;
	}
	json_out_end_array(out);
	return n;
}

static void add_memory(struct json_out *out, int64_t memory)
{
	char text[QUANTITY_TEXT_SIZE];
	int64_t rounded = (memory + MEMORY_STEP - 1) / MEMORY_STEP * MEMORY_STEP;

	json_out_string(out, "memory", (struct str){text, quantity_format_bytes(rounded, text)});
}

static void add_user(struct json_out *out, const struct gpunode_view *view,
		     const struct usage_row *row)
{
	json_out_object(out, NULL);
	json_out_string(out, "card", view->layout->gpus[row->card].pci);
	if (row->pod[0])
		json_out_cstring(out, "podUID", row->pod);
	if (row->memory != AMOUNT_UNKNOWN)
		add_memory(out, row->memory);
	if (row->sm_percent >= 0)
		json_out_int(out, "smPercent",
			     (row->sm_percent + PERCENT_STEP / 2) / PERCENT_STEP * PERCENT_STEP);
	json_out_int(out, "processes", row->processes);
	json_out_end(out);
}

/* Returns how many are of no pod. */
static int64_t add_users(struct json_out *out, const struct gpunode_view *view)
{
	int64_t unaccounted = 0;

	json_out_array(out, "users");
	for (size_t i = 0; i < view->usage->n_rows; i++) {
		add_user(out, view, &view->usage->rows[i]);
		unaccounted += view->usage->rows[i].pod[0] == '\0';
	}
	json_out_end_array(out);
	return unaccounted;
}

static void add_meta(struct json_out *out, const struct gpunode_view *view)
{
	json_out_object(out, "metadata");
	json_out_string(out, "name", view->node);
	json_out_array(out, "ownerReferences");
	json_out_object(out, NULL);
	json_out_cstring(out, "apiVersion", "v1");
	json_out_cstring(out, "kind", "Node");
	json_out_string(out, "name", view->node);
	json_out_string(out, "uid", view->node_uid);
	json_out_end(out);
	json_out_end_array(out);
	json_out_end(out);
}

void gpunode_body(struct buf *body, const struct gpunode_view *view)
{
	int64_t n_pods, unaccounted;
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_cstring(&out, "apiVersion", API_GROUP_VERSION);
	json_out_cstring(&out, "kind", "GpuNode");
	add_meta(&out, view);
	json_out_object(&out, "status");
	json_out_string(&out, "writer", view->writer);
	json_out_int(&out, "gpus", (int64_t)view->layout->n_gpus);
	n_pods = add_pods(&out, view);
	json_out_int(&out, "podCount", n_pods);
	if (!str_empty(view->held->other_cpus))
		json_out_string(&out, "otherCpus", view->held->other_cpus);
	unaccounted = add_users(&out, view);
	json_out_int(&out, "unaccountedCount", unaccounted);
	json_out_array(&out, "allocatable");
	for (size_t i = 0; i < view->held->n_allocatable; i++)
		add_devices(&out, view, &view->held->allocatable[i]);
	json_out_end_array(&out);
	json_out_end(&out);
	json_out_end(&out);
}
