/* SPDX-License-Identifier: Apache-2.0 */
/* The turns of the evictor, of a cluster whose cards are all taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/type.h"
#include "base/mem.h"
#include "cluster/tenants/tenants.h"
#include "controller/eviction/reconcile.h"
#include "lib/fake_kube.h"
#include "lib/full_cluster.h"

#define NODES 500
#define TURNS 100 /* are more than a plan among these nodes takes */

struct world {
	struct fake_kube_world kube;
	struct cluster *cluster;
	struct controller_config config;
	struct recorder *recorder;
	struct caches *caches;
	struct eviction_reconciler reconciler;
	uint32_t pod, tenant;
};

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct world *w = mem_alloc(sizeof(*w));

	fake_kube_world_init(&w->kube);
	w->kube.clock.real_us = FULL_CLUSTER_NOW_US;
	w->cluster = cluster_new(&key);
	controller_config_init(&w->config);
	w->recorder = recorder_new(w->kube.client, &(struct recorder_options){"test", "test-0", 1});
	w->caches = caches_new(w->kube.client, &(struct caches_options){.cluster = w->cluster});
	w->pod = full_cluster_make(w->cluster, NODES, 1);
	w->tenant = cluster_tenant_find(w->cluster, STR(FULL_CLUSTER_TENANT));
	w->reconciler = (struct eviction_reconciler){
		.cluster = w->cluster,
		.caches = w->caches,
		.recorder = w->recorder,
		.loop = w->kube.loop,
		.config = &w->config,
	};
	eviction_reconciler_init(&w->reconciler, NULL);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	eviction_reconciler_clear(&w->reconciler);
	caches_free(w->caches);
	recorder_free(w->recorder);
	cluster_free(w->cluster);
	fake_kube_world_clear(&w->kube);
	mem_free(w);
	return 0;
}

/* kube-scheduler's questions come between them, and no time need pass. */
static void a_search_goes_on_at_once_until_there_is_a_receipt(void **state)
{
	struct world *w = *state;
	struct error err = {0};
	int turns = 0;

	for (bool over = false; !over; turns++) {
		struct work_set set = {.look_again_us = TIME_NEVER};

		assert_in_range(turns, 0, TURNS);
		assert_int_equal(eviction_reconcile(&w->reconciler, w->tenant, &set, &err), 0);
		over = set.n_writes > 0;
		if (over)
			assert_ptr_equal(set.writes[0].type, &api_tenants);
		else
			assert_true(set.look_again_us <= loop_now(w->kube.loop));
		work_set_clear(&set);
	}
	assert_true(turns > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_search_goes_on_at_once_until_there_is_a_receipt,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
