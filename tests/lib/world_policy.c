/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The admission policies gpuqos-quota, gpuqos-claims and gpuqos-tenant-needs-quota once more, from
 * what they say: prices are those of status.resources, room is what was published, and a quota that
 * does not govern is passed over.
 */
#include <string.h>

#include "lib/world_api.h"
#include "lib/world_gates.h"

bool world_policy_governs(const struct world_quota *quota)
{
	const struct condition *accepted = &quota->status.s.conditions[QUOTA_ACCEPTED];

	if (!quota->status.exists || quota->spec.dry_run)
		return false;
	return accepted->status == CONDITION_TRUE ||
	       accepted->reason == QUOTA_REASON_CEILING_EXCEEDED ||
	       accepted->reason == QUOTA_REASON_INVALID;
}

/* What it comes to, in all and by the one product that is capped. */
struct bill {
	int64_t bytes, cards, product_bytes, product_cards;
};

static void add(const struct world_quota *quota, const struct quota_row *row, int64_t units,
		int64_t bytes, struct bill *bill)
{
	int64_t cards = row->sharing == DEVICE_WHOLE ? units : 0;

	bill->bytes += bytes;
	bill->cards += cards;
	if (!str_equal(row->product, quota->cap.product))
		return;
	bill->product_bytes += bytes;
	bill->product_cards += cards;
}

static bool is_within_product(const struct world_quota *quota, const struct bill *bill)
{
	const struct product_cap *cap = &quota->cap;
	int64_t bytes = bill->product_bytes, cards = bill->product_cards;

	if (str_empty(cap->product) || bytes == 0)
		return true;
	for (size_t i = 0; i < quota->status.s.n_rows; i++) {
		const struct quota_row *row = &quota->status.rows[i];

		if (!str_equal(row->product, cap->product))
			continue;
		if (row->unit_memory != AMOUNT_UNKNOWN)
			bytes += row->used * row->unit_memory;
		if (row->sharing == DEVICE_WHOLE)
			cards += row->used;
	}
	if (cap->gpu_memory != AMOUNT_NONE && bytes > cap->gpu_memory)
		return false;
	return cap->gpus == AMOUNT_NONE || bill->product_cards == 0 || cards <= cap->gpus;
}

static bool is_within(const struct world_quota *quota, const struct bill *bill)
{
	const struct quota_spec *spec = &quota->spec;
	const struct quota_status *status = &quota->status.s;

	if (bill->bytes > 0 &&
	    status->conditions[QUOTA_PRICED].reason == QUOTA_REASON_UNKNOWN_MEMORY)
		return false;
	if (spec->pod_gpu_memory != AMOUNT_NONE && bill->bytes > spec->pod_gpu_memory)
		return false;
	if (spec->pod_gpus != AMOUNT_NONE && bill->cards > spec->pod_gpus)
		return false;
	if (spec->gpus != AMOUNT_NONE && bill->cards > 0 &&
	    bill->cards + status->gpus_used > spec->gpus)
		return false;
	return is_within_product(quota, bill) &&
	       (bill->bytes == 0 || status->used + bill->bytes <= status->effective);
}

/* The dearest row of a resource, or (where it is empty) of all, on a product; equally dear: the
 * first by name. */
static const struct quota_row *dearest(const struct world_quota *quota, struct str resource,
				       struct str product, bool whole)
{
	const struct quota_row *best = NULL;

	for (size_t i = 0; i < quota->status.s.n_rows; i++) {
		const struct quota_row *row = &quota->status.rows[i];

		if (row->unit_memory == AMOUNT_UNKNOWN ||
		    (!str_empty(resource) && !str_equal(row->resource, resource)) ||
		    (!str_empty(product) && !str_equal(row->product, product)) ||
		    (whole && row->sharing != DEVICE_WHOLE))
			continue;
		if (!best || row->unit_memory > best->unit_memory ||
		    (row->unit_memory == best->unit_memory &&
		     str_compare(row->product, best->product) < 0))
			best = row;
	}
	return best;
}

static bool has_row(const struct world_quota *quota, struct str resource)
{
	for (size_t i = 0; i < quota->status.s.n_rows; i++)
		if (str_equal(quota->status.rows[i].resource, resource))
			return true;
	return false;
}

/* Whether the name says so, to the policies. */
static bool is_of_gpus(struct str name)
{
	return str_starts_with(name, STR("nvidia.com/")) ||
	       str_starts_with(name, STR("amd.com/")) ||
	       str_starts_with(name, STR("volcano.sh/")) ||
	       str_starts_with(name, STR("koordinator.sh/"));
}

/* Whether its name, or a class that stands for it, says that it is a GPU: without a price that is
 * refused. */
static bool sounds_like_gpu(const struct world_quota *quota, struct str name)
{
	const struct quota_classes *classes = &quota->status.s.classes;

	for (size_t i = 0; i < classes->n; i++)
		if (str_equal(classes->list[i].resource, name))
			return true;
	return is_of_gpus(name);
}

static bool is_kai(enum world_resource resource)
{
	return resource == WORLD_KAI_MEMORY || resource == WORLD_KAI_FRACTION;
}

static bool price_ask(const struct world_quota *quota, const struct world_ask *ask,
		      struct str product, struct bill *bill)
{
	struct str name = world_resource_names[ask->resource];
	const struct quota_row *row;

	if (is_kai(ask->resource)) {
		row = dearest(quota, world_resource_names[WORLD_GPU], product, true);
		if (!row)
			return false;
		add(quota, row, 0,
		    ask->count *
			    (ask->resource == WORLD_KAI_MEMORY ? MIB : row->unit_memory / 1000),
		    bill);
		return true;
	}
	row = dearest(quota, name, product, false);
	if (row)
		add(quota, row, ask->count, ask->count * row->unit_memory, bill);
	return row || !(has_row(quota, name) || sounds_like_gpu(quota, name));
}

/* gpuqos-tenant-needs-quota: of what says that it asks for GPUs. */
bool world_policy_needs_no_quota(const struct world_space *space, const struct world_pod *pod)
{
	struct world_ask asks[4];
	int n = world_shape_asks(&world_shapes[pod->shape], asks);

	for (int i = 0; space->quotaless && i < n; i++)
		if (is_kai(asks[i].resource) || is_of_gpus(world_resource_names[asks[i].resource]))
			return false;
	return true;
}

bool world_policy_allows_pod(const struct world_quota *quota, const struct world_pod *pod)
{
	struct world_ask asks[4];
	int n = world_shape_asks(&world_shapes[pod->shape], asks);
	struct bill bill = {0};

	if (n == 0 || !world_policy_governs(quota))
		return true;
	for (int i = 0; i < n; i++)
		if (!price_ask(quota, &asks[i], world_product_names[pod->product], &bill))
			return false;
	return is_within(quota, &bill);
}

/* What a class is charged as: as the status tells, else by a row of its own. Empty: it is free. */
static struct str row_name(const struct world_quota *quota, int class)
{
	const struct quota_classes *classes = &quota->status.s.classes;

	for (size_t i = 0; i < classes->n; i++)
		if (str_equal(classes->list[i].name, str_from(world_classes[class].name)))
			return classes->list[i].resource;
	return world_classes[class].extended ? STR("none")
					     : world_resource_names[world_classes[class].row];
}

/* What it would take of a request. */
struct choice {
	const struct quota_row *row; /* NULL: nothing prices it */
	int64_t count;
	bool free;
};

/* A class without a row may well give GPUs: it costs the dearest row that there is. */
static struct choice choice_of(const struct world_quota *quota, int class, int64_t count)
{
	struct str name = row_name(quota, class);
	struct choice choice = {.count = count, .free = str_empty(name)};

	if (!choice.free)
		choice.row =
			dearest(quota, has_row(quota, name) ? name : STR_NONE, STR_NONE, false);
	return choice;
}

bool world_policy_allows_claim(const struct world_quota *quota, const struct world_claim *claim)
{
	struct choice first, other = {.free = true};
	struct bill bill = {0};

	if (!world_policy_governs(quota))
		return true;
	first = choice_of(quota, claim->class, claim->count);
	if (claim->other_class != WORLD_NONE)
		other = choice_of(quota, claim->other_class, 1);
	if ((!first.free && !first.row) || (!other.free && !other.row))
		return false;
	if (first.free ||
	    (!other.free && other.row->unit_memory > first.count * first.row->unit_memory))
		first = other;
	if (!first.free)
		add(quota, first.row, first.count, first.count * first.row->unit_memory, &bill);
	return is_within(quota, &bill);
}

void world_policy_sees(struct world *w, int quota)
{
	w->params[quota] = w->api.quotas[quota];
	world_status_fix(&w->params[quota].status);
}
