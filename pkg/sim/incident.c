/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world has pods and cards as API server and kubelet hold them; the cluster is what the
 * scheduler has seen of it, news waiting in a queue between them. Each step is one of a handful of
 * acts, drawn among those that are possible.
 */
#include "sim/incident.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/mem.h"
#include "base/random.h"
#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "place/place.h"
#include "sim/incident_node.h"

#define ALL_PODS  INCIDENT_PODS
#define TRIES     8 /* kubelet's rejections after which a pod is not made anew */
#define NEWS_MAX  (ALL_PODS * (4 + 3 * (TRIES + 1)))
#define MEMORY    (16 << 20) /* of one question */
#define STEPS_MAX 200000     /* far more than there is to do */
#define SIZE_NAME 32

enum stage {
	PENDING,  /* the scheduler has seen it */
	ASSUMED,  /* chosen a node for, not bound */
	BOUND,    /* the API server has its node; kubelet has not looked yet */
	RUNNING,  /* has cards */
	REJECTED, /* by kubelet; made anew once the watch has shown it */
	ENDED
};

struct pod {
	char name[SIZE_NAME];
	enum stage stage;
	uint32_t count, node, version, tries;
	uint32_t bound; /* before and after others */
	uint64_t cards;
};

/* What the watch will show of a pod, as it was then. */
struct news {
	uint32_t pod, version;
	enum stage stage;
	uint64_t cards;
};

struct world {
	const struct incident_plan *plan;
	struct incident_result *result;
	struct random random;
	struct incident_node machine;
	uint64_t held[INCIDENT_NODES]; /* cards that kubelet has given out */
	uint32_t bindings;
	struct pod pods[ALL_PODS];
	struct news news[NEWS_MAX]; /* a queue */
	size_t first_news, end_news;
	/* what the scheduler has */
	struct cluster *cluster;
	struct place_memory memory;
	struct placement_weights weights;
	struct arena arena;
};

const char *incident_placer_text(enum incident_placer placer)
{
	static const char *const texts[] = {
#define X(name, text) [INCIDENT_##name] = text,
		INCIDENT_PLACERS(X)
#undef X
	};

	return texts[placer];
}

static struct str node_name(uint32_t node)
{
	static const char *const names[INCIDENT_NODES] = {"node-0", "node-1", "node-2", "node-3"};

	return str_from(names[node]);
}

static struct str tenant_of(uint32_t pod)
{
	static const char *const names[INCIDENT_TENANTS] = {"red", "blue"};

	return str_from(names[pod % INCIDENT_TENANTS]);
}

/* --- what the scheduler sees */

static void show_node(struct world *w, uint32_t node)
{
	const struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
					   .product = STR("H100"),
					   .unit_memory = INT64_C(80) << 30,
					   .count = INCIDENT_CARDS,
					   .allocatable = INCIDENT_CARDS,
					   .sharing = DEVICE_WHOLE};
	const struct node_facts facts = {.name = node_name(node),
					 .uid = node_name(node),
					 .ready = NODE_READY,
					 .offers = &offer,
					 .n_offers = 1,
					 .layout = &w->machine.layout,
					 .layout_state = LAYOUT_IS_KNOWN};

	(void)cluster_apply_node(w->cluster, &facts, NULL);
}

static enum topology_policy wish_of(const struct world *w)
{
	static const enum topology_policy wishes[] = {
		[INCIDENT_COUNTING] = TOPOLOGY_NONE,
		[INCIDENT_RELAXED] = TOPOLOGY_PREFERRED,
		[INCIDENT_STRICT] = TOPOLOGY_REQUIRED,
	};

	return wishes[w->plan->placer];
}

static size_t ids_of(const struct world *w, uint64_t cards, struct str *ret_ids)
{
	size_t n = 0;

	for (; cards != 0; cards &= cards - 1)
		ret_ids[n++] = w->machine.gpus[__builtin_ctzll(cards)].uuid;
	return n;
}

static void show_pod(struct world *w, const struct news *news)
{
	const struct pod *pod = &w->pods[news->pod];
	const struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), pod->count);
	const struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct str ids[INCIDENT_CARDS], name = str_from(pod->name);
	struct pod_facts facts = {
		.namespace = tenant_of(news->pod),
		.name = name,
		.uid = name,
		.resource_version = news->version,
		.node = news->stage == PENDING ? STR_NONE : node_name(pod->node),
		.phase = news->stage == RUNNING ? POD_RUNNING : POD_PENDING,
		.containers = &container,
		.n_containers = 1,
		.alignment = {.guaranteed = true,
			      .whole_cpus = true,
			      .wished = wish_of(w) != TOPOLOGY_NONE,
			      .policy = wish_of(w)},
		.device_ids = ids,
		.n_device_ids = ids_of(w, news->cards, ids),
	};

	if (news->stage == ENDED || news->stage == REJECTED)
		cluster_delete(w->cluster, CLUSTER_PODS, facts.namespace, name);
	else
		(void)cluster_apply_pod(w->cluster, &facts, NULL);
}

static void tell(struct world *w, uint32_t pod)
{
	struct pod *p = &w->pods[pod];

	assert(w->end_news < NEWS_MAX);
	w->news[w->end_news++] = (struct news){pod, ++p->version, p->stage, p->cards};
}

static void make_anew(struct world *w, uint32_t pod)
{
	struct pod *p = &w->pods[pod];

	if (p->tries++ == TRIES) {
		p->stage = ENDED;
		return;
	}
	snprintf(p->name, sizeof(p->name), "pod-%" PRIu32 "-%" PRIu32, pod, p->tries);
	p->stage = PENDING;
	tell(w, pod);
}

/* --- acts: each takes a pod of its stage on */

static bool fits(struct world *w, struct place *place, uint32_t handle)
{
	struct cluster_units units[LIMIT_RESOURCES_PER_POD];

	if (w->plan->placer != INCIDENT_COUNTING)
		return place_fit(place, handle).verdict == PLACE_FITS;
	cluster_units_on(w->cluster, &place->ask, handle, units);
	return units[0].free >= units[0].count;
}

static int64_t score(struct world *w, struct place *place, uint32_t handle)
{
	struct cluster_units units[LIMIT_RESOURCES_PER_POD];

	if (w->plan->placer != INCIDENT_COUNTING)
		return place_score(place, handle).total;
	cluster_units_on(w->cluster, &place->ask, handle, units);
	return units[0].free;
}

/* False where no watch has shown the pod yet. */
static bool ask_for(struct world *w, uint32_t pod, struct place *place)
{
	const struct place_tools tools = {w->cluster, &w->weights, &w->memory, &w->arena, NULL};
	struct str name = str_from(w->pods[pod].name);
	struct cluster_ask ask;
	uint32_t handle = cluster_pod_find(w->cluster, tenant_of(pod), name, name);

	if (handle == TABLE_NONE)
		return false;
	arena_reset(&w->arena);
	cluster_ask_of_pod(w->cluster, handle, &ask);
	place_begin(place, &tools, &ask);
	return true;
}

/* filter, prioritize, and the assumption that it leaves. */
static bool schedule(struct world *w, uint32_t pod)
{
	struct pod *p = &w->pods[pod];
	uint32_t best = TABLE_NONE;
	int64_t best_score = -1;
	struct place place;

	if (!ask_for(w, pod, &place))
		return false;
	for (uint32_t node = 0; node < INCIDENT_NODES; node++) {
		uint32_t handle = cluster_node_find(w->cluster, node_name(node));
		int64_t points;

		if (!fits(w, &place, handle))
			continue;
		points = score(w, &place, handle);
		if (points <= best_score)
			continue;
		best_score = points;
		best = handle;
		p->node = node;
	}
	if (best == TABLE_NONE)
		return false;
	cluster_assume(w->cluster, place.ask.pod, best,
		       w->plan->placer == INCIDENT_COUNTING ? 0 : place_cards(&place, best),
		       TIME_NEVER);
	p->stage = ASSUMED;
	return true;
}

static uint32_t bound_on(const struct world *w, uint32_t node)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < ALL_PODS; i++)
		if ((w->pods[i].stage == BOUND || w->pods[i].stage == RUNNING) &&
		    w->pods[i].node == node)
			sum += w->pods[i].count;
	return sum;
}

/* What was true when the node was chosen is looked at once more. */
static bool bind(struct world *w, uint32_t pod)
{
	struct pod *p = &w->pods[pod];
	struct place place;
	uint32_t bound = 0;

	if (!ask_for(w, pod, &place))
		return false;
	if (!fits(w, &place, cluster_node_find(w->cluster, node_name(p->node)))) {
		cluster_unassume(w->cluster, place.ask.pod);
		p->stage = PENDING;
		return true;
	}
	p->stage = BOUND;
	p->bound = ++w->bindings;
	tell(w, pod);
	w->result->sold_twice += bound_on(w, p->node) > INCIDENT_CARDS;
	for (uint32_t node = 0; node < INCIDENT_NODES; node++)
		bound += bound_on(w, node);
	w->result->most_bound = MAX(w->result->most_bound, bound);
	return true;
}

/* Of those on the node of @pod that kubelet has not looked at the one that was bound first. */
static uint32_t first_bound(const struct world *w, uint32_t pod)
{
	for (uint32_t i = 0; i < ALL_PODS; i++)
		if (w->pods[i].stage == BOUND && w->pods[i].node == w->pods[pod].node &&
		    w->pods[i].bound < w->pods[pod].bound)
			pod = i;
	return pod;
}

/* kubelet looks at pods in the order in which its watch shows them. */
static bool admit(struct world *w, uint32_t drawn)
{
	uint32_t pod = first_bound(w, drawn);
	struct pod *p = &w->pods[pod];
	uint64_t free = INCIDENT_ALL & ~w->held[p->node];

	p->cards = incident_admit(w->plan->kubelet, free, p->count, &w->random);
	if (p->cards == 0) {
		p->stage = REJECTED;
		w->result->rejected++;
	} else {
		p->stage = RUNNING;
		w->held[p->node] |= p->cards;
		w->result->ran++;
		w->result->spanning += incident_spans(p->cards);
	}
	tell(w, pod);
	return true;
}

static bool end(struct world *w, uint32_t pod)
{
	struct pod *p = &w->pods[pod];

	w->held[p->node] &= ~p->cards;
	p->cards = 0;
	p->stage = ENDED;
	tell(w, pod);
	return true;
}

/* --- what happens next */

static bool watch(struct world *w)
{
	struct news news;

	if (w->first_news == w->end_news)
		return false;
	news = w->news[w->first_news++];
	show_pod(w, &news);
	if (news.stage == REJECTED)
		make_anew(w, news.pod);
	return true;
}

static uint32_t draw_pod(struct world *w, enum stage stage)
{
	uint32_t seen = 0, chosen = ALL_PODS;

	for (uint32_t i = 0; i < ALL_PODS; i++)
		if (w->pods[i].stage == stage && random_below(&w->random, ++seen) == 0)
			chosen = i;
	return chosen;
}

/* Whether some pending pod found a node; all are tried, so that false means that none does. */
static bool schedule_any(struct world *w)
{
	uint32_t first = (uint32_t)random_below(&w->random, ALL_PODS);

	for (uint32_t i = 0; i < ALL_PODS; i++) {
		uint32_t pod = (first + i) % ALL_PODS;

		if (w->pods[pod].stage == PENDING && schedule(w, pod))
			return true;
	}
	return false;
}

static bool take_on(struct world *w, enum stage stage, bool (*act)(struct world *, uint32_t))
{
	uint32_t pod = draw_pod(w, stage);

	return pod < ALL_PODS && act(w, pod);
}

static bool act_once(struct world *w, uint32_t act)
{
	switch (act) {
	case 0:
		return schedule_any(w);
	case 1:
		return take_on(w, ASSUMED, bind);
	case 2:
		return take_on(w, BOUND, admit);
	default:
		return watch(w);
	}
}

/* One act, if there is any that can be done. Pods end seldom, so that the nodes are full. */
static bool step(struct world *w)
{
	enum { ACTS = 4, SELDOM = 16 };
	uint32_t first = (uint32_t)random_below(&w->random, ACTS);

	if (random_below(&w->random, SELDOM) == 0 && take_on(w, RUNNING, end))
		return true;
	for (uint32_t i = 0; i < ACTS; i++)
		if (act_once(w, (first + i) % ACTS))
			return true;
	return take_on(w, RUNNING, end);
}

static void begin(struct world *w)
{
	static const struct hash_key key = {1, 2};
	static const uint32_t counts[] = {1, 1, 2, 4};

	random_init(&w->random, w->plan->seed);
	incident_node_init(&w->machine, w->plan->kubelet);
	w->cluster = cluster_new(&key);
	w->weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&w->arena, MEMORY);
	for (uint32_t node = 0; node < INCIDENT_NODES; node++)
		show_node(w, node);
	for (uint32_t pod = 0; pod < ALL_PODS; pod++) {
		w->pods[pod].count = counts[random_below(&w->random, ARRAY_SIZE(counts))];
		make_anew(w, pod);
	}
}

void incident_play(const struct incident_plan *plan, struct incident_result *result)
{
	struct world *w = mem_alloc(sizeof(*w));
	uint32_t before;

	w->plan = plan;
	w->result = result;
	begin(w);
	before = result->ran;
	for (int i = 0; i < STEPS_MAX && step(w); i++)
		;
	result->never_ran += ALL_PODS - (result->ran - before);
	place_memory_clear(&w->memory);
	cluster_free(w->cluster);
	arena_clear(&w->arena);
	mem_free(w);
}
