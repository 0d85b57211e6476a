/* SPDX-License-Identifier: Apache-2.0 */
/* Life and size of the records of dynamic resource allocation. */
#include "cluster/dra/dra_internal.h"

void dra_init(struct dra *dra)
{
	table_init(&dra->classes, sizeof(struct class_record));
	table_init(&dra->device_kinds, sizeof(struct device_kind));
	table_init(&dra->class_offers, sizeof(struct class_offer));
	table_init(&dra->pools, sizeof(struct pool_record));
	table_init(&dra->slices, sizeof(struct slice_record));
	table_init(&dra->devices, sizeof(struct device_record));
	table_init(&dra->claims, sizeof(struct device_claim_record));
	table_init(&dra->asks, sizeof(struct claim_ask));
	table_init(&dra->results, sizeof(struct claim_result));
	table_init(&dra->pod_claims, sizeof(struct pod_claim));
	table_init(&dra->claim_holders, sizeof(struct claim_holder));
}

void dra_clear(struct dra *dra)
{
	table_clear(&dra->classes);
	table_clear(&dra->device_kinds);
	table_clear(&dra->class_offers);
	table_clear(&dra->pools);
	table_clear(&dra->slices);
	table_clear(&dra->devices);
	table_clear(&dra->claims);
	table_clear(&dra->asks);
	table_clear(&dra->results);
	table_clear(&dra->pod_claims);
	table_clear(&dra->claim_holders);
	map_clear(&dra->classes_by_name);
	map_clear(&dra->slices_by_name);
	map_clear(&dra->claims_by_name);
	map_clear(&dra->device_kinds_by_value);
	map_clear(&dra->pools_by_name);
	map_clear(&dra->devices_by_name);
	map_clear(&dra->claim_holders_by_name);
}

void dra_stats(const struct dra *dra, struct cluster_stats *stats)
{
	stats->objects[CLUSTER_CLAIMS] = dra->claims.count;
	stats->objects[CLUSTER_SLICES] = dra->slices.count;
	stats->objects[CLUSTER_CLASSES] = dra->classes.count;
	stats->bytes[CLUSTER_CLAIMS] +=
		table_bytes(&dra->claims) + table_bytes(&dra->asks) + table_bytes(&dra->results) +
		table_bytes(&dra->pod_claims) + table_bytes(&dra->claim_holders) +
		map_bytes(&dra->claim_holders_by_name) + map_bytes(&dra->claims_by_name);
	stats->bytes[CLUSTER_SLICES] +=
		table_bytes(&dra->slices) + table_bytes(&dra->devices) + table_bytes(&dra->pools) +
		table_bytes(&dra->device_kinds) + map_bytes(&dra->slices_by_name) +
		map_bytes(&dra->device_kinds_by_value) + map_bytes(&dra->pools_by_name) +
		map_bytes(&dra->devices_by_name);
	stats->bytes[CLUSTER_CLASSES] += table_bytes(&dra->classes) +
					 table_bytes(&dra->class_offers) +
					 map_bytes(&dra->classes_by_name);
}
