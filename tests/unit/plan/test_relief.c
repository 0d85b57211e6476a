/* SPDX-License-Identifier: Apache-2.0 */
/* Who is to blame for what a pod suffers, and who is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/nodes/agents.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/cards.h"
#include "lib/layouts.h"
#include "lib/team.h"
#include "plan/relief.h"

#define NOW (1000000 * USEC_PER_SEC)

/* One node of 8 cards, 4 to a NUMA node and 2 to a switch. chat/web suffers, on card 0. */
struct scene {
	struct cluster *cluster;
	struct machine machine;
	struct place_memory memory;
	struct arena arena;
	struct placement_weights weights;
	struct gpu_node_use uses[8];
	size_t n_uses;
	struct relief_found found;
	struct relief_counts counts;
	char said[1024];
};

struct pod {
	const char *namespace, *name;
	uint32_t card;
	int32_t sm_percent; /* -1: nothing tells */
	int64_t pcie;       /* bytes per second */
	const char *gang;   /* NULL: none */
	int64_t age_s;
	bool estimated; /* its pcie */
};

static void add_node(struct scene *s)
{
	struct agent_facts agent = {.name = STR("gpuqos-agent-n"),
				    .holder = STR("n"),
				    .renew_us = NOW,
				    .duration_us = 40 * USEC_PER_SEC};

	cards_add_node(s->cluster, 8,
		       (struct node_facts){.name = STR("n"),
					   .ready = NODE_READY,
					   .layout = &s->machine.layout});
	assert_int_equal(cluster_apply_agent(s->cluster, &agent, NOW, NULL), 0);
}

static void add_pod(struct scene *s, struct pod pod)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 1);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = str_from(pod.namespace),
		.name = str_from(pod.name),
		.uid = str_from(pod.name),
		.created_us = NOW - (pod.age_s ? pod.age_s : 3600) * USEC_PER_SEC,
		.node = STR("n"),
		.phase = POD_RUNNING,
		.containers = &container,
		.n_containers = 1,
		.device_ids = &s->machine.gpus[pod.card].uuid,
		.n_device_ids = 1,
		.exit = {.gang = pod.gang ? GANG_KUEUE : GANG_NONE,
			 .gang_name = pod.gang ? str_from(pod.gang) : STR_NONE},
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
	if (pod.sm_percent < 0 && pod.pcie == 0)
		return;
	s->uses[s->n_uses++] = (struct gpu_node_use){
		.card = s->machine.gpus[pod.card].pci,
		.uid = str_from(pod.name),
		.memory = GIB,
		.sm_percent = pod.sm_percent,
		.pcie = pod.pcie ? pod.pcie : AMOUNT_UNKNOWN,
		.pcie_estimated = pod.estimated,
	};
}

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&s->arena, 16 << 20);
	machine_pcie_box(&s->machine);
	add_node(s);
	team_add(s->cluster, "chat", TIER_INFERENCE);
	team_add(s->cluster, "train", TIER_TRAINING);
	add_pod(s, (struct pod){.namespace = "chat", .name = "web", .card = 0, .sm_percent = 90});
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	place_memory_clear(&s->memory);
	cluster_free(s->cluster);
	arena_clear(&s->arena);
	test_free(s);
	return 0;
}

static uint32_t pod_of(const struct scene *s, const char *namespace, const char *name)
{
	return cluster_pod_find(s->cluster, str_from(namespace), str_from(name), str_from(name));
}

/* By uid, as the API server would show them. */
static int by_uid(const void *a, const void *b)
{
	return str_compare(((const struct gpu_node_use *)a)->uid,
			   ((const struct gpu_node_use *)b)->uid);
}

static void tell(struct scene *s)
{
	struct gpu_node_facts facts = {.name = STR("n"), .uses = s->uses, .n_uses = s->n_uses};

	qsort(s->uses, s->n_uses, sizeof(*s->uses), by_uid);
	assert_int_equal(cluster_apply_gpu_node(s->cluster, &facts, NOW, NULL), 0);
	team_refresh(s->cluster);
}

static bool find(struct scene *s)
{
	struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};
	struct plan_ask ask = {
		.pod = pod_of(s, "chat", "web"),
		.tier = TIER_INFERENCE,
		.protection = PROTECTION_DEFAULT,
		.most = 16,
		.now_us = NOW,
		.now_real_us = NOW,
	};
	struct buf said CLEANUP(buf_clear);
	bool found;

	tell(s);
	found = relief_find(&tools, &ask, &s->found, &s->counts);
	buf_init(&said, sizeof(s->said) - 1);
	if (found)
		relief_describe(s->cluster, &s->found, &said);
	else
		relief_describe_none(&s->counts, &said);
	memcpy(s->said, said.data, said.len);
	s->said[said.len] = '\0';
	return found;
}

static void train(struct scene *s, const char *name, uint32_t card, int32_t sm_percent)
{
	add_pod(s, (struct pod){.namespace = "train",
				.name = name,
				.card = card,
				.sm_percent = sm_percent});
}

static void assert_victim(const struct scene *s, const char *name, enum relief_share share)
{
	assert_int_equal(s->found.n_victims, 1);
	assert_int_equal(s->found.victims[0], pod_of(s, "train", name));
	assert_int_equal(s->found.share, share);
}

static void who_shares_the_card_goes_before_who_shares_less(void **state)
{
	struct scene *s = *state;

	train(s, "numa", 3, 100);
	train(s, "switch", 1, 100);
	train(s, "card", 0, 30);
	assert_true(find(s));
	assert_victim(s, "card", RELIEF_CARD);
	assert_string_equal(s->said,
			    "train/card shares a card with it on n and uses 30 % of a card, by its "
			    "node's agent");
}

static void assert_spared(const struct scene *s, const char *name, const char *why)
{
	const struct plan_ask ask = {
		.pod = pod_of(s, "chat", "web"),
		.tier = TIER_INFERENCE,
		.protection = PROTECTION_DEFAULT,
		.now_us = NOW,
		.now_real_us = NOW,
	};

	assert_string_equal(relief_why_spared(s->cluster, &ask, pod_of(s, "train", name)), why);
}

static void of_who_is_not_taken_it_is_told_why(void **state)
{
	struct scene *s = *state;

	train(s, "numa", 3, 100);
	train(s, "switch", 1, 100);
	train(s, "idle", 2, 5);
	train(s, "untold", 2, -1);
	train(s, "far", 7, 100);
	add_pod(s, (struct pod){.namespace = "train", .name = "new", .card = 3, .age_s = 1});
	assert_true(find(s));
	assert_victim(s, "switch", RELIEF_SWITCH);
	assert_spared(s, "numa", "another is nearer, or costs less");
	assert_spared(s, "idle", "it does little");
	assert_spared(s, "untold", "nothing tells what it does");
	assert_spared(s, "far", "it shares nothing with it");
	assert_spared(s, "new", "it has not run for its minimum time");
}

static void then_who_shares_the_switch_then_the_numa_node(void **state)
{
	struct scene *s = *state;

	train(s, "numa", 3, 100);
	assert_true(find(s));
	assert_victim(s, "numa", RELIEF_NUMA);
	train(s, "switch", 1, 50);
	assert_true(find(s));
	assert_victim(s, "switch", RELIEF_SWITCH);
}

static void of_those_as_near_the_cheapest_goes(void **state)
{
	struct scene *s = *state;

	add_pod(s, (struct pod){.namespace = "train",
				.name = "old",
				.card = 2,
				.sm_percent = 100,
				.age_s = 9000});
	add_pod(s, (struct pod){.namespace = "train",
				.name = "new",
				.card = 3,
				.sm_percent = 40,
				.age_s = 900});
	assert_true(find(s));
	assert_victim(s, "new", RELIEF_NUMA);
	assert_int_equal(s->found.cost.lost, 900);
}

static void what_is_not_measured_is_not_to_blame(void **state)
{
	struct scene *s = *state;

	train(s, "unmeasured", 1, -1);
	train(s, "quiet", 0, RELIEF_BUSY_PERCENT - 1);
	train(s, "apart", 5, 100);
	assert_false(find(s));
	assert_string_equal(s->said, "0 of 4 candidates to blame; of 1 it is the pod that needs "
				     "room; 1 share nothing with it; 1 share with it, and nothing "
				     "tells what they do; 1 share with it, and do little");
}

static void a_card_s_pcie_bytes_prove_nothing_about_one_pod(void **state)
{
	struct scene *s = *state;
	struct pod pod = {.namespace = "train",
			  .name = "a",
			  .card = 1,
			  .sm_percent = -1,
			  .pcie = RELIEF_BUSY_PCIE,
			  .estimated = true};

	add_pod(s, pod);
	assert_false(find(s));
	assert_int_equal(s->counts.unmeasured, 1);
	s->uses[0].pcie_estimated = s->uses[1].pcie_estimated = false;
	assert_true(find(s));
	assert_string_equal(
		s->said, "train/a shares a PCIe switch with it on n and moves 3200 MB/s over PCIe, "
			 "by its node's agent");
}

static void peers_and_those_just_begun_are_not_asked(void **state)
{
	struct scene *s = *state;

	add_pod(s, (struct pod){.namespace = "chat", .name = "peer", .card = 1, .sm_percent = 100});
	add_pod(s, (struct pod){.namespace = "train",
				.name = "young",
				.card = 1,
				.sm_percent = 100,
				.age_s = 5});
	assert_false(find(s));
	assert_int_equal(s->counts.plan.exempt[PLAN_TIER], 1);
	assert_int_equal(s->counts.plan.exempt[PLAN_YOUNG], 1);
}

static void a_gang_goes_whole(void **state)
{
	struct scene *s = *state;

	add_pod(s, (struct pod){.namespace = "train",
				.name = "g0",
				.card = 1,
				.sm_percent = 100,
				.gang = "g"});
	add_pod(s, (struct pod){.namespace = "train",
				.name = "g1",
				.card = 6,
				.sm_percent = 10,
				.gang = "g"});
	assert_true(find(s));
	assert_int_equal(s->found.n_victims, 2);
	assert_int_equal(s->found.to_blame, pod_of(s, "train", "g0"));
}

static void a_pod_whose_own_cards_nothing_tells_blames_nobody(void **state)
{
	struct scene *s = *state;
	struct pod_facts facts = {.namespace = STR("chat"),
				  .name = STR("web"),
				  .uid = STR("web"),
				  .created_us = NOW,
				  .node = STR("n"),
				  .phase = POD_RUNNING};
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 1);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};

	facts.containers = &container;
	facts.n_containers = 1;
	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
	train(s, "switch", 1, 100);
	assert_false(find(s));
	assert_non_null(
		strstr(s->said, "; nothing tells which cards it has, or how they are wired"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_shares_the_card_goes_before_who_shares_less),
		TEST(of_who_is_not_taken_it_is_told_why),
		TEST(then_who_shares_the_switch_then_the_numa_node),
		TEST(of_those_as_near_the_cheapest_goes),
		TEST(what_is_not_measured_is_not_to_blame),
		TEST(a_card_s_pcie_bytes_prove_nothing_about_one_pod),
		TEST(peers_and_those_just_begun_are_not_asked),
		TEST(a_gang_goes_whole),
		TEST(a_pod_whose_own_cards_nothing_tells_blames_nobody),
	};

	return cmocka_run_group_tests_name("plan/relief", tests, NULL, NULL);
}
