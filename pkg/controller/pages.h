/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_PAGES_H
#define GPUQOS_CONTROLLER_PAGES_H

#include "base/buf.h"
#include "controller/caches.h"
#include "controller/objectives/objectives.h"
#include "prom/alertmanager.h"

/* What can be read off the state when a page is asked for; nothing here is counted twice. */

struct pages_view {
	const struct cluster *cluster;
	const struct caches *caches;
	const char *identity;
	bool leads;
	int64_t now_us;
	uint64_t recounts, recount_differing;
	int64_t recount_drift; /* bytes, since the start */
	int64_t log_dropped;
	uint64_t events_dropped;
	struct objectives_stats objectives;
	struct alertmanager_counts alerts;
};

/* Prometheus families of caches, quotas, election and log. */
void pages_write_metrics(const struct pages_view *view, struct buf *page);
/* Of these, those of topology (pages_topology.c). */
void pages_write_topology(const struct pages_view *view, struct buf *page);
/* Likewise of objectives (pages_objectives.c): of who leads, since nobody else asks. */
void pages_write_objectives(const struct pages_view *view, struct buf *page);
/* A line per cache; false when one was never complete. */
bool pages_write_caches(const struct pages_view *view, struct buf *text);

#endif
