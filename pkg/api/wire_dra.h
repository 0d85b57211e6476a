/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_DRA_H
#define GPUQOS_API_WIRE_DRA_H

#include "api/wire_meta.h"

/* size: the structs of one API group. */
/*
 * ResourceClaims, ResourceSlices and DeviceClasses of resource.k8s.io/v1; see api/wire.h. Tags are
 * those of k8s.io/api/resource/v1/generated.proto.
 */

/* --- ResourceClaim */

/* ExactDeviceRequest, and with a name DeviceSubRequest. */
struct wire_device_request {
	uint64_t present;
	struct str name, class, mode;
	int64_t count;
	bool admin_access;
};

struct wire_claim_request {
	uint64_t present;
	struct str name;
	struct wire_device_request exactly;
	struct wire_list first_available; /* struct wire_device_request */
};

struct wire_claim_constraint {
	uint64_t present;
	struct wire_list requests; /* struct str; none: all */
	struct str attribute;
};

#define WIRE_CLAIM_REQUEST_EXACTLY   1
#define WIRE_CLAIM_STATUS_ALLOCATION 0

struct wire_claim_spec {
	uint64_t present;
	struct wire_claim_devices {
		uint64_t present;
		struct wire_list requests;    /* struct wire_claim_request */
		struct wire_list constraints; /* struct wire_claim_constraint */
	} devices;
};

struct wire_claim_result {
	uint64_t present;
	struct str request, driver, pool, device; /* request: "request", or "request/choice" */
	bool admin_access;
	struct wire_list consumed; /* struct wire_pair: quantities */
};

struct wire_claim_consumer {
	uint64_t present;
	struct str group, resource, name, uid;
};

struct wire_claim_status {
	uint64_t present;
	struct wire_claim_allocation {
		uint64_t present;
		struct wire_claim_results {
			uint64_t present;
			struct wire_list results; /* struct wire_claim_result */
		} devices;
	} allocation;
	struct wire_list reserved_for; /* struct wire_claim_consumer */
};

struct wire_claim {
	uint64_t present;
	struct wire_meta meta; /* with annotations and owners */
	struct wire_claim_spec spec;
	struct wire_claim_status status;
};

/* --- ResourceSlice */

struct wire_device_attribute {
	uint64_t present;
	struct str key;
	struct wire_device_attribute_value {
		uint64_t present;
		struct str string;
	} value;
};

struct wire_device_capacity {
	uint64_t present;
	struct str key;
	struct wire_device_capacity_value {
		uint64_t present;
		struct str quantity;
	} value;
};

struct wire_device_counters {
	uint64_t present;
	struct str counter_set;
};

struct wire_device {
	uint64_t present;
	struct str name, node_name;
	struct wire_list attributes; /* struct wire_device_attribute */
	struct wire_list capacity;   /* struct wire_device_capacity */
	struct wire_list consumes;   /* struct wire_device_counters */
	bool shared;
};

struct wire_slice_pool {
	uint64_t present;
	struct str name;
	int64_t generation, slice_count;
};

struct wire_slice_spec {
	uint64_t present;
	struct str driver, node_name;
	struct wire_slice_pool pool;
	struct wire_list devices; /* struct wire_device */
};

struct wire_slice {
	uint64_t present;
	struct wire_meta meta;
	struct wire_slice_spec spec;
};

/* --- DeviceClass */

struct wire_device_selector {
	uint64_t present;
	struct wire_cel_selector {
		uint64_t present;
		struct str expression;
	} cel;
};

struct wire_class_spec {
	uint64_t present;
	struct wire_list selectors; /* struct wire_device_selector */
	struct str extended_resource;
};

struct wire_class {
	uint64_t present;
	struct wire_meta meta;
	struct wire_class_spec spec;
};

extern const struct schema wire_claim_schema, wire_slice_schema, wire_class_schema;

#endif
