/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onMismatch: Migrate. Of the tenant's pods that do not lie as is required the oldest that may be
 * moved is; why the others are not stands in the condition.
 */
#include "base/checked.h"
#include "cluster/looks.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "controller/eviction/turn.h"
#include "place/check.h"
#include "plan/migrate.h"

#define CANDIDATES_MOST 64 /* that are looked at in one turn, the oldest of them */
#define SEARCHES_MOST   4  /* of them those for which all nodes are */

struct candidate {
	uint32_t pod;
	int64_t created_us;
};

struct candidates {
	struct candidate list[CANDIDATES_MOST];
	size_t n;
};

/* Sorted by age; the youngest falls out. */
static void add(struct candidates *candidates, struct candidate one)
{
	size_t i = candidates->n;

	if (i == CANDIDATES_MOST && one.created_us >= candidates->list[i - 1].created_us)
		return;
	if (i < CANDIDATES_MOST)
		candidates->n++;
	else
		i--;
	for (; i > 0 && candidates->list[i - 1].created_us > one.created_us; i--)
		candidates->list[i] = candidates->list[i - 1];
	candidates->list[i] = one;
}

static void add_of_namespace(const struct cluster *cluster, uint32_t namespace,
			     struct candidates *candidates)
{
	for (uint32_t pod = cluster_namespace_pod(cluster, namespace); pod != TABLE_NONE;
	     pod = cluster_namespace_pod_next(cluster, pod)) {
		struct cluster_held held = cluster_held(cluster, pod);

		if (held.topology.policy != TOPOLOGY_REQUIRED ||
		    held.topology.on_mismatch != MISMATCH_MIGRATE ||
		    place_check(&held) != CHECK_SPANS)
			continue;
		add(candidates, (struct candidate){pod, cluster_pod_name(cluster, pod).created_us});
	}
}

static void find_candidates(const struct eviction_turn *turn, struct candidates *candidates)
{
	const struct cluster *cluster = turn->reconciler->cluster;

	candidates->n = 0;
	for (uint32_t ns = cluster_namespace_next(cluster, 0); ns != TABLE_NONE;
	     ns = cluster_namespace_next(cluster, ns + 1))
		if (cluster_tenant_of(cluster, ns) == turn->tenant)
			add_of_namespace(cluster, ns, candidates);
}

/* --- the receipt */

static struct str describe_proof(struct eviction_turn *turn, uint32_t pod,
				 const struct migrate_found *found)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	struct cluster_held held = cluster_held(cluster, pod);
	struct cluster_pod_name name = cluster_pod_name(cluster, pod);
	struct buf text;

	buf_init(&text, LIMIT_RECEIPT_TEXT);
	buf_printf(&text,
		   "On node %.*s its %u cards do not lie in one domain of scope %s, which is "
		   "required. Node %.*s fits it with %u cards that do (score %lld of %d), of %u "
		   "nodes that were looked at.",
		   STR_ARGS(name.node), topo_set_count(held.cards),
		   layout_scope_text(held.topology.scope),
		   STR_ARGS(cluster_node_name(cluster, found->node)), topo_set_count(found->cards),
		   (long long)found->score, PLACE_TERM_MOST, found->nodes);
	return eviction_text_take(turn, &text);
}

static void move(struct eviction_turn *turn, uint32_t pod, const struct receipt_pod *self,
		 const struct migrate_found *found)
{
	eviction_issue(turn,
		       &(struct receipt){
			       .cause = RECEIPT_MISMATCH,
			       .beneficiary = *self,
			       .node = cluster_node_name(turn->reconciler->cluster, found->node),
			       .cards = found->cards,
			       .proof = describe_proof(turn, pod, found),
			       .victims = self,
			       .n_victims = 1,
		       },
		       pod);
}

/* --- who stays */

static void tell_unmoved(struct eviction_turn *turn, const struct receipt_pod *self,
			 const struct migrate_found *found)
{
	struct buf note;

	buf_init(&note, LIMIT_EVENT_NOTE);
	buf_printf(&note, "Pod %.*s/%.*s is not moved: ", STR_ARGS(self->namespace),
		   STR_ARGS(self->name));
	migrate_describe(found, &note);
	buf_add_cstr(&note, ".");
	if (cluster_tell_unmoved(turn->reconciler->cluster, turn->tenant, buf_str(&note)))
		recorder_event(turn->reconciler->recorder,
			       &(struct recorder_event){{STR("v1"), str_from(api_pods.kind),
							 self->namespace, self->name, self->uid},
							"Warning",
							"NotMoved",
							"Evict",
							buf_str(&note)});
	buf_clear(&note);
}

static void look_again_at(struct eviction_turn *turn, const struct migrate_found *found)
{
	eviction_look_again(turn, MIN(found->again_us, turn->now_real_us + EVICTION_RELOOK_US));
}

/* True where it is moved. The first that stays is the one that is told. */
static bool try_one(struct eviction_turn *turn, uint32_t pod, bool *told, size_t *searches)
{
	struct place_tools tools = {
		.cluster = turn->reconciler->cluster,
		.weights = &turn->reconciler->config->weights,
		.memory = turn->reconciler->memory,
		.arena = &turn->reconciler->arena,
	};
	const struct migrate_view view = {&tools, &turn->limits, &turn->facts.spec.protection,
					  turn->now_us, turn->now_real_us};
	struct receipt_pod *self = arena_alloc(&turn->reconciler->arena, sizeof(*self));
	struct migrate_found found;

	if (!self || !eviction_name_pod(turn, pod, self))
		return false;
	migrate_decide(&view, pod, self, &found);
	*searches += found.nodes > 0;
	if (found.verdict == MIGRATE_MOVE) {
		move(turn, pod, self, &found);
		return true;
	}
	if (found.verdict == MIGRATE_GOING)
		return false;
	look_again_at(turn, &found);
	if (!*told)
		tell_unmoved(turn, self, &found);
	*told = true;
	return false;
}

void eviction_move(struct eviction_turn *turn)
{
	struct cluster *cluster = turn->reconciler->cluster;
	struct topology_counts counts = cluster_tenant_topology(cluster, turn->tenant);
	struct candidates candidates = {.n = 0};
	bool told = false, moved = false;
	size_t searches = 0;

	if (topology_count_spans(&counts.of[TOPOLOGY_REQUIRED]) > 0)
		find_candidates(turn, &candidates);
	for (size_t i = 0; i < candidates.n && !moved && searches < SEARCHES_MOST; i++)
		moved = try_one(turn, candidates.list[i].pod, &told, &searches);
	if (!told)
		cluster_tell_unmoved(cluster, turn->tenant, STR_NONE);
}
