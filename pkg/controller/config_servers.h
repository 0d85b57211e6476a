/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_CONFIG_SERVERS_H
#define GPUQOS_CONTROLLER_CONFIG_SERVERS_H

#include "codec/schema.h"
#include "controller/config.h"

/* `prometheus` and `alertmanager` in --config, as they are written. */
struct wire_server {
	uint64_t present;
	struct str url;
	int64_t timeout, interval;
	struct str bearer_token_file, username, password_file, ca_file, cert_file, key_file;
	struct wire_list device_series, device_jobs; /* struct str */
};

extern const struct schema wire_prometheus_schema, wire_alertmanager_schema;

/* Texts are copied into @memory. INVALID names the field. */
int config_read_prometheus(const struct wire_server *wire, struct arena *memory,
			   struct config_prometheus *config, struct error *err);
int config_read_alertmanager(const struct wire_server *wire, struct arena *memory,
			     struct config_alertmanager *config, struct error *err);

#endif
