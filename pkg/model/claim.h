/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_CLAIM_H
#define GPUQOS_MODEL_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/amount.h"

/*
 * Dynamic resource allocation (resource.k8s.io/v1) as observed: who asks for devices, which devices
 * there are, and what the classes mean that requests name. Transient, everything borrowed.
 */

/* Devices of a class. */
struct claim_choice {
	struct str class; /* empty: of a kind that this version does not know */
	int64_t count;    /* above 0; for allocationMode All the most that a claim can get */
};

/* One request of a claim: what it asks for, or where it is a list, what it would take instead. */
struct claim_request {
	const struct claim_choice *choices;
	size_t n_choices;  /* 0 only where admin_access is set */
	bool admin_access; /* beside those who use the devices: it holds none */
};

/* A device that the scheduler gave to a claim. */
struct claim_device {
	struct str driver, pool, device;
	struct str class;        /* of the request that it answers; empty: not to be found */
	int64_t consumed_memory; /* bytes, > 0, of a device that claims share; else AMOUNT_NONE */
	bool admin_access;       /* as in struct claim_request */
};

struct claim_pod {
	struct str name, uid;
};

struct claim_facts {
	struct str namespace, name, uid;
	uint64_t resource_version; /* 0 when it is no number */
	int64_t created_us;        /* real */
	bool terminating;
	/* The controlling owner: the pod of a template's claim, and of one that the scheduler made
	 * for an extended resource. Empty for none. */
	struct str owner_kind, owner_name, owner_uid;
	/* Annotation resource.kubernetes.io/extended-resource-claim. Whoever may create a claim may
	 * set it, so that it proves nothing. */
	bool says_extended;
	const struct claim_request *requests;
	size_t n_requests; /* at most LIMIT_REQUESTS_PER_CLAIM */
	/* All devices must agree on an attribute that only devices of one NUMA node share. */
	bool numa_together;
	bool allocated;
	const struct claim_device *devices; /* where allocated */
	size_t n_devices;                   /* at most LIMIT_CLAIM_DEVICES */
	const struct claim_pod *pods;       /* reserved for these */
	size_t n_pods;                      /* at most LIMIT_CLAIM_PODS */
};

/* A device as its driver publishes it. */
struct slice_device {
	struct str name;
	struct str type;    /* attribute "type" in the driver's own domain; empty without */
	struct str product; /* likewise "productName" */
	struct str node;    /* where it is; empty: on several, or nobody says */
	int64_t memory;  /* bytes, > 0; AMOUNT_UNKNOWN; AMOUNT_NONE: it states no such capacity */
	bool counted;    /* it takes from counters that it shares with others: a partition */
	bool shared;     /* allowMultipleAllocations */
	struct str card; /* uuid of the card that it is or is a part of; empty: not told */
	struct str address; /* PCI address of that card; likewise */
};

struct slice_facts {
	struct str name, uid;
	uint64_t resource_version; /* 0 when it is no number */
	struct str driver, pool;
	int64_t generation, slice_count; /* of the pool; as many slices of it make it complete */
	struct str node;                 /* spec.nodeName; empty: not of one node */
	const struct slice_device *devices;
	size_t n_devices; /* at most LIMIT_DEVICES_PER_SLICE */
};

/*
 * What must hold for a device to be of the class, as far as it can be told: a device for which it
 * does not hold is not of the class, one for which it holds may be.
 */
struct class_facts {
	struct str name, uid;
	uint64_t resource_version;    /* 0 when it is no number */
	int64_t created_us;           /* real */
	struct str extended_resource; /* extendedResourceName; empty without */
	bool in_table;                /* which the table of --config prices */
	struct str driver;            /* its driver; empty: any */
	struct str type_domain, type; /* the value of its attribute <domain>/type; empty: any */
};

/*
 * Whether a driver's devices are GPUs by the driver's name: gpu.nvidia.com, gpu.amd.com,
 * gpu.intel.com, gpu.example.com. Any other device is one where it states a capacity "memory".
 */
bool device_driver_is_gpu(struct str driver);

/* Whether a device may be of a class. */
bool class_may_have(const struct class_facts *class, struct str driver,
		    const struct slice_device *device);

#endif
