/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Families hold cells, one for each combination of label values, in order of first use; a map leads
 * from the values to the cell. How a page is written is in metrics_text.c.
 */
#include "base/metrics.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/metrics_family.h"

struct collector {
	metrics_collect_fn collect;
	void *context;
};

struct metrics {
	struct hash_key key;
	struct list families;
	struct collector *collectors;
	size_t n_collectors, capacity;
};

struct metrics *metrics_new(void)
{
	struct metrics *metrics = mem_alloc(sizeof(*metrics));

	hash_key_init(&metrics->key);
	list_init(&metrics->families);
	return metrics;
}

static void cell_free(struct metric_cell *cell)
{
	for (size_t i = 0; i < METRICS_MAX_LABELS; i++)
		mem_free(cell->values[i]);
	mem_free(cell->counts);
	mem_free(cell);
}

static void family_free(struct metric_family *family)
{
	for (size_t i = 0; i < family->n_cells; i++)
		cell_free(family->cells[i]);
	mem_free(family->cells);
	mem_free(family->buckets);
	map_clear(&family->index);
	list_unlink(&family->link);
	mem_free(family);
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	list_for_each_safe(it, &metrics->families)
		family_free(container_of(it, struct metric_family, link));
	mem_free(metrics->collectors);
	mem_free(metrics);
}

static uint32_t hash_values(const struct metric_family *family, const char *const *values)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < family->n_labels; i++) {
		struct str value = str_from(values[i]);

		hash = hash_u64_pair(family->key, hash,
				     hash_bytes(family->key, value.data, value.len));
	}
	return (uint32_t)hash;
}

static bool has_values(const void *context, uint32_t handle, const void *key)
{
	const struct metric_family *family = context;
	const char *const *values = key;

	for (size_t i = 0; i < family->n_labels; i++)
		if (strcmp(family->cells[handle]->values[i], values[i] ? values[i] : "") != 0)
			return false;
	return true;
}

static struct metric_cell *find_cell(const struct metric_family *family, const char *const *values)
{
	uint32_t at =
		map_find(&family->index, hash_values(family, values), has_values, family, values);

	return at == MAP_NONE ? NULL : family->cells[at];
}

static struct metric_cell *add_cell(struct metric_family *family, const char *const *values)
{
	struct metric_cell *cell = mem_alloc(sizeof(*cell));

	for (size_t i = 0; i < family->n_labels; i++)
		cell->values[i] = mem_strdup(values[i] ? values[i] : "");
	if (family->type == METRIC_HISTOGRAM)
		cell->counts = mem_alloc_array(family->n_buckets + 1, sizeof(*cell->counts));
	mem_grow((void **)&family->cells, &family->capacity, family->n_cells + 1,
		 sizeof(struct metric_cell *));
	map_insert(&family->index, hash_values(family, values), (uint32_t)family->n_cells);
	family->cells[family->n_cells++] = cell;
	return cell;
}

/* The cell of @values; the one of "other" where there are too many already. */
static struct metric_cell *cell_of(struct metric_family *family, const char *const *values)
{
	static const char *const other[METRICS_MAX_LABELS] = {"other", "other", "other", "other"};
	struct metric_cell *cell;

	assert(values || family->n_labels == 0);
	cell = find_cell(family, values);
	if (!cell && family->n_cells >= METRICS_MAX_CELLS) {
		values = other;
		cell = find_cell(family, values);
	}
	return cell ? cell : add_cell(family, values);
}

/* What nothing labels is there from the start, with 0. */
static struct metric_family *with_first_cell(struct metric_family *family)
{
	static const char *const no_values[METRICS_MAX_LABELS];

	if (family->n_labels == 0 && family->n_cells == 0)
		add_cell(family, no_values);
	return family;
}

static bool has_labels(const struct metric_family *family, const char *const *labels)
{
	for (size_t i = 0; i < family->n_labels; i++)
		if (!labels || !labels[i] || strcmp(family->labels[i], labels[i]) != 0)
			return false;
	return !labels || !labels[family->n_labels];
}

static struct metric_family *find_family(const struct metrics *metrics, enum metric_type type,
					 const char *name, const char *const *labels)
{
	list_for_each(it, &metrics->families) {
		struct metric_family *family = container_of(it, struct metric_family, link);

		if (strcmp(family->name, name) != 0)
			continue;
		assert(family->type == type && has_labels(family, labels));
		return family;
	}
	return NULL;
}

static struct metric_family *family_new(struct metrics *metrics, enum metric_type type,
					const char *name, const char *help,
					const char *const *labels)
{
	struct metric_family *family = mem_alloc(sizeof(*family));

	family->key = &metrics->key;
	family->type = type;
	family->name = name;
	family->help = help;
	while (labels && labels[family->n_labels]) {
		assert(family->n_labels < METRICS_MAX_LABELS);
		family->labels[family->n_labels] = labels[family->n_labels];
		family->n_labels++;
	}
	list_append(&metrics->families, &family->link);
	return family;
}

/* A page may name a family once only, so that who registers it again shares it. */
static struct metric_family *family_of(struct metrics *metrics, enum metric_type type,
				       const char *name, const char *help,
				       const char *const *labels)
{
	struct metric_family *family = find_family(metrics, type, name, labels);

	return family ? family : family_new(metrics, type, name, help, labels);
}

struct metric_family *metrics_counter(struct metrics *metrics, const char *name, const char *help,
				      const char *const *labels)
{
	return with_first_cell(family_of(metrics, METRIC_COUNTER, name, help, labels));
}

struct metric_family *metrics_gauge(struct metrics *metrics, const char *name, const char *help,
				    const char *const *labels)
{
	return with_first_cell(family_of(metrics, METRIC_GAUGE, name, help, labels));
}

/* size: one definition, one call */
struct metric_family *metrics_histogram(struct metrics *metrics, const char *name, const char *help,
					const char *const *labels, const double *buckets,
					size_t n_buckets)
{
	struct metric_family *family = family_of(metrics, METRIC_HISTOGRAM, name, help, labels);

	if (family->buckets) {
		assert(family->n_buckets == n_buckets &&
		       memcmp(family->buckets, buckets, n_buckets * sizeof(*buckets)) == 0);
		return family;
	}
	family->buckets = mem_alloc_array(n_buckets, sizeof(*buckets));
	family->n_buckets = n_buckets;
	for (size_t i = 0; i < n_buckets; i++) {
		assert(i == 0 || buckets[i] > buckets[i - 1]);
		family->buckets[i] = buckets[i];
	}
	return with_first_cell(family);
}

void metric_add(struct metric_family *family, const char *const *values, double amount)
{
	if (!family)
		return;
	assert(family->type == METRIC_GAUGE || (family->type == METRIC_COUNTER && amount >= 0));
	cell_of(family, values)->value += amount;
}

void metric_set(struct metric_family *family, const char *const *values, double value)
{
	if (!family)
		return;
	assert(family->type == METRIC_GAUGE);
	cell_of(family, values)->value = value;
}

void metric_observe(struct metric_family *family, const char *const *values, double value)
{
	struct metric_cell *cell;
	size_t bucket = 0;

	if (!family)
		return;
	assert(family->type == METRIC_HISTOGRAM);
	cell = cell_of(family, values);
	while (bucket < family->n_buckets && !(value <= family->buckets[bucket]))
		bucket++;
	cell->counts[bucket]++;
	cell->value += value;
}

/* Cells keep their order; as their places change, the index is made anew. */
void metric_forget(struct metric_family *family, const char *value)
{
	size_t kept = 0;

	if (!family || family->n_labels == 0)
		return;
	for (size_t i = 0; i < family->n_cells; i++) {
		if (strcmp(family->cells[i]->values[0], value) == 0)
			cell_free(family->cells[i]);
		else
			family->cells[kept++] = family->cells[i];
	}
	if (kept == family->n_cells)
		return;
	family->n_cells = kept;
	map_clear(&family->index);
	for (size_t i = 0; i < kept; i++) {
		const char *values[METRICS_MAX_LABELS];

		for (size_t j = 0; j < METRICS_MAX_LABELS; j++)
			values[j] = family->cells[i]->values[j];
		map_insert(&family->index, hash_values(family, values), (uint32_t)i);
	}
}

void metrics_add_collector(struct metrics *metrics, metrics_collect_fn collect, void *context)
{
	mem_grow((void **)&metrics->collectors, &metrics->capacity, metrics->n_collectors + 1,
		 sizeof(*metrics->collectors));
	metrics->collectors[metrics->n_collectors++] = (struct collector){collect, context};
}

void metrics_write(const struct metrics *metrics, struct buf *page)
{
	list_for_each(it, &metrics->families)
		metric_family_write(container_of(it, struct metric_family, link), page);
	for (size_t i = 0; i < metrics->n_collectors; i++)
		metrics->collectors[i].collect(metrics->collectors[i].context, page);
}
