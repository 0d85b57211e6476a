/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_NVML_CALLS_H
#define GPUQOS_AGENT_NVML_CALLS_H

#include "agent/nvml_abi.h"

/* Name here, symbol, parameters. All return an enum nvml_code or a number that has no name here. */
#define NVML_CALLS(X)                                                                             \
	X(init, nvmlInit_v2, (void))                                                              \
	X(shutdown, nvmlShutdown, (void))                                                         \
	X(count, nvmlDeviceGetCount_v2, (unsigned int *))                                         \
	X(by_index, nvmlDeviceGetHandleByIndex_v2, (unsigned int, nvml_device *))                 \
	X(uuid, nvmlDeviceGetUUID, (nvml_device, char *, unsigned int))                           \
	X(name, nvmlDeviceGetName, (nvml_device, char *, unsigned int))                           \
	X(pci, nvmlDeviceGetPciInfo_v3, (nvml_device, struct nvml_pci *))                         \
	X(memory, nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory *))                   \
	X(numa, nvmlDeviceGetNumaNodeId, (nvml_device, unsigned int *))                           \
	X(mig_mode, nvmlDeviceGetMigMode, (nvml_device, unsigned int *, unsigned int *))          \
	X(mig_count, nvmlDeviceGetMaxMigDeviceCount, (nvml_device, unsigned int *))               \
	X(mig_by_index, nvmlDeviceGetMigDeviceHandleByIndex,                                      \
	  (nvml_device, unsigned int, nvml_device *))                                             \
	X(attributes, nvmlDeviceGetAttributes_v2, (nvml_device, struct nvml_attributes *))        \
	X(instance_id, nvmlDeviceGetGpuInstanceId, (nvml_device, unsigned int *))                 \
	X(instance_by_id, nvmlDeviceGetGpuInstanceById,                                           \
	  (nvml_device, unsigned int, nvml_instance *))                                           \
	X(instance_info, nvmlGpuInstanceGetInfo, (nvml_instance, struct nvml_instance_info *))    \
	X(profile, nvmlDeviceGetGpuInstanceProfileInfo,                                           \
	  (nvml_device, unsigned int, struct nvml_profile *))                                     \
	X(link_state, nvmlDeviceGetNvLinkState, (nvml_device, unsigned int, int *))               \
	X(link_version, nvmlDeviceGetNvLinkVersion, (nvml_device, unsigned int, unsigned int *))  \
	X(link_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2,                                          \
	  (nvml_device, unsigned int, struct nvml_pci *))                                         \
	X(link_type, nvmlDeviceGetNvLinkRemoteDeviceType, (nvml_device, unsigned int, int *))     \
	X(fields, nvmlDeviceGetFieldValues, (nvml_device, int, struct nvml_field *))              \
	X(remapped, nvmlDeviceGetRemappedRows,                                                    \
	  (nvml_device, unsigned int *, unsigned int *, unsigned int *, unsigned int *))          \
	X(ecc_mode, nvmlDeviceGetEccMode, (nvml_device, int *, int *))                            \
	X(ecc_errors, nvmlDeviceGetTotalEccErrors, (nvml_device, int, int, unsigned long long *)) \
	X(event_set, nvmlEventSetCreate, (nvml_event_set *))                                      \
	X(event_set_free, nvmlEventSetFree, (nvml_event_set))                                     \
	X(event_types, nvmlDeviceGetSupportedEventTypes, (nvml_device, unsigned long long *))     \
	X(event_register, nvmlDeviceRegisterEvents,                                               \
	  (nvml_device, unsigned long long, nvml_event_set))                                      \
	X(event_wait, nvmlEventSetWait_v2, (nvml_event_set, struct nvml_event *, unsigned int))   \
	X(processes, nvmlDeviceGetComputeRunningProcesses_v3,                                     \
	  (nvml_device, unsigned int *, struct nvml_process *))                                   \
	X(utilization, nvmlDeviceGetProcessUtilization,                                           \
	  (nvml_device, struct nvml_utilization *, unsigned int *, unsigned long long))

/* NULL: this version of the library does not have it. */
struct nvml_calls {
#define X(name, symbol, parameters) int(*name) parameters;
	NVML_CALLS(X)
#undef X
};

#endif
