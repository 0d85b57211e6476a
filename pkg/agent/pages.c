/* SPDX-License-Identifier: Apache-2.0 */
/* /healthz, /readyz, and the gauges of /metrics. */
#include "agent/pages.h"

#include "base/clock.h"
#include "base/macros.h"
#include "base/metrics.h"

bool pages_write_health(const struct pages_view *view, struct buf *page)
{
	bool is_stuck = view->since_look_us > view->look_late_us;

	buf_printf(page, "[%c] machine: looked at %lld s ago\n", is_stuck ? '-' : '+',
		   (long long)(view->since_look_us / USEC_PER_SEC));
	return !is_stuck;
}

bool pages_write_ready(const struct pages_view *view, struct buf *page)
{
	buf_printf(page, "[%c] layout published\n", view->published ? '+' : '-');
	buf_printf(page, "[%c] lease\n", view->lease_holds ? '+' : '-');
	buf_printf(page, "[%c] kubelet asked\n", view->kubelet_known ? '+' : '.');
	return view->published && view->lease_holds;
}

static void write_gauge(struct buf *page, const char *name, const char *help, double value)
{
	metrics_write_family(page, name, "gauge", help);
	metrics_write_sample(page, name, NULL, 0, value);
}

static void write_gpus(const struct layout *layout, struct buf *page)
{
	static const enum layout_health healths[] = {LAYOUT_HEALTH_OK, LAYOUT_HEALTH_FAILED,
						     LAYOUT_HEALTH_UNKNOWN};

	metrics_write_family(page, "gpuqos_agent_gpus", "gauge", "Cards of this node by health.");
	for (size_t i = 0; i < ARRAY_SIZE(healths); i++) {
		const struct metric_label label = {"health",
						   str_from(layout_health_text(healths[i]))};
		unsigned int count = 0;

		for (size_t gpu = 0; gpu < layout->n_gpus; gpu++)
			count += layout->gpus[gpu].health == healths[i];
		metrics_write_sample(page, "gpuqos_agent_gpus", &label, 1, count);
	}
}

void pages_write_metrics(const struct pages_view *view, struct buf *page)
{
	write_gauge(page, "gpuqos_agent_layout_published",
		    "Whether the Node has the layout as it is now.", view->published);
	write_gauge(page, "gpuqos_agent_layout_generation", "Of the layout last published.",
		    (double)view->generation);
	write_gauge(page, "gpuqos_agent_lease_holds", "Whether the Lease was renewed in time.",
		    view->lease_holds);
	write_gauge(page, "gpuqos_agent_kubelet_known",
		    "Whether the topology and CPU manager policies are as kubelet said.",
		    view->kubelet_known);
	metrics_write_family(page, "gpuqos_log_dropped_total", "counter",
			     "Log lines that nobody took in time.");
	metrics_write_sample(page, "gpuqos_log_dropped_total", NULL, 0, (double)view->log_dropped);
	if (view->layout)
		write_gpus(view->layout, page);
}
