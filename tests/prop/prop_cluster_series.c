/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random pods with random cards, and figures of cards, against a model that looks at all of them: a
 * figure is a pod's only where nobody else can be on its cards, and then it is the sum of theirs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/random.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/nodes/series.h"
#include "cluster/placing/placement.h"
#include "lib/layouts.h"

#define PODS    6
#define CARDS   8
#define STEPS   400
#define NOW_US  (1000 * USEC_PER_SEC)
#define REAL_US (1800000000 * USEC_PER_SEC)

static const struct series_moment now = {NOW_US, REAL_US};
static const struct str gpu = {"nvidia.com/gpu", 14};

struct model_pod {
	bool there, finished, started;
	uint32_t asks;
	uint64_t cards; /* that it tells */
};

struct world {
	struct cluster *cluster;
	struct machine machine;
	struct random random;
	uint64_t version;
	enum device_sharing sharing;
	struct model_pod pods[PODS];
	int64_t figures[CARDS]; /* -1: none */
};

static uint64_t below(struct world *w, uint64_t n)
{
	return random_below(&w->random, n);
}

/* --- what happens */

static void change_node(struct world *w)
{
	static const enum device_sharing sharings[] = {DEVICE_WHOLE, DEVICE_WHOLE,
						       DEVICE_TIME_SLICED, DEVICE_MIG};
	struct device_offer offer = {
		.resource = gpu, .unit_memory = 80 * GIB, .count = CARDS, .allocatable = CARDS};
	struct node_facts facts = {.name = STR("n"),
				   .uid = STR("node"),
				   .resource_version = ++w->version,
				   .offers = &offer,
				   .n_offers = 1,
				   .layout = &w->machine.layout,
				   .layout_state = LAYOUT_IS_KNOWN};

	offer.sharing = w->sharing = sharings[below(w, ARRAY_SIZE(sharings))];
	assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
}

static struct str text(char *buffer, size_t size, const char *prefix, size_t i)
{
	return (struct str){buffer, (size_t)snprintf(buffer, size, "%s%zu", prefix, i)};
}

static void change_pod(struct world *w, size_t i)
{
	struct model_pod *model = &w->pods[i];
	char name[16], uid[48];
	struct str ids[CARDS];
	struct device_ask ask = {.resource = gpu};
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {.namespace = STR("a"),
				  .name = text(name, sizeof(name), "p", i),
				  .node = STR("n"),
				  .containers = &container,
				  .n_containers = 1,
				  .resource_version = ++w->version,
				  .device_ids = ids};

	*model = (struct model_pod){true, below(w, 6) == 0, below(w, 8) != 0,
				    (uint32_t)below(w, 2) + 1, 0};
	facts.uid = text(uid, sizeof(uid), "11111111-2222-3333-4444-55555555555", i);
	facts.phase = model->finished ? POD_SUCCEEDED : POD_RUNNING;
	facts.exit.started_us = model->started ? REAL_US - 60 * USEC_PER_MIN : 0;
	ask.count = model->asks;
	for (size_t card = 0; card < CARDS; card++)
		if (below(w, 6) == 0)
			model->cards |= UINT64_C(1) << card;
	for (size_t card = 0; card < CARDS; card++)
		if (model->cards >> card & 1)
			ids[facts.n_device_ids++] = w->machine.gpus[card].uuid;
	assert_int_equal(cluster_apply_pod(w->cluster, &facts, NULL), 0);
}

static void change_figures(struct world *w)
{
	struct device_figure figures[CARDS];
	size_t n = 0;

	for (size_t card = 0; card < CARDS; card++) {
		w->figures[card] = below(w, 4) == 0 ? -1 : (int64_t)below(w, 101);
		if (w->figures[card] >= 0)
			figures[n++] = (struct device_figure){.card = w->machine.gpus[card].uuid,
							      .cards = 1,
							      .value = w->figures[card]};
	}
	cluster_take_series(w->cluster, SERIES_DCGM_SM, figures, n, &now);
}

/* --- what has to be so */

static bool others_may_be_there(const struct world *w, size_t i)
{
	for (size_t k = 0; k < PODS; k++) {
		const struct model_pod *other = &w->pods[k];

		if (k != i && other->there && !other->finished &&
		    (other->cards == 0 || __builtin_popcountll(other->cards) < (int)other->asks ||
		     (other->cards & w->pods[i].cards) != 0))
			return true;
	}
	return false;
}

static int32_t expect(const struct world *w, size_t i)
{
	const struct model_pod *pod = &w->pods[i];
	int32_t sum = 0;

	if (!pod->there || pod->finished || !pod->started || w->sharing != DEVICE_WHOLE ||
	    pod->cards == 0 || (uint32_t)__builtin_popcountll(pod->cards) != pod->asks ||
	    others_may_be_there(w, i))
		return -1;
	for (size_t card = 0; card < CARDS; card++) {
		if (!(pod->cards >> card & 1))
			continue;
		if (w->figures[card] < 0)
			return -1;
		sum += (int32_t)w->figures[card];
	}
	return sum;
}

/* How many pods have a figure. */
static size_t check(const struct world *w)
{
	size_t known = 0;

	for (size_t i = 0; i < PODS; i++) {
		char name[16], uid[48];
		uint32_t pod;
		struct cluster_usage usage;

		if (!w->pods[i].there)
			continue;
		pod = cluster_pod_find(
			w->cluster, STR("a"), text(name, sizeof(name), "p", i),
			text(uid, sizeof(uid), "11111111-2222-3333-4444-55555555555", i));
		usage = cluster_pod_usage(w->cluster, pod);
		assert_int_equal(usage.sm_percent, expect(w, i));
		assert_int_equal(usage.memory, AMOUNT_UNKNOWN);
		if (usage.sm_percent < 0)
			continue;
		assert_false(usage.shared);
		known++;
	}
	return known;
}

static size_t run(uint64_t seed)
{
	const struct hash_key key = {seed, 2};
	struct world w = {.cluster = cluster_new(&key)};
	size_t known = 0;

	random_init(&w.random, seed);
	machine_dgx_h100(&w.machine);
	change_node(&w);
	change_figures(&w);
	for (size_t step = 0; step < STEPS; step++) {
		switch (below(&w, 8)) {
		case 0:
			change_node(&w);
			break;
		case 1:
		case 2:
			change_figures(&w);
			break;
		default:
			change_pod(&w, (size_t)below(&w, PODS));
		}
		known += check(&w);
	}
	cluster_free(w.cluster);
	return known;
}

static void a_figure_is_a_pods_only_where_nobody_else_can_be(void **state UNUSED)
{
	size_t known = 0;

	for (uint64_t seed = 0; seed < 20; seed++)
		known += run(seed);
	assert_true(known > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_figure_is_a_pods_only_where_nobody_else_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
