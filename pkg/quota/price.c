/* SPDX-License-Identifier: Apache-2.0 */
/* Prices from the list of what nodes offer. A list is short and sorted, so it is searched. */
#include "quota/price.h"

#include <stdbool.h>

#include "base/macros.h"

/* The first row that is not before (@resource, @product). */
static size_t lower_bound(const struct price_list *list, uint32_t resource, uint32_t product)
{
	size_t low = 0, high = list->n_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct price_row *row = &list->rows[middle];
		bool before = row->resource != resource ? row->resource < resource
							: row->product < product;

		if (before)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct price_list price_of(const struct price_list *list, uint32_t resource)
{
	size_t first = lower_bound(list, resource, 0), end = first;

	if (first == list->n_rows)
		return (struct price_list){NULL, 0};
	while (end < list->n_rows && list->rows[end].resource == resource)
		end++;
	return (struct price_list){&list->rows[first], end - first};
}

const struct price_row *price_find(const struct price_list *list, uint32_t resource,
				   uint32_t product)
{
	size_t at = lower_bound(list, resource, product);

	if (at == list->n_rows)
		return NULL;
	if (list->rows[at].resource != resource || list->rows[at].product != product)
		return NULL;
	return &list->rows[at];
}

/* The largest unit that any node tells; @by_name where none does. */
static int64_t largest_known(const struct price_list *slice, int64_t by_name)
{
	int64_t largest = AMOUNT_UNKNOWN;

	for (size_t i = 0; i < slice->n_rows; i++)
		largest = MAX(largest, slice->rows[i].largest);
	return largest == AMOUNT_UNKNOWN ? by_name : largest;
}

/* A node of the row that does not tell may have the largest unit there is. */
static bool may_be_largest(const struct price_row *row, int64_t largest)
{
	return row->unknown_nodes > 0 || row->largest == largest;
}

const struct price_row *price_row_charged(const struct price_list *list, uint32_t resource,
					  uint32_t product)
{
	struct price_list slice = price_of(list, resource);
	const struct price_row *row = NULL;
	int64_t largest;

	if (product != PRODUCT_ANY)
		row = price_find(&slice, resource, product);
	if (row || slice.n_rows == 0)
		return row;
	largest = largest_known(&slice, AMOUNT_UNKNOWN);
	for (size_t i = 0; i < slice.n_rows; i++)
		if (may_be_largest(&slice.rows[i], largest) &&
		    (!row || slice.rows[i].order < row->order))
			row = &slice.rows[i];
	return row;
}

int64_t price_unit(const struct price_list *list, uint32_t resource, uint32_t product,
		   int64_t by_name)
{
	struct price_list slice = price_of(list, resource);
	int64_t largest = largest_known(&slice, by_name);
	const struct price_row *row = NULL;

	if (product != PRODUCT_ANY)
		row = price_find(&slice, resource, product);
	return row && !may_be_largest(row, largest) ? row->largest : largest;
}

int64_t price_smallest(const struct price_list *list, uint32_t resource, int64_t by_name)
{
	struct price_list slice = price_of(list, resource);
	int64_t smallest = AMOUNT_UNKNOWN;

	for (size_t i = 0; i < slice.n_rows; i++) {
		int64_t unit = slice.rows[i].smallest;

		if (unit != AMOUNT_UNKNOWN && (smallest == AMOUNT_UNKNOWN || unit < smallest))
			smallest = unit;
	}
	return smallest == AMOUNT_UNKNOWN ? by_name : smallest;
}
