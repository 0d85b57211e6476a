/* SPDX-License-Identifier: Apache-2.0 */
/* Resources as --config describes them. */
#include "api/source_table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "api/quantity.h"
#include "api/source_common.h"
#include "model/resource.h"

static int by_name(const void *key, const void *row)
{
	return str_compare(*(const struct str *)key, ((const struct source_row *)row)->name);
}

const struct source_row *source_table_find(const struct source_table *table, struct str resource)
{
	if (!table || table->n_rows == 0)
		return NULL;
	return bsearch(&resource, table->rows, table->n_rows, sizeof(*table->rows), by_name);
}

bool source_is_gpu(const struct source_table *table, struct str resource)
{
	return resource_is_gpu(resource) || source_table_find(table, resource);
}

/* What is a measure within one source's own way of asking. */
static bool is_adapters_own(struct str name)
{
	for (size_t i = 0; i < n_sources; i++)
		if (sources[i]->speaks && sources[i]->speaks(name))
			return true;
	return str_starts_with(name, STR("kai.scheduler/")) ||
	       resource_family(name) == RESOURCE_DEVICE_CLASS;
}

int source_row_check(const struct source_row *row, struct error *err)
{
	if (!resource_is_extended(row->name) || row->name.len > LIMIT_NAME)
		return error_set(err, ERROR_INVALID,
				 "name: must be an extended resource, such as example.com/gpu");
	if (is_adapters_own(row->name))
		return error_set(err, ERROR_INVALID, "name: %.*s is priced by its own adapter",
				 STR_ARGS(row->name));
	if ((row->unit_memory == AMOUNT_NONE) == str_empty(row->memory_label))
		return error_set(err, ERROR_INVALID,
				 "unitMemory: give either unitMemory or memoryLabel");
	if (row->unit_memory != AMOUNT_NONE && row->unit_memory < MIB)
		return error_set(err, ERROR_INVALID,
				 "unitMemory: %" PRId64
				 " bytes are less than 1Mi; write it with a unit, such as 64Gi",
				 row->unit_memory);
	if (row->memory_unit <= 0)
		return error_set(err, ERROR_INVALID, "memoryUnit: must be above 0");
	if (!str_empty(row->product) && !str_empty(row->product_label))
		return error_set(err, ERROR_INVALID,
				 "product: give at most one of product and productLabel");
	if (row->product.len > LIMIT_NAME)
		return error_set(err, ERROR_INVALID, "product: has more than %d bytes", LIMIT_NAME);
	return 0;
}

/* "65536" of the row's unit, "192G" and "512M" as plugins write them, "64Gi". 0: none of these. */
static int64_t memory_in(struct str text, int64_t unit)
{
	int64_t value = 0, of = unit;
	struct str digits = text;

	if (str_ends_with(text, STR("G")) || str_ends_with(text, STR("M"))) {
		of = str_ends_with(text, STR("G")) ? GIB : MIB;
		digits.len--;
	}
	if (str_to_int64(digits, 1, INT64_MAX / of, &value))
		return value * of;
	return quantity_parse(text, &value) && value > 0 ? value : 0;
}

static int64_t memory_of(const struct source_node *node, const struct source_row *row)
{
	struct str text;
	int64_t plain;

	if (row->unit_memory != AMOUNT_NONE)
		return row->unit_memory;
	if (!source_label(node, row->memory_label, "", &text))
		return 0;
	/* A bare number that is too large for its unit is no amount in bytes either. */
	if (str_to_int64(text, INT64_MIN, INT64_MAX, &plain) &&
	    (plain <= 0 || plain > INT64_MAX / row->memory_unit))
		return 0;
	return memory_in(text, row->memory_unit);
}

static void describe(const struct source_node *node, const struct source_row *row,
		     struct device_offer *offer)
{
	struct source_card card = {{0}};

	if (!str_empty(row->product))
		offer->product = row->product;
	else if (!str_empty(row->product_label))
		offer->product = source_product(node, row->product_label, "");
	if (row->sharing != DEVICE_OTHER)
		offer->sharing = row->sharing;
	card.by[MEMORY_FROM_TABLE] = memory_of(node, row);
	source_price(offer, &card, 1);
}

static void offer(struct source_node *node)
{
	for (size_t i = 0; i < node->capacity.len; i++) {
		const struct resource_amount *amount = &node->capacity.rows[i];
		const struct source_row *row = source_table_find(node->table, amount->resource);
		struct device_offer *offer = source_offer_find(node, amount->resource);

		if (!row || (offer && offer->unit_memory != AMOUNT_UNKNOWN))
			continue;
		if (!offer)
			offer = source_offer(node, amount->resource, amount->count);
		describe(node, row, offer);
	}
}

const struct source source_of_table = {.name = "table", .offer = offer};
