/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables of GpuMemoryQuota. A test holds them against crds/gpumemoryquotas.yaml. */
#include "api/wire_quota.h"

#include "base/macros.h"

#define JSON(type, member, key, kind)          FIELD(type, member, key, 0, kind)
#define JSON_SUB(type, member, key, kind, sub) FIELD_SUB(type, member, key, 0, kind, sub)

static const struct field per_pod_fields[] = {
	JSON(struct wire_quota_per_pod, gpu_memory, "gpuMemory", FIELD_QUANTITY),
	JSON(struct wire_quota_per_pod, gpus, "gpus", FIELD_INT64),
};
static const struct schema per_pod_schema =
	SCHEMA("PerPod", struct wire_quota_per_pod, per_pod_fields);

static const struct field product_fields[] = {
	JSON(struct wire_quota_product, product, "product", FIELD_STRING),
	JSON(struct wire_quota_product, gpu_memory, "gpuMemory", FIELD_QUANTITY),
	JSON(struct wire_quota_product, gpus, "gpus", FIELD_INT64),
};
static const struct schema product_schema =
	SCHEMA("Product", struct wire_quota_product, product_fields);

static const struct field spec_fields[] = {
	JSON(struct wire_quota_spec, gpu_memory, "gpuMemory", FIELD_QUANTITY),
	JSON(struct wire_quota_spec, gpus, "gpus", FIELD_INT64),
	JSON(struct wire_quota_spec, resources, "resources", FIELD_QUANTITIES),
	JSON_SUB(struct wire_quota_spec, per_pod, "perPod", FIELD_MESSAGE, &per_pod_schema),
	JSON(struct wire_quota_spec, container_defaults, "containerDefaults", FIELD_QUANTITIES),
	JSON(struct wire_quota_spec, on_shrink, "onShrink", FIELD_STRING),
	JSON(struct wire_quota_spec, release_on, "releaseOn", FIELD_STRING),
	JSON(struct wire_quota_spec, enforcement, "enforcement", FIELD_STRING),
	JSON_SUB(struct wire_quota_spec, products, "products", FIELD_MESSAGES, &product_schema),
	JSON(struct wire_quota_spec, borrow_limit, "borrowLimit", FIELD_QUANTITY),
	JSON(struct wire_quota_spec, shrink_deadline_s, "shrinkDeadlineSeconds", FIELD_INT64),
	JSON(struct wire_quota_spec, terminal_timeout_s, "terminalTimeoutSeconds", FIELD_INT64),
};
static const struct schema spec_schema =
	SCHEMA("GpuMemoryQuotaSpec", struct wire_quota_spec, spec_fields);

static const struct field resource_fields[] = {
	JSON(struct wire_quota_resource, name, "name", FIELD_STRING),
	JSON(struct wire_quota_resource, product, "product", FIELD_STRING),
	JSON(struct wire_quota_resource, unit_memory, "unitMemory", FIELD_QUANTITY),
	JSON(struct wire_quota_resource, sharing, "sharing", FIELD_STRING),
	JSON(struct wire_quota_resource, used, "used", FIELD_INT64),
	JSON(struct wire_quota_resource, hard, "hard", FIELD_INT64),
};
static const struct schema resource_schema =
	SCHEMA("GpuMemoryQuotaResource", struct wire_quota_resource, resource_fields);

static const struct field condition_fields[] = {
	JSON(struct wire_condition, type, "type", FIELD_STRING),
	JSON(struct wire_condition, status, "status", FIELD_STRING),
	JSON(struct wire_condition, reason, "reason", FIELD_STRING),
	JSON(struct wire_condition, message, "message", FIELD_STRING),
	JSON(struct wire_condition, since_us, "lastTransitionTime", FIELD_TIME),
	JSON(struct wire_condition, observed_generation, "observedGeneration", FIELD_INT64),
};
const struct schema wire_condition_schema =
	SCHEMA("Condition", struct wire_condition, condition_fields);

static const struct field workload_fields[] = {
	JSON(struct wire_dry_run_workload, kind, "kind", FIELD_STRING),
	JSON(struct wire_dry_run_workload, name, "name", FIELD_STRING),
	JSON(struct wire_dry_run_workload, pods, "pods", FIELD_INT64),
	JSON(struct wire_dry_run_workload, gpu_memory, "gpuMemory", FIELD_QUANTITY),
};
static const struct schema workload_schema =
	SCHEMA("DryRunWorkload", struct wire_dry_run_workload, workload_fields);

static const struct field dry_run_fields[] = {
	JSON(struct wire_quota_dry_run, since_us, "since", FIELD_TIME),
	JSON(struct wire_quota_dry_run, through_us, "through", FIELD_TIME),
	JSON(struct wire_quota_dry_run, refused, "refusedPods", FIELD_INT64),
	JSON_SUB(struct wire_quota_dry_run, workloads, "workloads", FIELD_MESSAGES,
		 &workload_schema),
};
static const struct schema dry_run_schema =
	SCHEMA("DryRun", struct wire_quota_dry_run, dry_run_fields);

static const struct field device_class_fields[] = {
	JSON(struct wire_quota_device_class, name, "name", FIELD_STRING),
	JSON(struct wire_quota_device_class, resource, "resource", FIELD_STRING),
};
static const struct schema device_class_schema =
	SCHEMA("DeviceClass", struct wire_quota_device_class, device_class_fields);

static const struct field shown_fields[] = {
	JSON(struct wire_shown, effective, "effective", FIELD_STRING),
	JSON(struct wire_shown, granted, "granted", FIELD_STRING),
	JSON(struct wire_shown, used, "used", FIELD_STRING),
	JSON(struct wire_shown, lent, "lent", FIELD_STRING),
	JSON(struct wire_shown, borrowed, "borrowed", FIELD_STRING),
};
static const struct schema shown_schema = SCHEMA("Shown", struct wire_shown, shown_fields);

static const struct field status_fields[] = {
	JSON(struct wire_quota_status, observed_generation, "observedGeneration", FIELD_INT64),
	JSON(struct wire_quota_status, effective, "effective", FIELD_QUANTITY),
	JSON(struct wire_quota_status, used, "used", FIELD_QUANTITY),
	JSON(struct wire_quota_status, lent, "lent", FIELD_QUANTITY),
	JSON(struct wire_quota_status, borrowed, "borrowed", FIELD_QUANTITY),
	JSON(struct wire_quota_status, live, "live", FIELD_QUANTITY),
	JSON(struct wire_quota_status, used_percent, "usedPercent", FIELD_INT64),
	JSON(struct wire_quota_status, pods, "pods", FIELD_INT64),
	JSON(struct wire_quota_status, gpus, "gpus", FIELD_INT64),
	JSON_SUB(struct wire_quota_status, resources, "resources", FIELD_MESSAGES,
		 &resource_schema),
	JSON_SUB(struct wire_quota_status, conditions, "conditions", FIELD_MESSAGES,
		 &wire_condition_schema),
	JSON(struct wire_quota_status, granted, "granted", FIELD_QUANTITY),
	JSON(struct wire_quota_status, released, "released", FIELD_QUANTITY),
	JSON(struct wire_quota_status, released_pods, "releasedPods", FIELD_INT64),
	JSON(struct wire_quota_status, tenant, "tenant", FIELD_STRING),
	JSON_SUB(struct wire_quota_status, dry_run, "dryRun", FIELD_MESSAGE, &dry_run_schema),
	JSON_SUB(struct wire_quota_status, device_classes, "deviceClasses", FIELD_MESSAGES,
		 &device_class_schema),
	JSON(struct wire_quota_status, granted_gpus, "grantedGPUs", FIELD_INT64),
	JSON(struct wire_quota_status, effective_gpus, "effectiveGPUs", FIELD_INT64),
	JSON_SUB(struct wire_quota_status, shown, "shown", FIELD_MESSAGE, &shown_schema),
};
static const struct schema status_schema =
	SCHEMA("GpuMemoryQuotaStatus", struct wire_quota_status, status_fields);

static const struct field quota_fields[] = {
	JSON_SUB(struct wire_gpu_memory_quota, meta, "metadata", FIELD_MESSAGE, &wire_meta_schema),
	JSON_SUB(struct wire_gpu_memory_quota, spec, "spec", FIELD_MESSAGE, &spec_schema),
	JSON_SUB(struct wire_gpu_memory_quota, status, "status", FIELD_MESSAGE, &status_schema),
};
const struct schema wire_gpu_memory_quota_schema =
	SCHEMA("GpuMemoryQuota", struct wire_gpu_memory_quota, quota_fields);
