/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResourceClaims. Each that exists is an entry of the ledger, however many pods share it; what it
 * costs is claim_part.c's to say.
 */
#include "base/checked.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/ledger/part.h"
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
	claim_rooms_refresh(cluster, key.namespace, key.name);
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
	record->numa_together = facts->numa_together;
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

	if (record->allocated != facts->allocated || record->numa_together != facts->numa_together)
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
	claim_rooms_refresh(cluster, record->namespace, record->name);
	cluster_mark_dirty(cluster, record->namespace);
	return 0;
}

int cluster_apply_claim(struct cluster *cluster, const struct claim_facts *facts, struct error *err)
{
	if (apply(cluster, facts, err) < 0)
		return refuse(cluster, CLUSTER_CLAIMS, facts->namespace, facts->name, err);
	return 0;
}
