/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a ResourceClaim costs: allocated, the devices that it has; before that, the dearest that its
 * classes may give it. One that the scheduler made for the extended resources of a pod is not
 * charged beside that pod. What says so is the pod's status, which a tenant cannot write, and not
 * the claim.
 */
#include "base/checked.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/ledger/part.h"
#include "model/claim.h"

/* Whether its pod is charged for it. */
static bool is_carried(const struct cluster *cluster, const struct device_claim_record *claim)
{
	const struct pod_record *pod;
	uint32_t handle;

	if (!claim->has_owner)
		return false;
	handle = pod_of(cluster, claim->namespace, claim->owner_name);
	if (handle == TABLE_NONE)
		return false;
	pod = pod_at(cluster, handle);
	return uid_equal(pod->uid, claim->owner) && !pod_finished(pod) &&
	       pod->extended_claim == claim->name;
}

/* What one device costs, and where it is counted. */
struct cost {
	int64_t unit; /* bytes or AMOUNT_UNKNOWN */
	const struct price_row *row;
	bool free;    /* it is no GPU */
	bool assumed; /* it does not tell its memory */
};

static const struct class_record *class_named(const struct cluster *cluster, uint32_t name)
{
	uint32_t class = class_find(cluster, intern_str(cluster->intern, name));

	return class == TABLE_NONE ? NULL : class_at(&cluster->dra, class);
}

/* Of a class of which nothing is known: the dearest device there is, under no row, as at admission.
 */
static struct cost strange_cost(const struct cluster *cluster)
{
	return (struct cost){.unit = cluster->dearest, .assumed = true};
}

/* The dearest that a class may give, as far as that is known. */
static struct cost known_cost(const struct cluster *cluster, const struct class_record *class)
{
	struct price_list list = prices_of(cluster);
	const struct offer_kind *dearest;
	struct cost cost = {.free = class_is_free(class)};

	if (cost.free)
		return cost;
	if (class->dearest == TABLE_NONE) {
		cost.unit = part_price(cluster, class->row, PRODUCT_ANY);
		cost.row = price_row_charged(&list, class->row, PRODUCT_ANY);
		return cost;
	}
	dearest = kind_at(cluster, class->dearest);
	cost.unit = dearest->unit_memory;
	if (cost.unit == AMOUNT_UNKNOWN)
		cost.unit = part_price(cluster, class->row, dearest->product);
	cost.row = price_find(&list, class->row, dearest->product);
	return cost;
}

static struct cost class_cost(const struct cluster *cluster, uint32_t name)
{
	const struct class_record *class = class_named(cluster, name);
	struct cost cost;

	if (!class)
		return strange_cost(cluster);
	cost = known_cost(cluster, class);
	return cost.free || cost.unit != AMOUNT_UNKNOWN ? cost : strange_cost(cluster);
}

static struct cost device_cost(const struct cluster *cluster, const struct claim_result *result,
			       const struct device_record *device)
{
	const struct class_record *class = class_named(cluster, result->class);
	struct price_list list = prices_of(cluster);
	struct cost cost = {.unit = AMOUNT_UNKNOWN, .free = device->kind == TABLE_NONE};
	const struct device_kind *kind;

	if (cost.free)
		return cost;
	kind = device_kind_at(&cluster->dra, device->kind);
	cost.unit = kind->memory;
	if (kind->shared && result->consumed != AMOUNT_NONE)
		cost.unit = result->consumed;
	cost.assumed = cost.unit == AMOUNT_UNKNOWN;
	if (!class)
		return cost;
	if (cost.unit == AMOUNT_UNKNOWN)
		cost.unit = part_price(cluster, class->row, PRODUCT_ANY);
	cost.row = price_find(&list, class->row, kind->product);
	return cost;
}

static struct cost result_cost(const struct cluster *cluster, const struct claim_result *result)
{
	uint32_t device = device_find(cluster, result->pool, result->device);
	struct cost cost;

	if (device != TABLE_NONE)
		return device_cost(cluster, result, device_at(&cluster->dra, device));
	cost = class_cost(cluster, result->class);
	if (!cost.free && result->consumed != AMOUNT_NONE)
		cost.unit = result->consumed;
	return cost;
}

static void add_results(const struct cluster *cluster, const struct device_claim_record *claim,
			struct part *part)
{
	for (uint32_t h = claim->first_result; h != TABLE_NONE;
	     h = result_at(&cluster->dra, h)->next) {
		struct cost cost = result_cost(cluster, result_at(&cluster->dra, h));

		int64_t bytes;

		if (cost.free)
			continue;
		bytes = part_add(cluster, part, cost.row, 1, cost.unit);
		if (cost.assumed)
			part->assumed = saturating_add(part->assumed, bytes);
	}
}

/* So many devices of a class. */
struct wanted {
	struct cost cost;
	int64_t count; /* 0: none */
};

/* The dearest choice that can be priced, and the largest that cannot. */
static void weigh(const struct wanted *choice, struct wanted *priced, struct wanted *unpriced)
{
	int64_t bytes = saturating_mul(choice->count, MAX(choice->cost.unit, (int64_t)0));

	if (choice->cost.free)
		return;
	if (choice->cost.unit == AMOUNT_UNKNOWN) {
		if (choice->count > unpriced->count)
			*unpriced = *choice;
	} else if (bytes > saturating_mul(priced->count, priced->cost.unit)) {
		*priced = *choice;
	}
}

static void add_request(const struct cluster *cluster, const struct wanted *wanted,
			struct part *part)
{
	int64_t bytes;

	if (wanted->count == 0)
		return;
	bytes = part_add(cluster, part, wanted->cost.row, wanted->count, wanted->cost.unit);
	if (wanted->cost.assumed)
		part->assumed = saturating_add(part->assumed, bytes);
}

static void add_asks(const struct cluster *cluster, const struct device_claim_record *claim,
		     struct part *part)
{
	uint32_t h = claim->first_ask;

	while (h != TABLE_NONE) {
		uint32_t request = ask_at(&cluster->dra, h)->request;
		struct wanted priced = {0}, unpriced = {0};

		while (h != TABLE_NONE && ask_at(&cluster->dra, h)->request == request) {
			const struct claim_ask *ask = ask_at(&cluster->dra, h);
			struct wanted choice = {class_cost(cluster, ask->class), ask->count};

			weigh(&choice, &priced, &unpriced);
			h = ask->next;
		}
		add_request(cluster, &priced, part);
		add_request(cluster, &unpriced, part);
	}
}

void claim_part(const struct cluster *cluster, uint32_t claim, struct part *ret_part)
{
	const struct device_claim_record *record = device_claim_at(&cluster->dra, claim);

	ret_part->bytes = ret_part->unpriced = ret_part->assumed = 0;
	ret_part->disagreeing = false;
	ret_part->n_rows = 0;
	ret_part->pods = 0;
	ret_part->live = record->allocated || claim_is_held(cluster, record);
	ret_part->released = false;
	if (is_carried(cluster, record))
		return;
	if (record->allocated)
		add_results(cluster, record, ret_part);
	else
		add_asks(cluster, record, ret_part);
}

static uint32_t gpus_of_asks(const struct cluster *cluster, const struct device_claim_record *claim)
{
	uint32_t h = claim->first_ask;
	int64_t sum = 0;

	while (h != TABLE_NONE) {
		uint32_t request = ask_at(&cluster->dra, h)->request;
		int64_t most = 0;

		for (; h != TABLE_NONE && ask_at(&cluster->dra, h)->request == request;
		     h = ask_at(&cluster->dra, h)->next)
			if (!class_cost(cluster, ask_at(&cluster->dra, h)->class).free)
				most = MAX(most, ask_at(&cluster->dra, h)->count);
		sum = saturating_add(sum, most);
	}
	return (uint32_t)MIN(sum, (int64_t)LIMIT_LAYOUT_GPUS);
}

uint32_t claim_gpus(const struct cluster *cluster, uint32_t claim)
{
	const struct device_claim_record *record = device_claim_at(&cluster->dra, claim);
	uint32_t sum = 0;

	if (!record->allocated)
		return gpus_of_asks(cluster, record);
	for (uint32_t h = record->first_result; h != TABLE_NONE;
	     h = result_at(&cluster->dra, h)->next)
		sum += !result_cost(cluster, result_at(&cluster->dra, h)).free;
	return sum;
}
