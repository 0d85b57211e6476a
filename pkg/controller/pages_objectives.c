/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of what is known of tenants' objectives, and of asking Prometheus about them. */
#include "base/metrics.h"
#include "base/table.h"
#include "cluster/tenants/tenants.h"
#include "controller/objectives/figures.h"
#include "controller/pages.h"

static double state_of(const struct cluster_objective *objective)
{
	return (double)objective->verdict->state;
}

static double value_of(const struct cluster_objective *objective)
{
	return (double)objective->verdict->value / 1e6;
}

static double threshold_of(const struct cluster_objective *objective)
{
	return (double)objective->spec->threshold / 1e6;
}

static const struct family {
	const char *name, *help;
	double (*value)(const struct cluster_objective *objective);
	bool of_unknown; /* also where nothing is known */
} families[] = {
	{"gpuqos_objective_state", "0: unknown, 1: met, 2: at risk, 3: violated.", state_of, true},
	{"gpuqos_objective_value", "The value of the pod that is worst off, in the metric's unit.",
	 value_of, false},
	{"gpuqos_objective_threshold", "What it is held against.", threshold_of, true},
};

static void write_tenant(const struct pages_view *view, const struct family *family,
			 uint32_t tenant, struct buf *page)
{
	for (size_t i = 0; i < cluster_objective_count(view->cluster, tenant); i++) {
		struct cluster_objective objective = cluster_objective(view->cluster, tenant, i);
		const struct metric_label labels[] = {
			{"tenant", cluster_tenant_name(view->cluster, tenant)},
			{"objective", objective.spec->name},
		};

		if (family->of_unknown || objective.verdict->state != OBJECTIVE_UNKNOWN)
			metrics_write_sample(page, family->name, labels, 2,
					     family->value(&objective));
	}
}

static void write_verdicts(const struct pages_view *view, struct buf *page)
{
	for (size_t f = 0; f < ARRAY_SIZE(families); f++) {
		metrics_write_family(page, families[f].name, "gauge", families[f].help);
		for (uint32_t i = cluster_tenant_next(view->cluster, 0); i != TABLE_NONE;
		     i = cluster_tenant_next(view->cluster, i + 1))
			write_tenant(view, &families[f], i, page);
	}
}

static void write_posts(const struct pages_view *view, struct buf *page)
{
	static const char name[] = "gpuqos_alertmanager_posts_total";
	const struct metric_label taken = {"result", STR("taken")};
	const struct metric_label failed = {"result", STR("failed")};

	metrics_write_family(page, name, "counter", "Posts of alerts to Alertmanager.");
	metrics_write_sample(page, name, &taken, 1, (double)view->alerts.posts);
	metrics_write_sample(page, name, &failed, 1, (double)view->alerts.failed);
}

static void write_queries(const struct pages_view *view, struct buf *page)
{
	static const char name[] = "gpuqos_prometheus_queries_total";
	const struct objectives_stats *stats = &view->objectives;
	const struct metric_label answered = {"result", STR("answered")};
	const struct metric_label failed = {"result", STR("failed")};

	metrics_write_family(page, name, "counter",
			     "Queries about objectives, by whether their answer was of use.");
	metrics_write_sample(page, name, &answered, 1, (double)stats->answered);
	metrics_write_sample(page, name, &failed, 1, (double)stats->failed);
	metrics_write_family(page, "gpuqos_prometheus_down", "gauge",
			     "1 while Prometheus does not answer.");
	metrics_write_sample(page, "gpuqos_prometheus_down", NULL, 0, stats->down);
	metrics_write_family(page, "gpuqos_objectives_round_seconds", "gauge",
			     "What the last round of queries took.");
	metrics_write_sample(page, "gpuqos_objectives_round_seconds", NULL, 0,
			     (double)stats->round_us / 1e6);
}

static void write_series(const struct pages_view *view, struct buf *page)
{
	static const char name[] = "gpuqos_device_series";

	metrics_write_family(page, name, "gauge",
			     "Cards, or pods, of which an exporter tells, by quantity.");
	for (enum device_series i = figures_next(0, view->objectives.exporters);
	     i != DEVICE_SERIES_COUNT; i = figures_next(i + 1, view->objectives.exporters)) {
		struct device_series_kind kind = device_series_kind(i);
		const struct metric_label labels[] = {
			{"exporter", str_from(exporter_text(kind.exporter))},
			{"quantity", str_from(figure_quantity_text(kind.quantity))},
			{"of", str_from(figure_scope_text(kind.scope))},
		};

		metrics_write_sample(page, name, labels, ARRAY_SIZE(labels),
				     (double)cluster_series_count(view->cluster, i));
	}
}

void pages_write_objectives(const struct pages_view *view, struct buf *page)
{
	if (!view->leads)
		return;
	write_verdicts(view, page);
	write_queries(view, page);
	write_series(view, page);
	write_posts(view, page);
}
