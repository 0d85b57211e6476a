/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of claims, slices, classes and pods, in any order, with stale versions, missed
 * events and replaces, against a model that finds each device and each price anew from the objects.
 * After each step the sums are the model's, a recount agrees, and every namespace whose sums
 * changed was marked dirty.
 *
 * size: the model stays beside the objects that it adds up
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/random.h"
#include "cluster/read.h"

#define HISTORIES 40
#define STEPS     400

enum { NAMESPACES = 3, CLAIMS = 4, PODS = 3, POOLS = 4, SLICES = 6, CLASSES = 4 };
enum { DEVICES = 4, CHOICES = 2, REQUESTS = 2, RESULTS = 2, NODES = 3 };

static const char *const drivers[] = {"", "gpu.a", "dra.net"};
static const char *const types[] = {"", "gpu", "mig"};
static const char *const products[] = {"", "H100", "A100"};
static const int64_t memories[] = {AMOUNT_NONE, AMOUNT_UNKNOWN, 5 * GIB, 40 * GIB, 80 * GIB};

struct class
{
	bool exists, extended, gave; /* gave: some device that is a GPU was of it */
	uint64_t uid, version;
	int driver, type; /* 0: any */
};

struct device {
	int type, product, node; /* node -1: none */
	int64_t memory;
	bool shared;
};

/* Slices 2i and 2i + 1 are mostly of pool i. No two slices have devices of one name. */
struct slice {
	bool exists;
	uint64_t uid, version;
	int pool, driver; /* driver: 1 or 2 */
	int64_t generation, count;
	int n_devices, first_name;
	struct device devices[DEVICES];
};

struct claim {
	bool exists, allocated, admin, owned;
	uint64_t uid, version;
	int owner; /* pod of its namespace */
	uint64_t owner_uid;
	int n_requests, n_results;
	struct {
		int n, class[CHOICES];
		int64_t count[CHOICES];
	} requests[REQUESTS];
	struct {
		int driver, pool, device, class;
		int64_t consumed;
		bool admin;
	} results[RESULTS];
};

struct pod {
	bool exists, finished;
	uint64_t uid, version;
	int node;  /* -1: not bound */
	int class; /* asks for this one's devices by name; -1: for nvidia.com/gpu */
	int claim; /* -1: none */
};

struct world {
	struct random random;
	struct cluster *cluster;
	uint64_t counter;
	struct class classes[CLASSES];
	struct slice slices[SLICES];
	struct claim claims[NAMESPACES][CLAIMS];
	struct pod pods[NAMESPACES][PODS];
	bool dirty[NAMESPACES];
};

static int below(struct world *w, int bound)
{
	return (int)random_below(&w->random, (uint64_t)bound);
}

static bool chance(struct world *w, int one_in)
{
	return below(w, one_in) == 0;
}

/* --- telling the cluster */

struct name {
	char text[64];
};

static struct name name_of(const char *kind, int64_t number)
{
	struct name name = {""};

	snprintf(name.text, sizeof(name.text), "%s-%d", kind, (int)number);
	return name;
}

static void tell_class(struct world *w, int i)
{
	const struct class *class = &w->classes[i];
	struct name name = name_of("class", i), uid = name_of("uid", (int64_t) class->uid);
	struct class_facts facts = {
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.resource_version = class->version,
		.extended_resource = class->extended ? STR("nvidia.com/gpu") : STR_NONE,
		.driver = str_from(drivers[class->driver]),
		.type_domain = class->type ? STR("gpu.a") : STR_NONE,
		.type = str_from(types[class->type]),
	};

	assert_int_equal(cluster_apply_class(w->cluster, &facts, NULL), 0);
}

static void tell_slice(struct world *w, int i, const struct slice *slice)
{
	struct name name = name_of("slice", i), uid = name_of("uid", (int64_t)slice->uid);
	struct name pool = name_of("pool", slice->pool), names[DEVICES], nodes[DEVICES];
	struct slice_device devices[DEVICES];
	struct slice_facts facts = {
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.resource_version = slice->version,
		.driver = str_from(drivers[slice->driver]),
		.pool = str_from(pool.text),
		.generation = slice->generation,
		.slice_count = slice->count,
		.devices = devices,
		.n_devices = (size_t)slice->n_devices,
	};

	for (int k = 0; k < slice->n_devices; k++) {
		const struct device *device = &slice->devices[k];

		names[k] = name_of("device", slice->first_name + k);
		nodes[k] = name_of("node", device->node);
		devices[k] = (struct slice_device){
			.name = str_from(names[k].text),
			.type = str_from(types[device->type]),
			.product = str_from(products[device->product]),
			.node = device->node < 0 ? STR_NONE : str_from(nodes[k].text),
			.memory = device->memory,
			.shared = device->shared,
		};
	}
	assert_int_equal(cluster_apply_slice(w->cluster, &facts, NULL), 0);
}

static void tell_claim(struct world *w, int ns, int i, const struct claim *claim)
{
	struct name space = name_of("ns", ns), name = name_of("claim", i);
	struct name uid = name_of("uid", (int64_t)claim->uid), owner = name_of("pod", claim->owner);
	struct name owner_uid = name_of("uid", (int64_t)claim->owner_uid);
	struct name class_names[REQUESTS][CHOICES], texts[RESULTS][3];
	struct claim_choice choices[REQUESTS][CHOICES];
	struct claim_request requests[REQUESTS];
	struct claim_device devices[RESULTS];
	struct claim_facts facts = {
		.namespace = str_from(space.text),
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.resource_version = claim->version,
		.owner_kind = claim->owned ? STR("Pod") : STR_NONE,
		.owner_name = claim->owned ? str_from(owner.text) : STR_NONE,
		.owner_uid = claim->owned ? str_from(owner_uid.text) : STR_NONE,
		.requests = requests,
		.n_requests = (size_t)claim->n_requests,
		.allocated = claim->allocated,
		.devices = devices,
		.n_devices = (size_t)claim->n_results,
	};

	for (int r = 0; r < claim->n_requests; r++) {
		for (int k = 0; k < claim->requests[r].n; k++) {
			class_names[r][k] = name_of("class", claim->requests[r].class[k]);
			choices[r][k] = (struct claim_choice){str_from(class_names[r][k].text),
							      claim->requests[r].count[k]};
		}
		requests[r] = (struct claim_request){choices[r], (size_t)claim->requests[r].n,
						     claim->admin};
	}
	for (int r = 0; r < claim->n_results; r++) {
		texts[r][0] = name_of("pool", claim->results[r].pool);
		texts[r][1] = name_of("device", claim->results[r].device);
		texts[r][2] = name_of("class", claim->results[r].class);
		devices[r] = (struct claim_device){
			.driver = str_from(drivers[claim->results[r].driver]),
			.pool = str_from(texts[r][0].text),
			.device = str_from(texts[r][1].text),
			.class = str_from(texts[r][2].text),
			.consumed_memory = claim->results[r].consumed,
			.admin_access = claim->results[r].admin,
		};
	}
	assert_int_equal(cluster_apply_claim(w->cluster, &facts, NULL), 0);
}

static void tell_pod(struct world *w, int ns, int i, const struct pod *pod)
{
	struct name space = name_of("ns", ns), name = name_of("pod", i);
	struct name uid = name_of("uid", (int64_t)pod->uid), node = name_of("node", pod->node);
	struct name claim = name_of("claim", pod->claim);
	struct name card = {"nvidia.com/gpu"};
	struct name by_class = name_of("deviceclass.resource.kubernetes.io/class", pod->class);
	struct name resource = pod->class < 0 ? card : by_class;
	struct device_ask ask = device_ask_units(str_from(resource.text), 1);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = str_from(space.text),
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.resource_version = pod->version,
		.node = pod->node < 0 ? STR_NONE : str_from(node.text),
		.phase = pod->finished ? POD_SUCCEEDED : POD_RUNNING,
		.extended_claim = pod->claim < 0 ? STR_NONE : str_from(claim.text),
		.containers = &container,
		.n_containers = 1,
	};

	assert_int_equal(cluster_apply_pod(w->cluster, &facts, NULL), 0);
}

static void tell_deleted(struct world *w, enum cluster_kind kind, int ns, struct name name)
{
	struct name space = name_of("ns", ns);

	cluster_delete(w->cluster, kind, ns < 0 ? STR_NONE : str_from(space.text),
		       str_from(name.text));
}

/* --- changing the objects; deliver: the cluster hears of it */

static void change_class(struct world *w, int i, bool deliver)
{
	struct class *class = &w->classes[i];

	if (class->exists && chance(w, 3)) {
		class->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_CLASSES, -1, name_of("class", i));
		return;
	}
	*class = (struct class){
		.exists = true,
		.extended = chance(w, 3),
		.uid = ++w->counter,
		.version = w->counter,
		.driver = below(w, ARRAY_SIZE(drivers)),
		.type = below(w, ARRAY_SIZE(types)),
	};
	if (deliver)
		tell_class(w, i);
}

static struct device new_device(struct world *w)
{
	return (struct device){
		.type = below(w, ARRAY_SIZE(types)),
		.product = below(w, ARRAY_SIZE(products)),
		.node = below(w, NODES + 1) - 1,
		.memory = memories[below(w, ARRAY_SIZE(memories))],
		.shared = chance(w, 4),
	};
}

static void change_devices(struct world *w, struct slice *slice)
{
	slice->n_devices = below(w, DEVICES + 1);
	for (int k = 0; k < slice->n_devices; k++)
		if (slice->devices[k].memory == 0 || !chance(w, 3))
			slice->devices[k] = new_device(w);
}

static void change_slice(struct world *w, int i, bool deliver)
{
	struct slice *slice = &w->slices[i], old = *slice;

	if (slice->exists && chance(w, 4)) {
		slice->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_SLICES, -1, name_of("slice", i));
		return;
	}
	if (!slice->exists || chance(w, 8))
		*slice = (struct slice){.exists = true,
					.uid = ++w->counter,
					.driver = 1,
					.pool = i / 2,
					.first_name = i * DEVICES};
	if (chance(w, 8))
		slice->driver = 1 + below(w, 2);
	if (chance(w, 8))
		slice->pool = below(w, POOLS);
	slice->generation = below(w, 3);
	slice->count = 1 + below(w, 2);
	if (!chance(w, 3))
		change_devices(w, slice);
	slice->version = ++w->counter;
	if (!deliver)
		return;
	tell_slice(w, i, slice);
	if (old.exists && old.uid == slice->uid && chance(w, 4))
		tell_slice(w, i, &old);
}

static void allocate(struct world *w, struct claim *claim)
{
	claim->allocated = true;
	claim->n_results = 1 + below(w, RESULTS);
	for (int r = 0; r < claim->n_results; r++) {
		claim->results[r].driver = chance(w, 6) ? 2 : 1;
		claim->results[r].pool = below(w, POOLS);
		claim->results[r].device =
			2 * DEVICES * claim->results[r].pool + below(w, 2 * DEVICES);
		claim->results[r].class = below(w, CLASSES + 1);
		claim->results[r].consumed = chance(w, 3) ? 3 * GIB : AMOUNT_NONE;
		claim->results[r].admin = chance(w, 6);
	}
}

static struct claim new_claim(struct world *w, int ns)
{
	struct claim claim = {.exists = true, .uid = ++w->counter, .admin = chance(w, 8)};

	claim.owned = chance(w, 2);
	claim.owner = below(w, PODS);
	claim.owner_uid = w->pods[ns][claim.owner].uid;
	claim.n_requests = 1 + below(w, REQUESTS);
	for (int r = 0; r < claim.n_requests; r++) {
		claim.requests[r].n = 1 + below(w, CHOICES);
		for (int k = 0; k < claim.requests[r].n; k++) {
			claim.requests[r].class[k] = below(w, CLASSES + 1);
			claim.requests[r].count[k] = 1 + below(w, 3);
		}
	}
	return claim;
}

static void change_claim(struct world *w, int ns, int i, bool deliver)
{
	struct claim *claim = &w->claims[ns][i], old = *claim;

	if (claim->exists && chance(w, 4)) {
		claim->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_CLAIMS, ns, name_of("claim", i));
		return;
	}
	if (!claim->exists || chance(w, 6))
		*claim = new_claim(w, ns);
	else if (chance(w, 3))
		claim->allocated = false;
	else
		allocate(w, claim);
	claim->version = ++w->counter;
	if (!deliver)
		return;
	tell_claim(w, ns, i, claim);
	if (old.exists && old.uid == claim->uid && chance(w, 4))
		tell_claim(w, ns, i, &old);
}

static void change_pod(struct world *w, int ns, int i, bool deliver)
{
	struct pod *pod = &w->pods[ns][i];

	if (pod->exists && chance(w, 4)) {
		pod->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_PODS, ns, name_of("pod", i));
		return;
	}
	if (!pod->exists || chance(w, 6))
		*pod = (struct pod){.exists = true,
				    .uid = ++w->counter,
				    .node = -1,
				    .claim = -1,
				    .class = below(w, CLASSES + 2) - 1};
	else if (pod->node < 0 && chance(w, 2))
		pod->node = below(w, NODES);
	else if (chance(w, 2))
		pod->claim = below(w, CLAIMS);
	else
		pod->finished = chance(w, 2);
	pod->version = ++w->counter;
	if (deliver)
		tell_pod(w, ns, i, pod);
}

static void change_any(struct world *w, enum cluster_kind kind, bool deliver)
{
	int ns = below(w, NAMESPACES);

	if (kind == CLUSTER_PODS)
		change_pod(w, ns, below(w, PODS), deliver);
	else if (kind == CLUSTER_CLAIMS)
		change_claim(w, ns, below(w, CLAIMS), deliver);
	else if (kind == CLUSTER_SLICES)
		change_slice(w, below(w, SLICES), deliver);
	else
		change_class(w, below(w, CLASSES), deliver);
}

static void tell_all(struct world *w, enum cluster_kind kind)
{
	for (int ns = 0; ns < NAMESPACES; ns++) {
		for (int i = 0; kind == CLUSTER_PODS && i < PODS; i++)
			if (w->pods[ns][i].exists)
				tell_pod(w, ns, i, &w->pods[ns][i]);
		for (int i = 0; kind == CLUSTER_CLAIMS && i < CLAIMS; i++)
			if (w->claims[ns][i].exists)
				tell_claim(w, ns, i, &w->claims[ns][i]);
	}
	for (int i = 0; kind == CLUSTER_SLICES && i < SLICES; i++)
		if (w->slices[i].exists)
			tell_slice(w, i, &w->slices[i]);
	for (int i = 0; kind == CLUSTER_CLASSES && i < CLASSES; i++)
		if (w->classes[i].exists)
			tell_class(w, i);
}

static void replace(struct world *w, enum cluster_kind kind)
{
	for (int missed = below(w, 6); missed > 0; missed--)
		change_any(w, kind, false);
	if (chance(w, 2)) {
		cluster_begin_replace(w->cluster, kind);
		if (chance(w, 2))
			tell_all(w, kind);
		cluster_abort_replace(w->cluster, kind);
	}
	cluster_begin_replace(w->cluster, kind);
	tell_all(w, kind);
	if (kind == CLUSTER_SLICES && chance(w, 2)) /* other watches go on meanwhile */
		change_any(w, chance(w, 2) ? CLUSTER_CLAIMS : CLUSTER_PODS, true);
	cluster_end_replace(w->cluster, kind);
}

static void step(struct world *w)
{
	static const enum cluster_kind kinds[] = {CLUSTER_PODS,   CLUSTER_PODS,   CLUSTER_CLAIMS,
						  CLUSTER_CLAIMS, CLUSTER_CLAIMS, CLUSTER_SLICES,
						  CLUSTER_SLICES, CLUSTER_SLICES, CLUSTER_CLASSES};
	enum cluster_kind kind = kinds[below(w, ARRAY_SIZE(kinds))];

	if (chance(w, 8))
		replace(w, kind);
	else
		change_any(w, kind, true);
}

/* --- the model: devices */

static bool same_pool(const struct slice *slice, int driver, int pool)
{
	return slice->exists && slice->driver == driver && slice->pool == pool;
}

/* The highest generation of a pool, and whether it is complete. */
static int64_t generation_of(const struct world *w, int driver, int pool, bool *ret_complete)
{
	int64_t highest = -1, present = 0, wanted = 0;

	for (int i = 0; i < SLICES; i++)
		if (same_pool(&w->slices[i], driver, pool))
			highest = MAX(highest, w->slices[i].generation);
	for (int i = 0; i < SLICES; i++)
		if (same_pool(&w->slices[i], driver, pool) && w->slices[i].generation == highest) {
			present++;
			wanted = MAX(wanted, w->slices[i].count);
		}
	*ret_complete = present == wanted;
	return highest;
}

/* The device of this name, if it is of the highest generation. */
static const struct device *find_device(const struct world *w, int driver, int pool, int name)
{
	bool complete;
	int64_t generation = generation_of(w, driver, pool, &complete);

	for (int i = 0; i < SLICES; i++) {
		const struct slice *slice = &w->slices[i];

		if (!same_pool(slice, driver, pool) || slice->generation != generation ||
		    name < slice->first_name || name >= slice->first_name + slice->n_devices)
			continue;
		return &slice->devices[name - slice->first_name];
	}
	return NULL;
}

struct current {
	const struct device *device;
	int driver;
	bool offered;
};

static size_t current_devices(const struct world *w, struct current *ret_current)
{
	size_t n = 0;

	for (int driver = 1; driver <= 2; driver++)
		for (int pool = 0; pool < POOLS; pool++)
			for (int name = 0; name < SLICES * DEVICES; name++) {
				struct current *one = &ret_current[n];

				one->device = find_device(w, driver, pool, name);
				if (!one->device)
					continue;
				one->driver = driver;
				generation_of(w, driver, pool, &one->offered);
				n++;
			}
	return n;
}

/* --- the model: prices */

#define MOST_DEVICES (SLICES * DEVICES + 1)

struct market {
	struct current devices[MOST_DEVICES];
	size_t n;
};

static bool may_be(const struct class *class, const struct current *one)
{
	if (class->driver != 0 && class->driver != one->driver)
		return false;
	if (class->type == 0 || one->driver != 1 || one->device->type == 0)
		return true;
	return class->type == one->device->type;
}

static bool same_row(const struct world *w, int a, int b)
{
	return a == b || (w->classes[a].extended && w->classes[b].extended);
}

/* The largest memory that is told under the row of a class. */
static int64_t largest(const struct world *w, const struct market *market, int row)
{
	int64_t most = AMOUNT_UNKNOWN;

	for (int c = 0; c < CLASSES; c++)
		for (size_t i = 0; i < market->n; i++)
			if (w->classes[c].exists && same_row(w, c, row) &&
			    market->devices[i].offered &&
			    may_be(&w->classes[c], &market->devices[i]))
				most = MAX(most, market->devices[i].device->memory);
	return most;
}

/* Whatever pool it is in. */
static bool has_gpus(const struct world *w, const struct class *class)
{
	for (int i = 0; i < SLICES; i++)
		for (int k = 0; w->slices[i].exists && k < w->slices[i].n_devices; k++) {
			const struct device *device = &w->slices[i].devices[k];
			const struct current one = {device, w->slices[i].driver, false};

			if (device->memory != AMOUNT_NONE && may_be(class, &one))
				return true;
		}
	return false;
}

static void remember_gpus(struct world *w)
{
	for (int c = 0; c < CLASSES; c++)
		w->classes[c].gave |= w->classes[c].exists && has_gpus(w, &w->classes[c]);
}

static bool is_free(const struct world *w, const struct class *class)
{
	bool published = false;

	for (int i = 0; i < SLICES; i++)
		published |= w->slices[i].exists && w->slices[i].driver == 2 &&
			     w->slices[i].n_devices > 0;
	return class->driver == 2 && !class->extended && !class->gave && published;
}

struct cost {
	int64_t unit;
	bool free;
};

/* Of a class of which nothing is known. */
static struct cost strange_cost(const struct world *w, const struct market *market)
{
	struct cost cost = {AMOUNT_UNKNOWN, false};

	for (int c = 0; c < CLASSES; c++)
		cost.unit = MAX(cost.unit, largest(w, market, c));
	return cost;
}

static struct cost class_cost(const struct world *w, const struct market *market, int c)
{
	const struct class *class = &w->classes[MIN(c, CLASSES - 1)];
	struct cost cost = {AMOUNT_UNKNOWN, false};
	bool any = false, unknown = false;

	if (c >= CLASSES || !class->exists)
		return strange_cost(w, market);
	for (size_t i = 0; i < market->n; i++) {
		const struct current *one = &market->devices[i];

		if (!one->offered || one->device->memory == AMOUNT_NONE || !may_be(class, one))
			continue;
		any = true;
		unknown |= one->device->memory == AMOUNT_UNKNOWN;
		cost.unit = MAX(cost.unit, one->device->memory);
	}
	cost.free = is_free(w, class);
	if (!any || unknown)
		cost.unit = largest(w, market, c);
	return cost.free || cost.unit != AMOUNT_UNKNOWN ? cost : strange_cost(w, market);
}

static struct cost result_cost(const struct world *w, const struct market *market,
			       const struct claim *claim, int r)
{
	const struct device *device = find_device(w, claim->results[r].driver,
						  claim->results[r].pool, claim->results[r].device);
	int c = claim->results[r].class;
	struct cost cost;

	if (!device) {
		cost = class_cost(w, market, c);
		if (!cost.free && claim->results[r].consumed != AMOUNT_NONE)
			cost.unit = claim->results[r].consumed;
		return cost;
	}
	cost = (struct cost){device->memory, device->memory == AMOUNT_NONE};
	if (device->shared && claim->results[r].consumed != AMOUNT_NONE)
		cost.unit = claim->results[r].consumed;
	if (cost.unit == AMOUNT_UNKNOWN && c < CLASSES && w->classes[c].exists)
		cost.unit = largest(w, market, c);
	return cost;
}

/* --- the model: sums */

struct expected {
	int64_t used, live, unpriced, pods;
};

static void expect_units(struct expected *e, struct cost cost, int64_t count, bool live)
{
	if (cost.free)
		return;
	if (cost.unit == AMOUNT_UNKNOWN) {
		e->unpriced += count;
		return;
	}
	e->used += count * cost.unit;
	e->live += live ? count * cost.unit : 0;
}

static bool is_carried(const struct world *w, int ns, int i)
{
	const struct claim *claim = &w->claims[ns][i];
	const struct pod *pod = &w->pods[ns][claim->owner];

	return claim->owned && pod->exists && pod->uid == claim->owner_uid && !pod->finished &&
	       pod->claim == i;
}

static void expect_request(const struct world *w, const struct market *market,
			   const struct claim *claim, int r, struct expected *e)
{
	int64_t most = 0, unpriced = 0;

	for (int k = 0; k < claim->requests[r].n; k++) {
		struct cost cost = class_cost(w, market, claim->requests[r].class[k]);
		int64_t count = claim->requests[r].count[k];

		if (cost.free)
			continue;
		if (cost.unit == AMOUNT_UNKNOWN)
			unpriced = MAX(unpriced, count);
		else
			most = MAX(most, count * cost.unit);
	}
	e->used += most;
	e->unpriced += unpriced;
}

static void expect_claim(const struct world *w, const struct market *market, int ns, int i,
			 struct expected *e)
{
	const struct claim *claim = &w->claims[ns][i];

	if (!claim->exists || is_carried(w, ns, i))
		return;
	for (int r = 0; claim->allocated && r < claim->n_results; r++)
		if (!claim->results[r].admin)
			expect_units(e, result_cost(w, market, claim, r), 1, true);
	for (int r = 0; !claim->allocated && !claim->admin && r < claim->n_requests; r++)
		expect_request(w, market, claim, r, e);
}

/* Whether a pool that is complete has the like of it: then it has a price. */
static bool is_known_kind(const struct market *market, const struct current *one)
{
	for (size_t i = 0; i < market->n; i++) {
		const struct current *other = &market->devices[i];

		if (other->offered && other->driver == one->driver &&
		    other->device->type == one->device->type &&
		    other->device->product == one->device->product &&
		    other->device->memory == one->device->memory &&
		    other->device->shared == one->device->shared)
			return true;
	}
	return false;
}

/* One unit of the row of class @row (CLASSES: of nvidia.com/gpu, which no class may have). */
static struct cost row_cost(const struct world *w, const struct market *market, int row, int node)
{
	struct cost cost = {largest(w, market, row), false};
	int64_t here = AMOUNT_UNKNOWN;

	for (size_t i = 0; node >= 0 && i < market->n; i++) {
		const struct current *one = &market->devices[i];
		bool offered = false;

		for (int c = 0; c < CLASSES; c++)
			offered |= w->classes[c].exists && same_row(w, c, row) &&
				   may_be(&w->classes[c], one);
		if (one->device->node != node || one->device->memory == AMOUNT_NONE || !offered ||
		    !is_known_kind(market, one))
			continue;
		if (one->device->memory == AMOUNT_UNKNOWN)
			return cost;
		here = MAX(here, one->device->memory);
	}
	if (here != AMOUNT_UNKNOWN)
		cost.unit = here;
	return cost;
}

static void expect_pod(const struct world *w, const struct market *market, const struct pod *pod,
		       struct expected *e)
{
	struct cost cost = {AMOUNT_UNKNOWN, false};
	int row = pod->class;

	if (!pod->exists || pod->finished)
		return;
	e->pods++;
	for (int c = 0; row < 0 && c < CLASSES; c++)
		if (w->classes[c].exists && w->classes[c].extended)
			row = c;
	if (row >= 0 && row < CLASSES && w->classes[row].exists)
		cost = row_cost(w, market, row, pod->node);
	if (pod->class >= 0)
		cost.free = class_cost(w, market, pod->class).free;
	expect_units(e, cost, 1, pod->node >= 0);
}

static struct expected expect(const struct world *w, int ns)
{
	struct market market;
	struct expected e = {0};

	market.n = current_devices(w, market.devices);
	for (int i = 0; i < PODS; i++)
		expect_pod(w, &market, &w->pods[ns][i], &e);
	for (int i = 0; i < CLAIMS; i++)
		expect_claim(w, &market, ns, i, &e);
	return e;
}

/* --- comparing */

static void take_all_dirty(struct world *w)
{
	uint32_t handle;

	memset(w->dirty, 0, sizeof(w->dirty));
	while (cluster_take_dirty(w->cluster, &handle))
		w->dirty[cluster_namespace_name(w->cluster, handle).data[3] - '0'] = true;
}

static void check_namespace(struct world *w, int ns, const struct expected *e)
{
	struct namespace_view view = {0};
	struct name name = name_of("ns", ns);
	uint32_t handle = cluster_namespace_find(w->cluster, str_from(name.text));

	if (handle != UINT32_MAX)
		cluster_namespace_view(w->cluster, handle, &view);
	assert_int_equal(view.used, e->used);
	assert_int_equal(view.live, e->live);
	assert_int_equal(view.unpriced, e->unpriced);
	assert_int_equal(view.pods, e->pods);
}

static void check_recount(struct world *w)
{
	struct recount total = {0};
	uint32_t cursor = 0;

	while (!cluster_recount(w->cluster, &cursor, 3, &total))
		;
	assert_int_equal(total.differing, 0);
	assert_int_equal(total.drift, 0);
}

static void check_empty(struct world *w)
{
	static const enum cluster_kind kinds[] = {CLUSTER_SLICES, CLUSTER_PODS, CLUSTER_CLAIMS,
						  CLUSTER_CLASSES};
	struct cluster_stats stats;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cluster_begin_replace(w->cluster, kinds[i]);
		cluster_end_replace(w->cluster, kinds[i]);
	}
	take_all_dirty(w);
	cluster_stats(w->cluster, &stats);
	for (int kind = 0; kind < CLUSTER_KIND_COUNT; kind++)
		assert_int_equal(stats.objects[kind], 0);
	assert_int_equal(cluster_namespace_next(w->cluster, 0), UINT32_MAX);
	assert_int_equal(cluster_prices(w->cluster).n_rows, 0);
}

static void run_history(struct world *w, uint64_t seed)
{
	const struct hash_key key = {seed, 1};
	struct expected seen[NAMESPACES];

	memset(w, 0, sizeof(*w));
	random_init(&w->random, seed);
	w->cluster = cluster_new(&key);
	for (int ns = 0; ns < NAMESPACES; ns++)
		seen[ns] = expect(w, ns);
	for (int i = 0; i < STEPS; i++) {
		step(w);
		remember_gpus(w);
		take_all_dirty(w);
		for (int ns = 0; ns < NAMESPACES; ns++) {
			struct expected now = expect(w, ns);

			check_namespace(w, ns, &now);
			if (memcmp(&now, &seen[ns], sizeof(now)) != 0)
				assert_true(w->dirty[ns]);
			seen[ns] = now;
		}
		check_recount(w);
	}
	check_empty(w);
	cluster_free(w->cluster);
}

static void test_sums_are_those_of_the_objects(void **state)
{
	static struct world world;

	(void)state;
	for (uint64_t seed = 1; seed <= HISTORIES; seed++)
		run_history(&world, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_are_those_of_the_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
