/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the wire struct to the model: lists become arrays of the same order, and index each other as
 * they did.
 */
#include "api/layout.h"

#include <inttypes.h>

#include "api/layout_reader.h"
#include "api/wire_layout.h"
#include "base/macros.h"
#include "codec/json.h"
#include "codec/json_pull.h"
#include "model/cpus.h"

#define NUMA_ID_MAX    1023 /* MAX_NUMNODES of Linux */
#define DISTANCE_LOCAL 10   /* LOCAL_DISTANCE of ACPI's SLIT, and the largest it can say */
#define DISTANCE_MAX   255

/* --- NUMA nodes */

static int count_cpu(struct layout_reader *r, int64_t cpu, uint32_t *count)
{
	uint64_t bit = UINT64_C(1) << (cpu % 64);

	if (r->cpus[cpu / 64] & bit)
		return LAYOUT_REFUSE(r, "cpus", "CPU %" PRId64 " occurs twice", cpu);
	r->cpus[cpu / 64] |= bit;
	(*count)++;
	return 0;
}

static int read_cpus(struct layout_reader *r, struct str text, uint32_t *ret_count)
{
	struct cpu_range range;
	enum cpus_outcome outcome;
	uint32_t count = 0;

	if (str_ends_with(text, STR(",")))
		return LAYOUT_REFUSE(r, "cpus", "ends with a comma");
	while ((outcome = cpus_take(&text, &range)) == CPUS_RANGE)
		for (int64_t cpu = range.first; cpu <= range.last; cpu++)
			if (count_cpu(r, cpu, &count) < 0)
				return -1;
	if (outcome == CPUS_BAD)
		return LAYOUT_REFUSE(r, "cpus", "no list of CPUs below %d like 0-23,48-71",
				     LIMIT_LAYOUT_CPUS);
	*ret_count = count;
	return 0;
}

static int read_distance_row(const struct layout_reader *r, struct str text, size_t n,
			     uint32_t *row)
{
	struct json_pull pull;
	size_t len = 0;
	int more;

	json_pull_init(&pull, text, r->arena);
	if (json_pull_array(&pull, r->err) < 0)
		return layout_locate(r, "distances");
	while ((more = json_pull_element(&pull, r->err)) > 0) {
		int64_t distance;

		if (len == n)
			break;
		if (json_pull_int(&pull, DISTANCE_LOCAL, DISTANCE_MAX, &distance, r->err) < 0)
			return layout_locate(r, "distances");
		row[len++] = (uint32_t)distance;
	}
	if (more < 0)
		return layout_locate(r, "distances");
	if (len < n || more > 0)
		return LAYOUT_REFUSE(r, "distances", "%s than the %zu NUMA nodes",
				     more > 0 ? "more" : "fewer", n);
	if (row[r->index] != DISTANCE_LOCAL)
		return LAYOUT_REFUSE(r, "distances", "%" PRIu32 " to itself, which is always %d",
				     row[r->index], DISTANCE_LOCAL);
	return 0;
}

/* All of them or none. */
static int read_distances(struct layout_reader *r, struct wire_list numas)
{
	const struct wire_layout_numa *wire = numas.items;
	uint32_t *distances = NULL;
	bool any = false;

	for (size_t i = 0; i < numas.len; i++)
		any = any || wire_has(&wire[i], WIRE_LAYOUT_NUMA_DISTANCES);
	if (!any)
		return 0;
	if (layout_take_array(r, numas, LIMIT_LAYOUT_NUMAS, numas.len * sizeof(*distances),
			      &distances) < 0)
		return -1;
	for (r->index = 0; r->index < numas.len; r->index++) {
		const struct wire_layout_numa *numa = &wire[r->index];

		if (!wire_has(numa, WIRE_LAYOUT_NUMA_DISTANCES))
			return LAYOUT_REFUSE(r, "distances", "missing, but others have them");
		if (read_distance_row(r, numa->distances, numas.len,
				      distances + r->index * numas.len) < 0)
			return -1;
	}
	r->layout.distances = distances;
	return 0;
}

static int read_numa(struct layout_reader *r, const struct wire_layout_numa *wire,
		     struct layout_numa *numas)
{
	struct layout_numa *numa = &numas[r->index];

	if (!wire_has(wire, WIRE_LAYOUT_NUMA_ID) || wire->id < 0 || wire->id > NUMA_ID_MAX)
		return LAYOUT_REFUSE(r, "id", "no number from 0 to %d", NUMA_ID_MAX);
	for (size_t i = 0; i < r->index; i++)
		if (numas[i].id == wire->id)
			return LAYOUT_REFUSE(r, "id", "%" PRId64 " occurs twice", wire->id);
	numa->id = (uint32_t)wire->id;
	numa->cpus = wire->cpus;
	if (read_cpus(r, wire->cpus, &numa->n_cpus) < 0)
		return -1;
	return layout_read_amount(r, "memory", wire->memory, &numa->memory);
}

static int read_numas(struct layout_reader *r, struct wire_list list)
{
	const struct wire_layout_numa *wire = list.items;
	struct layout_numa *numas;

	r->list = "numa";
	if (layout_take_array(r, list, LIMIT_LAYOUT_NUMAS, sizeof(*numas), &numas) < 0)
		return -1;
	for (r->index = 0; r->index < list.len; r->index++)
		if (read_numa(r, &wire[r->index], numas) < 0)
			return -1;
	r->layout.numas = numas;
	r->layout.n_numas = list.len;
	return read_distances(r, list);
}

/* --- bridges */

static int read_bridges(struct layout_reader *r, struct wire_list list)
{
	const struct wire_layout_bridge *wire = list.items;
	struct layout_bridge *bridges;

	r->list = "bridges";
	if (layout_take_array(r, list, LIMIT_LAYOUT_BRIDGES, sizeof(*bridges), &bridges) < 0)
		return -1;
	for (r->index = 0; r->index < list.len; r->index++, wire++) {
		struct layout_bridge *bridge = &bridges[r->index];

		if (layout_read_pci(r, wire->pci, &bridge->pci) < 0 ||
		    layout_read_index(
			    r, "parent",
			    layout_present(wire, WIRE_LAYOUT_BRIDGE_PARENT, &wire->parent),
			    r->index, &bridge->parent) < 0 ||
		    layout_read_positive(r, "speed", wire->speed, &bridge->speed) < 0)
			return -1;
	}
	r->layout.bridges = bridges;
	r->layout.n_bridges = list.len;
	return 0;
}

/* --- links */

static int read_link(struct layout_reader *r, const struct wire_layout_link *wire,
		     struct layout_link *link)
{
	size_t n = r->layout.n_gpus;

	if (layout_read_index(r, "a", layout_present(wire, WIRE_LAYOUT_LINK_A, &wire->a), n,
			      &link->a) < 0 ||
	    layout_read_index(r, "b", layout_present(wire, WIRE_LAYOUT_LINK_B, &wire->b), n,
			      &link->b) < 0)
		return -1;
	if (link->a == LAYOUT_NONE || link->b == LAYOUT_NONE)
		return LAYOUT_REFUSE(r, link->a == LAYOUT_NONE ? "a" : "b", "is missing");
	if (link->a >= link->b)
		return LAYOUT_REFUSE(r, "a", "%" PRIu32 " is not lower than b, %" PRIu32, link->a,
				     link->b);
	if (r->linked[link->a] & UINT64_C(1) << link->b)
		return LAYOUT_REFUSE(r, "b", "%" PRIu32 " and %" PRIu32 " are linked already",
				     link->a, link->b);
	r->linked[link->a] |= UINT64_C(1) << link->b;
	if (layout_read_positive(r, "bandwidth", wire->bandwidth, &link->bandwidth) < 0)
		return -1;
	return link->bandwidth == AMOUNT_UNKNOWN ? LAYOUT_REFUSE(r, "bandwidth", "is missing") : 0;
}

static int read_links(struct layout_reader *r, struct wire_list list)
{
	const struct wire_layout_link *wire = list.items;
	struct layout_link *links;

	r->list = "nvlinks";
	if (layout_take_array(r, list, LIMIT_LAYOUT_GPUS * (LIMIT_LAYOUT_GPUS - 1) / 2,
			      sizeof(*links), &links) < 0)
		return -1;
	for (r->index = 0; r->index < list.len; r->index++)
		if (read_link(r, &wire[r->index], &links[r->index]) < 0)
			return -1;
	r->layout.links = links;
	r->layout.n_links = list.len;
	return 0;
}

/* --- the whole */

static int check_version(struct str text, struct arena *arena, struct error *err)
{
	struct wire_layout_version wire;

	if (text.len > LIMIT_LAYOUT)
		return error_set(err, ERROR_LIMIT, "%s: has %zu bytes, more than %d",
				 API_LAYOUT_ANNOTATION, text.len, LIMIT_LAYOUT);
	if (json_decode(&wire_layout_version_schema, text, arena, &wire, err) < 0)
		return -1;
	if (!wire_has(&wire, WIRE_LAYOUT_VERSION) || wire.version < 1)
		return error_set(err, ERROR_INVALID, "%s: version: no number from 1",
				 API_LAYOUT_ANNOTATION);
	if (wire.version > API_LAYOUT_VERSION)
		return error_set(err, ERROR_INVALID,
				 "%s: version %" PRId64 " is newer than %d, the latest that is "
				 "understood here: the controller must be updated",
				 API_LAYOUT_ANNOTATION, wire.version, API_LAYOUT_VERSION);
	return 0;
}

bool api_layout_is_newer(struct str text, struct arena *arena)
{
	struct wire_layout_version wire;

	return text.len <= LIMIT_LAYOUT &&
	       json_decode(&wire_layout_version_schema, text, arena, &wire, NULL) == 0 &&
	       wire_has(&wire, WIRE_LAYOUT_VERSION) && wire.version > API_LAYOUT_VERSION;
}

static int read_kubelet(struct layout_reader *r, const struct wire_layout_kubelet *wire)
{
	static const char *const policies[] = {
#define X(name, text) text,
		LAYOUT_POLICIES(X)
#undef X
	};
	static const char *const scopes[] = {"container", "pod"};
	static const char *const cpu_policies[] = {"none", "static"};
	int policy, scope, cpu;

	policy = layout_read_choice(r, "kubelet.topologyPolicy", wire->policy, policies,
				    ARRAY_SIZE(policies));
	scope = policy < 0 ? -1
			   : layout_read_choice(r, "kubelet.topologyScope", wire->scope, scopes,
						ARRAY_SIZE(scopes));
	cpu = scope < 0 ? -1
			: layout_read_choice(r, "kubelet.cpuPolicy", wire->cpu_policy, cpu_policies,
					     ARRAY_SIZE(cpu_policies));
	if (cpu < 0)
		return -1;
	r->layout.kubelet =
		(struct layout_kubelet){(enum layout_policy)policy, scope == 1, cpu == 1};
	return 0;
}

static int read_head(struct layout_reader *r, const struct wire_layout *wire)
{
	if (wire->generation < 0)
		return LAYOUT_REFUSE(r, "generation", "is negative");
	r->layout.generation = (uint64_t)wire->generation;
	r->layout.writer = wire->writer;
	if (layout_check_text(r, "writer", wire->writer) < 0)
		return -1;
	return read_kubelet(r, &wire->kubelet);
}

int api_read_layout(struct str text, struct arena *arena, struct layout *ret_layout,
		    struct error *err)
{
	struct layout_reader r = {.arena = arena, .err = err};
	struct wire_layout wire;

	if (check_version(text, arena, err) < 0 ||
	    json_decode(&wire_layout_schema, text, arena, &wire, err) < 0)
		return -1;
	if (read_head(&r, &wire) < 0 || read_numas(&r, wire.numas) < 0 ||
	    read_bridges(&r, wire.bridges) < 0 || layout_read_gpus(&r, wire.gpus) < 0 ||
	    read_links(&r, wire.links) < 0)
		return -1;
	*ret_layout = r.layout;
	return 0;
}
