/* SPDX-License-Identifier: Apache-2.0 */
/* Room that is held: for whom, against whom, and when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cluster/placing/assume.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/cards.h"
#include "lib/layouts.h"
#include "lib/team.h"
#include "place/place.h"

#define NOW   (1000 * USEC_PER_SEC)
#define UNTIL (2000 * USEC_PER_SEC)

/* One node of eight cards; namespaces chat, train and rest, of an Inference, a Training and no
 * tenant. */
struct scene {
	struct cluster *cluster;
	struct place_memory memory;
	struct arena arena;
	struct placement_weights weights;
	struct place place;
};

static void add_node(struct scene *s, const char *name)
{
	cards_add_node(s->cluster, 8,
		       (struct node_facts){.name = str_from(name), .ready = NODE_READY});
}

static void add_tenant(struct scene *s, const char *name, enum tenant_tier tier,
		       const struct receipt *receipts, size_t n)
{
	team_add_of(s->cluster, &(struct team){name, tier, AMOUNT_NONE, receipts, n});
}

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&s->arena, 16 << 20);
	add_node(s, "n");
	add_tenant(s, "chat", TIER_INFERENCE, NULL, 0);
	add_tenant(s, "train", TIER_TRAINING, NULL, 0);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	cluster_free(s->cluster);
	place_memory_clear(&s->memory);
	arena_clear(&s->arena);
	test_free(s);
	return 0;
}

static void tell_pod(struct scene *s, const char *namespace, const char *name, int64_t gpus,
		     const char *node)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), gpus);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = str_from(namespace),
		.name = str_from(name),
		.uid = str_from(name),
		.owner_kind = STR("Job"),
		.owner_name = STR("work"),
		.created_us = NOW,
		.node = node ? str_from(node) : STR_NONE,
		.phase = node ? POD_RUNNING : POD_PENDING,
		.containers = &container,
		.n_containers = 1,
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

static uint32_t pod_of(const struct scene *s, const char *namespace, const char *name)
{
	return cluster_pod_find(s->cluster, str_from(namespace), str_from(name), str_from(name));
}

static uint32_t node_of(const struct scene *s, const char *name)
{
	return cluster_node_find(s->cluster, str_from(name));
}

static enum place_verdict verdict_of(struct scene *s, const char *namespace, const char *name)
{
	struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};
	struct cluster_ask asked;

	team_refresh(s->cluster);
	arena_reset(&s->arena);
	cluster_ask_of_pod(s->cluster, pod_of(s, namespace, name), &asked);
	place_begin(&s->place, &tools, &asked);
	return place_fit(&s->place, node_of(s, "n")).verdict;
}

/* Six cards of the node for the pod of chat. */
static void hold_for(struct scene *s, const char *pod)
{
	struct cluster_hold hold = {
		.id = STR("r1"),
		.tenant = STR("chat"),
		.node = node_of(s, "n"),
		.tier = TIER_INFERENCE,
		.namespace = STR("chat"),
		.name = str_from(pod),
		.uid = str_from(pod),
		.since_us = NOW,
		.until_us = UNTIL,
		.pod = pod_of(s, "chat", pod),
	};

	assert_true(cluster_reserve(s->cluster, &hold));
}

static void others_of_the_same_and_lower_tiers_see_less(void **state)
{
	struct scene *s = *state;
	struct buf said CLEANUP(buf_clear);

	buf_init(&said, 4096);
	tell_pod(s, "chat", "six", 6, NULL);
	tell_pod(s, "chat", "three", 3, NULL);
	tell_pod(s, "train", "low", 3, NULL);
	tell_pod(s, "train", "two", 2, NULL);
	tell_pod(s, "rest", "none", 3, NULL);
	hold_for(s, "six");
	assert_int_equal(cluster_holds(s->cluster), 1);
	assert_int_equal(verdict_of(s, "chat", "six"), PLACE_FITS);
	assert_int_equal(verdict_of(s, "train", "two"), PLACE_FITS);
	assert_int_equal(verdict_of(s, "chat", "three"), PLACE_HELD);
	assert_int_equal(verdict_of(s, "rest", "none"), PLACE_HELD);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
	place_describe(&s->place, place_fit(&s->place, node_of(s, "n")), &said);
	buf_add(&said, "", 1);
	assert_string_equal(said.data, "room is held for chat/six (receipt r1)");
}

static void a_higher_tier_passes_what_is_held_for_a_lower_one(void **state)
{
	struct scene *s = *state;

	tell_pod(s, "chat", "six", 6, NULL);
	tell_pod(s, "chat", "three", 3, NULL);
	hold_for(s, "six");
	add_tenant(s, "chat", TIER_BEST_EFFORT, NULL, 0);
	tell_pod(s, "train", "low", 3, NULL);
	assert_true(cluster_reserve(s->cluster, &(struct cluster_hold){
							.id = STR("r1"),
							.tenant = STR("chat"),
							.node = node_of(s, "n"),
							.tier = TIER_BEST_EFFORT,
							.namespace = STR("chat"),
							.name = STR("six"),
							.uid = STR("six"),
							.until_us = UNTIL,
							.pod = pod_of(s, "chat", "six"),
						}));
	assert_int_equal(cluster_holds(s->cluster), 1);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS);
	assert_int_equal(verdict_of(s, "chat", "three"), PLACE_HELD);
}

static void what_is_too_much_anyway_is_not_said_to_be_held(void **state)
{
	struct scene *s = *state;

	tell_pod(s, "chat", "six", 6, NULL);
	tell_pod(s, "train", "nine", 9, NULL);
	hold_for(s, "six");
	assert_int_equal(verdict_of(s, "train", "nine"), PLACE_TOO_FEW);
}

static void a_hold_is_over_with_its_time(void **state)
{
	struct scene *s = *state;
	int64_t next_us;

	tell_pod(s, "chat", "six", 6, NULL);
	tell_pod(s, "train", "low", 3, NULL);
	hold_for(s, "six");
	cluster_expire_holds(s->cluster, NOW, &next_us);
	assert_int_equal(next_us, UNTIL);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
	cluster_expire_holds(s->cluster, UNTIL, &next_us);
	assert_int_equal(next_us, TIME_NEVER);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS);
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void an_assumption_takes_it_and_may_give_it_back(void **state)
{
	struct scene *s = *state;

	tell_pod(s, "chat", "six", 6, NULL);
	tell_pod(s, "train", "low", 3, NULL);
	tell_pod(s, "train", "two", 2, NULL);
	hold_for(s, "six");
	cluster_assume(s->cluster, pod_of(s, "chat", "six"), node_of(s, "n"), 0, UNTIL);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_TOO_FEW);
	assert_int_equal(verdict_of(s, "train", "two"), PLACE_FITS);
	cluster_unassume(s->cluster, pod_of(s, "chat", "six"));
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
}

static void it_ends_when_its_pod_is_bound_there_or_elsewhere(void **state)
{
	struct scene *s = *state;

	tell_pod(s, "chat", "six", 6, NULL);
	tell_pod(s, "train", "low", 3, NULL);
	hold_for(s, "six");
	tell_pod(s, "chat", "six", 6, "elsewhere");
	assert_int_equal(cluster_holds(s->cluster), 0);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS);
	hold_for(s, "six"); /* it is bound already */
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void it_ends_when_its_pod_is_gone(void **state)
{
	struct scene *s = *state;

	tell_pod(s, "chat", "six", 6, NULL);
	hold_for(s, "six");
	cluster_delete(s->cluster, CLUSTER_PODS, STR("chat"), STR("six"));
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static struct receipt receipt_of(const char *pod, enum receipt_cause cause)
{
	return (struct receipt){
		.id = STR("r1"),
		.cause = cause,
		.outcome = RECEIPT_ISSUED,
		.at_us = NOW,
		.beneficiary = {.namespace = STR("chat"),
				.name = str_from(pod),
				.uid = str_from(pod),
				.owner = STR("Job/work")},
		.node = STR("n"),
		.cards = 0x3f,
		.held_until_us = UNTIL,
	};
}

static void receipts_tell_of_holds_until_they_are_settled(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);

	tell_pod(s, "train", "low", 3, NULL);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD); /* by the cards */
	tell_pod(s, "chat", "six", 5, NULL);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS); /* by what it asks for */
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(cluster_holds(s->cluster), 1);
	receipt.outcome = RECEIPT_MOOT;
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void no_receipt_holds_room_for_longer_than_an_observation_may_take(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_MISMATCH);
	int64_t next_us;

	receipt.held_until_us = TIME_NEVER - 1;
	tell_pod(s, "train", "low", 3, NULL);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	cluster_expire_holds(s->cluster, NOW, &next_us);
	assert_int_equal(next_us, NOW + RECEIPT_OPEN_MOST_US);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
	cluster_expire_holds(s->cluster, NOW + RECEIPT_OPEN_MOST_US, &next_us);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS);
}

static void a_receipt_of_a_clock_that_was_far_ahead_holds_nothing(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_MISMATCH);
	int64_t next_us;

	tell_pod(s, "train", "low", 3, NULL);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	cluster_expire_holds(s->cluster, NOW - RECEIPT_AHEAD_US, &next_us);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
	cluster_expire_holds(s->cluster, NOW - RECEIPT_AHEAD_US - 1, &next_us);
	assert_int_equal(next_us, TIME_NEVER);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS);
}

static void a_receipt_that_is_still_open_holds_nothing_twice(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);

	tell_pod(s, "chat", "six", 6, NULL);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	tell_pod(s, "chat", "six", 6, "n");
	assert_int_equal(cluster_holds(s->cluster), 0);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(cluster_holds(s->cluster), 0);
	cluster_delete(s->cluster, CLUSTER_TENANTS, STR_NONE, STR("chat"));
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1); /* as who leads next is told */
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void what_was_reserved_stays_while_no_status_shows_it(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);

	tell_pod(s, "chat", "six", 6, NULL);
	hold_for(s, "six");
	add_tenant(s, "chat", TIER_INFERENCE, NULL, 0);
	assert_int_equal(cluster_holds(s->cluster), 1);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	add_tenant(s, "chat", TIER_INFERENCE, NULL, 0);
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void what_was_let_go_before_a_status_shows_it_is_held_once_one_does(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);

	tell_pod(s, "chat", "six", 6, NULL);
	hold_for(s, "six");
	cluster_release_hold(s->cluster, STR("chat"), STR("r1"));
	assert_int_equal(cluster_holds(s->cluster), 0);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1); /* it was written after all */
	assert_int_equal(cluster_holds(s->cluster), 1);
	cluster_release_hold(s->cluster, STR("chat"), STR("r1"));
	assert_int_equal(cluster_holds(s->cluster), 1); /* it follows from the receipt */
}

static void a_pod_that_is_missed_for_a_while_has_its_room_again(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);

	tell_pod(s, "train", "low", 3, NULL);
	tell_pod(s, "chat", "six", 6, NULL);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("chat"), STR("six"));
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS);
	tell_pod(s, "chat", "six", 6, NULL);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
	assert_int_equal(cluster_holds(s->cluster), 1);
	tell_pod(s, "chat", "six", 6, "n");
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void a_clock_that_is_set_forth_and_back_loses_no_room(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);
	int64_t next_us;

	tell_pod(s, "train", "low", 3, NULL);
	tell_pod(s, "chat", "six", 6, NULL);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	cluster_expire_holds(s->cluster, UNTIL, &next_us);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS);
	cluster_expire_holds(s->cluster, UNTIL - 1, &next_us);
	assert_int_equal(next_us, UNTIL);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
}

static void a_successor_has_what_was_held_for_a_pod_that_moves(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("old", RECEIPT_MISMATCH);

	tell_pod(s, "chat", "old", 6, "elsewhere");
	tell_pod(s, "train", "low", 3, NULL);
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("chat"), STR("old"));
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
	tell_pod(s, "chat", "new", 6, NULL);
	assert_int_equal(verdict_of(s, "chat", "new"), PLACE_FITS);
	tell_pod(s, "chat", "new", 6, "n");
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void for_an_objective_cards_are_held_though_the_pod_runs(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_OBJECTIVE);

	tell_pod(s, "chat", "six", 2, "n");
	receipt.cards = 0xf0;
	add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	tell_pod(s, "train", "low", 3, NULL);
	tell_pod(s, "train", "two", 2, NULL);
	assert_int_equal(verdict_of(s, "train", "two"), PLACE_FITS);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
}

static void a_node_that_goes_and_comes_is_held_as_before(void **state)
{
	struct scene *s = *state;

	tell_pod(s, "chat", "six", 6, NULL);
	tell_pod(s, "train", "low", 3, NULL);
	hold_for(s, "six");
	cluster_delete(s->cluster, CLUSTER_NODES, STR_NONE, STR("n"));
	add_node(s, "n");
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
}

/* --- of a pod that requires a topology */

/* A pod that has this card, or waits and requires two of one NUMA node. */
static void tell_one(struct scene *s, const char *namespace, const char *name,
		     const struct str *card, bool terminating)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), card ? 1 : 2);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = str_from(namespace),
		.name = str_from(name),
		.uid = str_from(name),
		.created_us = NOW,
		.node = card ? STR("n") : STR_NONE,
		.phase = card ? POD_RUNNING : POD_PENDING,
		.terminating = terminating,
		.containers = &container,
		.n_containers = 1,
		.device_ids = card,
		.n_device_ids = card ? 1 : 0,
		.alignment = {.guaranteed = true,
			      .whole_cpus = true,
			      .wished = !card,
			      .policy = card ? TOPOLOGY_NONE : TOPOLOGY_REQUIRED},
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

/* Eight cards on two NUMA nodes, the first four on the one. All have pods "0" to "7" but those of
 * the bits of @free; room is held for chat/pair, and chat/next and train/low would like a card. */
static void take_all_but(struct scene *s, struct machine *machine, uint64_t free)
{
	static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7"};

	machine_dgx_h100(machine);
	machine->layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, false, true};
	cards_add_node(s->cluster, 8,
		       (struct node_facts){
			       .name = STR("n"), .ready = NODE_READY, .layout = &machine->layout});
	for (unsigned int card = 0; card < 8; card++)
		if (!(free >> card & 1))
			tell_one(s, "rest", names[card], &machine->gpus[card].uuid, false);
	tell_one(s, "chat", "pair", NULL, false);
	tell_pod(s, "train", "low", 1, NULL);
	hold_for(s, "pair");
}

static void nobody_comes_first_whom_kubelet_might_give_what_is_held(void **state)
{
	struct scene *s = *state;
	struct machine machine;

	take_all_but(s, &machine, 0x2c); /* 2 and 3 of one NUMA node, 5 of the other */
	assert_int_equal(verdict_of(s, "chat", "pair"), PLACE_FITS);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
	cluster_release_hold(s->cluster, STR("chat"), STR("r1"));
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS);
}

static void who_takes_what_is_left_in_any_case_may_come(void **state)
{
	struct scene *s = *state;
	struct machine machine;

	take_all_but(s, &machine, 0x0e);
	assert_int_equal(verdict_of(s, "chat", "pair"), PLACE_FITS);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS);
}

/* "3" is on its way out: "2" is half of a pair in a moment. */
static void what_is_about_to_be_gone_is_room_too(void **state)
{
	struct scene *s = *state;
	struct machine machine;

	take_all_but(s, &machine, 0x64); /* 2 of one NUMA node, 5 and 6 of the other */
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_HELD);
	tell_one(s, "rest", "3", &machine.gpus[3].uuid, true);
	assert_int_equal(verdict_of(s, "train", "low"), PLACE_FITS);
}

static void there_is_a_bound_to_them(void **state)
{
	struct scene *s = *state;
	struct receipt receipts[RECEIPTS_MOST];
	char ids[RECEIPTS_MOST], names[5][8];

	for (size_t i = 0; i < RECEIPTS_MOST; i++) {
		ids[i] = (char)(' ' + i);
		receipts[i] = receipt_of("six", RECEIPT_PENDING);
		receipts[i].id = (struct str){&ids[i], 1};
	}
	for (size_t i = 0; i < 5; i++) {
		snprintf(names[i], sizeof(names[i]), "many%d", (int)i);
		add_tenant(s, names[i], TIER_INFERENCE, receipts, RECEIPTS_MOST);
	}
	assert_int_equal(cluster_holds(s->cluster), HOLDS_MOST);
	for (size_t i = 0; i < 5; i++)
		cluster_delete(s->cluster, CLUSTER_TENANTS, STR_NONE, str_from(names[i]));
	assert_int_equal(cluster_holds(s->cluster), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(others_of_the_same_and_lower_tiers_see_less),
		TEST(a_higher_tier_passes_what_is_held_for_a_lower_one),
		TEST(what_is_too_much_anyway_is_not_said_to_be_held),
		TEST(a_hold_is_over_with_its_time),
		TEST(an_assumption_takes_it_and_may_give_it_back),
		TEST(it_ends_when_its_pod_is_bound_there_or_elsewhere),
		TEST(it_ends_when_its_pod_is_gone),
		TEST(receipts_tell_of_holds_until_they_are_settled),
		TEST(no_receipt_holds_room_for_longer_than_an_observation_may_take),
		TEST(a_receipt_of_a_clock_that_was_far_ahead_holds_nothing),
		TEST(a_receipt_that_is_still_open_holds_nothing_twice),
		TEST(what_was_reserved_stays_while_no_status_shows_it),
		TEST(what_was_let_go_before_a_status_shows_it_is_held_once_one_does),
		TEST(a_pod_that_is_missed_for_a_while_has_its_room_again),
		TEST(a_clock_that_is_set_forth_and_back_loses_no_room),
		TEST(a_successor_has_what_was_held_for_a_pod_that_moves),
		TEST(for_an_objective_cards_are_held_though_the_pod_runs),
		TEST(a_node_that_goes_and_comes_is_held_as_before),
		TEST(nobody_comes_first_whom_kubelet_might_give_what_is_held),
		TEST(who_takes_what_is_left_in_any_case_may_come),
		TEST(what_is_about_to_be_gone_is_room_too),
		TEST(there_is_a_bound_to_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
