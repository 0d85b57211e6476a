/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResourceClaims. Each that exists is an entry of the ledger, however many pods share it:
 * allocated, by the devices that it has; before that, by the dearest that its classes may give it.
 * One that the scheduler made for the extended resources of a pod is not charged beside that pod.
 * What says so is the pod's status, which a tenant cannot write, and not the claim.
 */
#include "base/checked.h"
#include "cluster/dra_internal.h"
#include "cluster/part.h"
#include "model/claim.h"

/* --- look-ups */

struct claim_key {
	uint32_t namespace, name;
};

static bool key_equals(const void *context, uint32_t handle, const void *key)
{
	const struct device_claim_record *claim = device_claim_at(context, handle);
	const struct claim_key *wanted = key;

	return claim->namespace == wanted->namespace && claim->name == wanted->name;
}

static uint32_t key_hash(const struct cluster *cluster, struct claim_key key)
{
	return (uint32_t)hash_u64_pair(&cluster->key, key.namespace, key.name);
}

uint32_t claim_of_pod(const struct cluster *cluster, uint32_t namespace, uint32_t claim_name)
{
	struct claim_key key = {namespace, claim_name};

	if (claim_name == INTERN_EMPTY)
		return TABLE_NONE;
	return map_find(&cluster->dra.claims_by_name, key_hash(cluster, key), key_equals,
			&cluster->dra, &key);
}

uint32_t claim_find(const struct cluster *cluster, struct str namespace, struct str name)
{
	uint32_t ns = namespace_find(cluster, namespace);
	uint32_t interned = intern_find(cluster->intern, name);

	if (ns == TABLE_NONE || interned == INTERN_NONE)
		return TABLE_NONE;
	return claim_of_pod(cluster, ns, interned);
}

/* --- what a claim adds */

/* Whether its pod is charged for it. */
static bool is_carried(const struct cluster *cluster, const struct device_claim_record *claim)
{
	const struct pod_record *pod;
	uint32_t handle;

	if (!claim->has_owner)
		return false;
	handle = pod_of(cluster, claim->namespace, claim->owner_name);
	if (handle == TABLE_NONE)
		return false;
	pod = pod_at(cluster, handle);
	return uid_equal(pod->uid, claim->owner) && !pod_finished(pod) &&
	       pod->extended_claim == claim->name;
}

/* What one device costs, and where it is counted. */
struct cost {
	int64_t unit; /* bytes or AMOUNT_UNKNOWN */
	const struct price_row *row;
	bool free;    /* it is no GPU */
	bool assumed; /* it does not tell its memory */
};

static const struct class_record *class_named(const struct cluster *cluster, uint32_t name)
{
	uint32_t class = class_find(cluster, intern_str(cluster->intern, name));

	return class == TABLE_NONE ? NULL : class_at(&cluster->dra, class);
}

/* Of a class of which nothing is known: the dearest device there is, under no row, as at admission.
 */
static struct cost strange_cost(const struct cluster *cluster)
{
	return (struct cost){.unit = cluster->dearest, .assumed = true};
}

/* The dearest that a class may give, as far as that is known. */
static struct cost known_cost(const struct cluster *cluster, const struct class_record *class)
{
	struct price_list list = prices_of(cluster);
	const struct offer_kind *dearest;
	struct cost cost = {.free = class_is_free(class)};

	if (cost.free)
		return cost;
	if (class->dearest == TABLE_NONE) {
		cost.unit = part_price(cluster, class->row, PRODUCT_ANY);
		cost.row = price_row_charged(&list, class->row, PRODUCT_ANY);
		return cost;
	}
	dearest = kind_at(cluster, class->dearest);
	cost.unit = dearest->unit_memory;
	if (cost.unit == AMOUNT_UNKNOWN)
		cost.unit = part_price(cluster, class->row, dearest->product);
	cost.row = price_find(&list, class->row, dearest->product);
	return cost;
}

static struct cost class_cost(const struct cluster *cluster, uint32_t name)
{
	const struct class_record *class = class_named(cluster, name);
	struct cost cost;

	if (!class)
		return strange_cost(cluster);
	cost = known_cost(cluster, class);
	return cost.free || cost.unit != AMOUNT_UNKNOWN ? cost : strange_cost(cluster);
}

static struct cost device_cost(const struct cluster *cluster, const struct claim_result *result,
			       const struct device_record *device)
{
	const struct class_record *class = class_named(cluster, result->class);
	struct price_list list = prices_of(cluster);
	struct cost cost = {.unit = AMOUNT_UNKNOWN, .free = device->kind == TABLE_NONE};
	const struct device_kind *kind;

	if (cost.free)
		return cost;
	kind = device_kind_at(&cluster->dra, device->kind);
	cost.unit = kind->memory;
	if (kind->shared && result->consumed != AMOUNT_NONE)
		cost.unit = result->consumed;
	cost.assumed = cost.unit == AMOUNT_UNKNOWN;
	if (!class)
		return cost;
	if (cost.unit == AMOUNT_UNKNOWN)
		cost.unit = part_price(cluster, class->row, PRODUCT_ANY);
	cost.row = price_find(&list, class->row, kind->product);
	return cost;
}

static struct cost result_cost(const struct cluster *cluster, const struct claim_result *result)
{
	uint32_t device = device_find(cluster, result->pool, result->device);
	struct cost cost;

	if (device != TABLE_NONE)
		return device_cost(cluster, result, device_at(&cluster->dra, device));
	cost = class_cost(cluster, result->class);
	if (!cost.free && result->consumed != AMOUNT_NONE)
		cost.unit = result->consumed;
	return cost;
}

static void add_results(const struct cluster *cluster, const struct device_claim_record *claim,
			struct part *part)
{
	for (uint32_t h = claim->first_result; h != TABLE_NONE;
	     h = result_at(&cluster->dra, h)->next) {
		struct cost cost = result_cost(cluster, result_at(&cluster->dra, h));

		int64_t bytes;

		if (cost.free)
			continue;
		bytes = part_add(cluster, part, cost.row, 1, cost.unit);
		if (cost.assumed)
			part->assumed = saturating_add(part->assumed, bytes);
	}
}

/* So many devices of a class. */
struct wanted {
	struct cost cost;
	int64_t count; /* 0: none */
};

/* The dearest choice that can be priced, and the largest that cannot. */
static void weigh(const struct wanted *choice, struct wanted *priced, struct wanted *unpriced)
{
	int64_t bytes = saturating_mul(choice->count, MAX(choice->cost.unit, (int64_t)0));

	if (choice->cost.free)
		return;
	if (choice->cost.unit == AMOUNT_UNKNOWN) {
		if (choice->count > unpriced->count)
			*unpriced = *choice;
	} else if (bytes > saturating_mul(priced->count, priced->cost.unit)) {
		*priced = *choice;
	}
}

static void add_request(const struct cluster *cluster, const struct wanted *wanted,
			struct part *part)
{
	int64_t bytes;

	if (wanted->count == 0)
		return;
	bytes = part_add(cluster, part, wanted->cost.row, wanted->count, wanted->cost.unit);
	if (wanted->cost.assumed)
		part->assumed = saturating_add(part->assumed, bytes);
}

static void add_asks(const struct cluster *cluster, const struct device_claim_record *claim,
		     struct part *part)
{
	uint32_t h = claim->first_ask;

	while (h != TABLE_NONE) {
		uint32_t request = ask_at(&cluster->dra, h)->request;
		struct wanted priced = {0}, unpriced = {0};

		while (h != TABLE_NONE && ask_at(&cluster->dra, h)->request == request) {
			const struct claim_ask *ask = ask_at(&cluster->dra, h);
			struct wanted choice = {class_cost(cluster, ask->class), ask->count};

			weigh(&choice, &priced, &unpriced);
			h = ask->next;
		}
		add_request(cluster, &priced, part);
		add_request(cluster, &unpriced, part);
	}
}

void claim_part(const struct cluster *cluster, uint32_t claim, struct part *ret_part)
{
	const struct device_claim_record *record = device_claim_at(&cluster->dra, claim);

	ret_part->bytes = ret_part->unpriced = ret_part->assumed = 0;
	ret_part->disagreeing = false;
	ret_part->n_rows = 0;
	ret_part->pods = 0;
	ret_part->live = record->allocated;
	ret_part->released = false;
	if (is_carried(cluster, record))
		return;
	if (record->allocated)
		add_results(cluster, record, ret_part);
	else
		add_asks(cluster, record, ret_part);
}

/* --- coming and going */

static void link_to_namespace(struct cluster *cluster, uint32_t claim)
{
	struct device_claim_record *record = device_claim_at(&cluster->dra, claim);
	struct namespace_record *ns = namespace_at(cluster, record->namespace);

	record->namespace_prev = TABLE_NONE;
	record->namespace_next = ns->first_device_claim;
	if (ns->first_device_claim != TABLE_NONE)
		device_claim_at(&cluster->dra, ns->first_device_claim)->namespace_prev = claim;
	ns->first_device_claim = claim;
	ns->n_device_claims++;
}

static void unlink_from_namespace(struct cluster *cluster, uint32_t claim)
{
	struct dra *dra = &cluster->dra;
	const struct device_claim_record *record = device_claim_at(dra, claim);
	struct namespace_record *ns = namespace_at(cluster, record->namespace);

	if (record->namespace_next != TABLE_NONE)
		device_claim_at(dra, record->namespace_next)->namespace_prev =
			record->namespace_prev;
	if (record->namespace_prev != TABLE_NONE)
		device_claim_at(dra, record->namespace_prev)->namespace_next =
			record->namespace_next;
	else
		ns->first_device_claim = record->namespace_next;
	ns->n_device_claims--;
}

static uint32_t claim_add(struct cluster *cluster, const struct claim_facts *facts)
{
	uint32_t ns = namespace_get(cluster, facts->namespace);
	uint32_t claim = table_add(&cluster->dra.claims);
	struct device_claim_record *record = device_claim_at(&cluster->dra, claim);

	record->namespace = ns;
	record->name = intern_ref(cluster->intern, facts->name);
	record->first_ask = record->first_result = record->eviction = TABLE_NONE;
	map_insert(&cluster->dra.claims_by_name,
		   key_hash(cluster, (struct claim_key){ns, record->name}), claim);
	link_to_namespace(cluster, claim);
	return claim;
}

static void drop_asks(struct cluster *cluster, struct device_claim_record *record)
{
	struct dra *dra = &cluster->dra;

	while (record->first_ask != TABLE_NONE) {
		uint32_t ask = record->first_ask;

		record->first_ask = ask_at(dra, ask)->next;
		intern_unref(cluster->intern, ask_at(dra, ask)->class);
		table_remove(&dra->asks, ask);
	}
}

static void leave_pool(struct dra *dra, uint32_t result)
{
	const struct claim_result *record = result_at(dra, result);

	if (record->pool_next != TABLE_NONE)
		result_at(dra, record->pool_next)->pool_prev = record->pool_prev;
	if (record->pool_prev != TABLE_NONE)
		result_at(dra, record->pool_prev)->pool_next = record->pool_next;
	else
		pool_at(dra, record->pool)->first_result = record->pool_next;
}

static void drop_results(struct cluster *cluster, struct device_claim_record *record)
{
	struct dra *dra = &cluster->dra;

	while (record->first_result != TABLE_NONE) {
		uint32_t result = record->first_result;
		uint32_t pool = result_at(dra, result)->pool;

		record->first_result = result_at(dra, result)->next;
		leave_pool(dra, result);
		intern_unref(cluster->intern, result_at(dra, result)->device);
		intern_unref(cluster->intern, result_at(dra, result)->class);
		table_remove(&dra->results, result);
		pool_release(cluster, pool);
	}
}

void claim_remove(struct cluster *cluster, uint32_t claim)
{
	struct device_claim_record *record = device_claim_at(&cluster->dra, claim);
	struct claim_key key = {record->namespace, record->name};

	ledger_remove_claim(cluster, claim);
	cluster_mark_dirty(cluster, key.namespace);
	eviction_forget(cluster, &record->eviction);
	drop_asks(cluster, record);
	drop_results(cluster, record);
	unlink_from_namespace(cluster, claim);
	map_remove(&cluster->dra.claims_by_name, key_hash(cluster, key), claim);
	intern_unref(cluster->intern, record->name);
	intern_unref(cluster->intern, record->owner_name);
	table_remove(&cluster->dra.claims, claim);
	namespace_release(cluster, key.namespace);
}

/* --- the object */

static void add_ask(struct cluster *cluster, uint32_t claim, uint32_t request,
		    const struct claim_choice *choice)
{
	struct device_claim_record *record = device_claim_at(&cluster->dra, claim);
	uint32_t ask = table_add(&cluster->dra.asks);

	*ask_at(&cluster->dra, ask) = (struct claim_ask){
		.count = choice->count,
		.class = intern_ref(cluster->intern, choice->class),
		.request = request,
		.next = record->first_ask,
	};
	record->first_ask = ask;
}

static void add_result(struct cluster *cluster, uint32_t claim, const struct claim_device *device)
{
	struct dra *dra = &cluster->dra;
	uint32_t pool = pool_get(cluster, device->driver, device->pool);
	uint32_t result = table_add(&dra->results);
	struct device_claim_record *record = device_claim_at(dra, claim);
	uint32_t first = pool_at(dra, pool)->first_result;

	*result_at(dra, result) = (struct claim_result){
		.consumed = device->consumed_memory,
		.claim = claim,
		.pool = pool,
		.device = intern_ref(cluster->intern, device->device),
		.class = intern_ref(cluster->intern, device->class),
		.next = record->first_result,
		.pool_next = first,
		.pool_prev = TABLE_NONE,
	};
	record->first_result = result;
	if (first != TABLE_NONE)
		result_at(dra, first)->pool_prev = result;
	pool_at(dra, pool)->first_result = result;
}

/* From the end, since each goes before those that are there. */
static void set_contents(struct cluster *cluster, uint32_t claim, const struct claim_facts *facts)
{
	struct device_claim_record *record = device_claim_at(&cluster->dra, claim);

	drop_asks(cluster, record);
	drop_results(cluster, record);
	record->allocated = facts->allocated;
	for (size_t i = facts->n_requests; i-- > 0;) {
		const struct claim_request *request = &facts->requests[i];

		for (size_t k = request->admin_access ? 0 : request->n_choices; k-- > 0;)
			add_ask(cluster, claim, (uint32_t)i, &request->choices[k]);
	}
	for (size_t i = facts->allocated ? facts->n_devices : 0; i-- > 0;)
		if (!facts->devices[i].admin_access)
			add_result(cluster, claim, &facts->devices[i]);
}

/* --- whether it is as it was */

static bool is_owned(const struct claim_facts *facts)
{
	return str_equal(facts->owner_kind, STR("Pod")) && !str_empty(facts->owner_uid);
}

static bool text_is(const struct cluster *cluster, uint32_t text, struct str s)
{
	return str_equal(intern_str(cluster->intern, text), s);
}

static bool asks_are(const struct cluster *cluster, const struct device_claim_record *record,
		     const struct claim_facts *facts)
{
	uint32_t h = record->first_ask;

	for (size_t i = 0; i < facts->n_requests; i++) {
		const struct claim_request *request = &facts->requests[i];
		size_t n = request->admin_access ? 0 : request->n_choices;

		for (size_t k = 0; k < n; k++) {
			const struct claim_ask *ask;

			if (h == TABLE_NONE)
				return false;
			ask = ask_at(&cluster->dra, h);
			if (ask->request != i || ask->count != request->choices[k].count ||
			    !text_is(cluster, ask->class, request->choices[k].class))
				return false;
			h = ask->next;
		}
	}
	return h == TABLE_NONE;
}

static bool result_is(const struct cluster *cluster, const struct claim_result *result,
		      const struct claim_device *device)
{
	const struct pool_record *pool = pool_at(&cluster->dra, result->pool);

	return result->consumed == device->consumed_memory &&
	       text_is(cluster, result->device, device->device) &&
	       text_is(cluster, result->class, device->class) &&
	       text_is(cluster, pool->name, device->pool) &&
	       text_is(cluster, pool->driver, device->driver);
}

static bool results_are(const struct cluster *cluster, const struct device_claim_record *record,
			const struct claim_facts *facts)
{
	uint32_t h = record->first_result;

	if (record->allocated != facts->allocated)
		return false;
	for (size_t i = 0; facts->allocated && i < facts->n_devices; i++) {
		if (facts->devices[i].admin_access)
			continue;
		if (h == TABLE_NONE ||
		    !result_is(cluster, result_at(&cluster->dra, h), &facts->devices[i]))
			return false;
		h = result_at(&cluster->dra, h)->next;
	}
	return h == TABLE_NONE;
}

static bool owner_is(const struct cluster *cluster, const struct device_claim_record *record,
		     const struct claim_facts *facts)
{
	if (!is_owned(facts))
		return !record->has_owner;
	return record->has_owner && text_is(cluster, record->owner_name, facts->owner_name) &&
	       uid_equal(record->owner, uid_from(&cluster->key, facts->owner_uid));
}

/* Most changes of a claim's status are of its users, who are nobody's concern here. */
static bool is_same(const struct cluster *cluster, const struct device_claim_record *record,
		    const struct claim_facts *facts)
{
	return uid_equal(record->uid, uid_from(&cluster->key, facts->uid)) &&
	       owner_is(cluster, record, facts) && asks_are(cluster, record, facts) &&
	       results_are(cluster, record, facts);
}

static void set_owner(struct cluster *cluster, struct device_claim_record *record,
		      const struct claim_facts *facts)
{
	bool pod = is_owned(facts);
	uint32_t old = record->owner_name;

	record->has_owner = pod;
	record->owner_name = intern_ref(cluster->intern, pod ? facts->owner_name : STR_NONE);
	record->owner = uid_from(&cluster->key, pod ? facts->owner_uid : STR_NONE);
	intern_unref(cluster->intern, old);
}

static int check_names_within(const struct claim_facts *facts, struct error *err)
{
	bool good = facts->owner_name.len <= LIMIT_NAME;

	for (size_t i = 0; i < facts->n_requests; i++)
		for (size_t k = 0; k < facts->requests[i].n_choices; k++)
			good = good && facts->requests[i].choices[k].class.len <= LIMIT_NAME;
	for (size_t i = 0; i < facts->n_devices; i++) {
		const struct claim_device *device = &facts->devices[i];

		good = good && device->driver.len <= LIMIT_NAME && device->pool.len <= LIMIT_NAME &&
		       device->device.len <= LIMIT_NAME && device->class.len <= LIMIT_NAME;
	}
	if (!good)
		return error_set(err, ERROR_LIMIT, "a name in it is longer than %d", LIMIT_NAME);
	return 0;
}

static int check(const struct claim_facts *facts, struct error *err)
{
	if (check_names(facts->namespace, facts->name, err) < 0)
		return -1;
	if (facts->n_requests > LIMIT_REQUESTS_PER_CLAIM || facts->n_devices > LIMIT_CLAIM_DEVICES)
		return error_set(err, ERROR_LIMIT, "it asks for too much");
	return check_names_within(facts, err);
}

static int apply(struct cluster *cluster, const struct claim_facts *facts, struct error *err)
{
	struct uid uid = uid_from(&cluster->key, facts->uid);
	uint32_t claim = claim_find(cluster, facts->namespace, facts->name);
	struct device_claim_record *record;
	bool added = claim == TABLE_NONE;

	if (!added)
		device_claim_at(&cluster->dra, claim)->epoch = cluster->epochs[CLUSTER_CLAIMS];
	if (check(facts, err) < 0)
		return -1;
	if (added)
		claim = claim_add(cluster, facts);
	record = device_claim_at(&cluster->dra, claim);
	record->epoch = cluster->epochs[CLUSTER_CLAIMS];
	if (!added && uid_equal(record->uid, uid) &&
	    is_older(facts->resource_version, record->resource_version))
		return 0;
	record->resource_version = facts->resource_version;
	if (!added && is_same(cluster, record, facts))
		return 0;
	ledger_remove_claim(cluster, claim);
	if (!uid_equal(record->uid, uid))
		eviction_forget(cluster, &record->eviction);
	record->uid = uid;
	record->created_s = real_seconds(facts->created_us);
	set_owner(cluster, record, facts);
	set_contents(cluster, claim, facts);
	ledger_add_claim(cluster, claim);
	cluster_mark_dirty(cluster, device_claim_at(&cluster->dra, claim)->namespace);
	return 0;
}

int cluster_apply_claim(struct cluster *cluster, const struct claim_facts *facts, struct error *err)
{
	if (apply(cluster, facts, err) < 0)
		return refuse(cluster, CLUSTER_CLAIMS, facts->namespace, facts->name, err);
	return 0;
}
