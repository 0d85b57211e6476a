/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of what is known of nodes' layouts, and of how pods lie. */
#include "base/metrics.h"
#include "base/table.h"
#include "cluster/looks.h"
#include "cluster/placing/placement.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "controller/pages.h"

#define UNKNOWN_NODES_MOST 256

static void write_states(const struct pages_view *view, struct buf *page)
{
	static const char name[] = "gpuqos_node_layouts";
	struct cluster_layouts layouts;

	cluster_layouts(view->cluster, &layouts);
	metrics_write_family(page, name, "gauge",
			     "Nodes with GPUs, by what is known of their topology.");
	for (int state = 0; state < LAYOUT_STATE_COUNT; state++) {
		const struct metric_label label = {
			"state", str_from(layout_state_reason((enum layout_state)state))};

		metrics_write_sample(page, name, &label, 1, layouts.nodes[state]);
	}
}

/* Something is wrong there; that nobody publishes a layout is not. */
static bool is_unknown(const struct cluster *cluster, uint32_t node, enum layout_state *ret_state)
{
	*ret_state = cluster_room(cluster, node).state;
	return cluster_node_offers(cluster, node) && *ret_state != LAYOUT_IS_KNOWN &&
	       *ret_state != LAYOUT_IS_ABSENT;
}

static void write_unknown(const struct pages_view *view, struct buf *page)
{
	static const char name[] = "gpuqos_node_layout_unknown";
	const struct cluster *cluster = view->cluster;
	enum layout_state state;
	size_t n = 0;

	metrics_write_family(page, name, "gauge",
			     "1 for a node with GPUs whose topology is published and not known.");
	for (uint32_t i = cluster_node_next(cluster, 0); i != TABLE_NONE && n < UNKNOWN_NODES_MOST;
	     i = cluster_node_next(cluster, i + 1)) {
		if (!is_unknown(cluster, i, &state))
			continue;
		const struct metric_label labels[] = {
			{"node", cluster_node_name(cluster, i)},
			{"reason", str_from(layout_state_reason(state))}};

		metrics_write_sample(page, name, labels, ARRAY_SIZE(labels), 1);
		n++;
	}
}

/* Nobody of a tenant that asks for nothing is checked: it has no samples. */
static bool is_checked(const struct topology_counts *counts)
{
	return counts->of[TOPOLOGY_PREFERRED].pods + counts->of[TOPOLOGY_REQUIRED].pods > 0;
}

static void write_mismatches(struct buf *page, const char *name, struct str tenant,
			     const struct topology_counts *counts)
{
	for (int i = 0; i < LAYOUT_SCOPE_COUNT; i++) {
		const struct metric_label labels[] = {
			{"tenant", tenant},
			{"scope", str_from(layout_scope_text((enum layout_scope)i))}};

		metrics_write_sample(page, name, labels, ARRAY_SIZE(labels),
				     counts->of[TOPOLOGY_PREFERRED].spans[i] +
					     counts->of[TOPOLOGY_REQUIRED].spans[i]);
	}
}

static void write_unknown_pods(struct buf *page, const char *name, struct str tenant,
			       const struct topology_counts *counts)
{
	const struct metric_label label = {"tenant", tenant};

	metrics_write_sample(page, name, &label, 1,
			     counts->of[TOPOLOGY_PREFERRED].unknown +
				     counts->of[TOPOLOGY_REQUIRED].unknown);
}

static void write_apart(struct buf *page, const char *name, struct str tenant,
			const struct topology_counts *counts)
{
	const struct metric_label label = {"tenant", tenant};

	metrics_write_sample(page, name, &label, 1,
			     counts->of[TOPOLOGY_PREFERRED].apart +
				     counts->of[TOPOLOGY_REQUIRED].apart);
}

static void write_other_cards(struct buf *page, const char *name, struct str tenant,
			      const struct topology_counts *counts)
{
	const struct metric_label label = {"tenant", tenant};

	metrics_write_sample(page, name, &label, 1,
			     counts->of[TOPOLOGY_PREFERRED].other +
				     counts->of[TOPOLOGY_REQUIRED].other);
}

static const struct check_family {
	const char *name, *help;
	void (*write)(struct buf *page, const char *name, struct str tenant,
		      const struct topology_counts *counts);
} check_families[] = {
	{"gpuqos_topology_mismatched_pods",
	 "Pods whose cards do not lie in one domain of the scope that is asked for.",
	 write_mismatches},
	{"gpuqos_topology_cpus_apart_pods",
	 "Pods whose cards lie as asked, with CPUs of their own on another NUMA node.",
	 write_apart},
	{"gpuqos_topology_unknown_pods",
	 "Pods of which nothing tells where the cards lie that they have.", write_unknown_pods},
	{"gpuqos_topology_other_cards_pods",
	 "Pods whose cards lie as asked, and are others than were chosen for them.",
	 write_other_cards},
};

static void write_checks(const struct pages_view *view, struct buf *page)
{
	const struct cluster *cluster = view->cluster;

	for (size_t f = 0; f < ARRAY_SIZE(check_families); f++) {
		const struct check_family *family = &check_families[f];

		metrics_write_family(page, family->name, "gauge", family->help);
		for (uint32_t i = cluster_tenant_next(cluster, 0); i != TABLE_NONE;
		     i = cluster_tenant_next(cluster, i + 1)) {
			struct topology_counts counts = cluster_tenant_topology(cluster, i);

			if (is_checked(&counts))
				family->write(page, family->name, cluster_tenant_name(cluster, i),
					      &counts);
		}
	}
}

void pages_write_topology(const struct pages_view *view, struct buf *page)
{
	write_states(view, page);
	write_unknown(view, page);
	write_checks(view, page);
}
