/* SPDX-License-Identifier: Apache-2.0 */
#include "eviction_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/type.h"
#include "base/mem.h"
#include "cluster/looks.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"

#define NODES 500

static void ignore(void *context UNUSED)
{
}

int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct world *w = mem_alloc(sizeof(*w));

	fake_kube_world_init(&w->kube);
	w->kube.clock.real_us = FULL_CLUSTER_NOW_US;
	w->cluster = cluster_new(&key);
	controller_config_init(&w->config);
	w->recorder = recorder_new(w->kube.client, &(struct recorder_options){"test", "test-0", 1});
	w->caches = caches_new(w->kube.client, &(struct caches_options){.cluster = w->cluster,
									.touched = ignore,
									.synced = ignore});
	w->pod = full_cluster_make(w->cluster, NODES, 1);
	w->tenant = cluster_tenant_find(w->cluster, STR(FULL_CLUSTER_TENANT));
	w->reconciler = (struct eviction_reconciler){
		.cluster = w->cluster,
		.caches = w->caches,
		.recorder = w->recorder,
		.loop = w->kube.loop,
		.config = &w->config,
	};
	w->metrics = metrics_new();
	eviction_reconciler_init(&w->reconciler, w->metrics);
	*state = w;
	return 0;
}

int teardown(void **state)
{
	struct world *w = *state;

	eviction_reconciler_clear(&w->reconciler);
	metrics_free(w->metrics);
	caches_free(w->caches);
	recorder_free(w->recorder);
	cluster_free(w->cluster);
	fake_kube_world_clear(&w->kube);
	mem_free(w);
	return 0;
}

int decide(struct world *w, struct work_set *ret_set)
{
	struct error err = {0};
	int turns = 0;

	for (; turns < TURNS; turns++) {
		*ret_set = (struct work_set){.look_again_us = TIME_NEVER};
		assert_int_equal(eviction_reconcile(&w->reconciler, w->tenant, ret_set, &err), 0);
		if (ret_set->n_writes > 0)
			return turns + 1;
		assert_true(ret_set->look_again_us <= loop_now(w->kube.loop));
		work_set_clear(ret_set);
	}
	return turns;
}

void turn(struct world *w, int64_t later_us, struct work_set *ret_set)
{
	struct error err = {0};

	w->kube.clock.monotonic_us += later_us;
	w->kube.clock.real_us += later_us;
	*ret_set = (struct work_set){.look_again_us = TIME_NEVER};
	loop_run_once(w->kube.loop, 0);
	assert_int_equal(eviction_reconcile(&w->reconciler, w->tenant, ret_set, &err), 0);
}

void begin_to_watch(struct world *w)
{
	caches_start(w->caches);
	fake_kube_settle(w->kube.client);
	assert_true(fake_kube_event(&w->kube, "WATCH jobs", "BOOKMARK",
				    "{\"metadata\":{\"resourceVersion\":\"15\",\"annotations\":{"
				    "\"k8s.io/initial-events-end\":\"true\"}}}"));
}

uint32_t add_other(struct world *w)
{
	struct str name = STR("other");
	struct label_requirement requirement = {STR("team"), LABEL_IN, &name, 1};
	struct tenant_facts facts;
	struct arena arena CLEANUP(arena_clear);

	arena_init(&arena, LIMIT_DECODE_ARENA);
	assert_true(cluster_tenant_facts(w->cluster, w->tenant, &arena, &facts));
	facts.name = facts.uid = name;
	facts.spec.namespaces = (struct label_selector){&requirement, 1};
	assert_int_equal(cluster_apply_tenant(w->cluster, &facts, NULL), 0);
	return cluster_tenant_find(w->cluster, name);
}

void show_receipt(struct world *w, const struct work_write *victim, struct str id)
{
	struct receipt_pod gone = {.namespace = str_from(victim->namespace),
				   .name = str_from(victim->name),
				   .uid = str_from(victim->uid)};
	struct cluster_pod_name pod = cluster_pod_name(w->cluster, w->pod);
	struct receipt receipt = {.id = id,
				  .cause = RECEIPT_PENDING,
				  .outcome = RECEIPT_ISSUED,
				  .at_us = FULL_CLUSTER_NOW_US,
				  .held_until_us = FULL_CLUSTER_NOW_US + 120 * USEC_PER_SEC,
				  .node = STR(FULL_CLUSTER_NODE "-000000"),
				  .cards = 1,
				  .victims = &gone,
				  .n_victims = 1};
	struct str tenant = STR(FULL_CLUSTER_TENANT);
	struct label_requirement requirement = {STR("team"), LABEL_IN, &tenant, 1};
	struct tenant_facts facts;
	struct arena arena CLEANUP(arena_clear);
	char uid[UID_TEXT_SIZE];

	uid_text(pod.uid, uid);
	receipt.beneficiary = (struct receipt_pod){
		.namespace = pod.namespace, .name = pod.name, .uid = str_from(uid)};
	arena_init(&arena, LIMIT_DECODE_ARENA);
	assert_true(cluster_tenant_facts(w->cluster, w->tenant, &arena, &facts));
	facts.name = facts.uid = tenant; /* none is the cluster's own, which changes */
	facts.spec.namespaces = (struct label_selector){&requirement, 1};
	facts.has_status = true;
	facts.status.receipts = &receipt;
	facts.status.n_receipts = 1;
	assert_int_equal(cluster_apply_tenant(w->cluster, &facts, NULL), 0);
}

size_t asked_of(const struct work_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n_writes; i++)
		n += set->writes[i].type == &api_pods && set->writes[i].subresource;
	return n;
}
