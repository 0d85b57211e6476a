/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intel's GPU device plugins (intel/intel-device-plugins-for-kubernetes). Labels tell the product
 * and never the memory: that is for the table of --config to say.
 */
#include "api/source_common.h"
#include "model/resource.h"

static void offer(struct source_node *node)
{
	const struct str vendor = STR("gpu.intel.com/");

	for (size_t i = 0; i < node->capacity.len; i++) {
		const struct resource_amount *amount = &node->capacity.rows[i];

		if (str_starts_with(amount->resource, vendor) && resource_is_gpu(amount->resource))
			source_offer(node, amount->resource, amount->count)->product =
				source_product(node, vendor, "product");
	}
}

const struct source source_intel = {.name = "intel", .offer = offer};
