/* SPDX-License-Identifier: Apache-2.0 */
/* Reads back the status of a GpuMemoryQuota, as body_quota.c writes it. */
#include "api/pack_quota.h"

#include "api/pack_status.h"
#include "base/macros.h"

static bool condition_of(struct str text, enum quota_condition *ret_condition)
{
	int i;

	for (i = 0; i < QUOTA_CONDITION_COUNT; i++) {
		if (str_equal(text, str_from(quota_condition_text((enum quota_condition)i)))) {
			*ret_condition = (enum quota_condition)i;
			return true;
		}
	}
	return false;
}

static enum device_sharing sharing_of(struct str text)
{
	static const enum device_sharing sharings[] = {
#define X(name, text) DEVICE_##name,
		DEVICE_SHARINGS(X)
#undef X
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sharings); i++)
		if (str_equal(text, str_from(device_sharing_text(sharings[i]))))
			return sharings[i];
	return DEVICE_OTHER;
}

static void read_condition(const struct wire_condition *wire, struct quota_status *status)
{
	enum quota_condition type;

	if (condition_of(wire->type, &type))
		pack_condition(wire, &status->conditions[type]);
}

static bool read_row(const struct wire_quota_resource *wire, struct quota_row *row)
{
	*row = (struct quota_row){
		.resource = wire->name,
		.product = wire->product,
		.unit_memory = AMOUNT_UNKNOWN,
		.used = wire->used,
		.hard = wire->hard,
		.sharing = sharing_of(wire->sharing),
	};
	if (str_empty(wire->name) || wire->name.len > LIMIT_INTERNED_STRING ||
	    wire->product.len > LIMIT_INTERNED_STRING || wire->used < 0 || wire->hard < 0)
		return false;
	return !wire_has(wire, WIRE_RESOURCE_UNIT_MEMORY) ||
	       pack_bytes(wire->unit_memory, &row->unit_memory);
}

/* @ret_rows stays NULL where a row cannot be read. */
static int read_rows(const struct wire_list *resources, const struct pack *pack,
		     struct quota_row **ret_rows)
{
	struct quota_row *rows = arena_alloc(pack->arena, resources->len * sizeof(*rows));
	struct quota_row *next = rows;

	if (!rows)
		return pack_no_memory(pack);
	wire_for_each(const struct wire_quota_resource, resource, *resources) {
		if (!read_row(resource, next++))
			return 0;
	}
	*ret_rows = rows;
	return 0;
}

static bool read_amounts(const struct wire_quota_status *wire, struct quota_status *status)
{
	const struct pack_bytes_field amounts[] = {
		{wire->effective, &status->effective}, {wire->granted, &status->granted},
		{wire->used, &status->used},           {wire->lent, &status->lent},
		{wire->borrowed, &status->borrowed},   {wire->live, &status->live},
		{wire->released, &status->released},
	};
	const int64_t counts[] = {wire->gpus,          wire->used_percent, wire->pods,
				  wire->released_pods, wire->granted_gpus, wire->effective_gpus};

	status->gpus_used = wire->gpus;
	status->used_percent = wire->used_percent;
	status->pods = wire->pods;
	status->released_pods = wire->released_pods;
	status->granted_gpus = wire->granted_gpus;
	status->effective_gpus = wire->effective_gpus;
	status->tenant = wire->tenant;
	return pack_counts_sane(counts, ARRAY_SIZE(counts)) &&
	       pack_bytes_fields(amounts, ARRAY_SIZE(amounts)) && wire->tenant.len <= LIMIT_NAME;
}

static bool read_workload(const struct wire_dry_run_workload *wire, struct dry_run_row *row)
{
	row->kind = wire->kind;
	row->name = wire->name;
	row->pods = wire->pods;
	return !str_empty(wire->kind) && wire->kind.len <= LIMIT_NAME && !str_empty(wire->name) &&
	       wire->name.len <= LIMIT_NAME && wire->pods >= 0 &&
	       pack_bytes(wire->gpu_memory, &row->gpu_memory);
}

/* Counts go on from here after a restart: one that cannot be read begins anew, the rest stands. */
static int read_dry_run(const struct wire_quota_dry_run *wire, const struct pack *pack,
			struct dry_run_status *dry_run)
{
	struct dry_run_row *rows, *next;

	if (wire->since_us <= 0 || wire->through_us < wire->since_us || wire->refused < 0 ||
	    wire->workloads.len > LIMIT_DRY_RUN_ROWS)
		return 0;
	rows = next = arena_alloc(pack->arena, wire->workloads.len * sizeof(*rows));
	if (!rows)
		return pack_no_memory(pack);
	wire_for_each(const struct wire_dry_run_workload, workload, wire->workloads) {
		if (!read_workload(workload, next++))
			return 0;
	}
	*dry_run = (struct dry_run_status){
		.since_us = wire->since_us,
		.through_us = wire->through_us,
		.refused = wire->refused,
		.rows = rows,
		.n_rows = wire->workloads.len,
	};
	return 0;
}

/* The list is written anew as a whole: one that cannot be read is none. */
static int read_classes(const struct wire_list *wire, const struct pack *pack,
			struct quota_classes *classes)
{
	struct quota_class *list, *next;

	if (wire->len > LIMIT_STATUS_CLASSES)
		return 0;
	list = next = arena_alloc(pack->arena, wire->len * sizeof(*list));
	if (!list)
		return pack_no_memory(pack);
	wire_for_each(const struct wire_quota_device_class, class, *wire) {
		if (str_empty(class->name) || class->name.len > LIMIT_NAME ||
		    class->resource.len > LIMIT_INTERNED_STRING)
			return 0;
		*next++ = (struct quota_class){class->name, class->resource};
	}
	*classes = (struct quota_classes){.list = list, .n = wire->len};
	return 0;
}

int pack_quota_status(const struct wire_gpu_memory_quota *wire, const struct pack *pack,
		      struct quota_facts *facts)
{
	const struct wire_quota_status *from = &wire->status;
	struct quota_status status = {.observed_generation = from->observed_generation,
				      .unshown = !wire_has(from, WIRE_STATUS_SHOWN)};
	struct quota_row *rows = NULL;

	if (!wire_has(wire, WIRE_GPU_MEMORY_QUOTA_STATUS) ||
	    from->resources.len > LIMIT_STATUS_RESOURCES || !read_amounts(from, &status))
		return 0;
	if (read_rows(&from->resources, pack, &rows) < 0 ||
	    read_classes(&from->device_classes, pack, &status.classes) < 0 ||
	    read_dry_run(&from->dry_run, pack, &status.dry_run) < 0)
		return -1;
	if (!rows)
		return 0;
	status.rows = rows;
	status.n_rows = from->resources.len;
	wire_for_each(const struct wire_condition, condition, from->conditions)
		read_condition(condition, &status);
	facts->status = status;
	facts->has_status = true;
	return 0;
}
