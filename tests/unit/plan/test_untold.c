/* SPDX-License-Identifier: Apache-2.0 */
/* Cards of which it is told soon whose they are: a plan that may take too many for it waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "lib/cards.h"
#include "lib/team.h"
#include "unit/plan/scene.h"

#define AGO(s) (NOW - (s)*USEC_PER_SEC)

/*
 * Node "n" of eight cards on two NUMA nodes, of which kubelet gives those of one, or none. Pods "0"
 * to "7" of tenant train have one card each, told by kubelet; "4" to "6" have run for so long that
 * three of the others cost less than one. "c" of tenant chat waits for two of one NUMA node.
 */
struct pod {
	const char *namespace, *name;
	int64_t gpus;
	bool waits;
	int64_t age_s;       /* since it was made, and kubelet began with it */
	int card;            /* that kubelet tells of; below 0: it tells nothing */
	int64_t deletion_us; /* 0: it stays */
};

static void tell_pod(struct scene *s, struct pod pod)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), pod.gpus);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = str_from(pod.namespace),
		.name = str_from(pod.name),
		.uid = str_from(pod.name),
		.created_us = AGO(pod.age_s),
		.node = pod.waits ? STR_NONE : STR("n"),
		.phase = pod.waits ? POD_PENDING : POD_RUNNING,
		.terminating = pod.deletion_us != 0,
		.deletion_us = pod.deletion_us,
		.containers = &container,
		.n_containers = 1,
		.alignment = {.guaranteed = true,
			      .whole_cpus = true,
			      .wished = pod.waits,
			      .policy = pod.waits ? TOPOLOGY_REQUIRED : TOPOLOGY_NONE},
		.exit = {.started_us = pod.waits ? 0 : AGO(pod.age_s)},
	};

	if (pod.card >= 0) {
		facts.device_ids = &s->machine.gpus[pod.card].uuid;
		facts.n_device_ids = 1;
	}
	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

static void train(struct scene *s, int card, int64_t age_s)
{
	static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7"};

	tell_pod(s, (struct pod){"train", names[card], 1, false, age_s, card, 0});
}

static int setup(void **state)
{
	struct scene *s = scene_new();

	machine_dgx_h100(&s->machine);
	s->machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, false, true};
	cards_add_node(s->cluster, 8,
		       (struct node_facts){.name = STR("n"),
					   .ready = NODE_READY,
					   .layout = &s->machine.layout});
	for (int card = 0; card < 8; card++)
		train(s, card, card < 4 || card == 7 ? 1000 : 900000);
	tell_pod(s, (struct pod){"chat", "c", 2, true, 100, -1, 0});
	*state = s;
	return 0;
}

static bool plan_of(struct scene *s, bool hasty)
{
	scene_ask(s, "c", 16);
	s->ask.hasty = hasty;
	scene_search(s);
	return scene_finish(s);
}

/* Nobody goes before that; where it is not waited for one goes too many. */
static void assert_waits_for(struct scene *s, const char *what)
{
	char words[128];

	assert_false(plan_of(s, false));
	assert_true(plan_in_doubt(s->plan));
	snprintf(words, sizeof(words), "on n fewer may be enough once %s", what);
	assert_string_equal(s->said, words);
	assert_true(plan_of(s, true));
	assert_int_equal(s->found.n_victims, 3);
}

static void assert_takes(struct scene *s, size_t victims)
{
	assert_true(plan_of(s, false));
	assert_false(plan_in_doubt(s->plan));
	assert_int_equal(s->found.n_victims, victims);
}

static void two_of_one_numa_node_are_enough(void **state)
{
	assert_takes(*state, 2);
}

static void what_kubelet_has_not_told_yet_is_waited_for(void **state)
{
	struct scene *s = *state;

	tell_pod(s, (struct pod){"train", "7", 1, false, 1, -1, 0});
	assert_waits_for(s, "it is told which cards pod train/7 has");
	train(s, 7, 1);
	assert_takes(s, 2);
}

static void what_it_does_not_tell_at_all_is_not_known(void **state)
{
	struct scene *s = *state;

	tell_pod(s, (struct pod){"train", "7", 1, false, 16, -1, 0});
	assert_takes(s, 3);
	/* With two of them any one may turn out to be in the way. */
	tell_pod(s, (struct pod){"train", "6", 1, false, 1, -1, 0});
	assert_false(plan_of(s, false));
	assert_true(plan_in_doubt(s->plan));
}

/* Of one that nothing is told of. */
static void one_that_is_about_to_be_gone_is_waited_for(void **state)
{
	struct scene *s = *state;

	tell_pod(s, (struct pod){"train", "7", 1, false, 1000, -1, NOW + 20 * USEC_PER_SEC});
	assert_waits_for(s, "pod train/7 is gone");
	tell_pod(s, (struct pod){"train", "7", 1, false, 1000, -1, AGO(14)});
	assert_waits_for(s, "pod train/7 is gone");
	/* Not one that takes its time, or takes more of it than it has. */
	tell_pod(s, (struct pod){"train", "7", 1, false, 1000, -1, NOW + 86400 * USEC_PER_SEC});
	assert_takes(s, 3);
	tell_pod(s, (struct pod){"train", "7", 1, false, 1000, -1, AGO(16)});
	assert_takes(s, 3);
}

/* It has its own, or nothing any more: two of the other NUMA node are enough, however long that
 * takes. */
static void what_one_on_its_way_out_has_is_known(void **state)
{
	struct scene *s = *state;

	tell_pod(s, (struct pod){"train", "7", 1, false, 1000, 7, NOW + 20 * USEC_PER_SEC});
	assert_takes(s, 2);
	tell_pod(s, (struct pod){"train", "7", 1, false, 1000, 7, NOW + 86400 * USEC_PER_SEC});
	assert_takes(s, 2);
}

/* "6" costs less than any other, and leaves two of its NUMA node only once "7" is gone. */
static void nor_is_it_free_before_it_is_gone(void **state)
{
	struct scene *s = *state;
	uint32_t of_other[3] = {scene_pod(s, "train", "1"), scene_pod(s, "train", "2"),
				scene_pod(s, "train", "3")};

	cluster_delete(s->cluster, CLUSTER_PODS, STR("train"), STR("0"));
	train(s, 6, 100);
	tell_pod(s, (struct pod){"train", "7", 1, false, 1000, 7, NOW + 86400 * USEC_PER_SEC});
	assert_takes(s, 1);
	assert_true(s->found.victims[0] == of_other[0] || s->found.victims[0] == of_other[1] ||
		    s->found.victims[0] == of_other[2]);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("train"), STR("7"));
	assert_takes(s, 1);
	assert_int_equal(s->found.victims[0], scene_pod(s, "train", "6"));
}

static void hold(struct scene *s, bool objective)
{
	const struct cluster_hold hold = {
		.id = STR("r"),
		.tenant = STR("chat"),
		.cards = 0x80,
		.node = cluster_node_find(s->cluster, STR("n")),
		.tier = TIER_INFERENCE,
		.namespace = STR("chat"),
		.name = STR("first"),
		.uid = STR("first"),
		.until_us = 2 * NOW,
		.pod = scene_pod(s, "chat", "first"),
		.objective = objective,
	};

	assert_true(cluster_reserve(s->cluster, &hold));
}

/* It gets one of whichever cards are free when it comes, not just those that were freed for it. */
static void one_that_room_is_held_for_is_waited_for(void **state)
{
	struct scene *s = *state;

	cluster_delete(s->cluster, CLUSTER_PODS, STR("train"), STR("7"));
	tell_pod(s, (struct pod){"chat", "first", 1, true, 100, -1, 0});
	hold(s, false);
	assert_waits_for(s, "it is told which cards pod chat/first has");
	tell_pod(s, (struct pod){"chat", "first", 1, false, 1, -1, 0});
	assert_waits_for(s, "it is told which cards pod chat/first has");
	tell_pod(s, (struct pod){"chat", "first", 1, false, 1, 7, 0});
	assert_takes(s, 2);
}

/* It would fit as it is, but not before the pair that room is held for: that comes first, and does.
 */
static void nobody_goes_for_one_that_fits_behind_another(void **state)
{
	static const char *const gone[] = {"2", "3", "7"};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		cluster_delete(s->cluster, CLUSTER_PODS, STR("train"), str_from(gone[i]));
	tell_pod(s, (struct pod){"chat", "first", 2, true, 100, -1, 0});
	tell_pod(s, (struct pod){"chat", "c", 1, true, 100, -1, 0});
	hold(s, false);
	assert_false(plan_of(s, false));
	assert_true(plan_in_doubt(s->plan));
	assert_string_equal(s->said, "on n fewer may be enough once it is told which cards pod "
				     "chat/first has");
	assert_true(plan_of(s, true));
	assert_int_equal(s->found.n_victims, 1);
	cluster_release_hold(s->cluster, STR("chat"), STR("r"));
	tell_pod(s, (struct pod){"chat", "first", 2, false, 1, -1, 0});
	assert_false(plan_of(s, false));
	assert_string_equal(s->said, "it fits on n with nobody gone");
}

/* Whom it is held for has its cards already, and it is for long. */
static void nobody_waits_for_the_end_of_an_observation(void **state)
{
	struct scene *s = *state;

	cluster_delete(s->cluster, CLUSTER_PODS, STR("train"), STR("7"));
	tell_pod(s, (struct pod){"chat", "first", 1, true, 100, -1, 0});
	hold(s, true);
	assert_takes(s, 3);
}

/* Whatever it has: what it leaves is enough with one of the others. */
static void room_that_comes_by_itself_is_waited_for(void **state)
{
	struct scene *s = *state;

	for (int card = 4; card < 7; card++)
		train(s, card, 100);
	tell_pod(s, (struct pod){"train", "7", 1, false, 1000, 7, NOW + 20 * USEC_PER_SEC});
	assert_false(plan_of(s, false));
	assert_string_equal(s->said, "on n fewer may be enough once pod train/7 is gone");
	cluster_delete(s->cluster, CLUSTER_PODS, STR("train"), STR("7"));
	assert_takes(s, 1);
}

/* Where those that go are near the one that is untold, two are enough wherever that is. */
static void nobody_waits_for_what_makes_no_difference(void **state)
{
	struct scene *s = *state;

	for (int card = 4; card < 7; card++)
		train(s, card, 100);
	tell_pod(s, (struct pod){"train", "7", 1, false, 1, -1, 0});
	assert_takes(s, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_of_one_numa_node_are_enough),
		TEST(what_kubelet_has_not_told_yet_is_waited_for),
		TEST(what_it_does_not_tell_at_all_is_not_known),
		TEST(one_that_is_about_to_be_gone_is_waited_for),
		TEST(what_one_on_its_way_out_has_is_known),
		TEST(nor_is_it_free_before_it_is_gone),
		TEST(one_that_room_is_held_for_is_waited_for),
		TEST(nobody_goes_for_one_that_fits_behind_another),
		TEST(room_that_comes_by_itself_is_waited_for),
		TEST(nobody_waits_for_the_end_of_an_observation),
		TEST(nobody_waits_for_what_makes_no_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
