/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of pods, nodes, namespaces and quotas, with duplicates, stale versions, missed
 * events, whole and broken-off replaces, against a model that adds everything up from the objects
 * themselves. After each step: the sums are the model's, a recount agrees, and every namespace
 * whose view changed was marked dirty.
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
#include "base/mem.h"
#include "base/random.h"
#include "cluster/read.h"
#include "model/resource.h"

#define HISTORIES 30
#define STEPS     400

enum { NAMESPACES = 4, PODS = 6, NODES = 5, QUOTAS = 3, RESOURCES = 4, PRODUCTS = 4 };

/* Of CARD a node may offer PARTs, which a pod asks for so many of on so many cards. */
enum { CARD = 0, PART = 3 };
static const char *const resources[RESOURCES] = {"nvidia.com/gpu", "nvidia.com/mig-1g.10gb",
						 "amd.com/gpu", "nvidia.com/gpumem"};
static const char *const products[PRODUCTS] = {"", "NVIDIA-H100", "NVIDIA-A100", "Tesla-T4"};
static const int64_t units[] = {AMOUNT_UNKNOWN, 16 * GIB, 40 * GIB, 80 * GIB, 9984 * MIB};

struct pod {
	bool exists;
	uint64_t uid, version;
	int node;    /* -1: not bound */
	int product; /* 0: any */
	enum pod_phase phase;
	bool terminating;
	int64_t requests[RESOURCES];
	int64_t part_cards; /* that the request for PART is of */
};

struct node {
	bool exists;
	uint64_t uid, version;
	int64_t count[RESOURCES], unit[RESOURCES]; /* count 0: not offered */
	int product[RESOURCES];
};

struct quota {
	bool exists, terminating;
	uint64_t uid, version;
	int64_t created_us, memory;
};

struct space {
	bool exists, managed;
	uint64_t version;
};

/* The objects, as the cluster should have seen them. */
struct world {
	struct random random;
	struct cluster *cluster;
	uint64_t counter; /* of uids and versions */
	struct pod pods[NAMESPACES][PODS];
	struct node nodes[NODES];
	struct quota quotas[NAMESPACES][QUOTAS];
	struct space spaces[NAMESPACES];
	bool dirty[NAMESPACES];
};

static int64_t below(struct world *w, int64_t bound)
{
	return (int64_t)random_below(&w->random, (uint64_t)bound);
}

static bool chance(struct world *w, int one_in)
{
	return below(w, one_in) == 0;
}

/* --- telling the cluster */

struct name {
	char text[24];
};

static struct name name_of(const char *kind, int64_t number)
{
	struct name name = {""};

	snprintf(name.text, sizeof(name.text), "%s-%d", kind, (int)number);
	return name;
}

static void tell_pod(struct world *w, int ns, int i, const struct pod *pod)
{
	struct device_ask requests[RESOURCES];
	struct container_facts container = {CONTAINER_NORMAL, requests, RESOURCES};
	struct name space = name_of("ns", ns), name = name_of("pod", i);
	struct name uid = name_of("uid", (int64_t)pod->uid), node = name_of("node", pod->node);
	struct pod_facts facts = {
		.namespace = str_from(space.text),
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.node = pod->node < 0 ? STR_NONE : str_from(node.text),
		.resource_version = pod->version,
		.product = str_from(products[pod->product]),
		.phase = pod->phase,
		.terminating = pod->terminating,
		.containers = &container,
		.n_containers = 1,
	};

	for (int r = 0; r < RESOURCES; r++)
		requests[r] = device_ask_units(str_from(resources[r]), pod->requests[r]);
	requests[PART].device = str_from(resources[CARD]);
	requests[PART].devices = pod->part_cards;
	assert_int_equal(cluster_apply_pod(w->cluster, &facts, NULL), 0);
}

static void tell_node(struct world *w, int i, const struct node *node)
{
	struct device_offer offers[RESOURCES];
	struct name name = name_of("node", i), uid = name_of("uid", (int64_t)node->uid);
	struct node_facts facts = {
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.resource_version = node->version,
		.offers = offers,
	};

	for (int r = 0; r < RESOURCES; r++)
		if (node->count[r] > 0)
			offers[facts.n_offers++] = (struct device_offer){
				.resource = str_from(resources[r]),
				.product = str_from(products[node->product[r]]),
				.unit_memory = node->unit[r],
				.count = node->count[r],
			};
	assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
}

static void tell_quota(struct world *w, int ns, int i, const struct quota *quota)
{
	struct name space = name_of("ns", ns), name = name_of("quota", i);
	struct name uid = name_of("uid", (int64_t)quota->uid);
	struct quota_facts facts = {
		.namespace = str_from(space.text),
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.resource_version = quota->version,
		.created_us = quota->created_us,
		.terminating = quota->terminating,
		.spec = {.gpu_memory = quota->memory},
	};

	assert_int_equal(cluster_apply_quota(w->cluster, &facts, NULL), 0);
}

static void tell_space(struct world *w, int ns, const struct space *space)
{
	struct name name = name_of("ns", ns);
	struct namespace_facts facts = {
		.name = str_from(name.text),
		.uid = STR("uid"),
		.resource_version = space->version,
		.managed = space->managed,
	};

	assert_int_equal(cluster_apply_namespace(w->cluster, &facts, NULL), 0);
}

static void tell_deleted(struct world *w, enum cluster_kind kind, int ns, int i)
{
	static const char *const kinds[] = {"pod", "node", "ns", "quota"};
	bool namespaced = kind == CLUSTER_PODS || kind == CLUSTER_QUOTAS;
	struct name space = name_of("ns", ns), name = name_of(kinds[kind], i);

	cluster_delete(w->cluster, kind, namespaced ? str_from(space.text) : STR_NONE,
		       str_from(name.text));
}

/* --- changing the objects; deliver: the cluster hears of it */

static struct pod new_pod(struct world *w)
{
	struct pod pod = {.exists = true, .uid = ++w->counter, .node = -1, .phase = POD_PENDING};

	for (int r = 0; r < RESOURCES; r++)
		pod.requests[r] = chance(w, 2) ? below(w, 4) : 0;
	pod.part_cards = 1 + below(w, 3);
	pod.product = chance(w, 2) ? (int)below(w, PRODUCTS) : 0;
	return pod;
}

static void change_pod(struct world *w, int ns, int i, bool deliver)
{
	struct pod *pod = &w->pods[ns][i], old = *pod;

	if (pod->exists && chance(w, 4)) {
		pod->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_PODS, ns, i);
		return;
	}
	if (!pod->exists || chance(w, 8)) { /* also under the same name, deletion unseen */
		*pod = new_pod(w);
	} else if (pod->node < 0 && chance(w, 2)) {
		pod->node = (int)below(w, NODES);
	} else {
		pod->phase = (enum pod_phase)below(w, 5);
		pod->terminating |= chance(w, 4);
	}
	pod->version = ++w->counter;
	if (!deliver)
		return;
	tell_pod(w, ns, i, pod);
	if (chance(w, 4))
		tell_pod(w, ns, i, pod);
	if (old.exists && old.uid == pod->uid && chance(w, 4))
		tell_pod(w, ns, i, &old);
}

static void change_node(struct world *w, int i, bool deliver)
{
	struct node *node = &w->nodes[i], old = *node;

	if (node->exists && chance(w, 5)) {
		node->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_NODES, 0, i);
		return;
	}
	if (!node->exists || chance(w, 6))
		*node = (struct node){.exists = true, .uid = ++w->counter};
	for (int r = 0; r < RESOURCES; r++) {
		if (chance(w, 2))
			continue;
		node->count[r] = below(w, 3) * 4;
		if (chance(w, 2))
			continue;
		node->unit[r] = units[below(w, ARRAY_SIZE(units))];
		node->product[r] = (int)below(w, PRODUCTS);
	}
	for (int r = 0; r < RESOURCES; r++)
		if (node->unit[r] == 0)
			node->unit[r] = AMOUNT_UNKNOWN;
	node->version = ++w->counter;
	if (!deliver)
		return;
	tell_node(w, i, node);
	if (old.exists && old.uid == node->uid && chance(w, 4))
		tell_node(w, i, &old);
}

static void change_quota(struct world *w, int ns, int i, bool deliver)
{
	struct quota *quota = &w->quotas[ns][i];

	if (quota->exists && chance(w, 3)) {
		quota->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_QUOTAS, ns, i);
		return;
	}
	if (!quota->exists)
		*quota = (struct quota){
			.exists = true, .uid = ++w->counter, .created_us = below(w, 3)};
	quota->memory = (1 + below(w, 4)) * GIB;
	quota->terminating |= chance(w, 4);
	quota->version = ++w->counter;
	if (deliver)
		tell_quota(w, ns, i, quota);
}

static void change_space(struct world *w, int ns, bool deliver)
{
	struct space *space = &w->spaces[ns];

	if (space->exists && chance(w, 3)) {
		space->exists = false;
		if (deliver)
			tell_deleted(w, CLUSTER_NAMESPACES, 0, ns);
		return;
	}
	space->exists = true;
	space->managed = chance(w, 2);
	space->version = ++w->counter;
	if (deliver)
		tell_space(w, ns, space);
}

static void change_any(struct world *w, enum cluster_kind kind, bool deliver)
{
	int ns = (int)below(w, NAMESPACES);

	if (kind == CLUSTER_PODS)
		change_pod(w, ns, (int)below(w, PODS), deliver);
	else if (kind == CLUSTER_NODES)
		change_node(w, (int)below(w, NODES), deliver);
	else if (kind == CLUSTER_QUOTAS)
		change_quota(w, ns, (int)below(w, QUOTAS), deliver);
	else
		change_space(w, ns, deliver);
}

static void tell_all(struct world *w, enum cluster_kind kind)
{
	for (int ns = 0; ns < NAMESPACES; ns++) {
		for (int i = 0; kind == CLUSTER_PODS && i < PODS; i++)
			if (w->pods[ns][i].exists)
				tell_pod(w, ns, i, &w->pods[ns][i]);
		for (int i = 0; kind == CLUSTER_QUOTAS && i < QUOTAS; i++)
			if (w->quotas[ns][i].exists)
				tell_quota(w, ns, i, &w->quotas[ns][i]);
		if (kind == CLUSTER_NAMESPACES && w->spaces[ns].exists)
			tell_space(w, ns, &w->spaces[ns]);
	}
	for (int i = 0; kind == CLUSTER_NODES && i < NODES; i++)
		if (w->nodes[i].exists)
			tell_node(w, i, &w->nodes[i]);
}

/* Events are missed, a replace breaks off (what it told holds, nothing is dropped), another ends.
 */
static void replace(struct world *w, enum cluster_kind kind)
{
	for (int64_t missed = below(w, 6); missed > 0; missed--)
		change_any(w, kind, false);
	if (chance(w, 2)) {
		cluster_begin_replace(w->cluster, kind);
		if (chance(w, 2))
			tell_all(w, kind);
		cluster_abort_replace(w->cluster, kind);
	}
	cluster_begin_replace(w->cluster, kind);
	tell_all(w, kind);
	if (kind == CLUSTER_NODES && chance(w, 2)) /* other watches go on meanwhile */
		change_any(w, CLUSTER_PODS, true);
	cluster_end_replace(w->cluster, kind);
}

static void step(struct world *w)
{
	static const enum cluster_kind kinds[] = {CLUSTER_PODS,  CLUSTER_PODS,  CLUSTER_PODS,
						  CLUSTER_PODS,  CLUSTER_NODES, CLUSTER_NAMESPACES,
						  CLUSTER_QUOTAS};
	enum cluster_kind kind = kinds[below(w, ARRAY_SIZE(kinds))];

	if (chance(w, 8))
		replace(w, kind);
	else
		change_any(w, kind, true);
}

/* --- the model: everything from the objects themselves */

static int64_t by_name(int r)
{
	return resource_memory_by_name(str_from(resources[r]));
}

/* The largest unit of @r that a node tells; what the name claims where none does. */
static int64_t largest(const struct world *w, int r)
{
	int64_t unit = AMOUNT_UNKNOWN;

	for (int i = 0; i < NODES; i++)
		if (w->nodes[i].exists && w->nodes[i].count[r] > 0)
			unit = MAX(unit, w->nodes[i].unit[r]);
	return unit == AMOUNT_UNKNOWN ? by_name(r) : unit;
}

/* The dearest unit of @r on @product, of any product where nobody offers it there. */
static int64_t dearest(const struct world *w, int r, int product)
{
	int64_t unit = AMOUNT_UNKNOWN;
	bool offered = false;

	for (int i = 0; i < NODES; i++) {
		const struct node *node = &w->nodes[i];

		if (!node->exists || node->count[r] == 0 || node->product[r] != product)
			continue;
		offered = true;
		unit = MAX(unit, node->unit[r] == AMOUNT_UNKNOWN ? largest(w, r) : node->unit[r]);
	}
	return offered ? unit : largest(w, r);
}

static int64_t unit_for(const struct world *w, const struct pod *pod, int r)
{
	const struct node *node = pod->node >= 0 ? &w->nodes[pod->node] : NULL;

	if (node && node->exists && node->count[r] > 0)
		return node->unit[r] == AMOUNT_UNKNOWN ? dearest(w, r, node->product[r])
						       : node->unit[r];
	return pod->product == 0 ? largest(w, r) : dearest(w, r, pod->product);
}

static bool is_offered(const struct world *w, int r)
{
	for (int i = 0; i < NODES; i++)
		if (w->nodes[i].exists && w->nodes[i].count[r] > 0)
			return true;
	return false;
}

/* What of a namespace a decision depends on. All of one type: compared as bytes. */
struct expected {
	int64_t used, live, unpriced, pods;
	/* Of those that are offered. */
	int64_t count[RESOURCES], count_live[RESOURCES], bytes[RESOURCES];
	int64_t memory; /* of the quota that governs; 0: none */
	int64_t governing, n_quotas, exists, managed;
};

/* So many units of which resource a pod's request is. */
struct counted {
	int r;
	int64_t n;
};

static struct counted count(const struct world *w, const struct pod *pod, int r)
{
	const struct node *node = pod->node >= 0 ? &w->nodes[pod->node] : NULL;
	const struct counted as_asked = {r, pod->requests[r]}, cards = {CARD, pod->part_cards};

	if (r != PART || pod->requests[r] == 0)
		return as_asked;
	if (node && node->exists && node->count[PART] > 0)
		return as_asked;
	if (node && node->exists && node->count[CARD] > 0)
		return cards;
	return largest(w, PART) == AMOUNT_UNKNOWN ? cards : as_asked;
}

static void expect_pod(const struct world *w, const struct pod *pod, struct expected *e)
{
	bool asks = false;

	if (!pod->exists || pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED)
		return;
	for (int r = 0; r < RESOURCES; r++) {
		struct counted c = count(w, pod, r);
		int64_t unit = unit_for(w, pod, c.r), n = c.n;
		int64_t bytes = unit == AMOUNT_UNKNOWN ? 0 : n * unit;

		asks |= n > 0;
		e->unpriced += unit == AMOUNT_UNKNOWN ? n : 0;
		e->used += bytes;
		e->live += pod->node >= 0 ? bytes : 0;
		if (is_offered(w, c.r)) {
			e->count[c.r] += n;
			e->count_live[c.r] += pod->node >= 0 ? n : 0;
			e->bytes[c.r] += bytes;
		}
	}
	e->pods += asks;
}

static void expect_quotas(const struct quota *quotas, struct expected *e)
{
	e->governing = -1;
	for (int i = 0; i < QUOTAS; i++) {
		if (!quotas[i].exists)
			continue;
		e->n_quotas++;
		if (quotas[i].terminating)
			continue;
		if (e->governing >= 0 && quotas[i].created_us >= quotas[e->governing].created_us)
			continue;
		e->governing = i;
		e->memory = quotas[i].memory;
	}
}

static struct expected expect(const struct world *w, int ns)
{
	struct expected e = {0};

	for (int i = 0; i < PODS; i++)
		expect_pod(w, &w->pods[ns][i], &e);
	expect_quotas(w->quotas[ns], &e);
	e.exists = w->spaces[ns].exists;
	e.managed = e.exists && w->spaces[ns].managed;
	return e;
}

/* --- comparing */

static void check_uses(const struct quota_view *view, const struct expected *e)
{
	for (int r = 0; r < RESOURCES; r++) {
		int64_t count = 0, count_live = 0, bytes = 0;

		for (size_t i = 0; i < view->n_uses; i++) {
			const struct quota_use *use = &view->uses[i];

			assert_non_null(price_find(&view->prices, use->resource, use->product));
			if (strcmp(view->name(view->name_context, use->resource), resources[r]) !=
			    0)
				continue;
			count += use->count;
			count_live += use->count_live;
			bytes += use->bytes;
		}
		assert_int_equal(count, e->count[r]);
		assert_int_equal(count_live, e->count_live[r]);
		assert_int_equal(bytes, e->bytes[r]);
	}
}

static void check_quotas(struct world *w, uint32_t handle, const struct expected *e)
{
	struct arena arena = {0};

	cluster_refresh(w->cluster, handle);
	for (int i = 0; i < e->n_quotas; i++) {
		uint32_t quota = cluster_quota_nth(w->cluster, handle, (uint32_t)i);
		struct quota_lookup lookup;
		const struct quota_view *view = &lookup.view;
		struct name governing = name_of("quota", e->governing);

		assert_int_equal(cluster_quota_view(w->cluster, quota, &arena, &lookup, NULL), 0);
		assert_int_equal(view->used, e->used);
		assert_int_equal(view->live, e->live);
		assert_int_equal(view->unpriced, e->unpriced);
		check_uses(view, e);
		assert_true(str_equal(view->governing,
				      e->governing < 0 ? STR_NONE : str_from(governing.text)));
		if (!view->duplicate && !view->terminating)
			assert_int_equal(view->spec->gpu_memory, e->memory);
	}
	arena_clear(&arena);
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
	assert_int_equal(view.n_quotas, e->n_quotas);
	assert_int_equal(view.exists, e->exists);
	assert_int_equal(view.managed, e->managed);
	if (handle != UINT32_MAX)
		check_quotas(w, handle, e);
}

static void take_all_dirty(struct world *w)
{
	uint32_t handle;

	memset(w->dirty, 0, sizeof(w->dirty));
	while (cluster_take_dirty(w->cluster, &handle)) {
		struct str name = cluster_namespace_name(w->cluster, handle);

		assert_false(w->dirty[name.data[3] - '0']);
		w->dirty[name.data[3] - '0'] = true;
	}
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
	struct cluster_stats stats;

	for (enum cluster_kind kind = CLUSTER_PODS; kind <= CLUSTER_QUOTAS; kind++) {
		cluster_begin_replace(w->cluster, kind);
		cluster_end_replace(w->cluster, kind);
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
