/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger. What a pod adds to its namespace's sums follows from its record, its node's offers
 * and the price list; what a claim adds is for claims.c to say. A sum is changed by taking the
 * pod's part out before any of these change and putting it in afterwards.
 *
 * Sums are of one price list. When prices change, those of all namespaces are out of date at once;
 * they are then left alone until ledger_refresh() adds them up anew, so that each namespace pays in
 * its own turn.
 */
#include "base/checked.h"
#include "base/limits.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/ledger/part.h"
#include "model/resource.h"

/* --- a pod's part */

static uint32_t offer_cell_of(const struct cluster *cluster, uint32_t node, uint32_t resource)
{
	uint32_t offer = node == TABLE_NONE ? TABLE_NONE : node_at(cluster, node)->first_offer;

	while (offer != TABLE_NONE &&
	       kind_at(cluster, offer_at(cluster, offer)->kind)->resource != resource)
		offer = offer_at(cluster, offer)->next;
	return offer;
}

/* The kind of what @node offers of @resource, or NULL; its own offer, or TABLE_NONE. */
static const struct offer_kind *find_offer(const struct cluster *cluster, uint32_t node,
					   uint32_t resource, uint32_t *ret_offer)
{
	*ret_offer = offer_cell_of(cluster, node, resource);
	if (*ret_offer != TABLE_NONE)
		return kind_at(cluster, offer_at(cluster, *ret_offer)->kind);
	return devices_offer(cluster, node, resource);
}

static const struct offer_kind *offer_of(const struct cluster *cluster, uint32_t node,
					 uint32_t resource)
{
	uint32_t offer;

	return find_offer(cluster, node, resource, &offer);
}

/* The name is read only where no node tells: it is the last source. */
int64_t part_price(const struct cluster *cluster, uint32_t resource, uint32_t product)
{
	struct price_list list = prices_of(cluster);
	int64_t unit = price_unit(&list, resource, product, AMOUNT_UNKNOWN);

	if (unit == AMOUNT_UNKNOWN)
		unit = resource_memory_by_name(intern_str(cluster->intern, resource));
	return unit;
}

/* What a hundredth or a thousandth of a card costs tells the card. */
static int64_t card_by_part(const struct cluster *cluster, uint32_t resource, int64_t unit)
{
	int64_t parts = resource_parts_of_card(intern_str(cluster->intern, resource));

	return parts > 0 && unit != AMOUNT_UNKNOWN ? saturating_mul(parts, unit) : AMOUNT_UNKNOWN;
}

static int64_t dearest_card(const struct cluster *cluster, uint32_t device)
{
	int64_t card = part_price(cluster, device, PRODUCT_ANY);

	if (card != AMOUNT_UNKNOWN)
		return card;
	for (size_t i = 0; i < cluster->n_prices; i++)
		card = MAX(card, card_by_part(cluster, cluster->prices[i].resource,
					      cluster->prices[i].largest));
	return card;
}

/* Memory of a card of the node; of the dearest there is, where the node does not tell. */
static int64_t card_of(const struct cluster *cluster, uint32_t node, uint32_t device)
{
	const struct offer_kind *kind = offer_of(cluster, node, device);
	uint32_t offer = node == TABLE_NONE ? TABLE_NONE : node_at(cluster, node)->first_offer;
	int64_t card = kind ? kind->unit_memory : AMOUNT_UNKNOWN;

	for (; card == AMOUNT_UNKNOWN && offer != TABLE_NONE;
	     offer = offer_at(cluster, offer)->next) {
		kind = kind_at(cluster, offer_at(cluster, offer)->kind);
		card = card_by_part(cluster, kind->resource, kind->unit_memory);
	}
	return card != AMOUNT_UNKNOWN ? card : dearest_card(cluster, device);
}

/*
 * What a pod asks for, and of what it is told to have got beyond that as much as the cards that it
 * asks for have at a price of @unit. Where nobody tells that, nothing.
 */
static int64_t count_of(const struct cluster *cluster, uint32_t node,
			const struct vector_cell *cell, int64_t unit)
{
	int64_t card, most;

	if (cell->told == 0 || unit == AMOUNT_UNKNOWN || unit == 0)
		return cell->count;
	card = card_of(cluster, node, cell->device);
	if (card == AMOUNT_UNKNOWN)
		return cell->count;
	most = saturating_mul(cell->devices, card / unit);
	return MAX(cell->count, MIN(saturating_add(cell->count, cell->told), most));
}

struct units units_on(const struct cluster *cluster, uint32_t node, uint32_t product,
		      const struct vector_cell *cell)
{
	struct units units = {
		.count = cell->count,
		.resource = class_row(cluster, cell->resource),
		.product = product == INTERN_EMPTY ? PRODUCT_ANY : product,
	};

	units.kind = find_offer(cluster, node, units.resource, &units.offer);
	if (!units.kind && cell->devices > 0) {
		units.kind = find_offer(cluster, node, cell->device, &units.offer);
		if (units.kind ||
		    part_price(cluster, cell->resource, PRODUCT_ANY) == AMOUNT_UNKNOWN) {
			units.count = cell->devices;
			units.resource = cell->device;
		}
	}
	if (units.kind)
		units.product = units.kind->product;
	return units;
}

static void add_row(struct part *part, uint32_t row, int64_t count, int64_t bytes)
{
	for (size_t i = 0; i < part->n_rows; i++)
		if (part->rows[i].row == row) {
			part->rows[i].count = saturating_add(part->rows[i].count, count);
			part->rows[i].bytes = saturating_add(part->rows[i].bytes, bytes);
			return;
		}
	part->rows[part->n_rows++] = (struct part_row){row, count, bytes};
}

int64_t part_add(const struct cluster *cluster, struct part *part, const struct price_row *row,
		 int64_t count, int64_t unit)
{
	int64_t bytes = 0;

	if (unit == AMOUNT_UNKNOWN)
		part->unpriced = saturating_add(part->unpriced, count);
	else
		bytes = saturating_mul(count, unit);
	part->bytes = saturating_add(part->bytes, bytes);
	if (row)
		add_row(part, (uint32_t)(row - prices_of(cluster).rows), count, bytes);
	return bytes;
}

static void add_cell(const struct cluster *cluster, uint32_t node, uint32_t product,
		     const struct vector_cell *cell, struct part *part)
{
	struct price_list list = prices_of(cluster);
	struct units units = units_on(cluster, node, product, cell);
	int64_t unit = units.kind ? units.kind->unit_memory : AMOUNT_UNKNOWN;
	int64_t bytes;

	if (class_resource_is_free(cluster, cell->resource))
		return;
	if (unit == AMOUNT_UNKNOWN)
		unit = part_price(cluster, units.resource, units.product);
	if (units.resource == cell->resource)
		units.count = count_of(cluster, node, cell, unit);
	bytes = part_add(cluster, part,
			 units.kind ? price_find(&list, units.resource, units.product)
				    : price_row_charged(&list, units.resource, units.product),
			 units.count, unit);
	if (units.kind && units.kind->unit_memory == AMOUNT_UNKNOWN)
		part->assumed = saturating_add(part->assumed, bytes);
	if (units.kind && units.kind->other_memory > 0)
		part->disagreeing = true;
}

static void part_begin(struct part *part)
{
	part->bytes = part->unpriced = part->assumed = 0;
	part->disagreeing = false;
	part->n_rows = 0;
	part->pods = 1;
}

/* In place: a part has room for many rows, which few pods have. */
void pod_part(const struct cluster *cluster, const struct pod_record *pod, struct part *ret_part)
{
	uint32_t cell = vectors_first(&cluster->vectors, pod->vector);

	part_begin(ret_part);
	ret_part->pods = pod->vector == TABLE_NONE ? 0 : 1;
	ret_part->live = pod->node != TABLE_NONE;
	ret_part->released = pod->released;
	for (; cell != TABLE_NONE; cell = vectors_cell(&cluster->vectors, cell)->next)
		add_cell(cluster, pod->node, pod->product, vectors_cell(&cluster->vectors, cell),
			 ret_part);
}

void part_on(const struct cluster *cluster, uint32_t node, const struct cluster_ask *ask,
	     struct part *ret_part)
{
	part_begin(ret_part);
	ret_part->live = true;
	ret_part->released = false;
	for (size_t i = 0; i < ask->n; i++)
		add_cell(cluster, node, ask->product, &ask->cells[i], ret_part);
}

/* --- sums */

/* The handle of a namespace's use of @row, or TABLE_NONE; and of the one before it in the chain. */
static uint32_t use_find(const struct cluster *cluster, const struct sums *sums, uint32_t row,
			 uint32_t *ret_before)
{
	uint32_t use = sums->first_use, before = TABLE_NONE;

	while (use != TABLE_NONE && use_at(cluster, use)->row != row) {
		before = use;
		use = use_at(cluster, use)->next;
	}
	*ret_before = before;
	return use;
}

static void use_change(struct cluster *cluster, struct sums *sums, const struct part_row *row,
		       int sign, bool live)
{
	uint32_t before, use = use_find(cluster, sums, row->row, &before);
	struct use_record *record;

	if (use == TABLE_NONE) {
		use = table_add(&cluster->uses);
		*use_at(cluster, use) =
			(struct use_record){.row = row->row, .next = sums->first_use};
		sums->first_use = use;
		before = TABLE_NONE;
	}
	record = use_at(cluster, use);
	record->count += (wide_sum)row->count * sign;
	record->bytes += (wide_sum)row->bytes * sign;
	if (live) {
		record->count_live += (wide_sum)row->count * sign;
		record->bytes_live += (wide_sum)row->bytes * sign;
	}
	if (record->count != 0 || record->count_live != 0)
		return;
	if (before == TABLE_NONE)
		sums->first_use = record->next;
	else
		use_at(cluster, before)->next = record->next;
	table_remove(&cluster->uses, use);
}

static void sums_change(struct cluster *cluster, struct sums *sums, const struct part *part,
			int sign)
{
	if (part->released) {
		sums->released += (wide_sum)part->bytes * sign;
		sums->released_pods += part->pods * (uint32_t)sign;
		return;
	}
	sums->used += (wide_sum)part->bytes * sign;
	if (part->live)
		sums->live += (wide_sum)part->bytes * sign;
	sums->unpriced += (wide_sum)part->unpriced * sign;
	sums->assumed += (wide_sum)part->assumed * sign;
	if (part->disagreeing)
		sums->disagreeing += (uint32_t)sign;
	sums->pods += part->pods * (uint32_t)sign;
	for (size_t i = 0; i < part->n_rows; i++) {
		if (cluster->prices[part->rows[i].row].sharing == DEVICE_WHOLE)
			sums->gpus += (wide_sum)part->rows[i].count * sign;
		use_change(cluster, sums, &part->rows[i], sign, part->live);
	}
}

static void sums_clear(struct cluster *cluster, struct sums *sums)
{
	while (sums->first_use != TABLE_NONE) {
		uint32_t use = sums->first_use;

		sums->first_use = use_at(cluster, use)->next;
		table_remove(&cluster->uses, use);
	}
	*sums = (struct sums){.first_use = TABLE_NONE};
}

void ledger_forget(struct cluster *cluster, struct namespace_record *namespace)
{
	sums_clear(cluster, &namespace->sums);
}

static void add_up_claims(struct cluster *cluster, uint32_t namespace, struct sums *sums)
{
	uint32_t claim = namespace_at(cluster, namespace)->first_device_claim;

	while (claim != TABLE_NONE) {
		struct device_claim_record *record = device_claim_at(&cluster->dra, claim);
		struct part part;

		claim_part(cluster, claim, &part);
		record->charge = part.bytes;
		sums_change(cluster, sums, &part, 1);
		claim = record->namespace_next;
	}
}

/* All entries of a namespace, added up. */
static struct sums add_up(struct cluster *cluster, uint32_t namespace)
{
	uint32_t pod = namespace_at(cluster, namespace)->first_pod;
	struct sums sums = {.first_use = TABLE_NONE};

	for (; pod != TABLE_NONE; pod = pod_at(cluster, pod)->namespace_next) {
		struct pod_record *record = pod_at(cluster, pod);
		struct part part;

		record->charge = 0;
		if (pod_finished(record))
			continue;
		pod_part(cluster, record, &part);
		record->charge = part.bytes;
		sums_change(cluster, &sums, &part, 1);
	}
	add_up_claims(cluster, namespace, &sums);
	return sums;
}

/* --- entries */

static struct sums *current_sums(struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);

	return record->price_version == cluster->price_version ? &record->sums : NULL;
}

/*
 * The most that the namespace could hold while all of it had a price: what was in use, and what was
 * allowed besides, since pods that were let in by it may not be seen yet. That is what it counts as
 * when prices go, and so the largest of as long as prices stay as they are.
 */
static void remember(const struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);
	struct enforced most;

	if (!record->counted || record->sums.unpriced > 0)
		return;
	most = enforced_of(cluster, namespace);
	enforced_join(&most, &(struct enforced){sum_clamp(record->sums.used),
						sum_clamp(record->sums.gpus), false});
	if (record->known_version == record->price_version)
		enforced_join(&most,
			      &(struct enforced){record->known_used, record->known_gpus, false});
	record->known_used = most.bytes;
	record->known_gpus = most.gpus;
	record->known_version = record->price_version;
}

void ledger_remove(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);
	struct sums *sums = current_sums(cluster, record->namespace);
	struct part part;

	if (!sums || pod_finished(record))
		return;
	pod_part(cluster, record, &part);
	part.bytes = record->charge;
	sums_change(cluster, sums, &part, -1);
}

void ledger_add(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);
	struct sums *sums = current_sums(cluster, record->namespace);
	struct part part;

	record->charge = 0;
	if (!sums || pod_finished(record))
		return;
	pod_part(cluster, record, &part);
	record->charge = part.bytes;
	sums_change(cluster, sums, &part, 1);
	remember(cluster, record->namespace);
}

void ledger_remove_claim(struct cluster *cluster, uint32_t claim)
{
	const struct device_claim_record *record;
	struct sums *sums;
	struct part part;

	if (claim == TABLE_NONE)
		return;
	record = device_claim_at(&cluster->dra, claim);
	sums = current_sums(cluster, record->namespace);
	if (!sums)
		return;
	claim_part(cluster, claim, &part);
	part.bytes = record->charge;
	sums_change(cluster, sums, &part, -1);
}

void ledger_add_claim(struct cluster *cluster, uint32_t claim)
{
	struct device_claim_record *record;
	struct sums *sums;
	struct part part;

	if (claim == TABLE_NONE)
		return;
	record = device_claim_at(&cluster->dra, claim);
	record->charge = 0;
	sums = current_sums(cluster, record->namespace);
	if (!sums)
		return;
	claim_part(cluster, claim, &part);
	record->charge = part.bytes;
	sums_change(cluster, sums, &part, 1);
	remember(cluster, record->namespace);
}

void ledger_refresh(struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);

	owned_reprice(cluster, namespace);
	if (record->price_version == cluster->price_version)
		return;
	sums_clear(cluster, &record->sums);
	record->sums = add_up(cluster, namespace);
	record->price_version = cluster->price_version;
	remember(cluster, namespace);
}

/* --- recount */

static uint32_t n_uses(const struct cluster *cluster, const struct sums *sums)
{
	uint32_t n = 0;

	for (uint32_t use = sums->first_use; use != TABLE_NONE; use = use_at(cluster, use)->next)
		n++;
	return n;
}

static bool uses_equal(const struct cluster *cluster, const struct sums *a, const struct sums *b)
{
	uint32_t before;

	if (n_uses(cluster, a) != n_uses(cluster, b))
		return false;
	for (uint32_t use = a->first_use; use != TABLE_NONE; use = use_at(cluster, use)->next) {
		const struct use_record *left = use_at(cluster, use), *right;
		uint32_t other = use_find(cluster, b, left->row, &before);

		if (other == TABLE_NONE)
			return false;
		right = use_at(cluster, other);
		if (left->count != right->count || left->count_live != right->count_live ||
		    left->bytes != right->bytes || left->bytes_live != right->bytes_live)
			return false;
	}
	return true;
}

static int64_t distance(wide_sum a, wide_sum b)
{
	return sum_clamp(a > b ? a - b : b - a);
}

/* Bytes by which the sums differ, 1 where only counts do, 0 where they are the same. */
static int64_t drift_between(const struct cluster *cluster, const struct sums *a,
			     const struct sums *b)
{
	int64_t drift = saturating_add(distance(a->used, b->used), distance(a->live, b->live));

	drift = saturating_add(drift, distance(a->released, b->released));
	if (drift == 0 &&
	    (a->released_pods != b->released_pods || a->unpriced != b->unpriced ||
	     a->gpus != b->gpus || a->assumed != b->assumed || a->disagreeing != b->disagreeing ||
	     a->pods != b->pods || !uses_equal(cluster, a, b)))
		drift = 1;
	return drift;
}

static void recount(struct cluster *cluster, uint32_t namespace, struct recount *total)
{
	struct namespace_record *record = namespace_at(cluster, namespace);
	struct sums fresh;
	int64_t drift;

	total->namespaces++;
	record->counted = true;
	if (record->price_version != cluster->price_version) {
		ledger_refresh(cluster, namespace);
		return;
	}
	fresh = add_up(cluster, namespace);
	drift = drift_between(cluster, &record->sums, &fresh);
	sums_clear(cluster, &record->sums);
	record->sums = fresh;
	remember(cluster, namespace);
	if (drift != 0) {
		total->differing++;
		total->drift = saturating_add(total->drift, drift);
	}
	if (drift != record->recount_drift)
		cluster_mark_dirty(cluster, namespace);
	record->recount_drift = drift;
}

bool cluster_recount(struct cluster *cluster, uint32_t *cursor, uint32_t max_pods,
		     struct recount *total)
{
	uint32_t namespace, read = 0;

	prices_refresh(cluster);
	for (namespace = table_next(&cluster->namespaces, *cursor); namespace != TABLE_NONE;
	     namespace = table_next(&cluster->namespaces, namespace + 1)) {
		/* an empty one takes its time too */
		uint32_t pods = MAX(namespace_at(cluster, namespace)->n_pods +
					    namespace_at(cluster, namespace)->n_device_claims,
				    1u);

		if (read > 0 && pods > max_pods - MIN(read, max_pods)) {
			*cursor = namespace;
			return false;
		}
		recount(cluster, namespace, total);
		read += pods;
	}
	*cursor = 0;
	cluster->recounted = true;
	return true;
}
