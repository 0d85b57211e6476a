/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_META_H
#define GPUQOS_API_WIRE_META_H

#include "codec/schema.h"

/*
 * What all types share: metadata, and the Status of an answer. See api/wire.h. Numbers that may be
 * absent have the index of their field, for wire_has(), below their struct.
 */

struct wire_owner {
	uint64_t present;
	struct str kind, name, uid;
	bool controller;
};

struct wire_managed_fields {
	uint64_t present;
	struct str manager, subresource;
	struct str fields; /* FieldsV1; see wire_raw() */
};

struct wire_meta {
	uint64_t present;
	struct str name, namespace, uid, resource_version;
	int64_t generation;
	int64_t creation_us, deletion_us; /* deletion_us: WIRE_META_DELETION tells whether */
	/* Below: only in types whose table names them. */
	struct wire_list labels;         /* struct wire_pair */
	struct wire_list annotations;    /* struct wire_pair */
	struct wire_list owners;         /* struct wire_owner */
	struct wire_list managed_fields; /* struct wire_managed_fields */
};

#define WIRE_META_DELETION 6

/* metav1.LabelSelector */
struct wire_requirement {
	uint64_t present;
	struct str key, op;
	struct wire_list values; /* struct str */
};

struct wire_selector {
	uint64_t present;
	struct wire_list labels;       /* matchLabels: struct wire_pair */
	struct wire_list requirements; /* matchExpressions: struct wire_requirement */
};

/* How the struct of every object begins: its metadata can be read through this. */
struct wire_object {
	uint64_t present;
	struct wire_meta meta;
};

struct wire_list_meta {
	uint64_t present;
	struct str resource_version, continue_token;
};

struct wire_cause {
	uint64_t present;
	struct str reason;
};

struct wire_status_details {
	uint64_t present;
	int32_t retry_after_s;
	struct wire_list causes; /* struct wire_cause */
};

struct wire_status {
	uint64_t present;
	struct str status, message, reason;
	int32_t code;
	struct wire_status_details details;
};

/*
 * A FieldsV1 or a RawExtension is a message around bytes in protobuf, the value itself in JSON:
 * what is inside, borrowed, for either. Empty where @raw is malformed.
 */
struct str wire_raw(struct str raw);

/* An object of any kind, its plain metadata alone: struct wire_object. */
extern const struct schema wire_outline_schema;

extern const struct schema wire_requirement_schema, wire_list_meta_schema, wire_status_schema,
	wire_selector_schema;

/*
 * Metadata as part of a type: alone, with labels of ours, with labels, with labels and annotations
 * of a node, with owners and managed fields, with labels and owners, with annotations and owners of
 * a claim, with annotations of a Lease, with all three of a pod, with
 * annotations and owners of a PersistentVolumeClaim, with zones of a PersistentVolume. Of
 * annotations those of api/keys.h. Of a pod's labels all: which of them a PodDisruptionBudget asks
 * for is no table's to know.
 */
extern const struct schema wire_meta_schema, wire_marked_meta_schema, wire_labelled_meta_schema,
	wire_described_meta_schema, wire_owned_meta_schema, wire_bound_meta_schema,
	wire_claim_meta_schema, wire_lease_meta_schema, wire_pod_meta_schema,
	wire_volume_claim_meta_schema, wire_volume_meta_schema;

#endif
