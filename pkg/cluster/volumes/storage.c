/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, volumes, classes and drivers as they are kept. */
#include "base/mem.h"
#include "cluster/hosts/terms_io.h"
#include "cluster/volumes/volumes_internal.h"

#define KINDS                                                                                  \
	(1u << CLUSTER_VOLUME_CLAIMS | 1u << CLUSTER_VOLUMES | 1u << CLUSTER_STORAGE_CLASSES | \
	 1u << CLUSTER_CSI_NODES | 1u << CLUSTER_CSI_DRIVERS)

bool cluster_is_of_volumes(enum cluster_kind kind)
{
	return (KINDS >> kind & 1) != 0;
}

void storage_init(struct cluster *cluster)
{
	struct storage *storage = &cluster->storage;

	table_init(&storage->claims, sizeof(struct volume_claim_record));
	table_init(&storage->volumes, sizeof(struct volume_record));
	table_init(&storage->classes, sizeof(struct storage_class_record));
	table_init(&storage->csi_nodes, sizeof(struct csi_node_record));
	table_init(&storage->csi_drivers, sizeof(struct csi_driver_record));
}

void storage_clear(struct cluster *cluster)
{
	struct storage *storage = &cluster->storage;

	for (uint32_t h = table_next(&storage->csi_nodes, 0); h != TABLE_NONE;
	     h = table_next(&storage->csi_nodes, h + 1))
		mem_free(csi_node_at(cluster, h)->limits);
	table_clear(&storage->claims);
	table_clear(&storage->volumes);
	table_clear(&storage->classes);
	table_clear(&storage->csi_nodes);
	table_clear(&storage->csi_drivers);
	map_clear(&storage->claims_by_name);
	map_clear(&storage->volumes_by_name);
	map_clear(&storage->classes_by_name);
	map_clear(&storage->csi_nodes_by_name);
	map_clear(&storage->csi_drivers_by_name);
}

static size_t limits_bytes(const struct cluster *cluster)
{
	const struct table *nodes = &cluster->storage.csi_nodes;
	size_t bytes = 0;

	for (uint32_t h = table_next(nodes, 0); h != TABLE_NONE; h = table_next(nodes, h + 1))
		bytes += csi_node_at(cluster, h)->n_limits * sizeof(struct csi_limit);
	return bytes;
}

void storage_stats(const struct cluster *cluster, struct cluster_stats *stats)
{
	const struct storage *storage = &cluster->storage;
	const struct {
		enum cluster_kind kind;
		const struct table *table;
		const struct map *map;
	} all[] = {
		{CLUSTER_VOLUME_CLAIMS, &storage->claims, &storage->claims_by_name},
		{CLUSTER_VOLUMES, &storage->volumes, &storage->volumes_by_name},
		{CLUSTER_STORAGE_CLASSES, &storage->classes, &storage->classes_by_name},
		{CLUSTER_CSI_NODES, &storage->csi_nodes, &storage->csi_nodes_by_name},
		{CLUSTER_CSI_DRIVERS, &storage->csi_drivers, &storage->csi_drivers_by_name},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		stats->objects[all[i].kind] = all[i].table->count;
		stats->bytes[all[i].kind] = table_bytes(all[i].table) + map_bytes(all[i].map);
	}
	stats->bytes[CLUSTER_CSI_NODES] += limits_bytes(cluster);
}

_Static_assert(LIMIT_INTERNED_STRING > LIMIT_NAME, "what is cut is no object's name");

/* Takes a reference to @text and gives back the one before. Whoever names what is too long for a
 * name does name something, which is not there: it is cut. */
static void set_name(struct cluster *cluster, uint32_t *name, struct str text)
{
	uint32_t before = *name;

	text.len = MIN(text.len, (size_t)LIMIT_INTERNED_STRING);
	*name = intern_ref(cluster->intern, text);
	intern_unref(cluster->intern, before);
}

/* --- claims */

struct volume_claim_key {
	uint32_t namespace, name;
};

static bool volume_claim_equals(const void *context, uint32_t handle, const void *key)
{
	const struct volume_claim_record *record = volume_claim_at(context, handle);
	const struct volume_claim_key *wanted = key;

	return record->namespace == wanted->namespace && record->name == wanted->name;
}

static uint32_t volume_claim_hash(const struct cluster *cluster, struct volume_claim_key key)
{
	return (uint32_t)hash_u64_pair(&cluster->key, key.namespace, key.name);
}

uint32_t volume_claim_find(const struct cluster *cluster, struct str namespace, struct str name)
{
	const struct volume_claim_key key = {intern_find(cluster->intern, namespace),
					     intern_find(cluster->intern, name)};

	if (key.namespace == INTERN_NONE || key.name == INTERN_NONE)
		return TABLE_NONE;
	return map_find(&cluster->storage.claims_by_name, volume_claim_hash(cluster, key),
			volume_claim_equals, cluster, &key);
}

static uint32_t volume_claim_add(struct cluster *cluster, const struct volume_claim_facts *facts)
{
	const struct volume_claim_key key = {intern_ref(cluster->intern, facts->namespace),
					     intern_ref(cluster->intern, facts->name)};
	uint32_t claim = table_add(&cluster->storage.claims);

	volume_claim_at(cluster, claim)->namespace = key.namespace;
	volume_claim_at(cluster, claim)->name = key.name;
	map_insert(&cluster->storage.claims_by_name, volume_claim_hash(cluster, key), claim);
	return claim;
}

int cluster_apply_volume_claim(struct cluster *cluster, const struct volume_claim_facts *facts,
			       struct error *err)
{
	static const struct uid nobody;
	struct volume_claim_record *record;
	uint32_t claim;

	if (check_names(facts->namespace, facts->name, err) < 0)
		return refuse(cluster, CLUSTER_VOLUME_CLAIMS, facts->namespace, facts->name, err);
	claim = volume_claim_find(cluster, facts->namespace, facts->name);
	if (claim == TABLE_NONE)
		claim = volume_claim_add(cluster, facts);
	record = volume_claim_at(cluster, claim);
	set_name(cluster, &record->volume, facts->volume);
	set_name(cluster, &record->class, facts->class);
	set_name(cluster, &record->node, facts->node);
	record->owner =
		str_empty(facts->owner_uid) ? nobody : uid_from(&cluster->key, facts->owner_uid);
	record->chosen = facts->chosen;
	record->bound = facts->bound;
	record->lost = facts->lost;
	record->terminating = facts->terminating;
	record->once = facts->once;
	record->epoch = cluster->epochs[CLUSTER_VOLUME_CLAIMS];
	return 0;
}

void volume_claim_remove(struct cluster *cluster, uint32_t claim)
{
	struct volume_claim_record *record = volume_claim_at(cluster, claim);
	const struct volume_claim_key key = {record->namespace, record->name};

	map_remove(&cluster->storage.claims_by_name, volume_claim_hash(cluster, key), claim);
	set_name(cluster, &record->volume, STR_NONE);
	set_name(cluster, &record->class, STR_NONE);
	set_name(cluster, &record->node, STR_NONE);
	intern_unref(cluster->intern, key.namespace);
	intern_unref(cluster->intern, key.name);
	table_remove(&cluster->storage.claims, claim);
}

/* --- kinds without a namespace */

static struct table *table_of(struct cluster *cluster, enum cluster_kind kind)
{
	struct storage *storage = &cluster->storage;

	if (kind == CLUSTER_VOLUMES)
		return &storage->volumes;
	if (kind == CLUSTER_STORAGE_CLASSES)
		return &storage->classes;
	return kind == CLUSTER_CSI_NODES ? &storage->csi_nodes : &storage->csi_drivers;
}

/* Its record, which is made where needed; NULL where it is refused. */
static void *named(struct cluster *cluster, enum cluster_kind kind, struct str name,
		   struct error *err)
{
	struct table *table = table_of(cluster, kind);
	struct storage_name *record;
	uint32_t handle;

	if (check_names(STR_NONE, name, err) < 0) {
		refuse(cluster, kind, STR_NONE, name, err);
		return NULL;
	}
	handle = name_find(cluster, kind, name);
	if (handle == TABLE_NONE) {
		uint32_t text = intern_ref(cluster->intern, name);

		handle = table_add(table);
		record = table_at(table, handle);
		record->name = text;
		name_insert(cluster, kind, handle);
	}
	record = table_at(table, handle);
	record->epoch = cluster->epochs[kind];
	return record;
}

static void forget_name(struct cluster *cluster, enum cluster_kind kind, uint32_t handle)
{
	struct table *table = table_of(cluster, kind);
	struct storage_name record = *(struct storage_name *)table_at(table, handle);

	name_remove(cluster, kind, handle);
	intern_unref(cluster->intern, record.name);
	table_remove(table, handle);
}

/* In texts, with a reference. */
static uint32_t node_terms_ref(struct cluster *cluster, const struct kept_terms *kept)
{
	if (!kept->terms.chooses && kept->n_labels == 0)
		return TABLE_NONE;
	buf_reset(&cluster->scratch);
	terms_put(&cluster->scratch, kept);
	return texts_ref(&cluster->texts, buf_str(&cluster->scratch));
}

static void set_terms(struct cluster *cluster, uint32_t *terms, const struct kept_terms *kept)
{
	uint32_t before = *terms;

	*terms = node_terms_ref(cluster, kept);
	texts_unref(&cluster->texts, before);
}

static uint64_t handle_id(const struct cluster *cluster, struct str driver, struct str handle)
{
	return hash_u64_pair(&cluster->key, hash_bytes(&cluster->key, driver.data, driver.len),
			     hash_bytes(&cluster->key, handle.data, handle.len));
}

int cluster_apply_volume(struct cluster *cluster, const struct volume_facts *facts,
			 struct error *err)
{
	bool is_new = name_find(cluster, CLUSTER_VOLUMES, facts->name) == TABLE_NONE;
	struct volume_record *record = named(cluster, CLUSTER_VOLUMES, facts->name, err);
	const struct kept_terms kept = {
		.terms = {.chooses = facts->chooses,
			  .terms = facts->terms,
			  .n_terms = facts->n_terms},
		.labels = facts->zones,
		.n_labels = facts->n_zones,
	};

	if (!record)
		return -1;
	if (is_new)
		record->terms = TABLE_NONE;
	set_name(cluster, &record->driver, facts->driver);
	set_terms(cluster, &record->terms, &kept);
	record->id = handle_id(cluster, facts->driver, facts->handle);
	record->translated = facts->translated;
	record->unread = facts->unread;
	return 0;
}

int cluster_apply_storage_class(struct cluster *cluster, const struct storage_class_facts *facts,
				struct error *err)
{
	bool is_new = name_find(cluster, CLUSTER_STORAGE_CLASSES, facts->name) == TABLE_NONE;
	struct storage_class_record *record =
		named(cluster, CLUSTER_STORAGE_CLASSES, facts->name, err);
	const struct kept_terms kept = {.terms = {.chooses = facts->chooses,
						  .terms = facts->terms,
						  .n_terms = facts->n_terms}};

	if (!record)
		return -1;
	if (is_new)
		record->terms = TABLE_NONE;
	set_name(cluster, &record->provisioner, facts->provisioner);
	set_terms(cluster, &record->terms, &kept);
	record->waits = facts->waits;
	record->unread = facts->unread;
	return 0;
}

static void limits_clear(struct cluster *cluster, struct csi_node_record *record)
{
	for (uint32_t i = 0; i < record->n_limits; i++)
		intern_unref(cluster->intern, record->limits[i].driver);
	mem_free(record->limits);
	record->limits = NULL;
	record->n_limits = 0;
}

int cluster_apply_csi_node(struct cluster *cluster, const struct csi_node_facts *facts,
			   struct error *err)
{
	struct csi_node_record *record = named(cluster, CLUSTER_CSI_NODES, facts->name, err);
	size_t n = MIN(facts->n_drivers, (size_t)LIMIT_CSI_DRIVERS);
	struct csi_limit *limits;

	if (!record)
		return -1;
	limits = n > 0 ? mem_alloc_array(n, sizeof(*limits)) : NULL;
	for (size_t i = 0; i < n; i++) {
		limits[i] = (struct csi_limit){
			.most = (int32_t)MIN(facts->drivers[i].most, (int64_t)INT32_MAX)};
		set_name(cluster, &limits[i].driver, facts->drivers[i].name);
	}
	limits_clear(cluster, record);
	record->limits = limits;
	record->n_limits = (uint32_t)n;
	record->unread = n < facts->n_drivers;
	return 0;
}

int cluster_apply_csi_driver(struct cluster *cluster, const struct csi_driver_facts *facts,
			     struct error *err)
{
	struct csi_driver_record *record = named(cluster, CLUSTER_CSI_DRIVERS, facts->name, err);

	if (!record)
		return -1;
	record->tells_capacity = facts->tells_capacity;
	record->must_be_there = facts->must_be_there;
	return 0;
}

void volume_remove(struct cluster *cluster, uint32_t volume)
{
	set_name(cluster, &volume_at(cluster, volume)->driver, STR_NONE);
	texts_unref(&cluster->texts, volume_at(cluster, volume)->terms);
	forget_name(cluster, CLUSTER_VOLUMES, volume);
}

void storage_class_remove(struct cluster *cluster, uint32_t class)
{
	set_name(cluster, &storage_class_at(cluster, class)->provisioner, STR_NONE);
	texts_unref(&cluster->texts, storage_class_at(cluster, class)->terms);
	forget_name(cluster, CLUSTER_STORAGE_CLASSES, class);
}

void csi_node_remove(struct cluster *cluster, uint32_t csi_node)
{
	limits_clear(cluster, csi_node_at(cluster, csi_node));
	forget_name(cluster, CLUSTER_CSI_NODES, csi_node);
}

void csi_driver_remove(struct cluster *cluster, uint32_t driver)
{
	forget_name(cluster, CLUSTER_CSI_DRIVERS, driver);
}
