/* SPDX-License-Identifier: Apache-2.0 */
/* Who goes for its own doing, and who stays. */
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
#include "cluster/tenants/users.h"
#include "lib/layouts.h"
#include "lib/team.h"
#include "model/feedback.h"
#include "plan/own.h"

#define NOW  (1000000 * USEC_PER_SEC)
#define IDLE (1800 * USEC_PER_SEC)
#define BOTH (FEEDBACK_BIT(FEEDBACK_MEMORY) | FEEDBACK_BIT(FEEDBACK_UTILISATION))

#define PODS 4

struct pod {
	const char *namespace, *name;
	uint32_t card;
	int32_t sm_percent; /* -1: nothing tells */
	const char *gang;   /* NULL: none */
	bool crashes, daemon, unused, finished;
	int64_t age_s;  /* 0: an hour */
	uint32_t cards; /* from `card` on; 0: one */
};

/* One node of 8 cards, and its pods. */
struct scene {
	struct cluster *cluster;
	struct machine machine;
	struct pod pods[PODS];
	size_t n_pods;
	uint64_t version;
	struct plan_ask ask;
	struct own_found found;
};

static void add_node(struct scene *s)
{
	struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
				     .product = STR("H100"),
				     .unit_memory = 8 * GIB,
				     .count = 80,
				     .allocatable = 80,
				     .sharing = DEVICE_TIME_SLICED};
	struct node_facts facts = {.name = STR("n"),
				   .uid = STR("n"),
				   .ready = NODE_READY,
				   .offers = &offer,
				   .n_offers = 1,
				   .layout = &s->machine.layout,
				   .layout_state = LAYOUT_IS_KNOWN};

	assert_int_equal(cluster_apply_node(s->cluster, &facts, NULL), 0);
}

/* The agent is heard of, as of so long before NOW. */
static void hear(struct scene *s, int64_t ago_s)
{
	struct agent_facts agent = {.name = STR("gpuqos-agent-n"),
				    .holder = STR("n"),
				    .resource_version = ++s->version,
				    .renew_us = NOW - ago_s * USEC_PER_SEC,
				    .seen_us = NOW - ago_s * USEC_PER_SEC,
				    .duration_us = 40 * USEC_PER_SEC};

	assert_int_equal(cluster_apply_agent(s->cluster, &agent, NOW - ago_s * USEC_PER_SEC, NULL),
			 0);
}

/* And all the time from then on. */
static void hear_since(struct scene *s, int64_t ago_s)
{
	for (; ago_s > 1; ago_s -= 30)
		hear(s, ago_s);
	hear(s, 1);
}

static void lose(struct scene *s, int64_t ago_s)
{
	int64_t next_us;

	cluster_expire_agents(s->cluster, NOW - ago_s * USEC_PER_SEC, &next_us);
}

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	machine_pcie_box(&s->machine);
	add_node(s);
	team_add(s->cluster, "chat", TIER_INFERENCE);
	team_add(s->cluster, "train", TIER_TRAINING);
	s->ask = (struct plan_ask){
		.pod = TABLE_NONE,
		.own = true,
		.tier = TIER_TRAINING,
		.protection = PROTECTION_DEFAULT,
		.most = 16,
		.now_us = NOW,
		.now_real_us = NOW,
	};
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
		.phase = pod.finished ? POD_SUCCEEDED : POD_RUNNING,
		.containers = &container,
		.n_containers = 1,
		.owner_kind = pod.daemon ? STR("DaemonSet") : STR_NONE,
		.owner_name = pod.daemon ? STR("d") : STR_NONE,
		.crashes = {.waiting = pod.crashes},
		.exit = {.gang = pod.gang ? GANG_KUEUE : GANG_NONE,
			 .gang_name = pod.gang ? str_from(pod.gang) : STR_NONE},
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
	s->pods[s->n_pods++] = pod;
}

/* What the agent wrote, so long before NOW. */
static void tell(struct scene *s, int64_t ago_s)
{
	struct str cards[PODS][2];
	struct gpu_node_pod pods[PODS];
	struct gpu_node_use uses[PODS];
	struct gpu_node_facts facts = {.name = STR("n"),
				       .resource_version = ++s->version,
				       .pods = pods,
				       .n_pods = s->n_pods,
				       .uses = uses};

	for (size_t i = 0; i < s->n_pods; i++) {
		const struct pod *pod = &s->pods[i];

		cards[i][0] = s->machine.gpus[pod->card].pci;
		cards[i][1] = s->machine.gpus[(pod->card + 1) % 8].pci;
		pods[i] = (struct gpu_node_pod){.namespace = str_from(pod->namespace),
						.name = str_from(pod->name),
						.cards = cards[i],
						.n_cards = pod->cards ? pod->cards : 1};
		if (!pod->unused)
			uses[facts.n_uses++] = (struct gpu_node_use){
				.card = cards[i][0],
				.uid = str_from(pod->name),
				.memory = 20 * GIB,
				.pcie = AMOUNT_UNKNOWN,
				.sm_percent = pod->sm_percent,
			};
	}
	assert_int_equal(
		cluster_apply_gpu_node(s->cluster, &facts, NOW - ago_s * USEC_PER_SEC, NULL), 0);
	team_refresh(s->cluster);
}

static uint32_t pod_of(const struct scene *s, const char *namespace, const char *name)
{
	return cluster_pod_find(s->cluster, str_from(namespace), str_from(name), str_from(name));
}

static struct own_view view_of(const struct scene *s)
{
	return (struct own_view){s->cluster, &s->ask,
				 cluster_tenant_find(s->cluster, STR("train"))};
}

/* --- the offender */

static enum own_verdict offender(struct scene *s, uint32_t signals)
{
	struct own_view view = view_of(s);

	own_offender(&view, pod_of(s, "train", "greedy"), signals, &s->found);
	return s->found.verdict;
}

static const struct pod greedy = {.namespace = "train", .name = "greedy", .sm_percent = 90},
			crashing = {.namespace = "chat",
				    .name = "web",
				    .sm_percent = 10,
				    .crashes = true};

static void who_makes_another_tenant_suffer_goes_alone(void **state)
{
	struct scene *s = *state;

	add_pod(s, greedy);
	add_pod(s, crashing);
	add_pod(s, (struct pod){.namespace = "train", .name = "other", .sm_percent = 90});
	hear(s, 5);
	tell(s, 5);
	assert_int_equal(offender(s, BOTH), OWN_GO);
	assert_int_equal(s->found.n, 1);
	assert_int_equal(s->found.pods[0], pod_of(s, "train", "greedy"));
	assert_int_equal(s->found.sufferer, pod_of(s, "chat", "web"));
}

static void what_is_not_proven_of_it_lets_it_stay(void **state)
{
	struct scene *s = *state;
	struct own_view view = view_of(s);

	add_pod(s, greedy);
	add_pod(s, crashing);
	own_offender(&view, TABLE_NONE, BOTH, &s->found);
	assert_int_equal(s->found.verdict, OWN_NOBODY);
	/* nothing is told of it */
	assert_int_equal(offender(s, BOTH), OWN_UNPROVEN);
	hear(s, 61);
	tell(s, 61);
	assert_int_equal(offender(s, BOTH), OWN_UNPROVEN); /* it is of long ago */
	hear(s, 1);
	assert_int_equal(offender(s, BOTH), OWN_GO);
	assert_int_equal(offender(s, FEEDBACK_BIT(FEEDBACK_MEMORY)), OWN_UNPROVEN);
	lose(s, -50);
	assert_int_equal(offender(s, BOTH), OWN_UNPROVEN); /* its agent is gone */
}

static void nobody_goes_where_nobody_suffers(void **state)
{
	static const struct {
		const char *what;
		struct pod other;
		enum own_verdict verdict;
	} cases[] = {
		{"it runs well", {.namespace = "chat", .name = "web"}, OWN_NOBODY_SUFFERS},
		{"it is on another card",
		 {.namespace = "chat", .name = "web", .card = 1, .crashes = true},
		 OWN_NOT_SHARED},
		{"it is of the same tenant",
		 {.namespace = "train", .name = "web", .crashes = true},
		 OWN_NOT_SHARED},
		{"it is of no tenant",
		 {.namespace = "nobody", .name = "web", .crashes = true},
		 OWN_NOT_SHARED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene *s;

		teardown(state);
		setup(state);
		s = *state;
		add_pod(s, greedy);
		add_pod(s, cases[i].other);
		hear(s, 1);
		tell(s, 1);
		if (offender(s, BOTH) != cases[i].verdict)
			fail_msg("%s: %s", cases[i].what, own_text(&s->found));
	}
}

static void a_bad_objective_is_suffering_too(void **state)
{
	static const struct objective_spec latency = {.name = {"latency", 7},
						      .preset = PRESET_TGI_REQUEST,
						      .percentile = 95,
						      .threshold = 200000,
						      .for_us = 5 * USEC_PER_SEC};
	struct scene *s = *state;
	struct str value = STR("chat");
	struct label_requirement requirement = {STR("team"), LABEL_IN, &value, 1};
	struct tenant_facts facts = {.name = value,
				     .uid = value,
				     .resource_version = 9,
				     .spec = {.namespaces = {&requirement, 1},
					      .tier = TIER_INFERENCE,
					      .ceiling = AMOUNT_NONE,
					      .ceiling_gpus = AMOUNT_NONE,
					      .objectives = &latency,
					      .n_objectives = 1}};
	uint32_t chat = cluster_tenant_find(s->cluster, value);

	assert_int_equal(cluster_apply_tenant(s->cluster, &facts, NULL), 0);
	add_pod(s, greedy);
	add_pod(s, (struct pod){.namespace = "chat", .name = "web"});
	add_pod(s, (struct pod){.namespace = "chat", .name = "far", .card = 4});
	hear(s, 1);
	tell(s, 1);
	for (int far = 1; far >= 0; far--)
		for (int i = 0; i < 12; i++) {
			struct slo_moment moment = {NOW + (1 - far) * 60 * USEC_PER_SEC +
							    i * USEC_PER_SEC,
						    NOW + i * USEC_PER_SEC, USEC_PER_SEC};
			struct slo_point point = {
				.value = 0.9,
				.sum = 1,
				.at_us = moment.real_us,
				.pod = cluster_point_pod(s->cluster, value,
							 far ? STR("far") : STR("web"))};
			struct slo_reading reading = {.points = &point, .n_points = 1};

			cluster_take_reading(s->cluster, chat, 0, &reading, &moment);
			if (i == 11)
				assert_int_equal(offender(s, BOTH),
						 far ? OWN_NOBODY_SUFFERS : OWN_GO);
		}
	assert_true(str_equal(s->found.objective, STR("latency")));
}

static void who_may_not_go_stays(void **state)
{
	struct scene *s = *state;
	struct pod pod = greedy;

	add_pod(s, crashing);
	pod.age_s = 10;
	add_pod(s, pod);
	hear(s, 1);
	tell(s, 1);
	assert_int_equal(offender(s, BOTH), OWN_EXEMPT);
	assert_int_equal(s->found.exemption, PLAN_YOUNG);
	teardown(state);
	setup(state);
	s = *state;
	add_pod(s, crashing);
	pod = greedy;
	pod.daemon = true;
	add_pod(s, pod);
	hear(s, 1);
	tell(s, 1);
	assert_int_equal(offender(s, BOTH), OWN_EXEMPT);
	assert_string_equal(own_text(&s->found), "it is a DaemonSet's");
}

static void a_gang_goes_whole_or_not_at_all(void **state)
{
	struct scene *s = *state;
	struct pod first = greedy, second = greedy;

	first.gang = second.gang = "g";
	second.name = "second";
	second.card = 3;
	add_pod(s, crashing);
	add_pod(s, first);
	add_pod(s, second);
	hear(s, 1);
	tell(s, 1);
	assert_int_equal(offender(s, BOTH), OWN_GO);
	assert_int_equal(s->found.n, 2);
	s->ask.most = 1;
	assert_int_equal(offender(s, BOTH), OWN_LIMITED);
}

static void one_of_a_gang_that_has_ended_keeps_nobody_there(void **state)
{
	struct scene *s = *state;
	struct pod first = greedy, over = greedy;

	first.gang = over.gang = "g";
	over.name = "over";
	over.card = 3;
	over.finished = over.unused = true;
	add_pod(s, crashing);
	add_pod(s, first);
	add_pod(s, over);
	hear(s, 1);
	tell(s, 1);
	assert_int_equal(offender(s, BOTH), OWN_GO);
	assert_int_equal(s->found.n, 1);
}

/* --- the idle */

static enum own_verdict idle(struct scene *s)
{
	struct own_view view = view_of(s);

	own_idle(&view, IDLE, &s->found);
	return s->found.verdict;
}

static const struct pod lazy = {.namespace = "train", .name = "lazy"};

static void who_does_nothing_for_so_long_goes(void **state)
{
	struct scene *s = *state;

	add_pod(s, lazy);
	hear(s, 1900);
	tell(s, 1900);
	hear_since(s, 1890);
	assert_int_equal(idle(s), OWN_GO);
	assert_int_equal(s->found.n, 1);
	s->ask.now_us = NOW - 200 * USEC_PER_SEC;
	assert_int_equal(idle(s), OWN_NOBODY); /* not for so long yet */
	s->ask.now_us = NOW + 61 * USEC_PER_SEC;
	assert_int_equal(idle(s), OWN_NOBODY); /* nothing was heard since */
}

static void what_is_not_known_is_not_idle(void **state)
{
	struct pod unknown = lazy, elsewhere = lazy, unused = lazy;
	const struct pod *cases[] = {&unknown, &elsewhere, &unused};

	unknown.sm_percent = -1;
	elsewhere.cards = 2; /* of one of them nothing is told */
	unused.unused = true;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene *s;

		teardown(state);
		setup(state);
		s = *state;
		add_pod(s, *cases[i]);
		hear(s, 1900);
		tell(s, 1900);
		hear_since(s, 1890);
		assert_int_equal(idle(s), OWN_NOBODY);
	}
}

static void work_in_between_begins_it_anew(void **state)
{
	struct scene *s = *state;

	add_pod(s, lazy);
	hear(s, 4000);
	tell(s, 4000);
	s->pods[0].sm_percent = 10;
	tell(s, 1500);
	s->pods[0].sm_percent = 0;
	tell(s, 1490);
	hear_since(s, 3990);
	assert_int_equal(idle(s), OWN_NOBODY);
}

static void an_agent_that_was_away_has_seen_nothing(void **state)
{
	struct scene *s = *state;

	add_pod(s, lazy);
	hear(s, 4000);
	tell(s, 4000);
	lose(s, 1500);
	hear_since(s, 1400);
	assert_int_equal(idle(s), OWN_NOBODY);
}

static void figures_that_were_not_seen_for_a_while_are_no_proof(void **state)
{
	struct scene *s = *state;

	add_pod(s, lazy);
	hear(s, 4000);
	tell(s, 4000);
	hear(s, 1500); /* its Lease went on, say; what it tells did not */
	hear_since(s, 1400);
	assert_int_equal(idle(s), OWN_NOBODY);
}

static void a_gang_is_idle_where_all_of_it_is(void **state)
{
	struct scene *s = *state;
	struct pod first = lazy, second = lazy;

	first.gang = second.gang = "g";
	second.name = "second";
	second.sm_percent = 50;
	add_pod(s, first);
	add_pod(s, second);
	hear(s, 4000);
	tell(s, 4000);
	hear_since(s, 3990);
	assert_int_equal(idle(s), OWN_GANG_BUSY);
	s->pods[1].sm_percent = 0;
	tell(s, 2000);
	assert_int_equal(idle(s), OWN_GO);
	assert_int_equal(s->found.n, 2);
}

static void who_is_idle_longest_goes_first(void **state)
{
	struct scene *s = *state;
	struct pod late = lazy;

	late.name = "alate";
	late.card = 2;
	late.sm_percent = 10;
	add_pod(s, late);
	add_pod(s, lazy);
	hear(s, 4000);
	tell(s, 4000);
	s->pods[0].sm_percent = 0;
	tell(s, 3000);
	hear_since(s, 3990);
	assert_int_equal(idle(s), OWN_GO);
	assert_int_equal(s->found.pod, pod_of(s, "train", "lazy"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(who_makes_another_tenant_suffer_goes_alone),
		TEST(what_is_not_proven_of_it_lets_it_stay),
		TEST(nobody_goes_where_nobody_suffers),
		TEST(a_bad_objective_is_suffering_too),
		TEST(who_may_not_go_stays),
		TEST(a_gang_goes_whole_or_not_at_all),
		TEST(one_of_a_gang_that_has_ended_keeps_nobody_there),
		TEST(who_does_nothing_for_so_long_goes),
		TEST(what_is_not_known_is_not_idle),
		TEST(work_in_between_begins_it_anew),
		TEST(an_agent_that_was_away_has_seen_nothing),
		TEST(figures_that_were_not_seen_for_a_while_are_no_proof),
		TEST(a_gang_is_idle_where_all_of_it_is),
		TEST(who_is_idle_longest_goes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
