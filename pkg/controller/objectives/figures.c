/* SPDX-License-Identifier: Apache-2.0 */
/* From an answer of Prometheus into the cluster. */
#include "controller/objectives/figures.h"

#include "base/utf8.h"
#include "prom/device_series.h"

enum device_series figures_next(enum device_series from, uint32_t exporters)
{
	while (from < DEVICE_SERIES_COUNT &&
	       !(exporters & (UINT32_C(1) << device_series_kind(from).exporter)))
		from++;
	return from;
}

int figures_take(const struct figures_taking *taking, enum device_series series,
		 const struct prom_answer *answer, struct error *err)
{
	struct device_figures figures = {NULL, 0};
	int done;

	arena_reset(taking->arena);
	if (str_empty(answer->warning))
		done = prom_device_series_read(series, answer, taking->arena, &figures, err);
	else
		done = error_set(err, ERROR_INVALID, "%.*s",
				 STR_ARGS(utf8_prefix(answer->warning, 256)));
	cluster_take_series(taking->cluster, series, figures.list, figures.n, &taking->moment);
	return done;
}
