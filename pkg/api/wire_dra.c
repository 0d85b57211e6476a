/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of resource.k8s.io/v1; about tables see wire.c. */
#include "api/wire_dra.h"

#include "base/macros.h"

/* --- ResourceClaim */

static const struct field exact_fields[] = {
	FIELD(struct wire_device_request, class, "deviceClassName", 1, FIELD_STRING),
	FIELD(struct wire_device_request, mode, "allocationMode", 3, FIELD_STRING),
	FIELD(struct wire_device_request, count, "count", 4, FIELD_INT64),
	FIELD(struct wire_device_request, admin_access, "adminAccess", 5, FIELD_BOOL),
};
static const struct schema exact_schema =
	SCHEMA("ExactDeviceRequest", struct wire_device_request, exact_fields);

static const struct field choice_fields[] = {
	FIELD(struct wire_device_request, class, "deviceClassName", 2, FIELD_STRING),
	FIELD(struct wire_device_request, mode, "allocationMode", 4, FIELD_STRING),
	FIELD(struct wire_device_request, count, "count", 5, FIELD_INT64),
	FIELD(struct wire_device_request, name, "name", 1, FIELD_STRING),
};
static const struct schema choice_schema =
	SCHEMA("DeviceSubRequest", struct wire_device_request, choice_fields);

static const struct field request_fields[] = {
	FIELD(struct wire_claim_request, name, "name", 1, FIELD_STRING),
	FIELD_SUB(struct wire_claim_request, exactly, "exactly", 2, FIELD_MESSAGE, &exact_schema),
	FIELD_SUB(struct wire_claim_request, first_available, "firstAvailable", 3, FIELD_MESSAGES,
		  &choice_schema),
};
static const struct schema request_schema =
	SCHEMA("DeviceRequest", struct wire_claim_request, request_fields);

static const struct field constraint_fields[] = {
	FIELD(struct wire_claim_constraint, requests, "requests", 1, FIELD_STRINGS),
	FIELD(struct wire_claim_constraint, attribute, "matchAttribute", 2, FIELD_STRING),
};
static const struct schema constraint_schema =
	SCHEMA("DeviceConstraint", struct wire_claim_constraint, constraint_fields);

static const struct field claim_devices_fields[] = {
	FIELD_SUB(struct wire_claim_devices, requests, "requests", 1, FIELD_MESSAGES,
		  &request_schema),
	FIELD_SUB(struct wire_claim_devices, constraints, "constraints", 2, FIELD_MESSAGES,
		  &constraint_schema),
};
static const struct schema claim_devices_schema =
	SCHEMA("DeviceClaim", struct wire_claim_devices, claim_devices_fields);

static const struct field claim_spec_fields[] = {
	FIELD_SUB(struct wire_claim_spec, devices, "devices", 1, FIELD_MESSAGE,
		  &claim_devices_schema),
};
static const struct schema claim_spec_schema =
	SCHEMA("ResourceClaimSpec", struct wire_claim_spec, claim_spec_fields);

static const struct field result_fields[] = {
	FIELD(struct wire_claim_result, request, "request", 1, FIELD_STRING),
	FIELD(struct wire_claim_result, driver, "driver", 2, FIELD_STRING),
	FIELD(struct wire_claim_result, pool, "pool", 3, FIELD_STRING),
	FIELD(struct wire_claim_result, device, "device", 4, FIELD_STRING),
	FIELD(struct wire_claim_result, admin_access, "adminAccess", 5, FIELD_BOOL),
	FIELD(struct wire_claim_result, consumed, "consumedCapacity", 10, FIELD_QUANTITIES),
};
static const struct schema result_schema =
	SCHEMA("DeviceRequestAllocationResult", struct wire_claim_result, result_fields);

static const struct field results_fields[] = {
	FIELD_SUB(struct wire_claim_results, results, "results", 1, FIELD_MESSAGES, &result_schema),
};
static const struct schema results_schema =
	SCHEMA("DeviceAllocationResult", struct wire_claim_results, results_fields);

static const struct field allocation_fields[] = {
	FIELD_SUB(struct wire_claim_allocation, devices, "devices", 1, FIELD_MESSAGE,
		  &results_schema),
};
static const struct schema allocation_schema =
	SCHEMA("AllocationResult", struct wire_claim_allocation, allocation_fields);

static const struct field consumer_fields[] = {
	FIELD(struct wire_claim_consumer, group, "apiGroup", 1, FIELD_STRING),
	FIELD(struct wire_claim_consumer, resource, "resource", 3, FIELD_STRING),
	FIELD(struct wire_claim_consumer, name, "name", 4, FIELD_STRING),
	FIELD(struct wire_claim_consumer, uid, "uid", 5, FIELD_STRING),
};
static const struct schema consumer_schema =
	SCHEMA("ResourceClaimConsumerReference", struct wire_claim_consumer, consumer_fields);

static const struct field claim_status_fields[] = {
	FIELD_SUB(struct wire_claim_status, allocation, "allocation", 1, FIELD_MESSAGE,
		  &allocation_schema),
	FIELD_SUB(struct wire_claim_status, reserved_for, "reservedFor", 2, FIELD_MESSAGES,
		  &consumer_schema),
};
static const struct schema claim_status_schema =
	SCHEMA("ResourceClaimStatus", struct wire_claim_status, claim_status_fields);

static const struct field claim_fields[] = {
	FIELD_SUB(struct wire_claim, meta, "metadata", 1, FIELD_MESSAGE, &wire_claim_meta_schema),
	FIELD_SUB(struct wire_claim, spec, "spec", 2, FIELD_MESSAGE, &claim_spec_schema),
	FIELD_SUB(struct wire_claim, status, "status", 3, FIELD_MESSAGE, &claim_status_schema),
};
const struct schema wire_claim_schema = SCHEMA("ResourceClaim", struct wire_claim, claim_fields);

/* --- ResourceSlice */

static const struct field attribute_value_fields[] = {
	FIELD(struct wire_device_attribute_value, string, "string", 4, FIELD_STRING),
};
static const struct schema attribute_value_schema =
	SCHEMA("DeviceAttribute", struct wire_device_attribute_value, attribute_value_fields);

static const struct field attribute_fields[] = {
	FIELD(struct wire_device_attribute, key, "key", 1, FIELD_STRING),
	FIELD_SUB(struct wire_device_attribute, value, "value", 2, FIELD_MESSAGE,
		  &attribute_value_schema),
};
static const struct schema attribute_schema =
	SCHEMA("AttributesEntry", struct wire_device_attribute, attribute_fields);

static const struct field capacity_value_fields[] = {
	FIELD(struct wire_device_capacity_value, quantity, "value", 1, FIELD_QUANTITY),
};
static const struct schema capacity_value_schema =
	SCHEMA("DeviceCapacity", struct wire_device_capacity_value, capacity_value_fields);

static const struct field capacity_fields[] = {
	FIELD(struct wire_device_capacity, key, "key", 1, FIELD_STRING),
	FIELD_SUB(struct wire_device_capacity, value, "value", 2, FIELD_MESSAGE,
		  &capacity_value_schema),
};
static const struct schema capacity_schema =
	SCHEMA("CapacityEntry", struct wire_device_capacity, capacity_fields);

static const struct field counters_fields[] = {
	FIELD(struct wire_device_counters, counter_set, "counterSet", 1, FIELD_STRING),
};
static const struct schema counters_schema =
	SCHEMA("DeviceCounterConsumption", struct wire_device_counters, counters_fields);

static const struct field device_fields[] = {
	FIELD(struct wire_device, name, "name", 1, FIELD_STRING),
	FIELD_SUB(struct wire_device, attributes, "attributes", 2, FIELD_ENTRIES,
		  &attribute_schema),
	FIELD_SUB(struct wire_device, capacity, "capacity", 3, FIELD_ENTRIES, &capacity_schema),
	FIELD_SUB(struct wire_device, consumes, "consumesCounters", 4, FIELD_MESSAGES,
		  &counters_schema),
	FIELD(struct wire_device, node_name, "nodeName", 5, FIELD_STRING),
	FIELD(struct wire_device, shared, "allowMultipleAllocations", 12, FIELD_BOOL),
};
static const struct schema device_schema = SCHEMA("Device", struct wire_device, device_fields);

static const struct field pool_fields[] = {
	FIELD(struct wire_slice_pool, name, "name", 1, FIELD_STRING),
	FIELD(struct wire_slice_pool, generation, "generation", 2, FIELD_INT64),
	FIELD(struct wire_slice_pool, slice_count, "resourceSliceCount", 3, FIELD_INT64),
};
static const struct schema pool_schema =
	SCHEMA("ResourcePool", struct wire_slice_pool, pool_fields);

static const struct field slice_spec_fields[] = {
	FIELD(struct wire_slice_spec, driver, "driver", 1, FIELD_STRING),
	FIELD_SUB(struct wire_slice_spec, pool, "pool", 2, FIELD_MESSAGE, &pool_schema),
	FIELD(struct wire_slice_spec, node_name, "nodeName", 3, FIELD_STRING),
	FIELD_SUB(struct wire_slice_spec, devices, "devices", 6, FIELD_MESSAGES, &device_schema),
};
static const struct schema slice_spec_schema =
	SCHEMA("ResourceSliceSpec", struct wire_slice_spec, slice_spec_fields);

static const struct field slice_fields[] = {
	FIELD_SUB(struct wire_slice, meta, "metadata", 1, FIELD_MESSAGE, &wire_meta_schema),
	FIELD_SUB(struct wire_slice, spec, "spec", 2, FIELD_MESSAGE, &slice_spec_schema),
};
const struct schema wire_slice_schema = SCHEMA("ResourceSlice", struct wire_slice, slice_fields);

/* --- DeviceClass */

static const struct field cel_fields[] = {
	FIELD(struct wire_cel_selector, expression, "expression", 1, FIELD_STRING),
};
static const struct schema cel_schema =
	SCHEMA("CELDeviceSelector", struct wire_cel_selector, cel_fields);

static const struct field selector_fields[] = {
	FIELD_SUB(struct wire_device_selector, cel, "cel", 1, FIELD_MESSAGE, &cel_schema),
};
static const struct schema selector_schema =
	SCHEMA("DeviceSelector", struct wire_device_selector, selector_fields);

static const struct field class_spec_fields[] = {
	FIELD_SUB(struct wire_class_spec, selectors, "selectors", 1, FIELD_MESSAGES,
		  &selector_schema),
	FIELD(struct wire_class_spec, extended_resource, "extendedResourceName", 4, FIELD_STRING),
};
static const struct schema class_spec_schema =
	SCHEMA("DeviceClassSpec", struct wire_class_spec, class_spec_fields);

static const struct field class_fields[] = {
	FIELD_SUB(struct wire_class, meta, "metadata", 1, FIELD_MESSAGE, &wire_meta_schema),
	FIELD_SUB(struct wire_class, spec, "spec", 2, FIELD_MESSAGE, &class_spec_schema),
};
const struct schema wire_class_schema = SCHEMA("DeviceClass", struct wire_class, class_fields);
