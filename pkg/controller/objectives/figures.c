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

int figures_take(struct cluster *cluster, enum device_series series,
		 const struct prom_answer *answer, struct arena *arena,
		 const struct series_moment *moment, struct error *err)
{
	struct device_figure *figures = NULL;
	size_t n = 0;
	int done;

	arena_reset(arena);
	if (str_empty(answer->warning))
		done = prom_device_series_read(series, answer, arena, &figures, &n, err);
	else
		done = error_set(err, ERROR_INVALID, "%.*s",
				 STR_ARGS(utf8_prefix(answer->warning, 256)));
	cluster_take_series(cluster, series, figures, done < 0 ? 0 : n, moment);
	return done;
}
