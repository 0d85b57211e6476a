/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResourceSlices: which devices there are. A change of a slice takes its pool apart and puts it
 * together again, with all entries taken out of the sums meanwhile that read a device of it: claims
 * that have one, and pods on nodes that have one.
 */
#include "base/limits.h"
#include "cluster/dra/dra_internal.h"
#include "model/claim.h"

static void set_offered(struct cluster *cluster, struct device_record *device, bool offered)
{
	struct device_kind *kind;

	if (device->kind == TABLE_NONE || device->offered == offered)
		return;
	kind = device_kind_at(&cluster->dra, device->kind);
	device->offered = offered;
	kind->offered += offered ? 1u : UINT32_MAX;
	if (kind->offered == (offered ? 1 : 0))
		class_offers_outdate(cluster);
}

/* --- pools */

struct pool_key {
	uint32_t driver, name;
};

static bool pool_equals(const void *context, uint32_t handle, const void *key)
{
	const struct pool_record *pool = pool_at(context, handle);
	const struct pool_key *wanted = key;

	return pool->driver == wanted->driver && pool->name == wanted->name;
}

static uint32_t pool_hash(const struct cluster *cluster, struct pool_key key)
{
	return (uint32_t)hash_u64_pair(&cluster->key, key.driver, key.name);
}

uint32_t pool_get(struct cluster *cluster, struct str driver, struct str name)
{
	struct pool_key key = {intern_ref(cluster->intern, driver),
			       intern_ref(cluster->intern, name)};
	struct dra *dra = &cluster->dra;
	uint32_t hash = pool_hash(cluster, key);
	uint32_t pool = map_find(&dra->pools_by_name, hash, pool_equals, dra, &key);

	if (pool != MAP_NONE) {
		intern_unref(cluster->intern, key.driver);
		intern_unref(cluster->intern, key.name);
		return pool;
	}
	pool = table_add(&dra->pools);
	*pool_at(dra, pool) = (struct pool_record){
		.generation = -1,
		.driver = key.driver,
		.name = key.name,
		.first_slice = TABLE_NONE,
		.first_result = TABLE_NONE,
	};
	map_insert(&dra->pools_by_name, hash, pool);
	return pool;
}

void pool_release(struct cluster *cluster, uint32_t pool)
{
	struct pool_record *record = pool_at(&cluster->dra, pool);
	struct pool_key key = {record->driver, record->name};

	if (record->first_slice != TABLE_NONE || record->first_result != TABLE_NONE)
		return;
	map_remove(&cluster->dra.pools_by_name, pool_hash(cluster, key), pool);
	intern_unref(cluster->intern, key.driver);
	intern_unref(cluster->intern, key.name);
	table_remove(&cluster->dra.pools, pool);
}

/* --- devices of a pool */

struct device_key {
	uint32_t pool, name;
};

static bool device_equals(const void *context, uint32_t handle, const void *key)
{
	const struct device_record *device = device_at(context, handle);
	const struct device_key *wanted = key;

	return device->pool == wanted->pool && device->name == wanted->name;
}

static uint32_t device_hash(const struct cluster *cluster, struct device_key key)
{
	return (uint32_t)hash_u64_pair(&cluster->key, key.pool, key.name);
}

uint32_t device_find(const struct cluster *cluster, uint32_t pool, uint32_t name)
{
	struct device_key key = {pool, name};

	return map_find(&cluster->dra.devices_by_name, device_hash(cluster, key), device_equals,
			&cluster->dra, &key);
}

/* Makes a device current; of two with one name the first that comes. */
static void link_device(struct cluster *cluster, uint32_t device)
{
	struct dra *dra = &cluster->dra;
	struct device_record *record = device_at(dra, device);
	struct device_key key = {record->pool, record->name};
	uint32_t first;

	if (device_find(cluster, key.pool, key.name) != TABLE_NONE)
		return;
	record->current = true;
	map_insert(&dra->devices_by_name, device_hash(cluster, key), device);
	record->node_next = record->node_prev = TABLE_NONE;
	if (record->node == TABLE_NONE)
		return;
	first = node_at(cluster, record->node)->first_device;
	record->node_next = first;
	if (first != TABLE_NONE)
		device_at(dra, first)->node_prev = device;
	node_at(cluster, record->node)->first_device = device;
}

static void unlink_device(struct cluster *cluster, uint32_t device)
{
	struct dra *dra = &cluster->dra;
	struct device_record *record = device_at(dra, device);
	struct device_key key = {record->pool, record->name};

	if (!record->current)
		return;
	record->current = false;
	map_remove(&dra->devices_by_name, device_hash(cluster, key), device);
	if (record->node == TABLE_NONE)
		return;
	if (record->node_next != TABLE_NONE)
		device_at(dra, record->node_next)->node_prev = record->node_prev;
	if (record->node_prev != TABLE_NONE)
		device_at(dra, record->node_prev)->node_next = record->node_next;
	else
		node_at(cluster, record->node)->first_device = record->node_next;
}

#define each_slice(dra, pool, slice)                                            \
	(uint32_t slice = pool_at(dra, pool)->first_slice; slice != TABLE_NONE; \
	 slice = slice_at(dra, slice)->pool_next)
#define each_device(dra, slice, device)                                              \
	(uint32_t device = slice_at(dra, slice)->first_device; device != TABLE_NONE; \
	 device = device_at(dra, device)->next)

static void pool_disassemble(struct cluster *cluster, uint32_t pool)
{
	const struct dra *dra = &cluster->dra;

	for each_slice(dra, pool, slice)
		for each_device(dra, slice, device)
			unlink_device(cluster, device);
}

/* The highest generation, and whether all slices that it should have are there. */
static void find_generation(struct dra *dra, struct pool_record *pool)
{
	int64_t present = 0, wanted = 0;

	pool->generation = -1;
	for (uint32_t h = pool->first_slice; h != TABLE_NONE; h = slice_at(dra, h)->pool_next) {
		const struct slice_record *slice = slice_at(dra, h);

		if (slice->generation < pool->generation)
			continue;
		if (slice->generation > pool->generation)
			present = wanted = 0;
		pool->generation = slice->generation;
		wanted = MAX(wanted, slice->slice_count);
		present++;
	}
	pool->complete = present == wanted;
}

static void pool_assemble(struct cluster *cluster, uint32_t pool)
{
	struct dra *dra = &cluster->dra;
	struct pool_record *record = pool_at(dra, pool);

	find_generation(dra, record);
	for each_slice(dra, pool, slice)
		for each_device(dra, slice, device)
		{
			if (slice_at(dra, slice)->generation == record->generation)
				link_device(cluster, device);
			set_offered(cluster, device_at(dra, device),
				    record->complete && device_at(dra, device)->current);
		}
}

/* --- what reads devices, taken out of the sums while they change */

struct taken {
	uint32_t first_node, first_claim;
};

static void take_node(struct cluster *cluster, struct taken *taken, uint32_t node)
{
	struct node_record *record;

	if (node == TABLE_NONE || node_at(cluster, node)->out)
		return;
	record = node_at(cluster, node);
	record->out = true;
	record->out_next = taken->first_node;
	taken->first_node = node;
	for (uint32_t pod = record->first_pod; pod != TABLE_NONE;
	     pod = pod_at(cluster, pod)->node_next)
		ledger_remove(cluster, pod);
}

static void take_pool(struct cluster *cluster, struct taken *taken, uint32_t pool)
{
	struct dra *dra = &cluster->dra;

	for (uint32_t h = pool_at(dra, pool)->first_result; h != TABLE_NONE;
	     h = result_at(dra, h)->pool_next) {
		uint32_t claim = result_at(dra, h)->claim;
		struct device_claim_record *record = device_claim_at(dra, claim);

		if (record->out)
			continue;
		record->out = true;
		record->out_next = taken->first_claim;
		taken->first_claim = claim;
		ledger_remove_claim(cluster, claim);
	}
	for each_slice(dra, pool, slice)
		for each_device(dra, slice, device)
			take_node(cluster, taken, device_at(dra, device)->node);
}

static void put_back_claims(struct cluster *cluster, const struct taken *taken)
{
	uint32_t next;

	for (uint32_t claim = taken->first_claim; claim != TABLE_NONE; claim = next) {
		struct device_claim_record *record = device_claim_at(&cluster->dra, claim);

		next = record->out_next;
		record->out = false;
		ledger_add_claim(cluster, claim);
		claim_rooms_refresh(cluster, record->namespace, record->name);
		cluster_mark_dirty(cluster, record->namespace);
	}
}

static void put_back(struct cluster *cluster, const struct taken *taken)
{
	uint32_t next;

	put_back_claims(cluster, taken);
	for (uint32_t node = taken->first_node; node != TABLE_NONE; node = next) {
		struct node_record *record = node_at(cluster, node);

		next = record->out_next;
		record->out = false;
		for (uint32_t pod = record->first_pod; pod != TABLE_NONE;
		     pod = pod_at(cluster, pod)->node_next) {
			ledger_add(cluster, pod);
			cluster_mark_dirty(cluster, pod_at(cluster, pod)->namespace);
		}
		room_refresh(cluster, node);
		node_release(cluster, node);
	}
}

/* --- slices */

uint32_t slice_find(const struct cluster *cluster, struct str name)
{
	return name_find(cluster, CLUSTER_SLICES, name);
}

static uint64_t card_id(const struct cluster *cluster, struct str id)
{
	return str_empty(id) ? 0 : device_id(cluster, id);
}

static uint32_t device_add(struct cluster *cluster, uint32_t pool, struct str driver,
			   const struct slice_device *facts)
{
	uint32_t device = table_add(&cluster->dra.devices);
	struct device_record *record = device_at(&cluster->dra, device);

	*record = (struct device_record){
		.pool = pool,
		.name = intern_ref(cluster->intern, facts->name),
		.kind = TABLE_NONE,
		.node = TABLE_NONE,
		.card = card_id(cluster, facts->card),
		.address = card_id(cluster, facts->address),
	};
	if (facts->memory != AMOUNT_NONE)
		record->kind = device_kind_ref(cluster, driver, facts);
	if (!str_empty(facts->node)) {
		record->node = node_get(cluster, facts->node);
		node_at(cluster, record->node)->devices++;
	}
	return device;
}

static void set_devices(struct cluster *cluster, uint32_t slice, const struct slice_facts *facts)
{
	uint32_t pool = slice_at(&cluster->dra, slice)->pool;

	for (size_t i = facts->n_devices; i-- > 0;) {
		uint32_t device = device_add(cluster, pool, facts->driver, &facts->devices[i]);

		device_at(&cluster->dra, device)->next =
			slice_at(&cluster->dra, slice)->first_device;
		slice_at(&cluster->dra, slice)->first_device = device;
	}
}

static void drop_devices(struct cluster *cluster, uint32_t slice)
{
	struct dra *dra = &cluster->dra;
	uint32_t device = slice_at(dra, slice)->first_device;

	slice_at(dra, slice)->first_device = TABLE_NONE;
	while (device != TABLE_NONE) {
		struct device_record *record = device_at(dra, device);
		uint32_t next = record->next;

		set_offered(cluster, record, false);
		if (record->kind != TABLE_NONE)
			device_kind_unref(cluster, record->kind);
		if (record->node != TABLE_NONE)
			node_at(cluster, record->node)->devices--;
		intern_unref(cluster->intern, record->name);
		table_remove(&dra->devices, device);
		device = next;
	}
}

static void enter_pool(struct cluster *cluster, uint32_t slice, uint32_t pool)
{
	struct slice_record *record = slice_at(&cluster->dra, slice);

	record->pool = pool;
	record->pool_next = pool_at(&cluster->dra, pool)->first_slice;
	pool_at(&cluster->dra, pool)->first_slice = slice;
}

static void leave_pool(struct cluster *cluster, uint32_t slice)
{
	const struct slice_record *record = slice_at(&cluster->dra, slice);
	uint32_t *link = &pool_at(&cluster->dra, record->pool)->first_slice;

	while (*link != slice)
		link = &slice_at(&cluster->dra, *link)->pool_next;
	*link = record->pool_next;
}

/* The end of a change of devices, of one or two pools. */
static void finish(struct cluster *cluster, const struct taken *taken, uint32_t pool,
		   uint32_t old_pool)
{
	pool_assemble(cluster, pool);
	if (old_pool != pool)
		pool_assemble(cluster, old_pool);
	cluster->class_list.stale = true;
	resources_changed(cluster);
	prices_settle(cluster);
	put_back(cluster, taken);
	pool_release(cluster, pool);
	if (old_pool != pool)
		pool_release(cluster, old_pool);
}

static void begin(struct cluster *cluster, struct taken *taken, uint32_t pool, uint32_t old_pool)
{
	*taken = (struct taken){TABLE_NONE, TABLE_NONE};
	take_pool(cluster, taken, pool);
	if (old_pool != pool)
		take_pool(cluster, taken, old_pool);
	pool_disassemble(cluster, pool);
	if (old_pool != pool)
		pool_disassemble(cluster, old_pool);
}

static void change(struct cluster *cluster, uint32_t slice, const struct slice_facts *facts)
{
	struct dra *dra = &cluster->dra;
	uint32_t pool = pool_get(cluster, facts->driver, facts->pool);
	uint32_t old_pool = slice_at(dra, slice)->pool;
	struct taken taken;

	if (old_pool == TABLE_NONE)
		old_pool = pool;
	begin(cluster, &taken, pool, old_pool);
	for (size_t i = 0; i < facts->n_devices; i++)
		take_node(cluster, &taken, node_find(cluster, facts->devices[i].node));
	drop_devices(cluster, slice);
	if (slice_at(dra, slice)->pool != TABLE_NONE)
		leave_pool(cluster, slice);
	enter_pool(cluster, slice, pool);
	slice_at(dra, slice)->generation = facts->generation;
	slice_at(dra, slice)->slice_count = facts->slice_count;
	set_devices(cluster, slice, facts);
	finish(cluster, &taken, pool, old_pool);
}

static bool text_is(const struct cluster *cluster, uint32_t text, struct str s)
{
	return str_equal(intern_str(cluster->intern, text), s);
}

static bool device_is(const struct cluster *cluster, const struct device_record *device,
		      const struct slice_device *facts)
{
	struct str node = STR_NONE;
	const struct device_kind *kind;

	if (device->node != TABLE_NONE)
		node = intern_str(cluster->intern, node_at(cluster, device->node)->name);
	if (!text_is(cluster, device->name, facts->name) || !str_equal(node, facts->node) ||
	    device->card != card_id(cluster, facts->card) ||
	    device->address != card_id(cluster, facts->address))
		return false;
	if (device->kind == TABLE_NONE || facts->memory == AMOUNT_NONE)
		return device->kind == TABLE_NONE && facts->memory == AMOUNT_NONE;
	kind = device_kind_at(&cluster->dra, device->kind);
	return kind->memory == facts->memory && kind->shared == facts->shared &&
	       text_is(cluster, kind->type, facts->type) &&
	       text_is(cluster, kind->product, facts->product);
}

/* Whether nothing changed that anybody reads. */
static bool slice_is(const struct cluster *cluster, const struct slice_record *slice,
		     const struct slice_facts *facts)
{
	uint32_t device = slice->first_device;
	const struct pool_record *pool;
	size_t i;

	if (slice->pool == TABLE_NONE || slice->generation != facts->generation ||
	    slice->slice_count != facts->slice_count)
		return false;
	pool = pool_at(&cluster->dra, slice->pool);
	if (!text_is(cluster, pool->driver, facts->driver) ||
	    !text_is(cluster, pool->name, facts->pool))
		return false;
	for (i = 0; i < facts->n_devices && device != TABLE_NONE; i++) {
		const struct device_record *record = device_at(&cluster->dra, device);

		if (!device_is(cluster, record, &facts->devices[i]))
			return false;
		device = record->next;
	}
	return i == facts->n_devices && device == TABLE_NONE;
}

static int check(const struct slice_facts *facts, struct error *err)
{
	if (check_names(STR_NONE, facts->name, err) < 0 ||
	    check_names(facts->pool, facts->driver, err) < 0)
		return -1;
	if (facts->n_devices > LIMIT_DEVICES_PER_SLICE)
		return error_set(err, ERROR_LIMIT, "it has more than %d devices",
				 LIMIT_DEVICES_PER_SLICE);
	for (size_t i = 0; i < facts->n_devices; i++) {
		const struct slice_device *device = &facts->devices[i];

		if (device->name.len > LIMIT_NAME || device->type.len > LIMIT_NAME ||
		    device->product.len > LIMIT_NAME || device->node.len > LIMIT_NAME)
			return error_set(err, ERROR_LIMIT, "a name in it is longer than %d",
					 LIMIT_NAME);
	}
	return 0;
}

static uint32_t slice_add(struct cluster *cluster, struct str name)
{
	uint32_t slice = table_add(&cluster->dra.slices);
	struct slice_record *record = slice_at(&cluster->dra, slice);

	record->name = intern_ref(cluster->intern, name);
	record->pool = record->pool_next = record->first_device = TABLE_NONE;
	name_insert(cluster, CLUSTER_SLICES, slice);
	return slice;
}

static int apply(struct cluster *cluster, const struct slice_facts *facts, struct error *err)
{
	struct uid uid = uid_from(&cluster->key, facts->uid);
	uint32_t slice = slice_find(cluster, facts->name);
	struct slice_record *record;

	if (slice != TABLE_NONE)
		slice_at(&cluster->dra, slice)->epoch = cluster->epochs[CLUSTER_SLICES];
	if (check(facts, err) < 0)
		return -1;
	if (slice == TABLE_NONE)
		slice = slice_add(cluster, facts->name);
	record = slice_at(&cluster->dra, slice);
	record->epoch = cluster->epochs[CLUSTER_SLICES];
	if (record->pool != TABLE_NONE && uid_equal(record->uid, uid) &&
	    is_older(facts->resource_version, record->resource_version))
		return 0;
	record->uid = uid;
	record->resource_version = facts->resource_version;
	if (!slice_is(cluster, record, facts))
		change(cluster, slice, facts);
	return 0;
}

int cluster_apply_slice(struct cluster *cluster, const struct slice_facts *facts, struct error *err)
{
	if (apply(cluster, facts, err) < 0)
		return refuse(cluster, CLUSTER_SLICES, STR_NONE, facts->name, err);
	return 0;
}

void slice_remove(struct cluster *cluster, uint32_t slice)
{
	uint32_t pool = slice_at(&cluster->dra, slice)->pool;
	struct taken taken;

	begin(cluster, &taken, pool, pool);
	drop_devices(cluster, slice);
	leave_pool(cluster, slice);
	name_remove(cluster, CLUSTER_SLICES, slice);
	intern_unref(cluster->intern, slice_at(&cluster->dra, slice)->name);
	table_remove(&cluster->dra.slices, slice);
	finish(cluster, &taken, pool, pool);
}
