/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of the cards that a pod was given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/macros.h"
#include "cluster/cluster.h"
#include "cluster/tenants/tenants.h"
#include "lib/layouts.h"
#include "place/check.h"

#define CARDS(a, b) (UINT64_C(1) << (a) | UINT64_C(1) << (b))

enum wires { KNOWN, NO_LAYOUT, NO_NUMA };

struct row {
	const char *sentence;
	enum topology_check check;
	enum topology_policy policy;
	enum layout_scope scope;
	uint64_t cards, assumed, numas;
	uint32_t others, asked;
	enum wires wires;
	bool ignored, starting, finished;
};

/* A DGX H100: cards 0 to 3 on the first socket, each below a switch of its own, NVLink all over. */
static const struct row rows[] = {
	{"two cards of one socket lie as asked", CHECK_AS_ASKED, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = CARDS(0, 3)},
	{"two cards of two sockets do not", CHECK_SPANS, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = CARDS(3, 4)},
	{"nor under Preferred", CHECK_SPANS, TOPOLOGY_PREFERRED, LAYOUT_NUMA, .cards = CARDS(3, 4)},
	{"but NVSwitches join them", CHECK_AS_ASKED, TOPOLOGY_REQUIRED, LAYOUT_NVLINK,
	 .cards = CARDS(3, 4)},
	{"of two switches", CHECK_SPANS, TOPOLOGY_REQUIRED, LAYOUT_PCIE_SWITCH,
	 .cards = CARDS(0, 1)},
	{"nothing is asked", CHECK_UNCHECKED, TOPOLOGY_NONE, LAYOUT_NUMA, .cards = CARDS(3, 4)},
	{"a mismatch is nobody's concern", CHECK_UNCHECKED, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = CARDS(3, 4), .ignored = true},
	{"a finished pod has nothing", CHECK_UNCHECKED, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = CARDS(3, 4), .finished = true},
	{"one that starts has nothing yet", CHECK_UNCHECKED, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .asked = 2, .starting = true},
	{"or is seen to have it before it runs", CHECK_SPANS, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = CARDS(3, 4), .starting = true},
	{"kubelet does not tell", CHECK_UNKNOWN, TOPOLOGY_REQUIRED, LAYOUT_NUMA, .asked = 2},
	{"nor need it, of one card", CHECK_AS_ASKED, TOPOLOGY_REQUIRED, LAYOUT_NUMA, .asked = 1},
	{"the layout is not known", CHECK_UNKNOWN, TOPOLOGY_REQUIRED, LAYOUT_NUMA, .others = 2,
	 .asked = 2, .wires = NO_LAYOUT},
	{"nor need it be, of one card", CHECK_AS_ASKED, TOPOLOGY_REQUIRED, LAYOUT_NUMA, .others = 1,
	 .asked = 1, .wires = NO_LAYOUT},
	{"the layout does not say which socket", CHECK_UNKNOWN, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = CARDS(0, 3), .wires = NO_NUMA},
	{"a part of some card beside", CHECK_UNKNOWN, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = CARDS(0, 3), .others = 1},
	{"what spans does so, whatever else is there", CHECK_SPANS, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = CARDS(3, 4), .others = 1},
	{"cards as chosen", CHECK_AS_ASKED, TOPOLOGY_REQUIRED, LAYOUT_NUMA, .cards = CARDS(0, 3),
	 .assumed = CARDS(0, 3)},
	{"others than were chosen", CHECK_OTHER_CARDS, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = CARDS(0, 3), .assumed = CARDS(0, 1)},
	{"others that span", CHECK_SPANS, TOPOLOGY_REQUIRED, LAYOUT_NUMA, .cards = CARDS(0, 7),
	 .assumed = CARDS(0, 1)},
	{"CPUs beside the card", CHECK_AS_ASKED, TOPOLOGY_REQUIRED, LAYOUT_NUMA, .cards = 16,
	 .numas = 2},
	{"CPUs on the other socket", CHECK_CPUS_APART, TOPOLOGY_REQUIRED, LAYOUT_NUMA, .cards = 16,
	 .numas = 1},
	{"CPUs on both sockets", CHECK_CPUS_APART, TOPOLOGY_PREFERRED, LAYOUT_NUMA, .cards = 16,
	 .numas = 3, .asked = 1},
	{"no scope but NUMA asks for CPUs", CHECK_AS_ASKED, TOPOLOGY_REQUIRED, LAYOUT_NVLINK,
	 .cards = 16, .numas = 1},
	{"cards that span, whatever CPUs", CHECK_SPANS, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = CARDS(3, 4), .numas = 3},
	{"CPUs elsewhere, and other cards than were chosen", CHECK_CPUS_APART, TOPOLOGY_REQUIRED,
	 LAYOUT_NUMA, .cards = 16, .assumed = 32, .numas = 1},
	{"nobody knows where the card is", CHECK_AS_ASKED, TOPOLOGY_REQUIRED, LAYOUT_NUMA,
	 .cards = 16, .numas = 1, .wires = NO_NUMA},
	{"one other card", CHECK_OTHER_CARDS, TOPOLOGY_REQUIRED, LAYOUT_NUMA, .cards = 1,
	 .assumed = 2},
};

static void cards_are_checked(void **state)
{
	static struct machine machine, vague;
	struct topo *known, *unknown;

	(void)state;
	machine_dgx_h100(&machine);
	machine_unknown(&vague, 8);
	known = topo_new(&machine.layout);
	unknown = topo_new(&vague.layout);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		const struct cluster_held held = {
			.topo = row->wires == KNOWN     ? known
				: row->wires == NO_NUMA ? unknown
							: NULL,
			.topology = {row->policy, row->scope,
				     row->ignored ? MISMATCH_IGNORE : MISMATCH_ALERT},
			.cards = row->cards,
			.numas = row->numas,
			.others = row->others,
			.asked = row->asked,
			.assumed = row->assumed,
			.running = !row->starting,
			.finished = row->finished,
		};

		if (place_check(&held) != row->check)
			fail_msg("%s: %d, not %d", row->sentence, place_check(&held), row->check);
	}
	topo_free(known);
	topo_free(unknown);
}

/* --- over a cluster */

struct scene {
	struct cluster *cluster;
	struct machine machine;
	uint64_t version;
};

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	machine_dgx_h100(&s->machine);
	s->machine.layout.writer = STR("test");
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	cluster_free(s->cluster);
	test_free(s);
	return 0;
}

static void tell_node(struct scene *s, const struct layout *layout)
{
	const struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
					   .product = STR("H100"),
					   .unit_memory = 80 * GIB,
					   .count = 8,
					   .allocatable = 8,
					   .sharing = DEVICE_WHOLE};
	const struct node_facts facts = {.name = STR("n"),
					 .uid = STR("n"),
					 .resource_version = ++s->version,
					 .ready = NODE_READY,
					 .offers = &offer,
					 .n_offers = 1,
					 .layout = layout,
					 .layout_state =
						 layout ? LAYOUT_IS_KNOWN : LAYOUT_IS_ABSENT};

	assert_int_equal(cluster_apply_node(s->cluster, &facts, NULL), 0);
}

static void tell_tenant(struct scene *s, const char *name, enum topology_policy policy)
{
	static struct str value;
	struct label_requirement by_team = {STR("team"), LABEL_IN, &value, 1};
	const struct tenant_facts facts = {
		.name = str_from(name),
		.uid = str_from(name),
		.resource_version = ++s->version,
		.spec = {.namespaces = {&by_team, 1},
			 .ceiling = AMOUNT_NONE,
			 .ceiling_gpus = AMOUNT_NONE,
			 .topology = {policy, LAYOUT_NUMA, MISMATCH_ALERT}},
	};

	value = str_from(name);
	assert_int_equal(cluster_apply_tenant(s->cluster, &facts, NULL), 0);
}

static void tell_namespace(struct scene *s, const char *team)
{
	struct label label = {STR("team"), str_from(team)};
	const struct namespace_facts facts = {.name = STR("a"),
					      .uid = STR("a"),
					      .resource_version = ++s->version,
					      .labels = &label,
					      .n_labels = 1};

	assert_int_equal(cluster_apply_namespace(s->cluster, &facts, NULL), 0);
}

/* It was given cards @a and @b; the same: kubelet does not tell. */
static void tell_pod(struct scene *s, const char *name, uint32_t a, uint32_t b,
		     enum pod_phase phase)
{
	const struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 2);
	const struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	const struct str ids[] = {s->machine.gpus[a].uuid, s->machine.gpus[b].uuid};
	const struct pod_facts facts = {.namespace = STR("a"),
					.name = str_from(name),
					.uid = str_from(name),
					.resource_version = ++s->version,
					.node = STR("n"),
					.phase = phase,
					.containers = &container,
					.n_containers = 1,
					.device_ids = ids,
					.n_device_ids = a == b ? 0 : 2};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

/* All that is to be looked at; how many pods were news to people. */
static uint32_t look(struct scene *s)
{
	uint32_t node, news = 0;

	while (cluster_take_node(s->cluster, &node))
		for (uint32_t pod = cluster_node_pod(s->cluster, node); pod != UINT32_MAX;
		     pod = cluster_node_pod_next(s->cluster, pod)) {
			struct cluster_held held = cluster_held(s->cluster, pod);
			enum topology_check check = place_check(&held);

			cluster_set_check(s->cluster, pod, &held.topology, check);
			news += check == CHECK_SPANS && cluster_tell_check(s->cluster, pod);
		}
	return news;
}

static struct tenant_lookup view(struct scene *s, const char *tenant, struct arena *arena)
{
	struct tenant_lookup lookup;
	uint32_t key;

	look(s);
	while (cluster_take_dirty_tenant(s->cluster, &key))
		;
	assert_int_equal(cluster_tenant_view(s->cluster,
					     cluster_tenant_find(s->cluster, str_from(tenant)),
					     arena, &lookup, NULL),
			 0);
	return lookup;
}

/* Of a tenant: pods that were checked, that span, that are not known. The policy is Required. */
static void assert_counts(struct scene *s, const char *tenant, uint32_t pods, uint32_t spans,
			  uint32_t unknown)
{
	CLEANUP(arena_clear) struct arena arena = {0};
	struct tenant_lookup lookup;
	const struct topology_count *of;

	arena_init(&arena, 1 << 20);
	lookup = view(s, tenant, &arena);
	of = &lookup.topology.of[TOPOLOGY_REQUIRED];
	assert_int_equal(of->pods, pods);
	assert_int_equal(topology_count_spans(of), spans);
	assert_int_equal(of->unknown, unknown);
	assert_int_equal(!str_empty(lookup.mismatch_pod), spans > 0);
}

static void scene(struct scene *s)
{
	tell_tenant(s, "red", TOPOLOGY_REQUIRED);
	tell_tenant(s, "blue", TOPOLOGY_NONE);
	tell_namespace(s, "red");
	tell_node(s, &s->machine.layout);
}

static void pods_are_counted_for_their_tenant(void **state)
{
	struct scene *s = *state;

	scene(s);
	tell_pod(s, "good", 0, 1, POD_RUNNING);
	tell_pod(s, "bad", 3, 4, POD_RUNNING);
	tell_pod(s, "worse", 2, 5, POD_RUNNING);
	assert_counts(s, "red", 3, 2, 0);
	assert_counts(s, "blue", 0, 0, 0);
	tell_pod(s, "bad", 3, 4, POD_SUCCEEDED);
	assert_counts(s, "red", 2, 1, 0);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("a"), STR("worse"));
	assert_counts(s, "red", 1, 0, 0);
}

static void what_is_asked_may_change(void **state)
{
	struct scene *s = *state;

	scene(s);
	tell_pod(s, "bad", 3, 4, POD_RUNNING);
	assert_counts(s, "red", 1, 1, 0);
	tell_tenant(s, "red", TOPOLOGY_NONE);
	assert_counts(s, "red", 0, 0, 0);
	tell_tenant(s, "red", TOPOLOGY_REQUIRED);
	assert_counts(s, "red", 1, 1, 0);
	tell_namespace(s, "blue");
	assert_counts(s, "red", 0, 0, 0);
	assert_counts(s, "blue", 0, 0, 0);
}

static void what_is_known_of_the_node_may_change(void **state)
{
	struct scene *s = *state;

	scene(s);
	tell_node(s, NULL);
	tell_pod(s, "bad", 3, 4, POD_RUNNING);
	assert_counts(s, "red", 1, 0, 1);
	tell_node(s, &s->machine.layout);
	assert_counts(s, "red", 1, 1, 0);
}

static void one_that_begins_to_run_is_looked_at(void **state)
{
	struct scene *s = *state;

	scene(s);
	tell_pod(s, "dark", 0, 0, POD_PENDING);
	assert_counts(s, "red", 0, 0, 0);
	tell_pod(s, "dark", 0, 0, POD_RUNNING);
	assert_counts(s, "red", 1, 0, 1);
	tell_pod(s, "dark", 0, 1, POD_RUNNING);
	assert_counts(s, "red", 1, 0, 0);
}

static void a_mismatch_is_news_once(void **state)
{
	struct scene *s = *state;

	scene(s);
	tell_pod(s, "bad", 3, 4, POD_RUNNING);
	assert_int_equal(look(s), 1);
	tell_pod(s, "bad", 3, 4, POD_RUNNING);
	tell_node(s, NULL);
	assert_int_equal(look(s), 0);
	tell_node(s, &s->machine.layout);
	assert_int_equal(look(s), 0);
	cluster_look_again(s->cluster);
	assert_int_equal(look(s), 1);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("a"), STR("bad"));
	tell_pod(s, "bad", 3, 4, POD_RUNNING);
	assert_int_equal(look(s), 1);
}

static void a_tenant_is_dirty_only_where_counts_change(void **state)
{
	struct scene *s = *state;
	uint32_t key;

	scene(s);
	tell_pod(s, "bad", 3, 4, POD_RUNNING);
	assert_counts(s, "red", 1, 1, 0);
	tell_pod(s, "bad", 3, 4, POD_RUNNING);
	tell_pod(s, "bad", 2, 4, POD_RUNNING);
	look(s);
	assert_false(cluster_take_dirty_tenant(s->cluster, &key));
	tell_pod(s, "bad", 2, 3, POD_RUNNING);
	look(s);
	assert_true(cluster_take_dirty_tenant(s->cluster, &key));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cards_are_checked),
		CASE(pods_are_counted_for_their_tenant),
		CASE(what_is_asked_may_change),
		CASE(what_is_known_of_the_node_may_change),
		CASE(one_that_begins_to_run_is_looked_at),
		CASE(a_mismatch_is_news_once),
		CASE(a_tenant_is_dirty_only_where_counts_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
