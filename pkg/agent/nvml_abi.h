/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_NVML_ABI_H
#define GPUQOS_AGENT_NVML_ABI_H

#include <stddef.h>

/*
 * What of NVIDIA's management library is called, declared here so that neither its header nor the
 * library need be there when this is built. Names and numbers are those of NVIDIA's nvml.h (API
 * version 13, in github.com/NVIDIA/go-nvml); a test holds sizes and offsets against it.
 */

struct nvml_device_opaque;
struct nvml_event_set_opaque;
struct nvml_instance_opaque;
typedef struct nvml_device_opaque *nvml_device;
typedef struct nvml_event_set_opaque *nvml_event_set;
typedef struct nvml_instance_opaque *nvml_instance;

enum nvml_code {
	NVML_CODE_SUCCESS = 0,
	NVML_CODE_NOT_SUPPORTED = 3,
	NVML_CODE_NO_PERMISSION = 4,
	NVML_CODE_NOT_FOUND = 6,
	NVML_CODE_INSUFFICIENT_SIZE = 7,
	NVML_CODE_DRIVER_NOT_LOADED = 9,
	NVML_CODE_TIMEOUT = 10,
	NVML_CODE_GPU_IS_LOST = 15,
	NVML_CODE_RESET_REQUIRED = 16,
	NVML_CODE_VERSION_MISMATCH = 18,
	NVML_CODE_UNKNOWN = 999,
};

#define NVML_UUID_SIZE          96
#define NVML_NAME_SIZE          96
#define NVML_MAX_LINKS          36
#define NVML_PROFILE_COUNT      0x12
#define NVML_NO_INSTANCE        0xffffffffU
#define NVML_ENABLED            1
#define NVML_UNCORRECTED        1
#define NVML_VOLATILE           0
#define NVML_REMOTE_GPU         0
#define NVML_REMOTE_SWITCH      2
#define NVML_FIELD_LINK_SPEED   164 /* of the link in scope_id, in MB/s */
#define NVML_FIELD_COMMON_SPEED 90  /* of every active link, in MB/s; older drivers */
#define NVML_EVENT_XID          8ULL
#define NVML_NO_MEMORY_VALUE    (~0ULL) /* of a process: not available */

struct nvml_pci {
	char legacy_id[16];
	unsigned int domain, bus, device;
	unsigned int pci_device_id, pci_subsystem_id;
	char bus_id[32];
};

struct nvml_memory {
	unsigned long long total, free, used; /* bytes */
};

struct nvml_attributes {
	unsigned int multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
	unsigned int instance_slices, compute_slices;
	unsigned long long memory_mib;
};

struct nvml_profile {
	unsigned int id, is_p2p, slices, instances, multiprocessors;
	unsigned int copy_engines, decoders, encoders, jpegs, ofas;
	unsigned long long memory_mib;
};

struct nvml_instance_info {
	nvml_device device;
	unsigned int id, profile_id, start, size;
};

enum nvml_value_type { NVML_VALUE_UINT = 1, NVML_VALUE_ULONG = 2, NVML_VALUE_ULLONG = 3 };

struct nvml_field {
	unsigned int field_id, scope_id;
	long long timestamp, latency_us;
	int value_type; /* enum nvml_value_type, and others that are not read */
	int code;
	union {
		double real;
		unsigned int uint;
		unsigned long ulong;
		unsigned long long ullong;
	} value;
};

struct nvml_event {
	nvml_device device;
	unsigned long long type, data; /* data: the XID */
	unsigned int instance, compute_instance;
};

struct nvml_process {
	unsigned int pid;
	unsigned long long memory; /* bytes */
	unsigned int instance, compute_instance;
};

struct nvml_utilization {
	unsigned int pid;
	unsigned long long timestamp;              /* µs */
	unsigned int sm, memory, encoder, decoder; /* percent */
};

#endif
