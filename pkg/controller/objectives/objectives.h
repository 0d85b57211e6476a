/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_OBJECTIVES_OBJECTIVES_H
#define GPUQOS_CONTROLLER_OBJECTIVES_OBJECTIVES_H

#include "base/log.h"
#include "cluster/cluster.h"
#include "controller/config.h"
#include "loop/loop.h"

/*
 * Watches the objectives of all tenants. In each interval every question that some objective has
 * is asked once: one for each preset and percentile, over the namespaces of all tenants that have
 * it, and one for each query, however many tenants there are; one at a time. What comes of the
 * answers is in the cluster (cluster/tenants/objectives.h), and verdicts change there alone.
 *
 * Before them all series of devices that the configuration names are asked for, once each. What is
 * told of devices is in the cluster, too (cluster/nodes/series.h).
 *
 * Where Prometheus does not answer, all objectives are Unknown at once, and it is asked again ever
 * less often, up to OBJECTIVES_BACKOFF_US. A question that it refuses, or answers with a warning,
 * which may mean that something is missing, concerns its own objectives only. While a round is
 * slow, what it has not come to for too long (slo_pass()) is Unknown. Without a Prometheus in the
 * configuration all are Unknown, NoQuery.
 */
#define OBJECTIVES_BACKOFF_US (60LL * 1000 * 1000)

struct objectives;

struct objectives_options {
	struct cluster *cluster; /* borrowed, all of them */
	struct loop *loop;
	const struct config_prometheus *config;
	struct log *log;
	void (*touched)(void *context); /* tenants may be dirty */
	void *context;
	uint64_t seed;
};

int objectives_new(const struct objectives_options *options, struct objectives **ret_objectives,
		   struct error *err);
void objectives_free(struct objectives *objectives);

/* This replica writes: all verdicts begin anew. Stopped, it asks nothing. */
void objectives_start(struct objectives *objectives);
void objectives_stop(struct objectives *objectives);

/* Since the start, for metrics. */
struct objectives_stats {
	uint64_t answered, failed; /* questions */
	int64_t round_us;          /* that the last round took; 0: none yet */
	bool down;                 /* Prometheus did not answer the last question */
	uint32_t exporters;        /* that are asked about devices, a bit each of enum exporter */
};

struct objectives_stats objectives_stats(const struct objectives *objectives);

DEFINE_CLEANUP(struct objectives *, objectives_free)

#endif
