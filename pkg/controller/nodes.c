/* SPDX-License-Identifier: Apache-2.0 */
/* A timer for Leases, and sentences about layouts and pods. */
#include "controller/nodes.h"

#include "api/type.h"
#include "base/limits.h"
#include "cluster/looks.h"
#include "cluster/nodes/agents.h"
#include "cluster/placing/placement.h"
#include "cluster/read.h"
#include "place/check.h"
#include "topo/set.h"

#define LOOK_US         (5 * USEC_PER_SEC) /* so late a Lease that was just made may be seen to end */
#define ACTION_READ     "ReadTopology"
#define ACTION_CHECK    "CheckTopology"
#define REASON_MISMATCH "TopologyMismatch"

/* --- Leases */

/* Whether silence is the agents' and not ours. */
static bool hears(const struct nodes *nodes, int64_t now_us)
{
	struct reflector_stats stats;

	reflector_stats(nodes->leases, &stats);
	return stats.synced && stats.last_error.kind == ERROR_NONE &&
	       now_us - nodes->looked_us < 2 * LOOK_US;
}

static void look_at_leases(void *context)
{
	struct nodes *nodes = context;
	int64_t now_us = loop_now(nodes->loop), next_us;

	if (!hears(nodes, now_us))
		cluster_excuse_agents(nodes->cluster, now_us);
	nodes->looked_us = now_us;
	cluster_expire_agents(nodes->cluster, now_us, &next_us);
	loop_timer_set(&nodes->timer, MIN(next_us, now_us + LOOK_US));
	nodes->touched(nodes->context);
}

void nodes_start(struct nodes *nodes)
{
	loop_timer_init(&nodes->timer, nodes->loop, "agents", look_at_leases, nodes);
	nodes->looked_us = loop_now(nodes->loop);
	loop_timer_set(&nodes->timer, nodes->looked_us + LOOK_US);
}

void nodes_clear(struct nodes *nodes)
{
	loop_timer_clear(&nodes->timer);
	*nodes = (struct nodes){0};
}

/* --- layouts */

static void add_problem(struct buf *note, enum layout_state state, struct str name,
			struct str problem)
{
	if (state == LAYOUT_IS_AGENT_GONE)
		buf_printf(note,
			   "its agent's Lease " AGENT_LEASE_PREFIX "%.*s is not renewed any more",
			   STR_ARGS(name));
	else if (!str_empty(problem))
		buf_add_str(note, problem);
	else
		buf_add_cstr(note, "it offers more whole GPUs than its layout lists");
}

/* "TopologyAgentGone" */
static const char *const reasons[] = {
#define X(name, reason) [LAYOUT_IS_##name] = "Topology" reason,
	LAYOUT_STATES(X)
#undef X
};

static void tell(struct nodes *nodes, struct str name, enum layout_state state, struct str problem)
{
	bool known = state == LAYOUT_IS_KNOWN;
	struct buf note;

	buf_init(&note, LIMIT_EVENT_NOTE);
	if (known) {
		buf_add_cstr(&note, "The node's topology is known again.");
	} else {
		buf_add_cstr(&note, "The node's topology is not known: ");
		add_problem(&note, state, name, problem);
		buf_add_cstr(&note, ". No pod that requires a topology is placed here.");
	}
	/* Who describes a node looks for Events about its name as well as its uid. */
	recorder_event(nodes->recorder,
		       &(struct recorder_event){
			       {STR("v1"), str_from(api_nodes.kind), STR_NONE, name, name},
			       known ? "Normal" : "Warning",
			       reasons[state],
			       ACTION_READ,
			       buf_str(&note)});
	buf_clear(&note);
}

static void look_at_layout(struct nodes *nodes, uint32_t node)
{
	enum layout_state state = cluster_room(nodes->cluster, node).state, told;

	if (!cluster_node_offers(nodes->cluster, node))
		return;
	told = cluster_tell_layout(nodes->cluster, node);
	if (state == told || state == LAYOUT_IS_ABSENT)
		return;
	if (state == LAYOUT_IS_KNOWN && told == LAYOUT_IS_ABSENT)
		return;
	tell(nodes, cluster_node_name(nodes->cluster, node), state,
	     cluster_layout_problem(nodes->cluster, node));
}

/* --- pods */

static void add_indices(struct buf *note, uint64_t set)
{
	const char *before = "";

	topo_set_for_each(index, set) {
		buf_printf(note, "%s%u", before, (uint32_t)index);
		before = ", ";
	}
}

/* NUMA nodes by their places in the node's topology. */
static void add_mismatch(struct buf *note, const struct cluster_held *held,
			 enum topology_check check)
{
	if (check == CHECK_CPUS_APART) {
		buf_add_cstr(note, "The pod's CPUs are to be on the NUMA node of its GPUs, and are "
				   "not: kubelet gave it CPUs of NUMA nodes ");
		add_indices(note, held->numas);
		buf_add_cstr(note, " and cards ");
	} else {
		buf_printf(note,
			   "The pod's GPUs are to lie in one domain of scope %s, and do not: "
			   "kubelet gave it cards ",
			   layout_scope_text(held->topology.scope));
	}
	add_indices(note, held->cards);
}

static void tell_mismatch(struct nodes *nodes, uint32_t pod, const struct cluster_held *held,
			  enum topology_check check)
{
	struct cluster_pod_name name = cluster_pod_name(nodes->cluster, pod);
	char uid[UID_TEXT_SIZE];
	struct buf note;

	uid_text(name.uid, uid);
	buf_init(&note, LIMIT_EVENT_NOTE);
	add_mismatch(&note, held, check);
	buf_printf(&note, " of the topology of node %.*s.", STR_ARGS(name.node));
	recorder_event(nodes->recorder,
		       &(struct recorder_event){{STR("v1"), str_from(api_pods.kind), name.namespace,
						 name.name, str_from(uid)},
						"Warning",
						REASON_MISMATCH,
						ACTION_CHECK,
						buf_str(&note)});
	buf_clear(&note);
}

static void look_at_pod(struct nodes *nodes, uint32_t pod, bool tells)
{
	struct cluster_held held = cluster_held(nodes->cluster, pod);
	enum topology_check check = place_check(&held);

	cluster_set_check(nodes->cluster, pod, &held.topology, check);
	if (tells && (check == CHECK_SPANS || check == CHECK_CPUS_APART) &&
	    held.topology.policy == TOPOLOGY_REQUIRED && cluster_tell_check(nodes->cluster, pod))
		tell_mismatch(nodes, pod, &held, check);
}

void nodes_look(struct nodes *nodes, bool tells)
{
	const struct cluster *cluster = nodes->cluster;
	uint32_t node;

	while (cluster_take_node(nodes->cluster, &node)) {
		for (uint32_t pod = cluster_node_pod(cluster, node); pod != TABLE_NONE;
		     pod = cluster_node_pod_next(cluster, pod))
			look_at_pod(nodes, pod, tells);
		if (tells && cluster_node_exists(cluster, node))
			look_at_layout(nodes, node);
	}
}
