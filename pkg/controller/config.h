/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_CONFIG_H
#define GPUQOS_CONTROLLER_CONFIG_H

#include <stdint.h>

#include "api/source_table.h"
#include "base/arena.h"
#include "base/error.h"
#include "model/pace.h"
#include "model/placement.h"
#include "prom/access.h"

/*
 * The document given by --config: YAML or JSON, apiVersion config.gpuqos.io/v1alpha1, kind
 * ControllerConfig. A field that is not known here is refused, so that a typing error cannot pass
 * for a setting. What is left out keeps its default.
 *
 *   leaderElection:
 *     resourceName: gpuqos-controller
 *     leaseDurationSeconds: 15        # 2 to 3600; must be above renewDeadlineSeconds
 *     renewDeadlineSeconds: 10        # must be above 1.2 * retryPeriodSeconds
 *     retryPeriodSeconds: 2           # 1 to 600
 *   recountPeriodSeconds: 300         # how often the ledger is added up again, 10 to 86400
 *   usageStatusIntervalSeconds: 1     # status follows mere usage at most so often, 1 to 3600
 *   scheduling:
 *     weights:                        # of the parts of a node's score, each 0 to 100
 *       alignment: 100
 *       nvlink: 50
 *       pcie: 20
 *       fragmentation: 30
 *     candidates: 100                 # nodes of which kube-scheduler is told, 0 (all) to 5000
 *     margin: 0                       # how much worse than the best, 0 to 100 percent; 100:
 * however much prometheus:                       # left out, objectives are Unknown url:
 * http://prometheus.monitoring:9090 intervalSeconds: 15             # of objectives, 1 to 300
 *     timeoutSeconds: 5               # of one query, 1 to 60
 *     bearerTokenFile: /path          # read anew for each query; or username and passwordFile
 *     caFile: /path                   # PEM; left out, the system's
 *     deviceSeries: [DCGM, HAMi, AMD] # exporters asked about devices; left out, none
 *     deviceSeriesJobs: []            # whose series those are, by label job; left out, anybody's
 *     certFile: /path                 # PEM, a client certificate; with keyFile
 *   alertmanager:                     # left out, nobody is alerted; url is required in it
 *     url: http://alertmanager.monitoring:9093
 *     timeoutSeconds: 5               # of one post, 1 to 60; and files as prometheus has them
 *   feedback:                         # how fast abnormal use is answered, see docs/feedback.md
 *     graceSeconds: 60                # 5 to 3600
 *     alertSeconds: 60                # 1 to 86400
 *     stepSeconds: 180                # 1 to 86400
 *     floorSeconds: 600               # 1 to 86400
 *     restSeconds: 900                # 1 to 86400
 *     idleSeconds: 1800               # 30 to 604800
 *     recoverSeconds: 60              # 1 to 3600
 *   resources: []                     # GPUs that no adapter knows: see api/source_table.h
 */
struct config_prometheus {
	struct prom_access access; /* in the config's memory; url NULL: there is none */
	int64_t interval_us, timeout_us;
	uint32_t exporters;     /* that are asked about devices, a bit each of enum exporter */
	const struct str *jobs; /* whose series of devices count; in the config's memory */
	size_t n_jobs;          /* 0: all */
};

struct config_alertmanager {
	struct prom_access access; /* likewise */
	int64_t timeout_us;
};

struct controller_config {
	char lease_name[64];
	int64_t lease_duration_us, renew_deadline_us, retry_period_us;
	int64_t recount_period_us, usage_interval_us;
	struct placement_weights weights;
	int64_t candidates; /* nodes of which the extender's filter tells; 0: all */
	int64_t margin;     /* and how much worse they may be: model/placement.h */
	struct config_prometheus prometheus;
	struct config_alertmanager alertmanager;
	struct feedback_pace pace;
	struct source_table resources; /* rows and their texts in `memory` */
	struct arena memory;
};

void controller_config_init(struct controller_config *config); /* the defaults */
void controller_config_clear(struct controller_config *config);

/* Errors name the field: INVALID, LIMIT. @config is untouched on failure. */
int controller_config_parse(struct str text, struct controller_config *config, struct error *err);

#endif
