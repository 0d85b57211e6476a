/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_KOORDINATOR_H
#define GPUQOS_API_WIRE_KOORDINATOR_H

#include "api/wire_meta.h"

/*
 * Koordinator's Device (scheduling.koordinator.sh/v1alpha1, apis/scheduling/v1alpha1/
 * device_types.go): what koordlet finds on the node of the same name. Transient; about wire structs
 * see api/wire.h. Inside api only.
 */
struct wire_koordinator_topology {
	uint64_t present;
	int64_t node; /* NUMA node */
	struct str bus;
};

struct wire_koordinator_card {
	uint64_t present;
	struct str type, id;
	int64_t minor;
	bool health;
	struct wire_koordinator_topology topology;
};

#define WIRE_KOORDINATOR_MINOR 2

struct wire_koordinator_device {
	uint64_t present;
	struct wire_meta meta;
	struct wire_koordinator_spec {
		uint64_t present;
		struct wire_list devices; /* struct wire_koordinator_card */
	} spec;
};

extern const struct schema wire_koordinator_device_schema;

#endif
