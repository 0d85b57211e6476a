/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model's own ledger. The rules:
 *   - a pod that is not finished holds what Kubernetes' formula says it asks for; bound, at what
 *     its node has; else at the dearest of the product that it insists on, or of all;
 *   - parts of cards on a node that cuts none are whole cards;
 *   - what does not tell its memory is the dearest there is; failing that what its name claims;
 *     failing that it has no price;
 *   - a claim is charged once: what it was given, before that the dearest it could be given. One
 *     that the scheduler made for a pod's extended resource is the pod's;
 *   - a pod stuck terminating where nobody is there is let go when the quota says so.
 */
#include "lib/world_recount.h"

#include <string.h>

#include "lib/world_api.h"
#include "lib/world_gates.h"
#include "lib/world_shell.h"

/* --- the market */

static void add_lot(struct world_market *market, struct world_lot lot)
{
	market->lots[market->n++] = lot;
}

static void add_slice(const struct world_state *state, int i, struct world_market *market)
{
	const struct world_profile *profile = &world_profiles[state->slices[i].profile];

	for (int k = 0; k < profile->n_devices; k++) {
		const struct world_device *device = &profile->devices[k];

		if (state->classes[device->class].meta.exists && device->memory != AMOUNT_NONE)
			add_lot(market, (struct world_lot){
						(int)world_classes[device->class].row,
						device->product, i, device->memory, device->memory,
						device->class == 1 ? DEVICE_MIG : DEVICE_WHOLE});
	}
}

/* What the table has is a card also while nobody offers it. */
static void add_known(struct world_market *market)
{
	for (int i = 0; i < market->n; i++)
		if (market->lots[i].resource == WORLD_TABLE)
			return;
	add_lot(market, (struct world_lot){WORLD_TABLE, WORLD_NO_PRODUCT, WORLD_NONE,
					   AMOUNT_UNKNOWN, AMOUNT_UNKNOWN, DEVICE_WHOLE});
}

void world_market(const struct world_state *state, struct world_market *ret_market)
{
	ret_market->n = 0;
	for (int i = 0; i < WORLD_NODES; i++) {
		const struct world_profile *profile = &world_profiles[state->nodes[i].profile];

		for (int k = 0; state->nodes[i].meta.exists && k < profile->n_offers; k++) {
			const struct world_offer *offer = &profile->offers[k];

			add_lot(ret_market,
				(struct world_lot){
					(int)offer->resource, offer->product, i, offer->unit,
					offer->min ? offer->min : offer->unit, offer->sharing});
		}
		if (state->slices[i].meta.exists)
			add_slice(state, i, ret_market);
	}
	add_known(ret_market);
}

static int64_t by_name(int resource)
{
	if (resource == WORLD_MIG_SMALL)
		return 10 * GIB;
	return resource == WORLD_MIG_LARGE ? 40 * GIB : AMOUNT_UNKNOWN;
}

/* The largest of a resource, of one product or (WORLD_NONE) of all; what nobody tells is left out.
 */
static int64_t largest(const struct world_market *market, int resource, int product)
{
	int64_t unit = AMOUNT_UNKNOWN;

	for (int i = 0; i < market->n; i++)
		if (market->lots[i].resource == resource &&
		    (product == WORLD_NONE || market->lots[i].product == product))
			unit = MAX(unit, market->lots[i].unit);
	return unit;
}

static bool has(const struct world_market *market, int resource, int product, bool silent)
{
	for (int i = 0; i < market->n; i++)
		if (market->lots[i].resource == resource && market->lots[i].product == product &&
		    (!silent || market->lots[i].unit == AMOUNT_UNKNOWN))
			return true;
	return false;
}

/* Of one unit; @product: that it insists on, WORLD_NONE for any. */
static int64_t price(const struct world_market *market, int resource, int product)
{
	int64_t most = largest(market, resource, WORLD_NONE);

	if (most == AMOUNT_UNKNOWN)
		most = by_name(resource);
	if (product == WORLD_NONE || !has(market, resource, product, false) ||
	    has(market, resource, product, true))
		return most;
	return largest(market, resource, product);
}

int64_t world_smallest(const struct world_market *market, int resource)
{
	int64_t unit = AMOUNT_UNKNOWN;

	for (int i = 0; i < market->n; i++) {
		const struct world_lot *lot = &market->lots[i];

		if (lot->resource == resource && lot->min != AMOUNT_UNKNOWN &&
		    (unit == AMOUNT_UNKNOWN || lot->min < unit))
			unit = lot->min;
	}
	return unit == AMOUNT_UNKNOWN ? by_name(resource) : unit;
}

/* --- rows: a resource on a product, which is whole where any node has it whole */

static bool is_whole_row(const struct world_market *market, int resource, int product)
{
	for (int i = 0; i < market->n; i++)
		if (market->lots[i].resource == resource && market->lots[i].product == product &&
		    market->lots[i].sharing == DEVICE_WHOLE)
			return true;
	return false;
}

bool world_is_whole(const struct world_market *market, int resource)
{
	bool some = false;

	for (int i = 0; i < market->n; i++) {
		if (market->lots[i].resource != resource)
			continue;
		if (!is_whole_row(market, resource, market->lots[i].product))
			return false;
		some = true;
	}
	return some;
}

/* Under which product something without a node is counted: of the dearest the first by name. */
static int counted_product(const struct world_market *market, int resource, int product)
{
	int64_t most = largest(market, resource, WORLD_NONE);
	int best = WORLD_NONE;

	if (product != WORLD_NONE && has(market, resource, product, false))
		return product;
	for (int p = 0; p < WORLD_PRODUCTS; p++) {
		bool dearest =
			has(market, resource, p, true) ||
			(has(market, resource, p, false) && largest(market, resource, p) == most);

		if (dearest && (best == WORLD_NONE ||
				str_compare(world_product_names[p], world_product_names[best]) < 0))
			best = p;
	}
	return best;
}

static int64_t count_units(const struct world_market *market, int resource, int product,
			   int64_t count, struct world_sum *sum)
{
	if (product == WORLD_NONE)
		return 0;
	sum->units[resource] += count;
	return is_whole_row(market, resource, product) ? count : 0;
}

/* --- a pod */

static const struct world_lot *lot_of(const struct world_market *market, int resource, int node)
{
	const struct world_lot *best = NULL;

	for (int i = 0; i < market->n; i++) {
		const struct world_lot *lot = &market->lots[i];

		if (lot->resource == resource && lot->node == node && node != WORLD_NONE &&
		    (!best || lot->unit > best->unit))
			best = lot;
	}
	return best;
}

static bool is_finished(const struct world_pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

struct cost {
	int64_t bytes, unpriced, gpus;
};

static void add_cost(struct cost *cost, int64_t count, int64_t unit)
{
	if (unit == AMOUNT_UNKNOWN)
		cost->unpriced += count;
	else
		cost->bytes += count * unit;
}

static struct cost cost_of_pod(const struct world_market *market, const struct world_pod *pod,
			       struct world_sum *sum)
{
	int product = pod->product == WORLD_NO_PRODUCT ? WORLD_NONE : pod->product;
	struct world_ask asks[4];
	int n = world_shape_asks(&world_shapes[pod->shape], asks);
	struct cost cost = {0};

	for (int i = 0; i < n; i++) {
		int resource = (int)asks[i].resource;
		int64_t count = asks[i].count;
		const struct world_lot *lot = lot_of(market, resource, pod->node);

		if (!lot && asks[i].devices > 0) {
			lot = lot_of(market, asks[i].device, pod->node);
			if (lot || price(market, resource, WORLD_NONE) == AMOUNT_UNKNOWN) {
				resource = asks[i].device;
				count = asks[i].devices;
			}
		}
		if (lot && lot->unit != AMOUNT_UNKNOWN)
			add_cost(&cost, count, lot->unit);
		else
			add_cost(&cost, count,
				 price(market, resource, lot ? lot->product : product));
		cost.gpus +=
			count_units(market, resource,
				    lot ? lot->product : counted_product(market, resource, product),
				    count, sum);
	}
	return cost;
}

bool world_is_released(const struct world_state *state, int i, int64_t now_us)
{
	const struct world_pod *pod = &state->pods[i];
	int q = world_governing(state, i / WORLD_PODS);
	const struct world_node *node = &state->nodes[MAX(pod->node, 0)];
	bool lost = pod->node == WORLD_NONE || !node->meta.exists || node->ready == NODE_NOT_READY;

	if (!pod->meta.terminating || !lost || q == WORLD_NONE || state->quotas[q].invalid ||
	    !state->quotas[q].spec.release_terminal)
		return false;
	return now_us >= pod->deletion_us + state->quotas[q].spec.terminal_timeout_us;
}

static void add_pod(const struct world_state *state, const struct world_market *market, int i,
		    int64_t now_us, struct world_sum *sum)
{
	const struct world_pod *pod = &state->pods[i];
	struct world_sum aside = {0};
	bool released = world_is_released(state, i, now_us);
	struct cost cost;

	if (!pod->meta.exists || is_finished(pod) || world_shapes[pod->shape].claim)
		return;
	cost = cost_of_pod(market, pod, released ? &aside : sum);
	if (released) {
		sum->released += cost.bytes;
		sum->released_pods++;
		return;
	}
	sum->used += cost.bytes;
	sum->live += pod->node == WORLD_NONE ? 0 : cost.bytes;
	sum->unpriced += cost.unpriced;
	sum->gpus += cost.gpus;
	sum->pods++;
}

/* --- a claim */

static bool is_carried(const struct world_state *state, int i)
{
	const struct world_claim *claim = &state->claims[i];
	const struct world_pod *pod;

	if (claim->pod == WORLD_NONE)
		return false;
	pod = &state->pods[claim->pod];
	return pod->meta.exists && pod->meta.uid == claim->pod_uid && !is_finished(pod) &&
	       pod->claim == i && !world_shapes[pod->shape].claim;
}

/* Of anything. */
static int64_t dearest(const struct world_market *market)
{
	int64_t unit = AMOUNT_UNKNOWN;

	for (int i = 0; i < market->n; i++)
		unit = MAX(unit, market->lots[i].unit);
	return unit;
}

/* Whether anything is known of what its devices cost; where not, the dearest stands in for it. */
static bool is_known_class(const struct world_state *state, const struct world_market *market,
			   int class)
{
	return state->classes[class].meta.exists &&
	       price(market, (int)world_classes[class].row, WORLD_NONE) != AMOUNT_UNKNOWN;
}

static int64_t class_price(const struct world_state *state, const struct world_market *market,
			   int class)
{
	return is_known_class(state, market, class)
		       ? price(market, (int)world_classes[class].row, WORLD_NONE)
		       : dearest(market);
}

/* What is no GPU is free, where it is known to be none: while its driver shows devices. */
static bool is_free(const struct world_state *state, int class)
{
	if (!state->classes[class].meta.exists || !world_classes[class].free)
		return false;
	for (int i = 0; i < WORLD_NODES; i++)
		if (state->slices[i].meta.exists && state->slices[i].profile == WORLD_NODE_NETWORK)
			return true;
	return false;
}

static void add_devices(const struct world_state *state, const struct world_market *market,
			const struct world_claim *claim, int64_t *at, struct world_sum *sum)
{
	const struct world_slice *slice = &state->slices[claim->pool];
	const struct world_profile *profile = &world_profiles[slice->profile];
	int row = (int)world_classes[claim->given].row;

	for (int k = 0; k < world_claim_devices(claim); k++) {
		int d = world_claim_device(claim, k);
		bool found = slice->meta.exists && d < profile->n_devices &&
			     strcmp(world_classes[profile->devices[0].class].driver,
				    world_classes[claim->given].driver) == 0;
		struct cost cost = {0};
		int product = found ? profile->devices[d].product
				    : counted_product(market, row, WORLD_NONE);

		if (found ? profile->devices[d].memory == AMOUNT_NONE
			  : is_free(state, claim->given))
			continue;
		add_cost(&cost, 1,
			 found ? profile->devices[d].memory
			       : class_price(state, market, claim->given));
		if (!state->classes[claim->given].meta.exists ||
		    (found && !has(market, row, product, false)))
			product = WORLD_NONE;
		*at += cost.bytes;
		sum->unpriced += cost.unpriced;
		if (found || is_known_class(state, market, claim->given))
			sum->gpus += count_units(market, row, product, 1, sum);
	}
}

/* Before it is allocated: of its two choices the dearer; the first, where they are equally dear. */
static void add_choice(const struct world_state *state, const struct world_market *market,
		       const struct world_claim *claim, int64_t *at, struct world_sum *sum)
{
	int class = claim->class, other_class = claim->other_class, row;
	int64_t count = claim->count, unit;

	if (other_class != WORLD_NONE && is_free(state, other_class))
		other_class = WORLD_NONE;
	if (is_free(state, class)) {
		class = other_class;
		other_class = WORLD_NONE;
		count = 1;
	}
	if (class == WORLD_NONE)
		return;
	unit = class_price(state, market, class);
	if (other_class != WORLD_NONE) {
		int64_t other = class_price(state, market, other_class);

		if (other == AMOUNT_UNKNOWN) {
			sum->unpriced += unit == AMOUNT_UNKNOWN ? 0 : 1;
		} else if (unit == AMOUNT_UNKNOWN) {
			sum->unpriced += count;
			class = other_class;
			unit = other;
			count = 1;
		} else if (other > count * unit) {
			class = other_class;
			unit = other;
			count = 1;
		}
	}
	row = (int)world_classes[class].row;
	if (unit == AMOUNT_UNKNOWN) {
		sum->unpriced += count;
		return;
	}
	*at += count * unit;
	if (is_known_class(state, market, class))
		sum->gpus += count_units(market, row, counted_product(market, row, WORLD_NONE),
					 count, sum);
}

static void add_claim(const struct world_state *state, const struct world_market *market, int i,
		      struct world_sum *sum)
{
	const struct world_claim *claim = &state->claims[i];
	int64_t bytes = 0;

	if (!claim->meta.exists || is_carried(state, i))
		return;
	if (claim->allocated)
		add_devices(state, market, claim, &bytes, sum);
	else
		add_choice(state, market, claim, &bytes, sum);
	sum->used += bytes;
	sum->live += claim->allocated ? bytes : 0;
}

void world_recount(const struct world_state *state, int space, int64_t now_us,
		   struct world_sum *ret_sum)
{
	struct world_market market;

	memset(ret_sum, 0, sizeof(*ret_sum));
	world_market(state, &market);
	for (int i = space * WORLD_PODS; i < (space + 1) * WORLD_PODS; i++)
		add_pod(state, &market, i, now_us, ret_sum);
	for (int i = space * WORLD_CLAIMS; i < (space + 1) * WORLD_CLAIMS; i++)
		add_claim(state, &market, i, ret_sum);
}

/* --- who governs what */

static bool is_older(const struct world_object *a, const struct world_object *b)
{
	return a->created_us < b->created_us; /* ties by name, which is the index */
}

int world_tenant_of(const struct world_state *state, int space)
{
	const struct world_space *s = &state->spaces[space];
	int best = WORLD_NONE;

	for (int t = 0; s->meta.exists && s->team != WORLD_NONE && t < WORLD_TENANTS; t++) {
		const struct world_tenant *tenant = &state->tenants[t];

		if (tenant->meta.exists && !tenant->meta.terminating &&
		    tenant->teams & 1u << s->team &&
		    (best == WORLD_NONE || is_older(&tenant->meta, &state->tenants[best].meta)))
			best = t;
	}
	return best;
}

int world_governing(const struct world_state *state, int space)
{
	int best = WORLD_NONE;

	for (int q = space * WORLD_QUOTAS; q < (space + 1) * WORLD_QUOTAS; q++) {
		const struct world_object *meta = &state->quotas[q].meta;

		if (meta->exists && !meta->terminating &&
		    (best == WORLD_NONE || is_older(meta, &state->quotas[best].meta)))
			best = q;
	}
	return best;
}

struct world_held world_enforced(const struct world_state *state, const struct world_market *market,
				 int space)
{
	const struct world_rq *rq = &state->rqs[space];
	int q = world_governing(state, space);
	struct world_held held = {0};

	if (q != WORLD_NONE && state->quotas[q].status.exists)
		held.bytes = state->quotas[q].status.s.effective;
	for (int r = 0; rq->meta.exists && r < WORLD_RESOURCES; r++) {
		int64_t units = MAX(MAX(rq->hard[r], rq->status_hard[r]), 0);
		int64_t unit = world_smallest(market, r);

		if (unit != AMOUNT_UNKNOWN)
			held.bytes = MAX(held.bytes, units * unit);
		if (world_is_whole(market, r))
			held.gpus = MAX(held.gpus, units);
	}
	return held;
}
