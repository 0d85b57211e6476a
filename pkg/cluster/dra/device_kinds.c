/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of devices: what those of a driver that are alike have in common, once, and counted. */
#include "cluster/dra/dra_internal.h"

static uint32_t device_kind_hash(const struct cluster *cluster, const struct device_kind *kind)
{
	uint64_t words[5] = {(uint64_t)kind->memory, kind->driver, kind->type, kind->product,
			     kind->shared};

	return (uint32_t)hash_bytes(&cluster->key, words, sizeof(words));
}

static bool device_kind_equals(const void *context, uint32_t handle, const void *key)
{
	const struct device_kind *kind = device_kind_at(context, handle), *wanted = key;

	return kind->memory == wanted->memory && kind->driver == wanted->driver &&
	       kind->type == wanted->type && kind->product == wanted->product &&
	       kind->shared == wanted->shared;
}

static void device_kind_forget(struct cluster *cluster, const struct device_kind *kind)
{
	intern_unref(cluster->intern, kind->driver);
	intern_unref(cluster->intern, kind->type);
	intern_unref(cluster->intern, kind->product);
}

uint32_t device_kind_ref(struct cluster *cluster, struct str driver,
			 const struct slice_device *device)
{
	struct dra *dra = &cluster->dra;
	struct device_kind wanted = {
		.memory = device->memory,
		.driver = intern_ref(cluster->intern, driver),
		.type = intern_ref(cluster->intern, device->type),
		.product = intern_ref(cluster->intern, device->product),
		.first_offer = TABLE_NONE,
		.shared = device->shared,
	};
	uint32_t hash = device_kind_hash(cluster, &wanted);
	uint32_t kind =
		map_find(&dra->device_kinds_by_value, hash, device_kind_equals, dra, &wanted);

	if (kind != MAP_NONE) {
		device_kind_forget(cluster, &wanted);
	} else {
		kind = table_add(&dra->device_kinds);
		*device_kind_at(dra, kind) = wanted;
		map_insert(&dra->device_kinds_by_value, hash, kind);
	}
	device_kind_at(dra, kind)->devices++;
	return kind;
}

void device_kind_unref(struct cluster *cluster, uint32_t kind)
{
	struct dra *dra = &cluster->dra;
	struct device_kind *record = device_kind_at(dra, kind);

	if (--record->devices > 0)
		return;
	map_remove(&dra->device_kinds_by_value, device_kind_hash(cluster, record), kind);
	device_kind_forget(cluster, record);
	table_remove(&dra->device_kinds, kind);
}
