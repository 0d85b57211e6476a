/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of what is known of nodes' layouts. */
#include "base/metrics.h"
#include "base/table.h"
#include "cluster/placement.h"
#include "cluster/read.h"
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

void pages_write_topology(const struct pages_view *view, struct buf *page)
{
	write_states(view, page);
	write_unknown(view, page);
}
