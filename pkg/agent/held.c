/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From kubelet's messages to what is kept of them. Kubelet is trusted with what it says of pods;
 * its device ids are a device plugin's, and are checked since they are published.
 */
#include "agent/held.h"

#include "base/buf.h"
#include "codec/pb.h"
#include "held_wire.h"
#include "model/cpus.h"
#include "model/resource.h"

struct holding {
	struct arena *arena;
	struct error *err;
	struct held_container *containers;
	size_t n_containers, n_devices;
	struct cpu_set other_cpus;
};

static int no_room(const struct holding *holding)
{
	return error_set(holding->err, ERROR_LIMIT, "kubelet's pods take more than %zu bytes",
			 holding->arena->limit);
}

static bool is_name(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < 0x21 || text.data[i] > 0x7e)
			return false;
	return text.len > 0 && text.len <= LIMIT_LABEL_KEY;
}

static int check_name(const struct holding *holding, struct str text, const char *what)
{
	if (is_name(text))
		return 0;
	return error_set(holding->err, ERROR_INVALID, "kubelet tells of a %s that is no name",
			 what);
}

/* Whatever the resource was renamed to. */
static bool is_nvidia_id(struct str id)
{
	return str_starts_with(id, STR("GPU-")) || str_starts_with(id, STR("MIG-"));
}

static bool is_gpu(const struct wire_held_devices *wire)
{
	if (resource_is_gpu(wire->resource))
		return true;
	wire_for_each(struct str, id, wire->ids)
		if (is_nvidia_id(*id))
			return true;
	return false;
}

static int read_numas(struct holding *holding, const struct wire_list *nodes,
		      struct held_devices *devices)
{
	uint32_t *numas;

	if (nodes->len > LIMIT_LAYOUT_NUMAS)
		return error_set(holding->err, ERROR_LIMIT, "a device of %zu NUMA nodes",
				 nodes->len);
	numas = arena_alloc(holding->arena, nodes->len * sizeof(*numas));
	if (!numas)
		return no_room(holding);
	wire_for_each(struct wire_held_numa, node, *nodes)
		if (node->id >= 0 && node->id < UINT32_MAX)
			numas[devices->n_numas++] = (uint32_t)node->id;
	devices->numas = numas;
	return 0;
}

static int read_devices(struct holding *holding, const struct wire_held_devices *wire,
			struct held_devices *ret_devices)
{
	struct held_devices devices = {
		.resource = wire->resource, .ids = wire->ids.items, .n_ids = wire->ids.len};

	holding->n_devices += wire->ids.len;
	if (holding->n_devices > LIMIT_HELD_DEVICES)
		return error_set(holding->err, ERROR_LIMIT, "kubelet tells of more than %d devices",
				 LIMIT_HELD_DEVICES);
	if (check_name(holding, wire->resource, "resource") < 0)
		return -1;
	wire_for_each(struct str, id, wire->ids)
		if (check_name(holding, *id, "device id") < 0)
			return -1;
	if (read_numas(holding, &wire->topology.nodes, &devices) < 0)
		return -1;
	*ret_devices = devices;
	return 0;
}

/* All that are GPUs of @wire, a list of struct wire_held_devices. */
static int read_gpus(struct holding *holding, const struct wire_list *wire,
		     const struct held_devices **ret_devices, size_t *ret_n)
{
	struct held_devices *devices = arena_alloc(holding->arena, wire->len * sizeof(*devices));
	size_t n = 0;

	if (!devices)
		return no_room(holding);
	wire_for_each(struct wire_held_devices, it, *wire)
		if (is_gpu(it) && read_devices(holding, it, &devices[n++]) < 0)
			return -1;
	*ret_devices = devices;
	*ret_n = n;
	return 0;
}

static int read_result(struct holding *holding, const struct wire_held_claim *claim,
		       const struct wire_held_result *wire, struct held_claim *ret_claim)
{
	if (++holding->n_devices > LIMIT_HELD_DEVICES)
		return error_set(holding->err, ERROR_LIMIT, "kubelet tells of more than %d devices",
				 LIMIT_HELD_DEVICES);
	if (check_name(holding, wire->driver, "driver") < 0 ||
	    check_name(holding, wire->pool, "pool") < 0 ||
	    check_name(holding, wire->device, "device") < 0 ||
	    check_name(holding, claim->name, "claim") < 0)
		return -1;
	*ret_claim = (struct held_claim){claim->namespace, claim->name, wire->driver, wire->pool,
					 wire->device};
	return 0;
}

static int read_claims(struct holding *holding, const struct wire_list *wire,
		       struct held_container *container)
{
	struct held_claim *claims;
	size_t n = 0;

	wire_for_each(struct wire_held_claim, it, *wire)
		n += it->results.len;
	claims = arena_alloc(holding->arena, n * sizeof(*claims));
	if (!claims)
		return no_room(holding);
	container->claims = claims;
	wire_for_each(struct wire_held_claim, it, *wire)
		wire_for_each(struct wire_held_result, result, it->results)
			if (read_result(holding, it, result, &claims[container->n_claims++]) < 0)
				return -1;
	return 0;
}

/* A packed varint, at the front of @bytes. */
static bool take_number(struct str *bytes, uint64_t *ret_number)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; shift < 64 && bytes->len > 0; shift += 7) {
		uint8_t byte = (uint8_t)bytes->data[0];

		*bytes = str_skip(*bytes, 1);
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

/* "2-3,50". */
static int write_cpus(struct holding *holding, const struct cpu_set *set, struct str *ret_cpus)
{
	size_t n = cpu_set_ranges(set, NULL, 0);
	struct cpu_range *ranges = arena_alloc(holding->arena, n * sizeof(*ranges));
	CLEANUP(buf_clear) struct buf text;
	const char *copy;

	if (!ranges)
		return no_room(holding);
	buf_init(&text, (size_t)LIMIT_LAYOUT_CPUS * 6);
	cpu_set_ranges(set, ranges, n);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&text, "%s%u", i ? "," : "", ranges[i].first);
		if (ranges[i].last > ranges[i].first)
			buf_printf(&text, "-%u", ranges[i].last);
	}
	copy = arena_strndup(holding->arena, text.data, text.len);
	if (!copy)
		return no_room(holding);
	*ret_cpus = (struct str){copy, text.len};
	return 0;
}

static int add_cpus(struct holding *holding, struct str packed, struct cpu_set *set)
{
	uint64_t cpu;

	while (packed.len > 0) {
		if (!take_number(&packed, &cpu) || cpu >= LIMIT_LAYOUT_CPUS)
			return error_set(holding->err, ERROR_INVALID,
					 "kubelet tells of a CPU that there cannot be");
		set->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
	}
	return 0;
}

static int read_cpus(struct holding *holding, struct str packed, struct str *ret_cpus)
{
	struct cpu_set set = {0};

	return add_cpus(holding, packed, &set) < 0 ? -1 : write_cpus(holding, &set, ret_cpus);
}

/* Of a container that holds none only its CPUs count. */
static int read_container(struct holding *holding, const struct wire_held_pod *pod,
			  const struct wire_held_container *wire)
{
	struct held_container container = {
		.namespace = pod->namespace, .pod = pod->name, .name = wire->name};

	if (read_gpus(holding, &wire->devices, &container.devices, &container.n_devices) < 0 ||
	    read_claims(holding, &wire->claims, &container) < 0)
		return -1;
	if (container.n_devices == 0 && container.n_claims == 0)
		return add_cpus(holding, wire->cpus, &holding->other_cpus);
	if (check_name(holding, pod->namespace, "namespace") < 0 ||
	    check_name(holding, pod->name, "pod") < 0 ||
	    check_name(holding, wire->name, "container") < 0 ||
	    read_cpus(holding, wire->cpus, &container.cpus) < 0)
		return -1;
	if (holding->n_containers == LIMIT_HELD_CONTAINERS)
		return error_set(holding->err, ERROR_LIMIT, "more than %d containers with GPUs",
				 LIMIT_HELD_CONTAINERS);
	holding->containers[holding->n_containers++] = container;
	return 0;
}

static size_t count_containers(const struct wire_held_pods *pods)
{
	size_t n = 0;

	wire_for_each(struct wire_held_pod, pod, pods->pods)
		n += pod->containers.len;
	return MIN(n, LIMIT_HELD_CONTAINERS);
}

int held_read_pods(struct str message, struct arena *arena, struct held *held, struct error *err)
{
	struct holding holding = {.arena = arena, .err = err};
	struct wire_held_pods pods;

	if (pb_decode(&wire_held_pods_schema, message, arena, &pods, err) < 0)
		return -1;
	holding.containers =
		arena_alloc(arena, count_containers(&pods) * sizeof(*holding.containers));
	if (!holding.containers)
		return no_room(&holding);
	wire_for_each(struct wire_held_pod, pod, pods.pods)
		wire_for_each(struct wire_held_container, container, pod->containers)
			if (read_container(&holding, pod, container) < 0)
				return -1;
	if (write_cpus(&holding, &holding.other_cpus, &held->other_cpus) < 0)
		return -1;
	held->containers = holding.containers;
	held->n_containers = holding.n_containers;
	return 0;
}

int held_read_allocatable(struct str message, struct arena *arena, struct held *held,
			  struct error *err)
{
	struct holding holding = {.arena = arena, .err = err};
	struct wire_held_allocatable allocatable;

	if (pb_decode(&wire_held_allocatable_schema, message, arena, &allocatable, err) < 0)
		return -1;
	return read_gpus(&holding, &allocatable.devices, &held->allocatable, &held->n_allocatable);
}
