/* SPDX-License-Identifier: Apache-2.0 */
/* The resources of --config: texts become amounts, and what describes nothing is refused. */
#include "controller/config_resources.h"

#include <stdlib.h>

#include "api/quantity.h"
#include "base/limits.h"
#include "base/macros.h"

struct wire_resource {
	uint64_t present;
	struct str name, unit_memory, memory_label, memory_unit, product, product_label, sharing;
};

static const struct field resource_fields[] = {
	FIELD(struct wire_resource, name, "name", 0, FIELD_STRING),
	FIELD(struct wire_resource, unit_memory, "unitMemory", 0, FIELD_QUANTITY),
	FIELD(struct wire_resource, memory_label, "memoryLabel", 0, FIELD_STRING),
	FIELD(struct wire_resource, memory_unit, "memoryUnit", 0, FIELD_QUANTITY),
	FIELD(struct wire_resource, product, "product", 0, FIELD_STRING),
	FIELD(struct wire_resource, product_label, "productLabel", 0, FIELD_STRING),
	FIELD(struct wire_resource, sharing, "sharing", 0, FIELD_STRING),
};
const struct schema wire_resource_schema =
	SCHEMA("resources", struct wire_resource, resource_fields);

static int read_quantity(const char *field, struct str text, int64_t *ret_value, struct error *err)
{
	text.len = MIN(text.len, QUANTITY_TEXT_MAX + 1);
	if (str_empty(text) || quantity_parse(text, ret_value))
		return 0;
	return error_set(err, ERROR_INVALID, "%s: \"%.*s\" is no quantity", field, STR_ARGS(text));
}

static int read_sharing(struct str text, enum device_sharing *ret_sharing, struct error *err)
{
	for (int i = 0; i <= DEVICE_OTHER; i++)
		if (str_equal(text, str_from(device_sharing_text((enum device_sharing)i)))) {
			*ret_sharing = (enum device_sharing)i;
			return 0;
		}
	if (str_empty(text))
		return 0;
	return error_set(err, ERROR_INVALID,
			 "sharing: must be None, MIG, TimeSlicing, MPS, Fraction or Unknown");
}

/* Copies in @memory, since what was decoded goes. */
static int keep(struct arena *memory, struct str *text, struct error *err)
{
	const char *copy = arena_strndup(memory, text->data, text->len);

	if (!copy)
		return error_set(err, ERROR_LIMIT, "takes too much memory");
	text->data = copy;
	return 0;
}

static int read_row(const struct wire_resource *wire, struct arena *memory, struct source_row *row,
		    struct error *err)
{
	*row = (struct source_row){
		.name = wire->name,
		.unit_memory = AMOUNT_NONE,
		.memory_label = wire->memory_label,
		.memory_unit = MIB,
		.product = wire->product,
		.product_label = wire->product_label,
		.sharing = DEVICE_OTHER,
	};
	if (read_quantity("unitMemory", wire->unit_memory, &row->unit_memory, err) < 0 ||
	    read_quantity("memoryUnit", wire->memory_unit, &row->memory_unit, err) < 0 ||
	    read_sharing(wire->sharing, &row->sharing, err) < 0 || source_row_check(row, err) < 0)
		return -1;
	if (keep(memory, &row->name, err) < 0 || keep(memory, &row->memory_label, err) < 0 ||
	    keep(memory, &row->product, err) < 0)
		return -1;
	return keep(memory, &row->product_label, err);
}

static int by_name(const void *a, const void *b)
{
	return str_compare(((const struct source_row *)a)->name,
			   ((const struct source_row *)b)->name);
}

static int sort(struct source_row *rows, size_t n, struct error *err)
{
	if (n > 1)
		qsort(rows, n, sizeof(*rows), by_name);
	for (size_t i = 1; i < n; i++)
		if (str_equal(rows[i - 1].name, rows[i].name))
			return error_set(err, ERROR_INVALID, "resources: name: %.*s stands twice",
					 STR_ARGS(rows[i].name));
	return 0;
}

int config_read_resources(const struct wire_list *resources, struct arena *memory,
			  struct source_table *ret_table, struct error *err)
{
	struct source_row *rows;
	size_t n = 0;

	if (resources->len > LIMIT_TABLE_RESOURCES)
		return error_set(err, ERROR_LIMIT, "resources: has more than %d entries",
				 LIMIT_TABLE_RESOURCES);
	if (resources->len == 0) {
		*ret_table = (struct source_table){NULL, 0};
		return 0;
	}
	rows = arena_alloc(memory, resources->len * sizeof(*rows));
	if (!rows)
		return error_set(err, ERROR_LIMIT, "resources: takes too much memory");
	wire_for_each(const struct wire_resource, wire, *resources) {
		if (read_row(wire, memory, &rows[n], err) < 0)
			return error_wrap(err, "resources[%zu]", n);
		n++;
	}
	if (sort(rows, n, err) < 0)
		return -1;
	*ret_table = (struct source_table){rows, n};
	return 0;
}
