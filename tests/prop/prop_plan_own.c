/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose GPUs do nothing, over hours of figures that come, go, are unknown, and of agents that are
 * away: an account that is kept beside the cluster says for each pod since when it was told to be
 * idle without a break. Nobody goes who is not, of a gang all or none, and never more than may; and
 * where somebody is, and may go, somebody does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/random.h"
#include "cluster/nodes/agents.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/cards.h"
#include "lib/layouts.h"
#include "lib/team.h"
#include "plan/own.h"

#define SEEDS    200
#define STEPS    400
#define PODS     6
#define START_US (1700000000 * USEC_PER_SEC)
#define IDLE_US  (1800 * USEC_PER_SEC)
#define HELD_US  (40 * USEC_PER_SEC)

/* Of the account: since when it is idle; 0: it is not. The first two pods are a gang. */
struct pod {
	int32_t sm_percent;
	int64_t since_us;
};

struct world {
	struct random random;
	struct cluster *cluster;
	struct machine machine;
	struct pod pods[PODS];
	uint64_t version, seed;
	int64_t now_us, heard_us;
	bool lives;
	size_t most;
	int went;
};

static const char *const names[PODS] = {"p0", "p1", "p2", "p3", "p4", "p5"};

static bool chance(struct world *w, uint64_t percent)
{
	return random_below(&w->random, 100) < percent;
}

static void add_node(struct world *w)
{
	cards_add_node(w->cluster, 8,
		       (struct node_facts){.name = STR("n"),
					   .ready = NODE_READY,
					   .layout = &w->machine.layout});
}

static void add_pod(struct world *w, size_t i)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 1);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = STR("train"),
		.name = str_from(names[i]),
		.uid = str_from(names[i]),
		.created_us = START_US - 7200 * USEC_PER_SEC,
		.node = STR("n"),
		.phase = POD_RUNNING,
		.containers = &container,
		.n_containers = 1,
		.exit = {.gang = i < 2 ? GANG_KUEUE : GANG_NONE,
			 .gang_name = i < 2 ? STR("g") : STR_NONE},
	};

	assert_int_equal(cluster_apply_pod(w->cluster, &facts, NULL), 0);
}

/* --- what happens, and its account */

static void hear(struct world *w)
{
	struct agent_facts agent = {.name = STR("gpuqos-agent-n"),
				    .holder = STR("n"),
				    .resource_version = ++w->version,
				    .renew_us = w->now_us,
				    .seen_us = w->now_us,
				    .duration_us = HELD_US};

	assert_int_equal(cluster_apply_agent(w->cluster, &agent, w->now_us, NULL), 0);
	for (size_t i = 0; i < PODS && !w->lives; i++)
		if (w->pods[i].since_us > 0)
			w->pods[i].since_us = w->now_us;
	w->heard_us = w->now_us;
	w->lives = true;
}

static void tell(struct world *w)
{
	struct gpu_node_pod pods[PODS];
	struct gpu_node_use uses[PODS];
	struct gpu_node_facts facts = {.name = STR("n"),
				       .resource_version = ++w->version,
				       .pods = pods,
				       .n_pods = PODS,
				       .uses = uses,
				       .n_uses = PODS};

	for (size_t i = 0; i < PODS; i++) {
		struct pod *pod = &w->pods[i];

		pods[i] = (struct gpu_node_pod){.namespace = STR("train"),
						.name = str_from(names[i]),
						.cards = &w->machine.gpus[i].pci,
						.n_cards = 1};
		uses[i] = (struct gpu_node_use){.card = w->machine.gpus[i].pci,
						.uid = str_from(names[i]),
						.memory = GIB,
						.pcie = AMOUNT_UNKNOWN,
						.sm_percent = pod->sm_percent};
		if (pod->sm_percent != 0)
			pod->since_us = 0;
		else if (pod->since_us == 0)
			pod->since_us = w->now_us;
	}
	assert_int_equal(cluster_apply_gpu_node(w->cluster, &facts, w->now_us, NULL), 0);
	team_refresh(w->cluster);
}

static void change(struct world *w)
{
	for (size_t i = 0; i < PODS; i++)
		if (chance(w, 4))
			w->pods[i].sm_percent = chance(w, 80) ? 0 : chance(w, 50) ? 10 : -1;
}

static void let_time_pass(struct world *w)
{
	bool away = chance(w, 3);
	int64_t seconds = away ? 100 : 10 + (int64_t)random_below(&w->random, 28), next_us;

	w->now_us += seconds * USEC_PER_SEC;
	cluster_expire_agents(w->cluster, w->now_us, &next_us);
	if (w->now_us - w->heard_us >= HELD_US)
		w->lives = false;
	if (!away)
		hear(w);
	change(w);
	if (chance(w, 60))
		tell(w);
}

/* --- what must hold */

#define CHECK(w, what, ...)                                                          \
	do {                                                                         \
		if (!(what)) {                                                       \
			print_message("seed %llu: ", (unsigned long long)(w)->seed); \
			fail_msg(__VA_ARGS__);                                       \
		}                                                                    \
	} while (0)

static bool is_idle(const struct world *w, size_t i)
{
	return w->lives && w->pods[i].since_us > 0 && w->now_us - w->pods[i].since_us >= IDLE_US;
}

static size_t index_of(const struct world *w, uint32_t pod)
{
	for (size_t i = 0; i < PODS; i++)
		if (cluster_pod_find(w->cluster, STR("train"), str_from(names[i]),
				     str_from(names[i])) == pod)
			return i;
	fail_msg("seed %llu: a pod that is not there goes", (unsigned long long)w->seed);
	return 0;
}

static bool somebody_should(const struct world *w)
{
	if (w->most >= 2 && is_idle(w, 0) && is_idle(w, 1))
		return true;
	for (size_t i = 2; i < PODS; i++)
		if (w->most >= 1 && is_idle(w, i))
			return true;
	return false;
}

static void check_who_goes(struct world *w, size_t at, size_t n)
{
	CHECK(w, is_idle(w, at), "%s goes and is not idle", names[at]);
	CHECK(w, n == (at < 2 ? 2 : 1), "a gang goes in part");
}

static void check(struct world *w)
{
	const struct plan_ask ask = {.pod = TABLE_NONE,
				     .own = true,
				     .protection = PROTECTION_DEFAULT,
				     .most = w->most,
				     .now_us = w->now_us,
				     .now_real_us = w->now_us};
	const struct own_view view = {w->cluster, &ask,
				      cluster_tenant_find(w->cluster, STR("train"))};
	struct own_found found;

	own_idle(&view, IDLE_US, &found);
	CHECK(w, (found.verdict == OWN_GO) == somebody_should(w), "%s", own_text(&found));
	if (found.verdict != OWN_GO)
		return;
	CHECK(w, found.n <= w->most, "%zu go of %zu", found.n, w->most);
	for (size_t i = 0; i < found.n; i++)
		check_who_goes(w, index_of(w, found.pods[i]), found.n);
	w->went++;
}

static void run(struct world *w, uint64_t seed)
{
	static const struct hash_key key = {1, 2};

	*w = (struct world){.seed = seed, .now_us = START_US};
	random_init(&w->random, seed);
	w->cluster = cluster_new(&key);
	machine_pcie_box(&w->machine);
	add_node(w);
	team_add(w->cluster, "train", TIER_TRAINING);
	for (size_t i = 0; i < PODS; i++)
		add_pod(w, i);
	hear(w);
	tell(w);
	for (int i = 0; i < STEPS; i++) {
		w->most = random_below(&w->random, 4);
		let_time_pass(w);
		check(w);
	}
	cluster_free(w->cluster);
}

static void test_who_goes_is_idle_by_another_account(void **state)
{
	static struct world w;
	const char *only = getenv("PROP_SEED");
	uint64_t seed = only ? strtoull(only, NULL, 10) : 0, end = only ? seed + 1 : SEEDS;
	int went = 0;

	(void)state;
	for (; seed < end; seed++) {
		run(&w, seed);
		went += w.went;
	}
	assert_true(only || went > SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_goes_is_idle_by_another_account),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
