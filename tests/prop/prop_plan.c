/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random plans on small clusters against brute force: every set of groups on every node is tried.
 * The plan has the cost of the cheapest that fits, and is the one that comes first of those that
 * cost the same; keeping any one of its groups breaks the fit; nobody who is exempt is among its
 * victims; and the cluster without these pods has room for the one that waits. One that is not
 * hasty is the same or none yet; where there is one, keeping any of its groups breaks the fit also
 * once kubelet has told of every pod, whatever that is, and whoever was to go is gone.
 *
 * GPUQOS_SEED=n repeats one plan, GPUQOS_SOAK=1 makes many more.
 *
 * size: the model stays beside what it is compared with
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/looks.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "cluster/volumes/volumes.h"
#include "lib/layouts.h"
#include "lib/team.h"
#include "plan/plan.h"

#define PLANS      10000
#define SOAK_PLANS 500000
#define NOW_S      2000000
#define NOW        (NOW_S * USEC_PER_SEC)

enum { NODES = 3, PODS = 16, TENANTS = 3, BYSTANDERS = 6, NO_NODE = -1 };

/* Whom a pod keeps away that is on a node: the one that waits, from that node or its zone, or
 * others. */
enum repels { NOBODY, OTHERS, FROM_NODE, FROM_ZONE };

struct pod {
	int tenant; /* TENANTS: of none */
	int node;
	int64_t cards;
	int64_t age_s, checkpoint_s; /* ago; checkpoint_s 0: none */
	int gang;                    /* of its tenant's; 0: none */
	enum pod_phase phase;
	bool terminating;
	enum topology_policy policy;
	uint64_t told_cards; /* by kubelet */
	struct demand demand;
	enum repels repels;
	int32_t port; /* of its node; 0: none */
};

/* A pod without GPUs. */
struct bystander {
	int node;
	struct demand demand;
	enum repels repels;
	int32_t port;
	bool over;
	bool beside; /* it is of the namespace of the pod that waits */
};

/* Of a node, and of the pod that waits: zones "a" and "b". */
enum zone { NO_ZONE, ZONE_A, ZONE_B };

struct wishes {
	enum zone selects;       /* nodeSelector; NO_ZONE: none */
	bool chooses, not_named; /* affinity: not in zone b, or its name is node-0; or is not */
	bool tolerates;
	enum zone volume;  /* where that is, which it has a claim of; NO_ZONE: it has none */
	enum repels apart; /* its own anti-affinity, FROM_NODE or FROM_ZONE of pods of its namespace
			    */
};

struct world {
	struct random random;
	uint64_t seed;
	struct cluster *cluster;
	struct machine machines[NODES];
	size_t n_cards[NODES];
	struct host_facts hosts[NODES];
	enum zone zones[NODES];
	struct wishes wishes;
	struct pod pods[PODS]; /* the last waits */
	struct bystander bystanders[BYSTANDERS];
	enum tenant_tier tiers[TENANTS];
	int64_t ceiling_gpus;
	struct topology_spec topology;
	struct place_memory memory, other_memory;
	struct arena arena, other_arena;
	struct placement_weights weights;
	struct plan_ask ask;
};

static struct world world;
static size_t n_found, n_none, n_fitting, n_quota, n_sets, n_victims_most, n_gangs, n_unhosted;
static size_t n_patient, n_waiting;

static uint32_t below(struct world *w, uint32_t bound)
{
	return (uint32_t)random_below(&w->random, bound);
}

static bool chance(struct world *w, uint32_t one_in)
{
	return below(w, one_in) == 0;
}

struct name {
	char text[24];
};

static struct name name_of(const char *kind, int number)
{
	struct name name;

	snprintf(name.text, sizeof(name.text), "%s-%d", kind, number);
	return name;
}

/* --- telling */

static struct str zone_name(enum zone zone)
{
	return zone == ZONE_A ? STR("a") : STR("b");
}

static void tell_node(struct world *w, struct cluster *cluster, int n)
{
	struct name name = name_of("node", n);
	struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
				     .product = STR("H100"),
				     .unit_memory = 80 * GIB,
				     .count = (int64_t)w->n_cards[n],
				     .allocatable = (int64_t)w->n_cards[n],
				     .sharing = DEVICE_WHOLE};
	struct node_facts facts = {.name = str_from(name.text),
				   .uid = str_from(name.text),
				   .ready = NODE_READY,
				   .offers = &offer,
				   .n_offers = 1,
				   .layout = &w->machines[n].layout,
				   .layout_state = LAYOUT_IS_KNOWN};
	struct label labels[2] = {{STR("kubernetes.io/hostname"), str_from(name.text)},
				  {STR("zone"), zone_name(w->zones[n])}};
	static const struct taint taint = {{"dedicated", 9}, {"chat", 4}, TAINT_NO_SCHEDULE};
	struct host_facts host = w->hosts[n];

	host.labels = labels;
	host.n_labels = w->zones[n] == NO_ZONE ? 1 : 2;
	host.taints = &taint;
	facts.host = &host;
	assert_int_equal(cluster_apply_node(cluster, &facts, NULL), 0);
}

static void tell_tenant(struct world *w, struct cluster *cluster, int t)
{
	struct name name = name_of("team", t);
	struct str value = str_from(name.text);
	struct label_requirement requirement = {STR("team"), LABEL_IN, &value, 1};
	struct label label = {STR("team"), value};
	struct tenant_facts facts = {
		.name = value,
		.uid = value,
		.spec = {.namespaces = {&requirement, 1},
			 .tier = t < TENANTS ? w->tiers[t] : TIER_TRAINING,
			 .ceiling = AMOUNT_NONE,
			 .ceiling_gpus = t == 0 ? w->ceiling_gpus : AMOUNT_NONE,
			 .topology = w->topology,
			 .preemptible = PREEMPTIBLE_DEFAULT}};
	struct namespace_facts namespace = {
		.name = value, .uid = value, .labels = &label, .n_labels = t < TENANTS};
	struct quota_facts quota = {
		.namespace = value,
		.name = STR("q"),
		.uid = STR("q"),
		.spec = {.gpu_memory = 100000 * GIB,
			 .gpus = AMOUNT_NONE,
			 .pod_gpu_memory = AMOUNT_NONE,
			 .pod_gpus = AMOUNT_NONE},
		.has_status = true,
		.status = {.granted = 100000 * GIB,
			   .effective = 100000 * GIB,
			   .granted_gpus = 1000,
			   .effective_gpus = 1000,
			   .tenant = t < TENANTS ? value : STR_NONE},
	};

	assert_int_equal(cluster_apply_namespace(cluster, &namespace, NULL), 0);
	assert_int_equal(cluster_apply_quota(cluster, &quota, NULL), 0);
	if (t < TENANTS)
		assert_int_equal(cluster_apply_tenant(cluster, &facts, NULL), 0);
}

static struct pod_repel repel_of(enum repels repels)
{
	static const struct str web = {"web", 3}, other = {"other", 5};
	static const struct label_requirement is_web = {{"app", 3}, LABEL_IN, &web, 1};
	static const struct label_requirement is_other = {{"app", 3}, LABEL_IN, &other, 1};

	return (struct pod_repel){
		.topology_key = repels == FROM_ZONE ? STR("zone") : STR("kubernetes.io/hostname"),
		.everywhere = true,
		.selector = {repels == OTHERS ? &is_other : &is_web, 1},
	};
}

/* In its place for as long as the facts are. */
struct asked {
	struct pod_terms terms;
	struct label selector, own;
	struct node_requirement not_b, named;
	struct node_term either[2];
	struct toleration toleration;
	struct str b, name;
};

static void ask_of(const struct wishes *wishes, struct asked *asked, struct pod_facts *facts)
{
	*asked = (struct asked){
		.selector = {STR("zone"), zone_name(wishes->selects)},
		.own = {STR("app"), STR("web")},
		.b = STR("b"),
		.name = STR("node-0"),
		.toleration = {STR("dedicated"), STR("chat"), false, TAINT_ANY},
	};
	asked->not_b = (struct node_requirement){STR("zone"), NODE_NOT_IN, &asked->b, 1};
	asked->named = (struct node_requirement){
		STR("metadata.name"), wishes->not_named ? NODE_NOT_IN : NODE_IN, &asked->name, 1};
	asked->either[0] = (struct node_term){.labels = &asked->not_b, .n_labels = 1};
	asked->either[1] = (struct node_term){.names = &asked->named, .n_names = 1};
	asked->terms = (struct pod_terms){
		.selector = &asked->selector,
		.n_selector = wishes->selects != NO_ZONE,
		.chooses = wishes->chooses,
		.terms = asked->either,
		.n_terms = wishes->chooses ? 2 : 0,
		.tolerations = &asked->toleration,
		.n_tolerations = wishes->tolerates,
	};
	facts->terms = &asked->terms;
	facts->exit.labels = &asked->own;
	facts->exit.n_labels = 1;
}

static struct host_port port_of(int32_t number)
{
	return (struct host_port){STR(HOST_PORT_ALL), STR("TCP"), number};
}

static const struct pod_volume weights_volume = {VOLUME_CLAIM, {"weights", 7}};

/* Of the pod that waits, bound to a volume. */
static void tell_volumes(const struct world *w, struct cluster *cluster)
{
	const struct volume_claim_facts claim = {.namespace = STR("team-0"),
						 .name = weights_volume.claim,
						 .volume = STR("pv"),
						 .bound = true};
	const struct str zone = zone_name(w->wishes.volume);
	const struct node_requirement in = {STR("zone"), NODE_IN, &zone, 1};
	const struct node_term term = {.labels = &in, .n_labels = 1};
	const struct volume_facts volume = {
		.name = STR("pv"), .chooses = true, .terms = &term, .n_terms = 1};

	assert_int_equal(cluster_apply_volume_claim(cluster, &claim, NULL), 0);
	assert_int_equal(cluster_apply_volume(cluster, &volume, NULL), 0);
	for (int kind = 0; kind < CLUSTER_KIND_COUNT; kind++)
		if (cluster_is_of_volumes((enum cluster_kind)kind) &&
		    kind != CLUSTER_VOLUME_CLAIMS && kind != CLUSTER_VOLUMES) {
			cluster_begin_replace(cluster, (enum cluster_kind)kind);
			cluster_end_replace(cluster, (enum cluster_kind)kind);
		}
	cluster_end_replace(cluster, CLUSTER_VOLUME_CLAIMS);
	cluster_end_replace(cluster, CLUSTER_VOLUMES);
}

static void tell_pod(struct world *w, struct cluster *cluster, int p)
{
	const struct host_port port = port_of(w->pods[p].port);
	struct pod_repel repel = repel_of(w->pods[p].repels);
	struct asked asked;
	const struct pod *pod = &w->pods[p];
	struct name name = name_of("pod", p), space = name_of("team", pod->tenant);
	struct name node = name_of("node", pod->node), gang = name_of("gang", pod->gang);
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), pod->cards);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct str ids[LIMIT_LAYOUT_GPUS];
	struct pod_facts facts = {
		.namespace = str_from(space.text),
		.name = str_from(name.text),
		.uid = str_from(name.text),
		.created_us = NOW - pod->age_s * USEC_PER_SEC,
		.node = pod->node == NO_NODE ? STR_NONE : str_from(node.text),
		.phase = pod->phase,
		.terminating = pod->terminating,
		.containers = &container,
		.n_containers = 1,
		.alignment = {.guaranteed = true,
			      .whole_cpus = true,
			      .wished = pod->policy != TOPOLOGY_NONE,
			      .policy = pod->policy},
		.device_ids = ids,
		.demand = pod->demand,
		.exit = {.gang = pod->gang > 0 ? GANG_KUEUE : GANG_NONE,
			 .gang_name = pod->gang > 0 ? str_from(gang.text) : STR_NONE,
			 .checkpoint_us = pod->checkpoint_s > 0
						  ? NOW - pod->checkpoint_s * USEC_PER_SEC
						  : 0},
	};

	facts.ports = &port;
	facts.n_ports = pod->port > 0;
	facts.repels = &repel;
	facts.n_repels = pod->repels != NOBODY;
	if (p == PODS - 1) {
		ask_of(&w->wishes, &asked, &facts);
		repel = repel_of(w->wishes.apart);
		repel.everywhere = false;
		facts.n_repels = w->wishes.apart != NOBODY;
		facts.volumes = &weights_volume;
		facts.n_volumes = w->wishes.volume != NO_ZONE;
	}
	for (size_t card = 0; pod->node != NO_NODE && card < w->n_cards[pod->node]; card++)
		if (pod->told_cards >> card & 1)
			ids[facts.n_device_ids++] = w->machines[pod->node].gpus[card].uuid;
	assert_int_equal(cluster_apply_pod(cluster, &facts, NULL), 0);
}

static void tell_bystander(const struct world *w, struct cluster *cluster, int b)
{
	const struct bystander *bystander = &w->bystanders[b];
	struct name name = name_of("bystander", b), node = name_of("node", bystander->node);
	struct pod_repel repel = repel_of(bystander->repels);
	const struct host_port port = port_of(bystander->port);
	struct pod_facts facts = {
		.ports = &port,
		.n_ports = bystander->port > 0,
		.namespace = bystander->beside ? STR("team-0") : STR("kube-system"),
		.name = str_from(name.text),
		.uid = str_from(name.text),
		.node = str_from(node.text),
		.phase = bystander->over ? POD_SUCCEEDED : POD_RUNNING,
		.demand = bystander->demand,
		.repels = &repel,
		.n_repels = bystander->repels != NOBODY,
	};

	assert_int_equal(cluster_apply_pod(cluster, &facts, NULL), 0);
}

/* @gone: pods that it is not told of, each a bit. */
static struct cluster *tell_all_but(struct world *w, uint32_t gone)
{
	static const struct hash_key key = {3, 4};
	struct cluster *cluster = cluster_new(&key);

	for (int t = 0; t <= TENANTS; t++)
		tell_tenant(w, cluster, t);
	for (int n = 0; n < NODES; n++)
		tell_node(w, cluster, n);
	for (int p = 0; p < PODS; p++)
		if (!(gone >> p & 1))
			tell_pod(w, cluster, p);
	for (int b = 0; b < BYSTANDERS; b++)
		tell_bystander(w, cluster, b);
	tell_volumes(w, cluster);
	team_refresh(cluster);
	return cluster;
}

static uint32_t pod_handle(const struct world *w, const struct cluster *cluster, int p)
{
	struct name name = name_of("pod", p), space = name_of("team", w->pods[p].tenant);

	return cluster_pod_find(cluster, str_from(space.text), str_from(name.text),
				str_from(name.text));
}

static uint32_t node_handle(const struct cluster *cluster, int n)
{
	struct name name = name_of("node", n);

	return cluster_node_find(cluster, str_from(name.text));
}

/* --- a random cluster */

static int64_t free_on(const struct world *w, int n)
{
	int64_t left = (int64_t)w->n_cards[n];

	for (int p = 0; p < PODS; p++)
		if (w->pods[p].node == n && w->pods[p].phase != POD_SUCCEEDED)
			left -= w->pods[p].cards;
	return left;
}

static void give_cards(struct world *w, struct pod *pod)
{
	uint64_t taken = 0;

	for (int p = 0; p < PODS; p++)
		if (&w->pods[p] != pod && w->pods[p].node == pod->node &&
		    w->pods[p].phase != POD_SUCCEEDED)
			taken |= w->pods[p].told_cards;
	while (__builtin_popcountll(pod->told_cards) < pod->cards) {
		uint32_t card = below(w, (uint32_t)w->n_cards[pod->node]);

		if (!(taken >> card & 1))
			pod->told_cards |= UINT64_C(1) << card;
	}
}

static void make_pod(struct world *w, int p)
{
	static const int64_t ages[] = {0, 59, 60, 61, 100, 100, 100, 1000, 1000, 1000, 50000};
	struct pod *pod = &w->pods[p];

	*pod = (struct pod){
		.tenant = chance(w, 12) ? TENANTS : (int)below(w, TENANTS),
		.node = (int)below(w, NODES),
		.cards = 1 + below(w, chance(w, 2) ? 1 : 5),
		.age_s = ages[below(w, ARRAY_SIZE(ages))],
		.phase = chance(w, 12)   ? POD_SUCCEEDED
			 : chance(w, 10) ? POD_PENDING
					 : POD_RUNNING,
		.terminating = chance(w, 20),
		.gang = chance(w, 3) ? 1 + (int)below(w, 2) : 0,
	};
	if (chance(w, 3) && pod->age_s > 1)
		pod->checkpoint_s = 1 + below(w, (uint32_t)pod->age_s - 1);
	if (free_on(w, pod->node) < 0)
		pod->node = NO_NODE;
	if (pod->node != NO_NODE && pod->phase == POD_RUNNING)
		give_cards(w, pod);
}

static void make_node(struct world *w, int n)
{
	struct machine *machine = &w->machines[n];

	if (chance(w, 2))
		machine_dgx_h100(machine);
	else
		machine_pcie_box(machine);
	w->n_cards[n] = machine->layout.n_gpus;
	for (size_t card = 0; card < w->n_cards[n]; card++) {
		snprintf(machine->uuids[card], sizeof(machine->uuids[card]), "g%d-%d", n,
			 (int)card);
		machine->gpus[card].uuid = str_from(machine->uuids[card]);
	}
	machine->layout.kubelet = (struct layout_kubelet){
		chance(w, 2) ? LAYOUT_POLICY_SINGLE_NUMA : LAYOUT_POLICY_NONE, false, true};
}

static enum repels random_repels(struct world *w)
{
	return chance(w, 12) ? (enum repels)(1 + below(w, 3)) : NOBODY;
}

/* In most clusters nothing but what nodes have is in the way. */
static void make_terms(struct world *w)
{
	bool choosy = chance(w, 3);

	for (int n = 0; n < NODES; n++) {
		w->zones[n] = (enum zone)below(w, 3);
		w->hosts[n].n_taints = choosy && chance(w, 3);
	}
	w->wishes = (struct wishes){0};
	if (!choosy)
		return;
	w->wishes = (struct wishes){chance(w, 3) ? (enum zone)below(w, 3) : NO_ZONE,
				    chance(w, 2),
				    chance(w, 2),
				    chance(w, 2),
				    NO_ZONE,
				    chance(w, 4) ? FROM_NODE + below(w, 2) : NOBODY};
	for (int p = 0; p < PODS - 1; p++)
		w->pods[p].repels = random_repels(w);
	for (int b = 0; b < BYSTANDERS; b++)
		w->bystanders[b].repels = random_repels(w);
}

/* In most clusters few pods have ports or volumes. */
static void make_mounts(struct world *w)
{
	if (chance(w, 4))
		w->wishes.volume = ZONE_A + below(w, 2);
	if (!chance(w, 4))
		return;
	w->pods[PODS - 1].port = 1;
	for (int p = 0; p < PODS - 1; p++)
		w->pods[p].port = chance(w, 4) ? 1 + (int32_t)below(w, 2) : 0;
	for (int b = 0; b < BYSTANDERS; b++)
		w->bystanders[b].port = chance(w, 8);
}

/* Most clusters have plenty of all but cards. */
static void make_demands(struct world *w)
{
	bool scarce = chance(w, 3);

	for (int n = 0; n < NODES; n++)
		w->hosts[n] = (struct host_facts){
			.allocatable = {{scarce ? 8000 + 1000 * (int64_t)below(w, 16) : 512000,
					 scarce ? (8 + (int64_t)below(w, 16)) * GIB : 2048 * GIB,
					 GIB}},
			.pods = scarce && chance(w, 2) ? 4 + below(w, 6) : 110,
			.cordoned = chance(w, 20),
		};
	make_terms(w);
	for (int p = 0; p < PODS; p++)
		w->pods[p].demand =
			(struct demand){{chance(w, 8) ? 0 : 500 * (int64_t)below(w, 9),
					 chance(w, 8) ? 0 : (int64_t)below(w, 5) * GIB, 0}};
	for (int b = 0; b < BYSTANDERS; b++)
		w->bystanders[b] = (struct bystander){
			.repels = w->bystanders[b].repels,
			.beside = chance(w, 4),
			.node = (int)below(w, NODES),
			.demand = {{250 * (int64_t)below(w, 9), (int64_t)below(w, 3) * GIB, 0}},
			.over = chance(w, 6),
		};
	make_mounts(w);
}

static void make(struct world *w, uint64_t seed)
{
	w->seed = seed;
	random_init(&w->random, seed);
	w->weights = PLACEMENT_WEIGHTS_DEFAULT;
	for (int p = 0; p < PODS; p++)
		w->pods[p] = (struct pod){.node = NO_NODE};
	for (int t = 0; t < TENANTS; t++)
		w->tiers[t] = chance(w, 3) ? (enum tenant_tier)below(w, 3) : TIER_BEST_EFFORT;
	w->tiers[0] = chance(w, 4) ? TIER_TRAINING : TIER_INFERENCE;
	w->ceiling_gpus = chance(w, 6) ? 1 + below(w, 8) : AMOUNT_NONE;
	w->topology = (struct topology_spec){(enum topology_policy)below(w, 3),
					     (enum layout_scope)below(w, 3), MISMATCH_ALERT};
	for (int n = 0; n < NODES; n++)
		make_node(w, n);
	for (int p = 0; p < PODS - 1; p++)
		make_pod(w, p);
	w->pods[PODS - 1] = (struct pod){
		.tenant = 0,
		.node = NO_NODE,
		.cards = 1 + below(w, chance(w, 2) ? 4 : 8),
		.phase = POD_PENDING,
	};
	make_demands(w);
	w->cluster = tell_all_but(w, 0);
	w->ask = (struct plan_ask){
		.pod = pod_handle(w, w->cluster, PODS - 1),
		.tier = w->tiers[0],
		.protection = PROTECTION_DEFAULT,
		.most = chance(w, 4) ? 1 + below(w, 3) : 16,
		.hasty = true,
		.now_us = NOW,
		.now_real_us = NOW,
	};
	if (chance(w, 4))
		w->ask.protection.victim_tiers = below(w, 8);
}

/* --- brute force */

static bool is_in_gang(const struct world *w, const struct pod *pod, int p)
{
	const struct pod *other = &w->pods[p];

	return other->tenant == pod->tenant && other->gang == pod->gang && p != PODS - 1 &&
	       other->phase != POD_SUCCEEDED;
}

/* What of its gang tells how long it ran, and when it saved that. */
static void times_of(const struct world *w, int p, int64_t *ret_age, int64_t *ret_checkpoint)
{
	const struct pod *pod = &w->pods[p];

	int64_t gang_age = -1;

	*ret_age = pod->age_s;
	*ret_checkpoint = pod->checkpoint_s;
	for (int k = 0; pod->gang > 0 && k < PODS; k++) {
		const struct pod *other = &w->pods[k];

		if (!is_in_gang(w, pod, k))
			continue;
		if (other->phase == POD_RUNNING && !other->terminating)
			gang_age = MAX(gang_age, other->age_s);
		if (other->checkpoint_s > 0 &&
		    (*ret_checkpoint == 0 || other->checkpoint_s < *ret_checkpoint))
			*ret_checkpoint = other->checkpoint_s;
	}
	if (gang_age >= 0)
		*ret_age = gang_age;
	if (*ret_checkpoint > *ret_age)
		*ret_checkpoint = 0;
}

static bool goes_along(const struct pod *pod)
{
	return pod->node != NO_NODE && pod->phase != POD_SUCCEEDED && !pod->terminating;
}

static bool is_eligible(const struct world *w, int p)
{
	const struct pod *pod = &w->pods[p];
	int64_t age, checkpoint;

	times_of(w, p, &age, &checkpoint);
	return p != PODS - 1 && goes_along(pod) && pod->tenant < TENANTS &&
	       w->tiers[pod->tenant] < w->ask.tier &&
	       (w->ask.protection.victim_tiers >> w->tiers[pod->tenant] & 1) && age >= 60;
}

/* Who goes with it, itself too; 0: nobody, since one of them may not. */
static uint32_t group_of(const struct world *w, int p)
{
	const struct pod *pod = &w->pods[p];
	uint32_t set = 0;

	if (!is_eligible(w, p))
		return 0;
	if (pod->gang == 0)
		return UINT32_C(1) << p;
	for (int k = 0; k < PODS; k++) {
		if (!is_in_gang(w, pod, k) || !goes_along(&w->pods[k]))
			continue;
		if (!is_eligible(w, k))
			return 0;
		set |= UINT32_C(1) << k;
	}
	return set;
}

static struct plan_cost cost_of(const struct world *w, uint32_t set)
{
	struct plan_cost cost = {0};

	for (int p = 0; p < PODS; p++) {
		const struct pod *pod = &w->pods[p];
		int64_t age, checkpoint;

		if (!(set >> p & 1))
			continue;
		times_of(w, p, &age, &checkpoint);
		if (checkpoint > 0)
			age -= MIN(age - checkpoint, 3600);
		cost.lost += pod->phase == POD_RUNNING ? age * pod->cards : 0;
		cost.pods++;
		cost.owned += pod->cards * 80 * GIB;
		cost.busy += pod->cards * 1000;
	}
	return cost;
}

static int64_t sign(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int64_t compare(const struct plan_cost *a, const struct plan_cost *b)
{
	int64_t by = sign(a->lost, b->lost);

	by = by ? by : sign(a->pods, b->pods);
	by = by ? by : sign(a->owned, b->owned);
	return by ? by : sign(a->busy, b->busy);
}

static bool is_repelled_from(const struct world *w, int n, enum repels repels, int by)
{
	return (repels == FROM_NODE && n == by) ||
	       (repels == FROM_ZONE && w->zones[n] != NO_ZONE && w->zones[n] == w->zones[by]);
}

/* By a pod on another node, or that one, in whichever direction they keep apart. */
static bool is_closed_by(const struct world *w, int n, enum repels repels, bool beside, int by)
{
	return is_repelled_from(w, n, repels, by) ||
	       (beside && is_repelled_from(w, n, w->wishes.apart, by));
}

/* By what the pod that waits says of it, and it of pods. */
static bool is_wished(const struct world *w, int n)
{
	const struct wishes *wishes = &w->wishes;

	if (w->hosts[n].n_taints > 0 && !wishes->tolerates)
		return false;
	if (wishes->selects != NO_ZONE && wishes->selects != w->zones[n])
		return false;
	if (wishes->volume != NO_ZONE && wishes->volume != w->zones[n])
		return false;
	return !wishes->chooses || w->zones[n] != ZONE_B || wishes->not_named != (n == 0);
}

/* What kube-scheduler would compare, with everybody there. */
static bool is_admitted(const struct world *w, int n)
{
	if (w->hosts[n].cordoned || !is_wished(w, n))
		return false;
	for (int p = 0; p < PODS - 1; p++)
		if (w->pods[p].node != NO_NODE && w->pods[p].phase != POD_SUCCEEDED &&
		    is_closed_by(w, n, w->pods[p].repels, w->pods[p].tenant == 0, w->pods[p].node))
			return false;
	for (int b = 0; b < BYSTANDERS; b++)
		if (!w->bystanders[b].over &&
		    is_closed_by(w, n, w->bystanders[b].repels, w->bystanders[b].beside,
				 w->bystanders[b].node))
			return false;
	return true;
}

static bool has_port_without(const struct world *w, int n, uint32_t gone)
{
	int32_t port = w->pods[PODS - 1].port;
	bool taken = false;

	for (int p = 0; p < PODS - 1; p++)
		taken |= w->pods[p].node == n && w->pods[p].phase != POD_SUCCEEDED &&
			 !(gone >> p & 1) && w->pods[p].port == port;
	for (int b = 0; b < BYSTANDERS; b++)
		taken |= w->bystanders[b].node == n && !w->bystanders[b].over &&
			 w->bystanders[b].port == port;
	return port == 0 || !taken;
}

/* What kube-scheduler would count. */
static bool is_hosted_without(const struct world *w, int n, uint32_t gone)
{
	const struct host_facts *host = &w->hosts[n];
	const struct pod *asks = &w->pods[PODS - 1];
	struct demand taken = {{0}};
	int64_t pods = 1;

	for (int p = 0; p < PODS - 1; p++) {
		if (w->pods[p].node != n || w->pods[p].phase == POD_SUCCEEDED || gone >> p & 1)
			continue;
		pods++;
		for (size_t i = 0; i < DEMAND_COUNT; i++)
			taken.of[i] += w->pods[p].demand.of[i];
	}
	for (int b = 0; b < BYSTANDERS; b++) {
		if (w->bystanders[b].node != n || w->bystanders[b].over)
			continue;
		pods++;
		for (size_t i = 0; i < DEMAND_COUNT; i++)
			taken.of[i] += w->bystanders[b].demand.of[i];
	}
	for (size_t i = 0; i < DEMAND_COUNT; i++)
		if (asks->demand.of[i] > 0 &&
		    taken.of[i] + asks->demand.of[i] > host->allocatable.of[i])
			return false;
	return pods <= host->pods && is_admitted(w, n) && has_port_without(w, n, gone);
}

/* In the world as it is, with these gone. */
static bool fits_without(struct world *w, int n, uint32_t gone)
{
	uint32_t handles[PODS];
	struct cluster_trial trial = {handles, 0};
	struct place_tools tools = {w->cluster, &w->weights, &w->other_memory, &w->other_arena,
				    &trial};
	struct cluster_ask ask;
	struct place place;

	for (int p = 0; p < PODS; p++)
		if (gone >> p & 1)
			handles[trial.n++] = pod_handle(w, w->cluster, p);
	arena_reset(&w->other_arena);
	cluster_ask_of_pod(w->cluster, w->ask.pod, &ask);
	place_begin(&place, &tools, &ask);
	n_sets++;
	if (place_fit(&place, node_handle(w->cluster, n)).verdict != PLACE_FITS)
		return false;
	n_unhosted += !is_hosted_without(w, n, gone);
	return is_hosted_without(w, n, gone);
}

/* In a cluster that never had them. */
static bool fits_anew(struct world *w, int n, uint32_t gone)
{
	CLEANUP(cluster_free) struct cluster *cluster = tell_all_but(w, gone);
	struct place_memory *memory = test_calloc(1, sizeof(*memory));
	struct place_tools tools = {cluster, &w->weights, memory, &w->other_arena, NULL};
	struct cluster_terms terms;
	struct cluster_ask ask;
	struct place place;
	bool fits;

	arena_reset(&w->other_arena);
	cluster_ask_of_pod(cluster, pod_handle(w, cluster, PODS - 1), &ask);
	place_begin(&place, &tools, &ask);
	assert_true(cluster_terms_of(cluster, place.ask.pod, &w->other_arena, &terms));
	fits = place_fit(&place, node_handle(cluster, n)).verdict == PLACE_FITS &&
	       host_fit(cluster, &place.ask, &terms, node_handle(cluster, n)) == HOST_FITS;
	place_memory_clear(memory);
	test_free(memory);
	return fits;
}

struct best {
	bool found, fits; /* fits: with nobody gone */
	struct plan_cost cost;
};

static size_t groups_on(const struct world *w, int n, uint32_t *ret_groups)
{
	size_t n_groups = 0;
	uint32_t all = 0;

	for (int p = 0; p < PODS; p++) {
		uint32_t group = w->pods[p].node == n ? group_of(w, p) : 0;

		if (group == 0 || all & group)
			continue;
		all |= group;
		ret_groups[n_groups++] = group;
	}
	return n_groups;
}

static void try_node(struct world *w, int n, struct best *best)
{
	uint32_t groups[PODS];
	size_t n_groups = groups_on(w, n, groups);

	if (fits_without(w, n, 0))
		best->fits = true;
	for (uint32_t choice = 1; choice < UINT32_C(1) << n_groups; choice++) {
		struct plan_cost cost;
		uint32_t set = 0;

		for (size_t i = 0; i < n_groups; i++)
			if (choice >> i & 1)
				set |= groups[i];
		if ((size_t)__builtin_popcount(set) > w->ask.most)
			continue;
		cost = cost_of(w, set);
		if ((best->found && compare(&cost, &best->cost) >= 0) || !fits_without(w, n, set))
			continue;
		best->found = true;
		best->cost = cost;
	}
}

/* --- the plan */

static uint32_t set_of(const struct world *w, const struct plan_found *found)
{
	uint32_t set = 0;

	for (size_t i = 0; i < found->n_victims; i++)
		for (int p = 0; p < PODS; p++)
			if (pod_handle(w, w->cluster, p) == found->victims[i])
				set |= UINT32_C(1) << p;
	return set;
}

static void fail_at(const struct world *w, const char *what)
{
	fail_msg("seed %llu: %s", (unsigned long long)w->seed, what);
}

static void check_found(struct world *w, const struct plan_found *found, const struct best *best)
{
	uint32_t set = set_of(w, found);
	struct plan_cost cost = cost_of(w, set);
	int n = 0;

	while (node_handle(w->cluster, n) != found->node)
		n++;
	if (!best->found)
		fail_at(w, "a plan where there is none");
	if (compare(&cost, &found->cost) != 0 || compare(&cost, &best->cost) != 0)
		fail_at(w, "it is not what the cheapest costs");
	if ((size_t)__builtin_popcount(set) != found->n_victims || found->n_victims > w->ask.most)
		fail_at(w, "another number of victims");
	for (int p = 0; p < PODS; p++) {
		if (!(set >> p & 1))
			continue;
		if (group_of(w, p) == 0)
			fail_at(w, "somebody who is exempt");
		if (group_of(w, p) & ~set)
			fail_at(w, "a part of a gang");
		n_gangs += group_of(w, p) != UINT32_C(1) << p;
		if (fits_without(w, n, set & ~group_of(w, p)))
			fail_at(w, "somebody who could stay");
	}
	if (!fits_anew(w, n, set))
		fail_at(w, "it does not fit when they are gone");
	if (!found->exact)
		fail_at(w, "it was not exact");
	n_found++;
	n_victims_most = MAX(n_victims_most, found->n_victims);
}

static struct plan *run_plan(struct world *w)
{
	struct place_tools tools = {w->cluster, &w->weights, &w->memory, &w->arena, NULL};
	struct plan *plan = plan_new(&tools, &w->ask);

	while (!plan_step(plan, 1 + below(w, 4)))
		;
	return plan;
}

/* What may come to be known in a moment: of pods that are on a node without having told cards, and
 * of those that are on their way out. */
static void become_known(struct world *w, int n)
{
	for (int p = 0; p < PODS - 1; p++) {
		struct pod *pod = &w->pods[p];

		if (pod->node != n || pod->phase == POD_SUCCEEDED)
			continue;
		if (pod->terminating && chance(w, 2))
			pod->phase = POD_SUCCEEDED;
		else if (pod->told_cards == 0)
			give_cards(w, pod);
	}
}

static void check_patient(struct world *w, const struct plan_found *hasty)
{
	CLEANUP(plan_free) struct plan *plan = NULL;
	uint32_t set = set_of(w, hasty);
	struct pod pods[PODS];
	struct plan_found found;
	int n = 0;

	w->ask.hasty = false;
	plan = run_plan(w);
	w->ask.hasty = true;
	if (!plan_finish(plan, &found)) {
		if (!plan_in_doubt(plan))
			fail_at(w, "no plan, and nothing to wait for");
		n_waiting++;
		return;
	}
	n_patient++;
	if (set_of(w, &found) != set || plan_in_doubt(plan))
		fail_at(w, "another plan for who is patient");
	while (node_handle(w->cluster, n) != found.node)
		n++;
	memcpy(pods, w->pods, sizeof(pods));
	become_known(w, n);
	for (int p = 0; p < PODS; p++)
		if (set >> p & 1 && fits_anew(w, n, set & ~group_of(w, p)))
			fail_at(w, "somebody who turns out to be one too many");
	memcpy(w->pods, pods, sizeof(pods));
}

static void check(struct world *w)
{
	CLEANUP(plan_free) struct plan *plan = run_plan(w);
	struct buf said CLEANUP(buf_clear);
	struct plan_found found;
	struct best best = {0};

	buf_init(&said, 4096);
	for (int n = 0; n < NODES; n++)
		try_node(w, n, &best);
	if (plan_finish(plan, &found)) {
		if (best.fits)
			fail_at(w, "a plan where it fits with nobody gone");
		check_found(w, &found, &best);
		check_patient(w, &found);
		return;
	}
	if (best.found && !best.fits)
		fail_at(w, "no plan where there is one");
	plan_describe(plan, &said);
	buf_add(&said, "", 1);
	n_none += !best.fits;
	n_fitting += best.fits;
	if (best.fits != (strstr(said.data, "with nobody gone") != NULL))
		fail_at(w, said.data);
	n_quota += strstr(said.data, "quota") != NULL;
}

/* Twice the same cluster, told in another order, has the same plan. */
static void check_order(struct world *w)
{
	CLEANUP(plan_free) struct plan *plan = run_plan(w);
	struct plan_found found, again;
	bool is_found = plan_finish(plan, &found);
	uint32_t set = is_found ? set_of(w, &found) : 0;
	CLEANUP(plan_free) struct plan *other = NULL;

	cluster_free(w->cluster);
	w->cluster = tell_all_but(w, 0xaaaa & ~(UINT32_C(1) << (PODS - 1)));
	for (int p = PODS - 1; p-- > 0;)
		if (0xaaaa >> p & 1)
			tell_pod(w, w->cluster, p);
	team_refresh(w->cluster);
	place_memory_clear(&w->memory);
	place_memory_clear(&w->other_memory);
	w->ask.pod = pod_handle(w, w->cluster, PODS - 1);
	other = run_plan(w);
	if (plan_finish(other, &again) != is_found || (is_found && set_of(w, &again) != set))
		fail_at(w, "another plan for the same cluster");
}

static void every_plan_is_the_cheapest(void **state)
{
	const char *only = getenv("GPUQOS_SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;
	uint64_t n = only ? 1 : getenv("GPUQOS_SOAK") ? SOAK_PLANS : PLANS;

	(void)state;
	arena_init(&world.arena, 4 << 20);
	arena_init(&world.other_arena, 4 << 20);
	for (uint64_t seed = first; seed < first + n; seed++) {
		make(&world, seed);
		check(&world);
		if (seed % 8 == 0)
			check_order(&world);
		cluster_free(world.cluster);
		place_memory_clear(&world.memory);
		place_memory_clear(&world.other_memory);
	}
	arena_clear(&world.arena);
	arena_clear(&world.other_arena);
	print_message(
		"%zu plans, of at most %zu victims; none for %zu, of which %zu by quota; %zu "
		"needed none; %zu victims of gangs; %zu sets tried, of which cards alone would have "
		"let %zu pass; %zu are taken at once, %zu wait\n",
		n_found, n_victims_most, n_none, n_quota, n_fitting, n_gangs, n_sets, n_unhosted,
		n_patient, n_waiting);
	assert_true(only || (n_found > 0 && n_none > 0 && n_quota > 0 && n_gangs > 0 &&
			     n_victims_most > 3 && n_unhosted > 0 && n_waiting > 0 &&
			     n_patient > n_waiting));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_plan_is_the_cheapest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
