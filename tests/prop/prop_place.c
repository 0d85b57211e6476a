/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of pods that are placed as a scheduler places them, on nodes whose kubelets
 * (lib/kubelet_model.h) give out cards as they like. Watches are late, bindings fail, layouts come
 * to be known and unknown. What a pod that requires its scope gets never spans it, and kubelet
 * rejects no such pod; nothing is refused without a cause; rooms and sums are what a count of the
 * pods says; a cluster that is told of everything anew gives the same answers, and one that is told
 * of all but some pods those of a trial in which these are gone.
 *
 * GPUQOS_SEED=n repeats one history, GPUQOS_SOAK=1 runs many more.
 *
 * size: the model stays beside the objects that it looks at
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
#include "cluster/assume.h"
#include "cluster/read.h"
#include "cluster/reserve.h"
#include "cluster/tenants.h"
#include "lib/kubelet_model.h"
#include "lib/layouts.h"
#include "lib/topo_oracle.h"
#include "place/place.h"

#define HISTORIES      150
#define SOAK_HISTORIES 20000
#define STEPS          250
#define PART_BYTES     (10 * GIB)
#define PARTS_OF_CARD  7

enum { NODES = 4, SPACES = 5, TENANTS = 2, PODS = 14, NO_NODE = -1 };

static const struct str names[KUBELET_RESOURCES] = {{"nvidia.com/gpu", 14},
						    {"nvidia.com/mig-1g.10gb", 22}};

struct node {
	bool exists, published, policy_told, withdraws;
	uint64_t cut; /* cards that are cut into parts */
	int64_t card_bytes;
	uint32_t reserved_cpus;
	struct machine machine; /* as it is */
	struct kubelet_model kubelet;
	int queue[PODS]; /* bound pods that kubelet has not looked at */
	int n_queue;
};

struct pod {
	bool exists, guaranteed, whole_cpus, wished, scoped;
	enum topology_policy policy;
	enum layout_scope scope;
	uint64_t uid;
	int space;
	struct kubelet_pod spec;
	/* What is so. */
	int node;
	bool admitted, finished, terminating;
	struct kubelet_answer got;
	uint64_t decided, left; /* steps: of its decision, of when its deletion was told */
	bool required, policy_known;
	enum layout_scope required_scope;
	/* What the cluster was told last. */
	bool stale;
	int told_node;
	bool told_finished, told_terminating;
	uint64_t told_cards;
	/* What it assumes. */
	bool assumed;
	int assumed_node;
	uint64_t assumed_cards;
	int64_t until_us; /* 0: it is bound, and the watch will tell */
};

struct space {
	int tenant; /* -1 */
	bool has_quota;
	int64_t bytes, gpus;
};

struct tenant {
	int64_t bytes, gpus;
	struct topology_spec topology;
};

struct world {
	struct random random;
	struct cluster *cluster;
	uint64_t seed, step, counter;
	int64_t now_us;
	struct node nodes[NODES];
	struct pod pods[PODS];
	struct space spaces[SPACES];
	struct tenant tenants[TENANTS];
	struct place_memory memory, fresh;
	struct arena arena;
	struct placement_weights weights;
};

static struct world world;
static size_t seen[PLACE_VERDICT_COUNT], required_admitted, loosely_admitted, kubelet_rejected,
	trials;

static uint32_t below(struct world *w, uint32_t bound)
{
	return (uint32_t)random_below(&w->random, bound);
}

static bool chance(struct world *w, uint32_t one_in)
{
	return below(w, one_in) == 0;
}

static void print_pod(const struct pod *pod)
{
	print_message("pod: guaranteed %d, whole CPUs %d, required %d (scope %d)\n",
		      pod->guaranteed, pod->whole_cpus, pod->required, pod->required_scope);
	for (size_t i = 0; i < pod->spec.n; i++)
		print_message(
			"  container of kind %d: %u cards, %u parts, %u CPUs\n",
			pod->spec.containers[i].kind, pod->spec.containers[i].asks[KUBELET_CARDS],
			pod->spec.containers[i].asks[KUBELET_PARTS], pod->spec.containers[i].cpus);
	print_message("  got cards %llx, parts %llx, CPUs of nodes %llx; assumed %llx\n",
		      (unsigned long long)pod->got.units[KUBELET_CARDS],
		      (unsigned long long)pod->got.units[KUBELET_PARTS],
		      (unsigned long long)pod->got.cpus, (unsigned long long)pod->assumed_cards);
}

static void print_node(const struct node *node)
{
	const struct kubelet_resource *cards = &node->kubelet.resources[KUBELET_CARDS];

	print_message("node: %zu cards, cut %llx, given %llx, healthy %llx; published %d (policy "
		      "%d), policy %d, pod scope %d, static CPUs %d; NUMA nodes",
		      node->machine.layout.n_gpus, (unsigned long long)node->cut,
		      (unsigned long long)cards->given, (unsigned long long)cards->healthy,
		      node->published, node->policy_told, node->kubelet.settings.policy,
		      node->kubelet.settings.pod_scope, node->kubelet.settings.static_cpu);
	for (size_t card = 0; card < node->machine.layout.n_gpus; card++)
		print_message(" %d", (int)node->machine.gpus[card].numa);
	print_message("; CPUs free of all");
	for (uint32_t numa = 0; numa < node->kubelet.n_numas; numa++)
		print_message(" %u/%u", node->kubelet.free_cpus[numa], node->kubelet.cpus[numa]);
	print_message("\n");
}

static void fail_at(const struct world *w, const char *what, int pod, int node)
{
	if (pod >= 0)
		print_pod(&w->pods[pod]);
	if (node >= 0)
		print_node(&w->nodes[node]);
	fail_msg("seed %llu, step %llu: %s (pod %d, node %d)", (unsigned long long)w->seed,
		 (unsigned long long)w->step, what, pod, node);
}

struct name {
	char text[32];
};

static struct name name_of(const char *kind, int64_t number)
{
	struct name name;

	snprintf(name.text, sizeof(name.text), "%s-%d", kind, (int)number);
	return name;
}

static uint32_t count_of(uint64_t set)
{
	return (uint32_t)__builtin_popcountll(set);
}

static uint64_t cards_below(size_t n)
{
	return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

/* --- telling the cluster */

static uint32_t asks_of(const struct pod *pod, int resource)
{
	return kubelet_pod_asks(&pod->spec, resource);
}

static int64_t given_out(const struct node *node, int r)
{
	const struct kubelet_resource *resource = &node->kubelet.resources[r];

	return count_of(resource->registered & resource->healthy);
}

static void tell_node(struct world *w, struct cluster *cluster, int n)
{
	const struct node *node = &w->nodes[n];
	struct name name = name_of("node", n);
	struct layout layout = node->machine.layout;
	struct node_facts facts = {.name = str_from(name.text),
				   .uid = str_from(name.text),
				   .ready = NODE_READY,
				   .reserved_cpus = node->reserved_cpus,
				   .layout_state = LAYOUT_IS_AGENT_GONE};
	struct device_offer offers[KUBELET_RESOURCES];

	for (int r = 0; r < KUBELET_RESOURCES; r++) {
		uint32_t count = count_of(node->kubelet.resources[r].registered);

		if (count == 0)
			continue;
		offers[facts.n_offers++] = (struct device_offer){
			.resource = names[r],
			.product = node->card_bytes == 80 * GIB ? STR("H100") : STR("A100"),
			.unit_memory = r == KUBELET_CARDS ? node->card_bytes : PART_BYTES,
			.count = count,
			.allocatable = given_out(node, r),
			.sharing = r == KUBELET_CARDS ? DEVICE_WHOLE : DEVICE_MIG,
		};
	}
	facts.offers = offers;
	layout.kubelet = node->kubelet.settings;
	if (!node->policy_told)
		layout.kubelet.policy = LAYOUT_POLICY_UNKNOWN;
	if (node->published) {
		facts.layout = &layout;
		facts.layout_state = LAYOUT_IS_KNOWN;
	}
	assert_int_equal(cluster_apply_node(cluster, &facts, NULL), 0);
}

static void tell_space(struct world *w, struct cluster *cluster, int s)
{
	const struct space *space = &w->spaces[s];
	struct name name = name_of("space", s), tenant = name_of("tenant", space->tenant);
	struct label label = {STR("team"), str_from(tenant.text)};
	struct namespace_facts facts = {.name = str_from(name.text),
					.uid = str_from(name.text),
					.labels = &label,
					.n_labels = space->tenant >= 0};
	struct quota_facts quota = {
		.namespace = facts.name,
		.name = STR("q"),
		.uid = STR("q"),
		.spec = {.gpu_memory = space->bytes,
			 .gpus = space->gpus,
			 .pod_gpu_memory = AMOUNT_NONE,
			 .pod_gpus = AMOUNT_NONE},
		.has_status = true,
		.status = {.granted = space->bytes,
			   .effective = space->bytes,
			   .granted_gpus = 1000,
			   .effective_gpus = 1000,
			   .tenant = space->tenant >= 0 ? str_from(tenant.text) : STR_NONE},
	};

	assert_int_equal(cluster_apply_namespace(cluster, &facts, NULL), 0);
	if (space->has_quota)
		assert_int_equal(cluster_apply_quota(cluster, &quota, NULL), 0);
}

static void tell_tenant(struct world *w, struct cluster *cluster, int t)
{
	struct name name = name_of("tenant", t);
	struct str value = str_from(name.text);
	struct label_requirement requirement = {STR("team"), LABEL_IN, &value, 1};
	struct tenant_facts facts = {.name = str_from(name.text),
				     .uid = str_from(name.text),
				     .spec = {.namespaces = {&requirement, 1},
					      .ceiling = w->tenants[t].bytes,
					      .ceiling_gpus = w->tenants[t].gpus,
					      .topology = w->tenants[t].topology}};

	assert_int_equal(cluster_apply_tenant(cluster, &facts, NULL), 0);
}

static size_t container_asks(const struct kubelet_container *container, struct device_ask *asks)
{
	size_t n = 0;

	for (int r = 0; r < KUBELET_RESOURCES; r++)
		if (container->asks[r] > 0)
			asks[n++] = device_ask_units(names[r], container->asks[r]);
	return n;
}

static bool takes_over(const struct kubelet_pod *spec)
{
	bool init = false;

	for (size_t i = 0; i < spec->n; i++) {
		const struct kubelet_container *c = &spec->containers[i];

		init |= c->kind == CONTAINER_INIT &&
			c->cpus + c->asks[KUBELET_CARDS] + c->asks[KUBELET_PARTS] > 0;
	}
	return init && spec->n > 1 && kubelet_pod_cpus(spec) > 0;
}

static bool has_cpus_in_one(const struct kubelet_pod *spec)
{
	size_t n = 0;

	for (size_t i = 0; i < spec->n; i++)
		n += spec->containers[i].cpus > 0;
	return n == 1;
}

/* As it was told last, to a cluster that may be new. */
static void tell_what_was_told(struct world *w, struct cluster *cluster, int p)
{
	const struct pod *pod = &w->pods[p];
	struct name name = name_of("pod", p), uid = name_of("uid", (int64_t)pod->uid);
	struct name space = name_of("space", pod->space), node = name_of("node", pod->told_node);
	struct device_ask asks[KUBELET_CONTAINERS][KUBELET_RESOURCES] = {0};
	struct container_facts containers[KUBELET_CONTAINERS];
	struct str ids[LIMIT_LAYOUT_GPUS];
	struct pod_facts facts = {
		.namespace = str_from(space.text),
		.name = str_from(name.text),
		.uid = str_from(uid.text),
		.node = pod->told_node == NO_NODE ? STR_NONE : str_from(node.text),
		.phase = pod->told_finished ? POD_FAILED : POD_RUNNING,
		.terminating = pod->told_terminating,
		.containers = containers,
		.n_containers = pod->spec.n,
		.alignment = {.guaranteed = pod->guaranteed,
			      .whole_cpus = pod->whole_cpus,
			      .cpus = kubelet_pod_cpus(&pod->spec),
			      .cpus_together = has_cpus_in_one(&pod->spec),
			      .takes_over = takes_over(&pod->spec),
			      .wished = pod->wished,
			      .policy = pod->policy,
			      .scoped = pod->scoped,
			      .scope = pod->scope},
		.device_ids = ids,
	};

	for (size_t i = 0; i < pod->spec.n; i++)
		containers[i] =
			(struct container_facts){pod->spec.containers[i].kind, asks[i],
						 container_asks(&pod->spec.containers[i], asks[i])};
	for (uint32_t card = 0; card < LIMIT_LAYOUT_GPUS; card++)
		if (pod->told_cards >> card & 1)
			ids[facts.n_device_ids++] =
				w->nodes[pod->told_node].machine.gpus[card].uuid;
	assert_int_equal(cluster_apply_pod(cluster, &facts, NULL), 0);
}

static void tell_pod(struct world *w, int p)
{
	struct pod *pod = &w->pods[p];

	pod->stale = false;
	pod->told_node = pod->node;
	pod->told_finished = pod->finished;
	pod->told_terminating = pod->terminating;
	if (pod->terminating && pod->left == 0)
		pod->left = w->step;
	if (pod->admitted && !str_empty(w->nodes[pod->node].machine.gpus[0].uuid))
		pod->told_cards = pod->got.units[KUBELET_CARDS];
	if (pod->told_node != NO_NODE || pod->told_finished)
		pod->assumed = false;
	tell_what_was_told(w, w->cluster, p);
}

/* Now, or some time later. */
static void changed(struct world *w, int p)
{
	w->pods[p].stale = true;
	if (chance(w, 2))
		tell_pod(w, p);
}

static uint32_t node_handle(const struct cluster *cluster, int n)
{
	struct name name = name_of("node", n);

	return cluster_node_find(cluster, str_from(name.text));
}

static uint32_t pod_handle(const struct world *w, const struct cluster *cluster, int p)
{
	struct name name = name_of("pod", p), uid = name_of("uid", (int64_t)w->pods[p].uid);
	struct name space = name_of("space", w->pods[p].space);

	return cluster_pod_find(cluster, str_from(space.text), str_from(name.text),
				str_from(uid.text));
}

/* --- what the cluster should know of pods */

static int view_node(const struct pod *pod)
{
	if (!pod->exists || pod->told_finished)
		return NO_NODE;
	return pod->assumed ? pod->assumed_node : pod->told_node;
}

static int64_t held_on(const struct world *w, int n, int r, int except)
{
	int64_t sum = 0;

	for (int p = 0; p < PODS; p++)
		if (p != except && view_node(&w->pods[p]) == n)
			sum += asks_of(&w->pods[p], r);
	return sum;
}

static int64_t bytes_on(const struct node *node, const struct pod *pod)
{
	return asks_of(pod, KUBELET_CARDS) * node->card_bytes +
	       asks_of(pod, KUBELET_PARTS) * PART_BYTES;
}

struct held {
	int64_t bytes, gpus;
	bool vague; /* some of it is on a node that does not say what it has */
};

/* Of @space, or of all spaces of @tenant. */
static struct held held_in(const struct world *w, int space, int tenant, int except)
{
	struct held held = {0, 0, false};

	for (int p = 0; p < PODS; p++) {
		const struct pod *pod = &w->pods[p];
		int n = view_node(pod);

		if (p == except || n == NO_NODE ||
		    (tenant >= 0 ? w->spaces[pod->space].tenant != tenant : pod->space != space))
			continue;
		for (int r = 0; r < KUBELET_RESOURCES; r++)
			held.vague |= asks_of(pod, r) > 0 &&
				      (!w->nodes[n].exists ||
				       w->nodes[n].kubelet.resources[r].registered == 0);
		held.bytes += bytes_on(&w->nodes[n], pod);
		held.gpus += asks_of(pod, KUBELET_CARDS);
	}
	return held;
}

static bool exceeds(int64_t asks, int64_t held, int64_t limit)
{
	return limit != AMOUNT_NONE && asks > 0 && asks + held > limit;
}

static bool quota_refuses(const struct world *w, int p, int n, bool *ret_vague)
{
	const struct pod *pod = &w->pods[p];
	const struct space *space = &w->spaces[pod->space];
	struct held here = held_in(w, pod->space, -1, p);
	int64_t bytes = bytes_on(&w->nodes[n], pod), gpus = asks_of(pod, KUBELET_CARDS);

	*ret_vague = here.vague;
	if (space->has_quota &&
	    (exceeds(bytes, here.bytes, space->bytes) || exceeds(gpus, here.gpus, space->gpus)))
		return true;
	if (space->tenant < 0)
		return false;
	here = held_in(w, pod->space, space->tenant, p);
	*ret_vague |= here.vague;
	return !space->has_quota || exceeds(bytes, here.bytes, w->tenants[space->tenant].bytes) ||
	       exceeds(gpus, here.gpus, w->tenants[space->tenant].gpus);
}

static struct topology_spec topology_of(const struct world *w, const struct pod *pod)
{
	struct topology_spec spec = TOPOLOGY_SPEC_DEFAULT;

	if (w->spaces[pod->space].tenant >= 0)
		spec = w->tenants[w->spaces[pod->space].tenant].topology;
	return pod->wished ? topology_of_pod(spec, pod->policy, pod->scoped ? &pod->scope : NULL)
			   : spec;
}

/* --- rooms */

static void check_room(struct world *w, int n)
{
	const struct node *node = &w->nodes[n];
	uint32_t handle = node_handle(w->cluster, n);
	uint64_t held = 0, assumed = 0;
	struct cluster_ask ask = {.pod = TABLE_NONE, .namespace = TABLE_NONE, .n = 0};
	struct cluster_units units[KUBELET_RESOURCES];
	struct cluster_room room;

	if (handle == TABLE_NONE || !node->exists)
		return;
	for (int p = 0; p < PODS; p++) {
		const struct pod *pod = &w->pods[p];

		if (view_node(pod) != n)
			continue;
		if (pod->told_cards == 0 || pod->told_terminating)
			assumed |= pod->told_cards | pod->assumed_cards;
		else
			held |= pod->told_cards;
	}
	room = cluster_room(w->cluster, handle);
	if (!node->published)
		held = 0;
	if (room.seen != held)
		fail_at(w, "other cards are seen to be held", -1, n);
	if (node->published && room.assumed != (assumed & ~held))
		fail_at(w, "other cards are assumed", -1, n);
	for (int r = 0; r < KUBELET_RESOURCES; r++) {
		struct pod_facts facts = {.namespace = STR("x"), .name = STR("x")};
		struct device_ask row = device_ask_units(names[r], 1);
		struct container_facts container = {CONTAINER_NORMAL, &row, 1};

		facts.containers = &container;
		facts.n_containers = 1;
		cluster_ask_of(w->cluster, &facts, &ask);
		if (ask.n == 0 || node->kubelet.resources[r].registered == 0)
			continue;
		cluster_units_on(w->cluster, &ask, handle, units);
		if (units[0].free != given_out(node, r) - held_on(w, n, r, -1))
			fail_at(w, "another number is free", -1, n);
	}
}

static void check_rooms(struct world *w)
{
	uint32_t assumptions = 0;

	for (int n = 0; n < NODES; n++)
		check_room(w, n);
	for (int p = 0; p < PODS; p++)
		assumptions += w->pods[p].exists && w->pods[p].assumed;
	if (cluster_assumptions(w->cluster) != assumptions)
		fail_at(w, "another number of pods is assumed", -1, -1);
}

/* --- asking */

static void refresh(struct world *w, struct cluster *cluster)
{
	uint32_t tenant, namespace;

	(void)w;
	while (cluster_take_dirty_tenant(cluster, &tenant))
		cluster_refresh_tenant(cluster, tenant);
	while (cluster_take_dirty(cluster, &namespace))
		cluster_refresh(cluster, namespace);
}

static void begin(struct world *w, const struct cluster *cluster, struct place_memory *memory,
		  int p, struct place *place)
{
	struct place_tools tools = {cluster, &w->weights, memory, &w->arena, NULL};
	struct cluster_ask ask;

	cluster_ask_of_pod(cluster, pod_handle(w, cluster, p), &ask);
	place_begin(place, &tools, &ask);
}

static bool offers_all(const struct world *w, int p, int n)
{
	for (int r = 0; r < KUBELET_RESOURCES; r++)
		if (asks_of(&w->pods[p], r) > 0 && w->nodes[n].kubelet.resources[r].registered == 0)
			return false;
	return true;
}

/* Whether kubelet might admit it after those that it has to look at before. */
static bool may_be_admitted(struct world *w, int p, int n)
{
	for (int i = 0; i < 12; i++) {
		struct kubelet_model kubelet = w->nodes[n].kubelet;

		for (int k = 0; k < w->nodes[n].n_queue; k++)
			kubelet_admit(&kubelet, &w->pods[w->nodes[n].queue[k]].spec, &w->random);
		if (kubelet_admit(&kubelet, &w->pods[p].spec, &w->random).admitted)
			return true;
	}
	return false;
}

static bool node_is_known(const struct world *w, int n)
{
	for (int p = 0; p < PODS; p++) {
		const struct pod *pod = &w->pods[p];

		if (pod->exists && pod->stale && (pod->node == n || pod->told_node == n))
			return false;
	}
	return w->nodes[n].published;
}

static void check_verdict(struct world *w, struct place *place, struct place_answer answer, int p,
			  int n)
{
	bool required = topology_of(w, &w->pods[p]).policy == TOPOLOGY_REQUIRED;
	bool too_few = false, vague, refused;

	seen[answer.verdict]++;
	if (!w->nodes[n].exists) {
		if (answer.verdict != PLACE_NO_NODE)
			fail_at(w, "a node that is gone", p, n);
		return;
	}
	for (int r = 0; r < KUBELET_RESOURCES; r++)
		too_few |=
			asks_of(&w->pods[p], r) > 0 &&
			asks_of(&w->pods[p], r) > given_out(&w->nodes[n], r) - held_on(w, n, r, p);
	if ((answer.verdict == PLACE_TOO_FEW) != too_few)
		fail_at(w, "whether enough is free", p, n);
	if (too_few)
		return;
	refused = quota_refuses(w, p, n, &vague);
	if (!vague && (answer.verdict == PLACE_QUOTA) != refused)
		fail_at(w, "what the quota says", p, n);
	if (!required && answer.verdict > PLACE_REJECTED)
		fail_at(w, "refused for what it did not ask for", p, n);
	if (answer.verdict == PLACE_REJECTED && node_is_known(w, n) && may_be_admitted(w, p, n))
		fail_at(w, "kubelet would not reject it", p, n);
	(void)place;
}

static void check_score(struct world *w, struct place *place, int p, int n,
			const struct place_score *score)
{
	uint64_t all = cards_below(w->nodes[n].machine.layout.n_gpus);
	uint32_t handle = node_handle(w->cluster, n);
	uint64_t held = cluster_room(w->cluster, handle).seen, cards = place_cards(place, handle);
	const int64_t terms[] = {score->alignment, score->nvlink, score->pcie,
				 score->fragmentation};

	if (score->total != place_total(&w->weights, score))
		fail_at(w, "a total that is not of its terms", p, n);
	for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
		if (terms[i] < 0 || terms[i] > PLACE_TERM_MOST)
			fail_at(w, "a term is out of its range", p, n);
	if (cards & (~all | held) ||
	    (cards != 0 && count_of(cards) != asks_of(&w->pods[p], KUBELET_CARDS)))
		fail_at(w, "cards that it cannot have", p, n);
	if (place_cards(place, handle) != cards)
		fail_at(w, "other cards when asked again", p, n);
}

/* What pods that a trial takes as gone ask for stays usual: they wait then. */
static bool same_score(const struct place_score *a, const struct place_score *b, bool in_trial)
{
	return a->alignment == b->alignment && a->nvlink == b->nvlink && a->pcie == b->pcie &&
	       (in_trial || (a->total == b->total && a->fragmentation == b->fragmentation));
}

static void describe(struct place *place, struct place_answer answer, struct buf *buf)
{
	buf_reset(buf);
	place_describe(place, answer, buf);
	buf_add(buf, "", 1);
}

/* The same question of @cluster, with another memory, gets the same answer. */
static void check_same(struct world *w, const struct cluster *cluster, struct place *place, int p,
		       int n)
{
	struct place_answer answer;
	uint32_t ours = node_handle(w->cluster, n), theirs = node_handle(cluster, n);
	struct buf said CLEANUP(buf_clear) = {0}, again CLEANUP(buf_clear) = {0};
	struct place_score score, other_score;
	struct place_answer found;
	struct place other;

	if (ours == TABLE_NONE || theirs == TABLE_NONE)
		return;
	buf_init(&said, 4096);
	buf_init(&again, 4096);
	begin(w, cluster, &w->fresh, p, &other);
	answer = place_fit(place, ours);
	found = place_fit(&other, theirs);
	describe(place, answer, &said);
	describe(&other, found, &again);
	if (found.verdict != answer.verdict || strcmp(said.data, again.data) != 0)
		fail_at(w, "another answer when asked again", p, n);
	if (answer.verdict != PLACE_FITS)
		return;
	score = place_score(place, ours);
	other_score = place_score(&other, theirs);
	if (!same_score(&score, &other_score, place->ask.trial != NULL) ||
	    place_cards(place, ours) != place_cards(&other, theirs))
		fail_at(w, "another score when asked again", p, n);
}

/* kube-scheduler looks at a node's CPUs as a sum, before it asks us. */
static bool has_cpus(const struct world *w, int p, int n)
{
	const struct kubelet_model *kubelet = &w->nodes[n].kubelet;
	int64_t left = -(int64_t)w->nodes[n].reserved_cpus;

	for (uint32_t numa = 0; numa < kubelet->n_numas; numa++)
		left += kubelet->cpus[numa];
	for (int i = 0; i < PODS; i++)
		if (i == p || view_node(&w->pods[i]) == n)
			left -= kubelet_pod_cpus(&w->pods[i].spec);
	return left >= 0;
}

/* The best node that fits, or NO_NODE. */
static int decide(struct world *w, int p, uint64_t *ret_cards)
{
	struct place place;
	int64_t most = -1;
	int best = NO_NODE;

	arena_reset(&w->arena);
	refresh(w, w->cluster);
	begin(w, w->cluster, &w->memory, p, &place);
	for (int n = 0; n < NODES; n++) {
		uint32_t handle = node_handle(w->cluster, n);
		struct place_answer answer;
		struct place_score score;

		if (handle == TABLE_NONE || !offers_all(w, p, n) || !has_cpus(w, p, n))
			continue;
		answer = place_fit(&place, handle);
		check_verdict(w, &place, answer, p, n);
		place_memory_clear(&w->fresh);
		check_same(w, w->cluster, &place, p, n);
		if (answer.verdict != PLACE_FITS)
			continue;
		score = place_score(&place, handle);
		check_score(w, &place, p, n, &score);
		if (score.total > most || (score.total == most && chance(w, 2))) {
			best = n;
			most = score.total;
			*ret_cards = place_cards(&place, handle);
		}
	}
	return best;
}

/* --- what happens */

static int pick(struct world *w, bool (*is)(const struct pod *pod))
{
	int found[PODS], n = 0;

	for (int p = 0; p < PODS; p++)
		if (is(&w->pods[p]))
			found[n++] = p;
	return n == 0 ? -1 : found[below(w, (uint32_t)n)];
}

/* Beside a device where the pod is of whole CPUs there; beside none at times. */
static void give_whole_cpus(struct world *w, struct pod *pod)
{
	for (size_t i = 0; i < pod->spec.n; i++) {
		struct kubelet_container *container = &pod->spec.containers[i];

		if (container->asks[KUBELET_CARDS] + container->asks[KUBELET_PARTS] == 0)
			container->cpus = chance(w, 2) ? below(w, 4) : 0;
		else if (pod->whole_cpus)
			container->cpus = 1 + below(w, 4);
	}
}

static void create_pod(struct world *w)
{
	static const uint32_t sizes[] = {1, 1, 2, 2, 3, 4, 4, 6, 8};
	int p = (int)below(w, PODS);
	struct pod *pod = &w->pods[p];

	if (pod->exists)
		return;
	*pod = (struct pod){
		.exists = true,
		.guaranteed = !chance(w, 4),
		.whole_cpus = !chance(w, 5),
		.wished = chance(w, 2),
		.scoped = chance(w, 2),
		.policy = (enum topology_policy)below(w, 3),
		.scope = (enum layout_scope)below(w, 3),
		.uid = ++w->counter,
		.space = (int)below(w, SPACES),
		.node = NO_NODE,
		.told_node = NO_NODE,
		.spec = {.n = chance(w, 3) ? 1 + below(w, KUBELET_CONTAINERS) : 1},
	};
	pod->spec.guaranteed = pod->guaranteed;
	for (size_t i = 0; i < pod->spec.n; i++) {
		struct kubelet_container *container = &pod->spec.containers[i];

		if (i + 1 < pod->spec.n && chance(w, 2) &&
		    (i == 0 || pod->spec.containers[i - 1].kind != CONTAINER_NORMAL))
			container->kind = chance(w, 3) ? CONTAINER_SIDECAR : CONTAINER_INIT;
		if (!chance(w, 6))
			container->asks[KUBELET_CARDS] =
				sizes[below(w, pod->spec.n == 1 ? ARRAY_SIZE(sizes) : 5)];
		if (chance(w, 5))
			container->asks[KUBELET_PARTS] = 1 + below(w, 2);
	}
	if (asks_of(pod, KUBELET_CARDS) + asks_of(pod, KUBELET_PARTS) == 0)
		pod->spec.containers[0].asks[KUBELET_CARDS] = 1;
	if (pod->guaranteed)
		give_whole_cpus(w, pod);
	tell_pod(w, p);
}

static bool is_pending(const struct pod *pod)
{
	return pod->exists && pod->node == NO_NODE && !pod->finished && !pod->terminating;
}

static void assume(struct world *w, struct cluster *cluster, int p)
{
	struct pod *pod = &w->pods[p];

	cluster_assume(cluster, pod_handle(w, cluster, p), node_handle(cluster, pod->assumed_node),
		       pod->assumed_cards, pod->until_us ? pod->until_us : INT64_MAX);
}

static void schedule(struct world *w)
{
	int p = pick(w, is_pending), n;
	struct pod *pod = &w->pods[MAX(p, 0)];
	struct topology_spec topology;
	uint64_t cards = 0;
	bool vague;

	if (p < 0)
		return;
	n = decide(w, p, &cards);
	if (n == NO_NODE)
		return;
	if (quota_refuses(w, p, n, &vague) && !vague)
		fail_at(w, "more than is allowed", p, n);
	topology = topology_of(w, pod);
	pod->required = topology.policy == TOPOLOGY_REQUIRED;
	pod->required_scope = topology.scope;
	pod->policy_known = w->nodes[n].published && w->nodes[n].policy_told;
	pod->decided = w->step;
	pod->assumed = true;
	pod->assumed_node = n;
	pod->assumed_cards = cards;
	pod->until_us = 0;
	if (!chance(w, 6)) { /* bound */
		assume(w, w->cluster, p);
		pod->node = n;
		w->nodes[n].queue[w->nodes[n].n_queue++] = p;
		changed(w, p);
		return;
	}
	pod->until_us = w->now_us + 1 + below(w, 40);
	assume(w, w->cluster, p);
	if (chance(w, 2)) {
		cluster_unassume(w->cluster, pod_handle(w, w->cluster, p));
		pod->assumed = false;
		pod->assumed_cards = 0;
	}
}

static void check_admitted(struct world *w, int p, int n)
{
	const struct pod *pod = &w->pods[p];
	const struct node *node = &w->nodes[n];
	uint64_t cards = pod->got.units[KUBELET_CARDS];

	for (uint32_t unit = 0; unit < KUBELET_UNITS; unit++)
		if (pod->got.units[KUBELET_PARTS] >> unit & 1) {
			uint64_t left = node->cut;

			for (uint32_t i = 0; i < unit / PARTS_OF_CARD; i++)
				left &= left - 1;
			cards |= left & (~left + 1);
		}
	if (oracle_in_one_domain(&node->machine.layout, pod->required_scope, cards) != ORACLE_YES)
		fail_at(w, "its cards do not lie in one domain", p, n);
	if (pod->required_scope == LAYOUT_NUMA && pod->got.cpus != 0 &&
	    node->machine.layout.n_numas > 1)
		for (uint32_t card = 0; card < LIMIT_LAYOUT_GPUS; card++)
			if (cards >> card & 1 &&
			    (pod->got.cpus & ~(UINT64_C(1) << node->machine.gpus[card].numa)))
				fail_at(w, "CPUs of another NUMA node", p, n);
	required_admitted++;
}

static void admit_next(struct world *w)
{
	int n = (int)below(w, NODES), p;
	struct node *node = &w->nodes[n];
	struct pod *pod;

	if (node->n_queue == 0)
		return;
	p = node->queue[0];
	memmove(&node->queue[0], &node->queue[1], (size_t)--node->n_queue * sizeof(int));
	pod = &w->pods[p];
	pod->got = kubelet_admit(&node->kubelet, &pod->spec, &w->random);
	pod->admitted = pod->got.admitted;
	pod->finished = !pod->admitted;
	kubelet_rejected += pod->finished;
	if (pod->required && pod->finished && pod->policy_known)
		fail_at(w, "kubelet rejects a pod whose topology is required", p, n);
	if (pod->required && pod->admitted)
		check_admitted(w, p, n);
	loosely_admitted += !pod->required && pod->admitted;
	changed(w, p);
}

static bool is_running(const struct pod *pod)
{
	return pod->exists && pod->admitted && !pod->finished;
}

/*
 * Cards that a pod gives back after a decision, or before the watch shows it, and before kubelet
 * has made something of the decision, are cards of which it did not know that they would be free,
 * unless the pod was being deleted (docs/topology.md). That is not what is tested here.
 */
static bool may_finish(const struct world *w, const struct pod *pod)
{
	const struct node *node = &w->nodes[pod->node];

	for (int i = 0; i < node->n_queue; i++)
		if (pod->left == 0 || w->pods[node->queue[i]].decided <= pod->left)
			return false;
	return true;
}

static void finish_pod(struct world *w)
{
	int p = pick(w, is_running);
	struct pod *pod = &w->pods[MAX(p, 0)];

	if (p < 0)
		return;
	if (may_finish(w, pod)) {
		kubelet_release(&w->nodes[pod->node].kubelet, &pod->got);
		pod->finished = true;
		if (pod->left == 0)
			tell_pod(w, p);
	} else {
		pod->terminating = true;
	}
	changed(w, p);
}

static bool is_over(const struct pod *pod)
{
	return pod->exists && (pod->finished || pod->node == NO_NODE);
}

static void delete_pod(struct world *w)
{
	int p = pick(w, is_over);
	struct name name = name_of("pod", p);
	struct name space;

	if (p < 0)
		return;
	space = name_of("space", w->pods[p].space);
	cluster_delete(w->cluster, CLUSTER_PODS, str_from(space.text), str_from(name.text));
	w->pods[p].exists = w->pods[p].assumed = false;
}

static bool is_stale(const struct pod *pod)
{
	return pod->exists && pod->stale;
}

static void tell_late(struct world *w)
{
	int p = pick(w, is_stale);

	if (p >= 0)
		tell_pod(w, p);
}

static void expire(struct world *w)
{
	int64_t next_us, first_us = TIME_NEVER;

	w->now_us += below(w, 20);
	cluster_expire_assumptions(w->cluster, w->now_us, &next_us);
	for (int p = 0; p < PODS; p++) {
		struct pod *pod = &w->pods[p];

		if (!pod->exists || !pod->assumed || pod->until_us == 0)
			continue;
		if (pod->until_us <= w->now_us) {
			pod->assumed = false;
			pod->assumed_cards = 0;
		} else {
			first_us = MIN(first_us, pod->until_us);
		}
	}
	if (next_us != first_us && !(first_us == TIME_NEVER && next_us == INT64_MAX))
		fail_at(w, "the next one ends at another time", -1, -1);
}

/* --- nodes */

static bool is_in_use(const struct world *w, int n)
{
	for (int p = 0; p < PODS; p++) {
		const struct pod *pod = &w->pods[p];

		if (pod->exists && ((pod->node == n && !pod->finished) || view_node(pod) == n ||
				    pod->told_node == n))
			return true;
	}
	return false;
}

static void build_machine(struct world *w, struct node *node)
{
	switch (below(w, 6)) {
	case 0:
		machine_dgx2(&node->machine);
		break;
	case 1:
		machine_dgx_h100(&node->machine);
		break;
	case 2:
		machine_dgx1(&node->machine);
		break;
	case 3:
		machine_pcie_box(&node->machine);
		break;
	case 4:
		machine_unknown(&node->machine, 4);
		break;
	default:
		machine_random(&node->machine, &w->random, 10);
		break;
	}
}

static void register_units(struct world *w, struct node *node)
{
	struct kubelet_resource *cards = &node->kubelet.resources[KUBELET_CARDS];
	struct kubelet_resource *parts = &node->kubelet.resources[KUBELET_PARTS];
	uint64_t all = cards_below(node->machine.layout.n_gpus);
	uint32_t unit = 0;

	node->cut =
		chance(w, 4) ? all & random_u64(&w->random) & random_u64(&w->random) & 0x5555 : 0;
	*cards = *parts = (struct kubelet_resource){0};
	cards->registered = all & ~node->cut;
	for (uint32_t card = 0; card < node->machine.layout.n_gpus; card++) {
		cards->numa[card] = node->machine.gpus[card].numa;
		for (int i = 0; node->cut >> card & 1 && i < PARTS_OF_CARD; i++) {
			parts->registered |= UINT64_C(1) << unit;
			parts->numa[unit++] = node->machine.gpus[card].numa;
		}
	}
	parts->healthy = UINT64_MAX;
}

/* What of the failed cards the device plugin withdraws. */
static void withdraw(struct world *w, struct node *node)
{
	struct kubelet_resource *cards = &node->kubelet.resources[KUBELET_CARDS];

	(void)w;
	cards->healthy = UINT64_MAX;
	for (uint32_t card = 0; card < node->machine.layout.n_gpus; card++)
		if (node->withdraws && node->machine.gpus[card].health == LAYOUT_HEALTH_FAILED)
			cards->healthy &= ~(UINT64_C(1) << card);
}

static void set_kubelet(struct world *w, struct node *node)
{
	node->kubelet.settings =
		(struct layout_kubelet){(enum layout_policy)(LAYOUT_POLICY_NONE + below(w, 4)),
					chance(w, 2), !chance(w, 3)};
	if (chance(w, 2))
		node->kubelet.settings.policy = LAYOUT_POLICY_SINGLE_NUMA;
	node->policy_told = !chance(w, 8);
}

/* Plenty, or so few that they run out before the cards do. */
static void add_cpus(struct world *w, struct node *node)
{
	struct kubelet_model *kubelet = &node->kubelet;
	uint32_t each = chance(w, 2) ? 64 : 4 + below(w, 6);

	kubelet->n_numas = (uint32_t)MAX(node->machine.layout.n_numas, 1u);
	node->reserved_cpus = chance(w, 2) ? below(w, 3) : 0;
	for (uint32_t numa = 0; numa < kubelet->n_numas; numa++) {
		if (numa < node->machine.layout.n_numas && node->machine.numas[numa].n_cpus > 0)
			node->machine.numas[numa].n_cpus = each;
		kubelet->cpus[numa] = kubelet->free_cpus[numa] =
			numa < node->machine.layout.n_numas ? node->machine.numas[numa].n_cpus
							    : each;
	}
	for (uint32_t i = 0; i < node->reserved_cpus; i++)
		kubelet->free_cpus[below(w, kubelet->n_numas)]--;
}

static void new_machine(struct world *w, struct node *node)
{
	build_machine(w, node);
	add_cpus(w, node);
	node->withdraws = !chance(w, 3);
	node->card_bytes = chance(w, 3) ? 40 * GIB : 80 * GIB;
	node->published = !chance(w, 5);
	register_units(w, node);
	set_kubelet(w, node);
	withdraw(w, node);
}

static void fail_or_mend(struct world *w, struct node *node)
{
	struct layout_gpu *gpu =
		&node->machine.gpus[below(w, (uint32_t)node->machine.layout.n_gpus)];

	gpu->health = gpu->health == LAYOUT_HEALTH_FAILED || chance(w, 2) ? LAYOUT_HEALTH_OK
									  : LAYOUT_HEALTH_FAILED;
	withdraw(w, node);
}

static void change_node(struct world *w)
{
	int n = (int)below(w, NODES);
	struct node *node = &w->nodes[n];
	struct name name = name_of("node", n);

	if (node->exists && chance(w, 6)) {
		node->exists = false;
		cluster_delete(w->cluster, CLUSTER_NODES, STR_NONE, str_from(name.text));
		return;
	}
	node->exists = true;
	if (!is_in_use(w, n) && chance(w, 3))
		new_machine(w, node);
	else if (chance(w, 3))
		node->published = !node->published;
	else if (node->n_queue == 0 && chance(w, 2))
		fail_or_mend(w, node);
	else if (node->n_queue == 0)
		set_kubelet(w, node);
	tell_node(w, w->cluster, n);
}

/* --- quotas */

static void set_space(struct world *w, int s)
{
	struct space *space = &w->spaces[s];

	space->tenant = s < 2 ? -1 : s % TENANTS;
	space->has_quota = s > 0;
	space->bytes = (1 + below(w, 30)) * 40 * GIB;
	space->gpus = chance(w, 2) ? AMOUNT_NONE : 1 + below(w, 16);
}

static void set_tenant(struct world *w, int t)
{
	w->tenants[t] = (struct tenant){
		.bytes = chance(w, 3) ? AMOUNT_NONE : (1 + below(w, 40)) * 40 * GIB,
		.gpus = chance(w, 2) ? AMOUNT_NONE : 1 + below(w, 20),
		.topology = {(enum topology_policy)below(w, 3), (enum layout_scope)below(w, 3),
			     MISMATCH_ALERT},
	};
}

static void change_quota(struct world *w)
{
	int s = (int)below(w, SPACES), t = (int)below(w, TENANTS);

	set_space(w, s);
	tell_space(w, w->cluster, s);
	if (!chance(w, 3))
		return;
	set_tenant(w, t);
	tell_tenant(w, w->cluster, t);
}

/* --- all of it anew */

static void relist(struct world *w)
{
	cluster_begin_replace(w->cluster, CLUSTER_PODS);
	for (int p = 0; p < PODS; p++)
		if (w->pods[p].exists)
			tell_pod(w, p);
	cluster_end_replace(w->cluster, CLUSTER_PODS);
}

/* @gone: pods that it is not told of, each a bit. */
static struct cluster *tell_all_but(struct world *w, uint32_t gone)
{
	static const struct hash_key key = {3, 4};
	struct cluster *cluster = cluster_new(&key);

	for (int t = 0; t < TENANTS; t++)
		tell_tenant(w, cluster, t);
	for (int s = 0; s < SPACES; s++)
		tell_space(w, cluster, s);
	for (int n = 0; n < NODES; n++)
		if (w->nodes[n].exists)
			tell_node(w, cluster, n);
	for (int p = PODS; p-- > 0;) {
		struct pod *pod = &w->pods[p];

		if (!pod->exists || gone >> p & 1)
			continue;
		tell_what_was_told(w, cluster, p);
		if (pod->assumed && node_handle(cluster, pod->assumed_node) != TABLE_NONE)
			assume(w, cluster, p);
	}
	refresh(w, cluster);
	return cluster;
}

/* Cards that were chosen for pods that are bound by now are forgotten with a restart. */
static bool all_is_told(const struct world *w)
{
	for (int p = 0; p < PODS; p++) {
		const struct pod *pod = &w->pods[p];

		if (pod->exists && pod->assumed && !w->nodes[pod->assumed_node].exists)
			return false;
		if (pod->exists && !pod->assumed && !pod->told_finished && pod->assumed_cards != 0)
			return false;
	}
	return true;
}

static void restart(struct world *w)
{
	CLEANUP(cluster_free) struct cluster *cluster = NULL;

	if (!all_is_told(w))
		return;
	cluster = tell_all_but(w, 0);
	refresh(w, w->cluster);
	for (int p = 0; p < PODS; p++) {
		struct place place;

		if (!is_pending(&w->pods[p]))
			continue;
		arena_reset(&w->arena);
		place_memory_clear(&w->fresh);
		begin(w, w->cluster, &w->memory, p, &place);
		for (int n = 0; n < NODES; n++)
			if (node_handle(w->cluster, n) != TABLE_NONE)
				check_same(w, cluster, &place, p, n);
	}
}

static uint32_t pick_gone(struct world *w, uint32_t *ret_handles, size_t *ret_n)
{
	uint32_t gone = 0;

	*ret_n = 0;
	for (int p = 0; p < PODS; p++) {
		if (!w->pods[p].exists || !chance(w, 3))
			continue;
		gone |= UINT32_C(1) << p;
		ret_handles[(*ret_n)++] = pod_handle(w, w->cluster, p);
	}
	return gone;
}

/* Without some pods, which are there. */
static void try_without(struct world *w)
{
	CLEANUP(cluster_free) struct cluster *cluster = NULL;
	uint32_t handles[PODS], gone;
	struct cluster_trial trial = {handles, 0};

	if (!all_is_told(w))
		return;
	gone = pick_gone(w, handles, &trial.n);
	cluster = tell_all_but(w, gone);
	refresh(w, w->cluster);
	for (int p = 0; p < PODS; p++) {
		struct place place;

		if (!is_pending(&w->pods[p]) || gone >> p & 1)
			continue;
		arena_reset(&w->arena);
		place_memory_clear(&w->fresh);
		begin(w, w->cluster, &w->memory, p, &place);
		place_try(&place, &trial);
		for (int n = 0; n < NODES; n++)
			if (w->nodes[n].exists)
				check_same(w, cluster, &place, p, n);
		trials++;
	}
}

/* --- histories */

static void start(struct world *w, uint64_t seed)
{
	static const struct hash_key key = {1, 2};

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	random_init(&w->random, seed);
	arena_init(&w->arena, 16 << 20);
	w->weights = PLACEMENT_WEIGHTS_DEFAULT;
	w->now_us = 1;
	for (int t = 0; t < TENANTS; t++)
		set_tenant(w, t);
	for (int s = 0; s < SPACES; s++)
		set_space(w, s);
	for (int n = 0; n < NODES; n++) {
		w->nodes[n].exists = true;
		new_machine(w, &w->nodes[n]);
	}
	w->cluster = cluster_new(&key);
	for (int t = 0; t < TENANTS; t++)
		tell_tenant(w, w->cluster, t);
	for (int s = 0; s < SPACES; s++)
		tell_space(w, w->cluster, s);
	for (int n = 0; n < NODES; n++)
		tell_node(w, w->cluster, n);
}

static void step(struct world *w)
{
	static void (*const steps[])(struct world *) = {
		create_pod,  create_pod,   schedule,   schedule,    schedule,
		schedule,    admit_next,   admit_next, finish_pod,  finish_pod,
		delete_pod,  delete_pod,   tell_late,  tell_late,   expire,
		change_node, change_quota, restart,    try_without,
	};
	uint32_t what = below(w, ARRAY_SIZE(steps) * 4 + 1);

	if (what == 0)
		relist(w);
	else
		steps[what % ARRAY_SIZE(steps)](w);
	check_rooms(w);
}

/* Room is held, and claims are named, in unit tests alone. */
static bool is_met_here(unsigned int verdict)
{
	return verdict != PLACE_NO_DEVICE && verdict != PLACE_STRANGER && verdict != PLACE_HELD &&
	       verdict != PLACE_CLAIMS;
}

static void check_met(bool only_one)
{
	for (unsigned int verdict = 0; verdict < PLACE_VERDICT_COUNT; verdict++) {
		print_message("%zu %s\n", seen[verdict], place_reason((enum place_verdict)verdict));
		if (!only_one && seen[verdict] == 0 && is_met_here(verdict))
			fail_msg("%s was never met", place_reason((enum place_verdict)verdict));
	}
}

static void every_history_holds(void **state)
{
	const char *only = getenv("GPUQOS_SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;
	uint64_t n = only ? 1 : getenv("GPUQOS_SOAK") ? SOAK_HISTORIES : HISTORIES;

	(void)state;
	for (uint64_t seed = first; seed < first + n; seed++) {
		start(&world, seed);
		for (world.step = 1; world.step <= STEPS; world.step++)
			step(&world);
		place_memory_clear(&world.memory);
		place_memory_clear(&world.fresh);
		cluster_free(world.cluster);
		arena_clear(&world.arena);
	}
	print_message("%zu admitted with their scope required, %zu without; %zu rejected\n",
		      required_admitted, loosely_admitted, kubelet_rejected);
	check_met(only != NULL);
	print_message("%zu trials\n", trials);
	assert_true(only || (required_admitted > 0 && loosely_admitted > 0 && trials > 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_history_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
