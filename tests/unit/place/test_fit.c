/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a pod fits, what assumptions take away, and which node is better. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "lib/cards.h"
#include "lib/layouts.h"
#include "place/place.h"

#define UNTIL (1000 * USEC_PER_SEC)

/* Two nodes of two sockets with 8 cards each, a tenant that requires one NUMA node, another. */
struct scene {
	struct cluster *cluster;
	struct machine machine;
	struct place_memory memory;
	struct arena arena;
	struct placement_weights weights;
	struct place place;
};

static struct scene *scene_new(enum layout_policy kubelet)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&s->arena, 16 << 20);
	machine_dgx_h100(&s->machine);
	s->machine.layout.kubelet = (struct layout_kubelet){kubelet, false, true};
	return s;
}

static void scene_free(struct scene *s)
{
	place_memory_clear(&s->memory);
	cluster_free(s->cluster);
	arena_clear(&s->arena);
	test_free(s);
}

static void add_node(struct scene *s, const char *name, const struct layout *layout)
{
	cards_add_node(
		s->cluster, 8,
		(struct node_facts){.name = str_from(name), .ready = NODE_READY, .layout = layout});
}

static void add_namespace(struct scene *s, const char *name, const char *tenant)
{
	struct label label = {STR("team"), str_from(tenant)};
	struct namespace_facts facts = {
		.name = str_from(name), .uid = str_from(name), .labels = &label, .n_labels = 1};

	assert_int_equal(cluster_apply_namespace(s->cluster, &facts, NULL), 0);
}

struct pod {
	const char *name;
	int64_t gpus;
	const char *node; /* NULL: pending */
	enum topology_policy policy;
	bool burstable;
	struct str ids[8];
	size_t n_ids;
};

static void add_pod(struct scene *s, const struct pod *pod)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), pod->gpus);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = STR("a"),
		.name = str_from(pod->name),
		.uid = str_from(pod->name),
		.node = pod->node ? str_from(pod->node) : STR_NONE,
		.phase = pod->node ? POD_RUNNING : POD_PENDING,
		.containers = &container,
		.n_containers = 1,
		.alignment = {.guaranteed = !pod->burstable,
			      .whole_cpus = true,
			      .wished = pod->policy != TOPOLOGY_NONE,
			      .policy = pod->policy},
		.device_ids = pod->ids,
		.n_device_ids = pod->n_ids,
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

static void ask(struct scene *s, const char *pod)
{
	struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};
	struct cluster_ask asked;
	uint32_t handle = cluster_pod_find(s->cluster, STR("a"), str_from(pod), str_from(pod));

	assert_int_not_equal(handle, TABLE_NONE);
	cluster_ask_of_pod(s->cluster, handle, &asked);
	place_begin(&s->place, &tools, &asked);
}

static uint32_t node_of(const struct scene *s, const char *name)
{
	return cluster_node_find(s->cluster, str_from(name));
}

static void assert_answer(struct scene *s, const char *pod, const char *node, const char *text)
{
	struct buf said CLEANUP(buf_clear);
	struct place_answer found;

	buf_init(&said, 4096);
	ask(s, pod);
	found = place_fit(&s->place, node_of(s, node));
	place_describe(&s->place, found, &said);
	buf_add(&said, "", 1);
	assert_string_equal(said.data, text);
}

static void required_passes_where_kubelet_aligns(void **state)
{
	struct scene *s = scene_new(LAYOUT_POLICY_SINGLE_NUMA);

	(void)state;
	add_node(s, "n", &s->machine.layout);
	add_pod(s, &(struct pod){"four", 4, NULL, TOPOLOGY_REQUIRED, false, {{0}}, 0});
	add_pod(s, &(struct pod){"five", 5, NULL, TOPOLOGY_REQUIRED, false, {{0}}, 0});
	add_pod(s, &(struct pod){"loose", 2, NULL, TOPOLOGY_REQUIRED, true, {{0}}, 0});
	assert_answer(s, "four", "n", "");
	assert_answer(s, "five", "n",
		      "kubelet's topology manager would reject the pod: its NUMA nodes have too "
		      "few free cards, or CPUs beside them, each");
	assert_answer(s, "loose", "n",
		      "free cards lie in more than one NUMA node, and kubelet aligns only "
		      "Guaranteed pods: give all containers limits equal to requests for CPU and "
		      "memory");
	scene_free(s);
}

static void required_is_refused_where_cpus_may_be_elsewhere(void **state)
{
	struct scene *s = scene_new(LAYOUT_POLICY_NONE);

	(void)state;
	add_node(s, "n", &s->machine.layout);
	add_pod(s, &(struct pod){"one", 1, NULL, TOPOLOGY_REQUIRED, false, {{0}}, 0});
	add_pod(s, &(struct pod){"free", 1, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	assert_answer(s, "one", "n",
		      "kubelet may pin the pod to CPUs of another NUMA node than its cards: set "
		      "its topologyManagerPolicy to single-numa-node");
	assert_answer(s, "free", "n", "");
	scene_free(s);
}

static void an_unknown_layout_fits_all_but_required(void **state)
{
	struct scene *s = scene_new(LAYOUT_POLICY_SINGLE_NUMA);

	(void)state;
	add_node(s, "n", NULL);
	add_pod(s, &(struct pod){"one", 1, NULL, TOPOLOGY_REQUIRED, false, {{0}}, 0});
	add_pod(s, &(struct pod){"free", 1, NULL, TOPOLOGY_PREFERRED, false, {{0}}, 0});
	assert_answer(s, "one", "n", "its topology is not known (NotPublished)");
	assert_answer(s, "free", "n", "");
	scene_free(s);
}

/* The API's own counts say 8, and the layout knows of fewer cards than that. */
static void a_layout_with_too_few_cards_is_unknown(void **state)
{
	struct scene *s = scene_new(LAYOUT_POLICY_SINGLE_NUMA);
	struct layout less = s->machine.layout;

	(void)state;
	less.n_gpus = 7;
	less.n_links = 0;
	add_node(s, "n", &less);
	add_pod(s, &(struct pod){"one", 1, NULL, TOPOLOGY_REQUIRED, false, {{0}}, 0});
	assert_answer(s, "one", "n", "its topology is not known (Contradicts)");
	scene_free(s);
}

static void what_is_assumed_is_not_free(void **state)
{
	struct scene *s = scene_new(LAYOUT_POLICY_SINGLE_NUMA);
	int64_t next_us;

	(void)state;
	add_node(s, "n", &s->machine.layout);
	add_pod(s, &(struct pod){"first", 4, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	add_pod(s, &(struct pod){"second", 4, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	add_pod(s, &(struct pod){"third", 1, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	ask(s, "first");
	cluster_assume(s->cluster, s->place.ask.pod, node_of(s, "n"), 0x0f, UNTIL);
	ask(s, "second");
	assert_int_equal(place_cards(&s->place, node_of(s, "n")), 0xf0);
	cluster_assume(s->cluster, s->place.ask.pod, node_of(s, "n"), 0xf0, UNTIL + 1);
	assert_answer(s, "third", "n", "fewer than 1 nvidia.com/gpu are free");

	/* a watch that shows what was before takes nothing back */
	add_pod(s, &(struct pod){"first", 4, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	assert_answer(s, "third", "n", "fewer than 1 nvidia.com/gpu are free");
	/* one that shows it bound settles it: its time changes nothing any more */
	add_pod(s, &(struct pod){"first", 4, "n", TOPOLOGY_NONE, false, {{0}}, 0});
	assert_int_equal(cluster_assumptions(s->cluster), 1);
	cluster_expire_assumptions(s->cluster, UNTIL + 1, &next_us);
	assert_true(next_us == TIME_NEVER);
	assert_answer(s, "third", "n", "");
	assert_answer(s, "second", "n", "");
	scene_free(s);
}

/* Cards of which kubelet says whose they are do not stand in the way of certainty. */
static void seen_cards_are_left_out(void **state)
{
	struct scene *s = scene_new(LAYOUT_POLICY_SINGLE_NUMA);
	const struct layout_gpu *gpus = s->machine.gpus;

	(void)state;
	add_node(s, "n", &s->machine.layout);
	add_pod(s, &(struct pod){"held", 3, "n", TOPOLOGY_NONE, false, {{0}}, 0});
	add_pod(s, &(struct pod){"four", 4, NULL, TOPOLOGY_REQUIRED, false, {{0}}, 0});
	/* kubelet may have taken two from one node and one from the other */
	assert_answer(s, "four", "n",
		      "kubelet's topology manager may reject the pod: it is not known which cards "
		      "and CPUs the pods that came before it have, or which NUMA node the cards "
		      "lie in");
	add_pod(s, &(struct pod){"held",
				 3,
				 "n",
				 TOPOLOGY_NONE,
				 false,
				 {gpus[0].uuid, gpus[1].uuid, gpus[2].uuid},
				 3});
	assert_answer(s, "four", "n", "");
	ask(s, "four");
	assert_int_equal(place_cards(&s->place, node_of(s, "n")), 0xf0);
	scene_free(s);
}

static void the_quota_counts_what_is_bound(void **state)
{
	struct scene *s = scene_new(LAYOUT_POLICY_SINGLE_NUMA);
	struct quota_facts quota = {.namespace = STR("a"),
				    .name = STR("q"),
				    .uid = STR("q"),
				    .spec = {.gpu_memory = 320 * GIB,
					     .gpus = AMOUNT_NONE,
					     .pod_gpu_memory = AMOUNT_NONE,
					     .pod_gpus = AMOUNT_NONE}};

	(void)state;
	add_node(s, "n", &s->machine.layout);
	add_namespace(s, "a", "none");
	assert_int_equal(cluster_apply_quota(s->cluster, &quota, NULL), 0);
	add_pod(s, &(struct pod){"bound", 3, "n", TOPOLOGY_NONE, false, {{0}}, 0});
	add_pod(s, &(struct pod){"one", 1, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	add_pod(s, &(struct pod){"two", 2, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	cluster_refresh(s->cluster, cluster_namespace_find(s->cluster, STR("a")));
	assert_answer(s, "one", "n", "");
	assert_answer(s, "two", "n",
		      "The pod asks for 160Gi of GPU memory in its namespace, of which 240Gi of "
		      "320Gi are held.");
	/* what it holds itself while it is assumed to be there does not count against it */
	ask(s, "one");
	cluster_assume(s->cluster, s->place.ask.pod, node_of(s, "n"), 0x80, UNTIL);
	assert_answer(s, "one", "n", "");
	scene_free(s);
}

/* Nodes of forty kinds, in one question: what was said of the first is still known at the end. */
static void each_node_is_charged_by_its_own_cards(void **state)
{
	enum { KINDS = 40 };
	struct scene *s = scene_new(LAYOUT_POLICY_SINGLE_NUMA);
	struct quota_facts quota = {.namespace = STR("a"),
				    .name = STR("q"),
				    .uid = STR("q"),
				    .spec = {.gpu_memory = KINDS / 2 * GIB,
					     .gpus = AMOUNT_NONE,
					     .pod_gpu_memory = AMOUNT_NONE,
					     .pod_gpus = AMOUNT_NONE}};
	struct place_answer found[KINDS];
	char name[16], text[QUOTA_MESSAGE_SIZE];

	(void)state;
	add_namespace(s, "a", "none");
	assert_int_equal(cluster_apply_quota(s->cluster, &quota, NULL), 0);
	for (int i = 0; i < KINDS; i++) {
		struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
					     .product = STR("card"),
					     .unit_memory = (i + 1) * GIB,
					     .count = 8,
					     .allocatable = 8};
		struct node_facts facts = {.uid = STR("n"),
					   .offers = &offer,
					   .n_offers = 1,
					   .layout_state = LAYOUT_IS_ABSENT};

		snprintf(name, sizeof(name), "n%d", i);
		facts.name = str_from(name);
		assert_int_equal(cluster_apply_node(s->cluster, &facts, NULL), 0);
	}
	add_pod(s, &(struct pod){"one", 1, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	cluster_refresh(s->cluster, cluster_namespace_find(s->cluster, STR("a")));
	ask(s, "one");
	for (int i = 0; i < KINDS; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		found[i] = place_fit(&s->place, node_of(s, name));
	}
	for (int i = 0; i < KINDS; i++) {
		struct buf said CLEANUP(buf_clear);

		buf_init(&said, 4096);
		place_describe(&s->place, found[i], &said);
		buf_add(&said, "", 1);
		snprintf(text, sizeof(text),
			 "The pod asks for %dGi of GPU memory in its namespace, of which 0 of 20Gi "
			 "are held.",
			 i + 1);
		assert_string_equal(said.data, i < KINDS / 2 ? "" : text);
	}
	scene_free(s);
}

static void a_node_that_is_cut_anew_is_told_from_its_like(void **state)
{
	struct scene *s = scene_new(LAYOUT_POLICY_SINGLE_NUMA);
	struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
				     .product = STR("H100"),
				     .unit_memory = 80 * GIB,
				     .count = 8,
				     .allocatable = 8};
	struct node_facts facts = {.name = STR("cut"),
				   .uid = STR("cut"),
				   .offers = &offer,
				   .n_offers = 1,
				   .reconfiguring = true,
				   .layout_state = LAYOUT_IS_ABSENT};

	(void)state;
	add_node(s, "n", &s->machine.layout);
	assert_int_equal(cluster_apply_node(s->cluster, &facts, NULL), 0);
	add_pod(s, &(struct pod){"one", 1, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	ask(s, "one");
	assert_int_equal(place_fit(&s->place, node_of(s, "n")).verdict, PLACE_FITS);
	assert_int_equal(place_fit(&s->place, node_of(s, "cut")).verdict, PLACE_QUOTA);
	assert_int_equal(place_fit(&s->place, node_of(s, "n")).verdict, PLACE_FITS);
	scene_free(s);
}

/* More sorts of pods than are remembered, each asked about before another's answer is used up. */
static void a_question_goes_on_while_others_are_asked(void **state)
{
	enum { SORTS = 2 * PLACE_SHEETS };
	struct scene *s = scene_new(LAYOUT_POLICY_NONE);
	struct place *places = test_calloc(SORTS, sizeof(*places));
	char name[16];

	(void)state;
	add_node(s, "n", &s->machine.layout);
	add_node(s, "m", &s->machine.layout);
	add_pod(s, &(struct pod){"held", 3, "m", TOPOLOGY_NONE, false, {{0}}, 0});
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < SORTS; i++) {
			snprintf(name, sizeof(name), "pod-%d", i);
			add_pod(s,
				&(struct pod){name, i + 1, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
		}
		for (int i = 0; i < SORTS; i++) {
			snprintf(name, sizeof(name), "pod-%d", i);
			ask(s, name);
			places[i] = s->place;
			(void)place_fit(&places[i], node_of(s, "n"));
		}
		for (int i = 0; i < SORTS; i++) {
			assert_int_equal(place_fit(&places[i], node_of(s, "n")).verdict,
					 i < 8 ? PLACE_FITS : PLACE_TOO_FEW);
			assert_int_equal(place_fit(&places[i], node_of(s, "m")).verdict,
					 i < 5 ? PLACE_FITS : PLACE_TOO_FEW);
		}
	}
	test_free(places);
	scene_free(s);
}

/* What is known of a node's name or of a resource's may change without the node. */
static void what_was_said_is_forgotten_with_what_it_followed_from(void **state)
{
	struct scene *s = scene_new(LAYOUT_POLICY_SINGLE_NUMA);

	(void)state;
	add_node(s, "n", &s->machine.layout);
	add_pod(s, &(struct pod){"one", 1, NULL, TOPOLOGY_REQUIRED, false, {{0}}, 0});
	assert_answer(s, "one", "n", "");
	add_node(s, "n", NULL);
	assert_answer(s, "one", "n", "its topology is not known (NotPublished)");
	add_node(s, "n", &s->machine.layout);
	assert_answer(s, "one", "n", "");
	add_pod(s, &(struct pod){"all", 8, "n", TOPOLOGY_NONE, false, {{0}}, 0});
	assert_answer(s, "one", "n", "fewer than 1 nvidia.com/gpu are free");
	cluster_delete(s->cluster, CLUSTER_PODS, STR("a"), STR("all"));
	assert_answer(s, "one", "n", "");
	scene_free(s);
}

static void a_fuller_node_and_a_whole_set_are_better(void **state)
{
	struct scene *s = scene_new(LAYOUT_POLICY_BEST_EFFORT);
	const struct layout_gpu *gpus = s->machine.gpus;
	struct place_score full, empty;

	(void)state;
	add_node(s, "full", &s->machine.layout);
	add_node(s, "empty", &s->machine.layout);
	add_pod(s,
		&(struct pod){
			"held", 2, "full", TOPOLOGY_NONE, false, {gpus[0].uuid, gpus[1].uuid}, 2});
	add_pod(s, &(struct pod){"also held",
				 2,
				 "full",
				 TOPOLOGY_NONE,
				 false,
				 {gpus[2].uuid, gpus[3].uuid},
				 2});
	add_pod(s, &(struct pod){"two", 2, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	ask(s, "two");
	full = place_score(&s->place, node_of(s, "full"));
	empty = place_score(&s->place, node_of(s, "empty"));
	assert_int_equal(full.alignment, PLACE_TERM_MOST);
	assert_true(full.fragmentation > empty.fragmentation);
	assert_true(full.total > empty.total);
	/* six cards lie together on the empty node no more than on the full one */
	add_pod(s, &(struct pod){"six", 6, NULL, TOPOLOGY_NONE, false, {{0}}, 0});
	ask(s, "six");
	assert_int_equal(place_score(&s->place, node_of(s, "empty")).alignment, 0);
	scene_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(required_passes_where_kubelet_aligns),
		cmocka_unit_test(required_is_refused_where_cpus_may_be_elsewhere),
		cmocka_unit_test(an_unknown_layout_fits_all_but_required),
		cmocka_unit_test(a_layout_with_too_few_cards_is_unknown),
		cmocka_unit_test(what_is_assumed_is_not_free),
		cmocka_unit_test(a_question_goes_on_while_others_are_asked),
		cmocka_unit_test(what_was_said_is_forgotten_with_what_it_followed_from),
		cmocka_unit_test(seen_cards_are_left_out),
		cmocka_unit_test(the_quota_counts_what_is_bound),
		cmocka_unit_test(each_node_is_charged_by_its_own_cards),
		cmocka_unit_test(a_node_that_is_cut_anew_is_told_from_its_like),
		cmocka_unit_test(a_fuller_node_and_a_whole_set_are_better),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
