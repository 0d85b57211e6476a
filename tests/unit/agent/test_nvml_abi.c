/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes and offsets of NVIDIA's nvml.h (API version 13), as a compiler for x86-64 and Linux lays
 * out its structs. They are the same on 64-bit Arm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/nvml_abi.h"
#include "base/macros.h"

static const struct {
	const char *what; /* as nvml.h has it */
	size_t ours, theirs;
} layouts[] = {
	{"nvmlReturn_t", sizeof(enum nvml_code), 4},
	{"nvmlDevice_t", sizeof(nvml_device), 8},
	{"nvmlPciInfo_t", sizeof(struct nvml_pci), 68},
	{"nvmlPciInfo_t.domain", offsetof(struct nvml_pci, domain), 16},
	{"nvmlPciInfo_t.bus", offsetof(struct nvml_pci, bus), 20},
	{"nvmlPciInfo_t.device", offsetof(struct nvml_pci, device), 24},
	{"nvmlPciInfo_t.busId", offsetof(struct nvml_pci, bus_id), 36},
	{"nvmlMemory_t", sizeof(struct nvml_memory), 24},
	{"nvmlMemory_t.total", offsetof(struct nvml_memory, total), 0},
	{"nvmlMemory_t.used", offsetof(struct nvml_memory, used), 16},
	{"nvmlDeviceAttributes_t", sizeof(struct nvml_attributes), 40},
	{"nvmlDeviceAttributes_t.gpuInstanceSliceCount",
	 offsetof(struct nvml_attributes, instance_slices), 24},
	{"nvmlDeviceAttributes_t.computeInstanceSliceCount",
	 offsetof(struct nvml_attributes, compute_slices), 28},
	{"nvmlDeviceAttributes_t.memorySizeMB", offsetof(struct nvml_attributes, memory_mib), 32},
	{"nvmlGpuInstanceProfileInfo_t", sizeof(struct nvml_profile), 48},
	{"nvmlGpuInstanceProfileInfo_t.id", offsetof(struct nvml_profile, id), 0},
	{"nvmlGpuInstanceInfo_t", sizeof(struct nvml_instance_info), 24},
	{"nvmlGpuInstanceInfo_t.id", offsetof(struct nvml_instance_info, id), 8},
	{"nvmlGpuInstanceInfo_t.profileId", offsetof(struct nvml_instance_info, profile_id), 12},
	{"nvmlFieldValue_t", sizeof(struct nvml_field), 40},
	{"nvmlFieldValue_t.scopeId", offsetof(struct nvml_field, scope_id), 4},
	{"nvmlFieldValue_t.timestamp", offsetof(struct nvml_field, timestamp), 8},
	{"nvmlFieldValue_t.valueType", offsetof(struct nvml_field, value_type), 24},
	{"nvmlFieldValue_t.nvmlReturn", offsetof(struct nvml_field, code), 28},
	{"nvmlFieldValue_t.value", offsetof(struct nvml_field, value), 32},
	{"nvmlEventData_t", sizeof(struct nvml_event), 32},
	{"nvmlEventData_t.eventType", offsetof(struct nvml_event, type), 8},
	{"nvmlEventData_t.eventData", offsetof(struct nvml_event, data), 16},
	{"nvmlEventData_t.gpuInstanceId", offsetof(struct nvml_event, instance), 24},
	{"nvmlProcessInfo_t", sizeof(struct nvml_process), 24},
	{"nvmlProcessInfo_t.usedGpuMemory", offsetof(struct nvml_process, memory), 8},
	{"nvmlProcessInfo_t.gpuInstanceId", offsetof(struct nvml_process, instance), 16},
	{"nvmlProcessUtilizationSample_t", sizeof(struct nvml_utilization), 32},
	{"nvmlProcessUtilizationSample_t.timeStamp", offsetof(struct nvml_utilization, timestamp),
	 8},
	{"nvmlProcessUtilizationSample_t.smUtil", offsetof(struct nvml_utilization, sm), 16},
};

static void structs_lie_as_in_nvml_h(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].ours != layouts[i].theirs)
			fail_msg("%s: %zu, in nvml.h %zu", layouts[i].what, layouts[i].ours,
				 layouts[i].theirs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structs_lie_as_in_nvml_h),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
