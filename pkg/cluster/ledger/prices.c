/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The price list follows from the kinds of offers, each counted once for every node that has it. It
 * is made anew only when kinds changed, and only a list that prices something otherwise is a new
 * version, which sends all namespaces to be looked at.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "cluster/dra/dra_internal.h"

/* --- kinds */

static uint32_t kind_hash(const struct cluster *cluster, const struct offer_kind *kind)
{
	const uint64_t words[] = {
		(uint64_t)kind->unit_memory,
		(uint64_t)kind->min_memory,
		(uint64_t)kind->other_memory,
		kind->resource,
		kind->product,
		kind->sharing,
		kind->source,
		kind->other,
	};

	return (uint32_t)hash_bytes(&cluster->key, words, sizeof(words));
}

static bool kind_equals(const void *context, uint32_t handle, const void *key)
{
	const struct offer_kind *kind = kind_at(context, handle), *wanted = key;

	return kind->unit_memory == wanted->unit_memory && kind->min_memory == wanted->min_memory &&
	       kind->resource == wanted->resource && kind->product == wanted->product &&
	       kind->sharing == wanted->sharing && kind->source == wanted->source &&
	       kind->other == wanted->other && kind->other_memory == wanted->other_memory;
}

/* Only looked through when a kind comes or goes, which is rare. */
static bool resource_is_offered(const struct cluster *cluster, uint32_t resource)
{
	for (uint32_t kind = table_next(&cluster->kinds, 0); kind != TABLE_NONE;
	     kind = table_next(&cluster->kinds, kind + 1))
		if (kind_at(cluster, kind)->resource == resource)
			return true;
	return false;
}

/* Takes over the references that @wanted holds, or gives them back. */
static int kind_add(struct cluster *cluster, const struct offer_kind *wanted, uint32_t *ret_kind,
		    struct error *err)
{
	uint32_t kind;

	if (!resource_is_offered(cluster, wanted->resource)) {
		if (cluster->resource_names == LIMIT_RESOURCE_NAMES) {
			intern_unref(cluster->intern, wanted->resource);
			intern_unref(cluster->intern, wanted->product);
			return error_set(err, ERROR_LIMIT,
					 "the nodes offer more than %d GPU resource names",
					 LIMIT_RESOURCE_NAMES);
		}
		cluster->resource_names++;
	}
	kind = table_add(&cluster->kinds);
	*kind_at(cluster, kind) = *wanted;
	cluster->prices_stale = true;
	resources_changed(cluster);
	*ret_kind = kind;
	return 0;
}

/* A kind that no node has, and so none can drop. */
int cluster_know_resource(struct cluster *cluster, struct str name, enum device_sharing sharing,
			  struct error *err)
{
	struct offer_kind known = {
		.unit_memory = AMOUNT_UNKNOWN,
		.min_memory = AMOUNT_UNKNOWN,
		.sharing = (uint32_t)sharing,
		.product = INTERN_EMPTY,
	};
	uint32_t kind;

	if (name.len > LIMIT_INTERNED_STRING)
		return error_set(err, ERROR_LIMIT, "a resource name is longer than %d",
				 LIMIT_INTERNED_STRING);
	known.resource = intern_ref(cluster->intern, name);
	return kind_add(cluster, &known, &kind, err);
}

int kind_ref(struct cluster *cluster, const struct device_offer *offer, uint32_t *ret_kind,
	     struct error *err)
{
	struct offer_kind wanted = {
		.unit_memory = offer->unit_memory > 0 ? offer->unit_memory : AMOUNT_UNKNOWN,
		.sharing = (uint32_t)offer->sharing,
		.source = (uint32_t)offer->source,
		.other = (uint32_t)offer->other,
		.other_memory = offer->other_memory,
	};
	uint32_t kind;

	wanted.min_memory = offer->min_memory > 0 ? offer->min_memory : wanted.unit_memory;
	if (offer->resource.len > LIMIT_INTERNED_STRING ||
	    offer->product.len > LIMIT_INTERNED_STRING)
		return error_set(err, ERROR_LIMIT, "a resource or product name is longer than %d",
				 LIMIT_INTERNED_STRING);
	wanted.resource = intern_ref(cluster->intern, offer->resource);
	wanted.product = intern_ref(cluster->intern, offer->product);
	kind = map_find(&cluster->kinds_by_value, kind_hash(cluster, &wanted), kind_equals, cluster,
			&wanted);
	if (kind == MAP_NONE) {
		if (kind_add(cluster, &wanted, &kind, err) < 0)
			return -1;
		map_insert(&cluster->kinds_by_value, kind_hash(cluster, &wanted), kind);
	} else {
		intern_unref(cluster->intern, wanted.resource);
		intern_unref(cluster->intern, wanted.product);
	}
	kind_at(cluster, kind)->nodes++;
	cluster->prices_stale = true;
	*ret_kind = kind;
	return 0;
}

void kind_unref(struct cluster *cluster, uint32_t kind)
{
	struct offer_kind *record = kind_at(cluster, kind);
	uint32_t resource = record->resource;

	cluster->prices_stale = true;
	if (--record->nodes > 0)
		return;
	map_remove(&cluster->kinds_by_value, kind_hash(cluster, record), kind);
	table_remove(&cluster->kinds, kind);
	resources_changed(cluster);
	if (!resource_is_offered(cluster, resource))
		cluster->resource_names--;
	intern_unref(cluster->intern, record->resource);
	intern_unref(cluster->intern, record->product);
}

/* --- the list */

static int compare_rows(const void *a, const void *b)
{
	const struct price_row *left = a, *right = b;

	if (left->resource != right->resource)
		return left->resource < right->resource ? -1 : 1;
	if (left->product != right->product)
		return left->product < right->product ? -1 : 1;
	return 0;
}

static struct price_row row_of(const struct offer_kind *kind)
{
	return (struct price_row){
		.resource = kind->resource,
		.product = kind->product,
		.smallest = kind->min_memory,
		.largest = kind->unit_memory,
		.sharing = (enum device_sharing)kind->sharing,
		.nodes = kind->nodes,
		.unknown_nodes = kind->unit_memory == AMOUNT_UNKNOWN ? kind->nodes : 0,
	};
}

/* @more, of the same resource and product, into @row. */
static void merge(struct price_row *row, const struct price_row *more)
{
	if (row->smallest == AMOUNT_UNKNOWN ||
	    (more->smallest != AMOUNT_UNKNOWN && more->smallest < row->smallest))
		row->smallest = more->smallest;
	row->largest = MAX(row->largest, more->largest);
	row->sharing = MIN(row->sharing, more->sharing);
	row->nodes += more->nodes;
	row->unknown_nodes += more->unknown_nodes;
}

struct named_row {
	struct str product;
	struct price_row *row;
};

static int by_resource_and_name(const void *a, const void *b)
{
	const struct named_row *left = a, *right = b;

	if (left->row->resource != right->row->resource)
		return left->row->resource < right->row->resource ? -1 : 1;
	return str_compare(left->product, right->product);
}

/* Handles come in the order of arrival, which no other replica and no policy shares. */
static void order_by_name(const struct cluster *cluster, struct price_row *rows, size_t n)
{
	CLEANUP(mem_free) struct named_row *named = mem_alloc_array(n + 1, sizeof(*named));

	for (size_t i = 0; i < n; i++)
		named[i] =
			(struct named_row){intern_str(cluster->intern, rows[i].product), &rows[i]};
	qsort(named, n, sizeof(*named), by_resource_and_name);
	for (size_t i = 0; i < n; i++)
		named[i].row->order = (uint32_t)i;
}

/* What is only known of stands for nothing where some node offers it. Returns how many are left. */
static size_t drop_unoffered(struct price_row *rows, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		bool others = (i > 0 && rows[i - 1].resource == rows[i].resource) ||
			      (i + 1 < n && rows[i + 1].resource == rows[i].resource);

		if (rows[i].nodes > 0 || !others)
			rows[len++] = rows[i];
	}
	return len;
}

/* A new list from all kinds; the caller releases it. */
static struct price_row *make_rows(const struct cluster *cluster, size_t *ret_len)
{
	struct price_row *rows = mem_alloc_array(cluster->kinds.count + 1u, sizeof(*rows));
	size_t n = 0, len = 0;

	for (uint32_t kind = table_next(&cluster->kinds, 0); kind != TABLE_NONE;
	     kind = table_next(&cluster->kinds, kind + 1))
		rows[n++] = row_of(kind_at(cluster, kind));
	qsort(rows, n, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < n; i++) {
		if (len > 0 && compare_rows(&rows[len - 1], &rows[i]) == 0)
			merge(&rows[len - 1], &rows[i]);
		else
			rows[len++] = rows[i];
	}
	len = drop_unoffered(rows, len);
	order_by_name(cluster, rows, len);
	*ret_len = len;
	return rows;
}

/* Whether the lists price everything alike: all but how many nodes there are. */
static bool same_prices(const struct price_row *a, size_t n_a, const struct price_row *b,
			size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (compare_rows(&a[i], &b[i]) != 0 || a[i].smallest != b[i].smallest ||
		    a[i].largest != b[i].largest || a[i].sharing != b[i].sharing ||
		    (a[i].unknown_nodes > 0) != (b[i].unknown_nodes > 0))
			return false;
	return true;
}

void mark_concerned(struct cluster *cluster)
{
	for (uint32_t ns = table_next(&cluster->namespaces, 0); ns != TABLE_NONE;
	     ns = table_next(&cluster->namespaces, ns + 1))
		if (namespace_at(cluster, ns)->n_pods > 0 ||
		    namespace_at(cluster, ns)->n_device_claims > 0 ||
		    namespace_at(cluster, ns)->n_quotas > 0 ||
		    namespace_at(cluster, ns)->tenant != TABLE_NONE)
			cluster_mark_dirty(cluster, ns);
}

/* The list outlives its kinds by a moment, so its names are held. */
void prices_clear(struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_prices; i++) {
		intern_unref(cluster->intern, cluster->prices[i].resource);
		intern_unref(cluster->intern, cluster->prices[i].product);
	}
	mem_free(cluster->prices);
	cluster->prices = NULL;
	cluster->n_prices = 0;
}

void prices_outdate(struct cluster *cluster)
{
	cluster->price_version++;
	resources_changed(cluster);
	mark_concerned(cluster);
}

static void list_refresh(struct cluster *cluster)
{
	struct price_row *rows;
	bool same;
	size_t n;

	cluster->prices_stale = false;
	rows = make_rows(cluster, &n);
	same = same_prices(cluster->prices, cluster->n_prices, rows, n);
	for (size_t i = 0; i < n; i++) {
		intern_ref_handle(cluster->intern, rows[i].resource);
		intern_ref_handle(cluster->intern, rows[i].product);
	}
	prices_clear(cluster);
	cluster->prices = rows;
	cluster->n_prices = n;
	cluster->dearest = AMOUNT_UNKNOWN;
	for (size_t i = 0; i < n; i++)
		cluster->dearest = MAX(cluster->dearest, rows[i].largest);
	if (same)
		return;
	cluster->class_list.stale = true;
	prices_outdate(cluster);
}

void prices_refresh(struct cluster *cluster)
{
	class_offers_refresh(cluster);
	if (cluster->prices_stale)
		list_refresh(cluster);
	classes_refresh(cluster);
	class_list_refresh(cluster);
	class_rooms_refresh(cluster);
}

void prices_settle(struct cluster *cluster)
{
	if (cluster->replacing == 0)
		prices_refresh(cluster);
}

struct price_list prices_of(const struct cluster *cluster)
{
	return (struct price_list){cluster->prices, cluster->n_prices};
}
