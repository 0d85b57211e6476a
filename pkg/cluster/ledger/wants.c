/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pods usually ask for: each distinct request vector and product with the number of pods that
 * have it, kept as pods come and go. The vector and the product live as long as one of these pods.
 */
#include "cluster/ledger/wants.h"
#include "base/checked.h"
#include "cluster/internal.h"
#include "model/resource.h"

struct want_record {
	uint32_t vector, product, pods;
};

struct wanted {
	const struct cluster *cluster;
	uint32_t vector, product;
};

static struct want_record *want_at(const struct cluster *cluster, uint32_t want)
{
	return (struct want_record *)table_at(&cluster->wants, want);
}

static uint32_t want_hash(const struct cluster *cluster, uint32_t vector, uint32_t product)
{
	return (uint32_t)hash_u64_pair(&cluster->key, vector, product);
}

static bool want_equals(const void *context, uint32_t handle, const void *key)
{
	const struct want_record *record = want_at(context, handle);
	const struct wanted *wanted = key;

	return record->vector == wanted->vector && record->product == wanted->product;
}

static uint32_t want_find(const struct cluster *cluster, uint32_t vector, uint32_t product)
{
	const struct wanted wanted = {cluster, vector, product};

	return map_find(&cluster->wants_by_value, want_hash(cluster, vector, product), want_equals,
			cluster, &wanted);
}

void wants_init(struct cluster *cluster)
{
	table_init(&cluster->wants, sizeof(struct want_record));
}

void want_add(struct cluster *cluster, uint32_t vector, uint32_t product)
{
	uint32_t want = want_find(cluster, vector, product);

	if (want == MAP_NONE) {
		want = table_add(&cluster->wants);
		*want_at(cluster, want) = (struct want_record){vector, product, 0};
		map_insert(&cluster->wants_by_value, want_hash(cluster, vector, product), want);
	}
	want_at(cluster, want)->pods++;
	cluster->wants_changed++;
}

void want_remove(struct cluster *cluster, uint32_t vector, uint32_t product)
{
	uint32_t want = want_find(cluster, vector, product);

	cluster->wants_changed++;
	if (--want_at(cluster, want)->pods > 0)
		return;
	map_remove(&cluster->wants_by_value, want_hash(cluster, vector, product), want);
	table_remove(&cluster->wants, want);
}

/* --- reading */

uint64_t cluster_wants_changed(const struct cluster *cluster)
{
	return cluster->wants_changed;
}

uint32_t cluster_want_next(const struct cluster *cluster, uint32_t from)
{
	return table_next(&cluster->wants, from);
}

void cluster_want(const struct cluster *cluster, uint32_t want, struct cluster_want *ret_want)
{
	const struct want_record *record = want_at(cluster, want);
	uint32_t cell = vectors_first(&cluster->vectors, record->vector);

	ret_want->pods = record->pods;
	ret_want->product = record->product;
	ret_want->n = 0;
	for (; cell != TABLE_NONE; cell = vectors_cell(&cluster->vectors, cell)->next)
		ret_want->cells[ret_want->n++] = vectors_cell(&cluster->vectors, cell);
}

size_t cluster_pools(const struct cluster *cluster, struct cluster_pool *ret_pools, size_t max)
{
	uint32_t numbers[CLUSTER_POOLS]; /* by kind */
	size_t n = 0;

	memset(numbers, 0xff, sizeof(numbers));
	for (uint32_t kind = table_next(&cluster->kinds, 0); kind < ARRAY_SIZE(numbers) && n < max;
	     kind = table_next(&cluster->kinds, kind + 1)) {
		numbers[kind] = (uint32_t)n;
		ret_pools[n++] = (struct cluster_pool){kind_at(cluster, kind)->resource,
						       kind_at(cluster, kind)->product, 0};
	}
	for (uint32_t offer = table_next(&cluster->offers, 0); offer != TABLE_NONE;
	     offer = table_next(&cluster->offers, offer + 1)) {
		const struct offer_cell *cell = offer_at(cluster, offer);

		if (cell->kind < ARRAY_SIZE(numbers) && numbers[cell->kind] < n)
			ret_pools[numbers[cell->kind]].units = saturating_add(
				ret_pools[numbers[cell->kind]].units, cell->allocatable);
	}
	return n;
}

static int64_t largest(const struct price_list *rows, bool whole_alone)
{
	int64_t most = AMOUNT_UNKNOWN;

	for (size_t i = 0; i < rows->n_rows; i++)
		if (!whole_alone || rows->rows[i].sharing == DEVICE_WHOLE)
			most = MAX(most, rows->rows[i].largest);
	return most;
}

int64_t cluster_card_parts(const struct cluster *cluster, uint32_t resource)
{
	struct price_list all = prices_of(cluster), rows = price_of(&all, resource);
	int64_t parts = resource_parts_of_card(intern_str(cluster->intern, resource)), unit, card;

	if (rows.n_rows == 0)
		return 0;
	if (rows.rows[0].sharing != DEVICE_FRACTION)
		return 1;
	if (parts > 0)
		return parts;
	unit = largest(&rows, false);
	card = largest(&all, true);
	return unit > 0 && card >= unit ? card / unit : 0;
}
