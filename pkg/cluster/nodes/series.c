/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of exporters, sorted by the hash of whose they are. Which node has a card is looked up
 * for all of them when they come, so that a UUID that two nodes claim is known for what it is.
 */
#include "cluster/nodes/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cluster/ledger/part.h"
#include "cluster/nodes/series_internal.h"

static uint64_t pod_key(const struct cluster *cluster, struct str namespace, struct str name)
{
	return hash_u64_pair(&cluster->key, device_id(cluster, namespace),
			     device_id(cluster, name));
}

static int compare(const void *a, const void *b)
{
	const struct series_figure *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static struct series_figure *find(const struct series_list *list, uint64_t key)
{
	const struct series_figure wanted = {.key = key};

	if (list->n == 0)
		return NULL;
	return bsearch(&wanted, list->figures, list->n, sizeof(wanted), compare);
}

/* --- who has the cards */

static void claim(const struct series_list *list, struct str ids, uint32_t node)
{
	uint64_t id;

	for (size_t i = 0; i + sizeof(id) <= ids.len; i += sizeof(id)) {
		struct series_figure *figure;

		memcpy(&id, &ids.data[i], sizeof(id));
		figure = find(list, id);
		if (!figure)
			continue;
		figure->twice |= figure->node != TABLE_NONE && figure->node != node;
		figure->node = node;
	}
}

static void find_nodes(const struct cluster *cluster, const struct series_list *list)
{
	for (uint32_t node = table_next(&cluster->nodes, 0); node != TABLE_NONE;
	     node = table_next(&cluster->nodes, node + 1))
		claim(list, intern_str(cluster->intern, node_at(cluster, node)->wires.cards), node);
	for (uint32_t pod = table_next(&cluster->pods, 0); pod != TABLE_NONE;
	     pod = table_next(&cluster->pods, pod + 1)) {
		const struct pod_record *record = pod_at(cluster, pod);

		if (record->node != TABLE_NONE && !pod_finished(record))
			claim(list, intern_str(cluster->intern, record->devices), record->node);
	}
}

/* --- coming and going */

static struct series_figure keep(const struct cluster *cluster, const struct device_figure *figure,
				 const struct series_moment *moment)
{
	int64_t sampled_s = (moment->real_us - figure->age_us) / USEC_PER_SEC;

	return (struct series_figure){
		.key = str_empty(figure->card) ? pod_key(cluster, figure->namespace, figure->pod)
					       : device_id(cluster, figure->card),
		.value = figure->value,
		.sampled_us = moment->now_us - figure->age_us,
		.sampled_s = sampled_s > 0 ? (uint32_t)sampled_s : 0,
		.cards = figure->cards,
		.node = TABLE_NONE,
	};
}

static void drop_twins(struct series_list *list)
{
	size_t n = 0;

	for (size_t i = 0, next; i < list->n; i = next) {
		for (next = i + 1;
		     next < list->n && list->figures[next].key == list->figures[i].key; next++)
			;
		if (next == i + 1)
			list->figures[n++] = list->figures[i];
	}
	list->n = n;
}

void cluster_take_series(struct cluster *cluster, enum device_series series,
			 const struct device_figure *figures, size_t n,
			 const struct series_moment *moment)
{
	struct series_list *list = &cluster->series[series];

	mem_free(list->figures);
	list->n = MIN(n, (size_t)LIMIT_PROM_SERIES);
	list->figures = mem_alloc_array(list->n, sizeof(*list->figures));
	for (size_t i = 0; i < list->n; i++)
		list->figures[i] = keep(cluster, &figures[i], moment);
	qsort(list->figures, list->n, sizeof(*list->figures), compare);
	drop_twins(list);
	if (list->n > 0 && device_series_kind(series).scope == FIGURE_OF_CARD)
		find_nodes(cluster, list);
	cluster_pass_series(cluster, moment->now_us);
}

void cluster_pass_series(struct cluster *cluster, int64_t now_us)
{
	cluster->series_since_us = now_us - FIGURE_STALE_US;
}

void cluster_forget_series(struct cluster *cluster)
{
	for (size_t i = 0; i < DEVICE_SERIES_COUNT; i++) {
		mem_free(cluster->series[i].figures);
		cluster->series[i] = (struct series_list){NULL, 0};
	}
}

void series_clear(struct cluster *cluster)
{
	cluster_forget_series(cluster);
}

size_t series_bytes(const struct cluster *cluster)
{
	size_t n = 0;

	for (size_t i = 0; i < DEVICE_SERIES_COUNT; i++)
		n += cluster->series[i].n;
	return n * sizeof(struct series_figure);
}

/* --- reading */

static bool counts(const struct cluster *cluster, const struct series_figure *figure)
{
	return figure->sampled_us >= cluster->series_since_us && !figure->twice;
}

size_t cluster_series_count(const struct cluster *cluster, enum device_series series)
{
	const struct series_list *list = &cluster->series[series];
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += counts(cluster, &list->figures[i]);
	return n;
}

static const struct series_figure *look_up(const struct cluster *cluster, enum device_series series,
					   uint64_t key)
{
	const struct series_figure *figure = find(&cluster->series[series], key);

	return figure && counts(cluster, figure) ? figure : NULL;
}

const struct series_figure *series_of_card(const struct cluster *cluster, enum device_series series,
					   uint64_t card)
{
	return look_up(cluster, series, card);
}

const struct series_figure *series_of_pod(const struct cluster *cluster, enum device_series series,
					  const struct pod_record *pod)
{
	const struct namespace_record *ns = namespace_at(cluster, pod->namespace);

	if (cluster->series[series].n == 0)
		return NULL;
	return look_up(cluster, series,
		       pod_key(cluster, intern_str(cluster->intern, ns->name),
			       intern_str(cluster->intern, pod->name)));
}
