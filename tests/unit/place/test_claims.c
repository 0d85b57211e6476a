/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that ask for GPUs by ResourceClaims alone: what they may hold, and where they may lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/looks.h"
#include "cluster/nodes/published.h"
#include "cluster/placing/assume.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "lib/layouts.h"
#include "place/check.h"
#include "place/place.h"

#define UNTIL  (1000 * USEC_PER_SEC)
#define DRIVER "gpu.nvidia.com"
#define NIC    "nic.example.com"
#define CARDS  8

/* What a claim is for: any GPUs, GPUs of one NUMA node. */
enum sort { ANY, TOGETHER, NICS };

/* A node of two sockets, whose 8 cards of 80 GiB are DRA's: "gpu-0" to "gpu-7". */
struct scene {
	struct cluster *cluster;
	struct machine machine;
	struct place_memory memory;
	struct arena arena;
	struct placement_weights weights;
	struct place place;
	uint64_t version;
	char names[CARDS][16];
	bool required; /* pods ask for one NUMA node */
};

static void tell_node(struct scene *s)
{
	const struct node_facts facts = {.name = STR("n"),
					 .uid = STR("n"),
					 .resource_version = ++s->version,
					 .ready = NODE_READY,
					 .layout = &s->machine.layout,
					 .layout_state = LAYOUT_IS_KNOWN};

	assert_int_equal(cluster_apply_node(s->cluster, &facts, NULL), 0);
}

/* Even cards tell their uuid, odd ones their address. */
static void tell_slice(struct scene *s)
{
	struct slice_device devices[CARDS];
	struct slice_facts facts = {.name = STR("s"),
				    .uid = STR("s"),
				    .resource_version = ++s->version,
				    .driver = STR(DRIVER),
				    .pool = STR("n"),
				    .slice_count = 1,
				    .devices = devices,
				    .n_devices = CARDS};

	for (int i = 0; i < CARDS; i++) {
		snprintf(s->names[i], sizeof(s->names[i]), "gpu-%d", i);
		devices[i] = (struct slice_device){
			.name = str_from(s->names[i]),
			.type = STR("gpu"),
			.product = STR("H100"),
			.node = STR("n"),
			.memory = 80 * GIB,
			.card = i % 2 ? STR_NONE : s->machine.gpus[i].uuid,
			.address = i % 2 ? s->machine.gpus[i].pci : STR_NONE,
		};
	}
	assert_int_equal(cluster_apply_slice(s->cluster, &facts, NULL), 0);
}

/* The NIC's driver has published a device that is no GPU. */
static void tell_nics(struct scene *s)
{
	const struct class_facts class = {.name = STR(NIC), .uid = STR(NIC), .driver = STR(NIC)};
	const struct slice_device nic = {
		.name = STR("nic-0"), .node = STR("n"), .memory = AMOUNT_NONE};
	const struct slice_facts facts = {.name = STR("nics"),
					  .uid = STR("nics"),
					  .driver = STR(NIC),
					  .pool = STR("n"),
					  .slice_count = 1,
					  .devices = &nic,
					  .n_devices = 1};

	assert_int_equal(cluster_apply_class(s->cluster, &class, NULL), 0);
	assert_int_equal(cluster_apply_slice(s->cluster, &facts, NULL), 0);
}

static void tell_tenant(struct scene *s, int64_t ceiling)
{
	static const struct str value = {"red", 3};
	struct label_requirement by_team = {STR("team"), LABEL_IN, &value, 1};
	const struct tenant_facts facts = {
		.name = STR("red"),
		.uid = STR("red"),
		.resource_version = ++s->version,
		.spec = {.namespaces = {&by_team, 1},
			 .ceiling = ceiling,
			 .ceiling_gpus = AMOUNT_NONE,
			 .topology = TOPOLOGY_SPEC_DEFAULT},
	};
	const struct label label = {STR("team"), STR("red")};
	const struct namespace_facts namespace = {
		.name = STR("a"), .uid = STR("a"), .labels = &label, .n_labels = 1};

	assert_int_equal(cluster_apply_tenant(s->cluster, &facts, NULL), 0);
	assert_int_equal(cluster_apply_namespace(s->cluster, &namespace, NULL), 0);
}

static void tell_quota(struct scene *s, int64_t memory)
{
	const struct quota_facts facts = {.namespace = STR("a"),
					  .name = STR("q"),
					  .uid = STR("q"),
					  .resource_version = ++s->version,
					  .spec = {.gpu_memory = memory,
						   .gpus = AMOUNT_NONE,
						   .pod_gpu_memory = AMOUNT_NONE,
						   .pod_gpus = AMOUNT_NONE,
						   .borrow_limit = 0}};

	assert_int_equal(cluster_apply_quota(s->cluster, &facts, NULL), 0);
}

/* @count of the driver's devices, or NICs; of an allocated claim those in @cards. */
static void tell_any_claim(struct scene *s, const char *name, int64_t count, uint64_t cards,
			   enum sort sort)
{
	const char *class = sort == NICS ? NIC : DRIVER;
	struct claim_choice choice = {str_from(class), count};
	struct claim_request request = {&choice, 1, false};
	struct claim_device devices[CARDS];
	struct claim_facts facts = {.namespace = STR("a"),
				    .name = str_from(name),
				    .uid = str_from(name),
				    .resource_version = ++s->version,
				    .requests = &request,
				    .n_requests = 1,
				    .numa_together = sort == TOGETHER,
				    .allocated = cards != 0,
				    .devices = devices};

	for (int i = 0; i < CARDS; i++)
		if (cards >> i & 1)
			devices[facts.n_devices++] =
				(struct claim_device){.driver = STR(DRIVER),
						      .pool = STR("n"),
						      .device = str_from(s->names[i]),
						      .class = str_from(class),
						      .consumed_memory = AMOUNT_NONE};
	assert_int_equal(cluster_apply_claim(s->cluster, &facts, NULL), 0);
}

static void tell_claim(struct scene *s, const char *name, int64_t count, uint64_t cards)
{
	tell_any_claim(s, name, count, cards, ANY);
}

static struct pod_facts pod_of(struct scene *s, const char *name, const struct str *claim,
			       const char *node)
{
	return (struct pod_facts){
		.namespace = STR("a"),
		.name = str_from(name),
		.uid = str_from(name),
		.resource_version = ++s->version,
		.node = str_from(node),
		.phase = node[0] ? POD_RUNNING : POD_PENDING,
		.claims = claim,
		.n_claims = 1,
		.alignment = {.wished = s->required, .policy = TOPOLOGY_REQUIRED}};
}

static uint32_t tell_pod(struct scene *s, const char *name, const char *claim, const char *node)
{
	const struct str named = str_from(claim);
	const struct pod_facts facts = pod_of(s, name, &named, node);

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
	return cluster_pod_find(s->cluster, STR("a"), str_from(name), str_from(name));
}

/* --- questions */

static uint32_t the_node(const struct scene *s)
{
	return cluster_node_find(s->cluster, STR("n"));
}

static void refresh(struct scene *s)
{
	uint32_t key;

	while (cluster_take_dirty_tenant(s->cluster, &key))
		;
	while (cluster_take_dirty(s->cluster, &key))
		;
}

static struct place_answer fit(struct scene *s, uint32_t pod)
{
	const struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};
	struct cluster_ask ask;

	refresh(s);
	arena_reset(&s->arena);
	cluster_ask_of_pod(s->cluster, pod, &ask);
	place_begin(&s->place, &tools, &ask);
	return place_fit(&s->place, the_node(s));
}

static void assert_fit(struct scene *s, uint32_t pod, enum place_verdict verdict, uint32_t detail)
{
	struct place_answer found = fit(s, pod);

	assert_int_equal(found.verdict, verdict);
	if (verdict == PLACE_CLAIMS)
		assert_int_equal(found.detail, detail);
}

static int64_t live(struct scene *s)
{
	struct namespace_view view;

	refresh(s);
	cluster_namespace_view(s->cluster, cluster_namespace_find(s->cluster, STR("a")), &view);
	return view.live;
}

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	const struct class_facts class = {
		.name = STR(DRIVER), .uid = STR(DRIVER), .driver = STR(DRIVER)};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&s->arena, 16 << 20);
	machine_dgx_h100(&s->machine);
	assert_int_equal(cluster_apply_class(s->cluster, &class, NULL), 0);
	tell_node(s);
	tell_slice(s);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;
	struct recount total = {0};
	uint32_t cursor = 0;

	refresh(s);
	assert_true(cluster_recount(s->cluster, &cursor, UINT32_MAX, &total));
	assert_int_equal(total.differing, 0);
	place_memory_clear(&s->memory);
	cluster_free(s->cluster);
	arena_clear(&s->arena);
	test_free(s);
	return 0;
}

/* --- the third gate */

static void a_claim_is_held_from_when_its_pod_is_assumed(void **state)
{
	struct scene *s = *state;
	uint32_t pod;

	tell_claim(s, "c", 1, 0);
	pod = tell_pod(s, "p", "c", "");
	assert_int_equal(live(s), 0);
	cluster_assume(s->cluster, pod, the_node(s), 0, UNTIL);
	assert_int_equal(live(s), 80 * GIB);
	cluster_unassume(s->cluster, pod);
	assert_int_equal(live(s), 0);
	cluster_assume(s->cluster, pod, the_node(s), 0, UNTIL);
	tell_pod(s, "p", "c", "n"); /* seen before its claim is */
	assert_int_equal(live(s), 80 * GIB);
	tell_claim(s, "c", 1, 1);
	assert_int_equal(live(s), 80 * GIB);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("a"), STR("p"));
	assert_int_equal(live(s), 80 * GIB); /* allocated */
	cluster_delete(s->cluster, CLUSTER_CLAIMS, STR("a"), STR("c"));
	refresh(s);
	assert_int_equal(cluster_namespace_find(s->cluster, STR("a")), UINT32_MAX);
}

static void a_claim_that_comes_after_its_pod_is_held(void **state)
{
	struct scene *s = *state;

	tell_pod(s, "p", "c", "n");
	tell_pod(s, "q", "c", "n");
	tell_claim(s, "c", 2, 0);
	assert_int_equal(live(s), 160 * GIB);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("a"), STR("p"));
	assert_int_equal(live(s), 160 * GIB);
	tell_pod(s, "q", "other", "n");
	assert_int_equal(live(s), 0);
}

static void the_namespace_may_hold_so_much(void **state)
{
	struct scene *s = *state;
	uint32_t first, second;

	tell_quota(s, 100 * GIB);
	tell_claim(s, "c", 1, 0);
	tell_claim(s, "d", 1, 0);
	first = tell_pod(s, "p", "c", "");
	second = tell_pod(s, "q", "d", "");
	assert_fit(s, first, PLACE_FITS, 0);
	assert_fit(s, second, PLACE_FITS, 0);
	cluster_assume(s->cluster, first, the_node(s), 0, UNTIL);
	assert_fit(s, first, PLACE_FITS, 0); /* its own claim is no other's */
	assert_fit(s, second, PLACE_QUOTA, 0);
	tell_claim(s, "c", 1, 1);
	assert_fit(s, second, PLACE_QUOTA, 0);
	tell_claim(s, "d", 1, 2); /* allocated by kube-scheduler, not bound yet */
	assert_fit(s, second, PLACE_QUOTA, 0);
	tell_quota(s, 160 * GIB);
	assert_fit(s, second, PLACE_FITS, 0);
}

static void the_tenant_may_hold_so_much(void **state)
{
	struct scene *s = *state;
	uint32_t pod;

	tell_tenant(s, 100 * GIB);
	tell_claim(s, "c", 1, 0);
	pod = tell_pod(s, "p", "c", "");
	assert_fit(s, pod, PLACE_QUOTA, 0); /* without a quota nothing */
	tell_quota(s, 80 * GIB);
	tell_claim(s, "big", 2, 0);
	assert_fit(s, tell_pod(s, "q", "big", ""), PLACE_QUOTA, 0);
}

static void what_is_no_gpu_is_nobodys_concern(void **state)
{
	struct scene *s = *state;
	struct cluster_ask ask;
	uint32_t pod;

	tell_nics(s);
	s->required = true;
	tell_any_claim(s, "c", 1, 0, NICS);
	pod = tell_pod(s, "p", "c", "n");
	refresh(s);
	cluster_ask_of_pod(s->cluster, pod, &ask);
	assert_int_equal(ask.n + ask.n_claims, 0);
	assert_false(ask.claim_unseen);
	assert_int_equal(live(s), 0);
}

static void a_claim_that_is_not_seen_yet_is_told(void **state)
{
	struct scene *s = *state;
	const struct str names[] = {STR("c"), STR_NONE};
	struct pod_facts facts = pod_of(s, "p", names, "");
	struct cluster_ask ask;

	cluster_ask_of(s->cluster, &facts, &ask);
	assert_true(ask.claim_unseen);
	tell_claim(s, "c", 1, 0);
	cluster_ask_of(s->cluster, &facts, &ask);
	assert_false(ask.claim_unseen);
	assert_int_equal(ask.n_claims, 1);
	facts.n_claims = 2; /* a template that is no claim yet */
	cluster_ask_of(s->cluster, &facts, &ask);
	assert_true(ask.claim_unseen);
}

/* --- Required */

static void required_is_refused_where_it_is_not_certain(void **state)
{
	static const struct {
		const char *sentence;
		int64_t count;
		uint64_t cards; /* that it has */
		uint64_t held;  /* that others have */
		enum place_verdict verdict;
		enum place_claims detail;
		bool numa;
	} rows[] = {
		{"one device lies in one domain", 1, 0, 0, PLACE_FITS, 0, false},
		{"two may be given of both sockets", 2, 0, 0, PLACE_CLAIMS, PLACE_CLAIMS_CHOICE,
		 false},
		{"unless the claim keeps them together", 2, 0, 0, PLACE_FITS, 0, true},
		{"or only cards of one are free", 2, 0, 0xf0, PLACE_FITS, 0, false},
		{"two of one socket are there", 2, 0x3, 0, PLACE_FITS, 0, false},
		{"two of both are there", 2, 0x18, 0, PLACE_CLAIMS, PLACE_CLAIMS_APART, false},
	};
	struct scene *s;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct place_answer found;

		teardown(state);
		setup(state);
		s = *state;
		s->required = true;
		if (rows[i].held) {
			tell_claim(s, "held", 4, rows[i].held);
			tell_pod(s, "holder", "held", "n");
		}
		tell_any_claim(s, "c", rows[i].count, rows[i].cards, rows[i].numa ? TOGETHER : ANY);
		found = fit(s, tell_pod(s, "p", "c", ""));
		if (found.verdict != rows[i].verdict ||
		    (found.verdict == PLACE_CLAIMS && found.detail != rows[i].detail))
			fail_msg("%s: %d, %u", rows[i].sentence, found.verdict, found.detail);
	}
}

/* Cards of a plugin all lie on one NUMA node, and where those of a driver are nobody tells. */
static void of_cards_that_are_only_counted_nothing_is_certain(void **state)
{
	struct scene *s = *state;
	const struct device_offer offer = {
		.resource = STR("nvidia.com/gpu"),
		.unit_memory = 80 * GIB,
		.count = CARDS,
		.allocatable = CARDS,
		.sharing = DEVICE_WHOLE,
	};
	const struct node_facts node = {
		.name = STR("n"),
		.uid = STR("n"),
		.resource_version = ++s->version,
		.ready = NODE_READY,
		.offers = &offer,
		.n_offers = 1,
		.layout_state = LAYOUT_IS_ABSENT,
	};
	const struct published_facts facts = {STR("n"), 1, &s->machine.layout};

	for (int i = 0; i < CARDS; i++)
		s->machine.gpus[i].numa = 0;
	s->machine.layout.counted = true;
	assert_int_equal(cluster_apply_node(s->cluster, &node, NULL), 0);
	assert_int_equal(cluster_apply_published(s->cluster, CLUSTER_ZONES, &facts, NULL), 0);
	s->required = true;
	tell_claim(s, "one", 1, 0);
	assert_fit(s, tell_pod(s, "p", "one", ""), PLACE_FITS, 0);
	tell_claim(s, "two", 2, 0);
	assert_fit(s, tell_pod(s, "q", "two", ""), PLACE_CLAIMS, PLACE_CLAIMS_UNKNOWN);
}

static void cards_that_a_trial_frees_may_be_chosen_too(void **state)
{
	struct scene *s = *state;
	uint32_t holder, pod;
	const struct cluster_trial trial = {&holder, 1};

	s->required = true;
	tell_claim(s, "held", 4, 0xf0);
	holder = tell_pod(s, "holder", "held", "n");
	tell_claim(s, "c", 2, 0);
	pod = tell_pod(s, "p", "c", "");
	assert_fit(s, pod, PLACE_FITS, 0);
	place_try(&s->place, &trial);
	assert_int_equal(place_fit(&s->place, the_node(s)).verdict, PLACE_CLAIMS);
}

static void cpus_of_ones_own_may_be_anywhere(void **state)
{
	struct scene *s = *state;
	const struct str claim = STR("c");
	struct pod_facts facts;
	struct buf why CLEANUP(buf_clear);

	s->machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, true, true};
	tell_node(s);
	s->required = true;
	tell_claim(s, "c", 1, 0);
	facts = pod_of(s, "p", &claim, "");
	facts.alignment = (struct pod_alignment){
		.guaranteed = true, .cpus = 4, .wished = true, .policy = TOPOLOGY_REQUIRED};
	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
	assert_fit(s, cluster_pod_find(s->cluster, STR("a"), STR("p"), STR("p")), PLACE_CLAIMS,
		   PLACE_CLAIMS_PINNED);
	buf_init(&why, 512);
	place_describe(&s->place, (struct place_answer){PLACE_CLAIMS, PLACE_CLAIMS_PINNED}, &why);
	assert_non_null(strstr(why.data, "ResourceClaims"));
}

/* --- seen afterwards */

static void cards_of_claims_are_checked(void **state)
{
	struct scene *s = *state;
	struct cluster_held held;
	uint32_t pod;

	s->required = true;
	tell_claim(s, "c", 2, 0x18);
	pod = tell_pod(s, "p", "c", "n");
	refresh(s);
	held = cluster_held(s->cluster, pod);
	assert_int_equal(held.cards, 0x18);
	assert_int_equal(held.asked, 2);
	assert_int_equal(held.others, 0);
	assert_int_equal(place_check(&held), CHECK_SPANS);
	assert_int_equal(cluster_room(s->cluster, the_node(s)).seen, 0x18);
	tell_claim(s, "c", 2, 0x3);
	held = cluster_held(s->cluster, pod);
	assert_int_equal(place_check(&held), CHECK_AS_ASKED);
	assert_int_equal(cluster_room(s->cluster, the_node(s)).seen, 0x3);
	cluster_delete(s->cluster, CLUSTER_SLICES, STR_NONE, STR("s"));
	held = cluster_held(s->cluster, pod);
	assert_int_equal(held.others, 2);
	assert_int_equal(place_check(&held), CHECK_UNKNOWN);
	tell_slice(s);
	assert_int_equal(cluster_room(s->cluster, the_node(s)).seen, 0x3);
	cluster_delete(s->cluster, CLUSTER_CLAIMS, STR("a"), STR("c"));
	assert_int_equal(cluster_room(s->cluster, the_node(s)).seen, 0);
}

static void one_without_gpus_is_not_checked(void **state)
{
	struct scene *s = *state;
	struct cluster_held held;
	uint32_t pod;

	tell_nics(s);
	s->required = true;
	tell_any_claim(s, "c", 1, 0, NICS);
	pod = tell_pod(s, "p", "c", "n");
	refresh(s);
	held = cluster_held(s->cluster, pod);
	assert_int_equal(place_check(&held), CHECK_UNCHECKED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_claim_is_held_from_when_its_pod_is_assumed),
		CASE(a_claim_that_comes_after_its_pod_is_held),
		CASE(the_namespace_may_hold_so_much),
		CASE(the_tenant_may_hold_so_much),
		CASE(what_is_no_gpu_is_nobodys_concern),
		CASE(a_claim_that_is_not_seen_yet_is_told),
		CASE(required_is_refused_where_it_is_not_certain),
		CASE(of_cards_that_are_only_counted_nothing_is_certain),
		CASE(cards_that_a_trial_frees_may_be_chosen_too),
		CASE(cpus_of_ones_own_may_be_anywhere),
		CASE(cards_of_claims_are_checked),
		CASE(one_without_gpus_is_not_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
