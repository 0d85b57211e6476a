/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_CONFIG_PROMETHEUS_H
#define GPUQOS_CONTROLLER_CONFIG_PROMETHEUS_H

#include "codec/schema.h"
#include "controller/config.h"

/* `prometheus` in --config, as it is written. */
struct wire_prometheus {
	uint64_t present;
	struct str url;
	int64_t interval, timeout;
	struct str bearer_token_file, username, password_file, ca_file;
	struct wire_list device_series; /* struct str */
};

extern const struct schema wire_prometheus_schema;

/* Texts are copied into @memory. INVALID names the field. */
int config_read_prometheus(const struct wire_prometheus *wire, struct arena *memory,
			   struct config_prometheus *config, struct error *err);

#endif
