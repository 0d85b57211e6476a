/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod asks for by handles, and what bind_decide() is told about it and its namespace. */
#include "base/checked.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/ledger/part.h"
#include "cluster/pack/pack.h"
#include "cluster/placing/placement.h"
#include "cluster/placing/trial.h"
#include "cluster/tenants/tenants.h"
#include "quota/charge.h"

/* --- asks */

/* False: nothing in the cluster has this name, so no node offers it. */
static bool find_cell(const struct cluster *cluster, const struct device_ask *row,
		      struct vector_cell *ret_cell)
{
	uint32_t resource = intern_find(cluster->intern, row->resource);
	uint32_t device = intern_find(cluster->intern, row->device);

	if (resource == INTERN_NONE)
		return false;
	*ret_cell = (struct vector_cell){
		.count = row->count,
		.told = row->told,
		.resource = resource,
		.device = device == INTERN_NONE ? INTERN_EMPTY : device,
		.devices = (uint32_t)MIN(row->devices, VECTOR_DEVICES_MOST),
		.next = TABLE_NONE,
	};
	return true;
}

void cluster_ask_of(const struct cluster *cluster, const struct pod_facts *facts,
		    struct cluster_ask *ret_ask)
{
	struct device_ask rows[LIMIT_RESOURCES_PER_POD];
	size_t n = quota_pod_request(facts, rows, ARRAY_SIZE(rows));
	uint32_t product = intern_find(cluster->intern, facts->product);

	ret_ask->pod = cluster_pod_find(cluster, facts->namespace, facts->name, facts->uid);
	ret_ask->namespace = namespace_find(cluster, facts->namespace);
	ret_ask->product = product == INTERN_NONE ? INTERN_EMPTY : product;
	ret_ask->most = pod_most_devices(facts);
	ret_ask->alignment = facts->alignment;
	ret_ask->stranger = STR_NONE;
	ret_ask->n = 0;
	ret_ask->trial = NULL;
	ret_ask->hold = ret_ask->beside = TABLE_NONE;
	ret_ask->past_holds = false;
	ask_claims(cluster, facts, ret_ask);
	for (size_t i = 0; i < n; i++) {
		if (find_cell(cluster, &rows[i], &ret_ask->cells[ret_ask->n]))
			ret_ask->n++;
		else
			ret_ask->stranger = rows[i].resource;
	}
}

static void add_cells(const struct cluster *cluster, uint32_t vector, struct cluster_ask *ask)
{
	uint32_t cell = vectors_first(&cluster->vectors, vector);

	for (; cell != TABLE_NONE; cell = vectors_cell(&cluster->vectors, cell)->next)
		ask->cells[ask->n++] = *vectors_cell(&cluster->vectors, cell);
}

void cluster_ask_of_pod(const struct cluster *cluster, uint32_t pod, struct cluster_ask *ret_ask)
{
	const struct pod_record *record = pod_at(cluster, pod);

	ret_ask->pod = pod;
	ret_ask->namespace = record->namespace;
	ret_ask->product = record->product;
	ret_ask->most = record->most;
	ret_ask->alignment = record->alignment;
	ret_ask->stranger = STR_NONE;
	ret_ask->n = 0;
	ret_ask->trial = NULL;
	ret_ask->hold = ret_ask->beside = TABLE_NONE;
	ret_ask->past_holds = false;
	ask_claims_of_pod(cluster, pod, ret_ask);
	add_cells(cluster, record->vector, ret_ask);
}

bool cluster_ask_of_hold(const struct cluster *cluster, uint32_t hold, struct cluster_ask *ret_ask)
{
	const struct hold_record *record = hold_at(cluster, hold);
	struct str namespace = intern_str(cluster->intern, record->namespace);

	if (record->vector == TABLE_NONE)
		return false;
	ret_ask->pod = TABLE_NONE;
	ret_ask->namespace = namespace_find(cluster, namespace);
	ret_ask->product = record->product;
	ret_ask->most = record->most;
	ret_ask->alignment = record->alignment;
	ret_ask->stranger = STR_NONE;
	ret_ask->n = ret_ask->n_claims = 0;
	ret_ask->claim_unseen = false;
	ret_ask->trial = NULL;
	ret_ask->hold = hold;
	ret_ask->beside = TABLE_NONE;
	ret_ask->past_holds = false;
	add_cells(cluster, record->vector, ret_ask);
	return true;
}

uint32_t cluster_pod_find(const struct cluster *cluster, struct str namespace, struct str name,
			  struct str uid)
{
	uint32_t pod = pod_find(cluster, namespace, name);

	if (pod == TABLE_NONE ||
	    !uid_equal(pod_at(cluster, pod)->uid, uid_from(&cluster->key, uid)))
		return TABLE_NONE;
	return pod;
}

uint32_t cluster_pod_node(const struct cluster *cluster, uint32_t pod)
{
	return pod_at(cluster, pod)->node;
}

bool cluster_pod_finished(const struct cluster *cluster, uint32_t pod)
{
	return pod_finished(pod_at(cluster, pod));
}

/* --- what binding it would mean */

/* Rows of the price list as bind_decide() reads them. */
static struct bind_row row_of(const struct cluster *cluster, uint32_t row, wide_sum count,
			      wide_sum bytes)
{
	const struct price_row *price = &cluster->prices[row];
	int64_t units = sum_clamp(count);

	return (struct bind_row){
		.resource = intern_str(cluster->intern, price->resource),
		.product = intern_str(cluster->intern, price->product),
		.units = units,
		.bytes = sum_clamp(bytes),
		.gpus = price->sharing == DEVICE_WHOLE ? units : 0,
	};
}

/* Rows of one part, and one for all of it that nobody prices. */
static void add_part(const struct cluster *cluster, const struct part *part, struct str unpriced,
		     struct bind_row *rows, size_t *n)
{
	for (size_t i = 0; i < part->n_rows; i++)
		rows[(*n)++] = row_of(cluster, part->rows[i].row, part->rows[i].count,
				      part->rows[i].bytes);
	if (part->unpriced > 0)
		rows[(*n)++] = (struct bind_row){
			.resource = unpriced, .units = part->unpriced, .bytes = AMOUNT_UNKNOWN};
}

/* A claim without an allocation may get the dearest, whichever node it is. */
static bool view_asks(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		      struct arena *arena, struct bind_view *view)
{
	size_t most = (LIMIT_RESOURCES_PER_POD + 1) * (ask->n_claims + 1) + 1;
	struct bind_row *rows = arena_alloc(arena, most * sizeof(*rows));
	struct part part;

	if (!rows)
		return false;
	part_on(cluster, node, ask, &part);
	add_part(cluster, &part,
		 ask->n > 0 ? intern_str(cluster->intern, ask->cells[0].resource) : STR_NONE, rows,
		 &view->n_asks);
	if (!str_empty(ask->stranger))
		rows[view->n_asks++] = (struct bind_row){
			.resource = ask->stranger, .units = 1, .bytes = AMOUNT_UNKNOWN};
	for (size_t i = 0; i < ask->n_claims; i++) {
		claim_part(cluster, ask->claims[i], &part);
		add_part(cluster, &part, STR("devices of claims"), rows, &view->n_asks);
	}
	view->asks = rows;
	return true;
}

/* Parts of the sums that are the pod's: not to be counted twice. */
struct own {
	struct part *parts; /* of the pod where it is assumed to be, then of its claims */
	size_t n;
};

/* What nobody prices counts whether it is held or only asked for. */
static void leave_unpriced(struct part *part)
{
	part->bytes = 0;
	part->n_rows = 0;
}

static bool own_parts(const struct cluster *cluster, const struct cluster_ask *ask,
		      struct arena *arena, struct own *ret_own)
{
	const struct pod_record *pod = ask->pod == TABLE_NONE ? NULL : pod_at(cluster, ask->pod);
	struct part *parts = arena_alloc(arena, (ask->n_claims + 1) * sizeof(*parts));
	size_t n = 0;

	if (!parts)
		return false;
	if (pod && pod->node != TABLE_NONE && !pod_finished(pod))
		pod_part(cluster, pod, &parts[n++]);
	for (size_t i = 0; i < ask->n_claims; i++) {
		claim_part(cluster, ask->claims[i], &parts[n++]);
		if (!parts[n - 1].live)
			leave_unpriced(&parts[n - 1]);
	}
	*ret_own = (struct own){parts, n};
	return true;
}

static void own_row(const struct own *own, uint32_t row, wide_sum *count, wide_sum *bytes)
{
	for (size_t k = 0; k < own->n; k++)
		for (size_t i = 0; i < own->parts[k].n_rows; i++) {
			if (own->parts[k].rows[i].row != row)
				continue;
			*count -= own->parts[k].rows[i].count;
			*bytes -= own->parts[k].rows[i].bytes;
		}
}

static bool view_held(const struct cluster *cluster, const struct cluster_ask *ask,
		      const struct own *own, struct arena *arena, struct bind_view *view)
{
	const struct sums *sums = &namespace_at(cluster, ask->namespace)->sums;
	struct bind_row *rows = arena_alloc(arena, (cluster->n_prices + 1) * sizeof(*rows));
	wide_sum unpriced = sums->unpriced - trial_unpriced(cluster, ask);

	if (!rows)
		return false;
	for (uint32_t use = sums->first_use; use != TABLE_NONE; use = use_at(cluster, use)->next) {
		const struct use_record *record = use_at(cluster, use);
		struct trial_sum gone = trial_of_row(cluster, ask, record->row);
		wide_sum count = record->count_live - gone.count;
		wide_sum bytes = record->bytes_live - gone.bytes;

		own_row(own, record->row, &count, &bytes);
		if (count > 0)
			rows[view->n_held++] = row_of(cluster, record->row, count, bytes);
	}
	for (size_t k = 0; k < own->n; k++)
		unpriced -= own->parts[k].unpriced;
	if (unpriced > 0)
		rows[view->n_held++] = (struct bind_row){.resource = STR("devices"),
							 .units = sum_clamp(unpriced),
							 .bytes = AMOUNT_UNKNOWN};
	view->held = rows;
	return true;
}

/* What is live in all namespaces of a tenant. */
static struct bind_held held_by_tenant(const struct cluster *cluster, uint32_t tenant)
{
	uint32_t member = tenant_at(cluster, tenant)->first_member;
	wide_sum bytes = 0, gpus = 0;

	for (; member != TABLE_NONE; member = namespace_at(cluster, member)->member_next) {
		const struct sums *sums = &namespace_at(cluster, member)->sums;

		bytes += sums->live;
		for (uint32_t use = sums->first_use; use != TABLE_NONE;
		     use = use_at(cluster, use)->next)
			if (cluster->prices[use_at(cluster, use)->row].sharing == DEVICE_WHOLE)
				gpus += use_at(cluster, use)->count_live;
	}
	return (struct bind_held){sum_clamp(bytes), sum_clamp(gpus)};
}

static void leave_out(const struct cluster *cluster, const struct part *own, struct bind_held *held)
{
	held->bytes -= MIN(held->bytes, own->bytes);
	for (size_t i = 0; i < own->n_rows; i++)
		if (cluster->prices[own->rows[i].row].sharing == DEVICE_WHOLE)
			held->gpus -= MIN(held->gpus, own->rows[i].count);
}

static bool view_tenant(const struct cluster *cluster, const struct cluster_ask *ask,
			const struct own *own, struct arena *arena, struct bind_view *view)
{
	uint32_t tenant = namespace_at(cluster, ask->namespace)->tenant;
	struct trial_sum gone = trial_of_tenant(cluster, ask, tenant);
	const struct tenant_record *record = tenant_at(cluster, tenant);
	struct bind_tenant *to = arena_alloc(arena, sizeof(*to));

	if (!to)
		return false;
	*to = (struct bind_tenant){
		.name = intern_str(cluster->intern, record->name),
		.ceiling = record->ceiling,
		.ceiling_gpus = record->ceiling_gpus,
		.held = held_by_tenant(cluster, tenant),
	};
	to->held.bytes -= MIN(to->held.bytes, sum_clamp(gone.bytes));
	to->held.gpus -= MIN(to->held.gpus, sum_clamp(gone.count));
	for (size_t k = 0; k < own->n; k++)
		leave_out(cluster, &own->parts[k], &to->held);
	view->tenant = to;
	return true;
}

/* As quota_decide() has it: what its tenant decided, else what the quota says; of a spec that
 * cannot be used, nothing. */
static void view_effective(const struct cluster *cluster, uint32_t namespace, bool usable,
			   struct bind_view *view)
{
	uint32_t tenant = namespace_at(cluster, namespace)->tenant;
	struct tenant_grant grant;

	view->effective = usable ? view->spec->gpu_memory : 0;
	view->effective_gpus = usable ? view->spec->gpus : AMOUNT_NONE;
	if (tenant == TABLE_NONE || !usable)
		return;
	grant = grant_of(cluster, namespace);
	view->effective = grant.effective - grant.withheld;
	if (tenant_at(cluster, tenant)->ceiling_gpus == AMOUNT_NONE)
		return;
	grant.effective_gpus -= grant.withheld_gpus;
	view->effective_gpus = view->effective_gpus == AMOUNT_NONE
				       ? grant.effective_gpus
				       : MIN(view->effective_gpus, grant.effective_gpus);
}

static bool view_quota(const struct cluster *cluster, uint32_t namespace, uint32_t quota,
		       struct arena *arena, struct bind_view *view)
{
	const struct quota_record *record = quota_at(cluster, quota);
	struct quota_facts *facts = arena_alloc(arena, sizeof(*facts));

	if (!facts || !unpack_quota((struct str){record->bytes, record->len}, arena, facts))
		return false;
	view->spec = &facts->spec;
	view_effective(cluster, namespace, !record->amounts.invalid, view);
	return true;
}

static bool view_namespace(const struct cluster *cluster, const struct cluster_ask *ask,
			   struct arena *arena, struct bind_view *view)
{
	uint32_t quota = quota_governing(cluster, ask->namespace);
	uint32_t tenant = namespace_at(cluster, ask->namespace)->tenant;
	struct own own;

	if (!own_parts(cluster, ask, arena, &own) || !view_held(cluster, ask, &own, arena, view))
		return false;
	if (quota != TABLE_NONE && !view_quota(cluster, ask->namespace, quota, arena, view))
		return false;
	return tenant == TABLE_NONE || view_tenant(cluster, ask, &own, arena, view);
}

bool cluster_bind_view(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		       struct arena *arena, struct bind_view *ret_view)
{
	struct bind_view view = {
		.reconfiguring = node_at(cluster, node)->reconfiguring,
		.effective_gpus = AMOUNT_NONE,
	};

	if (!view_asks(cluster, ask, node, arena, &view) ||
	    (ask->namespace != TABLE_NONE && !view_namespace(cluster, ask, arena, &view)))
		return false;
	*ret_view = view;
	return true;
}
