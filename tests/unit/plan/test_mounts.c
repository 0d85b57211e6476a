/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of nodes and volumes, as kube-scheduler's filters judge them: a table of worlds, each of a
 * pod that asks for a card, in which it is told where the pod may go and why not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/volumes/volumes.h"
#include "lib/cards.h"
#include "plan/host.h"

struct scene {
	struct cluster *cluster;
	struct arena arena;
};

static const enum cluster_kind kinds[] = {CLUSTER_VOLUME_CLAIMS, CLUSTER_VOLUMES,
					  CLUSTER_STORAGE_CLASSES, CLUSTER_CSI_NODES,
					  CLUSTER_CSI_DRIVERS};

static void read_all(struct scene *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cluster_begin_replace(s->cluster, kinds[i]);
		cluster_end_replace(s->cluster, kinds[i]);
	}
}

/* @zone NULL: it says none. */
static void add_node(struct scene *s, const char *name, const char *zone)
{
	const struct label label = {STR("topology.kubernetes.io/zone"),
				    zone ? str_from(zone) : STR_NONE};
	const struct host_facts host = {.allocatable = {{32000, 64 * GIB, 0}},
					.pods = 110,
					.labels = &label,
					.n_labels = zone ? 1 : 0};

	cards_add_node(
		s->cluster, 8,
		(struct node_facts){.name = str_from(name), .ready = NODE_READY, .host = &host});
}

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	arena_init(&s->arena, 1 << 20);
	read_all(s);
	add_node(s, "a", "a");
	add_node(s, "b", "b");
	add_node(s, "nowhere", NULL);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	cluster_free(s->cluster);
	arena_clear(&s->arena);
	test_free(s);
	return 0;
}

#define CLAIM(text) ((struct pod_volume){VOLUME_CLAIM, STR(text)})

/* @gpus 0: a bystander. */
struct pod {
	const char *name, *node;
	int64_t gpus;
	struct host_port port;        /* number 0: none */
	struct pod_volume volumes[2]; /* without a claim: none */
};

static void add_pod(struct scene *s, struct pod pod)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), pod.gpus);
	struct container_facts container = {CONTAINER_NORMAL, &ask, pod.gpus > 0};
	struct pod_facts facts = {
		.namespace = STR("team"),
		.name = str_from(pod.name),
		.uid = str_from(pod.name),
		.node = pod.node ? str_from(pod.node) : STR_NONE,
		.phase = POD_RUNNING,
		.containers = &container,
		.n_containers = 1,
		.ports = &pod.port,
		.n_ports = pod.port.number > 0,
		.volumes = pod.volumes,
	};

	while (facts.n_volumes < ARRAY_SIZE(pod.volumes) &&
	       !str_empty(pod.volumes[facts.n_volumes].claim))
		facts.n_volumes++;
	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

static void waits(struct scene *s, struct pod_volume volume)
{
	add_pod(s, (struct pod){.name = "asks", .gpus = 1, .volumes = {volume}});
}

static void learn(struct scene *s, struct cluster_ask *ask, struct cluster_terms *terms)
{
	uint32_t pod = cluster_pod_find(s->cluster, STR("team"), STR("asks"), STR("asks"));

	assert_int_not_equal(pod, TABLE_NONE);
	cluster_ask_of_pod(s->cluster, pod, ask);
	arena_reset(&s->arena);
	assert_true(cluster_terms_of(s->cluster, pod, &s->arena, terms));
}

static enum host_verdict verdict_of(struct scene *s, const char *node)
{
	struct cluster_terms terms;
	struct cluster_ask ask;

	learn(s, &ask, &terms);
	assert_true(cluster_terms_known(&terms));
	return host_fit(s->cluster, &ask, &terms, cluster_node_find(s->cluster, str_from(node)));
}

static enum volume_doubt doubt_of(struct scene *s)
{
	struct cluster_terms terms;
	struct cluster_ask ask;

	learn(s, &ask, &terms);
	return terms.doubt.volume;
}

static void assert_verdicts(struct scene *s, enum host_verdict a, enum host_verdict b,
			    enum host_verdict nowhere)
{
	assert_int_equal(verdict_of(s, "a"), a);
	assert_int_equal(verdict_of(s, "b"), b);
	assert_int_equal(verdict_of(s, "nowhere"), nowhere);
}

/* --- ports */

static struct host_port port(const char *ip, const char *protocol, int32_t number)
{
	return (struct host_port){str_from(ip), str_from(protocol), number};
}

/* As HostPortInfo.CheckConflict(). */
static void ports_clash_as_kube_scheduler_says(void **state)
{
	const struct {
		const char *what;
		struct host_port a, b;
		bool clash;
	} cases[] = {
		{"the same", port("0.0.0.0", "TCP", 80), port("0.0.0.0", "TCP", 80), true},
		{"another number", port("0.0.0.0", "TCP", 80), port("0.0.0.0", "TCP", 81), false},
		{"another protocol", port("0.0.0.0", "TCP", 80), port("0.0.0.0", "UDP", 80), false},
		{"another address", port("10.0.0.1", "TCP", 80), port("10.0.0.2", "TCP", 80),
		 false},
		{"one of all", port("10.0.0.1", "TCP", 80), port("0.0.0.0", "TCP", 80), true},
		{"all of IPv6 is an address as any", port("::", "TCP", 80),
		 port("fd00::1", "TCP", 80), false},
		{"nobody knows which", port("", "", HOST_PORT_ANY), port("10.0.0.1", "SCTP", 9),
		 true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (host_ports_clash(&cases[i].a, &cases[i].b) != cases[i].clash ||
		    host_ports_clash(&cases[i].b, &cases[i].a) != cases[i].clash)
			fail_msg("%s", cases[i].what);
}

static void a_port_is_taken_until_its_pod_is_gone(void **state)
{
	struct scene *s = *state;
	struct cluster_terms terms;
	struct cluster_ask ask;
	uint32_t node = cluster_node_find(s->cluster, STR("a")), holder;
	struct cluster_trial trial = {&holder, 1};

	add_pod(s, (struct pod){"asks", NULL, 1, port("0.0.0.0", "TCP", 80), {CLAIM("")}});
	add_pod(s, (struct pod){"holds", "a", 1, port("10.0.0.1", "TCP", 80), {CLAIM("")}});
	add_pod(s, (struct pod){"other", "a", 1, port("0.0.0.0", "UDP", 80), {CLAIM("")}});
	add_pod(s, (struct pod){"exporter", "b", 0, port("0.0.0.0", "TCP", 80), {CLAIM("")}});
	learn(s, &ask, &terms);
	assert_int_equal(host_fit(s->cluster, &ask, &terms, node), HOST_NO_PORT);
	assert_int_equal(host_could_fit(s->cluster, &ask, &terms, node), HOST_FITS);
	holder = cluster_pod_find(s->cluster, STR("team"), STR("other"), STR("other"));
	ask.trial = &trial;
	assert_int_equal(host_fit(s->cluster, &ask, &terms, node), HOST_NO_PORT);
	holder = cluster_pod_find(s->cluster, STR("team"), STR("holds"), STR("holds"));
	assert_int_equal(host_fit(s->cluster, &ask, &terms, node), HOST_FITS);
	ask.trial = NULL;
	node = cluster_node_find(s->cluster, STR("b"));
	assert_int_equal(host_could_fit(s->cluster, &ask, &terms, node), HOST_NO_PORT);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("team"), STR("exporter"));
	assert_int_equal(host_fit(s->cluster, &ask, &terms, node), HOST_FITS);
}

/* --- bound claims */

static void bound(struct scene *s, const char *name, const char *volume)
{
	const struct volume_claim_facts facts = {.namespace = STR("team"),
						 .name = str_from(name),
						 .volume = str_from(volume),
						 .bound = true};

	assert_int_equal(cluster_apply_volume_claim(s->cluster, &facts, NULL), 0);
}

static void volume_in(struct scene *s, const char *name, const char *zone)
{
	const struct str value = str_from(zone);
	const struct node_requirement in = {STR("topology.kubernetes.io/zone"), NODE_IN, &value, 1};
	const struct node_term term = {.labels = &in, .n_labels = 1};
	const struct volume_facts facts = {
		.name = str_from(name), .chooses = true, .terms = &term, .n_terms = 1};

	assert_int_equal(cluster_apply_volume(s->cluster, &facts, NULL), 0);
}

static void a_bound_claim_is_where_its_volume_is(void **state)
{
	struct scene *s = *state;

	volume_in(s, "pv", "a");
	bound(s, "weights", "pv");
	waits(s, CLAIM("weights"));
	assert_verdicts(s, HOST_FITS, HOST_VOLUMES_ELSEWHERE, HOST_VOLUMES_ELSEWHERE);
	volume_in(s, "pv", "b");
	assert_verdicts(s, HOST_VOLUMES_ELSEWHERE, HOST_FITS, HOST_VOLUMES_ELSEWHERE);
	cluster_apply_volume(s->cluster, &(struct volume_facts){.name = STR("pv")}, NULL);
	assert_verdicts(s, HOST_FITS, HOST_FITS, HOST_FITS);
	cluster_apply_volume(s->cluster, &(struct volume_facts){.name = STR("pv"), .chooses = true},
			     NULL);
	assert_verdicts(s, HOST_VOLUMES_ELSEWHERE, HOST_VOLUMES_ELSEWHERE, HOST_VOLUMES_ELSEWHERE);
}

static void all_claims_count(void **state)
{
	struct scene *s = *state;

	volume_in(s, "one", "a");
	volume_in(s, "two", "b");
	bound(s, "one", "one");
	bound(s, "two", "two");
	add_pod(s,
		(struct pod){.name = "asks", .gpus = 1, .volumes = {CLAIM("one"), CLAIM("two")}});
	assert_verdicts(s, HOST_VOLUMES_ELSEWHERE, HOST_VOLUMES_ELSEWHERE, HOST_VOLUMES_ELSEWHERE);
}

/* VolumeZone: nodes that name no zone at all are in all of them. */
static void labels_of_old_volumes_name_zones(void **state)
{
	static const struct {
		const char *what, *key, *value;
		enum host_verdict a, b;
	} cases[] = {
		{"one", "topology.kubernetes.io/zone", "a", HOST_FITS, HOST_VOLUMES_ELSEWHERE},
		{"two", "topology.kubernetes.io/zone", "c__b", HOST_VOLUMES_ELSEWHERE, HOST_FITS},
		{"blanks", "topology.kubernetes.io/zone", "c__ a", HOST_FITS,
		 HOST_VOLUMES_ELSEWHERE},
		{"the label of old", "failure-domain.beta.kubernetes.io/zone", "a", HOST_FITS,
		 HOST_VOLUMES_ELSEWHERE},
		{"a region, of which the nodes have none", "topology.kubernetes.io/region", "a",
		 HOST_VOLUMES_ELSEWHERE, HOST_VOLUMES_ELSEWHERE},
		{"what is no list is passed over", "topology.kubernetes.io/region", "a____b",
		 HOST_FITS, HOST_FITS},
	};
	struct scene *s = *state;

	bound(s, "weights", "pv");
	waits(s, CLAIM("weights"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct label zone = {str_from(cases[i].key), str_from(cases[i].value)};
		const struct volume_facts facts = {.name = STR("pv"), .zones = &zone, .n_zones = 1};

		cluster_apply_volume(s->cluster, &facts, NULL);
		if (verdict_of(s, "a") != cases[i].a || verdict_of(s, "b") != cases[i].b ||
		    verdict_of(s, "nowhere") != HOST_FITS)
			fail_msg("%s", cases[i].what);
	}
}

/* --- what is in the way everywhere, or not known */

static void doubts_are_told(void **state)
{
	static const struct {
		const char *what;
		struct volume_claim_facts claim;
		enum volume_doubt doubt;
	} cases[] = {
		{"fine", {.volume = {"pv", 2}, .bound = true}, VOLUME_DOUBT_NONE},
		{"lost", {.volume = {"pv", 2}, .bound = true, .lost = true}, VOLUME_DOUBT_LOST},
		{"going",
		 {.volume = {"pv", 2}, .bound = true, .terminating = true},
		 VOLUME_DOUBT_GOING},
		{"bound, and not for good", {.volume = {"pv", 2}}, VOLUME_DOUBT_UNBOUND},
		{"no class", {.bound = false}, VOLUME_DOUBT_UNBOUND},
		{"no such class", {.class = {"none", 4}}, VOLUME_DOUBT_UNBOUND},
		{"at once", {.class = {"immediate", 9}}, VOLUME_DOUBT_UNBOUND},
		{"waits", {.class = {"waits", 5}}, VOLUME_DOUBT_NONE},
		{"its volume is chosen already",
		 {.class = {"waits", 5}, .volume = {"pv", 2}},
		 VOLUME_DOUBT_UNBOUND},
		{"nobody makes it", {.class = {"local", 5}}, VOLUME_DOUBT_NOT_MADE},
		{"room is counted", {.class = {"lvm", 3}}, VOLUME_DOUBT_CAPACITY},
		{"no such volume", {.volume = {"none", 4}, .bound = true}, VOLUME_DOUBT_VOLUMELESS},
		{"translated", {.volume = {"ebs", 3}, .bound = true}, VOLUME_DOUBT_TRANSLATED},
		{"too large", {.volume = {"huge", 4}, .bound = true}, VOLUME_DOUBT_SIZE},
	};
	static const struct storage_class_facts classes[] = {
		{.name = {"immediate", 9}, .provisioner = {"d", 1}},
		{.name = {"waits", 5}, .provisioner = {"d", 1}, .waits = true},
		{.name = {"local", 5},
		 .provisioner = {"kubernetes.io/no-provisioner", 28},
		 .waits = true},
		{.name = {"lvm", 3}, .provisioner = {"lvm", 3}, .waits = true},
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		cluster_apply_storage_class(s->cluster, &classes[i], NULL);
	cluster_apply_csi_driver(
		s->cluster, &(struct csi_driver_facts){.name = STR("lvm"), .tells_capacity = true},
		NULL);
	cluster_apply_volume(s->cluster, &(struct volume_facts){.name = STR("pv")}, NULL);
	cluster_apply_volume(s->cluster,
			     &(struct volume_facts){.name = STR("ebs"), .translated = true}, NULL);
	cluster_apply_volume(s->cluster,
			     &(struct volume_facts){.name = STR("huge"), .unread = true}, NULL);
	waits(s, CLAIM("weights"));
	assert_int_equal(doubt_of(s), VOLUME_DOUBT_MISSING);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct volume_claim_facts claim = cases[i].claim;

		claim.namespace = STR("team");
		claim.name = STR("weights");
		assert_int_equal(cluster_apply_volume_claim(s->cluster, &claim, NULL), 0);
		if (doubt_of(s) != cases[i].doubt)
			fail_msg("%s: %s", cases[i].what, volume_doubt_text(doubt_of(s)));
	}
	cluster_delete(s->cluster, CLUSTER_VOLUME_CLAIMS, STR("team"), STR("weights"));
	assert_int_equal(doubt_of(s), VOLUME_DOUBT_MISSING);
}

static void before_all_are_read_no_claim_is_believed(void **state)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = *state;

	cluster_free(s->cluster);
	s->cluster = cluster_new(&key);
	add_node(s, "a", "a");
	waits(s, CLAIM("weights"));
	bound(s, "weights", "pv");
	volume_in(s, "pv", "a");
	assert_int_equal(doubt_of(s), VOLUME_DOUBT_UNREAD);
	/* A pod without one does not wait for that. */
	cluster_delete(s->cluster, CLUSTER_PODS, STR("team"), STR("asks"));
	add_pod(s, (struct pod){.name = "asks", .gpus = 1});
	assert_int_equal(verdict_of(s, "a"), HOST_FITS);
}

static void a_claim_for_one_pod_is_not_for_two(void **state)
{
	const struct volume_claim_facts once = {.namespace = STR("team"),
						.name = STR("weights"),
						.volume = STR("pv"),
						.bound = true,
						.once = true};
	struct scene *s = *state;

	cluster_apply_volume(s->cluster, &(struct volume_facts){.name = STR("pv")}, NULL);
	cluster_apply_volume_claim(s->cluster, &once, NULL);
	waits(s, CLAIM("weights"));
	add_pod(s, (struct pod){.name = "waits too", .gpus = 1, .volumes = {CLAIM("weights")}});
	assert_int_equal(doubt_of(s), VOLUME_DOUBT_NONE);
	add_pod(s, (struct pod){.name = "has it", .node = "b", .volumes = {CLAIM("weights")}});
	assert_int_equal(doubt_of(s), VOLUME_DOUBT_IN_USE);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("team"), STR("has it"));
	assert_int_equal(doubt_of(s), VOLUME_DOUBT_NONE);
	/* Its own: it would be moved. */
	add_pod(s, (struct pod){
			   .name = "asks", .node = "a", .gpus = 1, .volumes = {CLAIM("weights")}});
	assert_int_equal(doubt_of(s), VOLUME_DOUBT_NONE);
}

static void an_ephemeral_claim_is_its_pods(void **state)
{
	struct volume_claim_facts claim = {.namespace = STR("team"),
					   .name = STR("asks-scratch"),
					   .volume = STR("pv"),
					   .bound = true};
	struct scene *s = *state;

	cluster_apply_volume(s->cluster, &(struct volume_facts){.name = STR("pv")}, NULL);
	cluster_apply_volume_claim(s->cluster, &claim, NULL);
	waits(s, (struct pod_volume){VOLUME_EPHEMERAL, STR("asks-scratch")});
	assert_int_equal(doubt_of(s), VOLUME_DOUBT_ANOTHERS);
	claim.owner_uid = STR("asks");
	cluster_apply_volume_claim(s->cluster, &claim, NULL);
	assert_int_equal(doubt_of(s), VOLUME_DOUBT_NONE);
	/* The pod that would be made in its place has another. */
	add_pod(s, (struct pod){.name = "asks",
				.node = "a",
				.gpus = 1,
				.volumes = {{VOLUME_EPHEMERAL, STR("asks-scratch")}}});
	assert_int_equal(doubt_of(s), VOLUME_DOUBT_ANEW);
}

/* --- claims that wait for their pod */

static void a_claim_that_waits_is_made_where_its_class_allows(void **state)
{
	const struct str zone = STR("b");
	const struct node_requirement in = {STR("topology.kubernetes.io/zone"), NODE_IN, &zone, 1};
	const struct node_term term = {.labels = &in, .n_labels = 1};
	struct storage_class_facts class = {
		.name = STR("waits"), .provisioner = STR("d"), .waits = true};
	struct volume_claim_facts claim = {
		.namespace = STR("team"), .name = STR("weights"), .class = STR("waits")};
	struct scene *s = *state;

	cluster_apply_storage_class(s->cluster, &class, NULL);
	cluster_apply_volume_claim(s->cluster, &claim, NULL);
	waits(s, CLAIM("weights"));
	assert_verdicts(s, HOST_FITS, HOST_FITS, HOST_FITS);
	class.chooses = true;
	class.terms = &term;
	class.n_terms = 1;
	cluster_apply_storage_class(s->cluster, &class, NULL);
	assert_verdicts(s, HOST_VOLUMES_ELSEWHERE, HOST_FITS, HOST_VOLUMES_ELSEWHERE);
	/* kube-scheduler chose a node, where it is being made. */
	class.chooses = false;
	claim.chosen = true;
	claim.node = STR("a");
	cluster_apply_storage_class(s->cluster, &class, NULL);
	cluster_apply_volume_claim(s->cluster, &claim, NULL);
	assert_verdicts(s, HOST_FITS, HOST_VOLUMES_ELSEWHERE, HOST_VOLUMES_ELSEWHERE);
}

/* Tenants write claims. What they name is compared as it is, also where nothing can have such a
 * name. */
static void what_is_no_name_is_named_all_the_same(void **state)
{
	static char text[2 * LIMIT_INTERNED_STRING];
	const struct str far = {text, sizeof(text)};
	const struct storage_class_facts class = {
		.name = STR("waits"), .provisioner = STR("d"), .waits = true};
	const struct {
		const char *what;
		struct volume_claim_facts claim;
		enum volume_doubt doubt;
		enum host_verdict verdict;
	} cases[] = {
		{"a volume", {.volume = far, .bound = true}, VOLUME_DOUBT_VOLUMELESS, HOST_FITS},
		{"a volume that is to be", {.volume = far}, VOLUME_DOUBT_UNBOUND, HOST_FITS},
		{"a node",
		 {.chosen = true, .node = far},
		 VOLUME_DOUBT_NONE,
		 HOST_VOLUMES_ELSEWHERE},
		{"no node", {.chosen = true}, VOLUME_DOUBT_NONE, HOST_VOLUMES_ELSEWHERE},
	};
	struct scene *s = *state;

	memset(text, 'x', sizeof(text));
	cluster_apply_storage_class(s->cluster, &class, NULL);
	waits(s, CLAIM("weights"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct volume_claim_facts claim = cases[i].claim;

		claim.namespace = STR("team");
		claim.name = STR("weights");
		claim.class = STR("waits");
		cluster_apply_volume_claim(s->cluster, &claim, NULL);
		if (doubt_of(s) != cases[i].doubt ||
		    (cases[i].doubt == VOLUME_DOUBT_NONE && verdict_of(s, "a") != cases[i].verdict))
			fail_msg("%s", cases[i].what);
	}
}

/* --- how many a node can attach */

static void csi(struct scene *s, const char *claim, const char *handle)
{
	const struct volume_facts facts = {
		.name = str_from(handle), .driver = STR("d"), .handle = str_from(handle)};

	cluster_apply_volume(s->cluster, &facts, NULL);
	bound(s, claim, handle);
}

static void limit(struct scene *s, const char *node, int64_t most)
{
	const struct csi_node_driver driver = {STR("d"), most};

	cluster_apply_csi_node(s->cluster, &(struct csi_node_facts){str_from(node), &driver, 1},
			       NULL);
}

static void a_node_attaches_so_many_volumes(void **state)
{
	struct scene *s = *state;

	csi(s, "weights", "v");
	csi(s, "one", "v1");
	csi(s, "two", "v2");
	waits(s, CLAIM("weights"));
	add_pod(s, (struct pod){.name = "p", .node = "a", .volumes = {CLAIM("one"), CLAIM("two")}});
	add_pod(s, (struct pod){.name = "q", .node = "a", .gpus = 1, .volumes = {CLAIM("two")}});
	limit(s, "a", 2);
	limit(s, "b", 0);
	assert_verdicts(s, HOST_VOLUMES_FULL, HOST_VOLUMES_FULL, HOST_FITS);
	limit(s, "a", 3);
	limit(s, "b", -1);
	assert_verdicts(s, HOST_FITS, HOST_FITS, HOST_FITS);
	/* What cannot be told apart counts as one more. */
	add_pod(s, (struct pod){.name = "q",
				.node = "a",
				.gpus = 1,
				.volumes = {CLAIM("two"), {VOLUME_INLINE, STR("x")}}});
	assert_verdicts(s, HOST_VOLUMES_FULL, HOST_FITS, HOST_FITS);
	/* What is attached there is no new one. */
	add_pod(s, (struct pod){
			   .name = "p", .node = "a", .volumes = {CLAIM("one"), CLAIM("weights")}});
	assert_verdicts(s, HOST_FITS, HOST_FITS, HOST_FITS);
}

static void a_driver_may_have_to_be_there(void **state)
{
	struct csi_driver_facts driver = {.name = STR("d"), .must_be_there = true};
	struct scene *s = *state;

	csi(s, "weights", "v");
	limit(s, "a", 1);
	waits(s, CLAIM("weights"));
	cluster_apply_csi_driver(s->cluster, &driver, NULL);
	assert_verdicts(s, HOST_FITS, HOST_VOLUMES_FULL, HOST_VOLUMES_FULL);
	driver.must_be_there = false;
	cluster_apply_csi_driver(s->cluster, &driver, NULL);
	assert_verdicts(s, HOST_FITS, HOST_FITS, HOST_FITS);
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_clash_as_kube_scheduler_says),
		SCENE_TEST(a_port_is_taken_until_its_pod_is_gone),
		SCENE_TEST(a_bound_claim_is_where_its_volume_is),
		SCENE_TEST(all_claims_count),
		SCENE_TEST(labels_of_old_volumes_name_zones),
		SCENE_TEST(doubts_are_told),
		SCENE_TEST(before_all_are_read_no_claim_is_believed),
		SCENE_TEST(a_claim_for_one_pod_is_not_for_two),
		SCENE_TEST(an_ephemeral_claim_is_its_pods),
		SCENE_TEST(a_claim_that_waits_is_made_where_its_class_allows),
		SCENE_TEST(what_is_no_name_is_named_all_the_same),
		SCENE_TEST(a_node_attaches_so_many_volumes),
		SCENE_TEST(a_driver_may_have_to_be_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
