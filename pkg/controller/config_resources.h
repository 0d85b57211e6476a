/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_CONFIG_RESOURCES_H
#define GPUQOS_CONTROLLER_CONFIG_RESOURCES_H

#include "api/source_table.h"
#include "base/arena.h"
#include "codec/schema.h"

/* An entry of resources[] in --config, as it is written. */
extern const struct schema wire_resource_schema;

/*
 * The table that @resources describe, with rows and texts in @memory. INVALID and LIMIT name the
 * field ("resources[2].unitMemory: ...").
 */
int config_read_resources(const struct wire_list *resources, struct arena *memory,
			  struct source_table *ret_table, struct error *err);

#endif
