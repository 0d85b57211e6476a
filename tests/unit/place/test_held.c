/* SPDX-License-Identifier: Apache-2.0 */
/* Room that is held for pods whose cards have to lie somehow: nobody parts it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "lib/cards.h"
#include "lib/layouts.h"
#include "unit/place/scene.h"

static void ask_for_two(struct scene *s, const char *name, enum topology_policy policy)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 2);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = STR("chat"),
		.name = str_from(name),
		.uid = str_from(name),
		.created_us = NOW,
		.containers = &container,
		.n_containers = 1,
		.alignment = {.guaranteed = true,
			      .whole_cpus = true,
			      .wished = true,
			      .policy = policy},
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

/* A pod that has this card. */
static void tell_one(struct scene *s, const char *name, const struct str *card, bool terminating)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 1);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = STR("rest"),
		.name = str_from(name),
		.uid = str_from(name),
		.created_us = NOW,
		.node = STR("n"),
		.phase = POD_RUNNING,
		.terminating = terminating,
		.containers = &container,
		.n_containers = 1,
		.device_ids = card,
		.n_device_ids = 1,
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

/* Eight cards on two NUMA nodes, the first four on the one. All have pods "0" to "7" but those of
 * the bits of @free; chat/pair, which requires two of one NUMA node, and train/low wait. */
static void take_all_under(struct scene *s, struct machine *machine, uint64_t free,
			   enum layout_policy policy)
{
	static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7"};

	machine_dgx_h100(machine);
	machine->layout.kubelet = (struct layout_kubelet){policy, false, true};
	cards_add_node(s->cluster, 8,
		       (struct node_facts){
			       .name = STR("n"), .ready = NODE_READY, .layout = &machine->layout});
	for (unsigned int card = 0; card < 8; card++)
		if (!(free >> card & 1))
			tell_one(s, names[card], &machine->gpus[card].uuid, false);
	ask_for_two(s, "pair", TOPOLOGY_REQUIRED);
	scene_tell_pod(s, "train", "low", 1, NULL);
}

/* And room is held for chat/pair. */
static void take_all_but(struct scene *s, struct machine *machine, uint64_t free)
{
	take_all_under(s, machine, free, LAYOUT_POLICY_SINGLE_NUMA);
	scene_hold(s, "pair");
}

static void nobody_comes_first_whom_kubelet_might_give_what_is_held(void **state)
{
	struct scene *s = *state;
	struct machine machine;

	take_all_but(s, &machine, 0x2c); /* 2 and 3 of one NUMA node, 5 of the other */
	assert_int_equal(scene_verdict(s, "chat", "pair"), PLACE_FITS);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	cluster_release_hold(s->cluster, STR("chat"), STR("r1"));
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
}

static void who_takes_what_is_left_in_any_case_may_come(void **state)
{
	struct scene *s = *state;
	struct machine machine;

	take_all_but(s, &machine, 0x0e);
	assert_int_equal(scene_verdict(s, "chat", "pair"), PLACE_FITS);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
}

/* "3" is on its way out: "2" is half of a pair in a moment. */
static void what_is_about_to_be_gone_is_room_too(void **state)
{
	struct scene *s = *state;
	struct machine machine;

	take_all_but(s, &machine, 0x64); /* 2 of one NUMA node, 5 and 6 of the other */
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	tell_one(s, "3", &machine.gpus[3].uuid, true);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
}

static void nor_before_one_that_kubelet_would_reject_then(void **state)
{
	struct scene *s = *state;
	struct machine machine;

	take_all_under(s, &machine, 0x2c, LAYOUT_POLICY_SINGLE_NUMA);
	ask_for_two(s, "any", TOPOLOGY_NONE);
	scene_hold(s, "any");
	assert_int_equal(scene_verdict(s, "chat", "any"), PLACE_FITS);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	take_all_under(s, &machine, 0x2c, LAYOUT_POLICY_NONE); /* nobody is rejected */
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
}

static void nor_before_who_comes_in_place_of_a_pod_that_moves(void **state)
{
	struct scene *s = *state;
	struct machine machine;

	take_all_under(s, &machine, 0x2c, LAYOUT_POLICY_SINGLE_NUMA);
	scene_hold_as(s, "pair", STR("Job/work"));
	cluster_delete(s->cluster, CLUSTER_PODS, STR("chat"), STR("pair"));
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
}

static void where_it_is_lost_already_nobody_is_kept_away(void **state)
{
	struct scene *s = *state;
	struct machine machine;

	take_all_under(s, &machine, 0x2c, LAYOUT_POLICY_NONE); /* kubelet may mix them */
	scene_hold(s, "pair");
	assert_int_equal(scene_verdict(s, "chat", "pair"), PLACE_UNCERTAIN);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
}

/* kube-scheduler asks again about a pod whose binding was not answered. */
static void who_is_assumed_to_be_there_is_not_reckoned_with_twice(void **state)
{
	struct scene *s = *state;
	struct machine machine;

	take_all_but(s, &machine, 0x0e);
	cluster_assume(s->cluster, scene_pod(s, "train", "low"), scene_node(s, "n"), 0x2, UNTIL);
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
	assert_int_equal(scene_verdict(s, "chat", "pair"), PLACE_FITS);
}

/* The first that is asked about may be in nobody's way, and the next not. */
static void each_room_that_is_held_counts(void **state)
{
	struct scene *s = *state;
	struct machine machine;
	struct cluster_hold second = {.id = STR("r2"),
				      .tenant = STR("chat"),
				      .tier = TIER_INFERENCE,
				      .namespace = STR("chat"),
				      .name = STR("one"),
				      .uid = STR("one"),
				      .since_us = NOW,
				      .until_us = UNTIL};

	take_all_but(s, &machine, 0x6c); /* 2 and 3 of one NUMA node, 5 and 6 of the other */
	scene_tell_pod(s, "chat", "one", 1, NULL);
	second.node = scene_node(s, "n");
	second.pod = scene_pod(s, "chat", "one");
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
	assert_true(cluster_reserve(s->cluster, &second));
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	assert_int_equal(scene_verdict(s, "chat", "one"), PLACE_FITS);
}

/* "2" and "3" were chosen to go and are there still: whichever card train/low gets, these will do.
 */
static void what_was_chosen_counts_before_it_is_free(void **state)
{
	struct scene *s = *state;
	struct machine machine;
	struct cluster_hold hold = {.id = STR("r1"),
				    .tenant = STR("chat"),
				    .cards = 0x0c,
				    .tier = TIER_INFERENCE,
				    .namespace = STR("chat"),
				    .name = STR("pair"),
				    .uid = STR("pair"),
				    .since_us = NOW,
				    .until_us = UNTIL};

	take_all_but(s, &machine, 0x62); /* 1 of one NUMA node, 5 and 6 of the other */
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_HELD);
	hold.node = scene_node(s, "n");
	hold.pod = scene_pod(s, "chat", "pair");
	assert_true(cluster_reserve(s->cluster, &hold));
	assert_int_equal(scene_verdict(s, "train", "low"), PLACE_FITS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_comes_first_whom_kubelet_might_give_what_is_held),
		TEST(who_takes_what_is_left_in_any_case_may_come),
		TEST(what_is_about_to_be_gone_is_room_too),
		TEST(nor_before_one_that_kubelet_would_reject_then),
		TEST(nor_before_who_comes_in_place_of_a_pod_that_moves),
		TEST(where_it_is_lost_already_nobody_is_kept_away),
		TEST(who_is_assumed_to_be_there_is_not_reckoned_with_twice),
		TEST(each_room_that_is_held_counts),
		TEST(what_was_chosen_counts_before_it_is_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
