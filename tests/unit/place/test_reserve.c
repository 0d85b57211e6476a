/* SPDX-License-Identifier: Apache-2.0 */
/* Room that is held: for whom, against whom, and when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/team.h"
#include "unit/place/scene.h"

static void others_of_the_same_and_lower_tiers_see_less(void **state)
{
	struct scene *s = *state;
	struct buf said CLEANUP(buf_clear);

	buf_init(&said, 4096);
	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_tell_pod(s, "chat", "three", 3, NULL);
	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_tell_pod(s, "train", "two", 2, NULL);
	scene_tell_pod(s, "rest", "none", 3, NULL);
	scene_hold(s, "six");
	assert_int_equal(cluster_holds(s->cluster), 1);
	assert_int_equal(scene_verdict(s, "chat", "six"), PLACE_FITS);
	assert_int_equal(scene_verdict(s, "train", "two"), PLACE_FITS);
	assert_int_equal(scene_verdict(s, "chat", "three"), PLACE_HELD);
	assert_int_equal(scene_verdict(s, "rest", "none"), PLACE_HELD);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	place_describe(&s->place, place_fit(&s->place, scene_node(s, "n")), &said);
	buf_add(&said, "", 1);
	assert_string_equal(said.data, "room is held for chat/six (receipt r1)");
}

static void a_higher_tier_passes_what_is_held_for_a_lower_one(void **state)
{
	struct scene *s = *state;

	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_tell_pod(s, "chat", "three", 3, NULL);
	scene_hold(s, "six");
	scene_add_tenant(s, "chat", TIER_BEST_EFFORT, NULL, 0);
	scene_tell_pod(s, "train", "low", 3, NULL);
	assert_true(cluster_reserve(s->cluster, &(struct cluster_hold){
							.id = STR("r1"),
							.tenant = STR("chat"),
							.node = scene_node(s, "n"),
							.tier = TIER_BEST_EFFORT,
							.namespace = STR("chat"),
							.name = STR("six"),
							.uid = STR("six"),
							.until_us = UNTIL,
							.pod = scene_pod(s, "chat", "six"),
						}));
	assert_int_equal(cluster_holds(s->cluster), 1);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
	assert_int_equal(scene_verdict(s, "chat", "three"), PLACE_HELD);
}

static void what_is_too_much_anyway_is_not_said_to_be_held(void **state)
{
	struct scene *s = *state;

	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_tell_pod(s, "train", "nine", 9, NULL);
	scene_hold(s, "six");
	assert_int_equal(scene_verdict(s, "train", "nine"), PLACE_TOO_FEW);
}

static void a_hold_is_over_with_its_time(void **state)
{
	struct scene *s = *state;
	int64_t next_us;

	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_hold(s, "six");
	cluster_expire_holds(s->cluster, NOW, &next_us);
	assert_int_equal(next_us, UNTIL);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	cluster_expire_holds(s->cluster, UNTIL, &next_us);
	assert_int_equal(next_us, TIME_NEVER);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void an_assumption_takes_it_and_may_give_it_back(void **state)
{
	struct scene *s = *state;

	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_tell_pod(s, "train", "two", 2, NULL);
	scene_hold(s, "six");
	cluster_assume(s->cluster, scene_pod(s, "chat", "six"), scene_node(s, "n"), 0, UNTIL);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_TOO_FEW);
	assert_int_equal(scene_verdict(s, "train", "two"), PLACE_FITS);
	cluster_unassume(s->cluster, scene_pod(s, "chat", "six"));
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
}

static void it_ends_when_its_pod_is_bound_there_or_elsewhere(void **state)
{
	struct scene *s = *state;

	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_hold(s, "six");
	scene_tell_pod(s, "chat", "six", 6, "elsewhere");
	assert_int_equal(cluster_holds(s->cluster), 0);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
	scene_hold(s, "six"); /* it is bound already */
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void it_ends_when_its_pod_is_gone(void **state)
{
	struct scene *s = *state;

	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_hold(s, "six");
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

	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD); /* by the cards */
	scene_tell_pod(s, "chat", "six", 5, NULL);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS); /* by what it asks for */
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(cluster_holds(s->cluster), 1);
	receipt.outcome = RECEIPT_MOOT;
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void no_receipt_holds_room_for_longer_than_an_observation_may_take(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_MISMATCH);
	int64_t next_us;

	receipt.held_until_us = TIME_NEVER - 1;
	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	cluster_expire_holds(s->cluster, NOW, &next_us);
	assert_int_equal(next_us, NOW + RECEIPT_OPEN_MOST_US);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	cluster_expire_holds(s->cluster, NOW + RECEIPT_OPEN_MOST_US, &next_us);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
}

static void a_receipt_of_a_clock_that_was_far_ahead_holds_nothing(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_MISMATCH);
	int64_t next_us;

	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	cluster_expire_holds(s->cluster, NOW - RECEIPT_AHEAD_US, &next_us);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	cluster_expire_holds(s->cluster, NOW - RECEIPT_AHEAD_US - 1, &next_us);
	assert_int_equal(next_us, TIME_NEVER);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
}

static void a_receipt_that_is_still_open_holds_nothing_twice(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);

	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	scene_tell_pod(s, "chat", "six", 6, "n");
	assert_int_equal(cluster_holds(s->cluster), 0);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(cluster_holds(s->cluster), 0);
	cluster_delete(s->cluster, CLUSTER_TENANTS, STR_NONE, STR("chat"));
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1); /* as who leads next is told */
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void what_was_reserved_stays_while_no_status_shows_it(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);

	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_hold(s, "six");
	scene_add_tenant(s, "chat", TIER_INFERENCE, NULL, 0);
	assert_int_equal(cluster_holds(s->cluster), 1);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	scene_add_tenant(s, "chat", TIER_INFERENCE, NULL, 0);
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void what_was_let_go_before_a_status_shows_it_is_held_once_one_does(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);

	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_hold(s, "six");
	cluster_release_hold(s->cluster, STR("chat"), STR("r1"));
	assert_int_equal(cluster_holds(s->cluster), 0);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1); /* it was written after all */
	assert_int_equal(cluster_holds(s->cluster), 1);
	cluster_release_hold(s->cluster, STR("chat"), STR("r1"));
	assert_int_equal(cluster_holds(s->cluster), 1); /* it follows from the receipt */
}

static void a_pod_that_is_missed_for_a_while_has_its_room_again(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);

	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("chat"), STR("six"));
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
	scene_tell_pod(s, "chat", "six", 6, NULL);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	assert_int_equal(cluster_holds(s->cluster), 1);
	scene_tell_pod(s, "chat", "six", 6, "n");
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void a_clock_that_is_set_forth_and_back_loses_no_room(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_PENDING);
	int64_t next_us;

	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	cluster_expire_holds(s->cluster, UNTIL, &next_us);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
	cluster_expire_holds(s->cluster, UNTIL - 1, &next_us);
	assert_int_equal(next_us, UNTIL);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
}

static void a_successor_has_what_was_held_for_a_pod_that_moves(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("old", RECEIPT_MISMATCH);

	scene_tell_pod(s, "chat", "old", 6, "elsewhere");
	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("chat"), STR("old"));
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	scene_tell_pod(s, "chat", "new", 6, NULL);
	assert_int_equal(scene_verdict(s, "chat", "new"), PLACE_FITS);
	scene_tell_pod(s, "chat", "new", 6, "n");
	assert_int_equal(cluster_holds(s->cluster), 0);
}

static void for_an_objective_cards_are_held_though_the_pod_runs(void **state)
{
	struct scene *s = *state;
	struct receipt receipt = receipt_of("six", RECEIPT_OBJECTIVE);

	scene_tell_pod(s, "chat", "six", 2, "n");
	receipt.cards = 0xf0;
	scene_add_tenant(s, "chat", TIER_INFERENCE, &receipt, 1);
	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_tell_pod(s, "train", "two", 2, NULL);
	assert_int_equal(scene_verdict(s, "train", "two"), PLACE_FITS);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
}

static void a_node_that_goes_and_comes_is_held_as_before(void **state)
{
	struct scene *s = *state;

	scene_tell_pod(s, "chat", "six", 6, NULL);
	scene_tell_pod(s, "train", "low", 3, NULL);
	scene_hold(s, "six");
	cluster_delete(s->cluster, CLUSTER_NODES, STR_NONE, STR("n"));
	scene_add_node(s, "n");
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
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
		scene_add_tenant(s, names[i], TIER_INFERENCE, receipts, RECEIPTS_MOST);
	}
	assert_int_equal(cluster_holds(s->cluster), HOLDS_MOST);
	for (size_t i = 0; i < 5; i++)
		cluster_delete(s->cluster, CLUSTER_TENANTS, STR_NONE, str_from(names[i]));
	assert_int_equal(cluster_holds(s->cluster), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)

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
		TEST(there_is_a_bound_to_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
