/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device classes, and what they make of devices. A class prices its devices under a row of its own,
 * or under the extended resource that it stands for, where device plugins may offer the same. Each
 * kind of device that pools offer is an offer of every class that it may be of; these follow from
 * both tables, are few, and are made anew as a whole.
 */
#include "base/limits.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/ledger/wants.h"
#include "model/claim.h"
#include "model/resource.h"

uint32_t class_find(const struct cluster *cluster, struct str name)
{
	return name_find(cluster, CLUSTER_CLASSES, name);
}

/* --- offers */

static struct class_facts class_text(const struct cluster *cluster,
				     const struct class_record *class)
{
	return (struct class_facts){
		.driver = intern_str(cluster->intern, class->driver),
		.type_domain = intern_str(cluster->intern, class->type_domain),
		.type = intern_str(cluster->intern, class->type),
	};
}

static bool may_be(const struct cluster *cluster, const struct class_record *class,
		   const struct device_kind *kind)
{
	struct class_facts facts = class_text(cluster, class);
	struct slice_device device = {.type = intern_str(cluster->intern, kind->type)};

	return class_may_have(&facts, intern_str(cluster->intern, kind->driver), &device);
}

static enum device_sharing sharing_of(const struct cluster *cluster, const struct device_kind *kind)
{
	struct str type = intern_str(cluster->intern, kind->type);

	if (kind->shared)
		return DEVICE_OTHER;
	if (str_equal(type, STR("gpu")) || str_equal(type, STR("amdgpu")))
		return DEVICE_WHOLE;
	if (str_equal(type, STR("mig")) || str_equal(type, STR("amdgpu-partition")))
		return DEVICE_MIG;
	return DEVICE_OTHER;
}

/* A class that cannot be priced for want of room has no offers: what asks for it is unpriced. */
static void offer_as(struct cluster *cluster, uint32_t device_kind, uint32_t class)
{
	struct device_kind *kind = device_kind_at(&cluster->dra, device_kind);
	const struct class_record *record = class_at(&cluster->dra, class);
	struct device_offer offer = {
		.resource = intern_str(cluster->intern, record->row),
		.product = intern_str(cluster->intern, kind->product),
		.unit_memory = kind->memory,
		.count = 1,
		.sharing = sharing_of(cluster, kind),
		.min_memory = kind->shared ? MIB : 0, /* what claims take of one at least */
	};
	uint32_t offered, cell;

	if (kind_ref(cluster, &offer, &offered, NULL) < 0)
		return;
	cell = table_add(&cluster->dra.class_offers);
	*class_offer_at(&cluster->dra, cell) =
		(struct class_offer){class, offered, kind->first_offer};
	kind->first_offer = cell;
}

static void forget_offers(struct cluster *cluster)
{
	struct dra *dra = &cluster->dra;

	for (uint32_t h = table_next(&dra->class_offers, 0); h != TABLE_NONE;
	     h = table_next(&dra->class_offers, h + 1)) {
		kind_unref(cluster, class_offer_at(dra, h)->kind);
		table_remove(&dra->class_offers, h);
	}
	for (uint32_t h = table_next(&dra->device_kinds, 0); h != TABLE_NONE;
	     h = table_next(&dra->device_kinds, h + 1))
		device_kind_at(dra, h)->first_offer = TABLE_NONE;
	for (uint32_t h = table_next(&dra->classes, 0); h != TABLE_NONE;
	     h = table_next(&dra->classes, h + 1))
		class_at(dra, h)->dearest = TABLE_NONE;
}

/* Whether @kind is dearer than @than; one of unknown memory is charged as the largest there is. */
static bool is_dearer(const struct cluster *cluster, const struct offer_kind *kind,
		      const struct offer_kind *than)
{
	bool unknown = kind->unit_memory == AMOUNT_UNKNOWN;

	if (unknown != (than->unit_memory == AMOUNT_UNKNOWN))
		return unknown;
	if (kind->unit_memory != than->unit_memory)
		return kind->unit_memory > than->unit_memory;
	return str_compare(intern_str(cluster->intern, kind->product),
			   intern_str(cluster->intern, than->product)) < 0;
}

static void find_dearest(struct cluster *cluster)
{
	struct dra *dra = &cluster->dra;

	for (uint32_t h = table_next(&dra->class_offers, 0); h != TABLE_NONE;
	     h = table_next(&dra->class_offers, h + 1)) {
		const struct class_offer *offer = class_offer_at(dra, h);
		struct class_record *class = class_at(dra, offer->class);

		if (class->dearest == TABLE_NONE ||
		    is_dearer(cluster, kind_at(cluster, offer->kind),
			      kind_at(cluster, class->dearest)))
			class->dearest = offer->kind;
	}
}

void class_offers_outdate(struct cluster *cluster)
{
	resources_changed(cluster);
	cluster->class_list.stale = true;
	if (cluster->dra.offers_stale)
		return;
	cluster->dra.offers_stale = cluster->prices_stale = true;
	prices_outdate(cluster);
}

void class_offers_refresh(struct cluster *cluster)
{
	struct dra *dra = &cluster->dra;

	if (!dra->offers_stale)
		return;
	dra->offers_stale = false;
	resources_changed(cluster);
	forget_offers(cluster);
	for (uint32_t kind = table_next(&dra->device_kinds, 0); kind != TABLE_NONE;
	     kind = table_next(&dra->device_kinds, kind + 1)) {
		if (device_kind_at(dra, kind)->offered == 0)
			continue;
		for (uint32_t class = table_next(&dra->classes, 0); class != TABLE_NONE;
		     class = table_next(&dra->classes, class + 1))
			if (may_be(cluster, class_at(dra, class), device_kind_at(dra, kind)))
				offer_as(cluster, kind, class);
	}
	find_dearest(cluster);
}

const struct offer_kind *devices_offer(const struct cluster *cluster, uint32_t node,
				       uint32_t resource)
{
	const struct dra *dra = &cluster->dra;
	const struct offer_kind *dearest = NULL;
	uint32_t seen = TABLE_NONE, device;

	device = node == TABLE_NONE ? TABLE_NONE : node_at(cluster, node)->first_device;
	for (; device != TABLE_NONE; device = device_at(dra, device)->node_next) {
		uint32_t kind = device_at(dra, device)->kind, cell;

		if (kind == TABLE_NONE || kind == seen)
			continue;
		seen = kind; /* a node's devices are mostly alike */
		for (cell = device_kind_at(dra, kind)->first_offer; cell != TABLE_NONE;
		     cell = class_offer_at(dra, cell)->next) {
			const struct offer_kind *offer =
				kind_at(cluster, class_offer_at(dra, cell)->kind);

			if (offer->resource == resource &&
			    (!dearest || is_dearer(cluster, offer, dearest)))
				dearest = offer;
		}
	}
	return dearest;
}

/* --- what is asked for by a class's name */

bool class_row_is_gpu(const struct cluster *cluster, const struct class_record *class)
{
	enum resource_family family = resource_family(intern_str(cluster->intern, class->row));
	struct price_list list = prices_of(cluster);

	return class->in_table || (family != RESOURCE_NOT_GPU && family != RESOURCE_DEVICE_CLASS) ||
	       price_of(&list, class->row).n_rows > 0;
}

/* Of pools that are complete or not. */
static bool has_gpus(const struct cluster *cluster, const struct class_record *class)
{
	const struct dra *dra = &cluster->dra;

	for (uint32_t kind = table_next(&dra->device_kinds, 0); kind != TABLE_NONE;
	     kind = table_next(&dra->device_kinds, kind + 1))
		if (may_be(cluster, class, device_kind_at(dra, kind)))
			return true;
	return false;
}

/* Before a driver has published anything, nobody knows what it has. */
static bool has_published(const struct cluster *cluster, uint32_t driver)
{
	const struct dra *dra = &cluster->dra;

	for (uint32_t pool = table_next(&dra->pools, 0); pool != TABLE_NONE;
	     pool = table_next(&dra->pools, pool + 1)) {
		uint32_t slice = pool_at(dra, pool)->first_slice;

		if (pool_at(dra, pool)->driver != driver)
			continue;
		for (; slice != TABLE_NONE; slice = slice_at(dra, slice)->pool_next)
			if (slice_at(dra, slice)->first_device != TABLE_NONE)
				return true;
	}
	return false;
}

static bool is_free(const struct cluster *cluster, const struct class_record *class)
{
	return class->driver != INTERN_EMPTY && !class->gave_gpus &&
	       !device_driver_is_gpu(intern_str(cluster->intern, class->driver)) &&
	       !class_row_is_gpu(cluster, class) && has_published(cluster, class->driver);
}

bool class_is_free(const struct class_record *class)
{
	return class->free;
}

static bool is_told(const struct dra *dra, uint32_t resource)
{
	for (size_t i = 0; i < dra->n_told; i++)
		if (dra->told[i] == resource)
			return true;
	return false;
}

void classes_told(struct cluster *cluster, const struct quota_classes *classes)
{
	struct dra *dra = &cluster->dra;

	for (size_t i = 0; i < classes->n && !cluster->recounted; i++) {
		struct str resource = classes->list[i].resource;

		if (str_empty(resource) || dra->n_told == ARRAY_SIZE(dra->told) ||
		    is_told(dra, intern_find(cluster->intern, resource)))
			continue;
		dra->told[dra->n_told++] = intern_ref(cluster->intern, resource);
		cluster->class_list.stale = true;
	}
}

void classes_refresh(struct cluster *cluster)
{
	struct dra *dra = &cluster->dra;
	bool changed = false;

	if (!cluster->class_list.stale)
		return;
	for (uint32_t h = table_next(&dra->classes, 0); h != TABLE_NONE;
	     h = table_next(&dra->classes, h + 1)) {
		struct class_record *class = class_at(dra, h);
		bool free;

		class->gave_gpus = class->gave_gpus || has_gpus(cluster, class) ||
				   class_row_is_gpu(cluster, class) ||
				   (!cluster->recounted && is_told(dra, class->row));
		free = is_free(cluster, class);
		changed = changed || free != class->free;
		class->free = free;
	}
	if (changed)
		prices_outdate(cluster);
}

static uint32_t class_of_resource(const struct cluster *cluster, uint32_t resource)
{
	struct str name;

	if (cluster->dra.classes.count == 0 ||
	    !resource_device_class(intern_str(cluster->intern, resource), &name))
		return TABLE_NONE;
	return class_find(cluster, name);
}

uint32_t class_row(const struct cluster *cluster, uint32_t resource)
{
	uint32_t class = class_of_resource(cluster, resource);

	return class == TABLE_NONE ? resource : class_at(&cluster->dra, class)->row;
}

bool class_resource_is_free(const struct cluster *cluster, uint32_t resource)
{
	uint32_t class = class_of_resource(cluster, resource);

	return class != TABLE_NONE && class_is_free(class_at(&cluster->dra, class));
}

/* --- rooms */

/* Whether what is asked for as @resource may be counted otherwise once the class has changed. */
static bool is_of_class(const struct cluster *cluster, const struct class_record *class,
			uint32_t resource)
{
	struct str name;

	if (resource == INTERN_EMPTY)
		return false;
	return resource == class->row ||
	       (resource_device_class(intern_str(cluster->intern, resource), &name) &&
		str_equal(name, intern_str(cluster->intern, class->name)));
}

/*
 * What pods hold of nodes is counted by the resource that the class makes of the one that they name
 * (class_row()): where any pod names it, before a class changes or after, rooms are worked out
 * anew.
 */
static void rooms_outdate(struct cluster *cluster, const struct class_record *class)
{
	uint32_t want = cluster_want_next(cluster, 0);

	for (; want != TABLE_NONE && !cluster->dra.rooms_stale;
	     want = cluster_want_next(cluster, want + 1)) {
		struct cluster_want asked;

		cluster_want(cluster, want, &asked);
		for (size_t i = 0; i < asked.n; i++)
			cluster->dra.rooms_stale |=
				is_of_class(cluster, class, asked.cells[i]->resource) ||
				is_of_class(cluster, class, asked.cells[i]->device);
	}
}

void class_rooms_refresh(struct cluster *cluster)
{
	if (!cluster->dra.rooms_stale)
		return;
	cluster->dra.rooms_stale = false;
	for (uint32_t node = table_next(&cluster->nodes, 0); node != TABLE_NONE;
	     node = table_next(&cluster->nodes, node + 1))
		if (node_at(cluster, node)->first_pod != TABLE_NONE)
			room_refresh(cluster, node);
}

/* --- the object */

/* The name of the row; false where it is longer than a name can be. */
static bool row_name(const struct class_facts *facts, char text[LIMIT_INTERNED_STRING],
		     struct str *ret_name)
{
	const struct str suffix = STR(RESOURCE_CLASS_SUFFIX);

	if (!str_empty(facts->extended_resource)) {
		*ret_name = facts->extended_resource;
		return facts->extended_resource.len <= LIMIT_INTERNED_STRING;
	}
	memcpy(text, facts->name.data, facts->name.len);
	memcpy(text + facts->name.len, suffix.data, suffix.len);
	*ret_name = (struct str){text, facts->name.len + suffix.len};
	return true;
}

static void set_text(struct cluster *cluster, uint32_t *text, struct str s)
{
	uint32_t old = *text;

	*text = intern_ref(cluster->intern, s);
	intern_unref(cluster->intern, old);
}

static bool text_is(const struct cluster *cluster, uint32_t text, struct str s)
{
	return str_equal(intern_str(cluster->intern, text), s);
}

static bool is_same(const struct cluster *cluster, const struct class_record *class,
		    const struct class_facts *facts, struct str row)
{
	return class->in_table == facts->in_table && text_is(cluster, class->row, row) &&
	       text_is(cluster, class->driver, facts->driver) &&
	       text_is(cluster, class->type_domain, facts->type_domain) &&
	       text_is(cluster, class->type, facts->type);
}

static uint32_t class_add(struct cluster *cluster, struct str name)
{
	uint32_t class = table_add(&cluster->dra.classes);
	struct class_record *record = class_at(&cluster->dra, class);

	record->name = intern_ref(cluster->intern, name);
	record->dearest = TABLE_NONE;
	name_insert(cluster, CLUSTER_CLASSES, class);
	return class;
}

static int check(const struct class_facts *facts, struct error *err)
{
	if (facts->driver.len > LIMIT_NAME || facts->type_domain.len > LIMIT_NAME ||
	    facts->type.len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "its driver or type is too long");
	return check_names(STR_NONE, facts->name, err);
}

static int apply(struct cluster *cluster, const struct class_facts *facts, struct error *err)
{
	struct uid uid = uid_from(&cluster->key, facts->uid);
	char text[LIMIT_INTERNED_STRING];
	struct class_record *record;
	bool added, same;
	uint32_t class;
	struct str row;

	if (check(facts, err) < 0)
		return -1;
	if (!row_name(facts, text, &row))
		return error_set(err, ERROR_LIMIT, "its extendedResourceName is too long");
	class = class_find(cluster, facts->name);
	added = class == TABLE_NONE;
	if (added)
		class = class_add(cluster, facts->name);
	record = class_at(&cluster->dra, class);
	record->epoch = cluster->epochs[CLUSTER_CLASSES];
	same = !added && uid_equal(record->uid, uid);
	if (same && is_older(facts->resource_version, record->resource_version))
		return 0;
	record->uid = uid;
	record->resource_version = facts->resource_version;
	if (same && is_same(cluster, record, facts, row))
		return 0;
	rooms_outdate(cluster, record);
	record->in_table = facts->in_table;
	record->gave_gpus = false;
	set_text(cluster, &record->row, row);
	set_text(cluster, &record->driver, facts->driver);
	set_text(cluster, &record->type_domain, facts->type_domain);
	set_text(cluster, &record->type, facts->type);
	rooms_outdate(cluster, record);
	class_offers_outdate(cluster);
	prices_settle(cluster);
	return 0;
}

int cluster_apply_class(struct cluster *cluster, const struct class_facts *facts, struct error *err)
{
	if (apply(cluster, facts, err) < 0)
		return refuse(cluster, CLUSTER_CLASSES, STR_NONE, facts->name, err);
	return 0;
}

void class_remove(struct cluster *cluster, uint32_t class)
{
	struct class_record *record = class_at(&cluster->dra, class);

	rooms_outdate(cluster, record);
	name_remove(cluster, CLUSTER_CLASSES, class);
	intern_unref(cluster->intern, record->name);
	intern_unref(cluster->intern, record->row);
	intern_unref(cluster->intern, record->driver);
	intern_unref(cluster->intern, record->type_domain);
	intern_unref(cluster->intern, record->type);
	table_remove(&cluster->dra.classes, class);
	class_offers_outdate(cluster);
	prices_settle(cluster);
}
