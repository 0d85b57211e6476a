/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of exporters: whose they are, and when they are nobody's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/mem.h"
#include "base/table.h"
#include "cluster/nodes/agents.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/nodes/series.h"
#include "cluster/placing/placement.h"
#include "cluster/read.h"
#include "lib/layouts.h"
#include "pod_world.h"

#define SECOND  USEC_PER_SEC
#define NOW_US  (1000 * SECOND)
#define REAL_US (1800000000 * SECOND)
#define OTHER   "22222222-2222-3333-4444-555555555555"

struct world {
	struct cluster *c;
	struct machine machine;
	uint64_t version;
};

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	const struct hash_key key = {1, 2};

	w->c = cluster_new(&key);
	machine_dgx_h100(&w->machine);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	cluster_free(w->c);
	mem_free(w);
	return 0;
}

/* --- what happens */

static void node(struct world *w, struct str name, struct device_offer offer)
{
	struct node_facts facts = node_facts();

	facts.name = name;
	facts.uid = name;
	facts.resource_version = ++w->version;
	facts.layout = &w->machine.layout;
	facts.layout_state = LAYOUT_IS_KNOWN;
	facts.offers = &offer;
	apply_node(w->c, facts);
}

static struct device_offer time_sliced(void)
{
	struct device_offer offer = h100;

	offer.sharing = DEVICE_TIME_SLICED;
	offer.unit_memory = 20 * GIB;
	offer.count = offer.allocatable = 32;
	return offer;
}

/* A pod that has run for two minutes, and has card @card, as its status tells; 8 of them: it tells
 * nothing. */
static void pod(struct world *w, const char *name, const char *uid, size_t card)
{
	struct pod_facts facts = pod_facts();

	facts.name = str_from(name);
	facts.uid = str_from(uid);
	facts.resource_version = ++w->version;
	facts.exit.started_us = REAL_US - 120 * SECOND;
	facts.device_ids = &w->machine.gpus[card % 8].uuid;
	facts.n_device_ids = card < 8;
	apply_pod(w->c, facts);
}

static const struct series_moment now = {NOW_US, REAL_US};

static void tell_card(struct world *w, enum device_series series, size_t card, int64_t value,
		      int64_t age_us)
{
	const struct device_figure figure = {
		.card = w->machine.gpus[card].uuid, .cards = 1, .value = value, .age_us = age_us};

	cluster_take_series(w->c, series, &figure, 1, &now);
}

static void tell_pod(struct world *w, enum device_series series, uint32_t cards, int64_t value)
{
	const struct device_figure figure = {
		.namespace = STR("a"), .pod = STR("p"), .cards = cards, .value = value};

	cluster_take_series(w->c, series, &figure, 1, &now);
}

static struct cluster_usage usage(const struct world *w)
{
	return cluster_pod_usage(w->c, cluster_pod_find(w->c, STR("a"), STR("p"), STR(POD_UID)));
}

static void assert_nothing(struct cluster_usage u)
{
	assert_int_equal(u.memory, AMOUNT_UNKNOWN);
	assert_int_equal(u.pcie, AMOUNT_UNKNOWN);
	assert_int_equal(u.sm_percent, -1);
}

static void assert_shared(struct cluster_usage u, enum usage_source source)
{
	assert_nothing(u);
	assert_true(u.shared);
	assert_int_equal(u.source, source);
	assert_int_not_equal(u.cards, 0);
}

static void assert_untold(struct cluster_usage u)
{
	assert_nothing(u);
	assert_false(u.shared);
}

/* --- of whole cards */

static void a_card_of_ones_own_is_ones_own(void **state)
{
	struct world *w = *state;
	struct cluster_usage u;

	node(w, STR("n"), h100);
	pod(w, "p", POD_UID, 1);
	pod(w, "q", OTHER, 2);
	assert_untold(usage(w));
	tell_card(w, SERIES_DCGM_SM, 1, 87, 10 * SECOND);
	u = usage(w);
	assert_int_equal(u.source, USAGE_DCGM);
	assert_int_equal(u.cards, 1);
	assert_int_equal(u.sm_percent, 87);
	assert_int_equal(u.memory, AMOUNT_UNKNOWN);
	assert_int_equal(u.pcie, AMOUNT_UNKNOWN);
	assert_false(u.shared || u.pcie_estimated);
	assert_int_equal(u.sampled_us, NOW_US - 10 * SECOND);
	tell_card(w, SERIES_DCGM_MEMORY, 1, 3 * GIB, 20 * SECOND);
	tell_card(w, SERIES_DCGM_PCIE, 1, 4000, 0);
	u = usage(w);
	assert_int_equal(u.memory, 3 * GIB);
	assert_int_equal(u.pcie, 4000);
	assert_int_equal(u.sampled_us, NOW_US - 20 * SECOND);
}

static void another_cards_figures_are_anothers(void **state)
{
	struct world *w = *state;

	node(w, STR("n"), h100);
	pod(w, "p", POD_UID, 1);
	tell_card(w, SERIES_DCGM_SM, 2, 87, 0);
	assert_untold(usage(w));
}

static void time_slices_share_a_card(void **state)
{
	struct world *w = *state;

	node(w, STR("n"), time_sliced());
	pod(w, "p", POD_UID, 1);
	tell_card(w, SERIES_DCGM_SM, 1, 87, 0);
	assert_shared(usage(w), USAGE_DCGM); /* also while nobody else is there */
	pod(w, "q", OTHER, 1);
	assert_shared(usage(w), USAGE_DCGM);
}

/* Whatever the node says of its units. */
static void two_that_say_they_have_a_card_share_it(void **state)
{
	struct world *w = *state;

	node(w, STR("n"), h100);
	pod(w, "p", POD_UID, 1);
	pod(w, "q", OTHER, 1);
	tell_card(w, SERIES_DCGM_SM, 1, 87, 0);
	assert_shared(usage(w), USAGE_DCGM);
}

static void who_does_not_tell_its_card_may_have_it(void **state)
{
	struct world *w = *state;

	node(w, STR("n"), h100);
	pod(w, "p", POD_UID, 1);
	pod(w, "q", OTHER, 8);
	tell_card(w, SERIES_DCGM_SM, 1, 87, 0);
	assert_shared(usage(w), USAGE_DCGM);
	pod(w, "q", OTHER, 3);
	assert_int_equal(usage(w).sm_percent, 87);
}

/* Its agent tells nothing of p, but that another is on the card. */
static void whom_the_agent_sees_on_a_card_shares_it(void **state)
{
	struct world *w = *state;
	const struct gpu_node_use use = {
		.card = w->machine.gpus[1].pci, .memory = GIB, .pcie = 0, .sm_percent = 80};
	const struct gpu_node_facts facts = {
		.name = STR("n"), .resource_version = 99, .uses = &use, .n_uses = 1};
	const struct agent_facts agent = {.name = STR("gpuqos-agent-n"),
					  .holder = STR("n"),
					  .resource_version = 98,
					  .renew_us = NOW_US,
					  .duration_us = 40 * SECOND};

	node(w, STR("n"), h100);
	pod(w, "p", POD_UID, 1);
	tell_card(w, SERIES_DCGM_SM, 1, 87, 0);
	assert_int_equal(usage(w).sm_percent, 87);
	assert_int_equal(cluster_apply_agent(w->c, &agent, NOW_US, NULL), 0);
	assert_int_equal(cluster_apply_gpu_node(w->c, &facts, NOW_US, NULL), 0);
	assert_shared(usage(w), USAGE_DCGM);
}

static void a_pod_of_which_no_card_is_told_has_no_figures(void **state)
{
	struct world *w = *state;

	node(w, STR("n"), h100);
	pod(w, "p", POD_UID, 8);
	tell_card(w, SERIES_DCGM_SM, 1, 87, 0);
	assert_untold(usage(w));
}

static void a_uuid_on_two_nodes_proves_nothing(void **state)
{
	struct world *w = *state;

	node(w, STR("n"), h100);
	node(w, STR("m"), h100);
	pod(w, "p", POD_UID, 1);
	tell_card(w, SERIES_DCGM_SM, 1, 87, 0);
	assert_untold(usage(w));
}

/* --- when */

static void what_is_old_or_gone_is_unknown(void **state)
{
	struct world *w = *state;

	node(w, STR("n"), h100);
	pod(w, "p", POD_UID, 1);
	tell_card(w, SERIES_DCGM_SM, 1, 87, 10 * SECOND);
	cluster_pass_series(w->c, NOW_US + 50 * SECOND);
	assert_int_equal(usage(w).sm_percent, 87);
	assert_int_equal(cluster_series_count(w->c, SERIES_DCGM_SM), 1);
	cluster_pass_series(w->c, NOW_US + 50 * SECOND + 1);
	assert_untold(usage(w));
	assert_int_equal(cluster_series_count(w->c, SERIES_DCGM_SM), 0);
	tell_card(w, SERIES_DCGM_SM, 1, 87, 0);
	assert_int_equal(usage(w).sm_percent, 87);
	cluster_take_series(w->c, SERIES_DCGM_SM, NULL, 0, &now);
	assert_untold(usage(w));
	tell_card(w, SERIES_DCGM_SM, 1, 87, 0);
	cluster_forget_series(w->c);
	assert_untold(usage(w));
}

static void what_is_from_before_a_pod_is_another_pods(void **state)
{
	struct world *w = *state;
	struct pod_facts facts = pod_facts();

	node(w, STR("n"), h100);
	facts.device_ids = &w->machine.gpus[1].uuid;
	facts.n_device_ids = 1;
	facts.exit.started_us = REAL_US - 35 * SECOND;
	facts.resource_version = ++w->version;
	apply_pod(w->c, facts);
	tell_card(w, SERIES_DCGM_SM, 1, 87, 6 * SECOND);
	assert_untold(usage(w));
	tell_card(w, SERIES_DCGM_SM, 1, 87, 5 * SECOND);
	assert_int_equal(usage(w).sm_percent, 87);
	facts.exit.started_us = 0;
	facts.resource_version = ++w->version;
	apply_pod(w->c, facts);
	assert_untold(usage(w));
}

static void a_card_that_is_told_of_twice_is_unknown(void **state)
{
	struct world *w = *state;
	const struct device_figure figures[] = {
		{.card = w->machine.gpus[1].uuid, .cards = 1, .value = 87},
		{.card = w->machine.gpus[1].uuid, .cards = 1, .value = 87},
		{.card = w->machine.gpus[2].uuid, .cards = 1, .value = 87},
	};

	node(w, STR("n"), h100);
	pod(w, "p", POD_UID, 1);
	cluster_take_series(w->c, SERIES_DCGM_SM, figures, 3, &now);
	assert_untold(usage(w));
	assert_int_equal(cluster_series_count(w->c, SERIES_DCGM_SM), 1);
}

/* --- who counts first */

static void hamis_containers_count_on_shared_cards(void **state)
{
	struct world *w = *state;
	struct cluster_usage u;

	node(w, STR("n"), time_sliced());
	pod(w, "p", POD_UID, 1);
	pod(w, "q", OTHER, 1);
	tell_card(w, SERIES_DCGM_SM, 1, 99, 0);
	tell_pod(w, SERIES_HAMI_OWN_SM, 1, 40);
	u = usage(w);
	assert_int_equal(u.source, USAGE_HAMI);
	assert_int_equal(u.sm_percent, 40);
	assert_int_equal(u.memory, AMOUNT_UNKNOWN);
	assert_false(u.shared);
}

static void hamis_cards_count_where_dcgm_has_none(void **state)
{
	struct world *w = *state;

	node(w, STR("n"), h100);
	pod(w, "p", POD_UID, 1);
	tell_card(w, SERIES_HAMI_SM, 1, 40, 0);
	assert_int_equal(usage(w).source, USAGE_HAMI);
	assert_int_equal(usage(w).sm_percent, 40);
	tell_card(w, SERIES_DCGM_MEMORY, 1, GIB, 0);
	assert_int_equal(usage(w).source, USAGE_DCGM);
	assert_int_equal(usage(w).sm_percent, -1);
}

static void amds_cards_of_a_pod_have_to_be_all_it_has(void **state)
{
	struct world *w = *state;

	node(w, STR("n"), h100);
	pod(w, "p", POD_UID, 1);
	tell_pod(w, SERIES_AMD_SM, 1, 40);
	assert_int_equal(usage(w).source, USAGE_AMD);
	assert_int_equal(usage(w).sm_percent, 40);
	tell_pod(w, SERIES_AMD_SM, 2, 40);
	assert_shared(usage(w), USAGE_AMD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_card_of_ones_own_is_ones_own),
		TEST(another_cards_figures_are_anothers),
		TEST(time_slices_share_a_card),
		TEST(two_that_say_they_have_a_card_share_it),
		TEST(who_does_not_tell_its_card_may_have_it),
		TEST(whom_the_agent_sees_on_a_card_shares_it),
		TEST(a_pod_of_which_no_card_is_told_has_no_figures),
		TEST(a_uuid_on_two_nodes_proves_nothing),
		TEST(what_is_old_or_gone_is_unknown),
		TEST(what_is_from_before_a_pod_is_another_pods),
		TEST(a_card_that_is_told_of_twice_is_unknown),
		TEST(hamis_containers_count_on_shared_cards),
		TEST(hamis_cards_count_where_dcgm_has_none),
		TEST(amds_cards_of_a_pod_have_to_be_all_it_has),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
